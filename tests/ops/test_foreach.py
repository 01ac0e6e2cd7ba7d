"""One operation on every tensor of a list, beside torch's."""

import pyburn
import pytest
import torch
from pyburn.ops import foreach

from oracle import check_op

A = [[0.5, 0.25], [0.75, 0.125]]
B = [[2.0, 3.0], [0.5, 1.0]]
C = [[1.0, 2.0], [4.0, 0.5]]
NAMES = [name for name in dir(torch) if name.startswith("_foreach_")]


def lists(lib, *tensors):
    return [[tensor * 1, tensor[0] + 0.0] for tensor in tensors]


def test_every_name_of_torch_is_there():
    assert len(NAMES) > 80
    assert [name for name in NAMES if not hasattr(pyburn, name)] == []
    assert not hasattr(pyburn, "_foreach_nothing")


@pytest.mark.parametrize("name", foreach.UNARY)
@pytest.mark.parametrize("suffix", ["", "_"])
def test_one_operand(name, suffix):
    if name + suffix != "clone_":
        check_op(lambda lib, a: getattr(lib, f"_foreach_{name}{suffix}")(lists(lib, a)[0]), A)


@pytest.mark.parametrize("name", foreach.BINARY)
@pytest.mark.parametrize("suffix", ["", "_"])
def test_two_operands(name, suffix):
    def run(lib, a, b):
        results = []
        for other in (lists(lib, b)[0], 1.5, [2.0, 0.6]):
            results += getattr(lib, f"_foreach_{name}{suffix}")(lists(lib, a)[0], other)
        return results

    # torch itself has no derivative of the in-place extrema.
    check_op(run, A, B, grad=name + suffix not in ("maximum_", "minimum_"))


@pytest.mark.parametrize("name", ["addcmul", "addcdiv"])
@pytest.mark.parametrize("suffix", ["", "_"])
def test_three_operands(name, suffix):
    def run(lib, a, b, c):
        function = getattr(lib, f"_foreach_{name}{suffix}")
        results = [*function(*lists(lib, a, b, c)), *function(*lists(lib, a, b, c), value=0.5)]
        results += function(*lists(lib, a, b, c), [0.5, 2.0])
        return [*results, *function(*lists(lib, a, b, c), lib.tensor([0.5, 2.0]))]

    check_op(run, A, B, C, grad=False)  # torch has no derivative of these


@pytest.mark.parametrize(
    "run",
    [
        lambda lib, a, b: lib._foreach_lerp(*lists(lib, a, b), 0.25),
        lambda lib, a, b: lib._foreach_lerp_(*lists(lib, a, b), [0.25, 0.75]),
        lambda lib, a, b: lib._foreach_lerp(*lists(lib, a, b), lists(lib, a)[0]),
        lambda lib, a, b: lib._foreach_zero_(lists(lib, a)[0]),
        lambda lib, a, b: lib._foreach_max(lists(lib, a)[0]),
        lambda lib, a, b: lib._foreach_norm(lists(lib, a)[0]),
        lambda lib, a, b: lib._foreach_norm(lists(lib, a)[0], ord=1),
        lambda lib, a, b: lib._foreach_mm([a], [b]),
        lambda lib, a, b: lib._foreach_pow(2.0, lists(lib, a)[0]),
        lambda lib, a, b: lib._foreach_add(*lists(lib, a, b), alpha=3),
        lambda lib, a, b: lib._foreach_sub_(*lists(lib, a, b), alpha=3),
        lambda lib, a, b: lib._foreach_mul(lists(lib, a)[0], lib.tensor(3.0)),
    ],
)
def test_others(run):
    check_op(run, A, B)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda lib, x: lib._foreach_add([], 1), RuntimeError),
        (lambda lib, x: lib._foreach_add([x, x], [x]), RuntimeError),
        (lambda lib, x: lib._foreach_add([x, x], [1.0]), RuntimeError),
        (lambda lib, x: lib._foreach_add([1], 2), TypeError),
        (lambda lib, x: lib._foreach_add([x], 2, alpha=2), TypeError),
        (lambda lib, x: lib._foreach_mul([x], [x], alpha=2), TypeError),
        (lambda lib, x: lib._foreach_abs(5), TypeError),
    ],
)
def test_mistakes(call, error):
    for lib in (torch, pyburn):
        with pytest.raises(error):
            call(lib, lib.ones(2))


def test_in_place_forms_give_the_list():
    tensors = [pyburn.ones(2), pyburn.zeros(3)]
    first = tensors[0]
    assert pyburn._foreach_add_(tensors, 1) is tensors
    assert tensors[0] is first
    assert first.tolist() == [2.0, 2.0]


def test_those_without_a_derivative_in_torch():
    check_op(lambda lib, a, b: lib._foreach_copy_(*lists(lib, a, b)), A, B, grad=False)
    check_op(lambda lib, a: lib._foreach_powsum(lists(lib, a)[0], 3), A, grad=False)
