"""The native LSTM and GRU at sizes that use every tile: torch's numbers, whatever the vectors and the threads."""

import os
import subprocess
import sys

import numpy as np
import pyburn
import pytest
import torch

from oracle import from_torch, to_torch

# Steps, batch, input, hidden: whole tiles, parts of vectors, rows that do not fill a tile, one of each.
SIZES = [(7, 32, 12, 128), (5, 13, 3, 33), (4, 1, 5, 1), (3, 7, 4, 16), (6, 3, 8, 17), (2, 20, 6, 65), (1, 5, 2, 47)]


def pair(name, size, hidden, **options):
    torch.manual_seed(0)
    theirs = getattr(torch.nn, name)(size, hidden, **options)
    ours = getattr(pyburn.nn, name)(size, hidden, **options)
    ours.load_state_dict({key: from_torch(value) for key, value in theirs.state_dict().items()})
    return ours, theirs


def close(found, expected, tolerance=2e-6):
    torch.testing.assert_close(to_torch(found.detach()), expected.detach(), rtol=1e-4, atol=tolerance)


@pytest.mark.parametrize("name", ["LSTM", "GRU"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("sizes", SIZES)
def test_forward_and_backward(name, bias, sizes):
    steps, batch, size, hidden = sizes
    ours, theirs = pair(name, size, hidden, bias=bias, bidirectional=True)
    rng = np.random.default_rng(0)
    draw = lambda *shape: torch.from_numpy(rng.standard_normal(shape).astype(np.float32))  # noqa: E731
    x, first = draw(steps, batch, size), [draw(2, batch, hidden) for _ in range(2 if name == "LSTM" else 1)]
    given = [from_torch(t).requires_grad_() for t in (x, *first)]
    wanted = [t.clone().requires_grad_() for t in (x, *first)]
    state = lambda tensors: tuple(tensors) if name == "LSTM" else tensors[0]  # noqa: E731
    output, last = ours(given[0], state(given[1:]))
    expected, end = theirs(wanted[0], state(wanted[1:]))
    lasts = list(zip(last, end, strict=True)) if name == "LSTM" else [(last, end)]
    for found, right in [(output, expected), *lasts]:
        close(found, right)
    with pyburn.no_grad():
        close(ours(given[0], state(given[1:]))[0], expected)
    weights = [draw(*right.shape) for _, right in [(output, expected), *lasts]]
    results = [output, *(found for found, _ in lasts)]
    sum((found * from_torch(w)).sum() for found, w in zip(results, weights, strict=True)).backward()
    sum((right * w).sum() for right, w in zip([expected, *(e for _, e in lasts)], weights, strict=True)).backward()
    for found, right in zip(given, wanted, strict=True):
        close(found.grad, right.grad, 2e-5)
    for (key, found), right in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(to_torch(found.grad), right.grad, rtol=1e-3, atol=5e-5, msg=key)


@pytest.mark.parametrize("name", ["LSTM", "GRU"])
def test_extremes_pass_through(name):
    ours, theirs = pair(name, 3, 20)
    x = torch.ones(4, 5, 3)
    x[1, 2], x[2, 3], x[0, 4] = float("nan"), float("inf"), -1e30
    found, expected = to_torch(ours(from_torch(x))[0].detach()), theirs(x)[0].detach()
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=2e-6, equal_nan=True)


CHECK = """
import numpy as np, pyburn
pyburn.manual_seed(0)
pyburn.set_num_threads({threads})
for name in ("LSTM", "GRU"):
    layer = getattr(pyburn.nn, name)(6, 37)
    x = pyburn.tensor(np.random.default_rng(0).standard_normal((9, 11, 6)).astype("f"), requires_grad=True)
    y = layer(x)[0]
    y.square().sum().backward()
    print(*(f"{{v:.{digits}}}" for v in (*y.detach().flatten().tolist(), *x.grad.flatten().tolist())))
"""


def printed(vectors, threads, digits):
    environment = {**os.environ, "PYBURN_VECTORS": vectors, "PYBURN_QUIET": "1"}
    code = CHECK.format(threads=threads, digits=digits)
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, check=True, text=True
    ).stdout


def test_threads_agree_to_the_last_bit():
    assert printed("512", 1, "17g") == printed("512", 3, "17g")


@pytest.mark.parametrize("vectors", ["256", "128"])
def test_other_vectors(vectors):
    found, expected = (np.array(text.split(), float) for text in (printed(vectors, 2, "9g"), printed("512", 2, "9g")))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=2e-6)
