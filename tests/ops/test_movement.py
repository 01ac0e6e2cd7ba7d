"""Views and shapes against torch."""

from __future__ import annotations

from oracle import Case, check_op


def test_sizes_by_name():
    check_op(lambda t, x: x.permute(dims=(1, 0)), Case([[1.0, 2.0, 3.0]]))
    check_op(lambda t, x: x.view(size=(3, 1)), Case([[1.0, 2.0, 3.0]]))
    check_op(lambda t, x: x.reshape(shape=(3, 1)), Case([[1.0, 2.0, 3.0]]))
    check_op(lambda t, x: x.expand(size=(2, 3)), Case([[1.0, 2.0, 3.0]]))
