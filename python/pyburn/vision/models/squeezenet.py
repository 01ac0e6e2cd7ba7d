"""SqueezeNet: AlexNet's accuracy with fifty times fewer weights.

Iandola and others, "SqueezeNet: AlexNet-level accuracy with 50x fewer parameters and <0.5MB model size",
https://arxiv.org/abs/1602.07360
"""

from __future__ import annotations

from functools import partial
from typing import Any

from pyburn import nn
from pyburn._core import Tensor
from pyburn.ops import cat
from pyburn.vision.models._blocks import initialize
from pyburn.vision.models._building import Classifier, builder

__all__ = ["SqueezeNet", "squeezenet1_0", "squeezenet1_1"]


class Fire(nn.Module):
    """A 1x1 convolution that makes the features narrow, then 1x1 and 3x3 ones beside each other that widen them."""

    def __init__(self, inplanes: int, squeeze_planes: int, expand1x1_planes: int, expand3x3_planes: int) -> None:
        super().__init__()
        self.inplanes = inplanes
        self.squeeze = nn.Conv2d(inplanes, squeeze_planes, 1)
        self.squeeze_activation = nn.ReLU(inplace=True)
        self.expand1x1 = nn.Conv2d(squeeze_planes, expand1x1_planes, 1)
        self.expand1x1_activation = nn.ReLU(inplace=True)
        self.expand3x3 = nn.Conv2d(squeeze_planes, expand3x3_planes, 3, padding=1)
        self.expand3x3_activation = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:  # (B, inplanes, H, W)
        """The channels of both."""
        x = self.squeeze_activation(self.squeeze(x))  # (B, squeeze_planes, H, W)
        small = self.expand1x1_activation(self.expand1x1(x))  # (B, expand1x1_planes, H, W)
        large = self.expand3x3_activation(self.expand3x3(x))  # (B, expand3x3_planes, H, W)
        return cat([small, large], 1)


def _fire(inplanes: int, squeeze: int) -> Fire:
    """In both versions each half is four times as wide as the squeezed features."""
    return Fire(inplanes, squeeze, 4 * squeeze, 4 * squeeze)


def _pool() -> nn.MaxPool2d:
    return nn.MaxPool2d(3, stride=2, ceil_mode=True)


def _features(version: str) -> nn.Sequential:
    if version == "1_0":
        stem = [nn.Conv2d(3, 96, 7, stride=2), nn.ReLU(inplace=True), _pool()]
        early = [_fire(96, 16), _fire(128, 16), _fire(128, 32), _pool()]
        late = [_fire(256, 32), _fire(256, 48), _fire(384, 48), _fire(384, 64), _pool(), _fire(512, 64)]
    elif version == "1_1":
        stem = [nn.Conv2d(3, 64, 3, stride=2), nn.ReLU(inplace=True), _pool()]
        early = [_fire(64, 16), _fire(128, 16), _pool(), _fire(128, 32), _fire(256, 32), _pool()]
        late = [_fire(256, 48), _fire(384, 48), _fire(384, 64), _fire(512, 64)]
    else:
        raise ValueError(f"Unsupported SqueezeNet version {version}: 1_0 or 1_1 expected")
    return nn.Sequential(*stem, *early, *late)


class SqueezeNet(Classifier):
    """SqueezeNet for images of at least 17 (version 1_1) or 21 (version 1_0) pixels each way.

    Args:
        version: "1_0" as in the paper, or "1_1", which needs less than half of its time.
        num_classes: How many classes there are.
        dropout: The chance that an input of the last convolution is zero while training.
    """

    def __init__(self, version: str = "1_0", num_classes: int = 1000, dropout: float = 0.5) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.features = _features(version)
        scores = nn.Conv2d(512, num_classes, 1)
        self.classifier = nn.Sequential(
            nn.Dropout(dropout), scores, nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d((1, 1))
        )
        initialize(self.features, conv=nn.init.kaiming_uniform_)
        initialize(self.classifier, conv=partial(nn.init.normal_, std=0.01))

    def forward(self, x: Tensor) -> Tensor:  # (B, 3, H, W)
        """A score for each class."""
        x = self.features(x)  # (B, 512, H / 16, W / 16)
        scores: Tensor = self.classifier(x).flatten(1)  # (B, num_classes)
        return scores


@builder
def squeezenet1_0(**kwargs: Any) -> SqueezeNet:
    """SqueezeNet 1.0."""
    return SqueezeNet("1_0", **kwargs)


@builder
def squeezenet1_1(**kwargs: Any) -> SqueezeNet:
    """SqueezeNet 1.1."""
    return SqueezeNet("1_1", **kwargs)
