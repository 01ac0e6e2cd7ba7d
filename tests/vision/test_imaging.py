"""Image processing, against scipy and scikit-image."""

from __future__ import annotations

import math

import numpy as np
import PIL.Image
import pyburn
import pytest
import scipy.ndimage as ndimage
import skimage.color
import skimage.measure
import skimage.morphology
import skimage.transform
from pyburn.vision import imaging

# What scipy calls our borders.
MODES = {
    "constant": "constant",
    "replicate": "nearest",
    "reflect": "mirror",
    "symmetric": "reflect",
    "circular": "wrap",
}


def noise(*shape, seed=0, dtype=np.float64):
    return np.random.default_rng(seed).random(shape).astype(dtype)


def spiral(size):
    """One part that winds inwards: the worst case for labels that spread from pixel to pixel."""
    mask = np.zeros((size, size), bool)
    top, left, bottom, right = 0, 0, size - 1, size - 1
    while top <= bottom and left <= right:
        mask[top, left : right + 1] = True
        mask[top : bottom + 1, right] = True
        mask[bottom, left : right + 1] = True
        mask[top + 2 : bottom + 1, left] = True
        if top + 2 <= bottom:
            mask[top + 2, left : left + 2] = True
        top, left, bottom, right = top + 2, left + 2, bottom - 2, right - 2
    return mask


@pytest.mark.parametrize("connectivity", [4, 8])
@pytest.mark.parametrize("density", [0.0, 0.2, 0.45, 0.6, 1.0])
def test_parts(connectivity, density):
    mask = noise(37, 41) < density
    found = imaging.connected_components(pyburn.tensor(mask), connectivity)
    structure = np.ones((3, 3)) if connectivity == 8 else None
    expected, count = ndimage.label(mask, structure)
    assert found.dtype == pyburn.int32 and (found.numpy() == expected).all()
    labels, stats = imaging.connected_components_with_stats(pyburn.tensor(mask), connectivity)
    assert (labels.numpy() == expected).all() and stats.max_label == count
    for region in skimage.measure.regionprops(expected):
        top, left, bottom, right = region.bbox
        number = region.label
        assert stats.area[number].item() == region.area
        edges = [getattr(stats, name)[number].item() for name in ("left", "top", "right", "bottom")]
        assert edges == [left, top, right - 1, bottom - 1]
    assert stats.area.sum().item() == mask.size


def test_parts_that_wind():
    mask = spiral(61)
    found = imaging.connected_components(pyburn.tensor(mask), 4)
    assert (found.numpy() == ndimage.label(mask)[0]).all()


def test_parts_of_batches():
    masks = noise(3, 2, 9, 8) > 0.5
    found = imaging.connected_components(pyburn.tensor(masks), 8)
    for place in np.ndindex(3, 2):
        assert (found[place].numpy() == ndimage.label(masks[place], np.ones((3, 3)))[0]).all()
    assert imaging.connected_components(pyburn.zeros(0, 3, 3)).shape == (0, 3, 3)
    with pytest.raises(ValueError, match="4 or 8"):
        imaging.connected_components(pyburn.zeros(3, 3), 6)
    with pytest.raises(ValueError, match=r"\(H, W\)"):
        imaging.connected_components_with_stats(pyburn.zeros(2, 3, 3))


ELEMENTS = [("rect", 3), ("cross", (5, 3)), ("ellipse", 5), ("rect", (2, 4))]


@pytest.mark.parametrize(("shape", "size"), ELEMENTS)
@pytest.mark.parametrize("dtype", [np.float64, np.uint8, np.int32])
def test_grown_and_shrunk(shape, size, dtype):
    element = imaging.create_structuring_element(shape, size)
    picture = (noise(2, 13, 15) * 255).astype(dtype)
    footprint = element.numpy()[None]
    high = np.inf if dtype is np.float64 else int(picture.max())
    low = -np.inf if dtype is np.float64 else int(picture.min())
    smallest = imaging.erode(pyburn.tensor(picture), element)
    assert (smallest.numpy() == ndimage.minimum_filter(picture, footprint=footprint, mode="constant", cval=high)).all()
    largest = imaging.dilate(pyburn.tensor(picture), element)
    assert (largest.numpy() == ndimage.maximum_filter(picture, footprint=footprint, mode="constant", cval=low)).all()
    assert smallest.numpy().dtype == picture.dtype


