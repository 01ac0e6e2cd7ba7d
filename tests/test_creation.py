"""Creation functions, conversions and what tensors say about themselves, against torch."""

import enum
import math
import subprocess
import sys
import warnings
from fractions import Fraction

import numpy as np
import pyburn
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle import Case, check_error, check_op, dtype_name, from_torch, to_torch

FLOATS = ["float64", "float32", "float16", "bfloat16"]
INTEGERS = ["int64", "int32", "int16", "int8", "uint8"]
DTYPES = [*FLOATS, *INTEGERS, "bool"]
ALL_DTYPES = [*DTYPES, "uint16", "uint32", "uint64"]


def same(call, **tolerance):
    check_op(call, grad=False, **tolerance)


DATA = [
    "3", "2.5", "True", "-7", "[]", "[[]]", "[[], []]", "[1, 2]", "(1, 2)", "[1, 2.5]", "[True, 2]", "[True, False]",
    "[True, 0.5]", "[[1, 2], [3, 4]]", "[(1, 2), [3, 4]]", "range(5)", "[float('nan'), float('inf'), -float('inf')]",
    "[1e300]", "[2**62, -2**63]", "[[[1.0]]]", "np.arange(6).reshape(2, 3)", "np.arange(6.0).reshape(2, 3).T",
    "np.float64(2)", "np.float32(2)", "np.int8(2)", "np.bool_(True)", "[np.float64(1)]", "[np.float32(1), 2]",
    "[np.int16(1), np.int8(2)]", "[lib.tensor(1), lib.tensor(2.0)]", "[lib.tensor([1.0]), lib.tensor([2.0])]",
    "lib.tensor([1, 2])", "np.zeros((0, 3))", "np.array(5)", "np.array([True])", "[[True], [2], [3.5]]",
]  # fmt: skip


