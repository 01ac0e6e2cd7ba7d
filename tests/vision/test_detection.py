"""Boxes that stay and features along boxes, against the plain loops that define them."""

from __future__ import annotations

import math

import numpy as np
import pyburn
import pytest
from pyburn.vision.detection import nms, roi_align
from pyburn.vision.operators import register


def boxes(count, size, seed=0):
    rng = np.random.default_rng(seed)
    corner = rng.uniform(0, size * 0.7, (count, 2))
    return np.concatenate([corner, corner + rng.uniform(0.5, size * 0.4, (count, 2))], 1).astype(np.float32)


def overlap(a, b):
    width = max(0.0, min(a[2], b[2]) - max(a[0], b[0]))
    height = max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
    area = [(x[2] - x[0]) * (x[3] - x[1]) for x in (a, b)]
    return width * height / (sum(area) - width * height)


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.7, 1.0])
def test_boxes_that_stay(threshold):
    found = boxes(60, 20)
    scores = np.random.default_rng(1).permutation(60).astype(np.float32)
    kept = []
    for i in np.argsort(-scores):
        if all(overlap(found[i], found[j]) <= threshold for j in kept):
            kept.append(int(i))
    assert nms(pyburn.tensor(found), pyburn.tensor(scores), threshold).tolist() == kept


def test_no_boxes_and_equal_scores():
    assert nms(pyburn.zeros(0, 4), pyburn.zeros(0), 0.5).tolist() == []
    same = pyburn.tensor([[0.0, 0, 1, 1], [2, 2, 3, 3], [0, 0, 1, 1]])
    assert nms(same, pyburn.ones(3), 0.5).tolist() == [0, 1]
    with pytest.raises(RuntimeError):
        nms(pyburn.zeros(3, 5), pyburn.zeros(3), 0.5)
    with pytest.raises(RuntimeError):
        nms(pyburn.zeros(3, 4), pyburn.zeros(2), 0.5)


def between(image, y, x):
    height, width = image.shape
    if y < -1 or y > height or x < -1 or x > width:
        return 0.0
    y, x = min(max(y, 0.0), height - 1), min(max(x, 0.0), width - 1)
    top, left = int(y), int(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    down, along = y - top, x - left
    upper = image[top, left] * (1 - along) + image[top, right] * along
    lower = image[bottom, left] * (1 - along) + image[bottom, right] * along
    return upper * (1 - down) + lower * down


def align(image, rois, scale, rows, columns, ratio, aligned):
    out = np.zeros((len(rois), image.shape[1], rows, columns))
    for k, (number, *corners) in enumerate(rois):
        x1, y1, x2, y2 = (corner * scale - (0.5 if aligned else 0.0) for corner in corners)
        width, height = x2 - x1, y2 - y1
        if not aligned:
            width, height = max(width, 1.0), max(height, 1.0)
        cell = height / rows, width / columns
        points = (ratio, ratio) if ratio > 0 else (math.ceil(cell[0]), math.ceil(cell[1]))
        for c in range(image.shape[1]):
            for i in range(rows):
                for j in range(columns):
                    total = 0.0
                    for p in range(points[0]):
                        for q in range(points[1]):
                            y = y1 + i * cell[0] + (p + 0.5) * cell[0] / points[0]
                            x = x1 + j * cell[1] + (q + 0.5) * cell[1] / points[1]
                            total += between(image[int(number), c], y, x)
                    out[k, c, i, j] = total / max(points[0] * points[1], 1)
    return out


@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize("ratio", [-1, 2])
@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_features_along_boxes(aligned, ratio, scale):
    rng = np.random.default_rng(2)
    image = rng.standard_normal((2, 3, 9, 11)).astype(np.float32)
    corners = np.concatenate([boxes(4, 12), [[-3, -2, 30, 4], [8, 7, 8.2, 7.1]]]).astype(np.float32)
    rois = np.concatenate([np.array([[1], [0], [1], [0], [0], [1]], np.float32), corners], 1)
    found = roi_align(pyburn.tensor(image), pyburn.tensor(rois), scale, 3, 2, ratio, aligned)
    np.testing.assert_allclose(found.numpy(), align(image, rois, scale, 3, 2, ratio, aligned), rtol=1e-4, atol=1e-5)


def test_gradient_of_the_features():
    x = pyburn.randn(1, 2, 5, 6, dtype=pyburn.float64, requires_grad=True)
    rois = pyburn.tensor([[0.0, 0.3, 0.2, 4.1, 3.9], [0.0, 1.0, 1.0, 2.5, 4.0]], dtype=pyburn.float64)
    assert pyburn.autograd.gradcheck(lambda x: roi_align(x, rois, 1.0, 2, 2, -1, True), (x,))
    register()
    op = pyburn.ops.torchvision._roi_align_backward
    y = roi_align(x, rois, 1.0, 2, 2, -1, True)
    (expected,) = pyburn.autograd.grad(y, x, pyburn.ones_like(y))
    found = op(pyburn.ones_like(y), rois, 1.0, 2, 2, 1, 2, 5, 6, -1, True)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-12)


