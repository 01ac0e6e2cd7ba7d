"""Views and shapes against torch."""

from __future__ import annotations

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
