"""The base class of all distributions."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

from pyburn._core import Tensor
from pyburn._size import Size
from pyburn.autograd import no_grad
from pyburn.distributions import constraints
from pyburn.distributions.utils import lazy_property

Shape = Sequence[int]


class Distribution:
    """A batch of probability distributions.

    A subclass names its parameters and where they may lie in `arg_constraints`, and gives `log_prob`,
    `sample` or `rsample`, and what else it knows.

    Args:
        batch_shape: The shape of the batch.
        event_shape: The shape of one sample.
        validate_args: Whether parameters and values are checked; as `set_default_validate_args` when None.
    """

    has_rsample: bool = False
    has_enumerate_support: bool = False
    _validate_args: bool = __debug__
    arg_constraints: ClassVar[Any] = {}
    # The parameters that `expand` spreads, where they are not those of arg_constraints.
    _spread: ClassVar[tuple[str, ...]] = ()

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Nothing; distributions check their parameters and values from now on, or do not."""
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args takes True or False, not {value!r}")
        Distribution._validate_args = value

    def __init__(self, batch_shape: Shape = (), event_shape: Shape = (), validate_args: bool | None = None) -> None:
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()

    def _check_parameters(self) -> None:
        try:
            regions = self.arg_constraints
        except NotImplementedError:
            regions = {}
            warnings.warn(
                f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize "
                "the distribution with `validate_args=False` to turn off validation.",
                stacklevel=4,
            )
        for name, region in regions.items():
            if constraints.is_dependent(region):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name, None), lazy_property):
                continue
            value = getattr(self, name)
            valid = region.check(value)
            if not valid.all():
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of "
                    f"distribution {self!r} to satisfy the constraint {region!r}, but found invalid values:\n{value}"
                )

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        """The same distribution with a larger batch; no memory is copied.

        Args:
            batch_shape: The new shape of the batch.
            _instance: For subclasses that build the result themselves.
        """
        new = self._get_checked_instance(type(self), _instance)
        shape = Size(batch_shape)
        for name in self._spread or tuple(type(self).arg_constraints):
            if name in self.__dict__:
                value = self.__dict__[name]
                events = value.shape[len(self._batch_shape) :]
                new.__dict__[name] = value.expand([*shape, *events])
        Distribution.__init__(new, shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        if _instance is None and type(self).__init__ is not cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also "
                "define a custom .expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample."""
        return self._event_shape

    @property
    def support(self) -> Any:
        """Where samples lie."""
        raise NotImplementedError(f"{type(self).__name__} does not say its support.")

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError(f"{type(self).__name__} has no mean.")

    @property
    def mode(self) -> Tensor:
        """The most likely value."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError(f"{type(self).__name__} has no variance.")

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Samples, without gradients.

        Args:
            sample_shape: How many; this shape comes before the batch's.
        """
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Samples with gradients with respect to the parameters."""
        raise NotImplementedError(f"{type(self).__name__} has no rsample; use sample and log_prob instead.")

    def sample_n(self, n: int) -> Tensor:
        """`n` samples."""
        warnings.warn("sample_n will be deprecated. Use .sample((n,)) instead", UserWarning, stacklevel=2)
        return self.sample(Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density or the probability at `value`."""
        raise NotImplementedError(f"{type(self).__name__} has no log_prob.")

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a sample that is not larger than `value`."""
        raise NotImplementedError(f"{type(self).__name__} has no cdf.")

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of `cdf`."""
        raise NotImplementedError(f"{type(self).__name__} has no icdf.")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values that samples can have, along the first dimension."""
        raise NotImplementedError(f"{type(self).__name__} has no finite support.")

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        raise NotImplementedError(f"{type(self).__name__} has no entropy.")

    def perplexity(self) -> Tensor:
        """The exponential of the entropy."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape: Shape = ()) -> Size:
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _validate_sample(self, value: Any) -> None:
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        events = len(self._event_shape)
        if value.shape[value.dim() - events :] != self._event_shape:
            raise ValueError(
                "The right-most size of value must match event_shape: "
                f"{tuple(value.shape)} vs {tuple(self._event_shape)}."
            )
        expected = [*self._batch_shape, *self._event_shape]
        for i, j in zip(reversed(value.shape), reversed(expected), strict=False):
            if 1 not in (i, j) and i != j:
                raise ValueError(
                    "Value is not broadcastable with batch_shape+event_shape: "
                    f"{tuple(value.shape)} vs {tuple(expected)}."
                )
        try:
            region = self.support
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `support` to enable sample validation. Please initialize the "
                "distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        if not region.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the "
                f"support ({region!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        """The name and the parameters, or their shapes where they are not single numbers."""
        names = [name for name in self.arg_constraints if name in self.__dict__]
        parts = ", ".join(
            f"{n}: {self.__dict__[n] if self.__dict__[n].numel() == 1 else self.__dict__[n].size()}" for n in names
        )
        return f"{type(self).__name__}({parts})"
