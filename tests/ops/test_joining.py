"""Joining, splitting, repeating, turning and padding agree with torch."""

import numpy as np
import pyburn
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle import Case, check_error, check_op
from strategies import DTYPES, arrays, dims, shapes


def values(*shape, dtype="float32"):
    return np.random.default_rng(3).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("name", ["cat", "concat", "concatenate", "stack"])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_cat_and_stack(name, dim):
    check_op(lambda lib, a, b: getattr(lib, name)([a, b, a], dim), values(2, 3), values(2, 3), gradgrad=True)


def test_cat_promotes_and_passes_over_empty_vectors():
    check_op(lambda lib, a, b: lib.cat([a, b]), Case([1, 2]), [1.5])
    check_op(lambda lib, a, b: lib.cat((a, b)), np.zeros(0, "float32"), values(2, 3))
    check_op(lambda lib, a, b: lib.cat((a, b)), Case([True]), Case([3], "uint8"))
    check_op(lambda lib, a, b: lib.cat((a, b), 1), values(2, 0), values(2, 3).T[:2])
    check_op(lambda lib, a: lib.cat([a.t(), a[:, :2].t()]), values(3, 4))


def test_joins_refuse_what_torch_refuses():
    check_error(lambda lib, a: lib.cat([]), values(1), same_class=True)
    check_error(lambda lib, a: lib.cat(a), values(2, 2), same_class=True)
    check_error(lambda lib, a: lib.cat([a, 1]), values(2), same_class=True)
    check_error(lambda lib, a, b: lib.cat([a, b]), values(2, 3), values(2, 4), same_class=True)
    check_error(lambda lib, a, b: lib.cat([a, b]), Case(1.0), Case(2.0), same_class=True)
    check_error(lambda lib, a, b: lib.stack([a, b]), values(2), values(3), same_class=True)
    check_error(lambda lib, a: lib.stack([]), values(1), same_class=True)
    check_error(lambda lib, a: lib.cat([a], 3), values(2), same_class=True)


@pytest.mark.parametrize("name", ["hstack", "vstack", "dstack", "column_stack", "row_stack"])
@pytest.mark.parametrize("shape", [(), (2,), (2, 3), (2, 3, 2)], ids=str)
def test_stacks(name, shape):
    check_op(lambda lib, a, b: getattr(lib, name)((a, b)), Case(values(*shape)), Case(values(*shape) * 2))


@pytest.mark.parametrize("name", ["atleast_1d", "atleast_2d", "atleast_3d"])
@pytest.mark.parametrize("shape", [(), (2,), (2, 3), (2, 3, 2)], ids=str)
def test_atleast(name, shape):
    check_op(lambda lib, a: [getattr(lib, name)(a), getattr(lib, name)(a, a)], Case(values(*shape)))


@pytest.mark.parametrize("sections", [2, 3, 7, [1, 3], [2, 1], (0, -1), []], ids=str)
def test_tensor_split(sections):
    check_op(lambda lib, a: lib.tensor_split(a, sections), values(5, 2))
    check_op(lambda lib, a: a.tensor_split(sections, dim=-1), values(2, 5))


def test_other_splits():
    check_op(lambda lib, a: [lib.hsplit(a, 2), lib.vsplit(a, [1]), a.hsplit([1, 3])], values(2, 4))
    check_op(lambda lib, a: [lib.hsplit(a, 2), a.split_with_sizes([1, 3])], values(4))
    check_op(lambda lib, a: lib.dsplit(a, 2), values(1, 2, 4))
    check_op(lambda lib, a: [lib.split(a, 3), lib.split(a, [1, 4]), lib.chunk(a, 2), lib.unbind(a, 1)], values(5, 2))
    check_error(lambda lib, a: lib.hsplit(a, 3), values(2, 4))
    check_error(lambda lib, a: lib.vsplit(a, 1), values(4))
    check_error(lambda lib, a: lib.tensor_split(a, 0), values(4))


@pytest.mark.parametrize("times", [(2,), (1, 2), (2, 1, 3), (0, 1), ()], ids=str)
def test_repeat_and_tile(times):
    check_op(lambda lib, a: a.tile(times), values(2, 3), gradgrad=True)
    if len(times) >= 2:
        check_op(lambda lib, a: a.repeat(times), values(2, 3), gradgrad=True)
        check_op(lambda lib, a: a.repeat(*times), values(2, 3))
    else:
        check_error(lambda lib, a: a.repeat(times), values(2, 3))
    check_op(lambda lib, a: a.repeat(2), Case(3.0))


