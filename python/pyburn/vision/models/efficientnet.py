"""EfficientNet: depth, width and resolution grow together; version 2 trains faster with plain convolutions early on.

Tan and Le, "EfficientNet: rethinking model scaling for convolutional neural networks", https://arxiv.org/abs/1905.11946
Tan and Le, "EfficientNetV2: smaller models and faster training", https://arxiv.org/abs/2104.00298
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from pyburn import nn
from pyburn._core import Tensor
from pyburn.vision.models._blocks import (
    Conv2dNormActivation,
    Layer,
    SqueezeExcitation,
    StochasticDepth,
    initialize,
    make_divisible,
)
from pyburn.vision.models._building import Classifier, builder

__all__ = [
    "EfficientNet",
    "efficientnet_b0",
    "efficientnet_b1",
    "efficientnet_b2",
    "efficientnet_b3",
    "efficientnet_b4",
    "efficientnet_b5",
    "efficientnet_b6",
    "efficientnet_b7",
    "efficientnet_v2_l",
    "efficientnet_v2_m",
    "efficientnet_v2_s",
]


class _Residual(nn.Module):
    """`block`, added to its input where it has the same shape, and sometimes left out while training."""

    def __init__(self, cnf: _MBConvConfig, stochastic_depth_prob: float, layers: list[nn.Module]) -> None:
        super().__init__()
        if not 1 <= cnf.stride <= 2:
            raise ValueError("illegal stride value")
        self.use_res_connect = cnf.stride == 1 and cnf.input_channels == cnf.out_channels
        self.block = nn.Sequential(*layers)
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")
        self.out_channels = cnf.out_channels

    def forward(self, input: Tensor) -> Tensor:  # (B, input_channels, H, W)
        """The features."""
        out: Tensor = self.block(input)  # (B, out_channels, H / stride, W / stride)
        return self.stochastic_depth(out) + input if self.use_res_connect else out


class MBConv(_Residual):
    """A 1x1 convolution that widens, one for each channel, a scaling of channels, and a 1x1 one that makes narrow."""

    def __init__(
        self,
        cnf: _MBConvConfig,
        stochastic_depth_prob: float,
        norm_layer: Layer,
        se_layer: Layer = SqueezeExcitation,
    ) -> None:
        step = partial(Conv2dNormActivation, norm_layer=norm_layer, activation_layer=nn.SiLU)
        inner = make_divisible(cnf.input_channels * cnf.expand_ratio, 8)
        widen = [] if inner == cnf.input_channels else [step(cnf.input_channels, inner, kernel_size=1)]
        filters = step(inner, inner, cnf.kernel, stride=cnf.stride, groups=inner)
        squeeze = max(1, cnf.input_channels // 4)
        scale = se_layer(inner, squeeze, activation=partial(nn.SiLU, inplace=True))
        project = step(inner, cnf.out_channels, kernel_size=1, activation_layer=None)
        super().__init__(cnf, stochastic_depth_prob, [*widen, filters, scale, project])


class FusedMBConv(_Residual):
    """`MBConv` whose first two convolutions are one, without the scaling of channels."""

    def __init__(self, cnf: _MBConvConfig, stochastic_depth_prob: float, norm_layer: Layer) -> None:
        step = partial(Conv2dNormActivation, norm_layer=norm_layer, activation_layer=nn.SiLU)
        inner = make_divisible(cnf.input_channels * cnf.expand_ratio, 8)
        if inner == cnf.input_channels:
            layers = [step(cnf.input_channels, cnf.out_channels, cnf.kernel, stride=cnf.stride)]
        else:
            layers = [
                step(cnf.input_channels, inner, cnf.kernel, stride=cnf.stride),
                step(inner, cnf.out_channels, kernel_size=1, activation_layer=None),
            ]
        super().__init__(cnf, stochastic_depth_prob, list(layers))


@dataclasses.dataclass
class _MBConvConfig:
    """One stage: `num_layers` blocks, of which the first has the stride and changes the width."""

    expand_ratio: float
    kernel: int
    stride: int
    input_channels: int
    out_channels: int
    num_layers: int
    block: Layer


class MBConvConfig(_MBConvConfig):
    """A stage of `MBConv`, its widths and depth multiplied."""

    def __init__(
        self,
        expand_ratio: float,
        kernel: int,
        stride: int,
        input_channels: int,
        out_channels: int,
        num_layers: int,
        width_mult: float = 1.0,
        depth_mult: float = 1.0,
        block: Layer | None = None,
    ) -> None:
        widths = [make_divisible(channels * width_mult, 8) for channels in (input_channels, out_channels)]
        depth = math.ceil(num_layers * depth_mult)
        super().__init__(expand_ratio, kernel, stride, widths[0], widths[1], depth, block or MBConv)


class FusedMBConvConfig(_MBConvConfig):
    """A stage of `FusedMBConv`."""

    def __init__(
        self,
        expand_ratio: float,
        kernel: int,
        stride: int,
        input_channels: int,
        out_channels: int,
        num_layers: int,
        block: Layer | None = None,
    ) -> None:
        super().__init__(expand_ratio, kernel, stride, input_channels, out_channels, num_layers, block or FusedMBConv)


class EfficientNet(Classifier):
    """EfficientNet for images of any size.

    Args:
        inverted_residual_setting: The stages.
        dropout: The chance that an input of the last layer is zero while training.
        stochastic_depth_prob: The chance that the last block is left out while training; earlier ones have less.
        num_classes: How many classes there are.
        norm_layer: What normalizes; without it `nn.BatchNorm2d`.
        last_channel: The width of the last convolution; without it four times that of the last stage.
    """

    def __init__(
        self,
        inverted_residual_setting: Sequence[_MBConvConfig],
        dropout: float,
        stochastic_depth_prob: float = 0.2,
        num_classes: int = 1000,
        norm_layer: Layer | None = None,
        last_channel: int | None = None,
    ) -> None:
        super().__init__()
        if not inverted_residual_setting:
            raise ValueError("The inverted_residual_setting should not be empty")
        norm_layer = norm_layer or nn.BatchNorm2d
        step = partial(Conv2dNormActivation, norm_layer=norm_layer, activation_layer=nn.SiLU)
        layers: list[nn.Module] = [step(3, inverted_residual_setting[0].input_channels, stride=2)]
        total = sum(stage.num_layers for stage in inverted_residual_setting)
        count = 0
        for stage in inverted_residual_setting:
            blocks = []
            for i in range(stage.num_layers):
                later = {} if i == 0 else {"input_channels": stage.out_channels, "stride": 1}
                cnf = _MBConvConfig(**{**vars(stage), **later})
                blocks.append(stage.block(cnf, stochastic_depth_prob * count / total, norm_layer))
                count += 1
            layers.append(nn.Sequential(*blocks))
        narrow = inverted_residual_setting[-1].out_channels
        wide = 4 * narrow if last_channel is None else last_channel
        self.features = nn.Sequential(*layers, step(narrow, wide, kernel_size=1))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(nn.Dropout(dropout, inplace=True), nn.Linear(wide, num_classes))
        bound = 1.0 / math.sqrt(num_classes)
        fan_out = partial(nn.init.kaiming_normal_, mode="fan_out")
        initialize(self, conv=fan_out, linear=partial(nn.init.uniform_, a=-bound, b=bound))

    def forward(self, x: Tensor) -> Tensor:  # (B, 3, H, W)
        """A score for each class."""
        x = self.features(x)  # (B, wide, H / 32, W / 32)
        scores: Tensor = self.classifier(self.avgpool(x).flatten(1))  # (B, num_classes)
        return scores


def _v1(width_mult: float, depth_mult: float, dropout: float, kwargs: dict[str, Any]) -> EfficientNet:
    stage = partial(MBConvConfig, width_mult=width_mult, depth_mult=depth_mult)
    stages = [
        stage(1, 3, 1, 32, 16, 1),
        stage(6, 3, 2, 16, 24, 2),
        stage(6, 5, 2, 24, 40, 2),
        stage(6, 3, 2, 40, 80, 3),
        stage(6, 5, 1, 80, 112, 3),
        stage(6, 5, 2, 112, 192, 4),
        stage(6, 3, 1, 192, 320, 1),
    ]
    return EfficientNet(stages, **{"dropout": dropout, **kwargs})


def _v2(stages: list[_MBConvConfig], dropout: float, kwargs: dict[str, Any]) -> EfficientNet:
    norm = partial(nn.BatchNorm2d, eps=1e-03)
    return EfficientNet(stages, **{"dropout": dropout, "last_channel": 1280, "norm_layer": norm, **kwargs})


def _slow_norm(kwargs: dict[str, Any]) -> dict[str, Any]:
    """The three largest were trained with other settings of the normalization."""
    return {"norm_layer": partial(nn.BatchNorm2d, eps=0.001, momentum=0.01), **kwargs}


@builder
def efficientnet_b0(**kwargs: Any) -> EfficientNet:
    """EfficientNet B0: 1.0 times as wide and 1.0 times as deep as B0."""
    return _v1(1.0, 1.0, 0.2, kwargs)


@builder
def efficientnet_b1(**kwargs: Any) -> EfficientNet:
    """EfficientNet B1: 1.0 times as wide and 1.1 times as deep as B0."""
    return _v1(1.0, 1.1, 0.2, kwargs)


@builder
def efficientnet_b2(**kwargs: Any) -> EfficientNet:
    """EfficientNet B2: 1.1 times as wide and 1.2 times as deep as B0."""
    return _v1(1.1, 1.2, 0.3, kwargs)


@builder
def efficientnet_b3(**kwargs: Any) -> EfficientNet:
    """EfficientNet B3: 1.2 times as wide and 1.4 times as deep as B0."""
    return _v1(1.2, 1.4, 0.3, kwargs)


@builder
def efficientnet_b4(**kwargs: Any) -> EfficientNet:
    """EfficientNet B4: 1.4 times as wide and 1.8 times as deep as B0."""
    return _v1(1.4, 1.8, 0.4, kwargs)


@builder
def efficientnet_b5(**kwargs: Any) -> EfficientNet:
    """EfficientNet B5: 1.6 times as wide and 2.2 times as deep as B0."""
    return _v1(1.6, 2.2, 0.4, _slow_norm(kwargs))


@builder
def efficientnet_b6(**kwargs: Any) -> EfficientNet:
    """EfficientNet B6: 1.8 times as wide and 2.6 times as deep as B0."""
    return _v1(1.8, 2.6, 0.5, _slow_norm(kwargs))


@builder
def efficientnet_b7(**kwargs: Any) -> EfficientNet:
    """EfficientNet B7: 2.0 times as wide and 3.1 times as deep as B0."""
    return _v1(2.0, 3.1, 0.5, _slow_norm(kwargs))


@builder
def efficientnet_v2_s(**kwargs: Any) -> EfficientNet:
    """EfficientNet v2, small."""
    stages = [
        FusedMBConvConfig(1, 3, 1, 24, 24, 2),
        FusedMBConvConfig(4, 3, 2, 24, 48, 4),
        FusedMBConvConfig(4, 3, 2, 48, 64, 4),
        MBConvConfig(4, 3, 2, 64, 128, 6),
        MBConvConfig(6, 3, 1, 128, 160, 9),
        MBConvConfig(6, 3, 2, 160, 256, 15),
    ]
    return _v2(stages, 0.2, kwargs)


@builder
def efficientnet_v2_m(**kwargs: Any) -> EfficientNet:
    """EfficientNet v2, medium."""
    stages = [
        FusedMBConvConfig(1, 3, 1, 24, 24, 3),
        FusedMBConvConfig(4, 3, 2, 24, 48, 5),
        FusedMBConvConfig(4, 3, 2, 48, 80, 5),
        MBConvConfig(4, 3, 2, 80, 160, 7),
        MBConvConfig(6, 3, 1, 160, 176, 14),
        MBConvConfig(6, 3, 2, 176, 304, 18),
        MBConvConfig(6, 3, 1, 304, 512, 5),
    ]
    return _v2(stages, 0.3, kwargs)


@builder
def efficientnet_v2_l(**kwargs: Any) -> EfficientNet:
    """EfficientNet v2, large."""
    stages = [
        FusedMBConvConfig(1, 3, 1, 32, 32, 4),
        FusedMBConvConfig(4, 3, 2, 32, 64, 7),
        FusedMBConvConfig(4, 3, 2, 64, 96, 7),
        MBConvConfig(4, 3, 2, 96, 192, 10),
        MBConvConfig(6, 3, 1, 192, 224, 19),
        MBConvConfig(6, 3, 2, 224, 384, 25),
        MBConvConfig(6, 3, 1, 384, 640, 7),
    ]
    return _v2(stages, 0.4, kwargs)
