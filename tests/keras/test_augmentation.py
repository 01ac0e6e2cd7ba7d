"""Layers and functions that change images and sounds, against Keras where nothing is left to chance."""

from __future__ import annotations

import numpy as np
import pyburn
import pytest
import torch
from keras_oracle import array, keras, plain
from pyburn import keras as ours

IMAGES = np.random.default_rng(0).random((4, 10, 12, 3)).astype("float32") * 255
FIXED = [
    ("RandomSaturation", ((0.3, 0.3),), {}),
    ("RandomSaturation", ((0.8, 0.8),), {"value_range": (0, 255)}),
    ("RandomColorDegeneration", ((0.4, 0.4),), {}),
    ("RandomGrayscale", (1.0,), {}),
    ("RandomInvert", ((1.0, 1.0),), {}),
    ("RandomSharpness", ((0.2, 0.2),), {}),
    ("RandomSharpness", ((0.9, 0.9),), {}),
    ("RandomGaussianBlur", ((1.0, 1.0), 3, (0.7, 0.7)), {}),
    ("RandomPosterization", ((5, 5),), {}),
    ("Solarization", (), {}),
    ("AutoContrast", (), {}),
    ("Equalization", (), {}),
    ("Equalization", (), {"bins": 64}),
    ("RandomHue", ((1.0, 1.0),), {}),
    ("RandomColorJitter", (), {"brightness_factor": (0.1, 0.1), "saturation_factor": (0.3, 0.3)}),
    ("RandomErasing", ((1.0, 1.0), (1.0, 1.0)), {"fill_value": 7}),
    ("RandomShear", (), {}),
]


@pytest.mark.filterwarnings("ignore:Tensor.T is deprecated:UserWarning")  # Keras's own
@pytest.mark.parametrize(("name", "args", "kwargs"), FIXED)
def test_what_is_not_left_to_chance_is_kerass(name, args, kwargs):
    theirs, mine = getattr(keras.layers, name)(*args, **kwargs), getattr(ours.layers, name)(*args, **kwargs)
    found, expected = mine(IMAGES, training=True), theirs(IMAGES, training=True)
    np.testing.assert_allclose(found.numpy(), expected.cpu().numpy(), atol=2e-3)
    np.testing.assert_allclose(mine(IMAGES[0], training=True).shape, IMAGES[0].shape)
    one, two = (plain(each.get_config()) for each in (mine, theirs))
    assert {key: one[key] for key in two if key not in ("name", "dtype", "data_format")} == {
        key: two[key] for key in two if key not in ("name", "dtype", "data_format")
    }
    again = type(mine).from_config(mine.get_config())
    np.testing.assert_allclose(again(IMAGES, training=True).numpy(), found.numpy(), atol=1e-3)


RANDOM = [
    "RandomHue",
    "RandomErasing",
    "RandomShear",
    "RandAugment",
    "AugMix",
    "RandomPerspective",
    "RandomColorJitter",
]
GIVEN = {
    "RandomHue": {"factor": 0.5},
    "RandomShear": {"x_factor": 0.5, "y_factor": 0.2},
    "RandomColorJitter": {"hue_factor": 0.5, "contrast_factor": 0.5},
}


@pytest.mark.parametrize("name", RANDOM)
def test_chance_changes_images_in_training_only(name):
    make = getattr(ours.layers, name)
    layer = make(**GIVEN.get(name, {}), seed=3)
    np.testing.assert_allclose(layer(IMAGES, training=False).numpy(), IMAGES, rtol=1e-6)
    first = layer(IMAGES, training=True)
    assert first.shape == IMAGES.shape and bool(pyburn.isfinite(first).all())
    # A few of the ways of RandAugment leave an image as it is.
    assert any(np.abs(layer(IMAGES, training=True).numpy() - IMAGES).max() > 1 for _ in range(8))
    again = make(**GIVEN.get(name, {}), seed=3)
    np.testing.assert_array_equal(again(IMAGES, training=True).numpy(), first.numpy())
    model = ours.Sequential([ours.Input(IMAGES.shape[1:]), make(**GIVEN.get(name, {})), ours.layers.Flatten()])
    np.testing.assert_allclose(model.predict(IMAGES, verbose=0), IMAGES.reshape(4, -1), rtol=1e-5)