@pytest.mark.parametrize("data", DATA)
def test_tensor_infers_dtype_and_shape(data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of copying a tensor
        expected = torch.tensor(eval(data, {"lib": torch, "np": np}))
    found = pyburn.tensor(eval(data, {"lib": pyburn, "np": np}))
    assert dtype_name(found.dtype) == dtype_name(expected.dtype)
    torch.testing.assert_close(to_torch(found), expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", ALL_DTYPES)
@pytest.mark.parametrize("data", [[0, 1, 2], [0.5, 1.75, -0.0], [True, False], [[3], [100]]])
def test_tensor_converts_to_any_dtype(dtype, data):
    if dtype == "uint64" and data[0] == 0.5:
        pytest.skip("torch takes no floats for uint64")
    same(lambda lib: lib.tensor(data, dtype=getattr(lib, dtype)))


def test_tensor_takes_whatever_becomes_a_float():
    assert pyburn.tensor([Fraction(1, 4)], dtype=pyburn.float64).tolist() == [0.25]
    assert pyburn.tensor([2**70], dtype=pyburn.float32).item() == 2.0**70
    assert pyburn.tensor(2**63, dtype=pyburn.uint64).item() == 2**63
    assert pyburn.tensor([-1], dtype=pyburn.uint8).tolist() == [255]


class Sequence:
    def __len__(self):
        return 2

    def __getitem__(self, index):
        return [1.0, 2.0][index]


def test_tensor_takes_any_sequence():
    same(lambda lib: lib.tensor(Sequence()))
    same(lambda lib: lib.tensor([Sequence(), Sequence()]))


BAD_DATA = [
    "'abc'", "['a']", "b'ab'", "[1, 'a']", "[[1], ['a']]", "[[1, 2], [3]]", "[[1, 2], 3]", "[1, [2]]", "None", "[None]",
    "[1, None]", "2**63", "[-2**63 - 1]", "{1}", "{1: 2}", "object()", "[object()]",
    "[lib.tensor([1, 2]), lib.tensor([3, 4])]", "np.array(['a'])", "np.array([object()])", "np.zeros(3)[::-1]",
    "np.zeros(3, dtype='>f4')", "np.zeros(3, dtype=[('a', 'f4'), ('b', 'i1')])['a']",
]  # fmt: skip


@pytest.mark.parametrize("data", BAD_DATA)
def test_bad_data_raises_as_in_torch(data):
    # torch's class depends on the tensors' dtype where several elements stand for one number.
    check_error(lambda lib: lib.tensor(eval(data, {"lib": lib, "np": np})), same_class="lib" not in data)


def test_a_ragged_list_is_named_as_in_torch():
    with pytest.raises(ValueError, match=r"expected sequence of length 2 at dim 1 \(got 1\)"):
        pyburn.tensor([[1, 2], [3]])
    with pytest.raises(ValueError, match=r"expected sequence of length 0 at dim 1 \(got 1\)"):
        pyburn.tensor([[], [1]])


def test_a_list_inside_itself_is_refused():
    loop = []
    loop.append(loop)
    with pytest.raises(ValueError, match="too many dimensions"):
        pyburn.tensor(loop)


def test_a_sequence_that_fails_passes_its_error_on():
    class Broken(Sequence):
        def __getitem__(self, index):
            raise KeyError("inside")

    with pytest.raises(KeyError, match="inside"):
        pyburn.tensor(Broken())


@pytest.mark.parametrize(("value", "dtype"), [(300, "uint8"), (-129, "int8"), (1e30, "int32"), (math.nan, "int64")])
def test_values_outside_the_dtype_are_refused(value, dtype):
    check_error(lambda lib: lib.tensor([value], dtype=getattr(lib, dtype)), same_class=True)
    check_error(lambda lib: lib.full((2,), value, dtype=getattr(lib, dtype)), same_class=True)


@pytest.mark.parametrize("dtype", [None, *ALL_DTYPES])
@pytest.mark.parametrize("name", ["zeros", "ones"])
def test_zeros_and_ones(name, dtype):
    def call(lib, *size, **more):
        return getattr(lib, name)(*size, dtype=dtype and getattr(lib, dtype), **more)

    for size in [(), (2,), (2, 3), (0,), (2, 0, 3), (1,) * 8]:
        same(lambda lib, size=size: call(lib, size))
        same(lambda lib, size=size: call(lib, size=size))
        same(lambda lib, size=size: call(lib, list(size)))
        if size:
            same(lambda lib, size=size: call(lib, *size))
    same(lambda lib: call(lib, lib.zeros(2, 3).shape))
    same(lambda lib: call(lib, np.int64(2), lib.tensor(3)))


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_full_and_like_forms(dtype):
    kind = lambda lib: getattr(lib, dtype)  # noqa: E731
    same(lambda lib: lib.full((2, 3), 1, dtype=kind(lib)))
    same(lambda lib: lib.zeros_like(lib.ones(2, 3, dtype=kind(lib))))
    same(lambda lib: lib.ones_like(lib.zeros(2, 3, dtype=kind(lib))))
    same(lambda lib: lib.full_like(lib.zeros(2, dtype=kind(lib)), 1))
    same(lambda lib: lib.zeros_like(lib.zeros(2), dtype=kind(lib)))
    base = lambda lib: lib.zeros(1, dtype=kind(lib))  # noqa: E731
    same(lambda lib: base(lib).new_zeros(2, 3))
    same(lambda lib: base(lib).new_ones((2, 3)))
    same(lambda lib: base(lib).new_full((2,), 1))
    same(lambda lib: base(lib).new_tensor([1, 0]))
    same(lambda lib: base(lib).new_ones(2, dtype=lib.float32))
    assert pyburn.empty_like(base(pyburn)).dtype is kind(pyburn)
    assert base(pyburn).new_empty(2, 3).shape == (2, 3)


def test_full_infers_the_dtype_of_its_value():
    for value in [1, 1.5, True, False, -0.0, math.inf]:
        same(lambda lib, value=value: lib.full((2,), value))
    same(lambda lib: lib.full((2,), lib.tensor(3.0)))
    same(lambda lib: lib.full((), 3))
    same(lambda lib: lib.full((2,), 1.5, dtype=lib.int32))
    same(lambda lib: lib.scalar_tensor(3))
    assert math.copysign(1, pyburn.full((2,), -0.0).tolist()[0]) == -1


def test_default_dtype_is_used():
    pyburn.set_default_dtype(pyburn.float64)
    try:
        assert pyburn.zeros(1).dtype is pyburn.float64
        assert pyburn.tensor(1.5).dtype is pyburn.float64
        assert pyburn.arange(1.0).dtype is pyburn.float64
        assert pyburn.rand(1).dtype is pyburn.float64
        assert pyburn.full((1,), 2.0).dtype is pyburn.float64
    finally:
        pyburn.set_default_dtype(pyburn.float32)


def test_requires_grad_is_set():
    for call in [
        lambda: pyburn.tensor([1.0], requires_grad=True),
        lambda: pyburn.zeros(1, requires_grad=True),
        lambda: pyburn.empty(1, requires_grad=True),
        lambda: pyburn.full((1,), 1.0, requires_grad=True),
        lambda: pyburn.ones_like(pyburn.zeros(1), requires_grad=True),
        lambda: pyburn.zeros(1).new_zeros(1, requires_grad=True),
        lambda: pyburn.arange(1.0, requires_grad=True),
        lambda: pyburn.linspace(0, 1, 2, requires_grad=True),
        lambda: pyburn.eye(2, requires_grad=True),
        lambda: pyburn.rand(2, requires_grad=True),
    ]:
        made = call()
        assert made.requires_grad and made.is_leaf
    for call in [lambda lib: lib.tensor([1], requires_grad=True), lambda lib: lib.arange(2, requires_grad=True)]:
        check_error(call, same_class=True)


BAD_SIZES = [
    lambda lib: lib.zeros(-1), lambda lib: lib.zeros(2, -3), lambda lib: lib.zeros(2.5), lambda lib: lib.zeros("a"),
    lambda lib: lib.zeros((2, "a")), lambda lib: lib.zeros(), lambda lib: lib.zeros(10**30),
    lambda lib: lib.zeros(None),
    lambda lib: lib.zeros(10**15, 10**15), lambda lib: lib.zeros(2, unknown=3), lambda lib: lib.zeros(2, dtype="x"),
    lambda lib: lib.zeros(2, device="nowhere"), lambda lib: lib.zeros(2, device=2.5), lambda lib: lib.full((2,), "a"),
    lambda lib: lib.full((2,), 2**63), lambda lib: lib.full(2.5, 1), lambda lib: lib.zeros_like([1]),
    lambda lib: lib.empty_strided((2,), (1, 2)), lambda lib: lib.empty_strided((2,), (-1,)),
    lambda lib: lib.empty_strided((2, 2), (2**62, 2**62)), lambda lib: lib.zeros(3).new_zeros(-1),
    lambda lib: lib.arange(), lambda lib: lib.arange(1, 0), lambda lib: lib.arange(0, 5, 0),
    lambda lib: lib.arange(0.0, math.nan), lambda lib: lib.arange(math.inf),
    lambda lib: lib.arange(1, 3, dtype=lib.bool),
    lambda lib: lib.arange("a"), lambda lib: lib.arange(1, 2, 3, 4), lambda lib: lib.arange(2**70),
    lambda lib: lib.linspace(0, 1, -1), lambda lib: lib.linspace(0, 1), lambda lib: lib.eye(-1),
    lambda lib: lib.eye(2, -1),
    lambda lib: lib.eye("a"), lambda lib: lib.tensor(), lambda lib: lib.tensor([1], device="nowhere"),
]  # fmt: skip


@pytest.mark.parametrize("call", BAD_SIZES)
def test_bad_arguments_raise(call):
    check_error(call)


@pytest.mark.parametrize("name", ["zeros", "ones", "empty", "rand", "randn"])
def test_absurd_sizes_are_memory_errors(name):
    with pytest.raises(MemoryError):
        getattr(pyburn, name)(10**14)
    with pytest.raises(MemoryError):
        pyburn.arange(10**15)
    with pytest.raises(MemoryError):
        pyburn.linspace(0, 1, 10**15)
    with pytest.raises(MemoryError):
        pyburn.eye(10**8)


ARANGES = [
    (5,), (5.0,), (0, 1, 0.3), (5, 0, -2), (1, 7, 2), (0, 10, 3.5), (2.5, 5), (0,), (-3, 3), (3, 3), (0.0, -1.0, -0.25),
    (True,), (1, 2, 0.1), (-1.5, 1.5, 0.5),
]  # fmt: skip


@pytest.mark.parametrize("args", ARANGES)
@pytest.mark.parametrize("dtype", [None, *FLOATS, "int64", "int32", "int16"])
def test_arange(args, dtype):
    same(lambda lib: lib.arange(*args, dtype=dtype and getattr(lib, dtype)))


@settings(max_examples=60, deadline=None)
@given(
    st.integers(-50, 50) | st.floats(-50, 50),
    st.integers(-50, 50) | st.floats(-50, 50),
    st.integers(-9, 9) | st.floats(0.1, 9) | st.floats(-9, -0.1),
)
def test_arange_has_torchs_length(start, end, step):
    try:
        expected = torch.arange(start, end, step)
    except RuntimeError:
        with pytest.raises(RuntimeError):
            pyburn.arange(start, end, step)
    else:
        found = pyburn.arange(start, end, step)
        assert dtype_name(found.dtype) == dtype_name(expected.dtype)
        torch.testing.assert_close(to_torch(found), expected, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [2, 7, 28, 199, 224, 1001])
def test_ranges_have_torchs_last_bit(count, dtype):
    """What is floored or compared afterwards (pixels, angles, bins) depends on it."""
    for make in (
        lambda lib: lib.linspace(-1, 1, count, dtype=getattr(lib, dtype)),
        lambda lib: lib.linspace(0.1, 7.3, count, dtype=getattr(lib, dtype)),
        lambda lib: lib.arange(-1, 1, 2 / count, dtype=getattr(lib, dtype)),
        lambda lib: lib.arange(0, count * 0.3, 0.3, dtype=getattr(lib, dtype)),
    ):
        assert torch.equal(to_torch(make(pyburn)), make(torch))


def test_arange_by_keyword_and_tensor():
    same(lambda lib: lib.arange(end=3, start=1))
    same(lambda lib: lib.arange(start=1, end=9, step=3))
    same(lambda lib: lib.arange(lib.tensor(3)))
    same(lambda lib: lib.arange(lib.tensor(3.0)))
    same(lambda lib: lib.arange(0, 5, out=lib.zeros(5)))
    assert pyburn.arange(1_000_000).tolist()[-1] == 999_999


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 7, 100])
@pytest.mark.parametrize("ends", [(0, 1), (-5, 5), (3, 3), (10, -2.5), (0, 10)])
def test_linspace_and_logspace(steps, ends):
    for dtype in [None, *FLOATS]:
        same(lambda lib, dtype=dtype: lib.linspace(*ends, steps, dtype=dtype and getattr(lib, dtype)))
    same(lambda lib: lib.linspace(*ends, steps=steps, dtype=lib.int64))
    same(lambda lib: lib.logspace(*ends, steps, base=2.0), rtol=1e-5)
    same(lambda lib: lib.logspace(*ends, steps, dtype=lib.float64), rtol=1e-12)


