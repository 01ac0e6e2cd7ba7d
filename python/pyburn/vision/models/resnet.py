"""ResNet: each block adds a correction to what it was given, so that hundreds of layers can learn. ResNeXt, WideResNet.

He and others, "Deep residual learning for image recognition", https://arxiv.org/abs/1512.03385
Xie and others, "Aggregated residual transformations for deep neural networks", https://arxiv.org/abs/1611.05431
Zagoruyko and Komodakis, "Wide residual networks", https://arxiv.org/abs/1605.07146
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from pyburn import nn
from pyburn._core import Tensor
from pyburn.vision.models._blocks import Layer, initialize
from pyburn.vision.models._building import Classifier, builder

__all__ = [
    "ResNet",
    "resnet18",
    "resnet34",
    "resnet50",
    "resnet101",
    "resnet152",
    "resnext50_32x4d",
    "resnext101_32x8d",
    "resnext101_64x4d",
    "wide_resnet50_2",
    "wide_resnet101_2",
]


def conv3x3(in_planes: int, out_planes: int, stride: int = 1, groups: int = 1, dilation: int = 1) -> nn.Conv2d:
    """A 3x3 convolution that keeps the size; blocks of programs are built of it."""
    return nn.Conv2d(in_planes, out_planes, 3, stride, dilation, dilation, groups, bias=False)


def conv1x1(in_planes: int, out_planes: int, stride: int = 1) -> nn.Conv2d:
    """A 1x1 convolution."""
    return nn.Conv2d(in_planes, out_planes, 1, stride, bias=False)


class BasicBlock(nn.Module):
    """Two 3x3 convolutions beside a shortcut."""

    expansion = 1

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Layer = nn.BatchNorm2d,
    ) -> None:
        super().__init__()
        if groups != 1 or base_width != 64:
            raise ValueError("BasicBlock only supports groups=1 and base_width=64")
        if dilation > 1:
            raise NotImplementedError("Dilation > 1 not supported in BasicBlock")
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride, padding=1, bias=False)
        self.bn1 = norm_layer(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.bn2 = norm_layer(planes)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:  # (B, inplanes, H, W)
        """The input with its correction."""
        out = self.relu(self.bn1(self.conv1(x)))  # (B, planes, H / stride, W / stride)
        out = self.bn2(self.conv2(out))  # (B, planes, H / stride, W / stride)
        result: Tensor = self.relu(out + (x if self.downsample is None else self.downsample(x)))
        return result


class Bottleneck(nn.Module):
    """A 3x3 convolution between two 1x1 ones that make it narrow, beside a shortcut."""

    expansion = 4

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Layer = nn.BatchNorm2d,
    ) -> None:
        super().__init__()
        width = int(planes * (base_width / 64.0)) * groups
        self.conv1 = nn.Conv2d(inplanes, width, 1, bias=False)
        self.bn1 = norm_layer(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, dilation, dilation, groups, bias=False)
        self.bn2 = norm_layer(width)
        self.conv3 = nn.Conv2d(width, planes * self.expansion, 1, bias=False)
        self.bn3 = norm_layer(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:  # (B, inplanes, H, W)
        """The input with its correction."""
        out = self.relu(self.bn1(self.conv1(x)))  # (B, width, H, W)
        out = self.relu(self.bn2(self.conv2(out)))  # (B, width, H / stride, W / stride)
        out = self.bn3(self.conv3(out))  # (B, 4 * planes, H / stride, W / stride)
        result: Tensor = self.relu(out + (x if self.downsample is None else self.downsample(x)))
        return result


Block = type[BasicBlock] | type[Bottleneck]


class ResNet(Classifier):
    """ResNet for images of any size.

    Args:
        block: `BasicBlock` or `Bottleneck`.
        layers: How many blocks each of the four stages has.
        num_classes: How many classes there are.
        zero_init_residual: Whether each block starts as the identity.
        groups: How many groups the 3x3 convolutions have (ResNeXt).
        width_per_group: The width of each group in the first stage (WideResNet has twice as much).
        replace_stride_with_dilation: Whether the last three stages keep the size and spread their filters instead.
        norm_layer: What normalizes; without it `nn.BatchNorm2d`.
    """

    def __init__(
        self,
        block: Block,
        layers: Sequence[int],
        num_classes: int = 1000,
        zero_init_residual: bool = False,
        groups: int = 1,
        width_per_group: int = 64,
        replace_stride_with_dilation: Sequence[bool] | None = None,
        norm_layer: Layer | None = None,
    ) -> None:
        super().__init__()
        dilate = replace_stride_with_dilation or (False, False, False)
        if len(dilate) != 3:
            raise ValueError(f"replace_stride_with_dilation should be None or a 3-element tuple, got {dilate}")
        self._norm_layer = norm_layer or nn.BatchNorm2d
        self.inplanes, self.dilation = 64, 1
        self.groups, self.base_width = groups, width_per_group
        self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = self._norm_layer(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = self._make_layer(block, 64, layers[0])
        self.layer2 = self._make_layer(block, 128, layers[1], 2, dilate[0])
        self.layer3 = self._make_layer(block, 256, layers[2], 2, dilate[1])
        self.layer4 = self._make_layer(block, 512, layers[3], 2, dilate[2])
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)
        initialize(self, conv=partial(nn.init.kaiming_normal_, mode="fan_out", nonlinearity="relu"))
        if zero_init_residual:
            for module in self.modules():
                if isinstance(module, (BasicBlock, Bottleneck)):
                    nn.init.zeros_((module.bn3 if isinstance(module, Bottleneck) else module.bn2).weight)

    def _make_layer(
        self,
        block: Block,
        planes: int,
        blocks: int,
        stride: int = 1,
        dilate: bool = False,
    ) -> nn.Sequential:
        """One stage, whose first block changes size and width."""
        norm, width = self._norm_layer, planes * block.expansion
        first_dilation = self.dilation
        if dilate:
            self.dilation, stride = self.dilation * stride, 1
        downsample = None
        if stride != 1 or self.inplanes != width:
            downsample = nn.Sequential(nn.Conv2d(self.inplanes, width, 1, stride, bias=False), norm(width))
        shape = (self.groups, self.base_width)
        stage = [block(self.inplanes, planes, stride, downsample, *shape, first_dilation, norm)]
        self.inplanes = width
        stage += [block(width, planes, 1, None, *shape, self.dilation, norm) for _ in range(1, blocks)]
        return nn.Sequential(*stage)

    def forward(self, x: Tensor) -> Tensor:  # (B, 3, H, W)
        """A score for each class."""
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))  # (B, 64, H / 4, W / 4)
        x = self.layer2(self.layer1(x))  # (B, 128 * expansion, H / 8, W / 8)
        x = self.layer4(self.layer3(x))  # (B, 512 * expansion, H / 32, W / 32)
        scores: Tensor = self.fc(self.avgpool(x).flatten(1))  # (B, num_classes)
        return scores


@builder
def resnet18(**kwargs: Any) -> ResNet:
    """ResNet with 18 layers."""
    return ResNet(BasicBlock, [2, 2, 2, 2], **kwargs)


@builder
def resnet34(**kwargs: Any) -> ResNet:
    """ResNet with 34 layers."""
    return ResNet(BasicBlock, [3, 4, 6, 3], **kwargs)


@builder
def resnet50(**kwargs: Any) -> ResNet:
    """ResNet with 50 layers."""
    return ResNet(Bottleneck, [3, 4, 6, 3], **kwargs)


@builder
def resnet101(**kwargs: Any) -> ResNet:
    """ResNet with 101 layers."""
    return ResNet(Bottleneck, [3, 4, 23, 3], **kwargs)


@builder
def resnet152(**kwargs: Any) -> ResNet:
    """ResNet with 152 layers."""
    return ResNet(Bottleneck, [3, 8, 36, 3], **kwargs)


@builder
def resnext50_32x4d(**kwargs: Any) -> ResNet:
    """ResNeXt with 50 layers and 32 groups of width 4."""
    return ResNet(Bottleneck, [3, 4, 6, 3], **{"groups": 32, "width_per_group": 4, **kwargs})


@builder
def resnext101_32x8d(**kwargs: Any) -> ResNet:
    """ResNeXt with 101 layers and 32 groups of width 8."""
    return ResNet(Bottleneck, [3, 4, 23, 3], **{"groups": 32, "width_per_group": 8, **kwargs})


@builder
def resnext101_64x4d(**kwargs: Any) -> ResNet:
    """ResNeXt with 101 layers and 64 groups of width 4."""
    return ResNet(Bottleneck, [3, 4, 23, 3], **{"groups": 64, "width_per_group": 4, **kwargs})


@builder
def wide_resnet50_2(**kwargs: Any) -> ResNet:
    """ResNet with 50 layers, the 3x3 convolutions twice as wide."""
    return ResNet(Bottleneck, [3, 4, 6, 3], **{"width_per_group": 128, **kwargs})


@builder
def wide_resnet101_2(**kwargs: Any) -> ResNet:
    """ResNet with 101 layers, the 3x3 convolutions twice as wide."""
    return ResNet(Bottleneck, [3, 4, 23, 3], **{"width_per_group": 128, **kwargs})
