"""torchvision's compiled operators under their names in `torch.ops.torchvision`, as far as pyburn has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyburn._core import Tensor, int64
from pyburn.autograd import enable_grad, grad
from pyburn.library import Library
from pyburn.vision import io
from pyburn.vision.deformable import deform_conv2d, deform_conv2d_backward
from pyburn.vision.detection import nms, roi_align
from pyburn.vision.ops.pooling import pooled_with_places, ps_aligned_with_channels, ps_pooled_with_channels

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


def _gradient(pool: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient of a pooling's input, from the arguments torchvision gives: what was remembered is not needed."""

    def kernel(gradient: Tensor, rois: Tensor, memory: Tensor, *numbers: Any) -> Tensor:
        *options, batch_size, channels, height, width = numbers
        with enable_grad():
            x = gradient.new_zeros(batch_size, channels, height, width).requires_grad_()
            y = pool(x, rois, *options)[0]
        if not y.requires_grad:
            return x.detach()
        found: Tensor = grad(y, x, gradient)[0]
        return found

    return kernel


def _roi_pool_backward(gradient: Tensor, rois: Tensor, argmax: Tensor, *numbers: Any) -> Tensor:
    batch_size, channels, height, width = numbers[-4:]
    x = gradient.new_zeros(batch_size, channels, height * width)
    places = argmax.to(int64)
    values = (gradient * (places >= 0)).flatten(2)
    for image in range(batch_size):
        mine = (rois[:, 0].to(int64) == image).nonzero().flatten()
        for k in mine.tolist():
            x[image] = x[image].scatter_add(1, places[k].clamp(min=0).flatten(1), values[k])
    return x.reshape(batch_size, channels, height, width)


_KERNELS: dict[str, Callable[..., Any]] = {
    "_cuda_version": lambda: -1,
    "_deform_conv2d_backward": deform_conv2d_backward,
    "_ps_roi_align_backward": _gradient(ps_aligned_with_channels),
    "_ps_roi_pool_backward": _gradient(ps_pooled_with_channels),
    "_roi_align_backward": _roi_align_backward,
    "_roi_pool_backward": _roi_pool_backward,
    "deform_conv2d": deform_conv2d,
    "nms": nms,
    "ps_roi_align": ps_aligned_with_channels,
    "ps_roi_pool": ps_pooled_with_channels,
    "roi_align": roi_align,
    "roi_pool": pooled_with_places,
}


_IMAGE_SCHEMAS = (
    "read_file(str filename) -> Tensor",
    "write_file(str filename, Tensor data) -> ()",
    "decode_png(Tensor data, int mode, bool apply_exif_orientation=False) -> Tensor",
    "decode_jpeg(Tensor data, int mode, bool apply_exif_orientation=False) -> Tensor",
    "decode_image(Tensor data, int mode, bool apply_exif_orientation=False) -> Tensor",
    "decode_webp(Tensor data, int mode) -> Tensor",
    "decode_gif(Tensor data) -> Tensor",
    "encode_png(Tensor data, int compression_level) -> Tensor",
    "encode_jpeg(Tensor data, int quality) -> Tensor",
    "_jpeg_version() -> int",
    "_is_compiled_against_turbo() -> bool",
)


def _decode(data: Tensor, mode: int, apply_exif_orientation: bool = False) -> Tensor:
    return io.decode_image(data, io.ImageReadMode(mode), apply_exif_orientation)


_IMAGE_KERNELS: dict[str, Callable[..., Any]] = {
    "_is_compiled_against_turbo": lambda: False,
    "_jpeg_version": lambda: -1,
    "decode_gif": io.decode_gif,
    "decode_image": _decode,
    "decode_jpeg": _decode,
    "decode_png": _decode,
    "decode_webp": _decode,
    "encode_jpeg": io.encode_jpeg,
    "encode_png": io.encode_png,
    "read_file": io.read_file,
    "write_file": io.write_file,
}


def register() -> None:
    """Nothing; `torch.ops.torchvision` has the operators, and `torch.ops.image` those that read and write images.

    Those without code here say so when they are called.
    """
    _register("torchvision", _SCHEMAS, _KERNELS)
    _register("image", _IMAGE_SCHEMAS, _IMAGE_KERNELS)


def _register(space: str, schemas: tuple[str, ...], kernels: dict[str, Callable[..., Any]]) -> None:
    library = Library(space, "FRAGMENT")
    for schema in schemas:
        library.define(schema)
    for name, kernel in kernels.items():
        library.impl(name, kernel, "CompositeExplicitAutograd")
