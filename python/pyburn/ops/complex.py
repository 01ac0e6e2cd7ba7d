"""Complex numbers: their parts, conjugates, sizes and angles."""

from __future__ import annotations

from pyburn import _core
from pyburn._core import Tensor
from pyburn.ops._methods import write_out
from pyburn.ops.matrices.recorded import Backward, link

__all__ = [
    "angle",
    "complex",
    "conj",
    "conj_physical",
    "imag",
    "is_conj",
    "is_neg",
    "polar",
    "real",
    "resolve_conj",
    "resolve_neg",
    "view_as_complex",
    "view_as_real",
]

METHODS = ("angle", "conj_physical", "is_conj", "is_neg", "resolve_conj", "resolve_neg")
INPLACE = ("conj_physical",)


def _joined(real: Tensor, imag: Tensor, out: Tensor | None) -> Tensor:
    made = _core._complex(real, imag)
    return _into(out, _core._stand_for(made, "ComplexBackward0", (real, imag), (real, imag)))


def _into(out: Tensor | None, made: Tensor) -> Tensor:
    if out is not None and out.dtype != made.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {made.dtype} but got scalar type {out.dtype} for argument 'out'"
        )
    return write_out(out, made)


def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Complex numbers from their parts.

    Args:
        real: The real parts, float32 or float64.
        imag: The imaginary parts, of the same dtype.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.complex(pyburn.tensor([1.0, 2.0]), pyburn.tensor([3.0, 4.0]))
        tensor([1.+3.j, 2.+4.j])
    """
    return _joined(real, imag, out)


def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Complex numbers from their sizes and angles.

    Args:
        abs: The sizes, float32 or float64.
        angle: The angles in radians, of the same dtype.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.polar(pyburn.tensor([2.0]), pyburn.tensor([0.0]))
        tensor([2.+0.j])
    """
    if abs.dtype != angle.dtype:
        raise RuntimeError(f"polar: Expected object of scalar type {abs.dtype} but got {angle.dtype} for angle")
    if not abs.is_floating_point():
        raise _core.DTypeError(f"polar: Expected both inputs to be floats but got {abs.dtype} and {angle.dtype}")
    size, turn = abs.detach(), angle.detach()
    made = _joined(size * turn.cos(), size * turn.sin(), None)

    def rule(context: Backward) -> tuple[Tensor | None, ...]:
        (made,), (grad,) = context.saved, context.grads
        if grad is None:
            return None, None
        turned = grad.conj()
        return (
            (turned * made._sgn()).real if context.needs[0] else None,
            (turned * made * 1j).real if context.needs[1] else None,
        )

    link("PolarBackward0", [abs, angle], [made], [made], rule)
    return _into(out, made)


def real(input: Tensor) -> Tensor:
    """The real parts as a view; a real tensor itself.

    Example:
        >>> import pyburn
        >>> pyburn.real(pyburn.tensor([1 + 2j, 3 - 4j]))
        tensor([1., 3.])
    """
    return input.real


def imag(input: Tensor) -> Tensor:
    """The imaginary parts as a view.

    Example:
        >>> import pyburn
        >>> pyburn.imag(pyburn.tensor([1 + 2j, 3 - 4j]))
        tensor([ 2., -4.])
    """
    return input.imag


def view_as_real(input: Tensor) -> Tensor:
    """A view with the two parts of each element as a last dimension.

    Example:
        >>> import pyburn
        >>> pyburn.view_as_real(pyburn.tensor([1 + 2j, 3 - 4j]))
        tensor([[ 1.,  2.],
                [ 3., -4.]])
    """
    return _core.view_as_real(input)


def view_as_complex(input: Tensor) -> Tensor:
    """A view of pairs along the last dimension as complex numbers.

    Example:
        >>> import pyburn
        >>> pyburn.view_as_complex(pyburn.tensor([[1.0, 2.0], [3.0, -4.0]]))
        tensor([1.+2.j, 3.-4.j])
    """
    return _core.view_as_complex(input)


def conj(input: Tensor) -> Tensor:
    """The conjugate; a real tensor itself.

    Example:
        >>> import pyburn
        >>> pyburn.conj(pyburn.tensor([1 + 2j, 3 - 4j]))
        tensor([1.-2.j, 3.+4.j])

    Differs from torch:
        The result has memory of its own: conjugation is never put off.
    """
    return input.conj()


def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The conjugate, in memory of its own.

    Example:
        >>> import pyburn
        >>> pyburn.conj_physical(pyburn.tensor([1 + 2j]))
        tensor([1.-2.j])
    """
    return write_out(out, input.conj(), input)


def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself: no conjugation is ever pending.

    Example:
        >>> import pyburn
        >>> pyburn.resolve_conj(pyburn.tensor([1 + 2j]).conj())
        tensor([1.-2.j])
    """
    return input


def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself: no negation is ever pending.

    Example:
        >>> import pyburn
        >>> pyburn.resolve_neg(pyburn.tensor([1.0]))
        tensor([1.])
    """
    return input


def is_conj(input: Tensor) -> bool:
    """False: no conjugation is ever pending.

    Example:
        >>> import pyburn
        >>> pyburn.is_conj(pyburn.tensor([1 + 2j]).conj())
        False
    """
    return False


def is_neg(input: Tensor) -> bool:
    """False: no negation is ever pending.

    Example:
        >>> import pyburn
        >>> pyburn.is_neg(pyburn.tensor([1 + 2j]).conj().imag)
        False
    """
    return False


def angle(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of each element in radians: 0 or pi for real numbers.

    Args:
        input: The tensor.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.angle(pyburn.tensor([1 + 1j, -1 + 0j]))
        tensor([0.7854, 3.1416])
    """
    if input.is_complex():
        return write_out(out, input._angle())
    return write_out(out, input._real_angle(), input)