def test_repeat_interleave():
    check_op(lambda lib, a: [a.repeat_interleave(2), lib.repeat_interleave(a, 2, dim=0)], values(2, 3), gradgrad=True)
    check_op(lambda lib, a, r: a.repeat_interleave(r, 0), values(3, 2), [1, 2, 0])
    check_op(lambda lib, r: lib.repeat_interleave(r), Case([1, 2, 0]))
    check_error(lambda lib, a, r: a.repeat_interleave(r, 0), values(3, 2), [1, 2])
    check_error(lambda lib, a, r: a.repeat_interleave(r, 0), values(3, 2), [-1])


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_flip_and_roll(data):
    x = data.draw(arrays(shapes(max_rank=4)))
    axes = data.draw(st.lists(st.integers(0, max(x.ndim - 1, 0)), unique=True, max_size=x.ndim))
    check_op(lambda lib, a: lib.flip(a, axes), x)
    if axes:
        shifts = [data.draw(st.integers(-5, 5)) for _ in axes]
        check_op(lambda lib, a: a.roll(shifts, axes), x)
    check_op(lambda lib, a: lib.roll(a, 2), x)


@pytest.mark.parametrize("k", range(-2, 5))
def test_rotations(k):
    check_op(lambda lib, a: [lib.rot90(a, k), a.rot90(k, [1, -1])], values(2, 3, 4))


def test_mirrors():
    check_op(lambda lib, a: [lib.fliplr(a), lib.flipud(a)], values(2, 3), gradgrad=True)
    check_error(lambda lib, a: lib.fliplr(a), values(3))
    check_error(lambda lib, a: lib.flip(a, (0, 0)), values(3))


def test_names_of_views():
    x = values(2, 3, 4)
    check_op(lambda lib, a: [a.mT, a.mH, lib.adjoint(a), lib.swapaxes(a, 0, 1), a.swapdims(1, 2)], x, same_stride=True)
    check_op(lambda lib, a: [lib.moveaxis(a, 0, -1), lib.movedim(a, (0, 1), (1, 0)), a.ravel()], x, same_stride=True)
    check_op(lambda lib, a: [lib.unflatten(a, -1, (2, 2)), a.unflatten(1, (3, -1)), lib.flatten(a, 1)], x)
    check_op(lambda lib, a: [lib.reshape(a, (6, -1)), lib.permute(a, (2, 0, 1)), lib.transpose(a, 0, 2)], x)
    check_op(lambda lib, a: [lib.squeeze(a), lib.squeeze(a, 0), lib.unsqueeze(a, -1)], values(1, 3, 1))
    check_op(lambda lib, a: [lib.narrow(a, 2, 1, 2), a.narrow_copy(1, 0, 2), lib.select(a, 0, -1)], x)
    check_op(lambda lib, a: [lib.diagonal(a, 1, 1, 2), lib.as_strided(a, (2, 2), (1, 2))], x)
    check_op(lambda lib, a: [a.T, a.H, lib.t(a)], values(2, 3), same_stride=True)
    check_op(lambda lib, a, b: [lib.broadcast_tensors(a, b), lib.broadcast_to(a, (5, 2, 3))], values(2, 1), values(3))
    check_op(lambda lib, a: tuple(lib.broadcast_shapes((2, 1), 3, (1, 1, 1))), values(1), grad=False)
    check_error(lambda lib, a: lib.broadcast_shapes((2,), (3,)), values(1))
    check_error(lambda lib, a: a.unflatten(0, (3, 3)), values(4))


def test_grids():
    check_op(lambda lib, a, b: lib.meshgrid(a, b, indexing="ij"), values(2), values(3))
    check_op(lambda lib, a, b: lib.meshgrid([a, b], indexing="xy"), values(2), values(3))
    check_op(lambda lib, a, b: lib.cartesian_prod(a, b, a), values(2), values(3))
    for r, again in ((2, False), (3, True), (1, False), (0, False)):
        check_op(lambda lib, a: lib.combinations(a, r, again), values(4))  # noqa: B023


@pytest.mark.parametrize("diagonal", [-5, -1, 0, 1, 5])
@pytest.mark.parametrize("shape", [(3, 4), (4, 2), (2, 3, 3), (0, 3)], ids=str)
def test_triangles(diagonal, shape):
    check_op(lambda lib, a: [lib.tril(a, diagonal), a.triu(diagonal)], values(*shape), gradgrad=True)
    check_op(lambda lib, a: lib.tril_indices(3, 4, diagonal), values(1), grad=False)
    check_op(lambda lib, a: lib.triu_indices(4, 3, diagonal, dtype=lib.int32), values(1), grad=False)


def test_triangles_keep_nan_out():
    check_op(lambda lib, a: [a.tril(), (a * 1).triu_()], np.full((2, 2), np.nan, "float32"), grad=False)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8", "bool", "complex64", "float16"])