@pytest.mark.parametrize("border", list(MODES))
def test_borders_of_shapes(border):
    element = imaging.create_structuring_element("ellipse", (5, 3))
    picture = noise(11, 9)
    options = {"footprint": element.numpy(), "mode": MODES[border], "cval": 0.25}
    found = imaging.erode(pyburn.tensor(picture), element, border=border, value=0.25, iterations=2)
    expected = ndimage.minimum_filter(ndimage.minimum_filter(picture, **options), **options)
    assert (found.numpy() == expected).all()


def test_masks_and_morphology():
    mask, element = noise(20, 21) > 0.3, imaging.create_structuring_element("rect", 3)
    ours = {
        name: imaging.morphology(pyburn.tensor(mask), name, element).numpy()
        for name in ("erode", "dilate", "open", "close")
    }
    square = np.ones((3, 3))
    assert ours["erode"].dtype == bool
    assert (ours["erode"] == ndimage.binary_erosion(mask, square, border_value=1)).all()
    assert (ours["dilate"] == ndimage.binary_dilation(mask, square)).all()
    assert (ours["open"] == skimage.morphology.opening(mask, square)).all()
    assert (ours["close"] == skimage.morphology.closing(mask, square)).all()
    picture = noise(20, 21)
    for name, function in (
        ("tophat", skimage.morphology.white_tophat),
        ("blackhat", skimage.morphology.black_tophat),
    ):
        found = imaging.morphology(pyburn.tensor(picture), name, element)
        np.testing.assert_allclose(found.numpy(), function(picture, square), atol=1e-12)
    outline = imaging.morphology(pyburn.tensor(picture), "gradient", element).numpy()
    np.testing.assert_allclose(outline, ndimage.maximum_filter(picture, 3) - ndimage.minimum_filter(picture, 3))
    with pytest.raises(ValueError, match="operation"):
        imaging.morphology(pyburn.zeros(3, 3), "shrink", element)


def test_structuring_elements():
    # The ellipse of OpenCV's documentation.
    expected = [[0, 0, 1, 0, 0], [1, 1, 1, 1, 1], [1, 1, 1, 1, 1], [1, 1, 1, 1, 1], [0, 0, 1, 0, 0]]
    assert imaging.create_structuring_element("ellipse", 5).int().tolist() == expected
    assert imaging.create_structuring_element("ellipse", 1).tolist() == [[True]]
    anchored = imaging.dilate(pyburn.tensor([[0, 0, 1, 0]]), pyburn.ones(1, 3), anchor=(0, 0))
    assert anchored.tolist() == [[1, 1, 1, 0]]
    for wrong in (("star", 3), ("rect", 0)):
        with pytest.raises(ValueError):  # noqa: PT011
            imaging.create_structuring_element(*wrong)
    with pytest.raises(ValueError, match="anchor"):
        imaging.erode(pyburn.zeros(3, 3), pyburn.ones(3, 3), anchor=(3, 0))
    with pytest.raises(ValueError, match="an element"):
        imaging.erode(pyburn.zeros(3, 3), pyburn.zeros(3, 3))