def test_range_includes_its_end():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for args in [(0, 3), (1, 4, 0.5), (5, 1, -2), (0.0, 1.0, 0.3), (2, 2)]:
            torch.testing.assert_close(to_torch(pyburn.range(*args)), torch.range(*args))
    with pytest.warns(UserWarning, match="arange"):
        pyburn.range(0, 1)


@pytest.mark.parametrize("dtype", [None, *DTYPES])
def test_eye(dtype):
    for args in [(3,), (2, 4), (4, 2), (0,), (0, 3), (1,)]:
        same(lambda lib, args=args: lib.eye(*args, dtype=dtype and getattr(lib, dtype)))


def test_out_is_written_and_returned():
    for call in [
        lambda lib, out: lib.zeros(2, 3, out=out),
        lambda lib, out: lib.ones(2, 3, out=out),
        lambda lib, out: lib.full((2, 3), 2.0, out=out),
        lambda lib, out: lib.eye(2, 3, out=out),
        lambda lib, out: lib.linspace(0, 1, 6, out=out),
    ]:
        out = pyburn.full((2, 3), 9.0)
        expected = call(torch, torch.full((2, 3), 9.0))
        assert call(pyburn, out) is out
        torch.testing.assert_close(to_torch(out), expected)


def test_empty_strided_has_its_strides():
    made = pyburn.empty_strided((2, 3), (1, 2), dtype=pyburn.int32)
    assert made.stride() == (1, 2) and made.shape == (2, 3)
    made.fill_(4)
    assert made.tolist() == [[4] * 3] * 2


