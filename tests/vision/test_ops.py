"""torchvision.ops, against torchvision."""

from __future__ import annotations

import numpy as np
import pyburn
import pytest
import torch
import torchvision.ops as theirs
from pyburn.vision import ops as ours
from torchvision.ops.feature_pyramid_network import LastLevelMaxPool, LastLevelP6P7

from oracle import from_torch, to_torch


def boxes(count, seed=0, size=20.0, dtype="float32"):
    rng = np.random.default_rng(seed)
    corner = rng.uniform(0, size * 0.6, (count, 2))
    return np.concatenate([corner, corner + rng.uniform(0.5, size * 0.5, (count, 2))], 1).astype(dtype)


def pick(name):
    return getattr(ours, name), getattr(theirs, name)


def same(found, expected, rtol=1e-5, atol=1e-6):
    assert str(found.dtype).split(".")[1] == str(expected.dtype).split(".")[1]
    torch.testing.assert_close(to_torch(found.detach().contiguous()), expected.detach(), rtol=rtol, atol=atol)


@pytest.mark.parametrize("name", ["box_iou", "generalized_box_iou", "distance_box_iou", "complete_box_iou"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "uint8"])
def test_shares(name, dtype):
    if dtype == "uint8" and name != "box_iou":
        dtype = "int32"
    one, two = (boxes(count, seed, dtype=dtype) for count, seed in ((4, 0), (6, 1)))
    mine, other = pick(name)
    same(mine(pyburn.tensor(one), pyburn.tensor(two)), other(torch.tensor(one), torch.tensor(two)), atol=1e-5)


@pytest.mark.parametrize("fmt", ["xyxy", "xywh", "cxcywh"])
def test_formats(fmt):
    one, two = boxes(4), boxes(5, 1)
    same(
        ours.box_iou(pyburn.tensor(one), pyburn.tensor(two), fmt),
        theirs.box_iou(torch.tensor(one), torch.tensor(two), fmt),
    )
    same(ours.box_area(pyburn.tensor(one), fmt), theirs.box_area(torch.tensor(one), fmt))
    for other in ("xyxy", "xywh", "cxcywh"):
        same(ours.box_convert(pyburn.tensor(one), fmt, other), theirs.box_convert(torch.tensor(one), fmt, other))
    with pytest.raises(ValueError, match="Unsupported"):
        ours.box_convert(pyburn.tensor(one), fmt, "yx")
    with pytest.raises(ValueError, match="Unsupported"):
        ours.box_area(pyburn.tensor(one), "yx")


def test_boxes_to_keep():
    found, scores = boxes(300), np.random.default_rng(5).random(300).astype("float32")
    classes = np.random.default_rng(6).integers(0, 4, 300)
    for count in (300, 40, 0):
        args = found[:count], scores[:count], classes[:count]
        for many in (ours.boxes._MANY, 100):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(ours.boxes, "_MANY", many)
                kept = ours.batched_nms(*map(pyburn.tensor, args), 0.4)
            assert kept.tolist() == theirs.batched_nms(*map(torch.tensor, args), 0.4).tolist()
        plain = ours.nms(pyburn.tensor(args[0]), pyburn.tensor(args[1]), 0.5)
        assert plain.tolist() == theirs.nms(torch.tensor(args[0]), torch.tensor(args[1]), 0.5).tolist()
    small = ours.remove_small_boxes(pyburn.tensor(found), 4.0)
    assert small.tolist() == theirs.remove_small_boxes(torch.tensor(found), 4.0).tolist()
    wild = found * 3 - 10
    same(
        ours.clip_boxes_to_image(pyburn.tensor(wild), (15, 25)),
        theirs.clip_boxes_to_image(torch.tensor(wild), (15, 25)),
    )


def test_boxes_of_masks():
    masks = np.random.default_rng(0).random((5, 9, 11)) > 0.97
    masks[2] = False
    same(ours.masks_to_boxes(pyburn.tensor(masks)), theirs.masks_to_boxes(torch.tensor(masks)))
    same(ours.masks_to_boxes(pyburn.zeros(0, 3, 3)), theirs.masks_to_boxes(torch.zeros(0, 3, 3)))


