"""GoogLeNet: blocks of four parallel branches, and two auxiliary classifiers that help the middle to learn.

Szegedy and others, "Going deeper with convolutions", https://arxiv.org/abs/1409.4842
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from pyburn import nn
from pyburn._core import Tensor
from pyburn.ops import cat, tensor
from pyburn.vision.models._blocks import Layer, initialize
from pyburn.vision.models._building import Classifier, builder_with

__all__ = ["GoogLeNet", "GoogLeNetOutputs", "googlenet"]


class GoogLeNetOutputs(NamedTuple):
    """What the model gives while it trains: scores, and those of the auxiliary classifiers, the later one first."""

    logits: Tensor
    aux_logits2: Tensor | None
    aux_logits1: Tensor | None


class BasicConv2d(nn.Module):
    """A convolution, batch normalization and ReLU."""

    def __init__(self, in_channels: int, out_channels: int, **kwargs: Any) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, bias=False, **kwargs)
        self.bn = nn.BatchNorm2d(out_channels, eps=0.001)

    def forward(self, x: Tensor) -> Tensor:
        """The features."""
        return nn.functional.relu(self.bn(self.conv(x)), inplace=True)


class Inception(nn.Module):
    """Four branches beside each other: 1x1; 1x1 and 3x3; 1x1 and a wider view; pooling and 1x1."""

    def __init__(
        self,
        in_channels: int,
        ch1x1: int,
        ch3x3red: int,
        ch3x3: int,
        ch5x5red: int,
        ch5x5: int,
        pool_proj: int,
        conv_block: Layer = BasicConv2d,
    ) -> None:
        super().__init__()
        self.branch1 = conv_block(in_channels, ch1x1, kernel_size=1)
        self.branch2 = nn.Sequential(
            conv_block(in_channels, ch3x3red, kernel_size=1), conv_block(ch3x3red, ch3x3, kernel_size=3, padding=1)
        )
        # 3x3, not the paper's 5x5: a mistake in the network whose weights everyone uses.
        self.branch3 = nn.Sequential(
            conv_block(in_channels, ch5x5red, kernel_size=1), conv_block(ch5x5red, ch5x5, kernel_size=3, padding=1)
        )
        self.branch4 = nn.Sequential(
            nn.MaxPool2d(3, stride=1, padding=1, ceil_mode=True), conv_block(in_channels, pool_proj, kernel_size=1)
        )

    def forward(self, x: Tensor) -> Tensor:  # (B, in_channels, H, W)
        """The channels of all branches."""
        branches = (self.branch1, self.branch2, self.branch3, self.branch4)
        return cat([branch(x) for branch in branches], 1)  # (B, ch1x1 + ch3x3 + ch5x5 + pool_proj, H, W)


class InceptionAux(nn.Module):
    """A small classifier on features from the middle of the network."""

    def __init__(
        self, in_channels: int, num_classes: int, conv_block: Layer = BasicConv2d, dropout: float = 0.7
    ) -> None:
        super().__init__()
        self.conv = conv_block(in_channels, 128, kernel_size=1)
        self.fc1 = nn.Linear(128 * 4 * 4, 1024)
        self.fc2 = nn.Linear(1024, num_classes)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:  # (B, in_channels, H, W)
        """A score for each class."""
        x = self.conv(nn.functional.adaptive_avg_pool2d(x, (4, 4))).flatten(1)  # (B, 2048)
        x = self.dropout(nn.functional.relu(self.fc1(x), inplace=True))  # (B, 1024)
        scores: Tensor = self.fc2(x)  # (B, num_classes)
        return scores


class GoogLeNet(Classifier):
    """GoogLeNet for images of at least 15 by 15 pixels.

    Args:
        num_classes: How many classes there are.
        aux_logits: Whether there are auxiliary classifiers; while training the model then gives `GoogLeNetOutputs`.
        transform_input: Whether inputs are normalized as for torchvision's other models, and are to be brought to the
            range that the original weights were trained on.
        init_weights: Whether the weights are drawn as in the paper; None means yes, as in torchvision.
        blocks: Other classes for BasicConv2d, Inception and InceptionAux.
        dropout: The chance that an input of the last layer is zero while training.
        dropout_aux: The same in the auxiliary classifiers.
    """

    aux_weight = 0.3

    def __init__(
        self,
        num_classes: int = 1000,
        aux_logits: bool = True,
        transform_input: bool = False,
        init_weights: bool | None = None,
        blocks: Sequence[Layer] | None = None,
        dropout: float = 0.2,
        dropout_aux: float = 0.7,
    ) -> None:
        super().__init__()
        if blocks is not None and len(blocks) != 3:
            raise ValueError(f"blocks length should be 3 instead of {len(blocks)}")
        conv, inception, aux = blocks or (BasicConv2d, Inception, InceptionAux)
        self.aux_logits, self.transform_input = aux_logits, transform_input
        self.conv1 = conv(3, 64, kernel_size=7, stride=2, padding=3)
        self.maxpool1 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.conv2 = conv(64, 64, kernel_size=1)
        self.conv3 = conv(64, 192, kernel_size=3, padding=1)
        self.maxpool2 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.inception3a = inception(192, 64, 96, 128, 16, 32, 32)
        self.inception3b = inception(256, 128, 128, 192, 32, 96, 64)
        self.maxpool3 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.inception4a = inception(480, 192, 96, 208, 16, 48, 64)
        self.inception4b = inception(512, 160, 112, 224, 24, 64, 64)
        self.inception4c = inception(512, 128, 128, 256, 24, 64, 64)
        self.inception4d = inception(512, 112, 144, 288, 32, 64, 64)
        self.inception4e = inception(528, 256, 160, 320, 32, 128, 128)
        self.maxpool4 = nn.MaxPool2d(2, stride=2, ceil_mode=True)
        self.inception5a = inception(832, 256, 160, 320, 32, 128, 128)
        self.inception5b = inception(832, 384, 192, 384, 48, 128, 128)
        self.aux1 = aux(512, num_classes, dropout=dropout_aux) if aux_logits else None
        self.aux2 = aux(528, num_classes, dropout=dropout_aux) if aux_logits else None
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(dropout)
        self.fc = nn.Linear(1024, num_classes)
        if init_weights is None or init_weights:
            narrow = partial(nn.init.trunc_normal_, mean=0.0, std=0.01, a=-2, b=2)
            initialize(self, conv=narrow, linear=narrow, zero_bias=False)

    def forward(self, x: Tensor) -> Tensor | GoogLeNetOutputs:  # (B, 3, H, W)
        """A score for each class; while training, those of the auxiliary classifiers too."""
        x = from_imagenet_range(x) if self.transform_input else x
        x = self.maxpool1(self.conv1(x))  # (B, 64, H / 4, W / 4)
        x = self.maxpool2(self.conv3(self.conv2(x)))  # (B, 192, H / 8, W / 8)
        x = self.maxpool3(self.inception3b(self.inception3a(x)))  # (B, 480, H / 16, W / 16)
        x = self.inception4a(x)  # (B, 512, H / 16, W / 16)
        aux1 = self.aux1(x) if self.training and self.aux1 is not None else None
        x = self.inception4d(self.inception4c(self.inception4b(x)))  # (B, 528, H / 16, W / 16)
        aux2 = self.aux2(x) if self.training and self.aux2 is not None else None
        x = self.maxpool4(self.inception4e(x))  # (B, 832, H / 32, W / 32)
        x = self.inception5b(self.inception5a(x))  # (B, 1024, H / 32, W / 32)
        x = self.fc(self.dropout(self.avgpool(x).flatten(1)))  # (B, num_classes)
        return GoogLeNetOutputs(x, aux2, aux1) if self.training and self.aux_logits else x


def from_imagenet_range(x: Tensor) -> Tensor:
    """Images that have ImageNet's mean and deviation taken out, in the range from -1 to 1."""
    scale = [deviation / 0.5 for deviation in (0.229, 0.224, 0.225)]
    shift = [(mean - 0.5) / 0.5 for mean in (0.485, 0.456, 0.406)]
    factors = tensor([scale, shift], dtype=x.dtype, device=x.device).view(2, 3, 1, 1)
    return x * factors[0] + factors[1]


def _as_published(state: dict[str, Any], settings: dict[str, Any], torchvisions: bool) -> dict[str, Any]:
    """The published network takes transformed inputs, and its auxiliary classifiers are not trained."""
    has_aux = any(name.startswith("aux") for name in state)
    if torchvisions:
        settings.setdefault("transform_input", True)
    settings.setdefault("aux_logits", has_aux and not torchvisions)
    settings["init_weights"] = False
    return state if settings["aux_logits"] else {name: v for name, v in state.items() if not name.startswith("aux")}


@builder_with(_as_published)
def googlenet(**kwargs: Any) -> GoogLeNet:
    """GoogLeNet, also called Inception v1."""
    return GoogLeNet(**kwargs)
