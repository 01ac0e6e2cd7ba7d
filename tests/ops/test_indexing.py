"""x[...], x[...] = v and the index ops agree with torch in value, dtype, view-ness, gradient and refusal."""

import warnings

import numpy as np
import pyburn
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle import Case, check_error, check_op, from_torch
from strategies import DTYPES, arrays, dims, indices, library_index, shapes


def values(*shape, dtype="float32"):
    return np.random.default_rng(7).standard_normal(shape).astype(dtype)


def as_index(lib, array):
    import torch

    tensor = torch.tensor(array)
    return tensor if lib is torch else from_torch(tensor)


EXPRESSIONS = [
    0,
    -1,
    slice(1, None),
    slice(None, None, 2),
    slice(5, 1),
    slice(-100, 100),
    Ellipsis,
    None,
    (),
    True,
    False,
    (True, 0),
    (0, 1),
    (Ellipsis, 0),
    (0, Ellipsis, None),
    (None, 0, None),
    (slice(None), None, 1),
    [0, 1],
    [],
    [True, False],
    np.array([0, 1]),
    np.array([True, False]),
    np.array([[1.5]]),
    np.int64(1),
    range(2),
    ((0, 1), (1, 2)),
    (slice(None), [0, 2]),
    (slice(None), [0, 2], 1),
    ([0, 1], 0, [0, 1]),
    ([0, 1], None, [0, 1]),
    (0, True, slice(None), [0]),
    (0, [0, 1], slice(None)),
    ([[0], [1]], slice(None), [[0, 3]]),
    (Ellipsis, [0, 3]),
    (Ellipsis, Ellipsis),
    (slice(None), [-1, 0], slice(1, 3)),
]


@pytest.mark.parametrize("index", EXPRESSIONS, ids=repr)
def test_reading(index):
    check_op(lambda lib, x: x[index], values(2, 3, 4), gradgrad=True)


@pytest.mark.parametrize("index", EXPRESSIONS, ids=repr)
@pytest.mark.parametrize("value", [2.5, np.float64(3), True])
def test_writing_a_number(index, value):
    def write(lib, x):
        y = x * 1
        y[index] = value
        return y

    check_op(write, values(2, 3, 4))


@pytest.mark.parametrize("index", EXPRESSIONS, ids=repr)
def test_writing_a_tensor(index):
    def write(lib, x, v):
        y = x * 1
        y[index] = v
        return y

    import torch

    shape = tuple(torch.zeros(2, 3, 4)[index].shape)
    check_op(write, values(2, 3, 4), values(*shape))
    check_op(write, values(2, 3, 4), values(1, 1, *shape[1:]) if shape else values())


def test_writing_in_place_with_operators():
    def program(lib, x, v, m):
        y = x * 2
        y[0] += v
        y[m] *= 3
        y[[0, 1], [1, 2]] += 1
        y[:, 1:] *= v[1:]
        return y

    check_op(program, values(3, 4), values(4), values(3, 4) > 0.5)


@pytest.mark.parametrize(
    "index",
    [
        5,
        -3,
        (0, -4),
        (0, 1, 2, 3),
        slice(None, None, -1),
        slice(None, None, 0),
        slice(0, 1.5),
        1.0,
        "a",
        {0},
        np.bool_(True),
        [0, 2],
        ([0, 1], [0, 1, 2]),
        (Ellipsis, Ellipsis, 0, 0),
        [True, False, True],
        object(),
    ],
    ids=lambda index: "object" if type(index) is object else repr(index),
)
def test_refused_expressions(index):
    check_error(lambda lib, x: x[index], values(2, 3, 4), same_class=True)


def test_refused_index_tensors():
    check_error(lambda lib, x, i: x[i], values(2, 3), Case([1.0]), same_class=True)
    check_error(lambda lib, x, i: x[i], values(2, 3), Case([1], "int16"), same_class=True)
    check_error(lambda lib, x, i: x[i], values(2, 3), Case([[True]], "bool"), same_class=True)


