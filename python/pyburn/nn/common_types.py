"""torch.nn.common_types: names for annotations of sizes."""

from typing import TypeAlias

from pyburn._core import Tensor

_size_1_t: TypeAlias = int | tuple[int]
_size_2_t: TypeAlias = int | tuple[int, int]
_size_3_t: TypeAlias = int | tuple[int, int, int]
_size_4_t: TypeAlias = int | tuple[int, int, int, int]
_size_any_t: TypeAlias = int | tuple[int, ...]
_ratio_2_t: TypeAlias = float | tuple[float, float]
_ratio_3_t: TypeAlias = float | tuple[float, float, float]
_maybe_indices_t: TypeAlias = Tensor | tuple[Tensor, Tensor]
