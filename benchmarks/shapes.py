"""The convolutions of ResNet-18 and MobileNetV2 at 224 x 224, each once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from models import MOBILENET_STAGES


@dataclass(frozen=True)
class Convolution:
    """A square convolution with padding that keeps the size."""

    entering: int
    leaving: int
    size: int
    kernel: int = 1
    stride: int = 1
    groups: int = 1

    @property
    def name(self) -> str:
        """How its row is called."""
        kind = f"depthwise {self.entering}" if self.groups > 1 else f"{self.entering}-{self.leaving}"
        return f"{kind} {self.kernel}x{self.kernel}{' /2' * (self.stride == 2)} at {self.size}"


def resnet18() -> list[Convolution]:
    found = [Convolution(3, 64, 224, 7, 2), Convolution(64, 64, 56, 3)]
    size = 56
    for entering in (64, 128, 256):
        found += [Convolution(entering, 2 * entering, size, 3, 2), Convolution(entering, 2 * entering, size, 1, 2)]
        size //= 2
        found.append(Convolution(2 * entering, 2 * entering, size, 3))
    return found


def mobilenet_v2() -> list[Convolution]:
    return list(dict.fromkeys(_mobilenet_v2()))


def _mobilenet_v2() -> Iterator[Convolution]:
    yield Convolution(3, 32, 224, 3, 2)
    entering, size = 32, 112
    for expansion, leaving, repeats, stride in MOBILENET_STAGES:
        for repeat in range(repeats):
            hidden, step = entering * expansion, stride if repeat == 0 else 1
            if expansion > 1:
                yield Convolution(entering, hidden, size)
            yield Convolution(hidden, hidden, size, 3, step, hidden)
            size //= step
            yield Convolution(hidden, leaving, size)
            entering = leaving
    yield Convolution(entering, 1280, size)
