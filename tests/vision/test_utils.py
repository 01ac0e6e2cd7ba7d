"""Pictures of results, and files of images, against torchvision."""

from __future__ import annotations

import io
import warnings

import numpy as np
import PIL.Image
import pyburn
import pytest
import torch
import torchvision.io
import torchvision.utils as theirs
from pyburn.vision import io as files
from pyburn.vision import utils as ours

from oracle import from_torch, to_torch


def image(*shape, dtype=torch.uint8, seed=0):
    made = torch.rand(*shape, generator=torch.Generator().manual_seed(seed))
    return (made * 256).to(dtype) if dtype == torch.uint8 else made.to(dtype)


def same(found, expected, atol=1e-6):
    assert tuple(found.shape) == tuple(expected.shape)
    torch.testing.assert_close(to_torch(found.contiguous()), expected, rtol=1e-6, atol=atol)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"nrow": 3, "padding": 1, "pad_value": 0.5},
        {"normalize": True},
        {"normalize": True, "scale_each": True},
        {"normalize": True, "value_range": (0.2, 0.7)},
    ],
)
@pytest.mark.parametrize("shape", [(7, 3, 5, 6), (4, 1, 5, 6), (1, 3, 5, 6), (3, 5, 6), (1, 5, 6), (5, 6)])
def test_grid(shape, options):
    images = image(*shape, dtype=torch.float32)
    same(ours.make_grid(from_torch(images), **options), theirs.make_grid(images, **options))
    if len(shape) == 4:
        same(ours.make_grid([from_torch(x) for x in images], **options), theirs.make_grid(list(images), **options))
    with pytest.raises(TypeError, match="expected"):
        ours.make_grid("images")


def test_saved_image(tmp_path):
    images = image(5, 3, 6, 7, dtype=torch.float32) * 1.2 - 0.1
    ours.save_image(from_torch(images), tmp_path / "ours.png", nrow=2)
    theirs.save_image(images, tmp_path / "theirs.png", nrow=2)
    found, expected = (np.array(PIL.Image.open(tmp_path / name)) for name in ("ours.png", "theirs.png"))
    assert (found == expected).all()
    buffer = io.BytesIO()
    ours.save_image(from_torch(images), buffer, format="png")
    assert buffer.getvalue().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"colors": "red", "width": 3},
        {"colors": ["red", (1, 2, 3), "#ff00ff"], "fill": True},
        {"labels": ["a", "b", "c"], "colors": (9, 8, 7)},
        {"labels": ["a", "b", "c"], "fill_labels": True, "label_background_colors": "blue", "label_colors": "white"},
    ],
)
@pytest.mark.parametrize(("channels", "dtype"), [(3, torch.uint8), (1, torch.uint8), (3, torch.float32)])
def test_drawn_boxes(options, channels, dtype):
    picture = image(channels, 40, 50, dtype=dtype)
    boxes = torch.tensor([[2.0, 3, 20, 30], [10, 5, 45, 20], [0, 0, 49, 39]])
    found = ours.draw_bounding_boxes(from_torch(picture), from_torch(boxes), **options)
    same(found, theirs.draw_bounding_boxes(picture, boxes, **options))


def test_refused_boxes():
    picture, boxes = pyburn.zeros(3, 9, 9, dtype=pyburn.uint8), pyburn.tensor([[1, 1, 5, 5]])
    for args, kind in (
        ((picture, pyburn.tensor([[5, 1, 1, 5]])), ValueError),
        ((picture[None], boxes), ValueError),
        ((picture[:2], boxes), ValueError),
        ((picture.to(pyburn.int32), boxes), ValueError),
        (("picture", boxes), TypeError),
        ((picture, boxes, ["a", "b"]), ValueError),
        ((picture, boxes, None, (1, 2)), ValueError),
        ((picture, boxes, None, 5), ValueError),
        ((picture, boxes, None, []), ValueError),
    ):
        with pytest.raises(kind):
            ours.draw_bounding_boxes(*args)
    with pytest.warns(UserWarning, match="any box"):
        assert ours.draw_bounding_boxes(picture, pyburn.zeros(0, 4)) is picture


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
@pytest.mark.parametrize("options", [{}, {"alpha": 0.3, "colors": ["red", "blue"]}, {"colors": (4, 5, 6)}])
def test_drawn_masks(dtype, options):
    picture = image(3, 12, 14, dtype=dtype)
    masks = image(2, 12, 14, dtype=torch.float32) > 0.6
    found = ours.draw_segmentation_masks(from_torch(picture), from_torch(masks), **options)
    same(found, theirs.draw_segmentation_masks(picture, masks, **options))
    found = ours.draw_segmentation_masks(from_torch(picture), from_torch(masks[0]), **options)
    same(found, theirs.draw_segmentation_masks(picture, masks[0], **options))
    with pytest.raises(ValueError, match="bool"):
        ours.draw_segmentation_masks(from_torch(picture), pyburn.zeros(2, 12, 14))
    with pytest.raises(ValueError, match="same height"):
        ours.draw_segmentation_masks(from_torch(picture), from_torch(masks)[:, :5])