def test_memory_formats():
    x = pyburn.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    theirs = torch.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    for made in [
        x.contiguous(memory_format=pyburn.channels_last),
        x.to(memory_format=pyburn.channels_last),
        x.clone(memory_format=pyburn.channels_last),
    ]:
        assert made.stride() == theirs.stride()
        assert made.is_contiguous(memory_format=pyburn.channels_last) and not made.is_contiguous()
        assert made.tolist() == x.tolist()
        assert made.contiguous(memory_format=pyburn.channels_last) is made
    assert pyburn.empty(2, 3, 4, 5, memory_format=pyburn.channels_last).stride() == theirs.stride()
    assert pyburn.zeros_like(x, memory_format=pyburn.channels_last).stride() == theirs.stride()
    assert x.contiguous() is x
    with pytest.raises(RuntimeError, match="rank 4"):
        pyburn.zeros(3).contiguous(memory_format=pyburn.channels_last)
    with pytest.raises(TypeError, match="memory_format"):
        x.contiguous(memory_format="channels_last")
    grad_in = pyburn.ones(1, 2, 2, 2, requires_grad=True)
    grad_in.contiguous(memory_format=pyburn.channels_last).backward(pyburn.ones(1, 2, 2, 2))
    assert grad_in.grad.tolist() == pyburn.ones(1, 2, 2, 2).tolist()


