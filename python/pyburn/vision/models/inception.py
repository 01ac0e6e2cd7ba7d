"""Inception v3: large convolutions taken apart into small ones and into rows and columns.

Szegedy and others, "Rethinking the Inception architecture for computer vision", https://arxiv.org/abs/1512.00567
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pyburn import nn
from pyburn._core import Tensor
from pyburn.ops import cat
from pyburn.vision.models._blocks import Layer
from pyburn.vision.models._building import Classifier, builder_with
from pyburn.vision.models.googlenet import BasicConv2d, from_imagenet_range

__all__ = ["Inception3", "InceptionOutputs", "inception_v3"]

F = nn.functional
ROW = {"kernel_size": (1, 7), "padding": (0, 3)}
COLUMN = {"kernel_size": (7, 1), "padding": (3, 0)}
SHORT_ROW = {"kernel_size": (1, 3), "padding": (0, 1)}
SHORT_COLUMN = {"kernel_size": (3, 1), "padding": (1, 0)}


class InceptionOutputs(NamedTuple):
    """What the model gives while it trains: scores, and those of the auxiliary classifier."""

    logits: Tensor
    aux_logits: Tensor | None


class InceptionA(nn.Module):
    """1x1, 5x5, two 3x3 and a pooling beside each other."""

    def __init__(self, in_channels: int, pool_features: int, conv_block: Layer = BasicConv2d) -> None:
        super().__init__()
        self.branch1x1 = conv_block(in_channels, 64, kernel_size=1)
        self.branch5x5_1 = conv_block(in_channels, 48, kernel_size=1)
        self.branch5x5_2 = conv_block(48, 64, kernel_size=5, padding=2)
        self.branch3x3dbl_1 = conv_block(in_channels, 64, kernel_size=1)
        self.branch3x3dbl_2 = conv_block(64, 96, kernel_size=3, padding=1)
        self.branch3x3dbl_3 = conv_block(96, 96, kernel_size=3, padding=1)
        self.branch_pool = conv_block(in_channels, pool_features, kernel_size=1)

    def forward(self, x: Tensor) -> Tensor:  # (B, in_channels, H, W)
        """The channels of all branches."""
        wide = self.branch5x5_2(self.branch5x5_1(x))  # (B, 64, H, W)
        double = self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x)))  # (B, 96, H, W)
        pooled = self.branch_pool(F.avg_pool2d(x, 3, stride=1, padding=1))  # (B, pool_features, H, W)
        return cat([self.branch1x1(x), wide, double, pooled], 1)  # (B, 224 + pool_features, H, W)


class InceptionB(nn.Module):
    """Halves the size: 3x3, two 3x3 and a pooling beside each other."""

    def __init__(self, in_channels: int, conv_block: Layer = BasicConv2d) -> None:
        super().__init__()
        self.branch3x3 = conv_block(in_channels, 384, kernel_size=3, stride=2)
        self.branch3x3dbl_1 = conv_block(in_channels, 64, kernel_size=1)
        self.branch3x3dbl_2 = conv_block(64, 96, kernel_size=3, padding=1)
        self.branch3x3dbl_3 = conv_block(96, 96, kernel_size=3, stride=2)

    def forward(self, x: Tensor) -> Tensor:  # (B, in_channels, H, W)
        """The channels of all branches."""
        double = self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x)))  # (B, 96, H / 2, W / 2)
        return cat([self.branch3x3(x), double, F.max_pool2d(x, 3, stride=2)], 1)  # (B, 480 + in_channels, H / 2, W / 2)


class InceptionC(nn.Module):
    """1x1, 7x7 as a row and a column, that twice, and a pooling beside each other."""

    def __init__(self, in_channels: int, channels_7x7: int, conv_block: Layer = BasicConv2d) -> None:
        super().__init__()
        inner = channels_7x7
        self.branch1x1 = conv_block(in_channels, 192, kernel_size=1)
        self.branch7x7_1 = conv_block(in_channels, inner, kernel_size=1)
        self.branch7x7_2 = conv_block(inner, inner, **ROW)
        self.branch7x7_3 = conv_block(inner, 192, **COLUMN)
        self.branch7x7dbl_1 = conv_block(in_channels, inner, kernel_size=1)
        self.branch7x7dbl_2 = conv_block(inner, inner, **COLUMN)
        self.branch7x7dbl_3 = conv_block(inner, inner, **ROW)
        self.branch7x7dbl_4 = conv_block(inner, inner, **COLUMN)
        self.branch7x7dbl_5 = conv_block(inner, 192, **ROW)
        self.branch_pool = conv_block(in_channels, 192, kernel_size=1)

    def forward(self, x: Tensor) -> Tensor:  # (B, in_channels, H, W)
        """The channels of all branches."""
        wide = self.branch7x7_3(self.branch7x7_2(self.branch7x7_1(x)))  # (B, 192, H, W)
        double = self.branch7x7dbl_3(self.branch7x7dbl_2(self.branch7x7dbl_1(x)))  # (B, channels_7x7, H, W)
        double = self.branch7x7dbl_5(self.branch7x7dbl_4(double))  # (B, 192, H, W)
        pooled = self.branch_pool(F.avg_pool2d(x, 3, stride=1, padding=1))  # (B, 192, H, W)
        return cat([self.branch1x1(x), wide, double, pooled], 1)  # (B, 768, H, W)


class InceptionD(nn.Module):
    """Halves the size: 3x3, 7x7 with 3x3, and a pooling beside each other."""

    def __init__(self, in_channels: int, conv_block: Layer = BasicConv2d) -> None:
        super().__init__()
        self.branch3x3_1 = conv_block(in_channels, 192, kernel_size=1)
        self.branch3x3_2 = conv_block(192, 320, kernel_size=3, stride=2)
        self.branch7x7x3_1 = conv_block(in_channels, 192, kernel_size=1)
        self.branch7x7x3_2 = conv_block(192, 192, **ROW)
        self.branch7x7x3_3 = conv_block(192, 192, **COLUMN)
        self.branch7x7x3_4 = conv_block(192, 192, kernel_size=3, stride=2)

    def forward(self, x: Tensor) -> Tensor:  # (B, in_channels, H, W)
        """The channels of all branches."""
        small = self.branch3x3_2(self.branch3x3_1(x))  # (B, 320, H / 2, W / 2)
        wide = self.branch7x7x3_3(self.branch7x7x3_2(self.branch7x7x3_1(x)))  # (B, 192, H, W)
        wide = self.branch7x7x3_4(wide)  # (B, 192, H / 2, W / 2)
        return cat([small, wide, F.max_pool2d(x, 3, stride=2)], 1)  # (B, 512 + in_channels, H / 2, W / 2)


class InceptionE(nn.Module):
    """1x1, a row beside a column, the same after a 3x3, and a pooling beside each other."""

    def __init__(self, in_channels: int, conv_block: Layer = BasicConv2d) -> None:
        super().__init__()
        self.branch1x1 = conv_block(in_channels, 320, kernel_size=1)
        self.branch3x3_1 = conv_block(in_channels, 384, kernel_size=1)
        self.branch3x3_2a = conv_block(384, 384, **SHORT_ROW)
        self.branch3x3_2b = conv_block(384, 384, **SHORT_COLUMN)
        self.branch3x3dbl_1 = conv_block(in_channels, 448, kernel_size=1)
        self.branch3x3dbl_2 = conv_block(448, 384, kernel_size=3, padding=1)
        self.branch3x3dbl_3a = conv_block(384, 384, **SHORT_ROW)
        self.branch3x3dbl_3b = conv_block(384, 384, **SHORT_COLUMN)
        self.branch_pool = conv_block(in_channels, 192, kernel_size=1)

    def forward(self, x: Tensor) -> Tensor:  # (B, in_channels, H, W)
        """The channels of all branches."""
        one = self.branch3x3_1(x)  # (B, 384, H, W)
        two = self.branch3x3dbl_2(self.branch3x3dbl_1(x))  # (B, 384, H, W)
        pooled = self.branch_pool(F.avg_pool2d(x, 3, stride=1, padding=1))  # (B, 192, H, W)
        crosses = [self.branch3x3_2a(one), self.branch3x3_2b(one), self.branch3x3dbl_3a(two), self.branch3x3dbl_3b(two)]
        return cat([self.branch1x1(x), *crosses, pooled], 1)  # (B, 2048, H, W)


class InceptionAux(nn.Module):
    """A small classifier on features from the middle of the network."""

    def __init__(self, in_channels: int, num_classes: int, conv_block: Layer = BasicConv2d) -> None:
        super().__init__()
        self.conv0 = conv_block(in_channels, 128, kernel_size=1)
        self.conv1 = conv_block(128, 768, kernel_size=5)
        self.fc = nn.Linear(768, num_classes)

    def forward(self, x: Tensor) -> Tensor:  # (B, in_channels, 17, 17)
        """A score for each class."""
        x = self.conv1(self.conv0(F.avg_pool2d(x, 5, stride=3)))  # (B, 768, 1, 1)
        scores: Tensor = self.fc(F.adaptive_avg_pool2d(x, (1, 1)).flatten(1))  # (B, num_classes)
        return scores


class Inception3(Classifier):
    """Inception v3, made for images of 299 by 299 pixels; 75 are the least.

    Args:
        num_classes: How many classes there are.
        aux_logits: Whether there is an auxiliary classifier; while training the model then gives `InceptionOutputs`.
        transform_input: Whether inputs are normalized as for torchvision's other models, and are to be brought to the
            range that the original weights were trained on.
        inception_blocks: Other classes for BasicConv2d, InceptionA to InceptionE and InceptionAux.
        init_weights: Whether the weights are drawn as in the paper; None means yes, as in torchvision.
        dropout: The chance that an input of the last layer is zero while training.
    """

    aux_weight = 0.4

    def __init__(
        self,
        num_classes: int = 1000,
        aux_logits: bool = True,
        transform_input: bool = False,
        inception_blocks: Sequence[Layer] | None = None,
        init_weights: bool | None = None,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        if inception_blocks is not None and len(inception_blocks) != 7:
            raise ValueError(f"length of inception_blocks should be 7 instead of {len(inception_blocks)}")
        usual: Sequence[Layer] = (
            BasicConv2d,
            InceptionA,
            InceptionB,
            InceptionC,
            InceptionD,
            InceptionE,
            InceptionAux,
        )
        conv, a, b, c, d, e, aux = inception_blocks or usual
        self.aux_logits, self.transform_input = aux_logits, transform_input
        self.Conv2d_1a_3x3 = conv(3, 32, kernel_size=3, stride=2)
        self.Conv2d_2a_3x3 = conv(32, 32, kernel_size=3)
        self.Conv2d_2b_3x3 = conv(32, 64, kernel_size=3, padding=1)
        self.maxpool1 = nn.MaxPool2d(3, stride=2)
        self.Conv2d_3b_1x1 = conv(64, 80, kernel_size=1)
        self.Conv2d_4a_3x3 = conv(80, 192, kernel_size=3)
        self.maxpool2 = nn.MaxPool2d(3, stride=2)
        self.Mixed_5b = a(192, pool_features=32)
        self.Mixed_5c = a(256, pool_features=64)
        self.Mixed_5d = a(288, pool_features=64)
        self.Mixed_6a = b(288)
        self.Mixed_6b = c(768, channels_7x7=128)
        self.Mixed_6c = c(768, channels_7x7=160)
        self.Mixed_6d = c(768, channels_7x7=160)
        self.Mixed_6e = c(768, channels_7x7=192)
        self.AuxLogits = aux(768, num_classes) if aux_logits else None
        self.Mixed_7a = d(768)
        self.Mixed_7b = e(1280)
        self.Mixed_7c = e(2048)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(dropout)
        self.fc = nn.Linear(2048, num_classes)
        if init_weights is None or init_weights:
            self._draw_weights()

    def _draw_weights(self) -> None:
        for name, module in self.named_modules():
            if isinstance(module, (nn.Conv2d, nn.Linear)):
                deviation = 0.001 if name == "AuxLogits.fc" else 0.1
                nn.init.trunc_normal_(module.weight, mean=0.0, std=deviation, a=-2, b=2)

    def forward(self, x: Tensor) -> Tensor | InceptionOutputs:  # (B, 3, 299, 299)
        """A score for each class; while training, those of the auxiliary classifier too."""
        x = from_imagenet_range(x) if self.transform_input else x
        x = self.Conv2d_2b_3x3(self.Conv2d_2a_3x3(self.Conv2d_1a_3x3(x)))  # (B, 64, 147, 147)
        x = self.Conv2d_4a_3x3(self.Conv2d_3b_1x1(self.maxpool1(x)))  # (B, 192, 71, 71)
        x = self.Mixed_5d(self.Mixed_5c(self.Mixed_5b(self.maxpool2(x))))  # (B, 288, 35, 35)
        x = self.Mixed_6c(self.Mixed_6b(self.Mixed_6a(x)))  # (B, 768, 17, 17)
        x = self.Mixed_6e(self.Mixed_6d(x))  # (B, 768, 17, 17)
        aux = self.AuxLogits(x) if self.training and self.AuxLogits is not None else None  # (B, num_classes)
        x = self.Mixed_7c(self.Mixed_7b(self.Mixed_7a(x)))  # (B, 2048, 8, 8)
        x = self.fc(self.dropout(self.avgpool(x)).flatten(1))  # (B, num_classes)
        return InceptionOutputs(x, aux) if self.training and self.aux_logits else x


def _as_published(state: dict[str, Any], settings: dict[str, Any], torchvisions: bool) -> dict[str, Any]:
    """The published network takes transformed inputs."""
    if torchvisions:
        settings.setdefault("transform_input", True)
    settings.setdefault("aux_logits", any(name.startswith("AuxLogits") for name in state))
    settings["init_weights"] = False
    return state if settings["aux_logits"] else {k: v for k, v in state.items() if not k.startswith("AuxLogits")}


@builder_with(_as_published)
def inception_v3(**kwargs: Any) -> Inception3:
    """Inception v3."""
    return Inception3(**kwargs)