def test_triangles_of_every_type(dtype: str) -> None:
    """Rows that are cut in memory: batches, turned and sliced matrices, and diagonals beyond the edges."""
    for lib in (pyburn, torch):
        x = lib.arange(2 * 3 * 5 * 7).reshape(2, 3, 5, 7).add(1).to(getattr(lib, dtype))
        found = [
            getattr(part, name)(diagonal).tolist()
            for part in (x, x.transpose(2, 3), x[:, :, ::2, 1:], x[0, 0, :0], x[..., :0], x.clone())
            for name in ("tril", "triu", "tril_", "triu_")
            for diagonal in (0, 1, -2, 40, -40, 2**62, -(2**62))
            for part in (part.clone(),)
        ]
        if lib is pyburn:
            own = found
    assert own == found


@pytest.mark.parametrize("offset", [-2, 0, 1])
def test_diagonals(offset):
    check_op(lambda lib, a: [lib.diag(a, offset), lib.diagflat(a, offset), lib.diag_embed(a, offset)], values(3))
    check_op(lambda lib, a: [lib.diag(a, offset), a.diagflat(offset)], values(3, 4), gradgrad=True)
    check_op(lambda lib, a: lib.diag_embed(a, offset, 0, 2), values(2, 3))
    check_op(lambda lib, a, b: lib.block_diag(a, b, a[0]), values(2, 3), values(1, 1))


PADS = [(1, 2), (0, 0), (2, 1, 0, 3), (-1, 2), (-1, -1, 1, 0), (-2, 3), (1, 1, 1, 1, 1, 1)]


def pad_of(lib):
    return lib.nn.functional.pad if lib.__name__ == "torch" else lib.ops.pad


