"""Metrics of images and masks: Dice, IoU, PSNR, SSIM and MS-SSIM."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pyburn._core import ShapeError, Tensor, float32, float64, uint8
from pyburn.nn.functional import avg_pool2d, conv2d
from pyburn.ops import arange, stack
from pyburn.train.metrics.base import Mean, State, to_tensor
from pyburn.train.metrics.classification import FBeta
from pyburn.train.metrics.labels import Task

__all__ = ["MSSSIM", "PSNR", "SSIM", "Dice", "IoU", "MaskScore"]


class MaskScore(FBeta):
    """How far predicted and true masks overlap, counted over the pixels of all images.

    Outputs (N, C, H, W) with targets (N, H, W) are classes, (N, 1, H, W) one mask, (N, L, H, W) with targets of the
    same shape several masks.

    Args:
        task: As in `ClassScore`, like the other options.
        include_background: Whether class 0 is part of the mean over classes.
    """

    def __init__(self, task: Task | None = None, *, include_background: bool = True, **options: Any) -> None:
        self.include_background = include_background
        super().__init__(1.0, task, **({"name": self.name} | options))
        if not include_background and self.average == "micro":
            raise ValueError(f"{self.name}: average='micro' knows no classes; choose 'macro' without the background.")

    def _value(self, state: State) -> float | Tensor:
        if not self.include_background and state["task"] != "binary":
            state = state | {key: state[key][1:] for key in ("tp", "fp", "fn", "tn")}
        return super()._value(state)


class Dice(MaskScore):
    """Twice the overlap of predicted and true masks, as a share of both areas: the F1 score of the pixels.

    Arguments: see `MaskScore`.

    Example:
        >>> import pyburn
        >>> dice = Dice()
        >>> dice.update(pyburn.tensor([[[[0.9, 0.8], [0.1, 0.2]]]]), pyburn.tensor([[[[1, 0], [0, 0]]]]))
        >>> round(dice.compute(), 4)
        0.6667
    """

    name = "dice"


class IoU(MaskScore):
    """The overlap of predicted and true masks, as a share of their union.

    Arguments: see `MaskScore`.

    Example:
        >>> import pyburn
        >>> iou = IoU()
        >>> iou.update(pyburn.tensor([[[[0.9, 0.8], [0.1, 0.2]]]]), pyburn.tensor([[[[1, 0], [0, 0]]]]))
        >>> iou.compute()
        0.5
    """

    name = "iou"

    def _score(self, tp: Tensor, fp: Tensor, fn: Tensor, tn: Tensor, task: str) -> Tensor:
        return self._quotient(tp, tp + fp + fn)


class _ImageMean(Mean):
    """The mean over images of a value of each image."""

    higher_is_better: bool | None = True

    def __init__(self, data_range: float | None = None, name: str | None = None) -> None:
        if data_range is not None and not data_range > 0:
            raise ValueError(f"{self.name}: data_range is {data_range}; expected the largest minus the smallest value.")
        self.data_range = data_range
        self.name = name or self.name
        super().__init__()

    def _images(self, output: Any, target: Any) -> tuple[Tensor, Tensor, float]:
        """Floats (N, C, H, W) and the range of their values."""
        output, target = to_tensor(self.name, "output", output), to_tensor(self.name, "target", target)
        if output.shape != target.shape or output.ndim != 4:
            raise ShapeError(
                f"{self.name}: output has shape {list(output.shape)} and target {list(target.shape)}; expected images "
                "of one shape (N, C, H, W): unsqueeze a batch or channel dimension where it is missing."
            )
        if self.data_range is None and target.dtype != uint8 and not target.is_floating_point():
            raise ValueError(
                f"{self.name}: the range of images of dtype {target.dtype} is not known; give data_range, the largest "
                "minus the smallest possible value, e.g. 255."
            )
        span = self.data_range or (255.0 if target.dtype == uint8 else 1.0)
        wide = float64 if float64 in (output.dtype, target.dtype) else float32
        return output.to(wide), target.to(wide), span

    def _each(self, output: Tensor, target: Tensor, span: float) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} must define _each(output, target, span).")

    def _sums(self, output: Any, target: Any) -> tuple[Tensor | float, Tensor | int]:
        output, target, span = self._images(output, target)
        return self._each(output, target, span).sum(), len(output)


class PSNR(_ImageMean):
    """The peak signal-to-noise ratio in decibels, the mean over images; inf where they are equal.

    Args:
        data_range: The largest minus the smallest possible value; 255 for uint8 and 1 for floats if None.

    Example:
        >>> import pyburn
        >>> psnr = PSNR()
        >>> psnr.update(pyburn.full([1, 3, 4, 4], 0.6), pyburn.full([1, 3, 4, 4], 0.5))
        >>> round(psnr.compute(), 3)
        20.0
    """

    name = "psnr"

    def _each(self, output: Tensor, target: Tensor, span: float) -> Tensor:
        errors = ((output - target) ** 2).flatten(1).mean(1)
        return 20 * math.log10(span) - 10 * errors.log10()


class SSIM(_ImageMean):
    """The structural similarity of Wang et al. (2004), the mean over images; 1 where they are equal.

    Windows lie inside of the images, as in the paper and scikit-image; torchmetrics adds a border of reflections.

    Args:
        data_range: The largest minus the smallest possible value; 255 for uint8 and 1 for floats if None.
        sigma: The standard deviation of the Gaussian window.
        kernel_size: The side of the window.
        k1: Keeps the comparison of brightness stable.
        k2: Keeps the comparison of contrast stable.

    Example:
        >>> import pyburn
        >>> _ = pyburn.manual_seed(0)
        >>> image = pyburn.rand(2, 3, 16, 16)
        >>> ssim = SSIM()
        >>> ssim.update(image, image)
        >>> round(ssim.compute(), 5)
        1.0
    """

    name = "ssim"

    def __init__(
        self,
        data_range: float | None = None,
        *,
        sigma: float = 1.5,
        kernel_size: int = 11,
        k1: float = 0.01,
        k2: float = 0.03,
        name: str | None = None,
    ) -> None:
        if kernel_size < 1 or kernel_size % 2 == 0 or not sigma > 0:
            raise ValueError(f"{self.name}: kernel_size is {kernel_size} and sigma {sigma}; expected an odd size.")
        self.sigma = sigma
        self.kernel_size = kernel_size
        self.k1 = k1
        self.k2 = k2
        super().__init__(data_range, name)

    def _each(self, output: Tensor, target: Tensor, span: float) -> Tensor:
        return self._similarity(output, target, span)[0]

    def _similarity(self, output: Tensor, target: Tensor, span: float) -> tuple[Tensor, Tensor]:
        """The similarity of each image, and the part of it that compares contrast and structure."""
        height, width = output.shape[2:]
        if min(height, width) < self.kernel_size:
            raise ShapeError(
                f"{self.name}: images of {height} x {width} are smaller than the window of {self.kernel_size}; give "
                "larger images or a smaller kernel_size."
            )
        mean_o, mean_t = self._blur(output), self._blur(target)
        spread_o, spread_t = self._blur(output * output) - mean_o**2, self._blur(target * target) - mean_t**2
        shared = self._blur(output * target) - mean_o * mean_t
        c1, c2 = (self.k1 * span) ** 2, (self.k2 * span) ** 2
        contrast = (2 * shared + c2) / (spread_o.clamp(min=0) + spread_t.clamp(min=0) + c2)
        brightness = (2 * mean_o * mean_t + c1) / (mean_o**2 + mean_t**2 + c1)
        return (brightness * contrast).flatten(1).mean(1), contrast.flatten(1).mean(1)

    def _blur(self, images: Tensor) -> Tensor:
        """The Gaussian means of all windows that lie inside of the images."""
        places = arange(self.kernel_size, dtype=images.dtype, device=images.device) - self.kernel_size // 2
        line = (-((places / self.sigma) ** 2) / 2).exp()
        line = line / line.sum()
        rows = images.flatten(0, 1).unsqueeze(1)  # (N * C, 1, H, W)
        rows = conv2d(conv2d(rows, line.reshape([1, 1, -1, 1])), line.reshape([1, 1, 1, -1]))
        return rows.reshape([*images.shape[:2], *rows.shape[2:]])


class MSSSIM(SSIM):
    """The structural similarity on several scales of Wang et al. (2003), the mean over images.

    Args:
        data_range: As in `SSIM`, like the other options.
        betas: The exponent of each scale, from the full size to the smallest; each scale has half the size.

    Example:
        >>> import pyburn
        >>> _ = pyburn.manual_seed(0)
        >>> image = pyburn.rand(1, 1, 64, 64)
        >>> similarity = MSSSIM(betas=(0.3, 0.7))
        >>> similarity.update(image, image)
        >>> round(similarity.compute(), 5)
        1.0
    """

    name = "ms_ssim"

    def __init__(
        self,
        data_range: float | None = None,
        *,
        betas: Sequence[float] = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333),
        **options: Any,
    ) -> None:
        self.betas = tuple(betas)
        super().__init__(data_range, **options)

    def _each(self, output: Tensor, target: Tensor, span: float) -> Tensor:
        factors = []
        for scale, beta in enumerate(self.betas):
            if scale:
                output, target = avg_pool2d(output, 2), avg_pool2d(target, 2)
            full, contrast = self._similarity(output, target, span)
            last = scale == len(self.betas) - 1
            factors.append((full if last else contrast).relu() ** beta)  # below 0 has no power
        return stack(factors).prod(0)
