"""torch.utils._foreach_utils: lists of tensors by device and dtype, as optimizers hand them to `_foreach_*`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from pyburn._core import Tensor, device, dtype

__all__: list[str] = []

TensorListList: TypeAlias = Sequence[Sequence[Tensor | None] | None]
Indices: TypeAlias = list[int]


def _get_foreach_kernels_supported_devices() -> list[str]:
    """The kinds of device besides the CPU that `_foreach_*` runs on."""
    return ["wgpu"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """The kinds of device that optimizers with `fused=True` run on."""
    return ["cpu", "wgpu"]


def _device_has_foreach_support(device: device) -> bool:
    """Whether `_foreach_*` runs there."""
    return device.type in ("cpu", *_get_foreach_kernels_supported_devices())


def _has_foreach_support(tensors: Sequence[Tensor | None], device: device) -> bool:
    """Whether `_foreach_*` takes these tensors on that device."""
    return _device_has_foreach_support(device) and all(t is None or type(t) is Tensor for t in tensors)


def _group_tensors_by_device_and_dtype(
    tensorlistlist: TensorListList, with_indices: bool = False
) -> dict[tuple[device, dtype], tuple[list[list[Any]], Indices]]:
    """The tensors of each list by the device and dtype of the first list's, and their places if asked for."""
    first = next((tensors for tensors in tensorlistlist if tensors), [])
    groups: dict[tuple[device, dtype], tuple[list[list[Any]], Indices]] = {}
    for place, tensor in enumerate(first):
        if tensor is None:
            raise RuntimeError("_group_tensors_by_device_and_dtype: the first list must hold tensors only.")
        key = (tensor.device, tensor.dtype)
        lists, places = groups.setdefault(key, ([[] for _ in tensorlistlist], []))
        for one, tensors in zip(lists, tensorlistlist, strict=True):
            if tensors:
                one.append(tensors[place])
        if with_indices:
            places.append(place)
    return groups