@pytest.mark.parametrize("name", ["generalized_box_iou_loss", "distance_box_iou_loss", "complete_box_iou_loss"])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_losses_of_boxes(name, reduction):
    mine, other = pick(name)
    one, two = boxes(7, dtype="float64"), boxes(7, 3, dtype="float64")
    two[3] += 50
    results = []
    for lib, function in ((pyburn, mine), (torch, other)):
        first, second = (lib.tensor(array, requires_grad=True) for array in (one, two))
        loss = function(first, second, reduction)
        loss.sum().backward()
        results.append((loss, first.grad, second.grad))
    for found, expected in zip(*results, strict=True):
        same(found, expected, atol=1e-8)
    nothing = mine(pyburn.zeros(0, 4), pyburn.zeros(0, 4), reduction)
    assert nothing.tolist() == other(torch.zeros(0, 4), torch.zeros(0, 4), reduction).tolist()
    with pytest.raises(ValueError, match="reduction"):
        mine(pyburn.tensor(one), pyburn.tensor(two), "most")


@pytest.mark.parametrize("options", [{}, {"alpha": -1}, {"alpha": 0.6, "gamma": 1.5, "reduction": "mean"}])
def test_focal_loss(options):
    rng = np.random.default_rng(0)
    logits, targets = rng.normal(size=(4, 5)) * 3, (rng.random((4, 5)) > 0.5).astype(float)
    results = []
    for lib, function in ((pyburn, ours.sigmoid_focal_loss), (torch, theirs.sigmoid_focal_loss)):
        x = lib.tensor(logits, requires_grad=True)
        loss = function(x, lib.tensor(targets), **options)
        loss.sum().backward()
        results.append((loss, x.grad))
    for found, expected in zip(*results, strict=True):
        same(found, expected, atol=1e-9)
    with pytest.raises(ValueError, match="alpha"):
        ours.sigmoid_focal_loss(pyburn.zeros(1), pyburn.zeros(1), alpha=2)


POOLS = {
    "roi_align": [{}, {"spatial_scale": 0.5, "sampling_ratio": 2}, {"aligned": True}],
    "roi_pool": [{}, {"spatial_scale": 0.5}],
    "ps_roi_align": [{}, {"spatial_scale": 0.5, "sampling_ratio": 2}],
    "ps_roi_pool": [{}, {"spatial_scale": 0.5}],
}


@pytest.mark.parametrize(("name", "options"), [(name, option) for name, options in POOLS.items() for option in options])
def test_features_along_boxes(name, options):
    mine, other = pick(name)
    rng = np.random.default_rng(1)
    features = rng.normal(size=(2, 12, 17, 15))
    # Equal values, as after a ReLU: which of them gets the gradient counts too.
    features = np.maximum(features, 0)
    rois = [boxes(5, 2, 16.0, "float64"), boxes(4, 3, 40.0, "float64") - 5]
    for size in ((2, 3), 2):
        results = []
        for lib, function in ((pyburn, mine), (torch, other)):
            x = lib.tensor(features, requires_grad=True)
            y = function(x, [lib.tensor(part) for part in rois], size, **options)
            (y * lib.arange(y.numel(), dtype=lib.float64).reshape(y.shape)).sum().backward()
            results.append((y, x.grad))
        (y, gradient), (y_too, gradient_too) = results
        same(y, y_too, rtol=1e-6, atol=1e-6)
        if name == "ps_roi_pool":
            # torchvision's gradient takes in the last row and column, which its values leave out. The values are linear
            # in the features, so that the right gradient gives them back.
            weights = pyburn.arange(y.numel(), dtype=pyburn.float64).reshape(y.shape)
            same((gradient * pyburn.tensor(features)).sum(), to_torch((y * weights).sum().detach()), rtol=1e-9)
        else:
            same(gradient, gradient_too, rtol=1e-6, atol=1e-6)
    nothing = mine(pyburn.tensor(features), pyburn.zeros(0, 5, dtype=pyburn.float64), (2, 3), **options)
    assert (
        nothing.shape == other(torch.tensor(features), torch.zeros(0, 5, dtype=torch.float64), (2, 3), **options).shape
    )
    with pytest.raises(AssertionError, match="not correct"):
        mine(pyburn.tensor(features), pyburn.zeros(3, 4, dtype=pyburn.float64), 2)


