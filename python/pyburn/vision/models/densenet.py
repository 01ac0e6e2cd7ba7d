"""DenseNet: each layer sees the features of all layers before it in its block.

Huang and others, "Densely connected convolutional networks", https://arxiv.org/abs/1608.06993
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from pyburn import nn
from pyburn._core import Tensor
from pyburn.ops import cat
from pyburn.utils.checkpoint import checkpoint
from pyburn.vision.models._blocks import initialize
from pyburn.vision.models._building import Classifier, builder

__all__ = ["DenseNet", "densenet121", "densenet161", "densenet169", "densenet201"]


class _DenseLayer(nn.Module):
    """A 1x1 and a 3x3 convolution that make `growth_rate` new channels out of all that there are."""

    def __init__(
        self,
        num_input_features: int,
        growth_rate: int,
        bn_size: int,
        drop_rate: float,
        memory_efficient: bool = False,
    ) -> None:
        super().__init__()
        inner = bn_size * growth_rate
        self.norm1 = nn.BatchNorm2d(num_input_features)
        self.relu1 = nn.ReLU(inplace=True)
        self.conv1 = nn.Conv2d(num_input_features, inner, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(inner)
        self.relu2 = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(inner, growth_rate, 3, padding=1, bias=False)
        self.drop_rate = float(drop_rate)
        self.memory_efficient = memory_efficient

    def bottleneck(self, *features: Tensor) -> Tensor:
        """The narrow features of all that there are."""
        narrow: Tensor = self.conv1(self.relu1(self.norm1(cat(features, 1))))  # (B, bn_size * growth_rate, H, W)
        return narrow

    def forward(self, input: Tensor | Sequence[Tensor]) -> Tensor:
        """The new features."""
        features = [input] if isinstance(input, Tensor) else list(input)
        if self.memory_efficient and any(each.requires_grad for each in features):
            x: Tensor = checkpoint(self.bottleneck, *features, use_reentrant=False)
        else:
            x = self.bottleneck(*features)
        x = self.conv2(self.relu2(self.norm2(x)))  # (B, growth_rate, H, W)
        return nn.functional.dropout(x, self.drop_rate, self.training) if self.drop_rate > 0 else x

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        # The published files are from a time when the layers were called `norm.1`.
        for key in [key for key in state_dict if key.startswith(prefix)]:
            renamed = re.sub(r"^(norm|relu|conv)\.([12])\.", r"\1\2.", key[len(prefix) :])
            state_dict[prefix + renamed] = state_dict.pop(key)
        super()._load_from_state_dict(state_dict, prefix, *args)


class _DenseBlock(nn.ModuleDict):
    """Layers each of which sees the block's input and what all layers before it made."""

    def __init__(
        self,
        num_layers: int,
        num_input_features: int,
        bn_size: int,
        growth_rate: int,
        drop_rate: float,
        memory_efficient: bool = False,
    ) -> None:
        super().__init__()
        for i in range(num_layers):
            channels = num_input_features + i * growth_rate
            layer = _DenseLayer(channels, growth_rate, bn_size, drop_rate, memory_efficient)
            self.add_module(f"denselayer{i + 1}", layer)

    def forward(self, init_features: Tensor) -> Tensor:  # (B, C, H, W)
        """The input's channels and those of all layers."""
        features = [init_features]
        for layer in self.values():
            features.append(layer(features))
        return cat(features, 1)  # (B, C + num_layers * growth_rate, H, W)


class _Transition(nn.Sequential):
    """Halves the size and changes the width between two blocks."""

    def __init__(self, num_input_features: int, num_output_features: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(num_input_features)
        self.relu = nn.ReLU(inplace=True)
        self.conv = nn.Conv2d(num_input_features, num_output_features, 1, bias=False)
        self.pool = nn.AvgPool2d(2, stride=2)


class DenseNet(Classifier):
    """DenseNet for images of at least 29 by 29 pixels.

    Args:
        growth_rate: How many channels each layer adds.
        block_config: How many layers each block has.
        num_init_features: The width of the first convolution.
        bn_size: How many times `growth_rate` the inside of a layer is wide.
        drop_rate: The chance that a new feature is zero while training.
        num_classes: How many classes there are.
        memory_efficient: Whether the inside of layers is computed again in the backward pass instead of kept.
    """

    def __init__(
        self,
        growth_rate: int = 32,
        block_config: Sequence[int] = (6, 12, 24, 16),
        num_init_features: int = 64,
        bn_size: int = 4,
        drop_rate: float = 0,
        num_classes: int = 1000,
        memory_efficient: bool = False,
    ) -> None:
        super().__init__()
        stem = OrderedDict[str, nn.Module](
            conv0=nn.Conv2d(3, num_init_features, 7, stride=2, padding=3, bias=False),
            norm0=nn.BatchNorm2d(num_init_features),
            relu0=nn.ReLU(inplace=True),
            pool0=nn.MaxPool2d(3, stride=2, padding=1),
        )
        self.features = nn.Sequential(stem)
        channels = num_init_features
        for i, depth in enumerate(block_config, 1):
            block = _DenseBlock(depth, channels, bn_size, growth_rate, drop_rate, memory_efficient)
            self.features.add_module(f"denseblock{i}", block)
            channels += depth * growth_rate
            if i < len(block_config):
                self.features.add_module(f"transition{i}", _Transition(channels, channels // 2))
                channels //= 2
        self.features.add_module("norm5", nn.BatchNorm2d(channels))
        self.classifier = nn.Linear(channels, num_classes)
        initialize(self, conv=nn.init.kaiming_normal_, linear=lambda weight: weight)

    def forward(self, x: Tensor) -> Tensor:  # (B, 3, H, W)
        """A score for each class."""
        x = nn.functional.relu(self.features(x), inplace=True)  # (B, C, H / 32, W / 32)
        x = nn.functional.adaptive_avg_pool2d(x, (1, 1)).flatten(1)  # (B, C)
        scores: Tensor = self.classifier(x)  # (B, num_classes)
        return scores


@builder
def densenet121(**kwargs: Any) -> DenseNet:
    """DenseNet with 121 layers."""
    return DenseNet(32, (6, 12, 24, 16), 64, **kwargs)


@builder
def densenet161(**kwargs: Any) -> DenseNet:
    """DenseNet with 161 wider layers."""
    return DenseNet(48, (6, 12, 36, 24), 96, **kwargs)


@builder
def densenet169(**kwargs: Any) -> DenseNet:
    """DenseNet with 169 layers."""
    return DenseNet(32, (6, 12, 32, 32), 64, **kwargs)


@builder
def densenet201(**kwargs: Any) -> DenseNet:
    """DenseNet with 201 layers."""
    return DenseNet(32, (6, 12, 48, 32), 64, **kwargs)
