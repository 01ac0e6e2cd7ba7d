"""torch.distributions.transforms: changes of variables that know how they stretch space."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any

from pyburn._core import Tensor
from pyburn._size import Size
from pyburn._typeinfo import finfo
from pyburn.distributions import constraints
from pyburn.distributions.utils import (
    broadcast_all,
    sum_rightmost,
    tril_matrix_to_vec,
    vec_to_tril_matrix,
)
from pyburn.ops import broadcast_shapes, cat, full_like, pad, stack, zeros_like
from pyburn.ops.activation import logsigmoid, softplus

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]


class Transform:
    """A change of variables: a subclass gives `_call`, `_inverse` and `log_abs_det_jacobian`.

    Args:
        cache_size: Whether the last value and what it became are kept (1) or not (0).

    Attributes:
        domain: Where values come from.
        codomain: Where they go.
        bijective: Whether no two values become the same.
        sign: Whether it rises (1) or falls (-1), for single numbers.

    Example:
        >>> import pyburn
        >>> t = pyburn.distributions.ExpTransform()
        >>> t.inv(t(pyburn.tensor(0.0)))
        tensor(0.)
    """

    bijective: Any = False
    domain: Any
    codomain: Any
    _inv: Transform | None = None

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._cached: tuple[Any, Any] = (None, None)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_inv": None}

    @property
    def event_dim(self) -> Any:
        """How many dimensions one value has."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Transform:
        """The inverse."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    @property
    def sign(self) -> Any:
        """Whether it rises or falls."""
        raise NotImplementedError(f"{type(self).__name__} has no sign.")

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same transform that keeps its last value, or does not."""
        if self._cache_size == cache_size:
            return self
        new = copy.copy(self)
        new._inv = None
        Transform.__init__(new, cache_size)
        return new

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __call__(self, x: Tensor) -> Tensor:
        """What `x` becomes."""
        if self._cache_size and x is self._cached[0]:
            known: Tensor = self._cached[1]
            return known
        y = self._call(x)
        if self._cache_size:
            self._cached = (x, y)
        return y

    def _inv_call(self, y: Tensor) -> Tensor:
        if self._cache_size and y is self._cached[1]:
            known: Tensor = self._cached[0]
            return known
        x = self._inverse(y)
        if self._cache_size:
            self._cached = (x, y)
        return x

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} must define _call(x).")

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no inverse.")

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of how much space is stretched at `x`, which becomes `y`."""
        raise NotImplementedError(f"{type(self).__name__} has no Jacobian.")

    def forward_shape(self, shape: Size) -> Size:
        """The shape of what a value of this shape becomes."""
        return shape

    def inverse_shape(self, shape: Size) -> Size:
        """The shape of what became a value of this shape."""
        return shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _InverseTransform(Transform):
    """The inverse of another transform."""

    _inv: Transform

    def __init__(self, transform: Transform) -> None:
        super().__init__(transform._cache_size)
        self._inv = transform

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return self._inv.domain

    @property
    def bijective(self) -> Any:
        return self._inv.bijective

    @property
    def sign(self) -> Any:
        return self._inv.sign

    @property
    def inv(self) -> Transform:
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Any:
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    __hash__ = object.__hash__

    def __call__(self, x: Tensor) -> Tensor:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Size) -> Size:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Size) -> Size:
        return self._inv.forward_shape(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"


class ComposeTransform(Transform):
    """Several transforms one after another.

    Args:
        parts: The transforms.
        cache_size: See `Transform`.
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else list(parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = object.__hash__

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        if not self.parts:
            return constraints.real
        dims = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            dims = max(dims + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        return _widened(self.parts[0].domain, dims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        if not self.parts:
            return constraints.real
        dims = self.parts[0].domain.event_dim
        for part in self.parts:
            dims = max(dims + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        return _widened(self.parts[-1].codomain, dims)

    @property
    def bijective(self) -> Any:
        return all(part.bijective for part in self.parts)

    @property
    def sign(self) -> Any:
        return math.prod(part.sign for part in self.parts)

    @property
    def inv(self) -> Transform:
        if self._inv is None:
            self._inv = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size)

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return zeros_like(x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        dims, total = self.domain.event_dim, None
        for part, before, after in zip(self.parts, values[:-1], values[1:], strict=True):
            term = sum_rightmost(part.log_abs_det_jacobian(before, after), dims - part.domain.event_dim)
            dims += part.codomain.event_dim - part.domain.event_dim
            total = term if total is None else total + term
        assert total is not None
        return total

    def forward_shape(self, shape: Size) -> Size:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Size) -> Size:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        inner = ",\n    ".join(repr(part) for part in self.parts)
        return f"{type(self).__name__}(\n    {inner}\n)"


def _widened(region: Any, dims: int) -> Any:
    more = dims - region.event_dim
    return constraints.independent(region, more) if more > 0 else region


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform of several values together.

    Args:
        base_transform: What happens to each value.
        reinterpreted_batch_ndims: How many dimensions more make up one value.
        cache_size: See `Transform`.
    """

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> Any:
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Tensor:
        if x.dim() < self.domain.event_dim:
            raise ValueError("Too few dimensions on input")
        result: Tensor = self.base_transform(x)
        return result

    def _inverse(self, y: Tensor) -> Tensor:
        if y.dim() < self.codomain.event_dim:
            raise ValueError("Too few dimensions on input")
        result: Tensor = self.base_transform.inv(y)
        return result

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Size) -> Size:
        result: Size = self.base_transform.forward_shape(shape)
        return result

    def inverse_shape(self, shape: Size) -> Size:
        result: Size = self.base_transform.inverse_shape(shape)
        return result

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class ReshapeTransform(Transform):
    """Values in another shape.

    Args:
        in_shape: The shape of a value.
        out_shape: The shape that it gets.
        cache_size: See `Transform`.
    """

    bijective = True

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size)

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Size) -> Size:
        return _replaced(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Size) -> Size:
        return _replaced(shape, self.out_shape, self.in_shape)


def _replaced(shape: Size, old: Size, new: Size) -> Size:
    cut = len(shape) - len(old)
    if cut < 0:
        raise ValueError("Too few dimensions on input")
    if shape[cut:] != old:
        raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
    return shape[:cut] + new


class _Plain(Transform):
    """A transform without settings: all of a kind are equal."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    __hash__ = object.__hash__


class ExpTransform(_Plain):
    """The exponential."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class PowerTransform(Transform):
    """A power of positive numbers.

    Args:
        exponent: The exponent.
        cache_size: See `Transform`.
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Tensor | float, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        (self.exponent,) = broadcast_all(exponent)

    @property
    def sign(self) -> Any:
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and bool((self.exponent == other.exponent).all())

    __hash__ = object.__hash__

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Size) -> Size:
        return broadcast_shapes(shape, self.exponent.shape)

    def inverse_shape(self, shape: Size) -> Size:
        return broadcast_shapes(shape, self.exponent.shape)


def _inside(y: Tensor) -> Tensor:
    """`y`, kept off 0 and 1."""
    info = finfo(y.dtype)
    return y.clamp(min=info.tiny, max=1.0 - info.eps)


class SigmoidTransform(_Plain):
    """The logistic function."""

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return _inside(x.sigmoid())

    def _inverse(self, y: Tensor) -> Tensor:
        y = _inside(y)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_Plain):
    """`log(1 + exp(x))`."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x)


class TanhTransform(_Plain):
    """The hyperbolic tangent; with a cache, values at its ends have an inverse too."""

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(_Plain):
    """The absolute value."""

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class AffineTransform(Transform):
    """`loc + scale * x`.

    Args:
        loc: What is added.
        scale: What is multiplied.
        event_dim: How many dimensions one value has.
        cache_size: See `Transform`.
    """

    bijective = True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc: Any = loc
        self.scale: Any = scale
        self._event_dim = event_dim

    @property
    def event_dim(self) -> Any:
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return _widened(constraints.real, self._event_dim)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return _widened(constraints.real, self._event_dim)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AffineTransform):
            return False
        pairs = ((self.loc, other.loc), (self.scale, other.scale))
        return all(bool((a == b).all()) if isinstance(a == b, Tensor) else a == b for a, b in pairs)

    __hash__ = object.__hash__

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, Tensor):
            return self.scale.sign()
        return (self.scale > 0) - (self.scale < 0)

    def _call(self, x: Tensor) -> Tensor:
        result: Tensor = self.loc + self.scale * x
        return result

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        shape = x.shape
        if isinstance(self.scale, Tensor):
            result = self.scale.abs().log()
        else:
            result = full_like(x, math.log(abs(self.scale)))
        if self._event_dim:
            result = result.reshape([*result.shape[: -self._event_dim], -1]).sum(-1)
            shape = shape[: -self._event_dim]
        return result.expand(shape)

    def forward_shape(self, shape: Size) -> Size:
        return broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    def inverse_shape(self, shape: Size) -> Size:
        return self.forward_shape(shape)


class CorrCholeskyTransform(_Plain):
    """Vectors as Cholesky factors of correlation matrices."""

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        eps = finfo(x.dtype).eps
        r = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - r**2).sqrt().cumprod(-1)
        one = full_like(r[..., 0], 1.0).diag_embed()
        return (r + one) * pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        left = 1 - (y * y).cumsum(-1)
        kept = tril_matrix_to_vec(pad(left[..., :-1], [1, 0], value=1), diag=-1)
        t = tril_matrix_to_vec(y, diag=-1) / kept.sqrt()
        return (t.log1p() - t.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        left = 1 - (y * y).cumsum(-1)
        kept = tril_matrix_to_vec(left, diag=-2)
        slopes = -2 * (x + softplus(-2 * x) - math.log(2.0)).sum(-1)
        return 0.5 * kept.log().sum(-1) + slopes

    def forward_shape(self, shape: Size) -> Size:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        n = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != shape[-1]:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return Size((*shape[:-1], n, n))

    def inverse_shape(self, shape: Size) -> Size:
        if len(shape) < 2:
            raise ValueError("Too few dimensions on input")
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return Size((*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))


class SoftmaxTransform(_Plain):
    """Vectors as probabilities; not bijective."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        return x.softmax(-1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Size) -> Size:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return shape

    def inverse_shape(self, shape: Size) -> Size:
        return self.forward_shape(shape)


class StickBreakingTransform(_Plain):
    """Vectors as probabilities of one more category, each a part of what those before have left."""

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    @staticmethod
    def _offset(x: Tensor, count: int) -> Tensor:
        return (count + 1 - x.new_ones([count]).cumsum(-1)).log()

    def _call(self, x: Tensor) -> Tensor:
        z = _inside((x - self._offset(x, x.shape[-1])).sigmoid())
        left = (1 - z).cumprod(-1)
        return pad(z, [0, 1], value=1) * pad(left, [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        kept = y[..., :-1]
        left = (1 - kept.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return kept.log() - left.log() + self._offset(y, kept.shape[-1])

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - self._offset(x, x.shape[-1])
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Size) -> Size:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Size) -> Size:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return Size((*shape[:-1], shape[-1] - 1))


class LowerCholeskyTransform(_Plain):
    """Matrices as lower triangular ones with a positive diagonal."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(_Plain):
    """Matrices as positive definite ones."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        from pyburn.distributions import _linalg as linalg

        return LowerCholeskyTransform().inv(linalg.cholesky(y))


class CatTransform(Transform):
    """Pieces along a dimension, each by a transform of its own.

    Args:
        tseq: The transforms.
        dim: The dimension.
        lengths: How long the pieces are; 1 when left out.
        cache_size: See `Transform`.
    """

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        self.dim = dim

    @property
    def event_dim(self) -> Any:
        return max(t.event_dim for t in self.transforms)

    @property
    def bijective(self) -> Any:
        return all(t.bijective for t in self.transforms)

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)

    def _pieces(self, value: Tensor) -> Any:
        return zip(self.transforms, value.split(self.lengths, self.dim), strict=True)

    def _call(self, x: Tensor) -> Tensor:
        return cat([t(piece) for t, piece in self._pieces(x)], self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        return cat([t.inv(piece) for t, piece in self._pieces(y)], self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        terms = []
        for (t, before), after in zip(self._pieces(x), y.split(self.lengths, self.dim), strict=True):
            terms.append(sum_rightmost(t.log_abs_det_jacobian(before, after), self.event_dim - t.event_dim))
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        return cat(terms, dim) if dim < 0 else sum(terms[1:], terms[0])


class StackTransform(Transform):
    """Slices along a dimension, each by a transform of its own.

    Args:
        tseq: The transforms.
        dim: The dimension.
        cache_size: See `Transform`.
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim = dim

    @property
    def bijective(self) -> Any:
        return all(t.bijective for t in self.transforms)

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)

    def _slices(self, value: Tensor) -> Any:
        return zip(self.transforms, value.unbind(self.dim), strict=True)

    def _call(self, x: Tensor) -> Tensor:
        return stack([t(piece) for t, piece in self._slices(x)], self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        return stack([t.inv(piece) for t, piece in self._slices(y)], self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        pairs = zip(self._slices(x), y.unbind(self.dim), strict=True)
        return stack([t.log_abs_det_jacobian(before, after) for (t, before), after in pairs], self.dim)


class CumulativeDistributionTransform(Transform):
    """Values as their probabilities under a distribution.

    Args:
        distribution: The distribution.
        cache_size: See `Transform`.
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = +1

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        result: Tensor = self.distribution.cdf(x)
        return result

    def _inverse(self, y: Tensor) -> Tensor:
        result: Tensor = self.distribution.icdf(y)
        return result

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        result: Tensor = self.distribution.log_prob(x)
        return result
