"""U-Net: down to what is in the image and up again to where, with bridges between both at each size.

Ronneberger and others, "U-Net: convolutional networks for biomedical image segmentation",
https://arxiv.org/abs/1505.04597
"""

from __future__ import annotations

from typing import Any

from pyburn import nn
from pyburn._core import Tensor
from pyburn.ops import cat
from pyburn.train import Trainable
from pyburn.vision.models._building import builder

__all__ = ["UNet", "unet"]


def _double_conv(in_channels: int, out_channels: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(in_channels, out_channels, 3, padding=1, bias=False),
        nn.BatchNorm2d(out_channels),
        nn.ReLU(inplace=True),
        nn.Conv2d(out_channels, out_channels, 3, padding=1, bias=False),
        nn.BatchNorm2d(out_channels),
        nn.ReLU(inplace=True),
    )


class UNet(Trainable):
    """U-Net for images of any size, which it keeps.

    Differs from the paper: convolutions are padded and normalized, so that scores have the size of the image.

    Args:
        in_channels: How many channels the images have.
        num_classes: How many classes a pixel may have.
        width: The width at full size; it doubles with each halving of the size.
        depth: How many times the size is halved.
        bilinear: Whether sizes are doubled by interpolation rather than by learned convolutions.
    """

    def __init__(
        self,
        in_channels: int = 3,
        num_classes: int = 2,
        width: int = 64,
        depth: int = 4,
        bilinear: bool = False,
    ) -> None:
        super().__init__()
        widths = [width * 2**i for i in range(depth + 1)]
        self.num_classes = num_classes
        self.pool = nn.MaxPool2d(2)
        self.down = nn.ModuleList(
            [_double_conv(before, after) for before, after in zip([in_channels, *widths], widths, strict=False)]
        )
        pairs = list(zip(widths[::-1], widths[-2::-1], strict=False))
        self.grow = nn.ModuleList([_doubled(wide, narrow, bilinear) for wide, narrow in pairs])
        self.up = nn.ModuleList([_double_conv(2 * narrow, narrow) for _, narrow in pairs])
        self.head = nn.Conv2d(width, num_classes, 1)

    def forward(self, x: Tensor) -> Tensor:  # (B, in_channels, H, W)
        """A score for each class and pixel."""
        bridges: list[Tensor] = []
        for i, down in enumerate(self.down):
            x = down(x if i == 0 else self.pool(x))  # (B, width * 2 ** i, H / 2 ** i, W / 2 ** i)
            bridges.append(x)
        bridges.pop()
        for grow, up in zip(self.grow, self.up, strict=True):
            bridge = bridges.pop()
            x = grow(x)  # (B, narrow, H', W'), a pixel short where the bridge's size is odd
            short = [bridge.shape[-1] - x.shape[-1], bridge.shape[-2] - x.shape[-2]]
            if any(short):
                x = nn.functional.pad(x, (0, short[0], 0, short[1]))
            x = up(cat([bridge, x], 1))  # (B, narrow, H', W')
        scores: Tensor = self.head(x)  # (B, num_classes, H, W)
        return scores


def _doubled(wide: int, narrow: int, bilinear: bool) -> nn.Module:
    if bilinear:
        return nn.Sequential(nn.Upsample(scale_factor=2, mode="bilinear"), nn.Conv2d(wide, narrow, 1))
    return nn.ConvTranspose2d(wide, narrow, 2, stride=2)


@builder
def unet(**kwargs: Any) -> UNet:
    """U-Net, with the settings of `UNet`: `in_channels`, `num_classes`, `width`, `depth`, `bilinear`."""
    return UNet(**kwargs)
