"""ShuffleNet v2: half of the channels pass untouched, and a shuffle mixes the halves.

Ma and others, "ShuffleNet V2: practical guidelines for efficient CNN architecture design",
https://arxiv.org/abs/1807.11164
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyburn import nn
from pyburn._core import Tensor
from pyburn.ops import cat
from pyburn.vision.models._blocks import Layer
from pyburn.vision.models._building import Classifier, builder

__all__ = ["ShuffleNetV2", "shufflenet_v2_x0_5", "shufflenet_v2_x1_0", "shufflenet_v2_x1_5", "shufflenet_v2_x2_0"]


def channel_shuffle(x: Tensor, groups: int) -> Tensor:
    """The channels in another order: the first of each group, the second of each group, and so on."""
    B, C, H, W = x.shape
    x = x.view(B, groups, C // groups, H, W).transpose(1, 2).contiguous()  # (B, C / groups, groups, H, W)
    return x.view(B, C, H, W)


def _pointwise(inp: int, oup: int) -> list[nn.Module]:
    return [nn.Conv2d(inp, oup, 1, bias=False), nn.BatchNorm2d(oup), nn.ReLU(inplace=True)]


def _depthwise(channels: int, stride: int) -> list[nn.Module]:
    conv = nn.Conv2d(channels, channels, 3, stride, padding=1, bias=False, groups=channels)
    return [conv, nn.BatchNorm2d(channels)]


class InvertedResidual(nn.Module):
    """Convolutions on half of the channels; with a stride on all of them, twice, for half of the new channels each."""

    def __init__(self, inp: int, oup: int, stride: int) -> None:
        super().__init__()
        if not 1 <= stride <= 3:
            raise ValueError("illegal stride value")
        half = oup // 2
        if stride == 1 and inp != 2 * half:
            raise ValueError(f"InvertedResidual: with stride 1 the block keeps its width, not {inp} to {oup}")
        self.stride = stride
        self.branch1 = nn.Sequential(*([] if stride == 1 else _depthwise(inp, stride) + _pointwise(inp, half)))
        first = _pointwise(half if stride == 1 else inp, half)
        self.branch2 = nn.Sequential(*first, *_depthwise(half, stride), *_pointwise(half, half))

    def forward(self, x: Tensor) -> Tensor:  # (B, inp, H, W)
        """Both halves, shuffled."""
        if self.stride == 1:
            left, right = x.chunk(2, dim=1)  # (B, inp / 2, H, W) each
        else:
            left, right = self.branch1(x), x  # (B, oup / 2, H / stride, W / stride) and all of the input
        return channel_shuffle(cat([left, self.branch2(right)], 1), 2)  # (B, oup, H / stride, W / stride)


class ShuffleNetV2(Classifier):
    """ShuffleNet v2 for images of any size.

    Args:
        stages_repeats: How many blocks each of the three stages has.
        stages_out_channels: The widths of the first convolution, the stages and the last convolution.
        num_classes: How many classes there are.
        inverted_residual: Another class for the blocks.
    """

    def __init__(
        self,
        stages_repeats: Sequence[int],
        stages_out_channels: Sequence[int],
        num_classes: int = 1000,
        inverted_residual: Layer = InvertedResidual,
    ) -> None:
        super().__init__()
        if len(stages_repeats) != 3:
            raise ValueError("expected stages_repeats as list of 3 positive ints")
        if len(stages_out_channels) != 5:
            raise ValueError("expected stages_out_channels as list of 5 positive ints")
        first, *widths, last = stages_out_channels
        self.conv1 = nn.Sequential(
            nn.Conv2d(3, first, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(first), nn.ReLU(inplace=True)
        )
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        stages = []
        for before, width, depth in zip([first, *widths], widths, stages_repeats, strict=False):
            block = inverted_residual(before, width, 2)
            rest = [inverted_residual(width, width, 1) for _ in range(depth - 1)]
            stages.append(nn.Sequential(block, *rest))
        self.stage2, self.stage3, self.stage4 = stages
        self.conv5 = nn.Sequential(*_pointwise(widths[-1], last))
        self.fc = nn.Linear(last, num_classes)

    def forward(self, x: Tensor) -> Tensor:  # (B, 3, H, W)
        """A score for each class."""
        x = self.maxpool(self.conv1(x))  # (B, 24, H / 4, W / 4)
        x = self.stage4(self.stage3(self.stage2(x)))  # (B, C, H / 32, W / 32)
        x = self.conv5(x).mean([2, 3])  # (B, last)
        scores: Tensor = self.fc(x)  # (B, num_classes)
        return scores


@builder
def shufflenet_v2_x0_5(**kwargs: Any) -> ShuffleNetV2:
    """ShuffleNet v2, half as wide."""
    return ShuffleNetV2([4, 8, 4], [24, 48, 96, 192, 1024], **kwargs)


@builder
def shufflenet_v2_x1_0(**kwargs: Any) -> ShuffleNetV2:
    """ShuffleNet v2."""
    return ShuffleNetV2([4, 8, 4], [24, 116, 232, 464, 1024], **kwargs)


@builder
def shufflenet_v2_x1_5(**kwargs: Any) -> ShuffleNetV2:
    """ShuffleNet v2, one and a half times as wide."""
    return ShuffleNetV2([4, 8, 4], [24, 176, 352, 704, 1024], **kwargs)


@builder
def shufflenet_v2_x2_0(**kwargs: Any) -> ShuffleNetV2:
    """ShuffleNet v2, twice as wide."""
    return ShuffleNetV2([4, 8, 4], [24, 244, 488, 976, 2048], **kwargs)