@pytest.mark.parametrize(
    ("index", "value"),
    [
        (0, "a"),
        (0, None),
        (0, [1, 2]),
        (slice(None), Case(values(5))),
        ([0], Case(values(5))),
        ([0, 1], Case([1, 2, 3, 4])),
        ([0], Case([1.0], "float64")),
        ([0], Case(True)),
        (slice(None, None, -1), 1.0),
    ],
)
def test_refused_assignments(index, value):
    def write(lib, x, v):
        y = x * 1
        y[index] = v

    check_error(write, values(2, 3, 4), value, same_class=True)


def test_lists_of_more_than_numbers_warn_as_in_torch():
    x = pyburn.zeros(2, 3, 4)
    with pytest.warns(UserWarning, match="non-tuple sequence"):
        assert tuple(x[[0, slice(None)]].shape) == (3, 4)
    with pytest.warns(UserWarning, match="uint8"):
        assert tuple(x[pyburn.tensor([1, 0], dtype=pyburn.uint8)].shape) == (1, 3, 4)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_any_expression_reads_as_in_torch(data):
    x = data.draw(arrays(shapes(max_rank=4, max_size=3), special=True))
    index = data.draw(indices(x.shape))
    check_or_refuse(lambda lib, t: t[library_index(lib, index, as_index)], x)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_any_expression_writes_as_in_torch(data):
    x = data.draw(arrays(shapes(max_rank=4, max_size=3)))
    index = data.draw(indices(x.shape))

    def write(lib, t):
        y = t * 1
        y[library_index(lib, index, as_index)] = 5.0
        y[library_index(lib, index, as_index)] *= 2
        return y

    check_or_refuse(write, x)


def check_or_refuse(fn, *args):
    """Both libraries agree on a result or both raise."""
    import torch

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fn(torch, *[torch.tensor(arg) for arg in args])
    except Exception:
        check_error(fn, *args)
    else:
        check_op(fn, *args)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(dtype):
    x = Case(values(3, 4) * 5, dtype)

    def program(lib, x, i, m):
        y = x.clone()
        y[i] = x[1]
        y[m] = x[0, 0]
        return x[i], x[:, i], x[m], y, x.gather(1, i.view(1, -1)), x.masked_fill(m, 1), x.index_select(1, i)

    check_op(program, x, [2, 0, 2], values(3, 4) > 0)


def test_basic_indexing_gives_views():
    def program(lib, x):
        y = x * 1
        a, b = y[1], y[:, ::2]
        a[0] = 7.0
        b[...] += 1
        y[...][0] = 3
        return y, a, b, a._is_view(), y[:]._is_view()

    check_op(program, values(3, 4))


def test_iteration_and_length():
    check_op(lambda lib, x: [len(x), [row * 2 for row in x]], values(3, 2))
    check_error(lambda lib, x: len(x), Case(1.0), same_class=True)
    check_error(lambda lib, x: iter(x), Case(1.0), same_class=True)

    def write(lib, x):
        for row in x * 1:
            row.add_(1)

    assert_refused_with_grad(write, values(2, 2))


def assert_refused_with_grad(fn, array):
    case = Case(array)
    import torch

    for lib, x in ((torch, case.torch(True)), (pyburn, case.ours("cpu", True))):
        with pytest.raises(RuntimeError):
            fn(lib, x)


I64 = np.array([[0, 2, 1], [2, 2, 0]])


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_gather_and_scatter(dim):
    x, index = values(3, 4), I64[:, :3]
    check_op(lambda lib, x, i: x.gather(dim, i), x, index, gradgrad=True)
    check_op(lambda lib, x, i: lib.gather(x, dim, i), x, index.astype("int32"))
    check_op(lambda lib, x, i, s: x.scatter(dim, i, s), x, np.array([[0, 2, 1]]), values(1, 3), gradgrad=True)
    check_op(lambda lib, x, i: lib.scatter(x, dim, i, 2.5), x, index)
    check_op(lambda lib, x, i: x.scatter(dim, i, value=2), x, index)
    check_op(lambda lib, x, i, s: x.scatter_add(dim, i, s), x, index, values(2, 3), gradgrad=True)
    check_op(lambda lib, x, i: x.scatter(dim, i, 2, reduce="multiply"), x, index, grad=False)
    check_op(lambda lib, x, i: x.scatter(dim, i, 2, reduce="add"), x, index, grad=False)