@pytest.mark.parametrize("name", ["MixUp", "CutMix"])
def test_labels_are_mixed_as_images_are(name):
    # Images of one value each: what is left of it in the mix is the label's share.
    values = np.arange(4, dtype="float32")
    images = np.ones((4, 40, 40, 1), "float32") * values.reshape(4, 1, 1, 1)
    data = {"images": images, "labels": np.eye(4, dtype="float32")}
    for seed in range(5):
        mixed = getattr(ours.layers, name)(seed=seed)(data, training=True)
        np.testing.assert_allclose(mixed["labels"].sum(-1).numpy(), np.ones(4), rtol=1e-5)
        seen = mixed["images"].mean((1, 2, 3)).numpy()
        np.testing.assert_allclose(mixed["labels"].numpy() @ values, seen, atol=0.25 if name == "CutMix" else 1e-4)
    off = getattr(ours.layers, name)()(data, training=False)
    np.testing.assert_array_equal(off["images"].numpy(), images)


def test_boxes_do_not_follow_unseen():
    flip, grey = ours.layers.RandomFlip(), ours.layers.RandomGrayscale()
    with pytest.raises(ValueError, match=r"RandomFlip.*bounding_boxes would not follow"):
        flip({"images": IMAGES, "bounding_boxes": np.zeros((4, 1, 4))}, training=True)
    kept = grey({"images": IMAGES, "bounding_boxes": np.zeros((4, 1, 4)), "labels": np.ones(4)}, training=True)
    assert sorted(kept) == ["bounding_boxes", "images", "labels"]
    with pytest.raises(ValueError, match=r"factor is 1\.5"):
        ours.layers.RandomHue(1.5)


def test_layers_in_a_row_as_one():
    pipeline = ours.layers.Pipeline([ours.layers.RandomInvert((1.0, 1.0)), ours.layers.Rescaling(2.0)])
    np.testing.assert_allclose(pipeline(IMAGES).numpy(), (255 - IMAGES) * 2, rtol=1e-5)
    again = ours.layers.Pipeline.from_config(pipeline.get_config())
    np.testing.assert_allclose(again(IMAGES, training=False).numpy(), IMAGES * 2, rtol=1e-5)


def both(function):
    """What `function(ops, tensor)` gives with Keras and with pyburn, as nests of arrays."""

    def arrays(tree):
        return [arrays(each) for each in tree] if isinstance(tree, (list, tuple)) else tree.detach().cpu().numpy()

    return arrays(function(keras.ops, torch.tensor)), arrays(function(ours.ops, pyburn.tensor))


def same(function, tolerance=1e-4):
    def compare(one, two):
        if isinstance(one, list):
            assert len(one) == len(two)
            for pair in zip(one, two, strict=True):
                compare(*pair)
        else:
            np.testing.assert_allclose(two, one, rtol=tolerance, atol=tolerance)

    compare(*both(function))


def test_functions_of_images():
    unit, places = IMAGES / 255, np.random.default_rng(2).random((2, 20)).astype("float32") * 14 - 2
    row = np.array([[1, 0.2, 1, 0.1, 0.9, -2, 0, 0]] * 4, "float32")
    start = np.array([[[0, 0], [11, 0], [0, 9], [11, 9]]] * 4, "float32")
    end = start + array(start.shape)
    same(lambda o, t: [o.image.rgb_to_hsv(t(unit)), o.image.hsv_to_rgb(o.image.rgb_to_hsv(t(unit)))])
    same(lambda o, t: [o.image.rgb_to_grayscale(t(unit)), o.image.extract_patches(t(unit), 3)])
    same(lambda o, t: o.image.extract_patches(t(unit), (3, 2), strides=(2, 1), padding="same"))
    same(lambda o, t: o.image.crop_images(t(unit), 1, 2, target_height=5, target_width=6))
    same(lambda o, t: o.image.pad_images(t(unit), 1, 2, target_height=15, target_width=16))
    for mode in ("constant", "nearest"):
        same(lambda o, t, mode=mode: o.image.affine_transform(t(unit), t(row), fill_mode=mode, fill_value=0.3))
    same(lambda o, t: o.image.perspective_transform(t(unit), t(start), t(end)), 1e-3)
    for mode in ("constant", "nearest", "wrap", "mirror", "reflect"):
        for order in (0, 1):
            same(lambda o, t, m=mode, n=order: o.image.map_coordinates(t(unit[0, :, :, 0]), t(places), n, m, 0.5))


