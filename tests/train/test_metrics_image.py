"""Metrics of images and masks, against scikit-image, scikit-learn and torchmetrics."""

from __future__ import annotations

import math

import numpy as np
import pyburn
import pytest
import skimage.metrics
import sklearn.metrics
import torch
import torchmetrics.functional.image as tm
from pyburn.train import metrics
from scipy.ndimage import gaussian_filter

from .metric_checks import agree, check_splits, ours


def images(shape, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    clean = rng.uniform(0, 1, shape)
    clean = (clean + np.roll(clean, 1, -1) + np.roll(clean, 1, -2)) / 3
    return np.clip(clean + rng.normal(0, noise, shape), 0, 1).astype(np.float32), clean.astype(np.float32)


@pytest.mark.parametrize("data_range", [None, 2.0])
def test_psnr(data_range):
    output, target = images((5, 3, 8, 9))
    expected = np.mean(
        [skimage.metrics.peak_signal_noise_ratio(t, o, data_range=data_range or 1.0) for o, t in zip(output, target)]
    )
    agree(check_splits(lambda: metrics.PSNR(data_range), ours(output), ours(target)), expected, 1e-5)
    assert metrics.PSNR()(ours(target), ours(target)) == math.inf


def test_bytes_have_a_range_of_255():
    output, target = ((array * 255).astype(np.uint8) for array in images((2, 1, 16, 16)))
    expected = np.mean([skimage.metrics.peak_signal_noise_ratio(t, o) for o, t in zip(output, target)])
    agree(metrics.PSNR()(ours(output), ours(target)), expected, 1e-5)


@pytest.mark.parametrize("sigma", [1.5, 0.8])
def test_ssim_against_scikit_image(sigma):
    output, target = images((4, 2, 20, 24))
    size = 2 * int(3.5 * sigma + 0.5) + 1
    expected = np.mean(
        [
            skimage.metrics.structural_similarity(
                o.astype(np.float64), t.astype(np.float64), channel_axis=0, gaussian_weights=True, sigma=sigma,
                use_sample_covariance=False, data_range=1.0,
            )
            for o, t in zip(output, target)
        ]
    )  # fmt: skip
    make = lambda: metrics.SSIM(sigma=sigma, kernel_size=size)  # noqa: E731
    agree(check_splits(make, ours(output), ours(target)), expected, 1e-5)


def similarities(output, target):
    """The similarity and its contrast part in windows that lie inside, by scipy's Gaussian filter."""
    blur = lambda image: gaussian_filter(image, 1.5, truncate=3.5)[5:-5, 5:-5]  # noqa: E731
    mean_o, mean_t = blur(output), blur(target)
    spread = blur(output**2) - mean_o**2 + blur(target**2) - mean_t**2
    contrast = (2 * (blur(output * target) - mean_o * mean_t) + 0.03**2) / (spread + 0.03**2)
    brightness = (2 * mean_o * mean_t + 0.01**2) / (mean_o**2 + mean_t**2 + 0.01**2)
    return np.mean(brightness * contrast), np.mean(contrast)


def halved(image):
    height, width = (side // 2 * 2 for side in image.shape)
    return image[:height, :width].reshape(height // 2, 2, width // 2, 2).mean((1, 3))


def test_ms_ssim():
    output, target = images((3, 1, 51, 58), noise=0.3)
    expected = []
    for o, t in zip(output[:, 0].astype(np.float64), target[:, 0].astype(np.float64)):
        first = similarities(o, t)[1]
        second = similarities(halved(o), halved(t))[1]
        third = similarities(halved(halved(o)), halved(halved(t)))[0]
        expected.append(first**0.2 * second**0.3 * third**0.5)
    make = lambda: metrics.MSSSIM(betas=(0.2, 0.3, 0.5))  # noqa: E731
    agree(check_splits(make, ours(output), ours(target)), np.mean(expected), 1e-5)


def test_ms_ssim_against_torchmetrics():
    # The smallest scale of torchmetrics has a border of reflections, which hardly counts in these images.
    output, target = images((2, 2, 180, 176), noise=0.05)
    expected = tm.multiscale_structural_similarity_index_measure(
        torch.tensor(output), torch.tensor(target), data_range=1.0
    )
    agree(metrics.MSSSIM()(ours(output), ours(target)), expected, 1e-3)


def test_ms_ssim_of_opposites_is_zero():
    image = ours(images((1, 1, 48, 48))[1])
    assert metrics.MSSSIM(betas=(0.5, 0.5))(1 - image, image) == 0.0


def masks(seed=0, classes=4):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(5, classes, 6, 7)).astype(np.float32), rng.integers(0, classes - 1, (5, 6, 7))


@pytest.mark.parametrize("average", ["micro", "macro", "weighted", "none"])
def test_masks_of_classes(average):
    output, target = masks()
    flat, guess = target.reshape(-1), output.argmax(1).reshape(-1)
    theirs = None if average == "none" else average
    for make, reference in ((metrics.Dice, sklearn.metrics.f1_score), (metrics.IoU, sklearn.metrics.jaccard_score)):
        expected = reference(flat, guess, average=theirs)
        agree(check_splits(lambda m=make: m(average=average), ours(output), ours(target)), expected)


def test_masks_without_background():
    output, target = masks(1)
    flat, guess = target.reshape(-1), output.argmax(1).reshape(-1)
    expected = sklearn.metrics.jaccard_score(flat, guess, average="macro", labels=[1, 2, 3])
    agree(metrics.IoU(include_background=False)(ours(output), ours(target)), expected)
    with pytest.raises(ValueError, match="micro"):
        metrics.Dice(include_background=False, average="micro")


def test_one_mask():
    rng = np.random.default_rng(3)
    output, target = rng.uniform(size=(4, 1, 5, 5)).astype(np.float32), rng.integers(0, 2, (4, 1, 5, 5))
    flat, guess = target.reshape(-1), output.reshape(-1) > 0.5
    agree(check_splits(metrics.Dice, ours(output), ours(target)), sklearn.metrics.f1_score(flat, guess))
    agree(check_splits(metrics.IoU, ours(output), ours(target[:, 0])), sklearn.metrics.jaccard_score(flat, guess))
    empty = pyburn.zeros(1, 1, 2, 2)
    assert metrics.Dice()(empty, empty) == 0.0 and metrics.Dice(zero_division=1.0)(empty, empty) == 1.0


def test_wrong_inputs_say_what_to_do():
    with pytest.raises(pyburn.ShapeError, match=r"psnr: output has shape \[3, 8, 8\].*\(N, C, H, W\): unsqueeze"):
        metrics.PSNR().update(pyburn.zeros(3, 8, 8), pyburn.zeros(3, 8, 8))
    with pytest.raises(pyburn.ShapeError, match="ssim: images of 8 x 8 are smaller than the window of 11"):
        metrics.SSIM().update(pyburn.zeros(1, 3, 8, 8), pyburn.zeros(1, 3, 8, 8))
    with pytest.raises(ValueError, match="data_range is 0"):
        metrics.PSNR(0)
    with pytest.raises(ValueError, match="kernel_size is 4"):
        metrics.SSIM(kernel_size=4)


@pytest.mark.parametrize("make", [metrics.PSNR, metrics.SSIM])
def test_integers_have_no_range_of_their_own(make):
    images = pyburn.randint(0, 255, (1, 1, 16, 16), dtype=pyburn.int32)
    with pytest.raises(ValueError, match=r"images of dtype pyburn\.int32 is not known; give data_range"):
        make().update(images, images + 1)
    small = images.to(pyburn.uint8)
    assert make(255.0)(images, images + 1) == make()(small, small + 1)
