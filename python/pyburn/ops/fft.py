"""Fourier transforms of any length: `pyburn.fft` shows these under torch's names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pyburn import _core
from pyburn._core import Tensor
from pyburn._integers import is_integer
from pyburn.ops._methods import write_out
from pyburn.ops.ranges import arange

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "hfft2",
    "hfftn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

Dims = int | Sequence[int]


def _scale(norm: str | None, size: int, forward: bool) -> float:
    """What a transform of `size` points is multiplied with under torch's `norm=`."""
    if norm == "ortho":
        return 1.0 / math.sqrt(size)
    if norm not in (None, "backward", "forward"):
        raise RuntimeError(f'Invalid normalization mode: "{norm}"; use "forward", "backward" or "ortho"')
    return 1.0 / size if (norm == "forward") == forward else 1.0


def _floating(op: str, input: Tensor) -> Tensor:
    """The input as a float or complex tensor; 16-bit floats have no transform."""
    if input.is_floating_point() or input.is_complex():
        if input.dtype in (_core.float16, _core.bfloat16):
            raise _core.DTypeError(f"{op}: Unsupported dtype {input.dtype}; convert with .float() first")
        return input
    return input.to(_core.get_default_dtype())


def _complex(op: str, input: Tensor) -> Tensor:
    input = _floating(op, input)
    return input if input.is_complex() else input.to(input.dtype.to_complex())


def _real(op: str, input: Tensor) -> Tensor:
    if input.is_complex():
        raise _core.DTypeError(f"{op} expects a real input tensor, but got {input.dtype}")
    return _floating(op, input)


def _resized(input: Tensor, dim: int, size: int) -> Tensor:
    """The input cut, or filled up with zeros, to `size` along `dim`."""
    have = input.shape[dim]
    if have > size:
        return input.narrow(dim, 0, size)
    if have == size:
        return input
    pads = [(0, 0)] * input.dim()
    pads[dim] = (0, size - have)
    return input._pad_constant(pads, 0)


def _one_dim(input: Tensor, dim: int) -> int:
    rank = input.dim()
    if rank == 0:
        raise _core.DimError(f"Dimension specified as {dim} but tensor has no dimensions")
    if not -rank <= dim < rank:
        raise _core.DimError(
            f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})"
        )
    return dim % rank


def _points(count: int) -> int:
    if count < 1:
        raise RuntimeError(f"Invalid number of data points ({count}) specified")
    return count


def _c2c(input: Tensor, dims: Sequence[int], forward: bool, scale: float) -> Tensor:
    """The transform over several dimensions, scaled once."""
    for dim in dims:
        input = _core._fft_c2c(input, dim, forward, scale)
        scale = 1.0
    return input


def _along(op: str, input: Tensor, n: int | None, dim: int, norm: str | None, forward: bool) -> Tensor:
    input = _floating(op, input)
    dim = _one_dim(input, dim)
    size = _points(input.shape[dim] if n is None else n)
    input = _resized(input, dim, size)
    scale = _scale(norm, size, forward)
    if input.is_complex():
        return _core._fft_c2c(input, dim, forward, scale)
    whole = _core._fft_r2c(input, dim, forward, False, scale)
    return _core._stand_for(whole, "FftR2CBackward0", (input,), (input,))


def fft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The discrete Fourier transform along a dimension.

    Args:
        input: The tensor, real or complex.
        n: How many points to transform: the input is cut, or filled up with zeros.
        dim: The dimension.
        norm: "backward" (no factor), "ortho" (1/sqrt(n)) or "forward" (1/n).
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.fft.fft(pyburn.tensor([0.0, 1.0, 0.0, 0.0]))
        tensor([ 1.+0.j,  0.-1.j, -1.+0.j,  0.+1.j])
    """
    return write_out(out, _along("fft", input, n, dim, norm, True))


def ifft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The inverse of `fft`.

    Args:
        input: The tensor, real or complex.
        n: How many points to transform: the input is cut, or filled up with zeros.
        dim: The dimension.
        norm: "backward" (1/n), "ortho" (1/sqrt(n)) or "forward" (no factor).
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.fft.ifft(pyburn.tensor([4 + 0j, 0j, 0j, 0j]))
        tensor([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
    """
    return write_out(out, _along("ifft", input, n, dim, norm, False))


