"""Gradients checked against finite differences: `gradcheck` and `gradgradcheck`."""

from __future__ import annotations

import itertools
import math
import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pyburn import _core
from pyburn._core import Tensor
from pyburn.autograd.engine import grad

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]

Function = Callable[..., Any]


class GradcheckError(RuntimeError):
    """A gradient that `gradcheck` found to be wrong."""


@dataclass(frozen=True)
class _Settings:
    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    check_grad_dtypes: bool


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _is_float_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()


def _differentiable(values: Any) -> tuple[Tensor, ...]:
    return tuple(value for value in _as_tuple(values) if isinstance(value, Tensor) and value.requires_grad)


def _backward(outputs: Sequence[Tensor], inputs: Sequence[Tensor], grads: Sequence[Tensor]) -> list[Tensor | None]:
    return list(grad(outputs, inputs, grads, retain_graph=True, allow_unused=True))


def _close(a: Tensor, b: Tensor, rtol: float, atol: float) -> bool:
    near = (a - b).abs() <= atol + rtol * b.abs()
    return bool((near | (a == b)).all().item())


def _in_real_parts(function: Function, inputs: tuple[Any, ...]) -> tuple[Function, tuple[Any, ...]]:
    """The function with the parts of complex inputs and outputs as a last dimension: real Jacobians say it all."""
    split = [isinstance(value, Tensor) and value.is_complex() and value.requires_grad for value in inputs]

    def parts(value: Any) -> Any:
        return _core.view_as_real(value) if isinstance(value, Tensor) and value.is_complex() else value

    def real(*args: Any) -> Any:
        outputs = function(*(_core.view_as_complex(arg) if flag else arg for arg, flag in zip(args, split)))
        return type(outputs)(map(parts, outputs)) if type(outputs) in (tuple, list) else parts(outputs)

    given = (parts(value.detach().clone()).requires_grad_() if flag else value for value, flag in zip(inputs, split))
    return real, tuple(given)


def _positions(tensor: Tensor) -> Iterator[tuple[int, ...]]:
    return itertools.product(*(range(size) for size in tensor.shape))


def _check_inputs(inputs: tuple[Any, ...]) -> list[Tensor]:
    checked = []
    for index, value in enumerate(inputs):
        if not (isinstance(value, Tensor) and value.requires_grad):
            continue
        if value.dtype is not _core.float64:
            warnings.warn(
                f"gradcheck: input {index} requires grad and is {value.dtype}; finite differences need float64, "
                "so that the check will likely fail.",
                stacklevel=4,
            )
        if any(stride == 0 and size > 1 for stride, size in zip(value.stride(), value.shape)):
            raise RuntimeError(
                f"gradcheck: input {index} has a dimension with stride 0, whose elements share memory and cannot "
                "be changed one by one; call .contiguous() on it first."
            )
        value.retain_grad()
        checked.append(value)
    if not checked:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )
    return checked


def _float_outputs(function: Function, inputs: tuple[Any, ...]) -> list[Tensor]:
    """Copies of what comes out, as the function may return its input or write over it later."""
    outputs = _as_tuple(function(*inputs))
    return [output.detach().clone() for output in outputs if _is_float_tensor(output)]


def _numerical_columns(
    function: Function, inputs: tuple[Any, ...], tensor: Tensor, eps: float
) -> Iterator[tuple[int, list[Tensor]]]:
    """For each element of one input, what a change of it does to every output."""
    data = tensor.data
    for number, position in enumerate(_positions(data)):
        before = data[position].item()
        data[position] = before - eps
        low = _float_outputs(function, inputs)
        data[position] = before + eps
        high = _float_outputs(function, inputs)
        data[position] = before
        yield number, [(b - a).reshape(-1) / (2 * eps) for a, b in zip(low, high)]


def _numerical_jacobians(
    function: Function, inputs: tuple[Any, ...], tensor: Tensor, outputs: Sequence[Tensor], eps: float
) -> list[Tensor]:
    """For each output a matrix with a row per element of the input, a column per element of the output."""
    jacobians = [tensor.new_zeros((tensor.numel(), output.numel()), dtype=output.dtype) for output in outputs]
    for number, columns in _numerical_columns(function, inputs, tensor, eps):
        for jacobian, column in zip(jacobians, columns):
            jacobian[number] = column
    return jacobians


def _check_gradient(grad: Tensor | None, tensor: Tensor, settings: _Settings) -> Tensor:
    if grad is None:
        return tensor.detach().new_zeros(tensor.shape)
    if settings.check_grad_dtypes and grad.dtype != tensor.dtype:
        raise GradcheckError("Gradient has dtype mismatch")
    if grad.shape != tensor.shape:
        raise GradcheckError("Analytical gradient has incorrect size")
    return grad.detach()


