"""Eval outputs of nets with a bias before a BatchNorm: its gradient is rounding alone, of which Adam makes whole steps.

In float32 torch and pyburn drift apart there, each by its own rounding; in float64 they agree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyburn
import torch


def trained(lib: Any) -> Any:
    nn = lib.nn
    lib.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(1, 6, (1, 9)), nn.Conv2d(6, 6, (4, 1), bias=False), nn.BatchNorm2d(6), nn.ELU(), nn.AvgPool2d((1, 8)),
        nn.Flatten(), nn.Linear(42, 2),
    ).double()  # fmt: skip
    x, y = lib.randn(8, 1, 4, 64).double(), lib.randint(0, 2, (8,))
    optimizer = lib.optim.AdamW(net.parameters(), lr=1e-2)
    for _ in range(10):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
    return net.eval()(x).detach().numpy()


def test_a_bias_before_batch_norm_differs_by_rounding_alone() -> None:
    np.testing.assert_allclose(trained(pyburn), trained(torch), rtol=1e-5, atol=1e-6)
