"""torch._VF: torch's operators as its Python files call them."""

from pyburn.nn.native import *  # noqa: F403
from pyburn.nn.native import __all__ as _native
from pyburn.ops import cdist, einsum, meshgrid, norm, split, stft, unique_consecutive
from pyburn.ops import unique as unique_dim

__all__ = [*_native, "cdist", "einsum", "meshgrid", "norm", "split", "stft", "unique_consecutive", "unique_dim"]
