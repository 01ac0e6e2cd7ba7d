"""Draws docs/images/transforms.png: one photograph under every kind of transform (needs scikit-learn and Pillow)."""

from __future__ import annotations

import sys
from pathlib import Path

import pyburn
from pyburn.vision import transforms as T
from pyburn.vision import tv_tensors
from pyburn.vision.transforms import functional as F
from pyburn.vision.utils import draw_bounding_boxes, draw_segmentation_masks, make_grid

SIZE = 120
STEPS = {
    "as it is": T.Identity(),
    "RandomResizedCrop": T.RandomResizedCrop(SIZE, scale=(0.2, 0.5)),
    "RandomHorizontalFlip": T.RandomHorizontalFlip(1),
    "RandomRotation": T.RandomRotation((25, 35), "bilinear"),
    "RandomAffine": T.RandomAffine(10, (0.1, 0.1), (0.7, 0.9), (-20, 20), "bilinear"),
    "RandomPerspective": T.RandomPerspective(0.5, 1),
    "ElasticTransform": T.ElasticTransform(120.0, 4.0),
    "Pad, reflect": T.Compose([T.CenterCrop(80), T.Pad(20, padding_mode="reflect")]),
    "ColorJitter": T.ColorJitter(0.4, 0.4, 0.8, 0.3),
    "Grayscale": T.Grayscale(3),
    "GaussianBlur": T.GaussianBlur(9, 2.5),
    "GaussianNoise": T.GaussianNoise(sigma=0.15),
    "RandomPosterize": T.RandomPosterize(2, 1),
    "RandomSolarize": T.RandomSolarize(128, 1),
    "RandomEqualize": T.RandomEqualize(1),
    "RandomInvert": T.RandomInvert(1),
    "RandomErasing": T.RandomErasing(1, scale=(0.1, 0.2), value=(255, 190, 0)),
    "TrivialAugmentWide": T.TrivialAugmentWide(),
}


def titled(image: pyburn.Tensor, title: str) -> pyburn.Tensor:
    """The image with its title below it."""
    from PIL import Image, ImageDraw

    canvas = Image.new("RGB", (SIZE, SIZE + 16), "white")
    canvas.paste(F.to_pil_image(F.center_crop(image, SIZE)), (0, 0))
    ImageDraw.Draw(canvas).text((2, SIZE + 2), title, fill="black")
    return F.pil_to_tensor(canvas)


def main() -> None:
    """Writes the picture."""
    from sklearn.datasets import load_sample_image

    pyburn.manual_seed(4)
    photograph = F.resize(
        F.center_crop(pyburn.tensor(load_sample_image("flower.jpg")).permute(2, 0, 1), 427), [SIZE, SIZE]
    )
    cells = [titled(step(photograph), title) for title, step in STEPS.items()]
    around = tv_tensors.BoundingBoxes([[17, 22, 96, 102]], format="XYXY", canvas_size=(SIZE, SIZE))
    place = pyburn.arange(SIZE)
    mask = (place - 56) ** 2 + (place[:, None] - 62) ** 2 < 40**2
    for title, step in (("boxes and masks", T.Identity()), ("follow", T.RandomAffine(30, (0.2, 0.2), (0.8, 0.9)))):
        image, boxes, where = step(tv_tensors.Image(photograph), around, tv_tensors.Mask(mask))
        shown = draw_segmentation_masks(
            image.as_subclass(pyburn.Tensor), where.as_subclass(pyburn.Tensor), 0.4, "orange"
        )
        cells.append(titled(draw_bounding_boxes(shown, boxes.as_subclass(pyburn.Tensor), colors="red", width=2), title))
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images/transforms.png")
    target.parent.mkdir(parents=True, exist_ok=True)
    F.to_pil_image(make_grid(cells, nrow=5, padding=6, pad_value=255)).quantize(192).save(target, optimize=True)


if __name__ == "__main__":
    main()
