"""torch.autograd.forward_ad: tensors that carry a tangent, and the tangents of what is computed from them.

A tangent is not carried along with each op: ops on a dual tensor are recorded as always, and `unpack_dual` takes two
backward passes through them, the second of which is a pass forwards.
"""

from __future__ import annotations

import types
from typing import NamedTuple

from pyburn._core import Tensor
from pyburn.autograd.engine import grad
from pyburn.autograd.grad_mode import enable_grad

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]


class UnpackedDualTensor(NamedTuple):
    """A tensor and its tangent, None where it has none."""

    primal: Tensor
    tangent: Tensor | None


class _Level:
    """The dual tensors of the level that is open: where each enters the graph, and along what."""

    def __init__(self) -> None:
        self.number = -1
        self.seeds: list[tuple[Tensor, Tensor]] = []
        # Leaves that require gradients only for the tangents' sake.
        self.leaves: list[Tensor] = []


_level = _Level()


def enter_dual_level() -> int:
    """Opens the level in which dual tensors can be made, and gives its number.

    Example:
        >>> import pyburn
        >>> fw = pyburn.autograd.forward_ad
        >>> level = fw.enter_dual_level()
        >>> fw.exit_dual_level()
        >>> level
        0
    """
    if _level.number >= 0:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _level.number = 0
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Closes the level: from now on no tensor has a tangent.

    Example:
        >>> import pyburn
        >>> fw = pyburn.autograd.forward_ad
        >>> fw.exit_dual_level(level=fw.enter_dual_level())
    """
    if _level.number < 0 or level not in (None, _level.number):
        raise RuntimeError("Trying to exit a forward AD level that was not the last one that was created.")
    _level.number = -1
    _level.seeds, _level.leaves = [], []


class dual_level:
    """A context in which tensors can have tangents.

    Differs from torch:
        Ops under `no_grad` leave no tangents, tensors made from dual ones require gradients, and each op must have a
        second derivative.

    Example:
        >>> import pyburn
        >>> fw = pyburn.autograd.forward_ad
        >>> with fw.dual_level():
        ...     x = fw.make_dual(pyburn.tensor([1.0, 2.0]), pyburn.tensor([1.0, 10.0]))
        ...     fw.unpack_dual(x * x).tangent
        tensor([ 2., 40.])
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: types.TracebackType | None
    ) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """The tensor with a tangent, inside of a `dual_level`.

    Args:
        tensor: Floats or complex numbers.
        tangent: The direction, of the same shape and dtype.
        level: The number of the open level.

    Example:
        >>> import pyburn
        >>> fw = pyburn.autograd.forward_ad
        >>> with fw.dual_level():
        ...     fw.unpack_dual(fw.make_dual(pyburn.ones(1), pyburn.zeros(1))).tangent
        tensor([0.])
    """
    if _level.number < 0:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    for name, value in (("primal", tensor), ("tangent", tangent)):
        if not (value.is_floating_point() or value.is_complex()):
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {value.dtype}")
    if tensor.shape != tangent.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(tensor.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}."
        )
    with enable_grad():
        # A result of its own even of a leaf: gradients are asked for here, and stop here where the tensor wants none.
        entry = tensor
        if not tensor.requires_grad:
            entry = tensor.detach().requires_grad_()
            _level.leaves.append(entry)
        seed = entry.view_as(entry)
    _level.seeds.append((seed, tangent))
    return seed


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The tensor without its tangent, and the tangent: None where it depends on no dual tensor of the open level.

    Example:
        >>> import pyburn
        >>> fw = pyburn.autograd.forward_ad
        >>> with fw.dual_level():
        ...     x = fw.make_dual(pyburn.tensor(0.0), pyburn.tensor(2.0))
        ...     fw.unpack_dual(x.sin())
        UnpackedDualTensor(primal=tensor(0.), tangent=tensor(2.))
    """
    if _level.number < 0 or not tensor.requires_grad:
        return UnpackedDualTensor(tensor, None)
    wanted = _has_other_leaves(tensor)
    with enable_grad():
        tangent = _tangent(tensor, create_graph=wanted)
    if wanted or tangent is None:
        return UnpackedDualTensor(tensor, tangent)
    return UnpackedDualTensor(tensor.detach(), tangent.detach())


def _tangent(tensor: Tensor, create_graph: bool) -> Tensor | None:
    """The product of the Jacobian of a tensor by the open level's dual tensors with their tangents."""
    if not _level.seeds:
        return None
    weights = tensor.detach().new_zeros(tensor.shape).requires_grad_()
    # The transposed product is linear in its weights: its own transposed product is what is wanted.
    seeds = [seed for seed, _ in _level.seeds]
    firsts = grad([tensor], seeds, [weights], retain_graph=True, create_graph=True, allow_unused=True)
    used = [(first, along) for first, (_, along) in zip(firsts, _level.seeds, strict=True) if first is not None]
    linear = [(first, along) for first, along in used if first.requires_grad]
    if not linear:
        return weights.detach() if used else None
    parts, directions = ([pair[at] for pair in linear] for at in (0, 1))
    (found,) = grad(parts, [weights], directions, create_graph=create_graph, retain_graph=True, allow_unused=True)
    return weights.detach() if found is None else found


def _has_other_leaves(tensor: Tensor) -> bool:
    """Whether gradients of the tensor are wanted beyond those that dual tensors were made to require."""
    waiting, seen = [tensor.grad_fn], set()
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        leaf = getattr(node, "variable", None)
        if leaf is not None and not any(leaf is own for own in _level.leaves):
            return True
        waiting += [after for after, _ in node.next_functions]
    return False
