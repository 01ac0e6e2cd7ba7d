"""torch.types: names for annotations."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO, Any, TypeAlias

from pyburn import _core
from pyburn._core import Tensor, device, dtype
from pyburn._formats import layout
from pyburn._size import Size
from pyburn._storage import TypedStorage as Storage

__all__ = ["Device", "FileLike", "IntLikeType", "Number", "Storage", "Tensor", "TensorType", "py_sym_types"]

Device: TypeAlias = _core.device | str | int | None
Number: TypeAlias = int | float | bool
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
IntLikeType: TypeAlias = int
FloatLikeType: TypeAlias = float
BoolLikeType: TypeAlias = bool
TensorType: TypeAlias = Tensor
py_sym_types = (int, float, bool)

_int, _float, _bool = int, float, bool
_dtype, _device, _layout, _size = dtype, device, layout, Size | list[int] | tuple[int, ...]
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_qscheme: TypeAlias = Any
