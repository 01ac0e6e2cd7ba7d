"""Bent convolutions, against plain ones and against differences."""

from __future__ import annotations

import pyburn
import pytest
from pyburn.vision.deformable import deform_conv2d, deform_conv2d_backward


def tensors(batch=2, channels=4, filters=6, groups=2, parts=2, high=5, wide=4):
    pyburn.manual_seed(0)
    kind = {"dtype": pyburn.float64}
    return [
        pyburn.randn(batch, channels, 5, 6, **kind),
        pyburn.randn(filters, channels // groups, 3, 3, **kind),
        pyburn.randn(batch, 2 * parts * 9, high, wide, **kind),
        pyburn.rand(batch, parts * 9, high, wide, **kind),
        pyburn.randn(filters, **kind),
    ]


NUMBERS = (1, 2, 1, 2, 1, 1, 2, 2)


@pytest.mark.parametrize("shift", [(0, 0), (1, -2)])
def test_whole_offsets_move_the_image(shift):
    image, weight, offset, mask, bias = tensors()
    offset = offset.reshape(2, 2, 9, 2, 5, 4) * 0 + pyburn.tensor(shift, dtype=image.dtype).reshape(1, 1, 1, 2, 1, 1)
    found = deform_conv2d(image, weight, offset.reshape(2, 36, 5, 4), mask, bias, *NUMBERS, False)
    around = pyburn.nn.functional.pad(image, (4, 4, 4, 4))
    moved = around[:, :, 3 + shift[0] : 3 + shift[0] + 7, 2 + shift[1] : 2 + shift[1] + 10]
    expected = pyburn.conv2d(moved, weight, bias, stride=(1, 2), groups=2)
    assert pyburn.allclose(found, expected)


def test_gradients_are_those_of_differences():
    inputs = [part.requires_grad_() for part in tensors(1, 2, 2, 2, 2, 2, 2)]
    assert pyburn.autograd.gradcheck(lambda *parts: deform_conv2d(*parts, *NUMBERS, True), inputs)
    output = deform_conv2d(*inputs, *NUMBERS, True)
    expected = pyburn.autograd.grad(output.sum(), inputs)
    found = deform_conv2d_backward(pyburn.ones_like(output), *inputs, *NUMBERS, True)
    assert all(pyburn.allclose(one, other) for one, other in zip(expected, found, strict=True))


def test_half_way_is_the_mean_and_outside_is_zero():
    image = pyburn.tensor([[[[1.0, 3.0]]]])
    one, none = pyburn.ones(1, 1, 1, 1), pyburn.zeros(1)
    for right, value in ((0.5, 2.0), (1.5, 1.5), (3.0, 0.0), (-1.0, 0.0)):
        offset = pyburn.tensor([0.0, right]).reshape(1, 2, 1, 1)
        assert deform_conv2d(image, one, offset, one, none, 1, 1, 0, 0, 1, 1, 1, 1, False).item() == value


def test_offsets_that_do_not_fit_are_refused():
    image, weight, offset, mask, bias = tensors()
    with pytest.raises(RuntimeError, match="deform_conv2d: offset has shape"):
        deform_conv2d(image, weight, offset[:, :10], mask, bias, *NUMBERS, True)