@pytest.mark.parametrize("name", ["roi_pool", "ps_roi_pool", "ps_roi_align"])
def test_gradients_of_the_registered_pools(name):
    register()
    rng = np.random.default_rng(0)
    x = pyburn.tensor(rng.normal(size=(2, 8, 6, 7))).requires_grad_()
    rois = pyburn.tensor(np.concatenate([[[0], [1], [1]], boxes(3, 6).astype(np.float64)], 1))
    options = (1.0, 2, 2, 2) if name == "ps_roi_align" else (1.0, 2, 2)
    y, memory = getattr(pyburn.ops.torchvision, name)(x, rois, *options)
    assert memory.dtype == pyburn.int32 and memory.shape == y.shape
    (expected,) = pyburn.autograd.grad(y, x, y.detach())
    found = getattr(pyburn.ops.torchvision, f"_{name}_backward")(y.detach(), rois, memory, *options, *x.shape)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-12)


def test_boxes_of_no_image_and_no_boxes():
    assert roi_align(pyburn.ones(1, 2, 4, 4), pyburn.zeros(0, 5), 1.0, 2, 3, 2, True).shape == (0, 2, 2, 3)
    register()
    op = pyburn.ops.torchvision._roi_align_backward
    none = op(pyburn.zeros(0, 2, 2, 3), pyburn.zeros(0, 5), 1.0, 2, 3, 1, 2, 4, 4, 2, True)
    assert none.shape == (1, 2, 4, 4) and not none.any()
    with pytest.raises(RuntimeError, match="Tensor"):
        roi_align(pyburn.ones(1, 2, 4, 4), pyburn.zeros(1, 4), 1.0, 2, 3, 2, True)


def test_the_library_of_torchvision_is_replaced_and_others_are_not():
    pyburn.ops.load_library("/somewhere/torchvision/_C.so")
    kept = pyburn.ops.torchvision.nms(pyburn.tensor([[0.0, 0, 1, 1]]), pyburn.ones(1), 0.5)
    assert kept.tolist() == [0] and pyburn.ops.torchvision._cuda_version() == -1
    with pytest.raises(NotImplementedError, match="box_iou_rotated"):
        pyburn.ops.torchvision.box_iou_rotated(pyburn.zeros(1, 5), pyburn.zeros(1, 5))
    with pytest.raises(OSError, match="Could not load"):
        pyburn.ops.load_library("/somewhere/torchvision/others.so")


def test_operators_of_torchvision_read_and_write_images(tmp_path):
    pyburn.ops.load_library("/somewhere/torchvision/image.so")
    image = pyburn.arange(3 * 4 * 5, dtype=pyburn.uint8).reshape(3, 4, 5)
    op = pyburn.ops.image
    packed = op.encode_png(image, 6)
    assert op.decode_image(packed, 0).tolist() == op.decode_png(packed, 3, False).tolist() == image.tolist()
    assert op.decode_png(packed, 1).shape == (1, 4, 5)
    op.write_file(str(tmp_path / "a.png"), packed)
    assert op.read_file(str(tmp_path / "a.png")).tolist() == packed.tolist()
    assert op.decode_jpeg(op.encode_jpeg(image, 90), 0).shape == image.shape
    with pytest.raises(RuntimeError, match="no image"):
        op.decode_image(packed[:20], 0)
