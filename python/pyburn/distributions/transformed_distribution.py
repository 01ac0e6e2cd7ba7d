"""A distribution after a change of variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from pyburn._core import Tensor
from pyburn._size import Size
from pyburn.autograd import no_grad
from pyburn.distributions import constraints
from pyburn.distributions.distribution import Distribution, Shape
from pyburn.distributions.independent import Independent
from pyburn.distributions.transforms import ComposeTransform, Transform
from pyburn.distributions.utils import sum_rightmost


class TransformedDistribution(Distribution):
    """The distribution of transformed samples of another one.

    Args:
        base_distribution: Where samples come from.
        transforms: What happens to them, one after another.
        validate_args: See `Distribution`.

    Example:
        >>> import pyburn
        >>> from pyburn.distributions import ExpTransform, Normal, TransformedDistribution
        >>> TransformedDistribution(Normal(0.0, 1.0), ExpTransform()).log_prob(pyburn.tensor(1.0))
        tensor(-0.9189)
    """

    arg_constraints: ClassVar[Any] = {}

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | Sequence[Transform],
        validate_args: bool | None = None,
    ) -> None:
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        if not all(isinstance(t, Transform) for t in self.transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        whole = ComposeTransform(self.transforms)
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        base_dims = len(base_distribution.event_shape)
        if len(base_shape) < whole.domain.event_dim:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {whole.domain.event_dim}, but got "
                f"{base_shape}."
            )
        shape = whole.forward_shape(base_shape)
        needed = whole.inverse_shape(shape)
        if base_shape != needed:
            base_distribution = base_distribution.expand(needed[: len(needed) - base_dims])
        more = whole.domain.event_dim - base_dims
        self.base_dist: Any = Independent(base_distribution, more) if more > 0 else base_distribution
        change = whole.codomain.event_dim - whole.domain.event_dim
        cut = len(shape) - max(whole.codomain.event_dim, base_dims + change)
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = self._get_checked_instance(TransformedDistribution, _instance or self.__new__(type(self)))
        shape = Size(batch_shape) + self.event_shape
        for t in reversed(self.transforms):
            shape = t.inverse_shape(shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        new.transforms = self.transforms
        for name in self._spread:
            new.__dict__[name] = self.__dict__[name].expand(batch_shape)
        Distribution.__init__(new, Size(batch_shape), self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        region = self.transforms[-1].codomain
        more = len(self.event_shape) - region.event_dim
        return constraints.independent(region, more) if more > 0 else region

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return bool(self.base_dist.has_rsample)

    def _transformed(self, x: Tensor) -> Tensor:
        for t in self.transforms:
            x = t(x)
        return x

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self._transformed(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        dims = len(self.event_shape)
        total: Any = 0.0
        y = value
        for t in reversed(self.transforms):
            x = t.inv(y)
            dims += t.domain.event_dim - t.codomain.event_dim
            total = total - sum_rightmost(t.log_abs_det_jacobian(x, y), dims - t.domain.event_dim)
            y = x
        result: Tensor = total + sum_rightmost(self.base_dist.log_prob(y), dims - len(self.base_dist.event_shape))
        return result

    def _rising(self, value: Tensor) -> Tensor:
        """`value`, or one minus it where the transforms fall."""
        sign: Any = 1
        for t in self.transforms:
            sign = sign * t.sign
        if isinstance(sign, int) and sign == 1:
            return value
        result: Tensor = sign * (value - 0.5) + 0.5
        return result

    def cdf(self, value: Tensor) -> Tensor:
        for t in reversed(self.transforms):
            value = t.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._rising(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._transformed(self.base_dist.icdf(self._rising(value)))
