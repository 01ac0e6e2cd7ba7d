"""The multinomial distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from pyburn._core import Tensor
from pyburn._size import Size
from pyburn.distributions import constraints
from pyburn.distributions.binomial import Binomial
from pyburn.distributions.categorical import Categorical
from pyburn.distributions.distribution import Distribution, Shape
from pyburn.distributions.utils import broadcast_all
from pyburn.ops import ones_like, tensor


class Multinomial(Distribution):
    """How often each category is drawn in `total_count` draws.

    Args:
        total_count: How many draws; a number.
        probs: The probabilities, see `Categorical`; or
        logits: unnormalised log-probabilities.
        validate_args: See `Distribution`.

    Example:
        >>> import pyburn
        >>> pyburn.distributions.Multinomial(4, pyburn.tensor([1.0, 1.0])).mean
        tensor([2., 2.])
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Multinomial, _instance)
        new.total_count = self.total_count
        new._categorical = self._categorical.expand(batch_shape)
        new._binomial = Binomial(self.total_count, probs=new._categorical.probs)
        Distribution.__init__(new, Size(batch_shape), self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """The log-probabilities."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._categorical.param_shape

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        drawn = self._categorical.sample(Size((self.total_count,)) + Size(sample_shape))
        drawn = drawn.permute([*range(1, drawn.dim()), 0])
        shape = self._extended_shape(sample_shape)
        counts = self.probs.new_zeros(shape)
        return counts.scatter_add(-1, drawn, ones_like(drawn).to(counts.dtype))

    def entropy(self) -> Tensor:
        n = tensor(self.total_count, dtype=self.probs.dtype, device=self.probs.device)
        support = self._binomial.enumerate_support(expand=False)[1:]
        weights = self._binomial.log_prob(support).exp()
        extra = (weights * (support + 1).lgamma()).sum([0, -1])
        return n * self._categorical.entropy() - (n + 1).lgamma() + extra

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        ways = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0)
        return ways + (logits * value).sum(-1)