def test_modules_of_pools():
    x, roi = np.random.default_rng(0).normal(size=(1, 8, 9, 9)).astype("float32"), boxes(3, size=9.0)
    for name, args in (
        ("RoIAlign", ((2, 2), 1.0, 2, True)),
        ("RoIPool", (2, 0.5)),
        ("PSRoIAlign", ((2, 2), 1.0, 2)),
        ("PSRoIPool", (2, 1.0)),
    ):
        mine, other = (kind(*args) for kind in pick(name))
        assert repr(mine) == repr(other)
        same(mine(pyburn.tensor(x), [pyburn.tensor(roi)]), other(torch.tensor(x), [torch.tensor(roi)]), atol=1e-5)


@pytest.mark.parametrize("maps", [1, 3])
def test_several_scales(maps):
    rng = np.random.default_rng(0)
    features = {str(i): rng.normal(size=(2, 4, 64 >> i, 48 >> i)).astype("float32") for i in range(maps)}
    features["pool"] = np.zeros((2, 4, 2, 2), "float32")
    rois = [boxes(6, 0, 500.0), boxes(5, 1, 100.0)]
    names = [str(i) for i in range(maps)]
    mine, other = (kind(names, 3, 2, canonical_scale=100) for kind in pick("MultiScaleRoIAlign"))
    found = mine({k: pyburn.tensor(v) for k, v in features.items()}, [pyburn.tensor(r) for r in rois], [(256, 192)] * 2)
    same(
        found,
        other({k: torch.tensor(v) for k, v in features.items()}, [torch.tensor(r) for r in rois], [(256, 192)] * 2),
        atol=1e-5,
    )
    assert repr(mine) == repr(other)


def test_blocks_of_models():
    x = torch.rand(2, 4, 6, 6, generator=torch.Generator().manual_seed(0))
    for name, args in (
        ("Conv2dNormActivation", (4, 6)),
        ("SqueezeExcitation", (4, 2)),
        ("MLP", (6, [5, 3])),
        ("Permute", ([0, 2, 3, 1],)),
        ("StochasticDepth", (0.5, "row")),
    ):
        mine, other = (kind(*args) for kind in pick(name))
        mine.load_state_dict({key: from_torch(value) for key, value in other.state_dict().items()})
        pyburn.manual_seed(1)
        torch.manual_seed(1)
        same(mine(from_torch(x)), other(x), atol=1e-5)
    assert all(hasattr(ours, name) for name in ours.__all__) and "MLP" in ours.__all__
    with pytest.raises(AttributeError):
        ours.nothing  # noqa: B018


def test_blocks_of_volumes():
    x = torch.rand(1, 4, 6, 7, 8, generator=torch.Generator().manual_seed(0))
    for options in ({}, {"kernel_size": (3, 1, 5), "stride": 2, "norm_layer": None}, {"dilation": 2, "groups": 2}):
        mine, other = (kind(4, 6, **options) for kind in pick("Conv3dNormActivation"))
        mine.load_state_dict({key: from_torch(value) for key, value in other.state_dict().items()})
        same(mine(from_torch(x)), other(x), atol=1e-5)


def test_every_name_of_torchvision():
    assert set(theirs.__all__) <= set(ours.__all__)


def test_frozen_norm():
    mine, other = ours.FrozenBatchNorm2d(3), theirs.FrozenBatchNorm2d(3)
    trained = torch.nn.BatchNorm2d(3)
    trained.running_mean += torch.arange(3)
    trained.running_var += torch.arange(3)
    other.load_state_dict(trained.state_dict())
    mine.load_state_dict({name: from_torch(value) for name, value in trained.state_dict().items()})
    x = torch.rand(2, 3, 4, 5, generator=torch.Generator().manual_seed(0))
    same(mine(from_torch(x)), other(x))
    assert repr(mine) == repr(other) and list(mine.state_dict()) == list(other.state_dict())


