"""VGG: nothing but 3 by 3 convolutions, deeper and deeper.

Simonyan and Zisserman, "Very deep convolutional networks for large-scale image recognition",
https://arxiv.org/abs/1409.1556
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from pyburn import nn
from pyburn._core import Tensor
from pyburn.vision.models._blocks import initialize
from pyburn.vision.models._building import Classifier, builder

__all__ = ["VGG", "vgg11", "vgg11_bn", "vgg13", "vgg13_bn", "vgg16", "vgg16_bn", "vgg19", "vgg19_bn"]

# How many convolutions each of the five stages has; their widths are the same in all sizes.
WIDTHS = (64, 128, 256, 512, 512)
DEPTHS = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}


class VGG(Classifier):
    """VGG for images of at least 32 by 32 pixels.

    Args:
        features: The convolutions, which end with 512 channels.
        num_classes: How many classes there are.
        init_weights: Whether the weights are drawn as in the paper rather than as the layers do it.
        dropout: The chance that an input of the last two linear layers is zero while training.
    """

    def __init__(
        self, features: nn.Module, num_classes: int = 1000, init_weights: bool = True, dropout: float = 0.5
    ) -> None:
        super().__init__()
        self.features = features
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(dropout),
            nn.Linear(4096, num_classes),
        )
        if init_weights:
            fan_out = partial(nn.init.kaiming_normal_, mode="fan_out", nonlinearity="relu")
            initialize(self, conv=fan_out, linear=partial(nn.init.normal_, std=0.01))

    def forward(self, x: Tensor) -> Tensor:  # (B, 3, H, W)
        """A score for each class."""
        x = self.features(x)  # (B, 512, H / 32, W / 32)
        x = self.avgpool(x).flatten(1)  # (B, 25088)
        scores: Tensor = self.classifier(x)  # (B, num_classes)
        return scores


def _widths(depths: Sequence[int]) -> list[int | str]:
    """The widths of all convolutions in their order, "M" for a pooling after each stage."""
    found: list[int | str] = []
    for width, depth in zip(WIDTHS, depths, strict=True):
        found += [width] * depth + ["M"]
    return found


# torchvision's lists of the sizes, which programs change and give to `make_layers`.
cfgs = {name: _widths(depths) for name, depths in zip("ABDE", DEPTHS.values(), strict=True)}


def make_layers(cfg: Sequence[int | str], batch_norm: bool = False) -> nn.Sequential:
    """Convolutions of these widths; "M" is a pooling that halves the size."""
    layers: list[nn.Module] = []
    channels = 3
    for width in cfg:
        if isinstance(width, str):
            layers.append(nn.MaxPool2d(2, stride=2))
            continue
        layers.append(nn.Conv2d(channels, width, 3, padding=1))
        layers += [nn.BatchNorm2d(width)] if batch_norm else []
        layers.append(nn.ReLU(inplace=True))
        channels = width
    return nn.Sequential(*layers)


def _vgg(layers: int, batch_norm: bool, kwargs: dict[str, Any]) -> VGG:
    return VGG(make_layers(_widths(DEPTHS[layers]), batch_norm), **kwargs)


@builder
def vgg11(**kwargs: Any) -> VGG:
    """VGG with 11 layers."""
    return _vgg(11, False, kwargs)


@builder
def vgg11_bn(**kwargs: Any) -> VGG:
    """VGG with 11 layers and batch normalization."""
    return _vgg(11, True, kwargs)


@builder
def vgg13(**kwargs: Any) -> VGG:
    """VGG with 13 layers."""
    return _vgg(13, False, kwargs)


@builder
def vgg13_bn(**kwargs: Any) -> VGG:
    """VGG with 13 layers and batch normalization."""
    return _vgg(13, True, kwargs)


@builder
def vgg16(**kwargs: Any) -> VGG:
    """VGG with 16 layers."""
    return _vgg(16, False, kwargs)


@builder
def vgg16_bn(**kwargs: Any) -> VGG:
    """VGG with 16 layers and batch normalization."""
    return _vgg(16, True, kwargs)


@builder
def vgg19(**kwargs: Any) -> VGG:
    """VGG with 19 layers."""
    return _vgg(19, False, kwargs)


@builder
def vgg19_bn(**kwargs: Any) -> VGG:
    """VGG with 19 layers and batch normalization."""
    return _vgg(19, True, kwargs)