def _analytical_jacobians(output: Tensor, tensors: Sequence[Tensor], settings: _Settings) -> list[Tensor]:
    jacobians = [tensor.new_zeros((tensor.numel(), output.numel()), dtype=output.dtype) for tensor in tensors]
    for number, position in enumerate(_positions(output)):
        one_hot = output.detach().new_zeros(output.shape)
        one_hot[position] = 1.0
        rows, again = (_backward([output], tensors, [one_hot]) for _ in range(2))
        for jacobian, tensor, row, repeated in zip(jacobians, tensors, rows, again):
            first = _check_gradient(row, tensor, settings)
            second = _check_gradient(repeated, tensor, settings)
            if bool(((first - second).abs() > settings.nondet_tol).any().item()):
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple "
                    f"times gives different values; the tolerance for nondeterminism was {settings.nondet_tol}."
                )
            jacobian[:, number] = first.reshape(-1)
    return jacobians


def _mismatch(output: int, tensor: int, numerical: Tensor, analytical: Tensor) -> GradcheckError:
    return GradcheckError(
        f"Jacobian mismatch for output {output} with respect to input {tensor},\n"
        f"numerical:{numerical}\nanalytical:{analytical}\n"
    )


def _check_full(function: Function, inputs: tuple[Any, ...], tensors: list[Tensor], settings: _Settings) -> None:
    outputs = _differentiable(function(*inputs))
    analytical = [_analytical_jacobians(output, tensors, settings) for output in outputs]

    def only_differentiable(*args: Any) -> tuple[Tensor, ...]:
        return _differentiable(function(*args))

    for number, tensor in enumerate(tensors):
        numerical = _numerical_jacobians(only_differentiable, inputs, tensor, outputs, settings.eps)
        for index, expected in enumerate(numerical):
            found = analytical[index][number]
            if not _close(found, expected, settings.rtol, settings.atol):
                raise _mismatch(index, number, expected, found)


def _direction(tensor: Tensor, source: random.Random) -> Tensor:
    """A random vector of length one in the shape of a tensor."""
    values = [source.gauss(0.0, 1.0) for _ in range(tensor.numel())]
    length = sum(value * value for value in values) ** 0.5 or 1.0
    flat = tensor.detach().new_tensor([value / length for value in values])
    return flat.reshape(tensor.shape)


def _check_fast(function: Function, inputs: tuple[Any, ...], tensors: list[Tensor], settings: _Settings) -> None:
    """One number for each pair of input and output: the Jacobian between two random directions."""
    source = random.Random(0)
    outputs = _differentiable(function(*inputs))
    rows = [_direction(output, source) for output in outputs]
    grads = [_backward([output], tensors, [row]) for output, row in zip(outputs, rows)]
    for number, tensor in enumerate(tensors):
        column = _direction(tensor, source)
        data = tensor.data
        before = data.clone()
        data.copy_(before - settings.eps * column)
        low = [output.detach().clone() for output in _differentiable(function(*inputs))]
        data.copy_(before + settings.eps * column)
        high = [output.detach().clone() for output in _differentiable(function(*inputs))]
        data.copy_(before)
        for index, row in enumerate(rows):
            expected = ((high[index] - low[index]) / (2 * settings.eps) * row).sum()
            found = (_check_gradient(grads[index][number], tensor, settings) * column).sum()
            slack = settings.atol * row.abs().sum().item() * column.abs().sum().item()
            if not _close(found, expected, settings.rtol, slack):
                _check_full(function, inputs, tensors, settings)
                raise _mismatch(index, number, expected, found)


def _check_nothing_differentiable(
    function: Function, inputs: tuple[Any, ...], tensors: list[Tensor], settings: _Settings
) -> None:
    for tensor in tensors:
        for _, columns in _numerical_columns(function, inputs, tensor, settings.eps):
            if any(bool((column != 0).any().item()) for column in columns):
                raise GradcheckError("Numerical gradient for function expected to be zero")


def _check_zero_grad_output(function: Function, inputs: tuple[Any, ...], tensors: list[Tensor]) -> None:
    outputs = _differentiable(function(*inputs))
    zeros = [output.detach().new_zeros(output.shape) for output in outputs]
    for found in _backward(outputs, tensors, zeros):
        if found is not None and not bool((found == 0).all().item()):
            raise GradcheckError("backward not multiplied by grad_output")


def _check(function: Function, inputs: tuple[Any, ...], settings: _Settings, fast_mode: bool) -> None:
    tensors = _check_inputs(inputs)
    if not _differentiable(function(*inputs)):
        _check_nothing_differentiable(function, inputs, tensors, settings)
        return
    (_check_fast if fast_mode else _check_full)(function, inputs, tensors, settings)
    _check_zero_grad_output(function, inputs, tensors)


def _refuse(name: str, wanted: Sequence[str]) -> None:
    if wanted:
        raise NotImplementedError(
            f"{name}: {' and '.join(wanted)} needs forward-mode differentiation or vmap, which pyburn does not have "
            "yet; leave it at its default to check reverse mode."
        )


