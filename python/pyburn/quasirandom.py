"""torch.quasirandom: Sobol's sequences, which fill a cube more evenly than random numbers do."""

from __future__ import annotations

from pyburn import ops
from pyburn._core import Generator, Tensor, dtype, get_default_dtype, int64
from pyburn._sobol import BITS, DIMENSIONS, direction_numbers

__all__ = ["SobolEngine"]


class SobolEngine:
    """Draws the points of a Sobol sequence in the unit cube, torch's own numbers.

    Args:
        dimension: How many coordinates a point has.
        scramble: Whether the sequence is shifted and mixed at random, which keeps it even (Owen, Matousek).
        seed: The seed of that; without it the numbers come from the default generator.

    Differs from torch:
        1111 dimensions at most, instead of 21201.

    Example:
        >>> import pyburn
        >>> pyburn.quasirandom.SobolEngine(2).draw(3)
        tensor([[0.0000, 0.0000],
                [0.5000, 0.5000],
                [0.7500, 0.2500]])
    """

    MAXBIT = BITS
    MAXDIM = DIMENSIONS

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.seed = seed
        self.scramble = scramble
        self.dimension = dimension
        self.sobolstate = ops.tensor(direction_numbers(dimension), dtype=int64, device="cpu")
        self.shift = ops.zeros(dimension, dtype=int64, device="cpu")
        if scramble:
            self._scramble()
        self.quasi = self.shift.clone()
        self._first_point = (self.quasi / 2**self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: dtype | None = None) -> Tensor:
        """The next `n` points, as (n, dimension).

        Args:
            n: How many.
            out: A tensor to write them into.
            dtype: Of floats; the default one when left out.

        Example:
            >>> import pyburn
            >>> pyburn.quasirandom.SobolEngine(1).draw(2)
            tensor([[0.0000],
                    [0.5000]])
        """
        wanted = get_default_dtype() if dtype is None else dtype
        parts = []
        if self.num_generated == 0 and n > 0:
            parts.append(self._first_point.to(wanted))
        count = n - len(parts)
        if count > 0 or not parts:
            parts.append(self._steps(count).to(wanted) * 2.0**-self.MAXBIT)
        self.num_generated += n
        result = parts[0] if len(parts) == 1 else ops.cat(parts)
        return result if out is None else out.resize_(result.shape).copy_(result)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: dtype | None = None) -> Tensor:
        """The next `2 ** m` points, after which the number of points drawn must be a power of 2.

        Example:
            >>> import pyburn
            >>> pyburn.quasirandom.SobolEngine(1).draw_base2(1)
            tensor([[0.0000],
                    [0.5000]])
        """
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: n={self.num_generated}+2**{m}="
                f"{total}. If you still want to do this, please use 'SobolEngine.draw()' instead."
            )
        return self.draw(n, out, dtype)

    def reset(self) -> SobolEngine:
        """This engine, at its beginning.

        Example:
            >>> import pyburn
            >>> pyburn.quasirandom.SobolEngine(1).fast_forward(5).reset().num_generated
            0
        """
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """This engine, after `n` points that were not drawn.

        Example:
            >>> import pyburn
            >>> pyburn.quasirandom.SobolEngine(1).fast_forward(2).draw()
            tensor([[0.7500]])
        """
        count = n - 1 if self.num_generated == 0 else n
        if count > 0:
            self._steps(count)
        self.num_generated += n
        return self

    def _steps(self, count: int) -> Tensor:
        """The next `count` points as whole numbers; `quasi` becomes the last of them."""
        start = max(self.num_generated - 1, 0)
        numbers = ops.arange(start + 1, start + 1 + count, dtype=int64, device="cpu")
        # Each point differs from the one before in one direction, the one that Gray codes change.
        codes = (numbers ^ (numbers >> 1)) ^ (start ^ (start >> 1))
        points = self.quasi.expand(count, self.dimension).clone()
        for bit in range(self.MAXBIT):
            points ^= ((codes >> bit) & 1).unsqueeze(1) * self.sobolstate[:, bit]
        if count > 0:
            self.quasi.copy_(points[-1])
        return points

    def _scramble(self) -> None:
        """Draws the shift, and mixes the directions by lower triangular matrices of bits."""
        generator = None if self.seed is None else Generator().manual_seed(self.seed)
        bits = self.MAXBIT
        drawn = ops.randint(2, (self.dimension, bits), device="cpu", generator=generator)
        powers = 2 ** ops.arange(bits, dtype=int64, device="cpu")
        self.shift = (drawn * powers).sum(1)
        lower = ops.randint(2, (self.dimension, bits, bits), device="cpu", generator=generator).tril()
        lower.diagonal(0, -2, -1).fill_(1)
        rows = (lower * powers.flip(0)).sum(-1)
        parity = self.sobolstate.unsqueeze(2) & rows.unsqueeze(1)  # (dimension, direction, row)
        for half in (16, 8, 4, 2, 1):
            parity = parity ^ (parity >> half)
        self.sobolstate = ((parity & 1) * powers.flip(0)).sum(-1)

    def __repr__(self) -> str:
        parts = [f"dimension={self.dimension}"]
        if self.scramble:
            parts += ["scramble=True"]
        if self.seed is not None:
            parts += [f"seed={self.seed}"]
        return f"{type(self).__name__}({', '.join(parts)})"
