"""burn's own layers and losses: against what they are made of, by enumeration and by finite differences."""

import itertools
import math

import numpy as np
import pyburn
import pytest
import torch
from pyburn.nn import burn

from nn.compare import ours, same


def x(*shape, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=dtype)


def by_enumeration(log_probs, labels, blank):
    """Minus the log of the summed probabilities of every alignment of T blanks and the labels."""
    times = log_probs.shape[0]
    total = -math.inf
    for places in itertools.combinations_with_replacement(range(times), len(labels)):
        score, said = 0.0, 0
        for t in range(times):
            for _ in range(sum(place == t for place in places)):
                score += log_probs[t, said, labels[said]]
                said += 1
            score += log_probs[t, said, blank]
        total = np.logaddexp(total, score)
    return -total


@pytest.mark.parametrize("blank", [0, 3])
def test_transducer_loss_is_the_sum_over_alignments(blank):
    logits = x(3, 4, 3, 5, dtype=torch.float64)
    targets = torch.tensor([[1, 2], [4, -1], [-1, -1]])
    times, lengths = torch.tensor([4, 3, 2]), torch.tensor([2, 1, 0])
    losses = burn.rnnt_loss(ours(logits), ours(targets), ours(times), ours(lengths), blank, reduction="none")
    log_probs = torch.log_softmax(logits, -1).numpy()
    expected = [
        by_enumeration(log_probs[i, : times[i], : lengths[i] + 1], targets[i, : lengths[i]].tolist(), blank)
        for i in range(3)
    ]
    np.testing.assert_allclose(losses.tolist(), expected, rtol=1e-10)
    given = ours(torch.log_softmax(logits, -1))
    again = burn.RNNTLoss(blank, logits=False, reduction="sum")(given, ours(targets), ours(times), ours(lengths))
    np.testing.assert_allclose(again.item(), sum(expected), rtol=1e-10)


def test_transducer_loss_gradient():
    logits = ours(x(2, 3, 3, 4, dtype=torch.float64)).requires_grad_()
    targets, times = pyburn.tensor([[1, 2], [3, 0]]), pyburn.tensor([3, 2])
    lengths = pyburn.tensor([2, 1])
    assert pyburn.autograd.gradcheck(lambda value: burn.rnnt_loss(value, targets, times, lengths), (logits,))
    burn.rnnt_loss(logits, targets, times, lengths).backward()
    assert logits.grad[1, 2].abs().sum().item() == 0  # beyond the second input's length
    assert logits.grad[1, :, 2].abs().sum().item() == 0


def test_transducer_loss_refuses():
    one, two = pyburn.tensor([1]), pyburn.tensor([2])
    for arguments, text in (
        ((pyburn.zeros(1, 2, 2), pyburn.tensor([[1]]), one, one), "need"),
        ((pyburn.zeros(1, 2, 2, 3), pyburn.tensor([[1, 1]]), one, one), "targets"),
        ((pyburn.zeros(1, 2, 2, 3), pyburn.tensor([[1]]), two + 1, one), "logit_lengths"),
        ((pyburn.zeros(1, 2, 2, 3), pyburn.tensor([[1]]), one, two), "target_lengths"),
        ((pyburn.zeros(1, 2, 2, 3), pyburn.tensor([[1]]), one, one, 3), "blank"),
    ):
        with pytest.raises(ValueError, match=text):
            burn.rnnt_loss(*arguments)


def test_powers_of_errors():
    a, b = x(2, 3), x(3, 2).T
    same(burn.LpLoss(1)(ours(a), ours(b)), torch.nn.functional.l1_loss(a, b))
    same(burn.LpLoss(2, "sum")(ours(a), ours(b)), torch.nn.functional.mse_loss(a, b, reduction="sum"))
    same(burn.LpLoss(2.5, "none")(ours(a), ours(b)), (a - b).abs() ** 2.5)
    same(burn.LpLoss(2).forward_reduce_dims(ours(a), ours(b), [1]), ((a - b) ** 2).mean(1, keepdim=True))
    with pytest.raises(ValueError, match="positive"):
        burn.LpLoss(0)


