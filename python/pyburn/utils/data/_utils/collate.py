"""torch.utils.data._utils.collate: how a list of samples becomes a batch."""

import re

from pyburn.data.collate import default_collate, default_collate_fn_map, default_convert

__all__ = [
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