@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("include_self", [True, False])
def test_scatter_reduce(reduce, include_self):
    x, index = values(3, 4), I64

    def op(lib, x, s):
        i = as_index(lib, index)
        return x.scatter_reduce(0, i, s, reduce, include_self=include_self)

    check_op(op, x, values(2, 3), dtypes=["float32", "float64"])
    tied, sources = np.array([[1.0, 0.0, 2.0, 1.0]] * 3), np.array([[1.0, 0.0, 2.0], [0.0, 2.0, 2.0]])
    check_op(op, tied, sources)
    check_op(op, Case(x * 5, "int64"), Case(values(2, 3) * 5, "int64"), grad=False)
    check_op(op, Case(x * 5, "int8"), Case(values(2, 3) * 5, "int8"), grad=False)
    if reduce != "sum":

        def by_index(lib, x, i, s):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # torch calls its index_reduce a beta
                return x.index_reduce(1, i, s, reduce, include_self=include_self)

        check_op(by_index, x, np.array([0, 2, 2]), values(3, 3))


def test_nan_in_extremes():
    x, s = np.array([1.0, np.nan, 3.0]), np.array([np.nan, 2.0, np.inf])
    for reduce in ("amax", "amin"):
        check_op(lambda lib, x, i, s: x.scatter_reduce(0, i, s, reduce), x, [0, 1, 2], s, grad=False)  # noqa: B023


@pytest.mark.parametrize("dim", [0, 1, -2])
def test_index_along_a_dimension(dim):
    x, i = values(3, 3, 2), np.array([2, 0, 2])
    source = values(3, 3, 2)
    check_op(lambda lib, x, i: x.index_select(dim, i), x, i, gradgrad=True)
    check_op(lambda lib, x, i, s: x.index_add(dim, i, s, alpha=2), x, i, source, gradgrad=True)
    check_op(lambda lib, x, i, s: x.index_copy(dim, i, s), x, np.array([2, 0, 1]), source, gradgrad=True)
    check_op(lambda lib, x, i, v: x.index_fill(dim, i, v), x, i, Case(4.0))
    check_op(lambda lib, x, i: x.index_fill(dim, i, 4), x, np.array([-1]))


def test_masks():
    x, mask = values(3, 4), values(3, 4) > 0
    row = np.array([True, False, True, False])
    check_op(lambda lib, x, m: x.masked_fill(m, 2), x, mask, gradgrad=True)
    check_op(lambda lib, x, m, v: x.masked_fill(m, v), x, row, Case(3.0))
    check_op(lambda lib, x, m: x.masked_fill(m, 2), values(4), mask)
    check_op(lambda lib, x, m: x.masked_select(m), x, mask, gradgrad=True)
    check_op(lambda lib, x, m: lib.masked_select(x, m), values(4), mask)
    check_op(lambda lib, x, m, s: x.masked_scatter(m, s), x, mask, values(15), gradgrad=True)
    check_op(lambda lib, x, m: lib.nonzero(x), np.array([[0.0, np.nan], [-0.0, 2.0]]), mask)
    check_op(lambda lib, m: [m.nonzero(as_tuple=True), lib.argwhere(m)], mask)
    check_op(lambda lib, x: [x.nonzero(), x.nonzero(as_tuple=True)], Case(2.0))
    check_op(lambda lib, x: x.nonzero(), Case(0.0))


