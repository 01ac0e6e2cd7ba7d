"""torchvision's compiled operators under their names in `torch.ops.torchvision`, as far as pyburn has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyburn._core import Tensor
from pyburn.autograd import enable_grad, grad
from pyburn.library import Library
from pyburn.vision.deformable import deform_conv2d, deform_conv2d_backward
from pyburn.vision.detection import nms, roi_align

__all__ = ["register"]

_ROI = "float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_SIZES = "SymInt batch_size, SymInt channels, SymInt height, SymInt width"
_DEFORM = (
    "Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, "
    "SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, "
    "bool use_mask"
)
_SCHEMAS = (
    "_cuda_version() -> int",
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    f"roi_align(Tensor input, Tensor rois, {_ROI}, int sampling_ratio, bool aligned) -> Tensor",
    f"_roi_align_backward(Tensor grad, Tensor rois, {_ROI}, {_SIZES}, int sampling_ratio, bool aligned) -> Tensor",
    f"roi_pool(Tensor input, Tensor rois, {_ROI}) -> (Tensor, Tensor)",
    f"_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, {_ROI}, {_SIZES}) -> Tensor",
    f"ps_roi_align(Tensor input, Tensor rois, {_ROI}, int sampling_ratio) -> (Tensor, Tensor)",
    f"_ps_roi_align_backward(Tensor grad, Tensor rois, Tensor channel_mapping, {_ROI}, int sampling_ratio, {_SIZES}) "
    "-> Tensor",
    f"ps_roi_pool(Tensor input, Tensor rois, {_ROI}) -> (Tensor, Tensor)",
    f"_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor channel_mapping, {_ROI}, {_SIZES}) -> Tensor",
    f"deform_conv2d({_DEFORM}) -> Tensor",
    f"_deform_conv2d_backward(Tensor grad, {_DEFORM}) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qroi_align(Tensor input, Tensor rois, float input_scale, int input_zero_point, float rois_scale, "
    f"int rois_zero_point, {_ROI}, int sampling_ratio, bool aligned) -> Tensor",
    "box_iou_rotated(Tensor boxes1, Tensor boxes2) -> Tensor",
)


def _roi_align_backward(
    gradient: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    batch_size: int,
    channels: int,
    height: int,
    width: int,
    sampling_ratio: int,
    aligned: bool,
) -> Tensor:
    # The result is linear in the input, so its gradient is the same everywhere.
    with enable_grad():
        x = gradient.new_zeros(batch_size, channels, height, width).requires_grad_()
        y = roi_align(x, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned)
    if not y.requires_grad:  # there is no box, so nothing was read
        return x.detach()
    found: Tensor = grad(y, x, gradient)[0]
    return found


_KERNELS: dict[str, Callable[..., Any]] = {
    "_cuda_version": lambda: -1,
    "_deform_conv2d_backward": deform_conv2d_backward,
    "_roi_align_backward": _roi_align_backward,
    "deform_conv2d": deform_conv2d,
    "nms": nms,
    "roi_align": roi_align,
}


def register() -> None:
    """Nothing; `torch.ops.torchvision` has the operators. Those without code here say so when they are called."""
    library = Library("torchvision", "FRAGMENT")
    for schema in _SCHEMAS:
        library.define(schema)
    for name, kernel in _KERNELS.items():
        library.impl(name, kernel, "CompositeExplicitAutograd")
