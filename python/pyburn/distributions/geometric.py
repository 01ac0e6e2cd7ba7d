"""The geometric distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from pyburn._core import Tensor
from pyburn._size import Size
from pyburn._typeinfo import finfo
from pyburn.autograd import no_grad
from pyburn.distributions import constraints
from pyburn.distributions._binary import cross_entropy_with_logits
from pyburn.distributions.distribution import Distribution, Shape
from pyburn.distributions.utils import broadcast_all, is_number, lazy_property, logits_to_probs, probs_to_logits
from pyburn.ops import empty, zeros_like


class Geometric(Distribution):
    """How many trials fail before the first succeeds.

    Args:
        probs: The probability of success; or
        logits: its log-odds.
        validate_args: See `Distribution`.

    Example:
        >>> import pyburn
        >>> pyburn.distributions.Geometric(0.25).mean
        tensor(3.)
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        if probs is not None:
            (self.probs,) = broadcast_all(probs)
        else:
            (self.logits,) = broadcast_all(logits)
        given = probs if probs is not None else logits
        shape = Size() if is_number(given) else (self.probs if probs is not None else self.logits).shape
        super().__init__(shape, validate_args=validate_args)
        if self._validate_args and probs is not None and not (self.probs > 0).all():
            raise ValueError(
                f"Expected parameter probs ({type(self.probs).__name__} of shape {tuple(self.probs.shape)}) of "
                f"distribution {self!r} to be positive but found invalid values:\n{self.probs}"
            )

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    @lazy_property
    def logits(self) -> Tensor:
        """The log-odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities."""
        return logits_to_probs(self.logits, is_binary=True)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            u = empty(shape, dtype=self.probs.dtype, device=self.probs.device)
            u = u.uniform_(finfo(self.probs.dtype).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        probs = probs.masked_fill((probs == 1) & (value == 0), 0.0)
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        return cross_entropy_with_logits(self.logits, self.probs) / self.probs
