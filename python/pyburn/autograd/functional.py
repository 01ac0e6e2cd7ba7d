"""Derivatives of functions as functions: Jacobians, Hessians and their products with vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyburn import ops
from pyburn._core import Tensor
from pyburn.autograd.engine import grad
from pyburn.autograd.grad_mode import enable_grad

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Function = Callable[..., Any]
Tensors = tuple[Tensor, ...]
Pair = tuple[Any, Any]


def _tupled(name: str, value: Any, what: str) -> tuple[bool, Tensors]:
    """Whether the value was a tuple, and the tuple."""
    is_tuple = isinstance(value, tuple)
    items = value if is_tuple else tuple(value) if isinstance(value, list) else (value,)
    for index, item in enumerate(items):
        if not isinstance(item, Tensor):
            raise TypeError(
                f"{name}: the {what} must be a Tensor or a tuple of Tensors, but entry {index} is a "
                f"{type(item).__name__}."
            )
    return is_tuple or isinstance(value, list), items


def _prepared(inputs: Tensors, create_graph: bool) -> Tensors:
    """Inputs to differentiate by: aliases with history where results must have one, else leaves of their own."""
    if create_graph:
        return tuple(x.view_as(x) if x.requires_grad else x.detach().requires_grad_() for x in inputs)
    return tuple(x.detach().requires_grad_() for x in inputs)


def _finished(tensors: Tensors, create_graph: bool) -> Tensors:
    return tensors if create_graph else tuple(tensor.detach() for tensor in tensors)


def _zeros_for_missing(name: str, found: tuple[Any, ...], like: Tensors, strict: bool) -> Tensors:
    results = []
    for index, (gradient, tensor) in enumerate(zip(found, like)):
        if gradient is None and strict:
            raise RuntimeError(
                f"{name}: the output of the user-provided function is independent of input {index}. This is not "
                "allowed in strict mode."
            )
        results.append(tensor.detach().new_zeros(tensor.shape) if gradient is None else gradient)
    return tuple(results)


def _gradients(
    name: str, outputs: Tensors, inputs: Tensors, weights: Tensors | None, create_graph: bool, strict: bool
) -> Tensors:
    """Gradients of the outputs that have a history, zeros for inputs that none depends on."""
    if strict and not all(output.requires_grad for output in outputs):
        raise RuntimeError(
            f"{name}: an output of the user-provided function does not require gradients. The outputs must be "
            "computed in a differentiable manner from the input when running in strict mode."
        )
    used = [index for index, output in enumerate(outputs) if output.requires_grad]
    if not used:
        return _zeros_for_missing(name, (None,) * len(inputs), inputs, strict)
    starts = None if weights is None else [weights[index] for index in used]
    found = grad(
        [outputs[index] for index in used],
        inputs,
        starts,
        retain_graph=True,
        create_graph=create_graph,
        allow_unused=True,
    )
    return _zeros_for_missing(name, found, inputs, strict)


def _checked_vectors(name: str, v: Any, like: Tensors, what: str) -> Tensors:
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(
                f"{name}: the vector v can only be None if the {what} of the user-provided function is a single Tensor "
                "with a single element."
            )
        return (like[0].detach().new_ones(like[0].shape),)
    _, vectors = _tupled(name, v, "vector v")
    if len(vectors) != len(like):
        raise RuntimeError(f"{name}: v has {len(vectors)} entries but the {what} has {len(like)}.")
    for index, (vector, tensor) in enumerate(zip(vectors, like)):
        if vector.shape != tensor.shape:
            got, expected = list(vector.shape), list(tensor.shape)
            raise RuntimeError(f"{name}: entry {index} of v has shape {got} but {what} {index} has {expected}.")
    return vectors


def _unpacked(is_tuple: bool, tensors: Tensors) -> Any:
    return tensors if is_tuple else tensors[0]


def vjp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The outputs of a function, and the product of a vector with its Jacobian.

    Args:
        func: Takes tensors, returns a tensor or a tuple of them.
        inputs: A tensor or a tuple of them.
        v: A vector for each output; may be left out for a single number.
        create_graph: Whether the results can be differentiated.
        strict: Whether outputs that do not depend on an input raise.

    Example:
        >>> import pyburn
        >>> vjp(lambda x: x * x, pyburn.tensor([1.0, 2.0]), pyburn.tensor([1.0, 10.0]))
        (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with enable_grad():
        many_in, given = _tupled("vjp", inputs, "inputs")
        own = _prepared(given, create_graph)
        many_out, outputs = _tupled("vjp", func(*own), "outputs")
        vectors = _checked_vectors("vjp", v, outputs, "output")
        products = _gradients("vjp", outputs, own, vectors, create_graph, strict)
    return _unpacked(many_out, _finished(outputs, create_graph)), _unpacked(many_in, _finished(products, create_graph))


def jvp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The outputs of a function, and the product of its Jacobian with a vector.

    Args:
        func: Takes tensors, returns a tensor or a tuple of them.
        inputs: A tensor or a tuple of them.
        v: A vector for each input; may be left out for a single number.
        create_graph: Whether the results can be differentiated.
        strict: Whether outputs that do not depend on an input raise.

    Example:
        >>> import pyburn
        >>> jvp(lambda x: (x * x).sum(), pyburn.tensor([1.0, 2.0]), pyburn.tensor([1.0, 10.0]))
        (tensor(5.), tensor(42.))
    """
    with enable_grad():
        _, given = _tupled("jvp", inputs, "inputs")
        vectors = _checked_vectors("jvp", v, given, "input")
        own = _prepared(given, create_graph)
        many_out, outputs = _tupled("jvp", func(*own), "outputs")
        # The transposed product is linear in its weights: its own transposed product is what we want.
        weights = tuple(output.detach().new_zeros(output.shape).requires_grad_() for output in outputs)
        transposed = _gradients("jvp", outputs, own, weights, True, strict)
        products = _gradients("jvp", transposed, weights, vectors, create_graph, False)
    return _unpacked(many_out, _finished(outputs, create_graph)), _unpacked(many_out, _finished(products, create_graph))


