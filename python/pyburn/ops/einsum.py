"""Einstein's summation: products of tensors summed over the indices that the result does not name."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from pyburn._core import Tensor

__all__ = ["einsum"]

# A dimension's name: a letter, a number of the sublist form, or ("...", i) for the i-th from last of the ellipsis.
Label = Any


def einsum(*args: Any) -> Tensor:
    """The sum of products that an equation such as `"bij,bjk->bik"` describes.

    A letter names a dimension; letters that the right side does not name are summed over; `...` stands for any
    dimensions, which broadcast; a letter twice in one operand takes the diagonal. Without `->` the result has, after
    the ellipsis, the letters that occur once, in alphabetical order.

    Args:
        *args: The equation and its operands (also as one list), or operands each followed by a list of numbers that
            name its dimensions, and last perhaps the list for the result.

    Example:
        >>> import pyburn
        >>> pyburn.einsum("ij,j->i", pyburn.ones(2, 3), pyburn.ones(3))
        tensor([3., 3.])
    """
    if len(args) == 3 and type(args[0]) is str and isinstance(args[1], Tensor) and isinstance(args[2], Tensor):
        plan = _plan(args[0], args[1].shape, args[2].shape) if args[1].dtype == args[2].dtype else None
        if plan is not None:
            return plan.product(args[1], args[2])
    operands, inputs, output = _parse(args)
    if len(inputs) != len(operands):
        raise ValueError(
            f"einsum(): the number of operands in the equation ({len(inputs)}) does not match the number of operands "
            f"given ({len(operands)})"
        )
    named = [_name(tensor, labels) for tensor, labels in zip(operands, inputs, strict=True)]
    sizes = _sizes(named)
    if output is None:
        output = _implicit(inputs)
    if Ellipsis in output:
        count = max((len([label for label in labels if _is_dots(label)]) for _, labels in named), default=0)
        dots = [("...", place) for place in range(count, 0, -1)]
        output = [label for entry in output for label in (dots if entry is Ellipsis else [entry])]
    _check_output(output, sizes)
    tensor, labels = _diagonals(*named[0])
    for step, (other, other_labels) in enumerate(named[1:], 2):
        later = {label for _, rest in named[step:] for label in rest}
        keep = set(output) | later
        tensor, labels = _contract((tensor, labels), _diagonals(other, other_labels), keep)
    surplus = [place for place, label in enumerate(labels) if label not in output]
    if surplus:
        total = tensor.sum(surplus)
        # Small integers grow in the sum of one operand, not in the product of two: torch's rule.
        tensor = total if len(named) == 1 else total.to(tensor.dtype)
        labels = [label for label in labels if label in output]
    return tensor.permute([labels.index(label) for label in output])


class _Plan(NamedTuple):
    """One batched matrix product that an equation of two operands comes to, and how they are laid out for it."""

    left_order: tuple[int, ...] | None
    left_sizes: tuple[int, ...]
    right_order: tuple[int, ...] | None
    right_sizes: tuple[int, ...]
    sizes: tuple[int, ...]
    order: tuple[int, ...] | None
    plain: bool

    def product(self, left: Tensor, right: Tensor) -> Tensor:
        """The value of the equation."""
        if self.left_order is not None:
            left = left.permute(self.left_order)
        if self.right_order is not None:
            right = right.permute(self.right_order)
        if self.plain:
            made = left.mm(right)
            return made if self.order is None else made.t()
        made = left.reshape(self.left_sizes).bmm(right.reshape(self.right_sizes)).reshape(self.sizes)
        return made if self.order is None else made.permute(self.order)


@functools.lru_cache(512)
def _plan(text: str, left: tuple[int, ...], right: tuple[int, ...]) -> _Plan | None:
    """The plan of an equation of two operands of these shapes, as `_contract` would go about it.

    None where there is more to it: repeated letters, ellipses, letters of one operand that are summed over, sizes that
    broadcast, nothing that is summed over, no `->`; and for what is wrong, which is said elsewhere.
    """
    inputs, output = _equation(text)
    if output is None or len(inputs) != 2 or Ellipsis in [*inputs[0], *inputs[1], *output]:
        return None
    (a, b), shapes = inputs, (left, right)
    every, sizes = [*a, *b], {**dict(zip(a, left)), **dict(zip(b, right))}
    if any(len(set(labels)) != len(labels) for labels in (a, b, output)) or not set(output) <= set(every):
        return None
    if any(len(labels) != len(shape) for labels, shape in zip(inputs, shapes, strict=True)):
        return None
    if any(sizes[label] != size for label, size in zip(every, (*left, *right), strict=True)):
        return None
    if any(label not in output for label in every if every.count(label) == 1):
        return None
    batch = [label for label in a if label in b and label in output]
    summed = [label for label in a if label in b and label not in output]
    rows, columns = [label for label in a if label not in b], [label for label in b if label not in a]
    if not summed:
        return None
    many, tall, depth, wide = (math.prod(sizes[label] for label in part) for part in (batch, rows, summed, columns))
    made = batch + rows + columns
    return _Plan(
        _order(a, batch + rows + summed),
        (many, tall, depth),
        _order(b, batch + summed + columns),
        (many, depth, wide),
        tuple(sizes[label] for label in made),
        _order(made, output),
        not batch and len(rows) == len(summed) == len(columns) == 1,
    )


def _order(labels: list[Label], wanted: list[Label]) -> tuple[int, ...] | None:
    return None if labels == wanted else tuple(labels.index(label) for label in wanted)


def _parse(args: tuple[Any, ...]) -> tuple[list[Tensor], list[list[Label]], list[Label] | None]:
    """Operands, their labels (with Ellipsis where it stands) and those of the result, if given."""
    if not args:
        raise ValueError("einsum(): must specify the equation string and at least one operand, or operands with lists")
    if isinstance(args[0], str):
        operands = list(args[1])[:] if len(args) == 2 and isinstance(args[1], (list, tuple)) else list(args[1:])
        if not operands:
            raise ValueError("einsum(): must provide at least one operand")
        inputs, output = _equation(args[0])
        return operands, [list(labels) for labels in inputs], None if output is None else list(output)
    operands = list(args[0 : len(args) - len(args) % 2 : 2])
    lists = [list(labels) for labels in args[1 : len(args) - len(args) % 2 : 2]]
    return operands, lists, list(args[-1]) if len(args) % 2 else None


@functools.lru_cache(256)
def _equation(text: str) -> tuple[list[list[Label]], list[Label] | None]:
    """The labels of the operands and of the result; programs write few equations, each many times."""
    left, arrow, right = text.replace(" ", "").partition("->")
    return [_letters(part) for part in left.split(",")], _letters(right) if arrow else None


def _letters(text: str) -> list[Label]:
    """Letters, with Ellipsis for `...`."""
    head, dots, tail = text.partition("...")
    for letter in head + tail:
        if not (letter.isascii() and letter.isalpha()):
            raise RuntimeError(f"einsum(): invalid subscript given, subscripts must be in [a-zA-Z], got {letter!r}")
    return [*head, *([Ellipsis] if dots else []), *tail]


def _name(tensor: Tensor, labels: list[Label]) -> tuple[Tensor, list[Label]]:
    """One label for each dimension, the ellipsis spelled out."""
    plain = [label for label in labels if label is not Ellipsis]
    hidden = tensor.dim() - len(plain)
    if hidden < 0 or (hidden > 0 and Ellipsis not in labels):
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({len(plain)}) does not match the number of "
            f"dimensions ({tensor.dim()}) of an operand; use an ellipsis for dimensions without a name"
        )
    if Ellipsis not in labels:
        return tensor, plain
    place = labels.index(Ellipsis)
    return tensor, [*labels[:place], *[("...", at) for at in range(hidden, 0, -1)], *labels[place + 1 :]]


def _is_dots(label: Label) -> bool:
    return isinstance(label, tuple)


def _sizes(named: Sequence[tuple[Tensor, list[Label]]]) -> dict[Label, int]:
    sizes: dict[Label, int] = {}
    for operand, (tensor, labels) in enumerate(named):
        for label, size in zip(labels, tensor.shape, strict=True):
            known = sizes.get(label, 1)
            if size != known and 1 not in (size, known):
                raise RuntimeError(
                    f"einsum(): subscript {label} has size {size} for operand {operand} which does not broadcast with "
                    f"previously seen size {known}"
                )
            sizes[label] = size if known == 1 else known
    return sizes


def _implicit(inputs: list[list[Label]]) -> list[Label]:
    """The ellipsis, then the labels that occur once, in order (capitals first, as in torch)."""
    every = [label for labels in inputs for label in labels]
    once = sorted(label for label in set(every) if label is not Ellipsis and every.count(label) == 1)
    return [*([Ellipsis] if Ellipsis in every else []), *once]


def _check_output(output: list[Label], sizes: dict[Label, int]) -> None:
    for label in output:
        if output.count(label) > 1:
            raise RuntimeError(f"einsum(): output subscript {label} appears more than once in the output")
        if label not in sizes and not _is_dots(label):
            raise RuntimeError(
                f"einsum(): output subscript {label} does not appear in the equation for any input operand"
            )


def _diagonals(tensor: Tensor, labels: list[Label]) -> tuple[Tensor, list[Label]]:
    """With every label once: repeated ones give diagonals."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            if tensor.shape[first] != tensor.shape[second]:
                raise RuntimeError(
                    f"einsum(): subscript {label} is repeated for an operand but the sizes don't match, "
                    f"{tensor.shape[second]} != {tensor.shape[first]}"
                )
            tensor = tensor.diagonal(0, first, second)
            labels = [other for place, other in enumerate(labels) if place not in (first, second)] + [label]
    return tensor, labels


