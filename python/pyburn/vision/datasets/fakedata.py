"""Random images, to try programs with."""

from __future__ import annotations

from typing import Any

from pyburn._core import Generator
from pyburn.ops import randint, randn
from pyburn.vision.datasets.vision import Transform, VisionDataset
from pyburn.vision.transforms.functional import to_pil_image

__all__ = ["FakeData"]


class FakeData(VisionDataset):
    """Random images of random classes, the same at each index each time.

    Args:
        size: How many there are.
        image_size: Their channels, height and width.
        num_classes: How many classes there are.
        transform: A function of an image of PIL.
        target_transform: A function of a class.
        random_offset: Added to the index, which is the seed.
    """

    def __init__(
        self,
        size: int = 1000,
        image_size: tuple[int, int, int] = (3, 224, 224),
        num_classes: int = 10,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        random_offset: int = 0,
    ) -> None:
        super().__init__(transform=transform, target_transform=target_transform)
        self.size, self.num_classes, self.image_size = size, num_classes, image_size
        self.random_offset = random_offset

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The image at `index` and its class."""
        if not 0 <= index < self.size:
            raise IndexError(f"FakeData index out of range: {index} of {self.size}")
        # A generator of its own: workers may ask at the same time.
        generator = Generator().manual_seed(index + self.random_offset)
        image = randn(*self.image_size, generator=generator)
        target = int(randint(0, self.num_classes, (1,), generator=generator))
        return self._transformed(to_pil_image(image), target)

    def __len__(self) -> int:
        """How many images there are."""
        return self.size
