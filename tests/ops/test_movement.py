"""Views and shapes against torch."""

from __future__ import annotations

import numpy as np
import pytest

from oracle import Case, check_error, check_op


def test_sizes_by_name():
    check_op(lambda t, x: x.permute(dims=(1, 0)), Case([[1.0, 2.0, 3.0]]))
    check_op(lambda t, x: x.view(size=(3, 1)), Case([[1.0, 2.0, 3.0]]))
    check_op(lambda t, x: x.reshape(shape=(3, 1)), Case([[1.0, 2.0, 3.0]]))
    check_op(lambda t, x: x.expand(size=(2, 3)), Case([[1.0, 2.0, 3.0]]))


def test_sizes_given_twice_are_refused():
    x = Case([[1.0, 2.0, 3.0, 4.0]])
    for call in (
        lambda t, x: x.view(4, size=(2, 2)),
        lambda t, x: x.reshape(4, shape=(2, 2)),
        lambda t, x: x.permute(0, 1, dims=(1, 0)),
        lambda t, x: x.expand(2, 4, size=(3, 4)),
        lambda t, x: x.view(4, dtype=t.int32),
        lambda t, x: x.to(t.float32, dtype=t.float64),
    ):
        check_error(call, x, same_class=True)


def test_repeats_have_memory_of_their_own():
    check_op(lambda t, x: t.repeat_interleave(x, 3, 0).detach().add_(t.arange(3.0).reshape(3, 1)), Case([[1.0, 2.0]]))


@pytest.mark.parametrize(("size", "step"), [(1, 1), (3, 1), (4, 2), (5, 3), (3, 5), (7, 2), (9, 9)])
def test_gradients_of_windows(size, step):
    x = np.random.default_rng(size).standard_normal((2, 9, 23)).astype("float32")
    check_op(lambda lib, x: x.unfold(-1, size, step), x, gradgrad=True)
    check_op(lambda lib, x: x.unfold(1, min(size, 4), step).unfold(2, size, step), x, gradgrad=True)
    check_op(lambda lib, x: x.transpose(1, 2).unfold(1, size, step), x)
    check_op(lambda lib, x: x.expand(2, 9, 23).unfold(-1, size, step), x[:1])


def test_gradients_of_strided_views_that_overlap():
    x = np.random.default_rng(0).standard_normal(60).astype("float32")
    for shape, strides, start in (
        ((4, 5), (3, 1), 2),
        ((3, 4, 5), (7, 2, 3), 0),
        ((5, 5), (1, 1), 9),
        ((3, 4), (0, 2), 1),
    ):
        check_op(lambda lib, x, about=(shape, strides, start): x.as_strided(*about), x)
