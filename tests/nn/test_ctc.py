"""`ctc_loss` by its kernel against torch's: lengths, layouts of targets, what cannot be, and second derivatives."""

import pyburn
import pytest
import torch
from widths import WIDTHS, check_file

from oracle import from_torch, to_torch


def scores(*shape, dtype=torch.float32, scale=1.0):
    torch.manual_seed(sum(shape))
    return (torch.randn(*shape, dtype=dtype) * scale).log_softmax(-1)


def check(log_probs, targets, inputs, lengths, tolerance=1e-4, **options):
    x, y = log_probs.clone().requires_grad_(), from_torch(log_probs).requires_grad_()
    expected = torch.nn.functional.ctc_loss(x, targets, inputs, lengths, **options)
    ours = targets if not isinstance(targets, torch.Tensor) else from_torch(targets)
    found = pyburn.nn.functional.ctc_loss(y, ours, inputs, lengths, **options)
    torch.testing.assert_close(to_torch(found.detach()), expected.detach(), rtol=tolerance, atol=tolerance)
    with pyburn.no_grad():
        assert pyburn.equal(pyburn.nn.functional.ctc_loss(y, ours, inputs, lengths, **options), found.detach())
    expected.sum().backward()
    found.sum().backward()
    torch.testing.assert_close(to_torch(y.grad), x.grad, rtol=tolerance, atol=tolerance, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_lengths_and_layouts(dtype, reduction):
    log_probs, targets = scores(50, 5, 7, dtype=dtype), torch.randint(1, 7, (5, 11))
    inputs, lengths = [50, 40, 33, 50, 1], [11, 0, 5, 1, 1]
    check(log_probs, targets, inputs, lengths, reduction=reduction)
    flat = torch.cat([row[:n] for row, n in zip(targets, lengths, strict=True)])
    check(log_probs, flat, inputs, lengths, reduction=reduction)
    check(log_probs.transpose(0, 1).contiguous().transpose(0, 1), targets.int(), inputs, lengths, reduction=reduction)


@pytest.mark.parametrize("blank", [0, 3, 6])
def test_any_blank_and_repeated_labels(blank):
    targets = (torch.randint(1, 7, (4, 9)) + blank) % 7
    targets[0] = targets[0, 0]
    targets[1, ::2] = targets[1, 0]
    check(scores(30, 4, 7, scale=3.0), targets, [30] * 4, [9, 9, 8, 3], blank=blank, reduction="none")


@pytest.mark.parametrize("zero_infinity", [False, True])
def test_what_cannot_be(zero_infinity):
    targets = torch.tensor([[1, 2, 3, 1], [1, 1, 0, 0], [2, 3, 0, 0], [1, 0, 0, 0]])
    options = {"zero_infinity": zero_infinity, "reduction": "none"}
    check(scores(3, 4, 4), targets, [3, 2, 3, 3], [4, 2, 2, 1], **options)
    check(scores(3, 4, 4), targets, [0, 0, 3, 3], [0, 2, 2, 0], **options)


def test_numbers_far_apart():
    # A way that is all but impossible at first is the only one at last.
    check(scores(60, 3, 5, scale=300.0), torch.randint(1, 5, (3, 20)), [60, 50, 45], [20, 10, 20], tolerance=1e-3)


def test_one_sample_and_classes_outside():
    check(scores(12, 4), torch.tensor([1, 2, 3]), (12,), (3,))
    with pytest.raises(IndexError, match="none of the 4 classes"):
        pyburn.nn.functional.ctc_loss(from_torch(scores(12, 1, 4)), pyburn.tensor([[1, 4]]), [12], [2])


def test_second_derivatives():
    x = from_torch(scores(6, 2, 4, dtype=torch.float64)).requires_grad_()
    targets = pyburn.tensor([[1, 2], [3, 3]])

    def loss(x):
        return pyburn.nn.functional.ctc_loss(x.log_softmax(2), targets, [6, 5], [2, 2])

    assert pyburn.autograd.gradcheck(loss, [x])
    assert pyburn.autograd.gradgradcheck(loss, [x])


@pytest.mark.parametrize("width", WIDTHS)
def test_narrower_vectors(width):
    check_file(__file__, width)
