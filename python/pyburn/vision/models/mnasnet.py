"""MNASNet: a phone's measured latency was part of what the search for this network optimized.

Tan and others, "MnasNet: platform-aware neural architecture search for mobile", https://arxiv.org/abs/1807.11626
"""

from __future__ import annotations

from functools import partial
from typing import Any

from pyburn import nn
from pyburn._core import Tensor
from pyburn.vision.models._blocks import initialize, make_divisible
from pyburn.vision.models._building import Classifier, builder

__all__ = ["MNASNet", "mnasnet0_5", "mnasnet0_75", "mnasnet1_0", "mnasnet1_3"]

# TensorFlow's decay of 0.9997 in torch's words.
MOMENTUM = 1 - 0.9997
# Of each stage: kernel, stride of the first block, how much wider the inside is, number of blocks.
STAGES = ((3, 2, 3, 3), (5, 2, 3, 3), (5, 2, 6, 3), (3, 1, 6, 2), (5, 2, 6, 4), (3, 1, 6, 1))


def _norm(channels: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(channels, momentum=MOMENTUM)


class _InvertedResidual(nn.Module):
    """A 1x1 convolution that widens, one for each channel, and a 1x1 one that makes narrow again."""

    def __init__(self, in_ch: int, out_ch: int, kernel_size: int, stride: int, expansion_factor: int) -> None:
        super().__init__()
        inner = in_ch * expansion_factor
        self.apply_residual = in_ch == out_ch and stride == 1
        self.layers = nn.Sequential(
            nn.Conv2d(in_ch, inner, 1, bias=False),
            _norm(inner),
            nn.ReLU(inplace=True),
            nn.Conv2d(inner, inner, kernel_size, stride, kernel_size // 2, groups=inner, bias=False),
            _norm(inner),
            nn.ReLU(inplace=True),
            nn.Conv2d(inner, out_ch, 1, bias=False),
            _norm(out_ch),
        )

    def forward(self, input: Tensor) -> Tensor:  # (B, in_ch, H, W)
        """The features, added to the input where they have its shape."""
        out: Tensor = self.layers(input)  # (B, out_ch, H / stride, W / stride)
        return out + input if self.apply_residual else out


class MNASNet(Classifier):
    """MNASNet for images of any size.

    Args:
        alpha: How many times as wide as in the paper all layers are.
        num_classes: How many classes there are.
        dropout: The chance that an input of the last layer is zero while training.
    """

    _version = 2

    def __init__(self, alpha: float, num_classes: int = 1000, dropout: float = 0.2) -> None:
        super().__init__()
        if alpha <= 0.0:
            raise ValueError(f"alpha should be greater than 0.0 instead of {alpha}")
        self.alpha, self.num_classes = alpha, num_classes
        first, *widths = [make_divisible(depth * alpha, 8) for depth in (32, 16, 24, 40, 80, 96, 192, 320)]
        layers: list[nn.Module] = [
            nn.Conv2d(3, first, 3, stride=2, padding=1, bias=False),
            _norm(first),
            nn.ReLU(inplace=True),
            nn.Conv2d(first, first, 3, padding=1, groups=first, bias=False),
            _norm(first),
            nn.ReLU(inplace=True),
            nn.Conv2d(first, widths[0], 1, bias=False),
            _norm(widths[0]),
        ]
        for before, width, (kernel, stride, expansion, depth) in zip(widths, widths[1:], STAGES, strict=False):
            block = _InvertedResidual(before, width, kernel, stride, expansion)
            rest = [_InvertedResidual(width, width, kernel, 1, expansion) for _ in range(depth - 1)]
            layers.append(nn.Sequential(block, *rest))
        layers += [nn.Conv2d(widths[-1], 1280, 1, bias=False), _norm(1280), nn.ReLU(inplace=True)]
        self.layers = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Dropout(dropout, inplace=True), nn.Linear(1280, num_classes))
        fan_out = partial(nn.init.kaiming_normal_, mode="fan_out", nonlinearity="relu")
        initialize(self, fan_out, partial(nn.init.kaiming_uniform_, mode="fan_out", nonlinearity="sigmoid"))

    def forward(self, x: Tensor) -> Tensor:  # (B, 3, H, W)
        """A score for each class."""
        x = self.layers(x).mean([2, 3])  # (B, 1280)
        scores: Tensor = self.classifier(x)  # (B, num_classes)
        return scores


@builder
def mnasnet0_5(**kwargs: Any) -> MNASNet:
    """MNASNet, 0.5 times as wide as in the paper."""
    return MNASNet(0.5, **kwargs)


@builder
def mnasnet0_75(**kwargs: Any) -> MNASNet:
    """MNASNet, 0.75 times as wide as in the paper."""
    return MNASNet(0.75, **kwargs)


@builder
def mnasnet1_0(**kwargs: Any) -> MNASNet:
    """MNASNet, 1.0 times as wide as in the paper."""
    return MNASNet(1.0, **kwargs)


@builder
def mnasnet1_3(**kwargs: Any) -> MNASNet:
    """MNASNet, 1.3 times as wide as in the paper."""
    return MNASNet(1.3, **kwargs)
