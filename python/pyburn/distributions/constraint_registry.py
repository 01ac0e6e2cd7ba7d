"""torch.distributions.constraint_registry: transforms from all numbers to a region."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyburn.distributions import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """A table of regions and what transforms numbers into them.

    Example:
        >>> import pyburn
        >>> transform_to(constraints.positive)(pyburn.zeros(1))
        tensor([1.])
    """

    def __init__(self) -> None:
        self._registry: dict[type, Callable[[Any], transforms.Transform]] = {}

    def register(self, constraint: Any, factory: Any = None) -> Any:
        """`factory`; it makes the transforms for the kind of `constraint`. A decorator without `factory`."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, constraints.Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> transforms.Transform:
        """A transform to the region."""
        try:
            factory = self._registry[type(constraint)]
        except KeyError:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints") from None
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _both(constraint: Any, factory: Callable[[Any], transforms.Transform]) -> None:
    biject_to.register(constraint, factory)
    transform_to.register(constraint, factory)


def _interval(region: Any) -> transforms.Transform:
    low, high = region.lower_bound, region.upper_bound
    if isinstance(low, int | float) and isinstance(high, int | float) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


def _above(region: Any) -> transforms.Transform:
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(region.lower_bound, 1)])


def _below(region: Any) -> transforms.Transform:
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(region.upper_bound, -1)])


_both(constraints.real, lambda region: transforms.identity_transform)
_both(constraints.greater_than, _above)
_both(constraints.greater_than_eq, _above)
_both(constraints.less_than, _below)
_both(constraints.interval, _interval)
_both(constraints.half_open_interval, _interval)
_both(constraints.corr_cholesky, lambda region: transforms.CorrCholeskyTransform())
biject_to.register(constraints.simplex, lambda region: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda region: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda region: transforms.LowerCholeskyTransform())
for _definite in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(_definite, lambda region: transforms.PositiveDefiniteTransform())


def _parts(registry: ConstraintRegistry) -> None:
    """Nothing; regions made of others are known to `registry`."""
    registry.register(
        constraints.independent,
        lambda region: transforms.IndependentTransform(
            registry(region.base_constraint), region.reinterpreted_batch_ndims
        ),
    )
    registry.register(
        constraints.cat,
        lambda region: transforms.CatTransform([registry(c) for c in region.cseq], region.dim, region.lengths),
    )
    registry.register(
        constraints.stack, lambda region: transforms.StackTransform([registry(c) for c in region.cseq], region.dim)
    )


_parts(biject_to)
_parts(transform_to)
