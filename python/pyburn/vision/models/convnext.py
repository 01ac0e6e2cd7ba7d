"""ConvNeXt: a ResNet modernized step by step until it does what vision transformers do.

Liu and others, "A ConvNet for the 2020s", https://arxiv.org/abs/2201.03545
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import partial
from typing import Any

from pyburn import nn
from pyburn._core import Tensor
from pyburn.ops import ones
from pyburn.vision.models._blocks import Conv2dNormActivation, Layer, Permute, StochasticDepth, initialize
from pyburn.vision.models._building import Classifier, builder

__all__ = ["ConvNeXt", "convnext_base", "convnext_large", "convnext_small", "convnext_tiny"]


class LayerNorm2d(nn.LayerNorm):
    """Layer normalization over the channels of images."""

    def forward(self, x: Tensor) -> Tensor:  # (B, C, H, W)
        """The normalized images."""
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class CNBlock(nn.Module):
    """A 7x7 convolution for each channel, then a linear layer and back for each pixel, scaled and added."""

    def __init__(
        self, dim: int, layer_scale: float, stochastic_depth_prob: float, norm_layer: Layer | None = None
    ) -> None:
        super().__init__()
        norm_layer = norm_layer or partial(nn.LayerNorm, eps=1e-6)
        self.block = nn.Sequential(
            nn.Conv2d(dim, dim, 7, padding=3, groups=dim),
            Permute([0, 2, 3, 1]),  # (B, H, W, dim)
            norm_layer(dim),
            nn.Linear(dim, 4 * dim),
            nn.GELU(),
            nn.Linear(4 * dim, dim),
            Permute([0, 3, 1, 2]),  # (B, dim, H, W)
        )
        self.layer_scale = nn.Parameter(ones(dim, 1, 1) * layer_scale)
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")

    def forward(self, input: Tensor) -> Tensor:  # (B, dim, H, W)
        """The input with its correction."""
        correction: Tensor = self.stochastic_depth(self.layer_scale * self.block(input))
        return correction + input


@dataclasses.dataclass
class CNBlockConfig:
    """A stage: its width, that of the next one (None at the end), and how many blocks it has."""

    input_channels: int
    out_channels: int | None
    num_layers: int


class ConvNeXt(Classifier):
    """ConvNeXt for images of at least 32 by 32 pixels.

    Args:
        block_setting: The stages.
        stochastic_depth_prob: The chance that the last block is left out while training; earlier ones have less.
        layer_scale: The factor that each block's correction starts with.
        num_classes: How many classes there are.
        block: Another class for CNBlock.
        norm_layer: What normalizes between the stages.
        **kwargs: Accepted.
    """

    def __init__(
        self,
        block_setting: Sequence[CNBlockConfig],
        stochastic_depth_prob: float = 0.0,
        layer_scale: float = 1e-6,
        num_classes: int = 1000,
        block: Layer | None = None,
        norm_layer: Layer | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        if not block_setting:
            raise ValueError("The block_setting should not be empty")
        block = block or CNBlock
        norm_layer = norm_layer or partial(LayerNorm2d, eps=1e-6)
        layers: list[nn.Module] = [
            Conv2dNormActivation(
                3, block_setting[0].input_channels, 4, 4, 0, norm_layer=norm_layer, activation_layer=None, bias=True
            )
        ]
        total = sum(stage.num_layers for stage in block_setting)
        count = 0
        for stage in block_setting:
            width, wider = stage.input_channels, stage.out_channels
            chances = [stochastic_depth_prob * i / (total - 1.0) for i in range(count, count + stage.num_layers)]
            layers.append(nn.Sequential(*[block(width, layer_scale, chance) for chance in chances]))
            count += stage.num_layers
            if wider is not None:
                layers.append(nn.Sequential(norm_layer(width), nn.Conv2d(width, wider, 2, stride=2)))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        last = block_setting[-1].out_channels or block_setting[-1].input_channels
        self.classifier = nn.Sequential(norm_layer(last), nn.Flatten(1), nn.Linear(last, num_classes))
        narrow = partial(nn.init.trunc_normal_, std=0.02)
        initialize(self, conv=narrow, linear=narrow)

    def forward(self, x: Tensor) -> Tensor:  # (B, 3, H, W)
        """A score for each class."""
        x = self.features(x)  # (B, last, H / 32, W / 32)
        scores: Tensor = self.classifier(self.avgpool(x))  # (B, num_classes)
        return scores


def _convnext(widths: Sequence[int], depths: Sequence[int], chance: float, kwargs: dict[str, Any]) -> ConvNeXt:
    stages = zip(widths, [*widths[1:], None], depths, strict=True)
    setting = [CNBlockConfig(width, wider, depth) for width, wider, depth in stages]
    return ConvNeXt(setting, **{"stochastic_depth_prob": chance, **kwargs})


@builder
def convnext_tiny(**kwargs: Any) -> ConvNeXt:
    """ConvNeXt, tiny: 28 million weights."""
    return _convnext([96, 192, 384, 768], [3, 3, 9, 3], 0.1, kwargs)


@builder
def convnext_small(**kwargs: Any) -> ConvNeXt:
    """ConvNeXt, small: 50 million weights."""
    return _convnext([96, 192, 384, 768], [3, 3, 27, 3], 0.4, kwargs)


@builder
def convnext_base(**kwargs: Any) -> ConvNeXt:
    """ConvNeXt, base: 88 million weights."""
    return _convnext([128, 256, 512, 1024], [3, 3, 27, 3], 0.5, kwargs)


@builder
def convnext_large(**kwargs: Any) -> ConvNeXt:
    """ConvNeXt, large: 197 million weights."""
    return _convnext([192, 384, 768, 1536], [3, 3, 27, 3], 0.5, kwargs)
