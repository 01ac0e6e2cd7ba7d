"""LR-ASPP: a light head for segmentation on phones.

Howard and others, "Searching for MobileNetV3", https://arxiv.org/abs/1905.02244
"""

from __future__ import annotations

from typing import Any

from pyburn import nn
from pyburn._core import Tensor
from pyburn.train import Trainable
from pyburn.vision.models._blocks import IntermediateLayerGetter
from pyburn.vision.models._building import builder
from pyburn.vision.models.mobilenetv3 import mobilenet_v3_large
from pyburn.vision.models.segmentation._common import enlarged, mobilenet_stages

__all__ = ["LRASPP", "lraspp_mobilenet_v3_large"]


class LRASPPHead(nn.Module):
    """Late features, scaled by their averages, and early ones, each to the classes."""

    def __init__(self, low_channels: int, high_channels: int, num_classes: int, inter_channels: int) -> None:
        super().__init__()
        self.cbr = nn.Sequential(
            nn.Conv2d(high_channels, inter_channels, 1, bias=False),
            nn.BatchNorm2d(inter_channels),
            nn.ReLU(inplace=True),
        )
        self.scale = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(high_channels, inter_channels, 1, bias=False), nn.Sigmoid()
        )
        self.low_classifier = nn.Conv2d(low_channels, num_classes, 1)
        self.high_classifier = nn.Conv2d(inter_channels, num_classes, 1)

    def forward(self, input: dict[str, Tensor]) -> Tensor:
        """The scores, an eighth of the image's size."""
        low, high = input["low"], input["high"]  # (B, low_channels, H / 8, W / 8), (B, high_channels, H / 16, W / 16)
        x = enlarged(self.cbr(high) * self.scale(high), low)  # (B, inter_channels, H / 8, W / 8)
        scores: Tensor = self.low_classifier(low) + self.high_classifier(x)  # (B, num_classes, H / 8, W / 8)
        return scores


class LRASPP(Trainable):
    """A light head on early and late features.

    Args:
        backbone: Gives a dictionary with early features "low" and late ones "high".
        low_channels: The width of the early ones.
        high_channels: The width of the late ones.
        num_classes: How many classes there are.
        inter_channels: The width inside.
    """

    def __init__(
        self,
        backbone: nn.Module,
        low_channels: int,
        high_channels: int,
        num_classes: int,
        inter_channels: int = 128,
    ) -> None:
        super().__init__()
        self.backbone = backbone
        self.classifier = LRASPPHead(low_channels, high_channels, num_classes, inter_channels)

    def forward(self, input: Tensor) -> dict[str, Tensor]:  # (B, 3, H, W)
        """A score for each class and pixel under "out"."""
        return {"out": enlarged(self.classifier(self.backbone(input)), input)}  # (B, num_classes, H, W)


@builder
def lraspp_mobilenet_v3_large(num_classes: int | None = None, weights_backbone: Any = None, **kwargs: Any) -> LRASPP:
    """LR-ASPP on MobileNet v3, with `num_classes=21`.

    Differs from torchvision: `weights_backbone` is None, so that nothing is downloaded.
    """
    if kwargs.pop("aux_loss", False):
        raise NotImplementedError("This model does not use auxiliary loss")
    backbone = mobilenet_v3_large(weights=weights_backbone, dilated=True)
    stages = mobilenet_stages(backbone)
    (high, wide), (low, narrow) = stages[-1], stages[-4]
    features = IntermediateLayerGetter(backbone.features, {low: "low", high: "high"})
    return LRASPP(features, narrow, wide, 21 if num_classes is None else num_classes)