VALUES = [0.0, 1.0, -1.0, 2.5, -2.5, 100.0, 127.6]


@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.parametrize("target", DTYPES)
def test_to_converts_as_torch(source, target):
    check_op(lambda lib, x: x.to(getattr(lib, target)), Case(np.array(VALUES), source), grad=source in FLOATS)
    check_op(lambda lib, x: x.to("cpu", getattr(lib, target)), Case(np.array(VALUES), source), grad=False)
    check_op(lambda lib, x: x.type(getattr(lib, target)), Case(np.array(VALUES), source), grad=False)
    check_op(lambda lib, x: x.to(lib.zeros(1, dtype=getattr(lib, target))), Case(np.array(VALUES), source), grad=False)
    check_op(
        lambda lib, x: x.type_as(lib.zeros(1, dtype=getattr(lib, target))), Case(np.array(VALUES), source), grad=False
    )


SHORT = ["float", "double", "half", "bfloat16", "long", "int", "short", "char", "byte", "bool"]


@pytest.mark.parametrize("name", SHORT)
def test_short_forms_convert(name):
    check_op(lambda lib, x: getattr(x, name)(), np.array([0.0, 1.0, 2.0]))
    done = getattr(pyburn.tensor([1, 0]), name)()
    assert getattr(done, name)() is done


def test_to_returns_the_same_object_when_nothing_changes():
    x = pyburn.zeros(2)
    assert x.to(pyburn.float32) is x and x.to("cpu") is x and x.cpu() is x and x.to(x) is x and x.to() is x
    assert x.to(dtype=pyburn.float32, device="cpu") is x and x.to(pyburn.device("cpu"), non_blocking=True) is x
    copied = x.to("cpu", copy=True)
    assert copied is not x and copied.data_ptr() != x.data_ptr()
    assert x.to(pyburn.float32, False, True).data_ptr() != x.data_ptr()
    for bad in [
        lambda: x.to("nowhere"),
        lambda: x.to(pyburn.float32, "cpu"),
        lambda: x.to([1]),
        lambda: x.type("nothing"),
    ]:
        with pytest.raises((RuntimeError, TypeError, ValueError)):
            bad()


def test_type_names():
    assert pyburn.zeros(1).type() == "pyburn.FloatTensor"
    assert pyburn.zeros(1).type("torch.DoubleTensor").dtype is pyburn.float64
    assert pyburn.zeros(1).type(pyburn.int8).dtype is pyburn.int8