@pytest.mark.parametrize("pads", PADS, ids=str)
def test_constant_padding(pads):
    check_op(lambda lib, a: pad_of(lib)(a, pads, value=2.5), values(2, 3, 4), gradgrad=True)
    check_op(lambda lib, a: pad_of(lib)(a, pads), Case(values(2, 3, 4) * 5, "int64"))


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize("pads", [(1, 2), (0, 3), (-1, 2), (2, 1, 1, 0), (1, 1, 0, 2, 1, 1)], ids=str)
def test_other_padding(mode, pads):
    shape = (2, *(4,) * (len(pads) // 2))
    check_op(lambda lib, a: pad_of(lib)(a, pads, mode), values(*shape), gradgrad=True)
    check_op(lambda lib, a: pad_of(lib)(a, pads, mode), values(1, *shape))


def test_padding_refusals():
    check_error(lambda lib, a: pad_of(lib)(a, (1,)), values(2, 3))
    check_error(lambda lib, a: pad_of(lib)(a, (1, 1, 1, 1)), values(3))
    check_error(lambda lib, a: pad_of(lib)(a, (-4, 0)), values(3))
    check_error(lambda lib, a: pad_of(lib)(a, (3, 0), "reflect"), values(2, 3))
    check_error(lambda lib, a: pad_of(lib)(a, (4, 0), "circular"), values(2, 3))
    check_error(lambda lib, a: pad_of(lib)(a, (1, 0), "mirror"), values(2, 3))


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(dtype):
    def program(lib, a):
        flat = a.reshape(-1)
        return (
            lib.cat([a, a]),
            lib.flip(a, (0, 1)),
            a.roll(1, 0),
            a.tril(),
            pad_of(lib)(a, (1, 1)),
            a.repeat(2, 1),
            flat,
        )

    check_op(program, Case(values(3, 4) * 5, dtype))


def test_metadata_in_place():
    def program(lib, x):
        a, b, c = x * 1, x * 2, x * 3
        a.t_()
        b.unsqueeze_(0).squeeze_()
        c.transpose_(0, 1)
        d = (x * 4).swapaxes_(0, 1)
        c.mul_(2)
        return a, b, c, d

    check_op(program, values(2, 3))
    check_op(lambda lib, x: x.detach().clone().resize_(2, 2), values(3, 4), grad=False)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_cat_of_any_layout(data):
    shape = data.draw(shapes(min_rank=1, max_rank=4))
    dim = data.draw(dims(len(shape)))
    a, b = data.draw(arrays(shape)), data.draw(arrays(shape))
    check_op(lambda lib, a, b: lib.cat([a, b], dim), a, b)


@pytest.mark.parametrize("choice", [{"indices": (1, -1)}, {"sections": 2}])
def test_tensor_split_takes_either_name(choice):
    check_op(lambda lib, x: lib.tensor_split(x, dim=-1, **choice), [[1.0, 2.0, 3.0]])


@pytest.mark.parametrize("lib", [torch, pyburn])
def test_a_tensor_of_the_common_shape_is_given_back_itself(lib):
    leaf, row = lib.ones(2, 3, requires_grad=True), lib.ones(3)
    whole, spread = lib.broadcast_tensors(leaf, row)
    assert whole is leaf and spread.shape == leaf.shape and spread.stride() == (0, 1)
    assert "grad_fn" not in repr(lib.distributions.Bernoulli(probs=lib.tensor([0.5], requires_grad=True)))


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("shape", "pads"),
    [
        ((3, 4, 37), (5, 0)),
        ((3, 4, 9, 41), (1, 2, 3, 0)),
        ((9, 9, 41), (0, 2, 8, 8)),
        ((2, 3, 5, 6, 19), (3, 1, 2, 5, 4, 1)),
        ((8, 16, 40, 40), (1, 1, 1, 1)),
        ((2, 3, 1, 8), (1, 1, 0, 0)),
    ],
)
def test_padding_by_one_kernel(mode, dtype, shape, pads):
    x = values(*shape, dtype=dtype)
    check_op(lambda lib, x: pad_of(lib)(x, pads, mode=mode), x, gradgrad=x.size < 2000)
    check_op(lambda lib, x: pad_of(lib)(x.transpose(0, 1), pads, mode=mode), x)


def test_padding_of_numbers_without_value_or_end():
    x = values(2, 3, 8, 20)
    x[0, 0, ::3], x[1, 1, 2] = np.nan, -np.inf
    x[:, 2] = -0.0
    check_op(lambda lib, x: pad_of(lib)(x, (2, 3, 1, 1), mode="reflect"), x)
    sign = pad_of(pyburn)(pyburn.from_numpy(x), (2, 3, 1, 1), mode="reflect").signbit()
    assert sign.tolist() == pad_of(torch)(torch.from_numpy(x), (2, 3, 1, 1), mode="reflect").signbit().tolist()


def test_padding_of_channels_last():
    x = values(2, 16, 30, 40)
    for mode in ("reflect", "replicate"):
        both = [
            pad_of(lib)(x.to(memory_format=lib.channels_last), (1, 2, 3, 4), mode=mode)
            for lib, x in ((torch, torch.from_numpy(x)), (pyburn, pyburn.from_numpy(x)))
        ]
        assert both[0].stride() == both[1].stride()
        np.testing.assert_array_equal(both[1].numpy(), both[0].numpy())


@pytest.mark.parametrize("dtype", ["float32", "int16", "complex128"])
def test_slices_beside_each_other(dtype):
    x = (values(300, 8, 40) * 50).astype(dtype)
    check_op(lambda lib, x: lib.cat([x[:, :, 3:], x[:, :, :30], x[:, :, 39:]], 2), x)
    check_op(lambda lib, x: lib.cat([x[:, 3:], x[:, 1:2], x[:, 5:5]], 1), x)
    check_op(lambda lib, x: lib.cat([x[::2, 3:], x[1::2, 1:4]], 1), x)
    check_op(lambda lib, x: lib.cat([x[:1].expand(300, 8, 40), x], 1), x, grad=False)
    check_op(lambda lib, x: lib.cat([x[:, :, :1].expand(300, 8, 40), x], 1), x, grad=False)
    check_op(lambda lib, x: lib.cat([x.transpose(0, 1), x.transpose(0, 1)[:, :5]], 1), x)
    check_op(lambda lib, x: lib.roll(x, (3, -7), (2, 0)), x)
    check_op(lambda lib, x: x.roll(1, 1), x)


@pytest.mark.parametrize(
    "times", [(2, 2, 2), (3, 1, 2), (1, 4, 1), (2, 1, 1, 3), (2, 3, 1, 2, 1), (0, 2, 1), (2, 2, 2, 2)]
)
def test_repeats_in_one_copy(times):
    check_op(lambda lib, x: x.repeat(*times), values(30, 5, 70))
    check_op(lambda lib, x: x.transpose(0, 2).repeat(*times), values(3, 5, 7))


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "int64", "complex128"])
def test_a_number_everywhere_past_the_caches(dtype):
    x = pyburn.empty(2_000_003, dtype=getattr(pyburn, dtype))
    x.fill_(7)
    assert (x.numpy() == 7).all()
    x[1:-2].fill_(3)
    assert x.numpy()[[0, 1, 2, -4, -3, -2, -1]].tolist() == [7, 3, 3, 3, 3, 7, 7]
    assert (x.numpy()[1:-2] == 3).all()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int16", "bool", "complex64"])
def test_repeat_interleave_of_neighbours(dtype: str) -> None:
    x = np.arange(5 * 37).reshape(5, 37) % 7
    for count in (2, 3, 4, 5):
        check_op(lambda lib, x, count=count: x.repeat_interleave(count, dim=1), x, dtypes=[dtype], grad=False)
        check_op(lambda lib, x, count=count: x[:, 1:].T.repeat_interleave(count, 0), x, dtypes=[dtype], grad=False)
