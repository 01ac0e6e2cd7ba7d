"""Mixtures of distributions of one kind."""

from __future__ import annotations

from typing import Any, ClassVar

from pyburn._core import Tensor
from pyburn._size import Size
from pyburn.autograd import no_grad
from pyburn.distributions import constraints
from pyburn.distributions.categorical import Categorical
from pyburn.distributions.distribution import Distribution, Shape


class MixtureSameFamily(Distribution):
    """One of several distributions of a kind, chosen at random for each sample.

    Args:
        mixture_distribution: How likely each component is.
        component_distribution: The components, along the last dimension of its batch.
        validate_args: See `Distribution`.

    Example:
        >>> import pyburn
        >>> from pyburn.distributions import Categorical, MixtureSameFamily, Normal
        >>> parts = Normal(pyburn.tensor([0.0, 4.0]), pyburn.ones(2))
        >>> MixtureSameFamily(Categorical(pyburn.ones(2)), parts).mean
        tensor(2.)
    """

    arg_constraints: ClassVar[Any] = {}

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError("The Mixture distribution needs to be an instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution need to be an instance of torch.distributions.Distribution")
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        given, batch = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        for one, two in zip(reversed(given), reversed(batch), strict=False):
            if 1 not in (one, two) and one != two:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({given}) is not compatible with "
                    f"`component_distribution.batch_shape`({batch})"
                )
        count, parts = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if count != parts:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({parts})"
            )
        self._num_component = count
        events = component_distribution.event_shape
        self._event_ndims = len(events)
        super().__init__(batch, events, validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        shape = Size(batch_shape)
        new._component_distribution = self._component_distribution.expand((*shape, self._num_component))
        new._mixture_distribution = self._mixture_distribution.expand(shape)
        new._num_component, new._event_ndims = self._num_component, self._event_ndims
        Distribution.__init__(new, shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """How likely each component is."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The components."""
        return self._component_distribution

    def _weights(self) -> Tensor:
        probs = self._mixture_distribution.probs
        return probs.reshape([*probs.shape, *([1] * self._event_ndims)])

    @property
    def mean(self) -> Tensor:
        return (self._weights() * self._component_distribution.mean).sum(-1 - self._event_ndims)

    @property
    def variance(self) -> Tensor:
        dim = -1 - self._event_ndims
        weights, parts = self._weights(), self._component_distribution
        within = (weights * parts.variance).sum(dim)
        between = (weights * (parts.mean - self.mean.unsqueeze(dim)).pow(2.0)).sum(dim)
        return within + between

    def cdf(self, x: Tensor) -> Tensor:
        x = x.unsqueeze(-1 - self._event_ndims)
        return (self._component_distribution.cdf(x) * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, x: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(x)
        x = x.unsqueeze(-1 - self._event_ndims)
        weights = self._mixture_distribution.logits.log_softmax(-1)
        return (self._component_distribution.log_prob(x) + weights).logsumexp(dim=-1)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with no_grad():
            dim = len(sample_shape) + len(self.batch_shape)
            chosen = self._mixture_distribution.sample(sample_shape)
            samples = self._component_distribution.sample(sample_shape)
            shape = [*samples.shape[:dim], 1, *self.event_shape]
            index = chosen.reshape([*chosen.shape, *([1] * (1 + self._event_ndims))]).expand(shape)
            return samples.gather(dim, index).squeeze(dim)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"
