"""The chi-squared distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from pyburn._core import Tensor
from pyburn.distributions import constraints
from pyburn.distributions.gamma import Gamma


class Chi2(Gamma):
    """The sum of the squares of `df` normal numbers.

    Args:
        df: The degrees of freedom.
        validate_args: See `Distribution`.

    Example:
        >>> import pyburn
        >>> pyburn.distributions.Chi2(3.0).mean
        tensor(3.)
    """

    arg_constraints: ClassVar[Any] = {"df": constraints.positive}

    def __init__(self, df: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self.concentration * 2