@pytest.mark.parametrize("shape", [(1,), (70001,), (3, 5), (300, 401), (7, 1, 11), (40000, 3), (5, 30, 700)])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 1.0])
def test_nonzero_of_many(shape: tuple[int, ...], share: float) -> None:
    x = np.where(np.random.default_rng(5).random(shape) < share, -1.5, -0.0)
    check_op(lambda lib, x: [x.nonzero(), *x.nonzero(as_tuple=True)], x, grad=False, same_stride=bool(x.any()))
    check_op(lambda lib, x: x.transpose(0, -1).bool().nonzero(), x, grad=False)


def test_flat_positions():
    x, i = values(2, 3), np.array([[0, -1], [3, 3]])
    check_op(lambda lib, x, i: x.take(i), x, i, gradgrad=True)
    check_op(lambda lib, x, i, s: lib.put(x, i, s), x, np.array([0, -1]), values(2))
    check_op(lambda lib, x, i, s: x.clone().put_(i, s, accumulate=True), x, i, values(2, 2))
    check_op(lambda lib, x, i: lib.take_along_dim(x, i, dim=1), x, np.array([[0], [2]]))
    check_op(lambda lib, x, i: lib.take_along_dim(x, i), x, np.array([0, 5]))
    check_op(lambda lib, x, i: x.take_along_dim(i, 0), x, np.array([[0, 1, 1]]))


def test_index_put():
    x, v = values(3, 4), values(2)

    def op(lib, x, a, b, v, accumulate):
        return x.index_put((a, b), v, accumulate), lib.index_put(x, [a], v[0], accumulate)

    for accumulate in (False, True):
        check_op(op, x, np.array([0, 0]), np.array([1, 1]), v, accumulate, gradgrad=accumulate)
    check_op(lambda lib, x, m: x.index_put((m,), x[0, 0]), x, x > 0)


def test_pieces_replaced():
    x = values(3, 4)
    check_op(lambda lib, x, s: lib.select_scatter(x, s, 0, -1), x, values(4), gradgrad=True)
    check_op(lambda lib, x, s: x.slice_scatter(s, 1, 0, 4, 2), x, values(3, 2), gradgrad=True)
    check_op(lambda lib, x, s: lib.diagonal_scatter(x, s, 1), x, values(3))
    check_error(lambda lib, x, s: lib.select_scatter(x, s, 0, 1), x, values(1))


def test_inplace_forms():
    def program(lib, x, i, s, m):
        y = x * 1
        y.scatter_(0, i.view(1, -1), 3)
        y.scatter_add_(1, i.view(1, -1), s)
        y.index_add_(0, i, s.expand(3, 3))
        y.index_fill_(1, i[:1], 2.0)
        y.masked_fill_(m, 0.5)
        y.index_copy_(0, i, s.expand(3, 3) * 2)
        y.index_put_((i,), s, accumulate=True)
        y.masked_scatter_(m, s.expand(3, 3))
        return y

    check_op(program, values(3, 3), np.array([0, 2, 1]), values(1, 3), values(3, 3) > 0)
    check_error(lambda lib, x, m: x.masked_fill_(m, 1), values(2), values(2, 2) > 0)


@pytest.mark.parametrize("padding", [None, 1, -1])
@pytest.mark.parametrize("scale", [False, True])
def test_embedding(padding, scale):
    def op(lib, w, i):
        functional = lib.nn.functional if lib.__name__ == "torch" else lib.ops
        return functional.embedding(i, w, padding_idx=padding, scale_grad_by_freq=scale)

    # torch has no second derivative of its scaled embedding.
    check_op(op, values(4, 3), np.array([[1, 1, 3], [0, 3, 3]]), gradgrad=not scale)
    check_op(op, values(4, 3), Case(2))
    check_op(op, values(4, 3), np.zeros((0, 2), "int64"))


def test_embedding_refusals():
    def op(lib, w, i):
        functional = lib.nn.functional if lib.__name__ == "torch" else lib.ops
        return functional.embedding(i, w)

    check_error(op, values(4, 3), [4], same_class=True)
    check_error(op, values(4, 3), [-1], same_class=True)
    check_error(op, values(4, 3), Case([1], "int16"))