@pytest.mark.parametrize(("name", "shape"), [("drop_block2d", (3, 4, 9, 8)), ("drop_block3d", (2, 2, 6, 7, 8))])
def test_dropped_blocks(name, shape):
    mine, other = pick(name)
    x = torch.rand(shape, generator=torch.Generator().manual_seed(0))
    for block, p in ((3, 0.3), (5, 0.1), (99, 0.5)):
        pyburn.manual_seed(7)
        torch.manual_seed(7)
        if min(block, *shape[2:]) % 2 == 0:
            with pytest.raises(ValueError, match="even"):
                mine(from_torch(x), p, block)
            continue
        same(mine(from_torch(x), p, block), other(x.clone(), p, block))
        same(mine(from_torch(x), p, block, inplace=True), other(x.clone(), p, block, inplace=True))
    for wrong in ((from_torch(x), 2.0, 3), (from_torch(x)[0], 0.5, 3)):
        with pytest.raises(ValueError):  # noqa: PT011
            mine(*wrong)
    layer, layer_too = (kind(0.2, 3) for kind in pick("DropBlock2d"))
    assert repr(layer) == repr(layer_too)
    assert layer.eval()(pyburn.ones(1, 1, 4, 4)).sum().item() == 16


@pytest.mark.parametrize("extra", [None, "pool", "p6p7"])
def test_pyramid(extra):
    shapes = {"a": (2, 4, 16, 12), "b": (2, 6, 8, 6), "c": (2, 8, 4, 3)}
    features = {name: np.random.default_rng(0).normal(size=shape).astype("float32") for name, shape in shapes.items()}
    more = {
        None: (None, None),
        "pool": (ours.layers.LastLevelMaxPool(), LastLevelMaxPool()),
        "p6p7": (ours.layers.LastLevelP6P7(8, 5), LastLevelP6P7(8, 5)),
    }[extra]
    pyburn.manual_seed(3)
    torch.manual_seed(3)
    mine = ours.FeaturePyramidNetwork([4, 6, 8], 5, more[0])
    other = theirs.FeaturePyramidNetwork([4, 6, 8], 5, more[1])
    for key, value in other.state_dict().items():
        if not key.startswith("extra"):
            same(mine.state_dict()[key], value, atol=1e-6)
    mine.load_state_dict({key: from_torch(value) for key, value in other.state_dict().items()})
    found = mine({name: pyburn.tensor(value) for name, value in features.items()})
    expected = other({name: torch.tensor(value) for name, value in features.items()})
    assert list(found) == list(expected)
    for name in expected:
        same(found[name], expected[name], atol=1e-4)
    with pytest.raises(ValueError, match="in_channels=0"):
        ours.FeaturePyramidNetwork([0], 5)
    with pytest.raises(TypeError, match="ExtraFPNBlock"):
        ours.FeaturePyramidNetwork([1], 5, pyburn.nn.Identity())


@pytest.mark.parametrize("masked", [True, False])
def test_bent_convolution(masked):
    pyburn.manual_seed(1)
    torch.manual_seed(1)
    mine, other = (kind(4, 6, (3, 2), stride=2, padding=1, groups=2) for kind in pick("DeformConv2d"))
    assert repr(mine) == repr(other)
    same(mine.weight, other.weight)
    rng = np.random.default_rng(0)
    x, offset = rng.normal(size=(2, 4, 9, 8)).astype("float32"), rng.normal(size=(2, 12, 5, 5)).astype("float32")
    mask = rng.random((2, 6, 5, 5)).astype("float32") if masked else None
    args = [part for part in (x, offset, mask) if part is not None]
    same(mine(*map(pyburn.tensor, args)), other(*map(torch.tensor, args)), atol=1e-5)
    with pytest.raises(RuntimeError, match="offset"):
        ours.deform_conv2d(pyburn.zeros(1, 1, 3, 3), pyburn.zeros(1, 1, 3, 3), pyburn.zeros(1, 1, 1, 1))
