"""MobileNet v2: blocks that are wide inside and narrow between each other, for phones.

Sandler and others, "MobileNetV2: inverted residuals and linear bottlenecks", https://arxiv.org/abs/1801.04381
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from pyburn import nn
from pyburn._core import Tensor
from pyburn.vision.models._blocks import Conv2dNormActivation, Layer, initialize, make_divisible
from pyburn.vision.models._building import Classifier, builder

__all__ = ["MobileNetV2", "mobilenet_v2"]

# Of each stage: how much wider the inside is, the width, the number of blocks, the stride of the first.
STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


class InvertedResidual(nn.Module):
    """A 1x1 convolution that widens, a 3x3 one for each channel, and a 1x1 one that makes narrow again."""

    def __init__(self, inp: int, oup: int, stride: int, expand_ratio: int, norm_layer: Layer = nn.BatchNorm2d) -> None:
        super().__init__()
        if stride not in (1, 2):
            raise ValueError(f"stride should be 1 or 2 instead of {stride}")
        self.stride, self.out_channels = stride, oup
        self.use_res_connect = stride == 1 and inp == oup
        self._is_cn = stride > 1
        inner = round(inp * expand_ratio)
        step = partial(Conv2dNormActivation, norm_layer=norm_layer, activation_layer=nn.ReLU6)
        widen = [] if expand_ratio == 1 else [step(inp, inner, kernel_size=1)]
        self.conv = nn.Sequential(
            *widen,
            step(inner, inner, stride=stride, groups=inner),
            nn.Conv2d(inner, oup, 1, bias=False),
            norm_layer(oup),
        )

    def forward(self, x: Tensor) -> Tensor:  # (B, inp, H, W)
        """The features, added to the input where they have its shape."""
        out: Tensor = self.conv(x)  # (B, oup, H / stride, W / stride)
        return x + out if self.use_res_connect else out


class MobileNetV2(Classifier):
    """MobileNet v2 for images of any size.

    Args:
        num_classes: How many classes there are.
        width_mult: How many times as wide as in the paper all layers are.
        inverted_residual_setting: Other stages: (expansion, channels, blocks, stride) of each.
        round_nearest: Widths are multiples of this.
        block: Another class for InvertedResidual.
        norm_layer: What normalizes; without it `nn.BatchNorm2d`.
        dropout: The chance that an input of the last layer is zero while training.
    """

    def __init__(
        self,
        num_classes: int = 1000,
        width_mult: float = 1.0,
        inverted_residual_setting: Sequence[Sequence[int]] | None = None,
        round_nearest: int = 8,
        block: Layer | None = None,
        norm_layer: Layer | None = None,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        setting = STAGES if inverted_residual_setting is None else inverted_residual_setting
        if not setting or len(setting[0]) != 4:
            raise ValueError(f"inverted_residual_setting should be non-empty or a 4-element list, got {setting}")
        block, norm_layer = block or InvertedResidual, norm_layer or nn.BatchNorm2d
        step = partial(Conv2dNormActivation, norm_layer=norm_layer, activation_layer=nn.ReLU6)
        channels = make_divisible(32 * width_mult, round_nearest)
        self.last_channel = make_divisible(1280 * max(1.0, width_mult), round_nearest)
        layers: list[nn.Module] = [step(3, channels, stride=2)]
        for expansion, width, depth, stride in setting:
            wanted = make_divisible(width * width_mult, round_nearest)
            for i in range(depth):
                layers.append(
                    block(channels, wanted, stride if i == 0 else 1, expand_ratio=expansion, norm_layer=norm_layer)
                )
                channels = wanted
        layers.append(step(channels, self.last_channel, kernel_size=1))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Dropout(dropout), nn.Linear(self.last_channel, num_classes))
        fan_out = partial(nn.init.kaiming_normal_, mode="fan_out")
        initialize(self, conv=fan_out, linear=partial(nn.init.normal_, std=0.01))

    def forward(self, x: Tensor) -> Tensor:  # (B, 3, H, W)
        """A score for each class."""
        x = self.features(x)  # (B, last_channel, H / 32, W / 32)
        x = nn.functional.adaptive_avg_pool2d(x, (1, 1)).flatten(1)  # (B, last_channel)
        scores: Tensor = self.classifier(x)  # (B, num_classes)
        return scores


@builder
def mobilenet_v2(**kwargs: Any) -> MobileNetV2:
    """MobileNet v2."""
    return MobileNetV2(**kwargs)
