"""torchvision.ops: boxes, features along boxes, losses and layers of detectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyburn.vision.ops.boxes import (
    batched_nms,
    box_area,
    box_convert,
    box_iou,
    clip_boxes_to_image,
    complete_box_iou,
    distance_box_iou,
    generalized_box_iou,
    masks_to_boxes,
    nms,
    remove_small_boxes,
)
from pyburn.vision.ops.layers import (
    Conv3dNormActivation,
    DeformConv2d,
    DropBlock2d,
    DropBlock3d,
    FeaturePyramidNetwork,
    FrozenBatchNorm2d,
    deform_conv2d,
    drop_block2d,
    drop_block3d,
)
from pyburn.vision.ops.losses import (
    complete_box_iou_loss,
    distance_box_iou_loss,
    generalized_box_iou_loss,
    sigmoid_focal_loss,
)
from pyburn.vision.ops.pooling import (
    MultiScaleRoIAlign,
    PSRoIAlign,
    PSRoIPool,
    RoIAlign,
    RoIPool,
    ps_roi_align,
    ps_roi_pool,
    roi_align,
    roi_pool,
)

if TYPE_CHECKING:
    from pyburn.vision.models._blocks import (
        MLP as MLP,
    )
    from pyburn.vision.models._blocks import (
        Conv2dNormActivation as Conv2dNormActivation,
    )
    from pyburn.vision.models._blocks import (
        Permute as Permute,
    )
    from pyburn.vision.models._blocks import (
        SqueezeExcitation as SqueezeExcitation,
    )
    from pyburn.vision.models._blocks import (
        StochasticDepth as StochasticDepth,
    )
    from pyburn.vision.models._blocks import (
        stochastic_depth as stochastic_depth,
    )

_BLOCKS = ("MLP", "Conv2dNormActivation", "Permute", "SqueezeExcitation", "StochasticDepth", "stochastic_depth")


def __getattr__(name: str) -> Any:
    # The blocks that models are built of stand with the models, which are many: they are loaded when named.
    if name not in _BLOCKS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pyburn.vision.models import _blocks

    return getattr(_blocks, name)


__all__ = [
    "MLP",
    "Conv2dNormActivation",
    "Conv3dNormActivation",
    "DeformConv2d",
    "DropBlock2d",
    "DropBlock3d",
    "FeaturePyramidNetwork",
    "FrozenBatchNorm2d",
    "MultiScaleRoIAlign",
    "PSRoIAlign",
    "PSRoIPool",
    "Permute",
    "RoIAlign",
    "RoIPool",
    "SqueezeExcitation",
    "StochasticDepth",
    "batched_nms",
    "box_area",
    "box_convert",
    "box_iou",
    "clip_boxes_to_image",
    "complete_box_iou",
    "complete_box_iou_loss",
    "deform_conv2d",
    "distance_box_iou",
    "distance_box_iou_loss",
    "drop_block2d",
    "drop_block3d",
    "generalized_box_iou",
    "generalized_box_iou_loss",
    "masks_to_boxes",
    "nms",
    "ps_roi_align",
    "ps_roi_pool",
    "remove_small_boxes",
    "roi_align",
    "roi_pool",
    "sigmoid_focal_loss",
    "stochastic_depth",
]