def test_rotations_are_complex_products():
    values = x(2, 3, 5, 8)
    frequencies = 10_000.0 ** (-torch.arange(0, 8, 2) / 8)
    angles = torch.outer(torch.arange(5.0), frequencies)
    turned = torch.view_as_complex(values.reshape(2, 3, 5, 4, 2)) * torch.polar(torch.ones_like(angles), angles)
    expected = torch.view_as_real(turned).reshape(values.shape)
    layer = burn.RotaryEncoding(10, 8)
    same(layer(ours(values)), expected)
    same(layer(ours(values[..., 2:, :]), start=2), expected[..., 2:, :])
    layer.shift(2)
    same(layer(ours(values[..., 2:, :])), expected[..., 2:, :])
    with pytest.raises(ValueError, match="not after"):
        layer.shift(1)
    layer.reset()
    same(layer(ours(values)), expected)
    with pytest.raises(ValueError, match="not among"):
        layer(ours(values), start=6)
    with pytest.raises(ValueError, match="even"):
        burn.RotaryEncoding(10, 7)
    halved = burn.RotaryEncoding(10, 8, frequency_scaling=lambda f: f / 2)
    assert halved.theta.tolist() == (layer.theta / 2).tolist()


def test_sinusoids():
    layer = burn.PositionalEncoding(6, max_sequence_size=12)
    table = layer(pyburn.zeros(1, 12, 6))[0]
    for position, feature in ((1, 0), (1, 3), (11, 4), (7, 5)):
        angle = position * 10_000 ** (-(feature // 2 * 2) / 6)
        expected = math.sin(angle) if feature % 2 == 0 else math.cos(angle)
        assert table[position, feature].item() == pytest.approx(expected, abs=1e-5)
    with pytest.raises(ValueError, match="needs"):
        layer(pyburn.zeros(1, 13, 6))


def test_gated_and_cut_activations():
    layer, values = burn.SwiGlu(3, 4, bias=True), x(2, 3)
    inner, outer = (
        torch.nn.functional.linear(values, torch.tensor(part.weight.tolist()), torch.tensor(part.bias.tolist()))
        for part in (layer.linear_inner, layer.linear_outer)
    )
    same(layer(ours(values)), torch.nn.functional.silu(inner) * outer)
    same(burn.Shrink(0.5, 0.5)(ours(values)), torch.nn.functional.softshrink(values, 0.5))
    same(burn.Shrink(0.5)(ours(values)), torch.nn.functional.hardshrink(values, 0.5))
    same(burn.ThresholdedRelu(0.3)(ours(values)), torch.nn.functional.threshold(values, 0.3, 0.0))


def test_noise_only_in_training():
    pyburn.manual_seed(0)
    layer, values = burn.GaussianNoise(0.5), pyburn.zeros(4000)
    assert layer(values).std().item() == pytest.approx(0.5, rel=0.05)
    assert layer.eval()(values) is values
    with pytest.raises(ValueError, match="negative"):
        burn.GaussianNoise(-1.0)


@pytest.mark.parametrize("quiet", [False, True])
def test_cross_attention(quiet):
    layer = burn.CrossAttention(8, 6, 4, 2, 3, dropout=0.0, quiet_softmax=quiet)
    query, context = x(2, 5, 8), x(2, 7, 6)
    hidden = torch.zeros(2, 7, dtype=torch.bool)
    hidden[0, 4:] = True

    def linear(part, value):
        return value @ torch.tensor(part.weight.tolist()).T + torch.tensor(part.bias.tolist())

    q = linear(layer.query, query).reshape(2, 5, 4, 3).transpose(1, 2)
    k, v = (linear(part, context).reshape(2, 7, 2, 3).transpose(1, 2) for part in (layer.key, layer.value))
    k, v = k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)
    scores = (q @ k.transpose(-2, -1) / 3**0.5).masked_fill(hidden[:, None, None], -1e4)
    weights = scores.exp() / (scores.exp().sum(-1, keepdim=True) + 1) if quiet else scores.softmax(-1)
    expected = linear(layer.output, (weights @ v).transpose(1, 2).flatten(2))
    same(layer(ours(query), ours(context), ours(hidden)), expected)
    with pytest.raises(ValueError, match="must divide"):
        burn.CrossAttention(8, 6, 4, 3, 3)


def test_masks_and_feedforward():
    assert burn.generate_autoregressive_mask(2, 3).tolist() == [np.triu(np.ones((3, 3), bool), 1).tolist()] * 2
    made = burn.generate_padding_mask(0, [[3, 4, 5], [6]], max_seq_length=2)
    assert (made.tensor.tolist(), made.mask.tolist()) == ([[3, 4], [6, 0]], [[False, False], [False, True]])
    assert burn.generate_padding_mask(9, [[1]], fixed_seq_length=3).tensor.tolist() == [[1, 9, 9]]
    layer = burn.PositionWiseFeedForward(4, 6, activation=pyburn.nn.Tanh()).eval()
    values = pyburn.ones(2, 4)
    assert layer(values).tolist() == layer.linear_outer(layer.linear_inner(values).tanh()).tolist()


@pytest.mark.parametrize("groups", [1, 2])
def test_deformable_convolution(groups):
    values, weight, bias = x(2, 4, 6, 7), x(6, 4 // groups, 3, 2), x(6)
    settings = {"stride": 2, "padding": 1, "dilation": 1}
    plain = torch.nn.functional.conv2d(values, weight, bias, groups=groups, **settings)
    zeros = pyburn.zeros(2, 2 * 2 * 6, *plain.shape[2:])
    same(burn.deform_conv2d(ours(values), zeros, ours(weight), ours(bias), **settings), plain, atol=1e-4)
    # All points one pixel to the right: the convolution of the shifted image.
    right = pyburn.zeros(2, 2, 6, 2, *plain.shape[2:])
    right[:, :, :, 1] = 1.0
    shifted = torch.nn.functional.pad(values, (0, 1))[..., 1:]
    expected = torch.nn.functional.conv2d(
        torch.nn.functional.pad(shifted, (1, 1, 1, 1)), weight, bias, stride=2, groups=groups
    )
    found = burn.deform_conv2d(ours(values), right.flatten(1, 3), ours(weight), ours(bias), **settings)
    same(found[..., 1:], expected[..., 1:], atol=1e-4)
    halves = pyburn.full((2, 2 * 6, *plain.shape[2:]), 0.5)
    halved = burn.deform_conv2d(ours(values), zeros, ours(weight), mask=halves, **settings)
    same(halved, (plain - bias.reshape(1, -1, 1, 1)) / 2, atol=1e-4)


def test_deformable_convolution_gradient():
    values, weight = ours(x(1, 2, 4, 4, dtype=torch.float64)), ours(x(2, 2, 2, 2, dtype=torch.float64))
    offset = ours(x(1, 8, 3, 3, dtype=torch.float64) * 0.3 + 0.1)
    mask = ours(x(1, 4, 3, 3, dtype=torch.float64))
    given = [value.requires_grad_() for value in (values, offset, weight, mask)]
    assert pyburn.autograd.gradcheck(lambda v, o, w, m: burn.deform_conv2d(v, o, w, mask=m), given)
    layer = burn.DeformConv2d(2, 4, 3, groups=2)
    assert tuple(layer(pyburn.zeros(1, 2, 5, 5), pyburn.zeros(1, 18, 3, 3)).shape) == (1, 4, 3, 3)
    with pytest.raises(ValueError, match="offset has shape"):
        layer(pyburn.zeros(1, 2, 5, 5), pyburn.zeros(1, 18, 5, 5))
