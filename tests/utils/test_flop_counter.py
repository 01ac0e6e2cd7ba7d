"""Counted operations agree with torch's, forward and back, by module."""

from typing import Any

import pyburn
import pytest
import torch
from pyburn.utils.flop_counter import FlopCounterMode
from torch.utils.flop_counter import FlopCounterMode as TorchCounter


def counted(lib: Any, run: Any, backward: bool) -> tuple[dict[str, dict[str, int]], int]:
    with (TorchCounter if lib is torch else FlopCounterMode)(display=False) as counter:
        out = run(lib)
        out = out[0] if isinstance(out, tuple) else out
        if backward:
            out.sum().backward()
    named = {
        name: {str(key): count for key, count in kinds.items()} for name, kinds in counter.get_flop_counts().items()
    }
    return named, counter.get_total_flops()


def network(lib: Any) -> Any:
    nn = lib.nn
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Unflatten(1, (1, 4)), nn.Conv1d(1, 2, 3))


def leaf(lib: Any, *shape: int) -> Any:
    return lib.ones(*shape, requires_grad=True)


def attend(lib: Any, **more: Any) -> Any:
    q = leaf(lib, 2, 3, 5, 4)
    return lib.nn.functional.scaled_dot_product_attention(q, q, q, **more)


RUNS = {
    "network": lambda lib: network(lib)(lib.ones(2, 3)),
    "matmul": lambda lib: leaf(lib, 2, 3) @ lib.ones(3, 2),
    "folded": lambda lib: leaf(lib, 5, 2, 3).matmul(lib.ones(3, 2)),
    "batched": lambda lib: leaf(lib, 5, 2, 3) @ leaf(lib, 5, 3, 2),
    "vectors": lambda lib: leaf(lib, 3) @ lib.ones(3) + (lib.ones(2, 3) @ lib.ones(3)).sum(),
    "einsum": lambda lib: lib.einsum("bij,bjk->bik", leaf(lib, 5, 2, 3), lib.ones(5, 3, 2)),
    "linear": lambda lib: lib.nn.functional.linear(leaf(lib, 4, 2, 3), lib.ones(7, 3)),
    "addmm": lambda lib: lib.addmm(lib.ones(2, 2), leaf(lib, 2, 3), lib.ones(3, 2)),
    "baddbmm": lambda lib: lib.baddbmm(lib.ones(5, 2, 2), leaf(lib, 5, 2, 3), lib.ones(5, 3, 2)),
    "transposed": lambda lib: lib.nn.ConvTranspose2d(2, 3, 3, stride=2)(lib.ones(1, 2, 4, 4)),
    "groups": lambda lib: lib.nn.Conv2d(4, 4, 3, groups=2)(leaf(lib, 1, 4, 5, 5)),
    "attention": attend,
    "elementwise": lambda lib: leaf(lib, 3).exp(),
}


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("backward", [False, True])
def test_counts(name: str, backward: bool) -> None:
    assert counted(pyburn, RUNS[name], backward) == counted(torch, RUNS[name], backward)


def test_attention_layer() -> None:
    def run(lib: Any) -> Any:
        x = lib.ones(1, 2, 4)
        return lib.nn.MultiheadAttention(4, 2, batch_first=True)(x, x, x, need_weights=False)

    assert counted(pyburn, run, True) == counted(torch, run, True)


@pytest.mark.parametrize("name", ["LSTM", "GRU", "RNN"])
def test_recurrent_layers(name: str) -> None:
    def run(lib: Any) -> Any:
        return getattr(lib.nn, name)(3, 4, num_layers=2, bidirectional=True)(lib.ones(5, 2, 3))

    assert counted(pyburn, run, False) == counted(torch, run, False)


def test_nothing_is_counted_outside() -> None:
    net = network(pyburn)
    with FlopCounterMode(display=False) as counter:
        out = net(pyburn.ones(2, 3))
    before = counter.get_total_flops()
    out.sum().backward()
    net(pyburn.ones(2, 3))
    assert counter.get_total_flops() == before == 96
    assert FlopCounterMode(display=False).get_flop_counts() == {}


def test_own_formulas_and_the_table(capsys: Any) -> None:
    formula = {pyburn.exp: lambda shape, out_shape: 10 * shape[0] * out_shape[0]}
    with FlopCounterMode(custom_mapping=formula, depth=1):
        pyburn.exp(pyburn.ones(3))
        network(pyburn)(pyburn.ones(2, 3))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["Module", "FLOP", "%", "Total"] and lines[2] == ["Global", "0.186K", "100.00%"]
    assert ["Sequential", "0.096K", "51.61%"] in lines and not any("Sequential.0" in line for line in lines)
