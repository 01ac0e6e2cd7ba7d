"""AlexNet: five convolutions and three linear layers, the network that made deep learning win ImageNet in 2012.

Krizhevsky, "One weird trick for parallelizing convolutional neural networks", https://arxiv.org/abs/1404.5997
"""

from __future__ import annotations

from typing import Any

from pyburn import nn
from pyburn._core import Tensor
from pyburn.vision.models._building import Classifier, builder

__all__ = ["AlexNet", "alexnet"]


class AlexNet(Classifier):
    """AlexNet for images of at least 63 by 63 pixels.

    Args:
        num_classes: How many classes there are.
        dropout: The chance that an input of the first two linear layers is zero while training.
    """

    def __init__(self, num_classes: int = 1000, dropout: float = 0.5) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, 11, stride=4, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2),
            nn.Conv2d(64, 192, 5, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2),
            nn.Conv2d(192, 384, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(384, 256, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(256, 256, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2),
        )
        self.avgpool = nn.AdaptiveAvgPool2d((6, 6))
        self.classifier = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(256 * 6 * 6, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(inplace=True),
            nn.Linear(4096, num_classes),
        )

    def forward(self, x: Tensor) -> Tensor:  # (B, 3, H, W)
        """A score for each class."""
        x = self.features(x)  # (B, 256, H / 32, W / 32)
        x = self.avgpool(x).flatten(1)  # (B, 9216)
        scores: Tensor = self.classifier(x)  # (B, num_classes)
        return scores


@builder
def alexnet(**kwargs: Any) -> AlexNet:
    """AlexNet."""
    return AlexNet(**kwargs)