def _rows(output: Tensor, inputs: Tensors, create_graph: bool, strict: bool) -> list[Tensor]:
    """For each input the Jacobian of one output."""
    columns: list[list[Tensor]] = [[] for _ in inputs]
    for element in output.reshape(-1).unbind(0):
        for column, row in zip(columns, _gradients("jacobian", (element,), inputs, None, create_graph, strict)):
            column.append(row)
    jacobians = []
    for column, x in zip(columns, inputs):
        flat = ops.stack(column) if column else x.detach().new_zeros((0, *x.shape))
        jacobians.append(flat.reshape((*output.shape, *x.shape)))
    return jacobians


def jacobian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian: of shape ``output.shape + input.shape``, for tuples nested as outputs, then inputs.

    Args:
        func: Takes tensors, returns a tensor or a tuple of them.
        inputs: A tensor or a tuple of them.
        create_graph: Whether the result can be differentiated.
        strict: Whether outputs that do not depend on an input raise.
        vectorize: Accepted; rows are computed one after the other.
        strategy: ``"reverse-mode"``; ``"forward-mode"`` gives the same numbers here.

    Example:
        >>> import pyburn
        >>> jacobian(lambda x: x * x, pyburn.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    if strategy not in ("reverse-mode", "forward-mode"):
        raise ValueError(f"jacobian: strategy is {strategy!r} but must be 'reverse-mode' or 'forward-mode'.")
    with enable_grad():
        many_in, given = _tupled("jacobian", inputs, "inputs")
        own = _prepared(given, create_graph)
        many_out, outputs = _tupled("jacobian", func(*own), "outputs")
        found = [_finished(tuple(_rows(output, own, create_graph, strict)), create_graph) for output in outputs]
    table = tuple(_unpacked(many_in, row) for row in found)
    return table if many_out else table[0]


def _scalar(name: str, output: Any) -> Tensor:
    if not isinstance(output, Tensor):
        raise RuntimeError(f"{name}: the function must return a single Tensor, not a {type(output).__name__}.")
    if output.numel() != 1:
        raise RuntimeError(f"{name}: the Tensor returned by the function should contain a single element.")
    return output.reshape(())


def hessian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The matrix of second derivatives of a function to one number, for tuples nested twice as inputs.

    Args:
        func: Takes tensors, returns a tensor of one element.
        inputs: A tensor or a tuple of them.
        create_graph: Whether the result can be differentiated.
        strict: Whether an output that does not depend on an input raises.
        vectorize: Accepted; rows are computed one after the other.
        outer_jacobian_strategy: As in `jacobian`.

    Example:
        >>> import pyburn
        >>> hessian(lambda x: (x**3).sum(), pyburn.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    many_in, given = _tupled("hessian", inputs, "inputs")

    def first(*args: Tensor) -> Any:
        output = _scalar("hessian", func(*args))
        gradients = _gradients("hessian", (output,), args, None, True, strict)
        return _unpacked(many_in, gradients)

    wrapped = given if many_in else given[0]
    return jacobian(first, wrapped, create_graph, strict, vectorize, outer_jacobian_strategy)


def vhp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The output of a function to one number, and the product of a vector with its Hessian.

    Args:
        func: Takes tensors, returns a tensor of one element.
        inputs: A tensor or a tuple of them.
        v: A vector for each input; may be left out for a single number.
        create_graph: Whether the results can be differentiated.
        strict: Whether an output that does not depend on an input raises.

    Example:
        >>> import pyburn
        >>> vhp(lambda x: (x**3).sum(), pyburn.tensor([1.0, 2.0]), pyburn.tensor([1.0, 1.0]))
        (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        many_in, given = _tupled("vhp", inputs, "inputs")
        vectors = _checked_vectors("vhp", v, given, "input")
        own = _prepared(given, create_graph)
        raw = func(*own)
        output = _scalar("vhp", raw)
        gradients = _gradients("vhp", (output,), own, None, True, strict)
        products = _gradients("vhp", gradients, own, vectors, create_graph, strict)
    result = _finished((raw,), create_graph)[0]
    return result, _unpacked(many_in, _finished(products, create_graph))


def hvp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The output of a function to one number, and the product of its Hessian with a vector.

    Args:
        func: Takes tensors, returns a tensor of one element.
        inputs: A tensor or a tuple of them.
        v: A vector for each input; may be left out for a single number.
        create_graph: Whether the results can be differentiated.
        strict: Whether an output that does not depend on an input raises.

    Example:
        >>> import pyburn
        >>> hvp(lambda x: (x**3).sum(), pyburn.tensor([1.0, 2.0]), pyburn.tensor([1.0, 1.0]))
        (tensor(9.), tensor([ 6., 12.]))
    """
    # A Hessian is symmetric, so that both products are the same.
    return vhp(func, inputs, v, create_graph, strict)
