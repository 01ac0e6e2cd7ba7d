"""Convolutions of images with channels last, read as they lie: by one element, by strides, one filter a channel."""

import numpy as np
import pyburn
import pytest
import torch
import widths

from oracle import check_op

POINTS = [
    # images, filters, groups, stride
    ((2, 5, 4, 3), 7, 1, 1),
    ((3, 16, 5, 6), 33, 1, 2),
    ((1, 12, 3, 3), 8, 4, 1),
    ((2, 6, 7, 5), 4, 2, (3, 2)),
    ((2, 3, 2, 2), 1, 1, 1),
]
DEPTHWISE = [
    # images, window, stride, padding, dilation
    ((2, 5, 6, 7), (3, 3), 1, 1, 1),
    ((1, 37, 9, 8), (3, 3), 2, 1, 1),
    ((2, 64, 5, 12), (5, 5), 1, 2, 1),
    ((1, 70, 11, 10), (3, 3), (2, 3), (0, 2), (2, 1)),
    ((2, 17, 4, 13), (1, 9), 1, (0, 4), 1),
    ((1, 3, 5, 5), (5, 1), 1, (3, 0), 1),
    ((1, 33, 16, 16), (7, 7), 1, 3, 1),
    ((1, 16, 6, 40), (2, 11), (1, 4), 0, 3),
    ((1, 2, 3, 3), (2, 2), 3, 2, 1),
]
STRIDED = [
    # images, filters, window, stride, padding, dilation
    ((2, 3, 9, 11), 5, (3, 3), 2, 1, 1),
    ((1, 3, 23, 21), 17, (7, 7), 2, 3, 1),
    ((2, 4, 8, 12), 33, (4, 4), 4, 0, 1),
    ((2, 3, 9, 14), 6, (2, 3), (4, 5), 0, 1),
    ((1, 19, 7, 9), 8, (3, 2), (1, 3), (2, 0), (2, 3)),
    ((3, 1, 6, 6), 2, (2, 2), 2, 0, 1),
    ((1, 40, 40, 30), 70, (3, 3), 2, 1, 1),
    ((2, 2, 5, 5), 3, (1, 5), (2, 1), (0, 4), 1),
]


def normal(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape)


def check(shape, weight, **options):
    """Values and gradients; the result is read pixel by pixel, so that its gradient has channels last as well."""

    def run(lib, x, weight, bias):
        last = x.contiguous(memory_format=lib.channels_last)
        out = lib.nn.functional.conv2d(last, weight, bias, **options)
        return out.permute(0, 2, 3, 1).reshape(-1, out.size(1)), lib.nn.functional.conv2d(last, weight, **options)

    arrays = normal(*shape), weight, normal(len(weight))
    small = shape[1] < 20 and shape[2] * shape[3] < 60
    check_op(run, *arrays, dtypes=["float32"], gradgrad=small, rtol=1e-4, atol=1e-4)
    check_op(run, *arrays, dtypes=["float64"], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("shape", "filters", "groups", "stride"), POINTS)
