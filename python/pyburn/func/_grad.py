"""Derivatives of functions. Each call computes on fresh variables, so that calls nest: `grad(grad(f))` works."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from pyburn import autograd, ops
from pyburn._core import Tensor
from pyburn.utils._pytree import tree_flatten, tree_map, tree_unflatten

Argnums = int | tuple[int, ...]


class _Depth(threading.local):
    """How many derivatives are being taken around the caller."""

    value = 0


_depth = _Depth()


def _fresh(value: Any) -> Any:
    """A variable with this value; it stays connected to the graph around it, if there is one."""
    if not isinstance(value, Tensor):
        return value
    with autograd.enable_grad():
        return value.view_as(value) if value.requires_grad else value.detach().requires_grad_()


def _run(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    _depth.value += 1
    try:
        with autograd.enable_grad():
            return func(*args, **kwargs)
    finally:
        _depth.value -= 1


def _numbers(argnums: Argnums, count: int) -> tuple[int, ...]:
    wanted = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for number in wanted:
        if not -count <= number < count:
            raise RuntimeError(f"Got argnum={number}, but only {count} positional inputs")
    return tuple(number % count for number in wanted)


def _with_aux(name: str, result: Any, has_aux: bool) -> tuple[Any, Any]:
    if not has_aux:
        return result, None
    if not isinstance(result, tuple) or len(result) != 2:
        raise RuntimeError(f"{name}(f): with has_aux=True, f must return a tuple of an output and other values.")
    return result


def _leaves(tree: Any) -> list[Tensor]:
    return [leaf for leaf in tree_flatten(tree)[0] if isinstance(leaf, Tensor)]


def _reaches_more(outputs: list[Tensor], own: list[Tensor]) -> bool:
    """Whether the graph of `outputs` has other leaves than `own`: then the caller may go on differentiating."""
    mine = {id(tensor) for tensor in own}
    waiting = [tensor.grad_fn for tensor in outputs if tensor.grad_fn is not None]
    seen = set(waiting)
    while waiting:
        node = waiting.pop()
        for below, _ in node.next_functions:
            if below is None or below in seen:
                continue
            seen.add(below)
            if below.name().endswith("AccumulateGrad") and id(below.variable) not in mine:
                return True
            waiting.append(below)
    return False


def _released(tree: Any, variables: list[Tensor], inputs: Any) -> Any:
    """The results without their graph, unless a caller around can still use it."""
    outputs = _leaves(tree)
    outer = _depth.value > 0 or any(tensor.requires_grad for tensor in _leaves(inputs))
    if outer or (autograd.is_grad_enabled() and _reaches_more(outputs, variables)):
        return tree
    return tree_map(lambda leaf: leaf.detach() if isinstance(leaf, Tensor) else leaf, tree)


def _gradients(outputs: list[Tensor], inputs: list[Tensor], weights: list[Tensor] | None) -> list[Tensor]:
    """The gradients with a graph of their own; zeros for inputs that were not used."""
    kept = [number for number, output in enumerate(outputs) if output.requires_grad]
    if not kept:
        return [ops.zeros_like(tensor) for tensor in inputs]
    found = autograd.grad(
        [outputs[number] for number in kept],
        inputs,
        None if weights is None else [weights[number] for number in kept],
        create_graph=True,
        allow_unused=True,
    )
    return [ops.zeros_like(tensor) if value is None else value for value, tensor in zip(found, inputs)]


def grad_and_value(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the gradient of `func`, whose result must be one number, and its value.

    Example:
        >>> import pyburn
        >>> pyburn.func.grad_and_value(lambda x: x**2)(pyburn.tensor(3.0))
        (tensor(6.), tensor(9.))
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        wanted = _numbers(argnums, len(args))
        inputs = [args[number] for number in wanted]
        chosen = [tree_map(_fresh, value) for value in inputs]
        changed = list(args)
        for number, value in zip(wanted, chosen):
            changed[number] = value
        output, aux = _with_aux("grad_and_value", _run(func, tuple(changed), kwargs), has_aux)
        if not isinstance(output, Tensor):
            raise RuntimeError(f"Expected f(*args) to return a Tensor, got {type(output)}.")
        if output.dim() != 0:
            raise RuntimeError(
                "grad_and_value(f)(*args): Expected f(*args) to return a scalar tensor, got tensor with "
                f"{output.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
            )
        flat, spec = tree_flatten(chosen)
        variables = [leaf for leaf in flat if isinstance(leaf, Tensor)]
        found = iter(_gradients([output], variables, None))
        grads = tree_unflatten([next(found) if isinstance(leaf, Tensor) else leaf for leaf in flat], spec)
        result = grads[0] if isinstance(argnums, int) else tuple(grads)
        result, value, aux = _released((result, output, aux), variables, inputs)
        return (result, (value, aux)) if has_aux else (result, value)

    return wrapper


def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the gradient of `func`, whose result must be one number.

    Args:
        func: The function.
        argnums: Which arguments, tensors or containers of them, to differentiate by.
        has_aux: Whether `func` returns other values beside the number; they are given back.

    Example:
        >>> import pyburn
        >>> f = pyburn.func.grad(pyburn.func.grad(lambda x: x**3))
        >>> f(pyburn.tensor(2.0))
        tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        result, value = both(*args, **kwargs)
        return (result, value[1]) if has_aux else result

    return wrapper


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of `func`, and a function from a vector like it to the product with the Jacobian.

    Example:
        >>> import pyburn
        >>> value, product = pyburn.func.vjp(lambda x: x * 2, pyburn.ones(2))
        >>> product(pyburn.tensor([1.0, 3.0]))
        (tensor([2., 6.]),)
    """
    chosen = tuple(tree_map(_fresh, value) for value in primals)
    output, aux = _with_aux("vjp", _run(func, chosen, {}), has_aux)
    flat, spec = tree_flatten(chosen)
    outputs, shape = tree_flatten(output)

    def product(cotangents: Any) -> Any:
        weights, given = tree_flatten(cotangents)
        if given != shape:
            raise RuntimeError("vjp: Expected the vector to have the same structure as the function's output.")
        found = _gradients(outputs, flat, weights)
        return tree_unflatten(_released(found, flat, (primals, cotangents)), spec)

    value, aux = _released((output, aux), flat, primals)
    return (value, product, aux) if has_aux else (value, product)


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """The value of `func`, and the product of its Jacobian with `tangents`.

    Differs from torch:
        The product is computed by two backward passes, so each operation must have a second derivative.

    Example:
        >>> import pyburn
        >>> pyburn.func.jvp(lambda x: x**2, (pyburn.tensor(3.0),), (pyburn.tensor(1.0),))
        (tensor(9.), tensor(6.))
    """
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple) or len(primals) != len(tangents):
        raise RuntimeError("jvp(f, primals, tangents): Expected primals and tangents to be tuples of the same length.")
    chosen = tuple(tree_map(_fresh, value) for value in primals)
    output, aux = _with_aux("jvp", _run(func, chosen, {}), has_aux)
    variables, directions = _leaves(chosen), _leaves(tangents)
    outputs, shape = tree_flatten(output)
    _depth.value += 1
    try:
        dummies = [ops.zeros_like(value).requires_grad_() for value in outputs]
        # The gradient by the inputs is linear in the dummies: its own gradient by them is the product.
        firsts = _gradients(outputs, variables, dummies)
        pairs = [(first, along) for first, along in zip(firsts, directions) if first.requires_grad]
        along = _gradients([first for first, _ in pairs], dummies, [direction for _, direction in pairs])
    finally:
        _depth.value -= 1
    product = tree_unflatten(along, shape)
    value, product, aux = _released((output, product, aux), [*variables, *dummies], (primals, tangents))
    return (value, product, aux) if has_aux else (value, product)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The value of `func`, and a function from tangents to the product with the Jacobian at these values."""
    return func(*primals), lambda *tangents: jvp(func, primals, tangents)[1]


def jacrev(
    func: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False, chunk_size: Any = None, **_: Any
) -> Callable[..., Any]:
    """A function that gives the Jacobian of `func`, of the output's shape followed by the input's.

    Example:
        >>> import pyburn
        >>> pyburn.func.jacrev(lambda x: x**2)(pyburn.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        wanted = _numbers(argnums, len(args))
        inputs = [args[number] for number in wanted]
        chosen = [tree_map(_fresh, value) for value in inputs]
        changed = list(args)
        for number, value in zip(wanted, chosen):
            changed[number] = value
        output, aux = _with_aux("jacrev", _run(func, tuple(changed), kwargs), has_aux)
        flat, spec = tree_flatten(chosen)

        def jacobian(leaf: Tensor) -> Any:
            parts = tree_unflatten(_rows(leaf, flat), spec)
            return parts[0] if isinstance(argnums, int) else tuple(parts)

        result, aux = _released((tree_map(jacobian, output), aux), flat, inputs)
        return (result, aux) if has_aux else result

    return wrapper


def _rows(output: Tensor, inputs: list[Tensor]) -> list[Tensor]:
    """For each input the gradients of all elements of the output."""
    found = [_gradients([element], inputs, None) for element in output.reshape(-1).unbind(0)]
    return [
        ops.stack([row[number] for row in found]).reshape([*output.shape, *tensor.shape])
        if found
        else ops.zeros([*output.shape, *tensor.shape], dtype=output.dtype)
        for number, tensor in enumerate(inputs)
    ]


def jacfwd(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error", **_: Any
) -> Callable[..., Any]:
    """As `jacrev`; the values are the same.

    Example:
        >>> import pyburn
        >>> pyburn.func.jacfwd(pyburn.sin)(pyburn.zeros(1))
        tensor([[1.]])
    """
    return jacrev(func, argnums, has_aux=has_aux)


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """A function that gives the second derivatives of `func`.

    Example:
        >>> import pyburn
        >>> pyburn.func.hessian(lambda x: (x**3).sum())(pyburn.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
