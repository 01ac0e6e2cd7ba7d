"""torchaudio's compiled operators, which the real package finds in `torch.ops`."""

import itertools

import numpy as np
import pyburn
import pytest
import torch
from scipy import signal

from oracle import to_torch


@pytest.fixture(scope="module")
def ops():
    pyburn.ops.load_library("/somewhere/torchaudio/lib/_torchaudio.abi3.so")
    pyburn.ops.load_library("/somewhere/torchaudio/lib/libtorchaudio.so")
    return pyburn.ops.torchaudio


def test_the_filter_is_scipys(ops):
    pyburn.manual_seed(0)
    x = pyburn.randn(2, 3, 50, dtype=pyburn.float64)
    a = pyburn.tensor([[1.0, -0.5, 0.2], [1.0, 0.3, -0.1], [1.0, 0.0, 0.4]], dtype=pyburn.float64)
    padded = pyburn.zeros(2, 3, 52, dtype=pyburn.float64)
    assert ops._lfilter_core_loop(x, a.flip(1), padded) is None
    for channel in range(3):
        expected = signal.lfilter([1.0], a[channel].numpy(), x[:, channel].numpy())
        np.testing.assert_allclose(padded[:, channel, 2:].numpy(), expected, rtol=1e-12)
    assert not padded[..., :2].any()


def test_the_overdrive_loop(ops):
    pyburn.manual_seed(0)
    wave, temp, output = pyburn.randn(2, 20), pyburn.randn(2, 20), pyburn.zeros(2, 20)
    ops._overdrive_core_loop(wave, temp, pyburn.zeros(2), pyburn.zeros(2), output)
    # y[t] - 0.995 y[t - 1] = x[t] - x[t - 1] is a filter too.
    heard = signal.lfilter([1.0, -1.0], [1.0, -0.995], temp.numpy().astype(float))
    np.testing.assert_allclose(output.numpy(), wave.numpy() * 0.5 + heard * 0.75, rtol=1e-5, atol=1e-6)


def spelled(path, blank):
    return [label for label, _ in itertools.groupby(path) if label != blank]


def test_the_alignment_is_the_best_of_all_paths(ops):
    pyburn.manual_seed(1)
    scores = pyburn.randn(1, 6, 3).log_softmax(-1)
    labels = [1, 1, 2]
    lengths = pyburn.tensor([6]), pyburn.tensor([3])
    path, kept = ops.forced_align(scores, pyburn.tensor([labels]), *lengths, 0)
    rows = scores[0].tolist()
    ways = [way for way in itertools.product(range(3), repeat=6) if spelled(way, 0) == labels]
    best = max(ways, key=lambda way: sum(row[label] for row, label in zip(rows, way, strict=True)))
    assert path.tolist() == [list(best)]
    assert kept.equal(scores)
    with pytest.raises(RuntimeError, match="too long"):
        ops.forced_align(scores[:, :3], pyburn.tensor([labels]), pyburn.tensor([3]), lengths[1], 0)


def test_the_transducer_loss_has_the_slope_of_its_finite_differences(ops):
    pyburn.manual_seed(0)
    logits = pyburn.randn(2, 4, 3, 5, dtype=pyburn.float64)
    rest = (pyburn.tensor([[1, 2], [3, 0]]), pyburn.tensor([4, 3]), pyburn.tensor([2, 1]), -1)
    losses, slope = ops.rnnt_loss_forward(logits, *rest, -1.0)
    moved = logits.clone()
    moved[0, 1, 1, 2] += 1e-6
    difference = (ops.rnnt_loss_forward(moved, *rest, -1.0)[0] - losses).sum() / 1e-6
    torch.testing.assert_close(to_torch(slope[0, 1, 1, 2]), to_torch(difference), rtol=1e-4, atol=1e-6)
    assert ops.rnnt_loss_forward(logits, *rest, 0.01)[1].abs().max() <= 0.01
