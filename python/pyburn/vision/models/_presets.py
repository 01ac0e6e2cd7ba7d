"""What images must look like for published weights: `ResNet18_Weights.DEFAULT.transforms()`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyburn import nn
from pyburn._core import Tensor, float32, uint8
from pyburn.vision.transforms import InterpolationMode
from pyburn.vision.transforms.v2 import functional as F

__all__ = ["ImageClassification", "SemanticSegmentation", "preset"]

# The part that is cut out, the shorter side before that, and the interpolation, for all that are not (224, 256).
SIZES: dict[tuple[int, int, str], str] = {
    (224, 224, "bicubic"): (
        "maxvit_t.IMAGENET1K_V1 regnet_y_128gf.IMAGENET1K_SWAG_LINEAR_V1 regnet_y_16gf.IMAGENET1K_SWAG_LINEAR_V1 "
        "regnet_y_32gf.IMAGENET1K_SWAG_LINEAR_V1 vit_b_16.IMAGENET1K_SWAG_LINEAR_V1 "
        "vit_h_14.IMAGENET1K_SWAG_LINEAR_V1 vit_l_16.IMAGENET1K_SWAG_LINEAR_V1"
    ),
    (224, 230, "bilinear"): "convnext_small.IMAGENET1K_V1",
    (224, 232, "bicubic"): "swin_t.IMAGENET1K_V1",
    (224, 232, "bilinear"): (
        "convnext_base.IMAGENET1K_V1 convnext_large.IMAGENET1K_V1 mnasnet0_75.IMAGENET1K_V1 "
        "mnasnet1_3.IMAGENET1K_V1 mobilenet_v2.IMAGENET1K_V2 mobilenet_v3_large.IMAGENET1K_V2 "
        "regnet_x_16gf.IMAGENET1K_V2 regnet_x_1_6gf.IMAGENET1K_V2 regnet_x_32gf.IMAGENET1K_V2 "
        "regnet_x_3_2gf.IMAGENET1K_V2 regnet_x_400mf.IMAGENET1K_V2 regnet_x_800mf.IMAGENET1K_V2 "
        "regnet_x_8gf.IMAGENET1K_V2 regnet_y_16gf.IMAGENET1K_V2 regnet_y_1_6gf.IMAGENET1K_V2 "
        "regnet_y_32gf.IMAGENET1K_V2 regnet_y_3_2gf.IMAGENET1K_V2 regnet_y_400mf.IMAGENET1K_V2 "
        "regnet_y_800mf.IMAGENET1K_V2 regnet_y_8gf.IMAGENET1K_V2 resnet101.IMAGENET1K_V2 resnet152.IMAGENET1K_V2 "
        "resnet50.IMAGENET1K_V2 resnext101_32x8d.IMAGENET1K_V2 resnext101_64x4d.IMAGENET1K_V1 "
        "resnext50_32x4d.IMAGENET1K_V2 shufflenet_v2_x1_5.IMAGENET1K_V1 shufflenet_v2_x2_0.IMAGENET1K_V1 "
        "wide_resnet101_2.IMAGENET1K_V2 wide_resnet50_2.IMAGENET1K_V2"
    ),
    (224, 236, "bilinear"): "convnext_tiny.IMAGENET1K_V1",
    (224, 238, "bicubic"): "swin_b.IMAGENET1K_V1",
    (224, 242, "bilinear"): "vit_l_16.IMAGENET1K_V1",
    (224, 246, "bicubic"): "swin_s.IMAGENET1K_V1",
    (224, 256, "bicubic"): "efficientnet_b0.IMAGENET1K_V1",
    (240, 255, "bilinear"): "efficientnet_b1.IMAGENET1K_V2",
    (240, 256, "bicubic"): "efficientnet_b1.IMAGENET1K_V1",
    (256, 260, "bicubic"): "swin_v2_s.IMAGENET1K_V1 swin_v2_t.IMAGENET1K_V1",
    (256, 272, "bicubic"): "swin_v2_b.IMAGENET1K_V1",
    (288, 288, "bicubic"): "efficientnet_b2.IMAGENET1K_V1",
    (299, 342, "bilinear"): "inception_v3.IMAGENET1K_V1",
    (300, 320, "bicubic"): "efficientnet_b3.IMAGENET1K_V1",
    (380, 384, "bicubic"): "efficientnet_b4.IMAGENET1K_V1",
    (384, 384, "bicubic"): (
        "regnet_y_128gf.IMAGENET1K_SWAG_E2E_V1 regnet_y_16gf.IMAGENET1K_SWAG_E2E_V1 "
        "regnet_y_32gf.IMAGENET1K_SWAG_E2E_V1 vit_b_16.IMAGENET1K_SWAG_E2E_V1"
    ),
    (384, 384, "bilinear"): "efficientnet_v2_s.IMAGENET1K_V1",
    (456, 456, "bicubic"): "efficientnet_b5.IMAGENET1K_V1",
    (480, 480, "bicubic"): "efficientnet_v2_l.IMAGENET1K_V1",
    (480, 480, "bilinear"): "efficientnet_v2_m.IMAGENET1K_V1",
    (512, 512, "bicubic"): "vit_l_16.IMAGENET1K_SWAG_E2E_V1",
    (518, 518, "bicubic"): "vit_h_14.IMAGENET1K_SWAG_E2E_V1",
    (528, 528, "bicubic"): "efficientnet_b6.IMAGENET1K_V1",
    (600, 600, "bicubic"): "efficientnet_b7.IMAGENET1K_V1",
}
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
NORMS: dict[str, tuple[Sequence[float], Sequence[float]]] = {
    "efficientnet_v2_l.IMAGENET1K_V1": ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
    "vgg16.IMAGENET1K_FEATURES": ((0.48235, 0.45882, 0.40784), (1 / 255, 1 / 255, 1 / 255)),
}


class SemanticSegmentation(nn.Module):
    """Images of PIL or tensors, resized and normalized.

    Args:
        resize_size: The shorter side afterwards.
        mean: What is taken out of each channel.
        std: What each channel is divided by.
        interpolation: How images are resized.
        antialias: Whether what would be lost in small images is smoothed before.
    """

    def __init__(
        self,
        *,
        resize_size: int | None = 520,
        mean: Sequence[float] = MEAN,
        std: Sequence[float] = DEVIATION,
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.resize_size = None if resize_size is None else [resize_size]
        self.mean, self.std = list(mean), list(std)
        self.interpolation, self.antialias = interpolation, antialias

    def __repr__(self) -> str:
        known = ("crop_size", "resize_size", "mean", "std", "interpolation")
        lines = [f"\n    {name}={getattr(self, name)}" for name in known if hasattr(self, name)]
        return f"{type(self).__name__}({''.join(lines)}\n)"

    def forward(self, img: Any) -> Tensor:
        """The image as the model wants it."""
        return self._finished(img if self.resize_size is None else self._resized(img))

    def _resized(self, img: Any) -> Any:
        whole = isinstance(img, Tensor) and img.dtype == uint8
        resized = F.resize(
            img.float() if whole else img, self.resize_size, interpolation=self.interpolation, antialias=self.antialias
        )
        # Tensors are rounded once, at the end, as torchvision's presets do it.
        return resized.clamp(0, 255).round().to(uint8) if whole else resized

    def _finished(self, img: Any) -> Tensor:
        image = img if isinstance(img, Tensor) else F.pil_to_tensor(img)  # (C, H, W)
        finished: Tensor = F.normalize(F.to_dtype(image, float32, scale=True), self.mean, self.std)
        return finished


class ImageClassification(SemanticSegmentation):
    """Images of PIL or tensors, resized, cut out of their middle and normalized.

    Args:
        crop_size: The height and width afterwards.
        resize_size: The shorter side before that.
        **kwargs: The other settings, as of SemanticSegmentation.
    """

    def __init__(self, *, crop_size: int, resize_size: int = 256, **kwargs: Any) -> None:
        super().__init__(resize_size=resize_size, **kwargs)
        self.crop_size = [crop_size]

    def _finished(self, img: Any) -> Tensor:
        return super()._finished(F.center_crop(img, self.crop_size))


def preset(model: str, weights: str) -> SemanticSegmentation:
    """The transform for one of a model's published weights.

    Example:
        >>> preset("inception_v3", "IMAGENET1K_V1").crop_size
        [299]
    """
    if weights == "COCO_WITH_VOC_LABELS_V1":
        return SemanticSegmentation()
    name = f"{model}.{weights}"
    mean, deviation = NORMS.get(name, (MEAN, DEVIATION))
    sizes = [size for size, names in SIZES.items() if name in names.split()]
    crop, resize, interpolation = sizes[0] if sizes else (224, 256, "bilinear")
    return ImageClassification(
        crop_size=crop, resize_size=resize, interpolation=InterpolationMode(interpolation), mean=mean, std=deviation
    )