def test_windows_of_one_element(shape, filters, groups, stride):
    check(shape, normal(filters, shape[1] // groups, 1, 1), groups=groups, stride=stride)


@pytest.mark.parametrize(("shape", "window", "stride", "padding", "dilation"), DEPTHWISE)
def test_a_filter_for_each_channel(shape, window, stride, padding, dilation):
    weight = normal(shape[1], 1, *window)
    check(shape, weight, groups=shape[1], stride=stride, padding=padding, dilation=dilation)


@pytest.mark.parametrize(("shape", "filters", "window", "stride", "padding", "dilation"), STRIDED)
def test_windows_some_elements_apart(shape, filters, window, stride, padding, dilation):
    check(shape, normal(filters, shape[1], *window), stride=stride, padding=padding, dilation=dilation)


@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize(("groups", "window", "stride"), [(1, 3, 2), (1, 3, 1), (16, 3, 2), (1, 2, 2), (1, 1, 2)])
def test_gradients_of_weights_lie_as_these(groups, window, stride, last):
    found = []
    for lib in (pyburn, torch):
        x = lib.tensor(normal(2, 16, 6, 6)).float().to(memory_format=lib.channels_last)
        weight = lib.tensor(normal(32, 16 // groups, window, window)).float()
        weight = (weight.to(memory_format=lib.channels_last) if last else weight).requires_grad_()
        (lib.nn.functional.conv2d(x, weight, stride=stride, groups=groups) ** 2).sum().backward()
        found.append((weight.grad.is_contiguous(), weight.grad.numpy()))
    assert found[0][0] == found[1][0]
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize(("groups", "window", "stride"), [(1, 1, 1), (1, 1, 2), (32, 3, 1), (32, 3, 2), (1, 3, 1)])
def test_results_and_gradients_lie_as_torchs(groups, window, stride):
    found = []
    for lib in (pyburn, torch):
        x = lib.ones(2, 32, 6, 6).to(memory_format=lib.channels_last).requires_grad_()
        weight = lib.ones(32, 32 // groups, window, window, requires_grad=True)
        y = lib.nn.functional.conv2d(x, weight, stride=stride, padding=window // 2, groups=groups)
        y.relu().square().mean((2, 3)).sum().backward()
        found.append([tuple(t.stride()) for t in (y, x.grad)])
    assert found[0] == found[1]


def test_a_batch_has_the_numbers_of_its_images_and_weights_sums_do_not_depend_on_the_threads():
    x = pyburn.tensor(normal(9, 48, 30, 31)).float().to(memory_format=pyburn.channels_last)
    weight = pyburn.tensor(normal(48, 1, 3, 3)).float().requires_grad_()
    y = pyburn.nn.functional.conv2d(x, weight, padding=1, groups=48)
    for index in range(9):
        alone = pyburn.nn.functional.conv2d(x[index : index + 1], weight, padding=1, groups=48)
        np.testing.assert_allclose(alone[0].detach().numpy(), y[index].detach().numpy(), rtol=1e-5, atol=1e-5)
    threads, found = pyburn.get_num_threads(), []
    for number in (1, 2, 3):
        pyburn.set_num_threads(number)
        out = pyburn.nn.functional.conv2d(x, weight, padding=1, groups=48)
        found.append(pyburn.autograd.grad(out.square().sum(), weight)[0])
    pyburn.set_num_threads(threads)
    assert all(pyburn.equal(found[0], other) for other in found[1:])


@pytest.mark.parametrize("size", [3, 5])
def test_a_weight_with_channels_last_is_kept_until_it_is_written_to(size):
    x, weight = normal(1, 64, 9, 9), normal(64, 64, size, size)
    found = []
    for lib in (pyburn, torch):
        images, filters = lib.tensor(x).float(), lib.tensor(weight).float().to(memory_format=lib.channels_last)
        seen = []
        with lib.no_grad():
            for turn in range(8):
                if turn == 4:
                    filters[3, 2] += 1
                if turn == 6:
                    filters.data.mul_(2)
                seen.append(lib.nn.functional.conv2d(images, filters, padding=1).numpy().copy())
                # The same memory, read as another weight of the same sizes.
                rows = filters.permute(0, 2, 3, 1).reshape(64, 64, size, size)
                seen.append(lib.nn.functional.conv2d(images, rows, padding=1).numpy().copy())
        found.append(np.stack(seen))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_stays_where_it_is(value):
    x = normal(1, 20, 6, 6)
    x[0, 3, 2, 2] = value

    def run(lib, x):
        x = x.contiguous(memory_format=lib.channels_last)
        weight = lib.ones(20, 1, 3, 3, dtype=x.dtype)
        return lib.nn.functional.conv2d(x, weight, padding=1, groups=20), lib.nn.functional.conv2d(
            x, lib.ones(4, 20, 1, 1, dtype=x.dtype)
        )

    check_op(run, x, dtypes=["float32"], grad=False, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("lines", [2, 3, 4])
@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "int64", "complex128"])
@pytest.mark.parametrize("shape", [(1, 1, 16), (2, 5, 31), (3, 70, 300)])
def test_few_channels_turned_to_images(lines, dtype, shape):
    x = (np.arange(np.prod(shape) * lines) % 199).reshape(*shape, lines).astype(dtype)
    images = pyburn.tensor(x).permute(0, 3, 1, 2)
    assert (images.contiguous().numpy() == x.transpose(0, 3, 1, 2)).all()
    assert (images[:, :, ::2, 3:].contiguous().numpy() == x.transpose(0, 3, 1, 2)[:, :, ::2, 3:]).all()
    assert (images[:, 1:].contiguous().numpy() == x.transpose(0, 3, 1, 2)[:, 1:]).all()


@pytest.mark.parametrize("width", widths.WIDTHS)
def test_narrower_vectors(width):
    widths.check_file(__file__, width)