def test_spectra():
    x, y = array((2, 64)), array((2, 64), 1)
    same(lambda o, t: [o.fft((t(x), t(y))), o.fft2((t(x), t(y))), o.ifft2((t(x), t(y)))])
    same(lambda o, t: [o.rfft(t(x)), o.rfft(t(x), 32), o.irfft(o.rfft(t(x)))])
    same(lambda o, t: o.extract_sequences(t(x), 16, 8))
    for window in ("hann", "hamming", None):
        same(lambda o, t, w=window: [o.stft(t(x), 16, 8, 32, window=w, center=c) for c in (True, False)])
    same(lambda o, t: o.istft(o.stft(t(x), 16, 8, 16), 16, 8, 16, length=60))
    settings = {"fft_length": 16, "sequence_stride": 8, "num_mel_bins": 5, "sampling_rate": 800}
    for more in ({}, {"power_to_db": False, "mag_exp": 1.0}):
        theirs, mine = keras.layers.MelSpectrogram(**settings, **more), ours.layers.MelSpectrogram(**settings, **more)
        np.testing.assert_allclose(mine(x).numpy(), theirs(x).cpu().numpy(), rtol=1e-3, atol=1e-3)
        assert mine.compute_output_shape((None, 64)) == (None, 5, mine(x).shape[-1])


def test_sequences_without_alignment():
    scores, targets = array((3, 12, 6)), array((3, 4), 1, 1, 6)
    longs, lengths = np.array([12, 10, 9]), np.array([4, 3, 2])
    same(lambda o, t: o.ctc_loss(t(targets), t(scores), t(lengths), t(longs)))
    same(lambda o, t: o.ctc_decode(t(scores), t(longs)))
    same(lambda o, t: o.ctc_decode(t(scores), t(longs), merge_repeated=False, mask_index=5))


def test_draws_have_their_means():
    random = ours.random
    assert abs(float(random.gamma((20000,), 2.5, seed=1).mean()) - 2.5) < 0.05
    assert abs(float(random.gamma((20000,), 0.3, seed=1).mean()) - 0.3) < 0.02
    assert abs(float(random.beta((20000,), 2.0, 6.0, seed=1).mean()) - 0.25) < 0.01
    assert abs(float(random.binomial((20000,), 8, 0.25, seed=1).mean()) - 2.0) < 0.03


def test_filters_with_given_kernels():
    x, deep, across = array((2, 9, 8, 4)), array((3, 3, 4, 2), 1), array((1, 1, 8, 5), 2)
    back = array((3, 3, 5, 4), 3)
    same(lambda o, t: [o.depthwise_conv(t(x), t(deep), padding=p) for p in ("same", "valid")])
    same(lambda o, t: o.separable_conv(t(x), t(deep), t(across)))
    same(lambda o, t: [o.conv_transpose(t(x), t(back), strides=2, padding=p) for p in ("same", "valid")])
    same(lambda o, t: [o.adaptive_average_pool(t(x), (3, 2)), o.adaptive_max_pool(t(x), 3)])
    same(lambda o, t: [o.depth_to_space(t(x), 2), o.space_to_depth(t(x[:, :8]), 2), o.psnr(t(x), t(0.9 * x), 1.0)])


def test_windows_and_what_is_no_number():
    holes = np.array([[1.0, np.nan, 3.0], [2.0, 0.0, np.nan]], "float32")
    lower = np.tril(np.abs(array((3, 3))) + 1)
    same(lambda o, t: [getattr(o, name)(7) for name in ("bartlett", "blackman", "hamming", "hanning")])
    same(lambda o, t: [o.kaiser(7, 3.0), o.i0(t(lower)), o.solve_triangular(t(lower), t(lower[:, :1]), lower=True)])
    same(lambda o, t: [o.nanargmax(t(holes), axis=1), o.nancumsum(t(holes), axis=1), o.nanmedian(t(holes), axis=1)])
    same(lambda o, t: [o.saturate_cast(t(np.array([-5.0, 300.0])), "uint8"), o.vander(t(np.arange(1, 4)))])
    same(lambda o, t: [*o.unravel_index(t(np.array([5, 7])), (3, 4)), o.select([t(holes > 2)], [t(holes)], 9.0)])


def test_a_gradient_of_ones_own():
    def program(o, t):
        @o.custom_gradient
        def softplus(x):
            grown = o.exp(x)
            return o.log(1 + grown), lambda *args, upstream: upstream * (1.0 - 1 / (1 + grown))

        x = t([1.0, 100.0], requires_grad=True)
        softplus(x).sum().backward()
        return x.grad

    same(program)
