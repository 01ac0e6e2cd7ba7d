"""pickle, copy and deepcopy of tensors."""

import copy
import io
import pickle
import pickletools
import subprocess
import sys

import pyburn
import pytest
import torch

from oracle import check_error

DTYPES = [
    "float64",
    "float32",
    "float16",
    "bfloat16",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "uint16",
    "uint32",
    "bool",
]
PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)


class Parameter(pyburn.Tensor):
    """A subclass as nn.Parameter is one."""


def parameter(data):
    return pyburn.Tensor._make_subclass(Parameter, data, True)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_values_dtype_and_shape_survive(dtype, protocol):
    for shape in [(), (3,), (2, 3), (0,), (2, 0)]:
        x = pyburn.ones(shape, dtype=getattr(pyburn, dtype))
        back = pickle.loads(pickle.dumps(x, protocol))
        assert type(back) is pyburn.Tensor and back.dtype is x.dtype and back.shape == x.shape
        assert back.tolist() == x.tolist() and back.device == x.device and not back.requires_grad


def test_views_are_saved_alone():
    base = pyburn.arange(10_000)
    part = base.view(100, 100).t().narrow(0, 3, 2)
    data = pickle.dumps(part)
    assert len(data) < 4000
    assert pickle.loads(data).tolist() == part.tolist()


def test_requires_grad_subclass_and_attributes_survive():
    x = parameter(pyburn.tensor([1.0, 2.0]))
    x.note = {"a": 1}
    back = pickle.loads(pickle.dumps(x))
    assert type(back) is Parameter and back.requires_grad and back.is_leaf and back.note == {"a": 1}
    assert not pickle.loads(pickle.dumps(x.detach())).requires_grad
    assert pickle.loads(pickle.dumps(pyburn.ones(2, requires_grad=True))).requires_grad
    assert pickle.loads(pickle.dumps(pyburn.ones(2, requires_grad=True) * 2)).requires_grad


def test_one_object_stays_one_object():
    x = pyburn.ones(2)
    first, second, other = pickle.loads(pickle.dumps([x, x, pyburn.ones(2)]))
    assert first is second and first is not other


def test_the_pickle_names_only_pyburn():
    names = set()
    stream = io.BytesIO(pickle.dumps(pyburn.ones(2, dtype=pyburn.bfloat16), 2))
    for opcode, argument, _ in pickletools.genops(stream):
        if opcode.name == "GLOBAL":
            names.add(argument.split(" ")[0].split(".")[0])
    assert names <= {"pyburn", "_codecs"}


@pytest.mark.parametrize(
    ("data", "shape"), [(b"", (2,)), (b"1234", (2,)), (b"12345678", (2**40, 2**40)), (b"1234", (-1,)), ("text", (1,))]
)
def test_damaged_pickles_raise(data, shape):
    from pyburn._copying import _rebuild_tensor

    with pytest.raises((ValueError, TypeError, RuntimeError, OverflowError)):
        _rebuild_tensor(pyburn.Tensor, data, shape, pyburn.float32, "cpu", False)


def test_other_objects_pickle():
    for value in [pyburn.float32, pyburn.device("cpu"), pyburn.Size([1, 2]), pyburn.channels_last, pyburn.strided]:
        for protocol in PROTOCOLS:
            back = pickle.loads(pickle.dumps(value, protocol))
            assert back == value and type(back) is type(value)
    assert pickle.loads(pickle.dumps(pyburn.float32)) is pyburn.float32
    assert copy.deepcopy(pyburn.channels_last) is pyburn.channels_last


def test_copy_shares_memory():
    x = parameter(pyburn.tensor([1.0, 2.0]))
    x.note = [1]
    y = copy.copy(x)
    assert type(y) is Parameter and y.requires_grad and y.note is x.note and y is not x
    assert y.data_ptr() == x.data_ptr()


def test_deepcopy_is_apart():
    for lib in (torch, pyburn):
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        x.note = [1]
        (x * 2).backward(lib.ones(2))
        y = copy.deepcopy(x)
        assert type(y) is type(x) and y.requires_grad and y.is_leaf and y.data_ptr() != x.data_ptr()
        assert y.grad.tolist() == [2.0, 2.0] and y.grad.data_ptr() != x.grad.data_ptr()
        with lib.no_grad():
            y.fill_(0.0)
        assert x.tolist() == [1.0, 2.0]
        assert y.note == [1] and y.note is not x.note
    assert type(copy.deepcopy(parameter(pyburn.ones(1)))) is Parameter


def test_deepcopy_keeps_what_belongs_together():
    for lib in (torch, pyburn):
        base = lib.arange(6.0).reshape(2, 3)
        first, same, row, turned = copy.deepcopy([base, base, base.narrow(0, 1, 1), base.t()])
        assert first is same
        first.fill_(9)
        assert row.tolist() == [[9.0] * 3] and turned.stride() == (1, 3) and turned.tolist() == [[9.0, 9.0]] * 3
        assert base.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


def test_deepcopy_of_a_computed_tensor_raises_as_in_torch():
    check_error(lambda lib: copy.deepcopy(lib.ones(2, requires_grad=True) * 2), same_class=True, match="graph leaves")
    computed = copy.deepcopy((pyburn.ones(2, requires_grad=True) * 2).detach())
    assert computed.tolist() == [2.0, 2.0]


def test_pythons_pickle_reads_tensors_of_torch_under_the_alias(tmp_path):
    path = tmp_path / "torch.pkl"
    path.write_bytes(
        pickle.dumps({"view": torch.arange(6.0).reshape(2, 3).t(), "weight": torch.nn.Parameter(torch.ones(2))})
    )
    script = tmp_path / "read.py"
    script.write_text(
        "import pickle, sys, torch\n"
        "read = pickle.load(open(sys.argv[1], 'rb'))\n"
        "print(read['view'].tolist(), read['view'].stride(), type(read['weight']).__name__, torch.Tensor.__module__)\n"
        "print(b'torch' in pickle.dumps(read))\n"
    )
    command = [sys.executable, "-m", "pyburn", "run", str(script), str(path)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed == "[[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]] (1, 3) Parameter torch\nFalse\n"
