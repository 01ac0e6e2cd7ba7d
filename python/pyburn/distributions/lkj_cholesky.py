"""The LKJ distribution of correlation matrices (Lewandowski, Kurowicka and Joe, 2009), as Cholesky factors."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from pyburn._core import Tensor
from pyburn._size import Size
from pyburn._typeinfo import finfo
from pyburn.autograd import no_grad
from pyburn.distributions import constraints
from pyburn.distributions.beta import Beta
from pyburn.distributions.distribution import Distribution, Shape
from pyburn.distributions.utils import broadcast_all
from pyburn.ops import arange, cat, diag_embed, randn


class LKJCholesky(Distribution):
    """Lower Cholesky factors of correlation matrices, with a density proportional to det(L L^T)^(concentration - 1).

    Args:
        dim: The number of rows.
        concentration: 1 makes all correlations equally likely, more draws them to zero.
        validate_args: See `Distribution`.

    Example:
        >>> import pyburn
        >>> factor = pyburn.distributions.LKJCholesky(3, 0.5).sample()
        >>> pyburn.allclose((factor @ factor.T).diagonal(), pyburn.ones(3))
        True
    """

    arg_constraints: ClassVar[Any] = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Tensor | float = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        above = arange(dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        above = cat([above.new_zeros(1), above])
        strength = (self.concentration + 0.5 * (dim - 2)).unsqueeze(-1)
        self._beta = Beta(above + 0.5, strength - 0.5 * above)
        super().__init__(self.concentration.shape, Size([dim, dim]), validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = self._get_checked_instance(LKJCholesky, _instance)
        new.dim = self.dim
        new.concentration = self.concentration.expand(batch_shape)
        new._beta = self._beta.expand(Size([*batch_shape, self.dim]))
        Distribution.__init__(new, Size(batch_shape), self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @no_grad()
    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Factors by the onion method: each row is a direction on a sphere, shortened by a beta variable."""
        squared = self._beta.sample(sample_shape).unsqueeze(-1)  # (..., D, 1)
        ways = randn(self._extended_shape(sample_shape), dtype=squared.dtype, device=squared.device).tril(-1)
        # The first row has no direction: it would be 0 / 0.
        lengths = ways.norm(dim=-1, keepdim=True)
        rows = squared.sqrt() * ways / lengths.masked_fill(lengths == 0, 1.0)
        rest = (1 - (rows * rows).sum(-1)).clamp(min=finfo(rows.dtype).tiny)
        return rows + diag_embed(rest.sqrt())

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        from pyburn.special import multigammaln

        heights = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        rows = arange(2, self.dim + 1, device=self.concentration.device)
        powers = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - rows
        n = self.dim - 1
        alpha = self.concentration + 0.5 * n
        constant = 0.5 * n * math.log(math.pi) + multigammaln(alpha - 0.5, n) - n * alpha.lgamma()
        return (powers * heights.log()).sum(-1) - constant
