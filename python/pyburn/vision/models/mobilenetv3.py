"""MobileNet v3: MobileNet v2 with squeeze-and-excitation and a cheaper swish, its sizes found by search.

Howard and others, "Searching for MobileNetV3", https://arxiv.org/abs/1905.02244
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from pyburn import nn
from pyburn._core import Tensor
from pyburn.vision.models._blocks import Conv2dNormActivation, Layer, SqueezeExcitation, initialize, make_divisible
from pyburn.vision.models._building import Classifier, builder

__all__ = ["MobileNetV3", "mobilenet_v3_large", "mobilenet_v3_small"]

# Of each block: kernel, inside width, outside width, squeeze-and-excitation, activation, stride.
LARGE = (
    (3, 16, 16, False, "RE", 1),
    (3, 64, 24, False, "RE", 2),
    (3, 72, 24, False, "RE", 1),
    (5, 72, 40, True, "RE", 2),
    (5, 120, 40, True, "RE", 1),
    (5, 120, 40, True, "RE", 1),
    (3, 240, 80, False, "HS", 2),
    (3, 200, 80, False, "HS", 1),
    (3, 184, 80, False, "HS", 1),
    (3, 184, 80, False, "HS", 1),
    (3, 480, 112, True, "HS", 1),
    (3, 672, 112, True, "HS", 1),
    (5, 672, 160, True, "HS", 2),
    (5, 960, 160, True, "HS", 1),
    (5, 960, 160, True, "HS", 1),
)
SMALL = (
    (3, 16, 16, True, "RE", 2),
    (3, 72, 24, False, "RE", 2),
    (3, 88, 24, False, "RE", 1),
    (5, 96, 40, True, "HS", 2),
    (5, 240, 40, True, "HS", 1),
    (5, 240, 40, True, "HS", 1),
    (5, 120, 48, True, "HS", 1),
    (5, 144, 48, True, "HS", 1),
    (5, 288, 96, True, "HS", 2),
    (5, 576, 96, True, "HS", 1),
    (5, 576, 96, True, "HS", 1),
)


class InvertedResidualConfig:
    """The sizes of one block, its widths multiplied by `width_mult`."""

    def __init__(
        self,
        input_channels: int,
        kernel: int,
        expanded_channels: int,
        out_channels: int,
        use_se: bool,
        activation: str,
        stride: int,
        dilation: int,
        width_mult: float,
    ) -> None:
        self.input_channels = self.adjust_channels(input_channels, width_mult)
        self.kernel = kernel
        self.expanded_channels = self.adjust_channels(expanded_channels, width_mult)
        self.out_channels = self.adjust_channels(out_channels, width_mult)
        self.use_se = use_se
        self.use_hs = activation == "HS"
        self.stride, self.dilation = stride, dilation

    @staticmethod
    def adjust_channels(channels: int, width_mult: float) -> int:
        """A width of the paper times `width_mult`, as a multiple of 8."""
        return make_divisible(channels * width_mult, 8)


class InvertedResidual(nn.Module):
    """A 1x1 convolution that widens, one for each channel, a scaling of channels, and a 1x1 one that makes narrow."""

    def __init__(
        self,
        cnf: InvertedResidualConfig,
        norm_layer: Layer,
        se_layer: Layer = partial(SqueezeExcitation, scale_activation=nn.Hardsigmoid),  # noqa: B008
    ) -> None:
        super().__init__()
        if not 1 <= cnf.stride <= 2:
            raise ValueError("illegal stride value")
        self.use_res_connect = cnf.stride == 1 and cnf.input_channels == cnf.out_channels
        self.out_channels = cnf.out_channels
        self._is_cn = cnf.stride > 1
        inner = cnf.expanded_channels
        step = partial(
            Conv2dNormActivation,
            norm_layer=norm_layer,
            activation_layer=nn.Hardswish if cnf.use_hs else nn.ReLU,
        )
        layers: list[nn.Module] = []
        if inner != cnf.input_channels:
            layers.append(step(cnf.input_channels, inner, kernel_size=1))
        stride = 1 if cnf.dilation > 1 else cnf.stride
        layers.append(step(inner, inner, cnf.kernel, stride=stride, dilation=cnf.dilation, groups=inner))
        if cnf.use_se:
            layers.append(se_layer(inner, make_divisible(inner // 4, 8)))
        layers.append(Conv2dNormActivation(inner, cnf.out_channels, 1, norm_layer=norm_layer, activation_layer=None))
        self.block = nn.Sequential(*layers)

    def forward(self, input: Tensor) -> Tensor:  # (B, input_channels, H, W)
        """The features, added to the input where they have its shape."""
        out: Tensor = self.block(input)  # (B, out_channels, H / stride, W / stride)
        return out + input if self.use_res_connect else out


class MobileNetV3(Classifier):
    """MobileNet v3 for images of any size.

    Args:
        inverted_residual_setting: The blocks.
        last_channel: The width of the layer before the last.
        num_classes: How many classes there are.
        block: Another class for InvertedResidual.
        norm_layer: What normalizes; without it `nn.BatchNorm2d` with the settings of the paper.
        dropout: The chance that an input of the last layer is zero while training.
        **kwargs: Accepted.
    """

    def __init__(
        self,
        inverted_residual_setting: Sequence[InvertedResidualConfig],
        last_channel: int,
        num_classes: int = 1000,
        block: Layer | None = None,
        norm_layer: Layer | None = None,
        dropout: float = 0.2,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        if not inverted_residual_setting:
            raise ValueError("The inverted_residual_setting should not be empty")
        block = block or InvertedResidual
        norm_layer = norm_layer or partial(nn.BatchNorm2d, eps=0.001, momentum=0.01)
        step = partial(Conv2dNormActivation, norm_layer=norm_layer, activation_layer=nn.Hardswish)
        narrow = inverted_residual_setting[-1].out_channels
        self.features = nn.Sequential(
            step(3, inverted_residual_setting[0].input_channels, stride=2),
            *[block(cnf, norm_layer) for cnf in inverted_residual_setting],
            step(narrow, 6 * narrow, kernel_size=1),
        )
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(
            nn.Linear(6 * narrow, last_channel),
            nn.Hardswish(inplace=True),
            nn.Dropout(dropout, inplace=True),
            nn.Linear(last_channel, num_classes),
        )
        fan_out = partial(nn.init.kaiming_normal_, mode="fan_out")
        initialize(self, conv=fan_out, linear=partial(nn.init.normal_, std=0.01))

    def forward(self, x: Tensor) -> Tensor:  # (B, 3, H, W)
        """A score for each class."""
        x = self.features(x)  # (B, 6 * narrow, H / 32, W / 32)
        scores: Tensor = self.classifier(self.avgpool(x).flatten(1))  # (B, num_classes)
        return scores


def _mobilenet_v3(
    blocks: Sequence[tuple[int, int, int, bool, str, int]],
    last_channel: int,
    width_mult: float = 1.0,
    reduced_tail: bool = False,
    dilated: bool = False,
    **kwargs: Any,
) -> MobileNetV3:
    """The model; the last three blocks may be half as wide, or keep the size and spread their filters instead."""
    setting = []
    channels = 16
    for i, (kernel, inner, out, squeeze, activation, stride) in enumerate(blocks):
        tail = len(blocks) - 3 <= i
        divider = 2 if reduced_tail and tail else 1
        # The first block of the tail still has the inside of its wide predecessor.
        inner //= divider if len(blocks) - 3 < i else 1
        dilation = 2 if dilated and tail else 1
        setting.append(
            InvertedResidualConfig(
                channels, kernel, inner, out // divider, squeeze, activation, stride, dilation, width_mult
            )
        )
        channels = out // divider
    last = InvertedResidualConfig.adjust_channels(last_channel // (2 if reduced_tail else 1), width_mult)
    return MobileNetV3(setting, last, **kwargs)


@builder
def mobilenet_v3_large(**kwargs: Any) -> MobileNetV3:
    """MobileNet v3, large."""
    return _mobilenet_v3(LARGE, 1280, **kwargs)


@builder
def mobilenet_v3_small(**kwargs: Any) -> MobileNetV3:
    """MobileNet v3, small."""
    return _mobilenet_v3(SMALL, 1024, **kwargs)