def _half(op: str, input: Tensor, n: int | None, dim: int, norm: str | None, forward: bool) -> Tensor:
    input = _real(op, input)
    dim = _one_dim(input, dim)
    size = _points(input.shape[dim] if n is None else n)
    points = _resized(input, dim, size)
    half = _core._fft_r2c(points, dim, forward, True, _scale(norm, size, forward))
    return _core._stand_for(half, "FftR2CBackward0", (points,), (points,))


def _from_half(op: str, input: Tensor, n: int | None, dim: int, norm: str | None, forward: bool) -> Tensor:
    input = _complex(op, input)
    dim = _one_dim(input, dim)
    size = _points(2 * (input.shape[dim] - 1) if n is None else n)
    half = _resized(input, dim, size // 2 + 1)
    return _core._fft_c2r(half, dim, size, forward, _scale(norm, size, forward))


def rfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The first half (n // 2 + 1) of the transform of real numbers; the rest mirrors it.

    Args:
        input: The tensor, real.
        n: How many points to transform: the input is cut, or filled up with zeros.
        dim: The dimension.
        norm: As in `fft`.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.fft.rfft(pyburn.tensor([0.0, 1.0, 0.0, 0.0]))
        tensor([ 1.+0.j,  0.-1.j, -1.+0.j])
    """
    return write_out(out, _half("rfft", input, n, dim, norm, True))


def irfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The inverse of `rfft`: real numbers.

    Args:
        input: The first half of a transform.
        n: The length of the result, by default 2 * (size - 1), which is even.
        dim: The dimension.
        norm: As in `ifft`.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.fft.irfft(pyburn.tensor([4 + 0j, 0j, 0j]))
        tensor([1., 1., 1., 1.])
    """
    return write_out(out, _from_half("irfft", input, n, dim, norm, False))


def hfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The (real) transform of a signal of which the first half is given and the rest mirrors it.

    Args:
        input: The first half of the signal.
        n: The length of the result, by default 2 * (size - 1).
        dim: The dimension.
        norm: As in `fft`.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.fft.hfft(pyburn.tensor([1 + 0j, 0j, 0j]))
        tensor([1., 1., 1., 1.])
    """
    return write_out(out, _from_half("hfft", input, n, dim, norm, True))


def ihfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The inverse of `hfft`: the first half of the signal.

    Args:
        input: The tensor, real.
        n: How many points to transform: the input is cut, or filled up with zeros.
        dim: The dimension.
        norm: As in `ifft`.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.fft.ihfft(pyburn.tensor([1.0, 1.0, 1.0, 1.0])).real
        tensor([1., 0., 0.])
    """
    return write_out(out, _half("ihfft", input, n, dim, norm, False))


def _sizes(
    op: str, input: Tensor, s: Dims | None, dim: Dims | None, last_of_half: bool = False
) -> tuple[list[int], list[int]]:
    """The dimensions to transform and the points along each; `last_of_half`: the last line is mirrored."""
    rank = input.dim()
    given = None if s is None else [s] if is_integer(s) else list(s)
    if dim is not None:
        dims = [_one_dim(input, one) for one in ([dim] if is_integer(dim) else dim)]
        if len(set(dims)) != len(dims):
            raise RuntimeError("FFT dims must be unique")
        if given is not None and len(given) != len(dims):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
    elif given is not None:
        if len(given) > rank:
            raise RuntimeError(f"Got shape with {len(given)} values but input tensor only has {rank} dimensions.")
        dims = list(range(rank - len(given), rank))
    else:
        dims = list(range(rank))
    sizes = [input.shape[one] for one in dims]
    if last_of_half and sizes:
        sizes[-1] = 2 * (sizes[-1] - 1)
    if given is not None:
        sizes = [have if want == -1 else want for want, have in zip(given, sizes, strict=True)]
    for size in sizes:
        _points(size)
    if last_of_half and not dims:
        raise RuntimeError(f"{op} must transform at least one axis")
    return dims, sizes


def _over(op: str, input: Tensor, s: Dims | None, dim: Dims | None, norm: str | None, forward: bool) -> Tensor:
    input = _complex(op, input)
    dims, sizes = _sizes(op, input, s, dim)
    for one, size in zip(dims, sizes, strict=True):
        input = _resized(input, one, size)
    scale = _scale(norm, math.prod(sizes), forward)
    return _c2c(input, dims, forward, scale) if dims else input.clone()


def _over_half(op: str, input: Tensor, s: Dims | None, dim: Dims | None, norm: str | None, forward: bool) -> Tensor:
    input = _real(op, input)
    dims, sizes = _sizes(op, input, s, dim)
    if not dims:
        raise RuntimeError(f"{op} must transform at least one axis")
    for one, size in zip(dims, sizes, strict=True):
        input = _resized(input, one, size)
    half = _core._fft_r2c(input, dims[-1], forward, True, _scale(norm, math.prod(sizes), forward))
    half = _core._stand_for(half, "FftR2CBackward0", (input,), (input,))
    return _c2c(half, dims[:-1], forward, 1.0)


def _over_mirrored(op: str, input: Tensor, s: Dims | None, dim: Dims | None, norm: str | None, forward: bool) -> Tensor:
    input = _complex(op, input)
    dims, sizes = _sizes(op, input, s, dim, last_of_half=True)
    for one, size in zip(dims, [*sizes[:-1], sizes[-1] // 2 + 1], strict=True):
        input = _resized(input, one, size)
    input = _c2c(input, dims[:-1], forward, 1.0)
    return _core._fft_c2r(input, dims[-1], sizes[-1], forward, _scale(norm, math.prod(sizes), forward))


def fftn(
    input: Tensor,
    s: Dims | None = None,
    dim: Dims | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The transform over several dimensions.

    Args:
        input: The tensor, real or complex.
        s: The points along each dimension; -1 keeps its size.
        dim: The dimensions, by default the last `len(s)`, or all.
        norm: As in `fft`, with the product of the sizes.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.fft.fftn(pyburn.ones(2, 2))
        tensor([[4.+0.j, 0.+0.j],
                [0.+0.j, 0.+0.j]])
    """
    return write_out(out, _over("fftn", input, s, dim, norm, True))


def ifftn(
    input: Tensor,
    s: Dims | None = None,
    dim: Dims | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of `fftn`, with its arguments.

    Example:
        >>> import pyburn
        >>> pyburn.fft.ifftn(pyburn.ones(2, 2))
        tensor([[1.+0.j, 0.+0.j],
                [0.+0.j, 0.+0.j]])
    """
    return write_out(out, _over("ifftn", input, s, dim, norm, False))


def rfftn(
    input: Tensor,
    s: Dims | None = None,
    dim: Dims | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`fftn` of real numbers: the first half along the last dimension; arguments as in `fftn`.

    Example:
        >>> import pyburn
        >>> pyburn.fft.rfftn(pyburn.ones(2, 3)).shape
        pyburn.Size([2, 2])
    """
    return write_out(out, _over_half("rfftn", input, s, dim, norm, True))


def irfftn(
    input: Tensor,
    s: Dims | None = None,
    dim: Dims | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of `rfftn`: real numbers; `s[-1]` is the last size of the result.

    Example:
        >>> import pyburn
        >>> pyburn.fft.irfftn(pyburn.fft.rfftn(pyburn.ones(2, 3)), s=(2, 3))
        tensor([[1., 1., 1.],
                [1., 1., 1.]])
    """
    return write_out(out, _over_mirrored("irfftn", input, s, dim, norm, False))


def hfftn(
    input: Tensor,
    s: Dims | None = None,
    dim: Dims | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`hfft` over several dimensions, of which the last is mirrored.

    Example:
        >>> import pyburn
        >>> pyburn.fft.hfftn(pyburn.ones(2, 3, dtype=pyburn.complex64)).shape
        pyburn.Size([2, 4])
    """
    return write_out(out, _over_mirrored("hfftn", input, s, dim, norm, True))


def ihfftn(
    input: Tensor,
    s: Dims | None = None,
    dim: Dims | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of `hfftn`.

    Example:
        >>> import pyburn
        >>> pyburn.fft.ihfftn(pyburn.ones(2, 4)).shape
        pyburn.Size([2, 3])
    """
    return write_out(out, _over_half("ihfftn", input, s, dim, norm, False))


def fft2(
    input: Tensor, s: Dims | None = None, dim: Dims = (-2, -1), norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """`fftn` over the last two dimensions.

    Example:
        >>> import pyburn
        >>> pyburn.fft.fft2(pyburn.ones(2, 2))[0, 0]
        tensor(4.+0.j)
    """
    return fftn(input, s, dim, norm, out=out)


def ifft2(
    input: Tensor, s: Dims | None = None, dim: Dims = (-2, -1), norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """`ifftn` over the last two dimensions.

    Example:
        >>> import pyburn
        >>> pyburn.fft.ifft2(pyburn.ones(2, 2))[0, 0]
        tensor(1.+0.j)
    """
    return ifftn(input, s, dim, norm, out=out)


def rfft2(
    input: Tensor, s: Dims | None = None, dim: Dims = (-2, -1), norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """`rfftn` over the last two dimensions.

    Example:
        >>> import pyburn
        >>> pyburn.fft.rfft2(pyburn.ones(4, 6)).shape
        pyburn.Size([4, 4])
    """
    return rfftn(input, s, dim, norm, out=out)


def irfft2(
    input: Tensor, s: Dims | None = None, dim: Dims = (-2, -1), norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """`irfftn` over the last two dimensions.

    Example:
        >>> import pyburn
        >>> pyburn.fft.irfft2(pyburn.fft.rfft2(pyburn.ones(4, 6))).shape
        pyburn.Size([4, 6])
    """
    return irfftn(input, s, dim, norm, out=out)


def hfft2(
    input: Tensor, s: Dims | None = None, dim: Dims = (-2, -1), norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """`hfftn` over the last two dimensions.

    Example:
        >>> import pyburn
        >>> pyburn.fft.hfft2(pyburn.ones(2, 3, dtype=pyburn.complex64)).shape
        pyburn.Size([2, 4])
    """
    return hfftn(input, s, dim, norm, out=out)


def ihfft2(
    input: Tensor, s: Dims | None = None, dim: Dims = (-2, -1), norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """`ihfftn` over the last two dimensions.

    Example:
        >>> import pyburn
        >>> pyburn.fft.ihfft2(pyburn.ones(2, 4)).shape
        pyburn.Size([2, 3])
    """
    return ihfftn(input, s, dim, norm, out=out)


def _frequencies(numbers: Tensor, n: int, d: float, requires_grad: bool, out: Tensor | None) -> Tensor:
    made = write_out(out, numbers * (1.0 / (n * d)))
    return made.requires_grad_() if requires_grad else made


def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: _core.dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """The frequencies of the points of an `fft`: zero, the positive ones, the negative ones.

    Args:
        n: The number of points.
        d: The time between two samples.
        out: A tensor to write the result into.
        dtype: The element type; the default dtype if none is given.
        layout: Accepted; tensors are strided.
        device: Where the result lives.
        requires_grad: Whether gradients are wanted for it.
        pin_memory: Accepted; host memory needs no pinning here.

    Example:
        >>> import pyburn
        >>> pyburn.fft.fftfreq(4)
        tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    kind = _core.get_default_dtype() if dtype is None else dtype
    numbers = arange(n, dtype=kind, device=device)
    return _frequencies(_core._where(numbers < (n + 1) // 2, numbers, numbers - n), n, d, requires_grad, out)


def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: _core.dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """The frequencies of the points of an `rfft`; arguments as in `fftfreq`.

    Example:
        >>> import pyburn
        >>> pyburn.fft.rfftfreq(4)
        tensor([0.0000, 0.2500, 0.5000])
    """
    kind = _core.get_default_dtype() if dtype is None else dtype
    return _frequencies(arange(n // 2 + 1, dtype=kind, device=device), n, d, requires_grad, out)


def _rolled(input: Tensor, dim: Dims | None, back: bool) -> Tensor:
    dims = list(range(input.dim())) if dim is None else [dim] if is_integer(dim) else list(dim)
    shifts = [(input.shape[one] + (1 if back else 0)) // 2 for one in dims]
    return input.roll(shifts, dims) if dims else input.clone()


def fftshift(input: Tensor, dim: Dims | None = None) -> Tensor:
    """The points reordered so that the frequency zero stands in the middle.

    Args:
        input: The tensor.
        dim: The dimensions, by default all.

    Example:
        >>> import pyburn
        >>> pyburn.fft.fftshift(pyburn.fft.fftfreq(4))
        tensor([-0.5000, -0.2500,  0.0000,  0.2500])
    """
    return _rolled(input, dim, False)


def ifftshift(input: Tensor, dim: Dims | None = None) -> Tensor:
    """The inverse of `fftshift`.

    Args:
        input: The tensor.
        dim: The dimensions, by default all.

    Example:
        >>> import pyburn
        >>> pyburn.fft.ifftshift(pyburn.tensor([-2, -1, 0, 1, 2]))
        tensor([ 0,  1,  2, -2, -1])
    """
    return _rolled(input, dim, True)
