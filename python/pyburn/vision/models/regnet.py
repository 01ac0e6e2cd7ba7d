"""RegNet: widths and depths follow one line, found by looking at what many good networks share.

Radosavovic and others, "Designing network design spaces", https://arxiv.org/abs/2003.13678
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from pyburn import nn
from pyburn._core import Tensor
from pyburn.vision.models._blocks import Conv2dNormActivation, Layer, SqueezeExcitation, initialize, make_divisible
from pyburn.vision.models._building import Classifier, builder

__all__ = [
    "RegNet",
    "regnet_x_1_6gf",
    "regnet_x_3_2gf",
    "regnet_x_8gf",
    "regnet_x_16gf",
    "regnet_x_32gf",
    "regnet_x_400mf",
    "regnet_x_800mf",
    "regnet_y_1_6gf",
    "regnet_y_3_2gf",
    "regnet_y_8gf",
    "regnet_y_16gf",
    "regnet_y_32gf",
    "regnet_y_128gf",
    "regnet_y_400mf",
    "regnet_y_800mf",
]


class SimpleStemIN(Conv2dNormActivation):
    """A 3x3 convolution that halves the size."""

    def __init__(self, width_in: int, width_out: int, norm_layer: Layer, activation_layer: Layer) -> None:
        super().__init__(width_in, width_out, stride=2, norm_layer=norm_layer, activation_layer=activation_layer)


class BottleneckTransform(nn.Sequential):
    """1x1, 3x3 in groups, perhaps a scaling of channels, and 1x1."""

    def __init__(
        self,
        width_in: int,
        width_out: int,
        stride: int,
        norm_layer: Layer,
        activation_layer: Layer,
        group_width: int,
        bottleneck_multiplier: float,
        se_ratio: float | None,
    ) -> None:
        inner = round(width_out * bottleneck_multiplier)
        step = partial(Conv2dNormActivation, norm_layer=norm_layer, activation_layer=activation_layer)
        layers = OrderedDict[str, nn.Module]()
        layers["a"] = step(width_in, inner, kernel_size=1)
        layers["b"] = step(inner, inner, stride=stride, groups=inner // group_width)
        if se_ratio:
            layers["se"] = SqueezeExcitation(inner, round(se_ratio * width_in), activation=activation_layer)
        layers["c"] = step(inner, width_out, kernel_size=1, activation_layer=None)
        super().__init__(layers)


class ResBottleneckBlock(nn.Module):
    """A `BottleneckTransform` beside a shortcut."""

    def __init__(
        self,
        width_in: int,
        width_out: int,
        stride: int,
        norm_layer: Layer,
        activation_layer: Layer,
        group_width: int = 1,
        bottleneck_multiplier: float = 1.0,
        se_ratio: float | None = None,
    ) -> None:
        super().__init__()
        self.proj = None
        if width_in != width_out or stride != 1:
            self.proj = Conv2dNormActivation(
                width_in, width_out, 1, stride, norm_layer=norm_layer, activation_layer=None
            )
        sizes = (norm_layer, activation_layer, group_width, bottleneck_multiplier, se_ratio)
        self.f = BottleneckTransform(width_in, width_out, stride, *sizes)
        self.activation = activation_layer(inplace=True)

    def forward(self, x: Tensor) -> Tensor:  # (B, width_in, H, W)
        """The input with its correction."""
        shortcut = x if self.proj is None else self.proj(x)  # (B, width_out, H / stride, W / stride)
        out: Tensor = self.activation(shortcut + self.f(x))
        return out


class AnyStage(nn.Sequential):
    """Blocks of one width, of which the first has the stride."""


class BlockParams:
    """The sizes of all stages: lists with an entry for each."""

    def __init__(
        self,
        depths: Sequence[int],
        widths: Sequence[int],
        group_widths: Sequence[int],
        bottleneck_multipliers: Sequence[float],
        strides: Sequence[int],
        se_ratio: float | None = None,
    ) -> None:
        self.depths, self.widths, self.group_widths = list(depths), list(widths), list(group_widths)
        self.bottleneck_multipliers, self.strides, self.se_ratio = list(bottleneck_multipliers), list(strides), se_ratio

    @classmethod
    def from_init_params(
        cls,
        depth: int,
        w_0: int,
        w_a: float,
        w_m: float,
        group_width: int,
        bottleneck_multiplier: float = 1.0,
        se_ratio: float | None = None,
        **kwargs: Any,
    ) -> BlockParams:
        """The stages of the line `w_0 + w_a * block`, each width rounded to a power of `w_m` times `w_0`.

        Args:
            depth: How many blocks there are.
            w_0: The width that the line starts with.
            w_a: Its slope.
            w_m: The factor between widths.
            group_width: How many channels each group has.
            bottleneck_multiplier: How many times as wide the inside is.
            se_ratio: How narrow squeeze-and-excitation is; None for none.
            **kwargs: Accepted.
        """
        if w_a < 0 or w_0 <= 0 or w_m <= 1 or w_0 % 8 != 0:
            raise ValueError("Invalid RegNet settings")
        powers = [round(math.log((w_0 + w_a * i) / w_0) / math.log(w_m)) for i in range(depth)]
        blocks = [round(w_0 * w_m**power / 8) * 8 for power in powers]
        widths = sorted(set(blocks))
        depths = [blocks.count(width) for width in widths]
        # The width of the inside must be a multiple of a group's.
        groups = [min(group_width, int(width * bottleneck_multiplier)) for width in widths]
        inner = [make_divisible(int(w * bottleneck_multiplier), g) for w, g in zip(widths, groups, strict=True)]
        widths = [int(width / bottleneck_multiplier) for width in inner]
        stages = len(widths)
        return cls(depths, widths, groups, [bottleneck_multiplier] * stages, [2] * stages, se_ratio)

    def stages(self) -> Iterator[tuple[int, int, int, int, float]]:
        """The width, stride, depth, group width and bottleneck of each stage."""
        rows = (self.widths, self.strides, self.depths, self.group_widths, self.bottleneck_multipliers)
        return zip(*rows, strict=True)


def _by_fan_out(weight: Tensor) -> None:  # (out, in / groups, height, width)
    nn.init.normal_(weight, std=math.sqrt(2.0 / (weight.shape[0] * weight.shape[2] * weight.shape[3])))


class RegNet(Classifier):
    """RegNet for images of any size.

    Args:
        block_params: The sizes of all stages.
        num_classes: How many classes there are.
        stem_width: The width of the first convolution.
        stem_type: Another class for SimpleStemIN.
        block_type: Another class for ResBottleneckBlock.
        norm_layer: What normalizes; without it `nn.BatchNorm2d`.
        activation: Another activation than ReLU.
    """

    def __init__(
        self,
        block_params: BlockParams,
        num_classes: int = 1000,
        stem_width: int = 32,
        stem_type: Layer | None = None,
        block_type: Layer | None = None,
        norm_layer: Layer | None = None,
        activation: Layer | None = None,
    ) -> None:
        super().__init__()
        block, norm, activation = block_type or ResBottleneckBlock, norm_layer or nn.BatchNorm2d, activation or nn.ReLU
        self.stem = (stem_type or SimpleStemIN)(3, stem_width, norm, activation)
        trunk = OrderedDict[str, nn.Module]()
        channels = stem_width
        for i, (width, stride, depth, group, bottleneck) in enumerate(block_params.stages(), 1):
            stage = AnyStage()
            for j in range(depth):
                ends = (channels, width, stride) if j == 0 else (width, width, 1)
                made = block(*ends, norm, activation, group, bottleneck, block_params.se_ratio)
                stage.add_module(f"block{i}-{j}", made)
            trunk[f"block{i}"] = stage
            channels = width
        self.trunk_output = nn.Sequential(trunk)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(channels, num_classes)
        # Biases of the convolutions that scale channels stay as they are.
        initialize(self, conv=_by_fan_out, zero_bias=False)
        initialize(self.fc, linear=partial(nn.init.normal_, std=0.01))

    def forward(self, x: Tensor) -> Tensor:  # (B, 3, H, W)
        """A score for each class."""
        x = self.trunk_output(self.stem(x))  # (B, C, H / 32, W / 32)
        scores: Tensor = self.fc(self.avgpool(x).flatten(1))  # (B, num_classes)
        return scores


def _regnet(
    depth: int, w_0: int, w_a: float, w_m: float, group_width: int, se_ratio: float | None, kwargs: dict[str, Any]
) -> RegNet:
    return RegNet(BlockParams.from_init_params(depth, w_0, w_a, w_m, group_width, se_ratio=se_ratio), **kwargs)


@builder
def regnet_x_400mf(**kwargs: Any) -> RegNet:
    """RegNetX of 400 million multiplications."""
    return _regnet(22, 24, 24.48, 2.54, 16, None, kwargs)


@builder
def regnet_x_800mf(**kwargs: Any) -> RegNet:
    """RegNetX of 800 million multiplications."""
    return _regnet(16, 56, 35.73, 2.28, 16, None, kwargs)


@builder
def regnet_x_1_6gf(**kwargs: Any) -> RegNet:
    """RegNetX of 1.6 billion multiplications."""
    return _regnet(18, 80, 34.01, 2.25, 24, None, kwargs)


@builder
def regnet_x_3_2gf(**kwargs: Any) -> RegNet:
    """RegNetX of 3.2 billion multiplications."""
    return _regnet(25, 88, 26.31, 2.25, 48, None, kwargs)


@builder
def regnet_x_8gf(**kwargs: Any) -> RegNet:
    """RegNetX of 8 billion multiplications."""
    return _regnet(23, 80, 49.56, 2.88, 120, None, kwargs)


@builder
def regnet_x_16gf(**kwargs: Any) -> RegNet:
    """RegNetX of 16 billion multiplications."""
    return _regnet(22, 216, 55.59, 2.1, 128, None, kwargs)


@builder
def regnet_x_32gf(**kwargs: Any) -> RegNet:
    """RegNetX of 32 billion multiplications."""
    return _regnet(23, 320, 69.86, 2.0, 168, None, kwargs)


@builder
def regnet_y_400mf(**kwargs: Any) -> RegNet:
    """RegNetY of 400 million multiplications with squeeze-and-excitation."""
    return _regnet(16, 48, 27.89, 2.09, 8, 0.25, kwargs)


@builder
def regnet_y_800mf(**kwargs: Any) -> RegNet:
    """RegNetY of 800 million multiplications with squeeze-and-excitation."""
    return _regnet(14, 56, 38.84, 2.4, 16, 0.25, kwargs)


@builder
def regnet_y_1_6gf(**kwargs: Any) -> RegNet:
    """RegNetY of 1.6 billion multiplications with squeeze-and-excitation."""
    return _regnet(27, 48, 20.71, 2.65, 24, 0.25, kwargs)


@builder
def regnet_y_3_2gf(**kwargs: Any) -> RegNet:
    """RegNetY of 3.2 billion multiplications with squeeze-and-excitation."""
    return _regnet(21, 80, 42.63, 2.66, 24, 0.25, kwargs)


@builder
def regnet_y_8gf(**kwargs: Any) -> RegNet:
    """RegNetY of 8 billion multiplications with squeeze-and-excitation."""
    return _regnet(17, 192, 76.82, 2.19, 56, 0.25, kwargs)


@builder
def regnet_y_16gf(**kwargs: Any) -> RegNet:
    """RegNetY of 16 billion multiplications with squeeze-and-excitation."""
    return _regnet(18, 200, 106.23, 2.48, 112, 0.25, kwargs)


@builder
def regnet_y_32gf(**kwargs: Any) -> RegNet:
    """RegNetY of 32 billion multiplications with squeeze-and-excitation."""
    return _regnet(20, 232, 115.89, 2.53, 232, 0.25, kwargs)


@builder
def regnet_y_128gf(**kwargs: Any) -> RegNet:
    """RegNetY of 128 billion multiplications with squeeze-and-excitation."""
    return _regnet(27, 456, 160.83, 2.52, 264, 0.25, kwargs)