def _contract(
    left: tuple[Tensor, list[Label]], right: tuple[Tensor, list[Label]], keep: set[Label]
) -> tuple[Tensor, list[Label]]:
    """The product of two operands, summed over the labels outside `keep`, as one batched matrix product."""
    a, a_labels = _drop(*left, keep | set(right[1]))
    b, b_labels = _drop(*right, keep | set(a_labels))
    # A size of 1 that meets a larger one and is summed over: the larger side is summed first.
    for label in [label for label in a_labels if label in b_labels and label not in keep]:
        one, other = a_labels.index(label), b_labels.index(label)
        if a.shape[one] != b.shape[other]:
            a, b = a.sum(one, keepdim=True).to(a.dtype), b.sum(other, keepdim=True).to(b.dtype)
    shared = [label for label in a_labels if label in b_labels]
    batch = [label for label in shared if label in keep]
    summed = [label for label in shared if label not in keep]
    rows = [label for label in a_labels if label not in shared]
    columns = [label for label in b_labels if label not in shared]
    sizes = {label: size for label, size in zip(a_labels + b_labels, [*a.shape, *b.shape], strict=True) if size != 1}
    length = [sizes.get(label, 1) for label in batch]
    a, b = _ordered(a, a_labels, batch + rows + summed), _ordered(b, b_labels, batch + summed + columns)
    if a.dtype == b.dtype and not batch and len(rows) == len(summed) == len(columns) == 1:
        return a.mm(b), rows + columns
    if batch:
        a = a.expand(length + [-1] * (len(rows) + len(summed)))
        b = b.expand(length + [-1] * (len(summed) + len(columns)))
    tall, wide, depth = (math.prod(sizes.get(label, 1) for label in part) for part in (rows, columns, summed))
    many = math.prod(length)
    a, b = a.reshape(many, tall, depth), b.reshape(many, depth, wide)
    if a.dtype != b.dtype and _whole(a) and _whole(b):  # a sum of small integers is int64
        a, b = a.long(), b.long()
    product = a.bmm(b) if summed else a * b
    labels = batch + rows + columns
    return product.reshape([sizes.get(label, 1) for label in labels]), labels


def _whole(tensor: Tensor) -> bool:
    return not tensor.is_floating_point() and not tensor.is_complex()


def _ordered(tensor: Tensor, labels: list[Label], wanted: list[Label]) -> Tensor:
    """With the dimensions in the order of `wanted`."""
    return tensor if labels == wanted else tensor.permute([labels.index(label) for label in wanted])


def _drop(tensor: Tensor, labels: list[Label], keep: set[Label]) -> tuple[Tensor, list[Label]]:
    """Summed over the labels that nobody else needs."""
    gone = [place for place, label in enumerate(labels) if label not in keep]
    if not gone:
        return tensor, labels
    return tensor.sum(gone), [label for label in labels if label in keep]
