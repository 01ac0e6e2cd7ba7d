"""The kernel of sums over bags of rows: odd widths, many bags, weights, padding, what it refuses, narrower vectors."""

import numpy as np
import pyburn
import pytest
import torch
from widths import WIDTHS, check_file

from oracle import Case, check_op, from_torch, to_torch

SIZES = [
    (5, 1, 3, 2),
    (7, 3, 4, 5),
    (40, 16, 9, 6),
    (50, 64, 300, 7),
    (3000, 130, 257, 20),
    (9, 65, 1, 1),
    (6, 200, 0, 3),
]


def drawn(rows, width, bags, length):
    rng = np.random.default_rng(rows)
    return (
        rng.standard_normal((rows, width)),
        rng.integers(0, rows, (bags, length)),
        rng.standard_normal((bags, length)),
    )


@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("padding", [None, 2, -1])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_bags_of_one_length(mode, padding, size):
    table, indices, _ = drawn(*size)
    check_op(
        lambda lib, table, i: lib.nn.functional.embedding_bag(i, table, mode=mode, padding_idx=padding),
        Case(table, "float32"),
        indices,
        rtol=1e-4,
        atol=1e-5,
    )


@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("index", ["int64", "int32"])
def test_bags_of_any_length(mode, last, index):
    table, indices, _ = drawn(30, 37, 20, 10)
    cuts = np.concatenate([[0, 0], np.sort(np.random.default_rng(1).integers(0, 200, 25)), [200, 200]])
    check_op(
        lambda lib, table, i, o: lib.nn.functional.embedding_bag(i, table, o, mode=mode, include_last_offset=last),
        Case(table, "float32"),
        indices.reshape(-1).astype(index),
        cuts.astype(index),
        rtol=1e-4,
        atol=1e-5,
    )


@pytest.mark.parametrize("padding", [None, 1])
@pytest.mark.parametrize("size", SIZES[:-1], ids=str)
def test_weighted_bags(padding, size):
    table, indices, weights = drawn(*size)

    def bag(lib, table, weights, i):
        return lib.nn.functional.embedding_bag(i, table, mode="sum", per_sample_weights=weights, padding_idx=padding)

    check_op(bag, Case(table, "float32"), Case(weights, "float32"), indices, rtol=1e-4, atol=2e-5)
    check_op(bag, Case(table, "float32"), Case(weights, "float32", False), indices, rtol=1e-4, atol=2e-5)
    check_op(bag, Case(table, "float32", False), Case(weights, "float32"), indices, rtol=1e-4, atol=2e-5)


def test_a_table_and_a_gradient_that_lie_apart():
    table, indices, weights = drawn(30, 20, 8, 4)

    def bag(lib, table, weights, i):
        given = lib.nn.functional.embedding_bag(i.T, table.T[:, ::3], mode="sum", per_sample_weights=weights.T)
        return given.T * 2

    check_op(bag, Case(table.T[:, :30], "float32"), Case(weights, "float32"), indices % 20, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_second_derivatives(mode):
    """Against finite differences of the first ones."""
    table, indices, weights = drawn(6, 3, 4, 3)
    table, weights = (torch.from_numpy(x) for x in (table, weights))
    indices = torch.from_numpy(indices)

    def bag(lib, table, weights, indices):
        weights = weights if mode == "sum" else None
        return lib.nn.functional.embedding_bag(indices, table, mode=mode, per_sample_weights=weights)

    def cubes(table, weights):
        return (bag(pyburn, table, weights, from_torch(indices)) ** 3).sum()

    def expected(table, weights):
        rows = table[indices]
        return ((rows * weights.unsqueeze(2)).sum(1) if mode == "sum" else rows.mean(1)).pow(3).sum()

    def second(function, lib, table, weights):
        leaves = [table, weights] if mode == "sum" else [table]
        first = lib.autograd.grad(function(table, weights), leaves, create_graph=True)
        return lib.autograd.grad(sum((grad * grad).sum() for grad in first), leaves)

    theirs = second(expected, torch, *(x.clone().requires_grad_() for x in (table, weights)))
    own = second(cubes, pyburn, *(from_torch(x.float()).requires_grad_() for x in (table, weights)))
    for found, exact in zip(own, theirs, strict=True):
        torch.testing.assert_close(to_torch(found).double(), exact, rtol=1e-3, atol=1e-3)


def test_special_numbers_stay_in_their_bags():
    table = torch.randn(6, 5, generator=torch.Generator().manual_seed(0))
    table[1, 2], table[3, 0], table[3, 4] = torch.nan, torch.inf, -torch.inf
    check_op(
        lambda lib, table, i: lib.nn.functional.embedding_bag(i, table, mode="sum"),
        Case(table.numpy(), "float32"),
        np.array([[0, 1], [2, 3], [4, 5], [3, 3]]),
        grad=False,
    )


@pytest.mark.parametrize("indices", [[[0, 7]], [[-1, 0]], [[2**40, 0]]])
def test_indices_out_of_range_are_refused(indices):
    table = pyburn.ones(7, 3)
    with pytest.raises((RuntimeError, IndexError)):
        pyburn.nn.functional.embedding_bag(pyburn.tensor(indices), table, mode="sum")


@pytest.mark.parametrize("offsets", [[1, 2], [0, 3, 1]])
def test_offsets_that_do_not_fit_are_refused(offsets):
    table = pyburn.ones(7, 3)
    with pytest.raises(RuntimeError):
        pyburn.nn.functional.embedding_bag(pyburn.arange(4), table, pyburn.tensor(offsets), mode="sum")


def test_indices_may_change_after_the_call():
    table = pyburn.ones(4, 2, requires_grad=True)
    indices = pyburn.tensor([[0, 1], [2, 2]])
    sums = pyburn.nn.functional.embedding_bag(indices.clone(), table, mode="sum")
    indices.fill_(3)
    sums.sum().backward()
    assert table.grad.tolist() == [[1, 1], [1, 1], [2, 2], [0, 0]]


@pytest.mark.parametrize("width", WIDTHS)
def test_everything_above_with_narrower_vectors(width):
    check_file(__file__, width)