def test_clone_is_apart_and_passes_gradients():
    check_op(lambda lib, x: x.clone(), np.arange(6.0).reshape(2, 3).T, gradgrad=True)
    x = pyburn.zeros(2)
    x.clone().fill_(1)
    assert x.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_item_and_tolist(dtype):
    expected = torch.tensor([[0, 1], [1, 100]]).to(getattr(torch, dtype))
    found = pyburn.tensor([[0, 1], [1, 100]]).to(getattr(pyburn, dtype))
    assert found.tolist() == expected.tolist()
    assert found.t().tolist() == [list(row) for row in zip(*expected.tolist(), strict=True)]
    value = found.narrow(0, 1, 1).narrow(1, 1, 1)
    assert value.item() == expected[1, 1].item() and type(value.item()) is type(expected[1, 1].item())
    assert pyburn.zeros(0, 3).tolist() == [] and pyburn.zeros(2, 0).tolist() == [[], []]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(width=32), max_size=9))
def test_float_lists_survive(values):
    found = pyburn.tensor(values).tolist()
    assert all(a == b or (math.isnan(a) and math.isnan(b)) for a, b in zip(values, found, strict=True))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=9))
def test_integer_lists_survive(values):
    assert pyburn.tensor(values, dtype=pyburn.int64).tolist() == values


def test_conversions_to_python_numbers():
    for value in [2.7, 3, True, 0, -1.5]:
        ours, theirs = pyburn.tensor(value), torch.tensor(value)
        assert bool(ours) == bool(theirs) and int(ours) == int(theirs) and float(ours) == float(theirs)
        assert complex(ours) == complex(theirs)
    assert bool(pyburn.tensor(math.nan)) and not pyburn.tensor([[0.0]])
    assert [5, 6, 7][pyburn.tensor(1)] == 6 and [5, 6][pyburn.tensor(True)] == 6
    assert f"{pyburn.tensor(1.5).item():.3f}" == "1.500"
    for call in [
        lambda lib: bool(lib.zeros(2)), lambda lib: bool(lib.zeros(0)), lambda lib: int(lib.zeros(2)),
        lambda lib: float(lib.zeros(0)), lambda lib: [1][lib.tensor(1.0)], lambda lib: lib.zeros(2).item(),
        lambda lib: [1][lib.zeros(2, dtype=lib.int64)],
        lambda lib: int(lib.tensor(math.nan)), lambda lib: complex(lib.zeros(3)),
    ]:  # fmt: skip
        check_error(call, same_class=True)


def test_facts_about_a_tensor():
    x = pyburn.zeros(2, 3, dtype=pyburn.float64)
    assert (x.nbytes, x.itemsize, x.nelement(), x.ndimension(), x.get_device()) == (48, 8, 6, 2, -1)
    assert x.is_cpu and not (x.is_cuda or x.is_sparse or x.is_quantized or x.is_meta)
    assert x.layout is pyburn.strided and repr(pyburn.strided) == "pyburn.strided"
    assert not x.is_shared() and x.pin_memory() is x and not x.is_pinned()
    view = x.narrow(0, 1, 1)
    assert view.untyped_storage().nbytes() == 48 and view.storage().size() == 6
    assert view.untyped_storage().data_ptr() == x.data_ptr() and view.storage() == x.storage()
    assert view.storage().tolist() == [0.0] * 6 and len(view.untyped_storage().tolist()) == 48
    assert hash(x) == hash(x) and len({x, x, view}) == 2
    assert pyburn.is_tensor(x) and not pyburn.is_tensor(1) and pyburn.numel(x) == 6
    assert pyburn.is_floating_point(x) and not pyburn.is_complex(x) and pyburn.is_storage(x.storage())


@pytest.mark.parametrize("one", DTYPES)
@pytest.mark.parametrize(
    "other", ["1", "1.5", "True", *(f"lib.zeros(2, dtype=lib.{d})" for d in DTYPES), "lib.tensor(1.0)"]
)
def test_result_type_is_torchs(one, other):
    def call(lib):
        return lib.result_type(lib.zeros(2, dtype=getattr(lib, one)), eval(other, {"lib": lib}))

    assert dtype_name(call(pyburn)) == dtype_name(call(torch))


def test_pyburn_tensor_is_function_and_module():
    import pyburn.tensor as module

    assert module is pyburn.tensor and module.Tensor is pyburn.Tensor and module([1]).tolist() == [1]
    from pyburn.tensor import Distribution, TensorPy

    assert TensorPy is pyburn.Tensor and Distribution is pyburn.Distribution