def test_drawn_points():
    picture = image(3, 40, 50)
    points = torch.tensor([[[5.0, 6], [30, 20], [44, 33]], [[10, 10], [20, 30], [40, 5]]])
    seen = torch.tensor([[True, True, False], [True, True, True]])
    for options in ({}, {"colors": "red", "radius": 4}, {"connectivity": [(0, 1), (1, 2)], "width": 2}):
        found = ours.draw_keypoints(from_torch(picture), from_torch(points), **options)
        same(found, theirs.draw_keypoints(picture, points, **options))
        found = ours.draw_keypoints(from_torch(picture), from_torch(points), visibility=from_torch(seen), **options)
        same(found, theirs.draw_keypoints(picture, points, visibility=seen, **options))
    with pytest.raises(ValueError, match="same dimensionality"):
        ours.draw_keypoints(from_torch(picture), from_torch(points), visibility=pyburn.ones(2, 2))


def test_flow():
    flow = torch.randn(2, 2, 9, 10, generator=torch.Generator().manual_seed(0))
    found, expected = to_torch(ours.flow_to_image(from_torch(flow))), theirs.flow_to_image(flow)
    assert (found.int() - expected.int()).abs().max() <= 1 and (found != expected).float().mean() < 0.01
    same(ours.flow_to_image(from_torch(flow[0])), theirs.flow_to_image(flow[0]), atol=1)
    for wrong in (flow.double(), flow[:, :1]):
        with pytest.raises(ValueError, match="low should"):
            ours.flow_to_image(from_torch(wrong))


def read_with_torchvision(path, *mode):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return torchvision.io.read_image(str(path), *mode)


@pytest.mark.parametrize("channels", [1, 3])
def test_files_of_images(tmp_path, channels):
    picture = image(channels, 20, 30)
    files.write_png(from_torch(picture), tmp_path / "a.png")
    same(files.read_image(tmp_path / "a.png"), picture)
    same(files.decode_image(files.encode_png(from_torch(picture), 9)), picture)
    files.write_jpeg(from_torch(picture), tmp_path / "a.jpg", quality=90)
    expected = read_with_torchvision(tmp_path / "a.jpg")
    assert (to_torch(files.read_image(tmp_path / "a.jpg")).int() - expected.int()).abs().max() <= 2
    for mode in ("UNCHANGED", "GRAY", "RGB", "RGB_ALPHA"):
        found = files.read_image(tmp_path / "a.png", files.ImageReadMode[mode])
        expected = read_with_torchvision(tmp_path / "a.png", torchvision.io.ImageReadMode[mode])
        assert tuple(found.shape) == tuple(expected.shape)
        assert (to_torch(found).int() - expected.int()).abs().max() <= 1
    assert files.read_file(tmp_path / "a.png").numpy().tobytes() == (tmp_path / "a.png").read_bytes()


def test_damaged_files_of_images(tmp_path):
    data = files.encode_png(from_torch(image(3, 20, 30)))
    (tmp_path / "bad.png").write_bytes(data.numpy().tobytes()[:-40])
    with pytest.raises(RuntimeError, match=r"bad\.png is no image"):
        files.read_image(tmp_path / "bad.png")
    with pytest.raises(RuntimeError, match="no image"):
        files.decode_image(data[5:])
    with pytest.raises(FileNotFoundError):
        files.read_image(tmp_path / "absent.png")
    with pytest.raises(RuntimeError, match="uint8"):
        files.encode_png(pyburn.zeros(3, 2, 2))
    with pytest.raises(ValueError, match="quality"):
        files.encode_jpeg(from_torch(image(3, 2, 2)), 0)