def test_one_hot():
    def op(lib, i, classes=-1):
        return (lib.nn.functional if lib.__name__ == "torch" else lib.ops).one_hot(i, classes)

    check_op(op, [0, 2])
    check_op(op, [[0, 2], [1, 1]], 4)
    check_op(op, Case(1), 3)
    check_op(op, np.zeros((0,), "int64"), 3)
    for bad in ([0, -1], [0, 5]):
        check_error(op, bad, 3)
    check_error(op, np.zeros((0,), "int64"))


INDEX_OPS = {
    "gather": lambda lib, x, i: x.gather(0, i),
    "scatter": lambda lib, x, i: x.scatter(0, i, 9.0),
    "index_select": lambda lib, x, i: x.index_select(0, i),
    "index_add": lambda lib, x, i: x.index_add(0, i, x[: i.numel()]),
    "index_copy": lambda lib, x, i: x.index_copy(0, i, x[: i.numel()]),
    "index_fill": lambda lib, x, i: x.index_fill(0, i, 9.0),
    "take": lambda lib, x, i: x.take(i),
    "put": lambda lib, x, i: x.put(i, x[: i.numel()]),
}


@pytest.mark.parametrize("name", INDEX_OPS)
@pytest.mark.parametrize("index", [[-1], [7], [-8], [2**40]], ids=str)
def test_out_of_range(name, index):
    if index == [-1] and name in ("index_fill", "take", "put"):
        check_op(INDEX_OPS[name], values(5), index)
    else:
        check_error(INDEX_OPS[name], values(5), index, same_class=True)


@pytest.mark.parametrize("name", INDEX_OPS)
def test_wrong_index_dtypes(name):
    check_error(INDEX_OPS[name], values(5), [0.0])
    check_error(INDEX_OPS[name], values(5), Case([0], "uint8"))


def test_wrong_shapes():
    check_error(lambda lib, x, i: x.gather(0, i), values(3, 4), np.zeros((2, 5), "int64"))
    check_error(lambda lib, x, i: x.gather(0, i), values(3, 4), np.zeros(2, "int64"))
    check_error(lambda lib, x, i: x.gather(2, i), values(3, 4), np.zeros((2, 2), "int64"), same_class=True)
    check_error(lambda lib, x, i, s: x.scatter(0, i, s), values(3, 4), np.zeros((2, 4), "int64"), values(1, 4))
    check_error(lambda lib, x, i, s: x.index_add(0, i, s), values(3, 4), [0, 1], values(3, 4))
    check_error(lambda lib, x, m: x.masked_fill(m, 1), values(3, 4), Case([1, 0, 0, 1]))
    check_error(lambda lib, x, m, s: x.masked_scatter(m, s), values(4), values(4) < 9, values(2))


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_gather_of_any_shape(data):
    x = data.draw(arrays(shapes(max_rank=4, max_size=3)))
    dim = data.draw(dims(x.ndim))
    smaller = [data.draw(st.integers(0, size)) for size in x.shape]
    if x.ndim:
        smaller[dim] = data.draw(st.integers(0, 4)) if x.shape[dim] else 0
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    index = rng.integers(0, max(x.shape[dim], 1) if x.ndim else 1, smaller)
    check_op(lambda lib, x, i: x.gather(dim, i), x, Case(index))
    check_op(lambda lib, x, i, s: x.scatter_add(dim, i, s), x, Case(index), rng.standard_normal(smaller).astype("f4"))


def test_a_written_index_is_refused_in_backward():
    def program(lib, x, i):
        y = x.gather(0, i)
        i.zero_()
        y.backward(lib.ones(2))

    case, index = Case(values(3)), Case([0, 2])
    import torch

    for lib, x, i in ((torch, case.torch(True), index.torch()), (pyburn, case.ours("cpu", True), index.ours("cpu"))):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            program(lib, x, i)
