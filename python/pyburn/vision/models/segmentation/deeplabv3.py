"""DeepLabV3: convolutions with gaps of several sizes look at each pixel's near and far surroundings.

Chen and others, "Rethinking atrous convolution for semantic image segmentation", https://arxiv.org/abs/1706.05587
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyburn import nn
from pyburn._core import Tensor
from pyburn.ops import cat
from pyburn.vision.models._blocks import IntermediateLayerGetter
from pyburn.vision.models._building import Builder, builder_with
from pyburn.vision.models.mobilenetv3 import mobilenet_v3_large
from pyburn.vision.models.resnet import ResNet, resnet50, resnet101
from pyburn.vision.models.segmentation._common import (
    FCNHead,
    SegmentationModel,
    enlarged,
    mobilenet_stages,
    resnet_features,
    with_aux_of_file,
)

__all__ = ["DeepLabV3", "deeplabv3_mobilenet_v3_large", "deeplabv3_resnet50", "deeplabv3_resnet101"]


class DeepLabV3(SegmentationModel):
    """A backbone whose features are looked at with convolutions of several gaps."""


def _step(in_channels: int, out_channels: int, kernel: int = 1, dilation: int = 1) -> list[nn.Module]:
    padding = dilation if kernel == 3 else 0
    conv = nn.Conv2d(in_channels, out_channels, kernel, padding=padding, dilation=dilation, bias=False)
    return [conv, nn.BatchNorm2d(out_channels), nn.ReLU()]


class ASPPConv(nn.Sequential):
    """The surroundings of each pixel at one distance."""

    def __init__(self, in_channels: int, out_channels: int, dilation: int) -> None:
        super().__init__(*_step(in_channels, out_channels, 3, dilation))


class ASPPPooling(nn.Sequential):
    """The average of the whole image, at each pixel."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__(nn.AdaptiveAvgPool2d(1), *_step(in_channels, out_channels))

    def forward(self, x: Tensor) -> Tensor:  # (B, in_channels, H, W)
        """The averaged features."""
        return enlarged(super().forward(x), x)  # (B, out_channels, H, W)


class ASPP(nn.Module):
    """Each pixel alone, its surroundings at several distances, and the whole image beside each other."""

    def __init__(self, in_channels: int, atrous_rates: Sequence[int], out_channels: int = 256) -> None:
        super().__init__()
        alone = nn.Sequential(*_step(in_channels, out_channels))
        views = [ASPPConv(in_channels, out_channels, rate) for rate in atrous_rates]
        self.convs = nn.ModuleList([alone, *views, ASPPPooling(in_channels, out_channels)])
        self.project = nn.Sequential(*_step(len(self.convs) * out_channels, out_channels), nn.Dropout(0.5))

    def forward(self, x: Tensor) -> Tensor:  # (B, in_channels, H, W)
        """All views, mixed."""
        mixed: Tensor = self.project(cat([view(x) for view in self.convs], 1))  # (B, out_channels, H, W)
        return mixed


class DeepLabHead(nn.Sequential):
    """`ASPP`, a 3x3 convolution and a 1x1 one to the classes."""

    def __init__(self, in_channels: int, num_classes: int, atrous_rates: Sequence[int] = (12, 24, 36)) -> None:
        super().__init__(ASPP(in_channels, atrous_rates), *_step(256, 256, 3), nn.Conv2d(256, num_classes, 1))


def _on_resnet(
    resnet: Builder[ResNet],
    num_classes: int | None = None,
    aux_loss: bool | None = None,
    weights_backbone: Any = None,
    **kwargs: Any,
) -> DeepLabV3:
    classes = 21 if num_classes is None else num_classes
    # The last two stages keep an eighth of the size.
    backbone = resnet(weights=weights_backbone, replace_stride_with_dilation=[False, True, True])
    features = resnet_features(backbone, bool(aux_loss))
    aux = FCNHead(1024, classes) if aux_loss else None
    return DeepLabV3(features, DeepLabHead(2048, classes), aux)


@builder_with(with_aux_of_file)
def deeplabv3_resnet50(**kwargs: Any) -> DeepLabV3:
    """DeepLabV3 on ResNet-50, with `num_classes=21` and no `aux_loss`.

    Differs from torchvision: `weights_backbone` is None, so that nothing is downloaded.
    """
    return _on_resnet(resnet50, **kwargs)


@builder_with(with_aux_of_file)
def deeplabv3_resnet101(**kwargs: Any) -> DeepLabV3:
    """DeepLabV3 on ResNet-101, with `num_classes=21` and no `aux_loss`.

    Differs from torchvision: `weights_backbone` is None, so that nothing is downloaded.
    """
    return _on_resnet(resnet101, **kwargs)


@builder_with(with_aux_of_file)
def deeplabv3_mobilenet_v3_large(
    num_classes: int | None = None, aux_loss: bool | None = None, weights_backbone: Any = None, **kwargs: Any
) -> DeepLabV3:
    """DeepLabV3 on MobileNet v3, with `num_classes=21` and no `aux_loss`.

    Differs from torchvision: `weights_backbone` is None, so that nothing is downloaded.
    """
    classes = 21 if num_classes is None else num_classes
    backbone = mobilenet_v3_large(weights=weights_backbone, dilated=True)
    stages = mobilenet_stages(backbone)
    (out, wide), (middle, narrow) = stages[-1], stages[-4]
    features = IntermediateLayerGetter(backbone.features, {out: "out", **({middle: "aux"} if aux_loss else {})})
    aux = FCNHead(narrow, classes) if aux_loss else None
    return DeepLabV3(features, DeepLabHead(wide, classes), aux)