@pytest.mark.parametrize("border", list(MODES))
@pytest.mark.parametrize("size", [(3, 3), (5, 2), (1, 7), (11, 13)])
def test_filters(border, size):
    picture, kernel = noise(2, 3, 9, 10), noise(*size, seed=1)
    found = imaging.filter2d(pyburn.tensor(picture), pyburn.tensor(kernel), border, 0.3)
    origin = [0 if length % 2 else -1 for length in size]
    for place in np.ndindex(2, 3):
        expected = ndimage.correlate(picture[place], kernel, mode=MODES[border], cval=0.3, origin=origin)
        np.testing.assert_allclose(found[place].numpy(), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("border", ["reflect", "replicate", "symmetric", "circular"])
@pytest.mark.parametrize("size", [3, (5, 3)])
def test_blurs(border, size):
    picture = noise(2, 12, 11)
    x, mode = pyburn.tensor(picture), MODES[border]
    window = (1, *((size, size) if isinstance(size, int) else size))
    box = ndimage.uniform_filter(picture, window, mode=mode)
    np.testing.assert_allclose(imaging.box_blur(x, size, border).numpy(), box, rtol=1e-9)
    median = ndimage.median_filter(picture, window, mode=mode)
    assert (imaging.median_blur(x, size, border).numpy() == median).all()
    bell = ndimage.gaussian_filter(picture, (0, 1.5, 0.8), mode=mode, radius=(0, window[1] // 2, window[2] // 2))
    np.testing.assert_allclose(imaging.gaussian_blur2d(x, size, (1.5, 0.8), border).numpy(), bell, rtol=1e-9)


def test_blurs_of_bytes():
    picture = (noise(12, 11) * 255).astype(np.uint8)
    x = pyburn.tensor(picture)
    assert (imaging.median_blur(x, 3, "symmetric").numpy() == ndimage.median_filter(picture, 3)).all()
    box = ndimage.uniform_filter(picture.astype(float), 3)
    assert np.abs(imaging.box_blur(x, 3, "symmetric").numpy() - box).max() <= 0.51
    assert imaging.filter2d(x, pyburn.full((3, 3), 9.0)).dtype == pyburn.uint8
    with pytest.raises(ValueError, match="odd"):
        imaging.median_blur(x, 4)
    with pytest.raises(ValueError, match="border"):
        imaging.box_blur(x, 3, "mirror")
    with pytest.raises(ValueError, match="positive"):
        imaging.gaussian_blur2d(x, 3, 0.0)
    with pytest.raises(ValueError, match="KH"):
        imaging.filter2d(x, pyburn.ones(3))


def test_gradients_pass_filters():
    x = pyburn.rand(1, 6, 6, dtype=pyburn.float64, requires_grad=True)
    kernel = pyburn.rand(3, 3, dtype=pyburn.float64, requires_grad=True)
    assert pyburn.autograd.gradcheck(lambda a, b: imaging.filter2d(a, b, "symmetric"), (x, kernel))
    assert pyburn.autograd.gradcheck(lambda a: imaging.warp_affine(a, [[0.9, 0.2, 1], [-0.1, 1.1, 0.3]]), (x,))


@pytest.mark.parametrize(
    ("ours", "theirs", "tolerance"),
    [
        ("rgb_to_hsv", skimage.color.rgb2hsv, 1e-9),
        ("hsv_to_rgb", skimage.color.hsv2rgb, 1e-9),
        ("rgb_to_lab", skimage.color.rgb2lab, 1e-3),
    ],
)
def test_colours(ours, theirs, tolerance):
    picture = noise(7, 8, 3)
    picture[0, :4] = [[0, 0, 0], [1, 1, 1], [0.5, 0.5, 0.5], [1, 0, 0]]
    found = getattr(imaging, ours)(pyburn.tensor(picture).permute(2, 0, 1))
    np.testing.assert_allclose(found.permute(1, 2, 0).numpy(), theirs(picture), atol=tolerance)
    batch = getattr(imaging, ours)(pyburn.tensor(np.stack([picture, picture])).permute(0, 3, 1, 2))
    np.testing.assert_allclose(batch[1].permute(1, 2, 0).numpy(), theirs(picture), atol=tolerance)


def test_colours_back_and_forth():
    picture = noise(2, 3, 6, 5)
    x = pyburn.tensor(picture)
    np.testing.assert_allclose(imaging.hsv_to_rgb(imaging.rgb_to_hsv(x)).numpy(), picture, atol=1e-9)
    np.testing.assert_allclose(imaging.lab_to_rgb(imaging.rgb_to_lab(x)).numpy(), picture, atol=1e-4)
    lab = imaging.rgb_to_lab(x)
    expected = skimage.color.lab2rgb(lab[0].permute(1, 2, 0).numpy())
    np.testing.assert_allclose(imaging.lab_to_rgb(lab)[0].permute(1, 2, 0).numpy(), expected, atol=1e-4)
    assert (imaging.bgr_to_rgb(imaging.rgb_to_bgr(x)) == x).all() and (imaging.rgb_to_bgr(x)[:, 0] == x[:, 2]).all()
    grey = imaging.rgb_to_gray(x, (0.2125, 0.7154, 0.0721))
    np.testing.assert_allclose(grey[1, 0].numpy(), skimage.color.rgb2gray(picture[1].transpose(1, 2, 0)), atol=1e-12)
    bytes_ = (picture[0].transpose(1, 2, 0) * 255).astype(np.uint8)
    expected = np.array(PIL.Image.fromarray(bytes_).convert("L"))
    found = imaging.rgb_to_gray(pyburn.tensor(bytes_).permute(2, 0, 1) / 255.0)[0].numpy() * 255
    assert np.abs(found - expected).max() <= 0.51
    assert (imaging.gray_to_rgb(grey)[:, 2] == grey[:, 0]).all()
    with pytest.raises(TypeError, match="divide bytes by 255"):
        imaging.rgb_to_hsv(pyburn.zeros(3, 2, 2, dtype=pyburn.uint8))
    for function in (imaging.rgb_to_lab, imaging.rgb_to_gray, imaging.rgb_to_bgr):
        with pytest.raises(ValueError, match="3, H, W"):
            function(pyburn.zeros(2, 2, 2))


@pytest.mark.parametrize("size", [None, (14, 7)])
def test_maps_of_pixels(size):
    picture = noise(2, 9, 11)
    matrix = np.array([[0.9, -0.3, 1.5], [0.2, 1.1, -0.7], [0, 0, 1]])
    found = imaging.warp_affine(pyburn.tensor(picture), matrix[:2].tolist(), size)
    shape = size or (9, 11)
    for i in range(2):
        padded = np.pad(picture[i], 3)  # skimage blends with what is beyond as we do only inside of a margin
        inverse = np.linalg.inv(matrix)
        rows = np.array([[inverse[1, 1], inverse[1, 0]], [inverse[0, 1], inverse[0, 0]]])
        offset = np.array([inverse[1, 2], inverse[0, 2]]) + 3
        expected = ndimage.affine_transform(padded, rows, offset, shape, order=1)
        np.testing.assert_allclose(found[i].numpy(), expected, atol=1e-9)
    transform = skimage.transform.AffineTransform(matrix=matrix)
    padded = np.pad(picture[0], 3)
    shifted = skimage.transform.AffineTransform(translation=(3, 3))
    expected = skimage.transform.warp(padded, (transform.inverse + shifted), output_shape=shape, order=1)
    np.testing.assert_allclose(found[0].numpy(), expected, atol=1e-9)
    nearest = imaging.warp_affine(
        pyburn.tensor((picture * 255).astype(np.uint8)), [[1, 0, 2], [0, 1, 1]], mode="nearest"
    )
    assert (nearest[:, 1:, 2:].numpy() == (picture * 255).astype(np.uint8)[:, :-1, :-2]).all()
    with pytest.raises(ValueError, match="inverted"):
        imaging.warp_affine(pyburn.zeros(1, 3, 3), [[1, 1, 0], [1, 1, 0]])
    with pytest.raises(ValueError, match="C, H, W"):
        imaging.warp_affine(pyburn.zeros(3, 3), [[1, 0, 0], [0, 1, 0]])


def test_maps_of_the_plane():
    picture = noise(1, 2, 10, 10)
    x = pyburn.tensor(picture)
    kind = imaging.Transform2D
    assert (kind.identity().transform(x) - x).abs().max().item() < 1e-12
    turned = kind.rotation(math.pi / 2).transform(x).numpy()
    np.testing.assert_allclose(turned, np.rot90(picture, -1, (2, 3)), atol=1e-9)
    moved = kind.translation(0.4, -0.2).transform(x).numpy()  # two pixels right, one up
    np.testing.assert_allclose(moved[..., :-1, 2:], picture[..., 1:, :-2], atol=1e-9)
    assert (np.abs(moved[..., -1, :]) < 1e-9).all()
    steps = [
        kind.rotation(0.3, 0.1, -0.2),
        kind.scale(1.2, 0.8, 0.3, 0.0),
        kind.shear(0.1, -0.2),
        kind.translation(0.1, 0.2),
    ]
    whole = np.eye(3)
    for step in steps:
        whole = np.vstack([step.matrix, [0, 0, 1]]) @ whole
    np.testing.assert_allclose(kind.composed(steps).matrix, whole[:2], atol=1e-12)
    for step in steps[:3]:
        center = {0: (0.1, -0.2), 1: (0.3, 0.0), 2: (0.0, 0.0)}[steps.index(step)]
        np.testing.assert_allclose(np.array(step.matrix) @ [*center, 1], center, atol=1e-12)
    assert kind.identity() == kind([[1, 0, 0], [0, 1, 0]]) and "Transform2D([[1.0" in repr(kind.identity())


def test_style():
    pyburn.manual_seed(0)
    one, two = pyburn.rand(2, 3, 4, 5), pyburn.rand(2, 3, 4, 5)
    flat = one.reshape(2, 3, 20).numpy()
    np.testing.assert_allclose(imaging.gram_matrix(one).numpy(), np.einsum("nci,ndi->ncd", flat, flat) / 60, rtol=1e-5)
    loss = imaging.GramMatrixLoss(lambda x: [x, x[:, :2]], weights=[1.0, 0.5])
    expected = sum(
        weight * ((imaging.gram_matrix(one[:, :c]) - imaging.gram_matrix(two[:, :c])) ** 2).mean().item()
        for c, weight in ((3, 1.0), (2, 0.5))
    )
    assert loss(one, two).item() == pytest.approx(expected, rel=1e-5)
    shuffled = one.flatten(2)[:, :, pyburn.randperm(20)].reshape(2, 3, 4, 5)
    assert imaging.GramMatrixLoss(lambda x: x)(one, shuffled).item() == pytest.approx(0, abs=1e-9)
