"""torch.utils.data._utils.collate: how a list of samples becomes a batch."""

import re
from collections.abc import Sequence
from typing import Any

from pyburn._core import Tensor, float64
from pyburn.data.collate import default_collate, default_collate_fn_map, default_convert
from pyburn.ops import stack, tensor

__all__ = [
    "collate_float_fn",
    "collate_int_fn",
    "collate_str_fn",
    "collate_tensor_fn",
    "default_collate",
    "default_collate_err_msg_format",
    "default_collate_fn_map",
    "default_convert",
    "np_str_obj_array_pattern",
]

np_str_obj_array_pattern = re.compile(r"[SaUO]")
default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def collate_tensor_fn(batch: Sequence[Tensor], *, collate_fn_map: Any = None) -> Tensor:
    """The tensors as one, with a first dimension more."""
    return stack(batch, 0)


def collate_float_fn(batch: Sequence[float], *, collate_fn_map: Any = None) -> Tensor:
    """The numbers as a vector of float64."""
    return tensor(batch, dtype=float64)


def collate_int_fn(batch: Sequence[int], *, collate_fn_map: Any = None) -> Tensor:
    """The numbers as a vector."""
    return tensor(batch)


def collate_str_fn(batch: Sequence[str | bytes], *, collate_fn_map: Any = None) -> Sequence[str | bytes]:
    """The texts as they are."""
    return batch
