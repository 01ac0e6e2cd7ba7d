"""The categorical distribution, with vectors of zeros and a one."""

from __future__ import annotations

from typing import Any, ClassVar

from pyburn._core import Tensor
from pyburn._size import Size
from pyburn.distributions import constraints
from pyburn.distributions.categorical import Categorical
from pyburn.distributions.distribution import Distribution, Shape
from pyburn.ops import eye, one_hot


class OneHotCategorical(Distribution):
    """One of K categories, as a vector with a one at its place; arguments as `Categorical`.

    Example:
        >>> import pyburn
        >>> pyburn.distributions.OneHotCategorical(pyburn.tensor([0.0, 1.0])).sample()
        tensor([0., 1.])
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = self._get_checked_instance(OneHotCategorical, _instance)
        new._categorical = self._categorical.expand(batch_shape)
        Distribution.__init__(new, Size(batch_shape), self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def _param(self) -> Tensor:
        return self._categorical._param

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """The log-probabilities."""
        return self._categorical.logits

    @property
    def mean(self) -> Tensor:
        return self._categorical.probs

    @property
    def mode(self) -> Tensor:
        return one_hot(self._categorical.mode, num_classes=self._categorical._num_events).to(self.probs.dtype)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._categorical.param_shape

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        return one_hot(self._categorical.sample(sample_shape), self._categorical._num_events).to(self.probs.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n = self.event_shape[0]
        values = eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.view([n] + [1] * len(self.batch_shape) + [n])
        return values.expand([n, *self.batch_shape, n]) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """`OneHotCategorical` whose samples have the gradient of the probabilities (Bengio and others, 2013).

    Example:
        >>> import pyburn
        >>> probs = pyburn.tensor([0.0, 1.0], requires_grad=True)
        >>> pyburn.distributions.OneHotCategoricalStraightThrough(probs).rsample().requires_grad
        True
    """

    has_rsample = True

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
