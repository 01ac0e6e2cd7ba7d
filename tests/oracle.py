"""torch as the judge: `check_op`, `check_error` and `check_module` run one piece of code with both libraries."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pyburn
import torch
from pyburn import _core
from pyburn._copying import _from_bytes

Function = Callable[..., Any]


class Case:
    """One input tensor as flat memory with a geometry, so that both libraries get the same strides.

    Args:
        array: numpy array (any strides), nested list, or a torch tensor.
        dtype: Name of the dtype to convert to; None keeps the array's (nested lists: torch's default).
        requires_grad: Whether gradients are compared for it; None means for floats and complex numbers.
    """

    def __init__(self, array: Any, dtype: str | None = None, requires_grad: bool | None = None) -> None:
        if not isinstance(array, (np.ndarray, np.generic, torch.Tensor)):
            array = torch.tensor(array)
        if isinstance(array, torch.Tensor):
            values, strides = array.detach().clone(), list(array.stride())
        else:
            strides = [max(0, step) // array.dtype.itemsize for step in array.strides]
            values = torch.tensor(np.ascontiguousarray(array).reshape(array.shape))
        if dtype is not None:
            values = values.to(getattr(torch, dtype))
        self.shape = list(values.shape)
        self.strides = strides
        length = 1 + sum((size - 1) * step for size, step in zip(self.shape, strides, strict=True))
        self.flat = torch.zeros(0 if 0 in self.shape else length, dtype=values.dtype)
        if 0 in self.shape:
            self.strides = list(values.contiguous().stride())
        else:
            torch.as_strided(self.flat, self.shape, strides).copy_(values)
        differentiable = values.dtype.is_floating_point or values.dtype.is_complex
        self.requires_grad = differentiable if requires_grad is None else requires_grad and differentiable

    def torch(self, requires_grad: bool = False) -> torch.Tensor:
        view = torch.as_strided(self.flat.clone(), self.shape, self.strides).detach()
        return view.requires_grad_(requires_grad and self.requires_grad)

    def ours(self, device: str, requires_grad: bool = False) -> Any:
        flat = from_torch(self.flat, device)
        view = flat.as_strided(self.shape, self.strides).detach()
        return view.requires_grad_(requires_grad and self.requires_grad)


def from_torch(tensor: torch.Tensor, device: str = "cpu") -> Any:
    """A pyburn copy of a torch tensor."""
    plain = tensor.detach().contiguous()
    data = plain.reshape(-1).view(torch.uint8).numpy().tobytes() if plain.numel() else b""
    made = _from_bytes(data, list(plain.shape), getattr(pyburn, dtype_name(plain.dtype)))
    return made if device == "cpu" else made._to_device(device)


def to_torch(tensor: Any) -> torch.Tensor:
    """A torch copy of a pyburn tensor."""
    dtype = getattr(torch, dtype_name(tensor.dtype))
    data = bytearray(tensor._bytes())
    if not data:
        return torch.empty(tuple(tensor.shape), dtype=dtype)
    return torch.frombuffer(data, dtype=dtype).reshape(tuple(tensor.shape))


def dtype_name(dtype: Any) -> str:
    return str(dtype).rsplit(".", 1)[-1]


def is_tensor(value: Any) -> bool:
    return isinstance(value, (torch.Tensor, pyburn.Tensor))


def tensors_in(value: Any) -> list[Any]:
    """The tensors of a result, in order."""
    if is_tensor(value):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [tensor for item in value for tensor in tensors_in(item)]
    return []


class Judge:
    """Compares structures of results of both libraries."""

    def __init__(self, rtol: float | None, atol: float | None, same_stride: bool, device: str) -> None:
        self.rtol, self.atol, self.same_stride, self.device = rtol, atol, same_stride, device

    def tolerance(self, dtype: torch.dtype) -> tuple[float, float]:
        defaults = {torch.float16: (1e-3, 1e-5), torch.bfloat16: (1.6e-2, 1e-5), torch.float32: (1.3e-6, 1e-5)}
        inexact = dtype.is_floating_point or dtype.is_complex
        rtol, atol = defaults.get(dtype.to_real(), (1e-7, 1e-7) if inexact else (0.0, 0.0))
        wider = 1.0 if self.device == "cpu" or not inexact else 10.0
        return (
            rtol * wider if self.rtol is None else self.rtol,
            atol * wider if self.atol is None else self.atol,
        )

    def values(self, expected: torch.Tensor, found: Any, where: str) -> None:
        assert dtype_name(found.dtype) == dtype_name(expected.dtype), f"{where}: dtype {found.dtype}, {expected.dtype}"
        assert tuple(found.shape) == tuple(expected.shape), f"{where}: shape {found.shape}, torch {expected.shape}"
        rtol, atol = self.tolerance(expected.dtype)
        torch.testing.assert_close(
            to_torch(found),
            expected.detach(),
            rtol=rtol,
            atol=atol,
            equal_nan=True,
            msg=lambda text: f"{where} (pyburn against torch): {text}",
        )

    def compare(self, expected: Any, found: Any, where: str = "result") -> None:
        if isinstance(expected, torch.Tensor):
            assert isinstance(found, pyburn.Tensor), f"{where}: torch gave a tensor, pyburn {type(found).__name__}"
            self.values(expected, found, where)
            if self.same_stride:
                assert tuple(found.stride()) == expected.stride(), f"{where}: {found.stride()} {expected.stride()}"
        elif isinstance(expected, dict):
            assert isinstance(found, dict) and list(found) == list(expected), f"{where}: keys differ"
            for key, value in expected.items():
                self.compare(value, found[key], f"{where}[{key!r}]")
        elif isinstance(expected, (tuple, list)):
            assert isinstance(found, tuple if isinstance(expected, tuple) else list), f"{where}: {type(found)}"
            assert len(found) == len(expected), f"{where}: {len(found)} items, torch has {len(expected)}"
            fields = getattr(expected, "_fields", None) or field_names(type(expected))
            for index, value in enumerate(expected):
                self.compare(value, found[index], f"{where}[{index}]")
            for name in fields:
                self.compare(getattr(expected, name), getattr(found, name), f"{where}.{name}")
        elif isinstance(expected, torch.dtype):
            assert dtype_name(found) == dtype_name(expected), f"{where}: {found}, torch {expected}"
        elif isinstance(expected, float):
            rtol, atol = self.tolerance(torch.float32)
            assert type(found) is float, f"{where}: {type(found)}"
            np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol, err_msg=where)
        else:
            assert type(found) is type(expected) and found == expected, f"{where}: {found!r}, torch {expected!r}"


def field_names(cls: type) -> list[str]:
    """The names of a torch.return_types class."""
    if not cls.__module__.startswith("torch.return_types"):
        return []
    return [name for name in vars(cls) if not name.startswith(("_", "n_"))]


def check_op(
    fn: Function,
    *args: Any,
    grad: bool = True,
    gradgrad: bool = False,
    dtypes: Iterable[str] | None = None,
    devices: Sequence[str] = ("cpu",),
    rtol: float | None = None,
    atol: float | None = None,
    same_stride: bool = False,
) -> None:
    """Fails unless `fn(torch, ...)` and `fn(pyburn, ...)` agree in structure, dtype, shape, value and gradients.

    Args:
        fn: Called as `fn(lib, *inputs)`; it must not keep state between calls.
        *args: numpy arrays, nested lists or `Case` become tensors of each library; anything else is passed on.
        grad: Whether to compare gradients of every float or complex input, by random cotangents.
        gradgrad: Whether to compare second derivatives too.
        dtypes: Names of dtypes; float inputs (not integer or bool ones, which are indices and masks) are converted
            to each in turn.
        devices: Devices that pyburn runs on; float64 becomes float32 off the CPU.
        rtol: Relative tolerance; None is torch.testing's for the dtype.
        atol: Absolute tolerance, likewise.
        same_stride: Whether strides must agree too.
    """
    for device in devices:
        for dtype in [None] if dtypes is None else list(dtypes):
            if device != "cpu" and dtype in ("float64", "bfloat16"):
                continue
            inputs = [as_case(arg, dtype, device) for arg in args]
            judge = Judge(rtol, atol, same_stride, device)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                run_pair(fn, inputs, judge, grad, gradgrad)


def as_case(arg: Any, dtype: str | None, device: str) -> Any:
    if not isinstance(arg, (Case, np.ndarray, torch.Tensor, list)):
        return arg
    case = arg if isinstance(arg, Case) else Case(arg)
    if case.flat.dtype.is_complex and dtype in ("float32", "float64"):
        return Case(case.torch(), f"complex{2 * int(dtype[-2:])}", None if case.requires_grad else False)
    if case.flat.dtype.is_floating_point:
        wanted = dtype or ("float32" if device != "cpu" and case.flat.dtype == torch.float64 else None)
        if wanted is not None:
            return Case(case.torch(), wanted, None if case.requires_grad else False)
    return case


def run_pair(fn: Function, inputs: list[Any], judge: Judge, grad: bool, gradgrad: bool) -> None:
    theirs = [case.torch(grad) if isinstance(case, Case) else case for case in inputs]
    ours = [case.ours(judge.device, grad) if isinstance(case, Case) else case for case in inputs]
    expected, found = fn(torch, *theirs), fn(pyburn, *ours)
    judge.compare(expected, found)
    if not grad:
        return
    outputs = list(zip(tensors_in(expected), tensors_in(found), strict=True))
    for index, (one, other) in enumerate(outputs):
        assert one.requires_grad == other.requires_grad, (
            f"output {index}: requires_grad is {other.requires_grad}, torch's {one.requires_grad}"
        )
    outputs = [pair for pair in outputs if pair[0].requires_grad]
    leaves = [i for i, case in enumerate(inputs) if isinstance(case, Case) and case.requires_grad]
    if not outputs or not leaves:
        return
    cotangents = [Case(random_like(one, seed)) for seed, (one, _) in enumerate(outputs)]
    leaves_torch, leaves_ours = [theirs[i] for i in leaves], [ours[i] for i in leaves]
    v_torch = [case.torch(gradgrad) for case in cotangents]
    v_ours = [case.ours(judge.device, gradgrad) for case in cotangents]
    first = grad_torch([one for one, _ in outputs], leaves_torch, v_torch, gradgrad)
    mine = grad_ours([other for _, other in outputs], leaves_ours, v_ours, gradgrad)
    compare_grads(judge, first, mine, leaves_torch, "gradient")
    if gradgrad:
        second_order(judge, (first, mine), (leaves_torch + v_torch, leaves_ours + v_ours))


def second_order(judge: Judge, first: tuple[list[Any], list[Any]], wanted: tuple[list[Any], list[Any]]) -> None:
    pairs = [
        (one, other)
        for one, other in zip(*first, strict=True)
        if one is not None and other is not None and one.requires_grad and other.requires_grad
    ]
    expected_some = any(one is not None and one.requires_grad for one in first[0])
    assert bool(pairs) == expected_some, "torch's gradient can be differentiated again, pyburn's cannot"
    if not pairs:
        return
    cotangents = [Case(random_like(one, 100 + seed)) for seed, (one, _) in enumerate(pairs)]
    expected = grad_torch([one for one, _ in pairs], wanted[0], [case.torch() for case in cotangents], False)
    found = grad_ours([other for _, other in pairs], wanted[1], [case.ours(judge.device) for case in cotangents], False)
    compare_grads(judge, expected, found, wanted[0], "second gradient")


def random_like(tensor: torch.Tensor, seed: int) -> torch.Tensor:
    generator = np.random.default_rng(seed)
    values = generator.standard_normal(tuple(tensor.shape))
    if tensor.dtype.is_complex:
        values = values + 1j * generator.standard_normal(tuple(tensor.shape))
    return torch.tensor(values).to(tensor.dtype)


def grad_torch(outputs: list[Any], inputs: list[Any], cotangents: list[Any], create_graph: bool) -> list[Any]:
    return list(torch.autograd.grad(outputs, inputs, cotangents, create_graph=create_graph, allow_unused=True))


def grad_ours(outputs: list[Any], inputs: list[Any], cotangents: list[Any], create_graph: bool) -> list[Any]:
    return list(_core._backward(outputs, cotangents, create_graph, create_graph, inputs))


def compare_grads(judge: Judge, expected: list[Any], found: list[Any], leaves: list[Any], what: str) -> None:
    """An absent gradient and one of zeros mean the same."""
    for index, (one, other, leaf) in enumerate(zip(expected, found, leaves, strict=True)):
        if one is None and other is None:
            continue
        wanted = torch.zeros_like(leaf) if one is None else one
        given = from_torch(torch.zeros_like(leaf)) if other is None else other
        judge.values(wanted, given, f"{what} of input {index}")


def check_error(
    fn: Function,
    *args: Any,
    devices: Sequence[str] = ("cpu",),
    same_class: bool = False,
    match: str | None = None,
) -> None:
    """Fails unless both libraries raise, and pyburn an ordinary Exception.

    Args:
        fn: Called as `fn(lib, *inputs)`.
        *args: As for `check_op`.
        devices: Devices that pyburn runs on.
        same_class: Whether code that catches torch's exception must catch ours.
        match: Text that our message must contain.
    """
    for device in devices:
        inputs = [as_case(arg, None, device) for arg in args]
        theirs = raised(fn, torch, [case.torch() if isinstance(case, Case) else case for case in inputs])
        ours = raised(fn, pyburn, [case.ours(device) if isinstance(case, Case) else case for case in inputs])
        assert theirs is not None, "torch accepts this"
        assert ours is not None, f"pyburn accepts what torch refuses: {theirs!r}"
        assert "the engine failed" not in str(ours), f"a panic of burn reached the caller: {ours}"
        if same_class:
            assert isinstance(ours, type(theirs)), f"{ours!r} is no {type(theirs).__name__} ({theirs})"
        if match is not None:
            assert match in str(ours), f"{ours!r} does not say {match!r}"


def raised(fn: Function, lib: Any, inputs: list[Any]) -> Exception | None:
    try:
        fn(lib, *inputs)
    except Exception as error:
        return error
    return None


def check_module(
    make: Callable[[Any], Any],
    *args: Any,
    grad: bool = True,
    train: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    devices: Sequence[str] = ("cpu",),
    same_repr: bool = True,
    call: Function | None = None,
) -> None:
    """Fails unless a layer agrees with torch's: results, gradients, state, text, pickle and deepcopy.

    Args:
        make: Builds the layer from a namespace: `lambda nn: nn.Linear(3, 4)`.
        *args: Inputs as for `check_op`.
        grad: Whether to compare the gradient of every parameter and float input.
        train: Whether to compare in training mode too (False for layers that draw random numbers).
        rtol: Relative tolerance; None is torch.testing's for the dtype.
        atol: Absolute tolerance, likewise.
        devices: Devices that pyburn runs on.
        same_repr: Whether the layers' texts must agree.
        call: How the layer is called, as `call(layer, *inputs)`; None is the plain call.
    """
    run = call or (lambda layer, *inputs: layer(*inputs))
    for device in devices:
        judge = Judge(rtol, atol, False, device)
        theirs, ours = make(torch.nn), make(pyburn.nn).to(device)
        if same_repr:
            assert repr(ours) == repr(theirs), f"repr: {ours!r}\ntorch: {theirs!r}"
        exchange_state(theirs, ours, device)
        for mode in [True, False] if train else [False]:
            assert ours.train(mode) is ours and ours.training is mode
            theirs.train(mode)
            inputs = [as_case(arg, None, device) for arg in args]
            left = [case.torch(grad) if isinstance(case, Case) else case for case in inputs]
            right = [case.ours(device, grad) if isinstance(case, Case) else case for case in inputs]
            expected, found = run(theirs, *left), run(ours, *right)
            judge.compare(expected, found, f"result (training={mode})")
            if grad:
                module_gradients(judge, theirs, ours, (expected, found), (left, right))
            compare_state(judge, theirs, ours)
        ours.eval()
        inputs = [as_case(arg, None, device) for arg in args]
        right = [case.ours(device) if isinstance(case, Case) else case for case in inputs]
        expected = run(theirs, *[case.torch() if isinstance(case, Case) else case for case in inputs])
        for copied in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
            judge.compare(expected, run(copied, *right), "result of a copy")


def exchange_state(theirs: Any, ours: Any, device: str) -> None:
    """Loads torch's values into our layer and ours back into a copy of torch's."""
    state = theirs.state_dict()
    mine = ours.state_dict()
    assert list(mine) == list(state), f"state_dict: {list(mine)}, torch has {list(state)}"
    for key, value in state.items():
        assert tuple(mine[key].shape) == tuple(value.shape), f"{key}: {mine[key].shape}, torch {value.shape}"
    ours.load_state_dict({key: from_torch(value, device) for key, value in state.items()})
    back = {key: to_torch(value) for key, value in ours.state_dict().items()}
    copy.deepcopy(theirs).load_state_dict(back)
    for key, value in state.items():
        torch.testing.assert_close(back[key], value, rtol=0, atol=0, equal_nan=True)


def compare_state(judge: Judge, theirs: Any, ours: Any) -> None:
    mine = ours.state_dict()
    for key, value in theirs.state_dict().items():
        judge.values(value, mine[key], f"state {key}")


def module_gradients(judge: Judge, theirs: Any, ours: Any, results: tuple[Any, Any], inputs: tuple[Any, Any]) -> None:
    outputs = [
        pair for pair in zip(tensors_in(results[0]), tensors_in(results[1]), strict=True) if pair[0].requires_grad
    ]
    names = [name for name, parameter in theirs.named_parameters() if parameter.requires_grad]
    left, right = dict(theirs.named_parameters()), dict(ours.named_parameters())
    assert list(right) == list(left), f"parameters: {list(right)}, torch has {list(left)}"
    wanted = [left[name] for name in names] + [x for x in tensors_in(inputs[0]) if x.requires_grad]
    mine = [right[name] for name in names] + [x for x in tensors_in(inputs[1]) if x.requires_grad]
    if not outputs or not wanted:
        return
    cotangents = [Case(random_like(one, seed)) for seed, (one, _) in enumerate(outputs)]
    expected = grad_torch([one for one, _ in outputs], wanted, [case.torch() for case in cotangents], False)
    found = grad_ours([two for _, two in outputs], mine, [case.ours(judge.device) for case in cotangents], False)
    compare_grads(judge, expected, found, wanted, "gradient")