def gradcheck(
    func: Function,
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """True if the gradients of a function agree with finite differences.

    Args:
        func: Takes the inputs, returns a tensor or several.
        inputs: A tensor or a tuple; those that require grad are checked and should be float64 or complex128.
        eps: How far each element is moved to both sides.
        atol: Absolute tolerance.
        rtol: Relative tolerance.
        raise_exception: Whether a wrong gradient raises instead of giving ``False``.
        nondet_tol: By how much two backward passes may differ.
        check_undefined_grad: Changes nothing: in every check each output in turn is the only one that
            a gradient reaches.
        check_grad_dtypes: Whether a gradient must have the dtype of its input.
        check_batched_grad: Not there yet.
        check_batched_forward_grad: Not there yet.
        check_forward_ad: Not there yet.
        check_backward_ad: Whether to check at all.
        fast_mode: Compare one random projection of each Jacobian rather than all of it.
        masked: Only means something for sparse tensors.

    Raises:
        GradcheckError: If a gradient is wrong and ``raise_exception`` is set.

    Example:
        >>> import pyburn
        >>> x = pyburn.tensor([0.5, 2.0], dtype=pyburn.float64, requires_grad=True)
        >>> gradcheck(lambda x: (x * x).sum(), x)
        True
    """
    asked = {
        "check_batched_grad": check_batched_grad,
        "check_batched_forward_grad": check_batched_forward_grad,
        "check_forward_ad": check_forward_ad,
    }
    _refuse("gradcheck", [name for name, value in asked.items() if value])
    if not check_backward_ad:
        raise ValueError("gradcheck: check_backward_ad=False leaves nothing to check.")
    settings = _Settings(eps, atol, rtol, nondet_tol, check_grad_dtypes)
    try:
        _check(*_in_real_parts(func, _as_tuple(inputs)), settings, fast_mode)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _random_grad_outputs(func: Function, inputs: tuple[Any, ...], non_contiguous: bool) -> tuple[Tensor, ...]:
    source = random.Random(1)
    made = []
    for output in _differentiable(func(*inputs)):
        shape = [*output.shape, 2] if non_contiguous else [*output.shape]
        flat = output.detach().new_tensor([source.uniform(-1.0, 1.0) for _ in range(math.prod(shape))])
        grad = flat.reshape(shape)[..., 0] if non_contiguous else flat.reshape(shape)
        made.append(grad.detach().requires_grad_())
    return tuple(made)


def gradgradcheck(
    func: Function,
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """True if the gradients of a function's gradients agree with finite differences.

    Args:
        func: Takes the inputs, returns a tensor or several.
        inputs: A tensor or a tuple; those that require grad are checked and should be float64 or complex128.
        grad_outputs: Gradients of the outputs to start from; random ones by default.
        eps: How far each element is moved to both sides.
        atol: Absolute tolerance.
        rtol: Relative tolerance.
        gen_non_contig_grad_outputs: Whether the random ``grad_outputs`` are strided.
        raise_exception: Whether a wrong gradient raises instead of giving ``False``.
        nondet_tol: By how much two backward passes may differ.
        check_undefined_grad: Changes nothing: in every check each output in turn is the only one that
            a gradient reaches.
        check_grad_dtypes: Whether a gradient must have the dtype of its input.
        check_batched_grad: Not there yet.
        check_fwd_over_rev: Not there yet.
        check_rev_over_rev: Whether to check at all.
        fast_mode: Compare one random projection of each Jacobian rather than all of it.
        masked: Only means something for sparse tensors.

    Raises:
        GradcheckError: If a gradient is wrong and ``raise_exception`` is set.

    Example:
        >>> import pyburn
        >>> x = pyburn.tensor([0.5, 2.0], dtype=pyburn.float64, requires_grad=True)
        >>> gradgradcheck(lambda x: x * x * x, x)
        True
    """
    asked = {"check_batched_grad": check_batched_grad, "check_fwd_over_rev": check_fwd_over_rev}
    _refuse("gradgradcheck", [name for name, value in asked.items() if value])
    if not check_rev_over_rev:
        raise ValueError("gradgradcheck: check_rev_over_rev=False leaves nothing to check.")
    first = _as_tuple(inputs)
    if grad_outputs is None:
        second = _random_grad_outputs(func, first, gen_non_contig_grad_outputs)
    else:
        second = _as_tuple(grad_outputs)

    def gradients(*args: Any) -> tuple[Tensor, ...]:
        own = args[: len(args) - len(second)]
        outputs = _differentiable(func(*own))
        found = grad(outputs, _differentiable(own), args[len(own) :], create_graph=True, allow_unused=True)
        return tuple(value for value in found if value is not None)

    return gradcheck(
        gradients,
        first + second,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        fast_mode=fast_mode,
        masked=masked,
    )