@pytest.mark.parametrize("name", ["FloatTensor", "DoubleTensor", "LongTensor", "IntTensor", "ByteTensor", "BoolTensor"])
def test_legacy_constructors(name):
    same(lambda lib: getattr(lib, name)([[1, 0], [1, 1]]))
    same(lambda lib: getattr(lib, name)((1, 0)))
    same(lambda lib: getattr(lib, name)())
    assert getattr(pyburn, name)(2, 3).shape == (2, 3)
    for lib in (torch, pyburn):
        assert isinstance(getattr(lib, name)([1]), getattr(lib, name)) and not isinstance(
            lib.zeros(1, dtype=lib.int8), getattr(lib, name)
        )


def test_backends_by_name_and_enum():
    B = pyburn.Backend
    assert issubclass(B, enum.Enum) and {m.name for m in B} == {"NDARRAY", "WGPUDEVICE", "FUSIONJITBACKEND", "PYTORCH"}
    assert pyburn.zeros(1, device=B.NDARRAY).device == pyburn.device("cpu")
    assert pyburn.zeros(1).to("NdArray").device.type == "cpu"
    assert pyburn.device(B.WGPUDEVICE) == pyburn.device("Wgpu") == pyburn.device(B.FUSIONJITBACKEND)
    with pytest.raises(pyburn.DeviceError, match="libtorch"):
        pyburn.zeros(1, device=B.PYTORCH)


def test_devices_lists_the_cpu_first():
    first = pyburn.devices()[0]
    assert first.device == pyburn.device("cpu") and first.kind == "cpu" and first.name and not first.software
    assert all(info.kind == "wgpu" for info in pyburn.devices()[1:])


def test_cuda_answers_no_and_does_nothing():
    assert not pyburn.cuda.is_available() and pyburn.cuda.device_count() == 0
    pyburn.cuda.manual_seed_all(1)
    pyburn.cuda.synchronize()
    pyburn.cuda.empty_cache()
    device = "cuda" if pyburn.cuda.is_available() else "cpu"
    assert pyburn.zeros(1).to(device).device.type == "cpu"
    with pytest.raises(RuntimeError):
        pyburn.cuda.current_device()


