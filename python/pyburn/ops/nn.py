"""What `pyburn.nn.functional` is made of, gathered from the op families under torch's functional names."""

from pyburn.ops.attention import scaled_dot_product_attention
from pyburn.ops.conv import conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d
from pyburn.ops.grid import affine_grid, grid_sample
from pyburn.ops.linalg import bilinear, linear
from pyburn.ops.norm import batch_norm, group_norm, instance_norm, layer_norm, rms_norm
from pyburn.ops.pool import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool2d_with_indices,
    max_pool3d,
    max_pool3d_with_indices,
)
from pyburn.ops.resize import channel_shuffle, fold, interpolate, pixel_shuffle, pixel_unshuffle, unfold, upsample

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "affine_grid",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "bilinear",
    "channel_shuffle",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "fold",
    "grid_sample",
    "group_norm",
    "instance_norm",
    "interpolate",
    "layer_norm",
    "linear",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
    "pixel_shuffle",
    "pixel_unshuffle",
    "rms_norm",
    "scaled_dot_product_attention",
    "unfold",
    "upsample",
]