def test_numpy_is_not_needed_to_import():
    code = """
import sys
sys.modules["numpy"] = None
import pyburn
x = pyburn.tensor([[1.0, 2.0]])
assert x.tolist() == [[1.0, 2.0]] and str(x) == "tensor([[1., 2.]])"
try:
    x.numpy()
except ImportError as error:
    assert "pip install numpy" in str(error)
else:
    raise AssertionError("no ImportError")
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_importing_pyburn_loads_no_numpy():
    code = "import sys, pyburn; assert 'numpy' not in sys.modules and 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_from_torch_round_trip():
    for dtype in ALL_DTYPES:
        tensor = torch.tensor([0, 1, 100]).to(getattr(torch, dtype))
        assert torch.equal(to_torch(from_torch(tensor)), tensor)


DEVICES = sorted({info.kind for info in pyburn.devices()})


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", ["float32", "int64", "int32", "int16", "int8", "uint8", "bool"])
def test_creation_on_every_device(device, dtype):
    kind = getattr(pyburn, dtype)
    calls = [
        lambda where: pyburn.tensor([[0, 1], [1, 1]], dtype=kind, device=where),
        lambda where: pyburn.zeros(2, 3, dtype=kind, device=where),
        lambda where: pyburn.ones(2, 3, dtype=kind, device=where),
        lambda where: pyburn.full((2,), 1, dtype=kind, device=where),
        lambda where: pyburn.eye(2, dtype=kind, device=where),
        lambda where: pyburn.tensor(1, dtype=kind, device=where),
        lambda where: pyburn.zeros(0, dtype=kind, device=where),
        lambda where: pyburn.zeros(2, device=where).to(kind),
        lambda where: pyburn.ones(2, 3, device=where).t().to(kind).clone(),
        lambda where: pyburn.zeros(1).new_ones(3, device=where, dtype=kind),
        lambda where: pyburn.randint(
            0, 2, (3, 3), dtype=kind, device=where, generator=pyburn.Generator().manual_seed(4)
        ),
    ]
    for call in calls:
        made, plain = call(device), call("cpu")
        assert made.device.type == device and made.dtype is kind
        assert made.tolist() == plain.tolist() and made.cpu().tolist() == plain.tolist()
        assert made.numpy(force=True).tolist() == plain.tolist()


@pytest.mark.parametrize("device", DEVICES)
def test_moves_and_numbers_on_every_device(device):
    x = pyburn.arange(6.0, device=device).reshape(2, 3)
    assert x.to(device) is x and x.cpu().to(device).tolist() == x.tolist()
    assert x.t().contiguous().tolist() == x.cpu().t().tolist()
    assert pyburn.tensor(2.5, device=device).item() == 2.5 and int(pyburn.tensor(3, device=device)) == 3
    assert bool(pyburn.tensor([True], device=device)) and pyburn.linspace(0, 1, 3, device=device).tolist() == [
        0.0,
        0.5,
        1.0,
    ]
    pyburn.manual_seed(1)
    first = pyburn.rand(5, device=device).tolist() + pyburn.zeros(5, device=device).normal_().tolist()
    pyburn.manual_seed(1)
    assert first == pyburn.rand(5).tolist() + pyburn.zeros(5).normal_().tolist()
    leaf = pyburn.ones(2, device=device, requires_grad=True)
    leaf.cpu().backward(pyburn.tensor([1.0, 2.0]))
    assert leaf.grad.device.type == device and leaf.grad.tolist() == [1.0, 2.0]
    if device != "cpu":
        with pytest.raises(TypeError, match=r"Use Tensor.cpu\(\)"):
            x.numpy()
        with pytest.raises(BufferError):
            memoryview(x)
        with pytest.raises(BufferError):
            x.__dlpack__()
        assert torch.from_dlpack(x.__dlpack__(dl_device=(1, 0))).tolist() == x.tolist()
        with pytest.raises(pyburn.DTypeError):
            pyburn.zeros(1, dtype=pyburn.float64, device=device)
        with pytest.raises(RuntimeError, match="int32"):
            pyburn.tensor([2**40], device=device)
        with pytest.raises(pyburn.DeviceError):
            pyburn.zeros(1, device="wgpu:99")


@pytest.mark.parametrize("device", DEVICES)
def test_copies_stay_on_their_device(device):
    import copy
    import pickle

    x = pyburn.arange(6.0, device=device).reshape(2, 3).t()
    for made in [copy.deepcopy(x), pickle.loads(pickle.dumps(x)), copy.copy(x)]:
        assert made.device == x.device and made.tolist() == x.tolist()


def test_a_tensor_is_one_python_object():
    x = pyburn.ones(2, requires_grad=True)
    (x * 2).backward(pyburn.ones(2))
    assert x.grad is x.grad
    grad = x.grad
    grad.note = "kept"
    assert x.grad.note == "kept" and {grad: 1}[x.grad] == 1
    seen = []
    x.register_post_accumulate_grad_hook(seen.append)
    (x * 2).backward(pyburn.ones(2))
    assert seen[0] is x
    y = x * 2
    assert y.grad_fn.next_functions[0][0].variable is x
    assert x.contiguous() is x and x.flatten() is x


def test_an_object_in_its_last_moment_is_not_revived():
    import weakref

    base = pyburn.ones(2, requires_grad=True)
    node = (base * 2).grad_fn.next_functions[0][0]
    found = []
    watch = weakref.ref(base, lambda _: found.append(node.variable))
    del base
    assert watch() is None and found[0].tolist() == [1.0, 1.0] and found[0] is node.variable


@pytest.mark.parametrize("steps", [1, 2, 3, 17, 1000, 65_537, 200_000])
@pytest.mark.parametrize("ends", [(0, 1), (-3.5, 7.25), (5, -0.0), (1e30, -1e38), (0.0, float("inf")), (2, 2)])
def test_points_in_equal_distances_are_torchs(steps, ends):
    ours, theirs = pyburn.linspace(*ends, steps), torch.linspace(*ends, steps)
    np.testing.assert_array_equal(ours.numpy().view("i4"), theirs.numpy().view("i4"))
