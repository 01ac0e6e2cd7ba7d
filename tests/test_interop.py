"""Memory shared with numpy, torch and Python buffers: a write on either side is seen by the other."""

import ctypes
import functools
import gc
import operator
import threading
import warnings
import weakref

import numpy as np
import pyburn
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle import check_error, dtype_name, to_torch

NUMPY = [
    "float64",
    "float32",
    "float16",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
]
WITH_BRAIN = [*NUMPY, "bfloat16"]


def write_both_ways(ours, other, read_other):
    """Writes on our side by several in-place ops, and on the other side, each seen by the other."""
    ours.fill_(1)
    assert read_other() == ours.tolist()
    ours.add_(1)
    assert read_other() == ours.tolist()
    ours.mul_(3)
    assert read_other() == ours.tolist()
    ours.copy_(pyburn.zeros(ours.shape))
    assert read_other() == ours.tolist()
    other[...] = 5
    assert ours.tolist() == read_other()
    ours.zero_()
    assert read_other() == ours.tolist()
    ours.view(-1).narrow(0, 0, 1).fill_(7) if ours.is_contiguous() else ours.fill_(7)
    assert read_other() == ours.tolist()


@pytest.mark.parametrize("dtype", [name for name in NUMPY if name != "bool"])
def test_from_numpy_shares(dtype):
    array = np.arange(6, dtype=dtype).reshape(2, 3)
    ours = pyburn.from_numpy(array)
    assert dtype_name(ours.dtype) == dtype and ours.data_ptr() == array.ctypes.data
    write_both_ways(ours, array, array.tolist)


@pytest.mark.parametrize("dtype", [name for name in NUMPY if name != "bool"])
def test_numpy_shares(dtype):
    ours = pyburn.arange(6).reshape(2, 3).to(getattr(pyburn, dtype))
    array = ours.numpy()
    assert array.dtype == np.dtype(dtype) and array.shape == (2, 3) and array.flags.writeable
    write_both_ways(ours, array, array.tolist)


def test_bool_arrays_share():
    array = np.array([True, False])
    ours = pyburn.from_numpy(array)
    ours.fill_(True)
    assert array.tolist() == [True, True]
    array[0] = False
    assert ours.tolist() == [False, True] and ours.numpy().dtype == np.bool_


@pytest.mark.parametrize("view", [lambda x: x.t(), lambda x: x.narrow(1, 1, 2), lambda x: x.as_strided((2, 2), (3, 2))])
def test_views_share_with_their_strides(view):
    base = pyburn.arange(6.0).reshape(2, 3)
    part = view(base)
    array = part.numpy()
    assert array.strides == tuple(4 * step for step in part.stride()) and array.tolist() == part.tolist()
    array[...] = -1
    assert part.tolist() == array.tolist() and -1.0 in functools.reduce(operator.iadd, base.tolist(), [])
    part.fill_(8)
    assert array.tolist() == part.tolist()


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.arange(12.0).reshape(3, 4).T,
        lambda: np.arange(12.0).reshape(3, 4)[:, 1:3],
        lambda: np.arange(12.0)[::3],
        lambda: np.broadcast_to(np.arange(3.0), (2, 3)).copy(order="F"),
        lambda: np.zeros((0, 3)),
        lambda: np.array(3.0),
        lambda: np.zeros((2, 1, 3))[:, ::-1, :],
    ],
)
def test_strided_arrays_share(make):
    array = make()
    ours = pyburn.from_numpy(array)
    assert ours.tolist() == array.tolist() and tuple(ours.shape) == array.shape
    if array.size:
        ours.fill_(2)
        assert array.tolist() == ours.tolist()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 4), max_size=4),
    st.sampled_from(NUMPY),
    st.permutations(range(4)),
    st.lists(st.integers(1, 3)),
)
def test_any_layout_agrees_with_torch(shape, dtype, order, steps):
    array = np.arange(int(np.prod(shape)), dtype="int64").astype(dtype).reshape(shape)
    array = array.transpose([axis for axis in order if axis < len(shape)])
    array = array[(..., *(slice(None, None, step) for step in steps[: len(shape)]))]
    ours, theirs = pyburn.from_numpy(array), torch.from_numpy(array)
    assert ours.tolist() == theirs.tolist() and tuple(ours.shape) == tuple(theirs.shape)
    assert np.asarray(ours).tolist() == array.tolist()


def test_memory_outlives_its_first_owner():
    array = np.arange(1000.0)
    ours = pyburn.from_numpy(array)
    watch = weakref.ref(array)
    del array
    gc.collect()
    assert watch() is not None and ours.tolist()[-1] == 999.0
    view = ours.narrow(0, 5, 2)
    del ours
    gc.collect()
    assert view.tolist() == [5.0, 6.0]
    del view
    gc.collect()
    assert watch() is None
    back = pyburn.arange(1000.0).numpy()
    gc.collect()
    assert back[-1] == 999.0


def test_an_array_freed_by_another_thread():
    array = np.arange(10.0)
    watch = weakref.ref(array)
    box = [pyburn.from_numpy(array)]
    del array
    thread = threading.Thread(target=box.clear)
    thread.start()
    thread.join()
    gc.collect()
    assert watch() is None


BAD_ARRAYS = [
    "np.zeros(3)[::-1]", "np.zeros(3, dtype='>f4')", "[1]", "np.array(['a'])", "np.zeros(3, dtype=object)",
    "np.zeros(3, dtype=[('a', 'f4'), ('b', 'i1')])['a']", "np.float64(3)", "None",
    "np.array(['2020-01-01'], dtype='M8')",
]  # fmt: skip


@pytest.mark.parametrize("array", BAD_ARRAYS)
def test_unfit_arrays_raise_as_in_torch(array):
    check_error(lambda lib: lib.from_numpy(eval(array)), same_class=True)


def test_misaligned_arrays_are_refused():
    with pytest.raises(ValueError, match="aligned"):
        pyburn.from_numpy(np.zeros(9, dtype="u1")[1:].view("f4"))


def test_read_only_arrays_warn():
    array = np.zeros(3)
    array.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        pyburn.from_numpy(array)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pyburn.tensor(array).tolist() == [0.0] * 3
        assert pyburn.as_tensor(array).tolist() == [0.0] * 3


def test_numpy_of_a_tensor_with_grad():
    x = pyburn.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        x.numpy()
    with pytest.raises(RuntimeError, match="requires grad"):
        np.asarray(x)
    assert x.numpy(force=True).tolist() == [1.0, 1.0] and x.detach().numpy().tolist() == [1.0, 1.0]
    with pytest.raises(TypeError, match="BFloat16"):
        pyburn.zeros(2, dtype=pyburn.bfloat16).numpy()
    with pytest.raises(TypeError):
        x.numpy(1)


def test_array_protocol():
    x = pyburn.arange(4.0).reshape(2, 2)
    shared = np.asarray(x)
    shared[0, 0] = 9
    assert x.tolist()[0][0] == 9.0
    assert np.array(x).tolist() == x.tolist()
    copied = np.array(x)
    copied[0, 0] = 1
    assert x.tolist()[0][0] == 9.0
    assert np.asarray(x, dtype=np.float64).dtype == np.float64 and np.asarray(x, dtype="int8").tolist() == [
        [9, 1],
        [2, 3],
    ]
    assert x.__array__(np.float64).dtype == np.float64 and x.__array__(copy=True).base is None
    assert np.add(np.ones((2, 2), "f4"), x).tolist() == [[10.0, 2.0], [3.0, 4.0]]
    assert float(np.mean(np.asarray(x))) == 3.75


@pytest.mark.parametrize("dtype", NUMPY)
def test_buffer_protocol(dtype):
    x = pyburn.tensor([[0, 1, 0], [1, 1, 0]]).to(getattr(pyburn, dtype))
    memory = memoryview(x)
    assert memory.shape == (2, 3) and not memory.readonly and memory.itemsize == x.element_size()
    assert memory.format == memoryview(np.zeros(1, dtype=dtype)).format
    assert memory.strides == (3 * x.itemsize, x.itemsize) and memory.nbytes == x.nbytes
    assert bytes(memory) == x.numpy().tobytes()
    if dtype != "float16":
        assert memory.tolist() == x.tolist()
        memory[0, 1] = 0
        assert x.tolist()[0] == [0, 0, 0]
    turned = memoryview(x.t())
    assert turned.strides == (x.itemsize, 3 * x.itemsize) and not turned.c_contiguous


def test_a_buffer_keeps_memory_after_the_tensor():
    x = pyburn.arange(5)
    memory = memoryview(x)
    del x
    gc.collect()
    assert memory.tolist() == [0, 1, 2, 3, 4]
    memory.release()


def test_counts_beyond_the_buffer_are_refused():
    with pytest.raises(ValueError, match="actual buffer length"):
        pyburn.frombuffer(bytearray(8), dtype=pyburn.int32, count=2**62)


def test_buffers_that_cannot_be():
    for bad in [pyburn.ones(1, requires_grad=True), pyburn.ones(1, dtype=pyburn.bfloat16)]:
        with pytest.raises(BufferError):
            memoryview(bad)
    assert bytes(memoryview(pyburn.zeros(0))) == b"" and memoryview(pyburn.tensor(3)).tolist() == 3
    with pytest.raises((BufferError, TypeError, ValueError)):
        bytearray(8)[:] = pyburn.zeros(2, 2).t()


def test_frombuffer_shares():
    data = bytearray(np.arange(4, dtype="i4").tobytes())
    x = pyburn.frombuffer(data, dtype=pyburn.int32)
    x.add_(1)
    assert np.frombuffer(data, "i4").tolist() == [1, 2, 3, 4]
    data[0] = 50
    assert x.tolist() == [50, 2, 3, 4]
    assert pyburn.frombuffer(data, dtype=pyburn.int32, count=2, offset=4).tolist() == [2, 3]
    with pytest.raises(BufferError):
        data.append(1)  # the memory may not move while a tensor looks at it
    del x
    gc.collect()
    assert pyburn.frombuffer(np.arange(3.0), dtype=pyburn.float64, requires_grad=True).requires_grad
    with pytest.warns(UserWarning, match="not writable"):
        pyburn.frombuffer(b"abcd", dtype=pyburn.uint8)


BAD_BUFFERS = [
    lambda lib: lib.frombuffer(bytearray(), dtype=lib.int32),
    lambda lib: lib.frombuffer(bytearray(5), dtype=lib.int32),
    lambda lib: lib.frombuffer(bytearray(8), dtype=lib.int32, count=3),
    lambda lib: lib.frombuffer(bytearray(8), dtype=lib.int32, count=0),
    lambda lib: lib.frombuffer(bytearray(8), dtype=lib.int32, offset=9),
    lambda lib: lib.frombuffer(bytearray(8), dtype=lib.int32, offset=-1),
    lambda lib: lib.frombuffer("a", dtype=lib.int32),
]


@pytest.mark.parametrize("call", BAD_BUFFERS)
def test_bad_buffers_raise_as_in_torch(call):
    check_error(call, same_class=True)


@pytest.mark.filterwarnings("ignore:torch.asarray. unspecified requires_grad:UserWarning")
@pytest.mark.parametrize("options", [{}, {"copy": True}, {"dtype": "float64"}, {"requires_grad": True, "copy": True}])
def test_asarray_stays_in_the_graph(options):
    for t in (torch, pyburn):
        given = {name: getattr(t, value) if name == "dtype" else value for name, value in options.items()}
        x = t.ones(2, requires_grad=True)
        t.asarray(x * 3, **given).sum().backward()
        assert x.grad.tolist() == [3.0, 3.0]


@pytest.mark.parametrize("scalar", [np.float64(2.5), np.float32(1), np.int8(3), np.bool_(True)])
def test_asarray_takes_numpys_scalars(scalar):
    ours, theirs = pyburn.asarray(scalar), torch.asarray(scalar)
    assert str(ours.dtype).rpartition(".")[2] == str(theirs.dtype).rpartition(".")[2]
    assert ours.item() == theirs.item() and ours.dim() == 0


def test_as_tensor_and_asarray_share_when_they_can():
    array = np.zeros(3, dtype="f4")
    for shared in [
        pyburn.as_tensor(array),
        pyburn.asarray(array),
        pyburn.asarray(memoryview(array), dtype=pyburn.float32),
    ]:
        shared.add_(1)
    assert array.tolist() == [3.0] * 3
    x = pyburn.zeros(2, requires_grad=True)
    assert pyburn.as_tensor(x) is x and pyburn.as_tensor(x, dtype=pyburn.float64).requires_grad
    assert pyburn.as_tensor([1, 2.5]).dtype is pyburn.float32 and pyburn.as_tensor(np.float32(2)).item() == 2.0
    assert pyburn.asarray([1, 2]).tolist() == [1, 2] and pyburn.asarray(3.5).item() == 3.5
    assert pyburn.asarray(array, copy=True).data_ptr() != array.ctypes.data
    assert pyburn.asarray(array, copy=False).data_ptr() == array.ctypes.data
    assert pyburn.asarray(x) is x and not pyburn.asarray(x, requires_grad=False).requires_grad
    assert pyburn.asarray(torch.arange(3)).tolist() == [0, 1, 2]
    for call in [
        lambda lib: lib.asarray([1], copy=False),
        lambda lib: lib.asarray(lib.zeros(1), dtype=lib.int32, copy=False),
    ]:
        check_error(call, same_class=True)


@pytest.mark.parametrize("dtype", WITH_BRAIN)
def test_dlpack_to_torch_shares(dtype):
    ours = pyburn.tensor([[0, 1, 1], [1, 0, 1]]).to(getattr(pyburn, dtype))
    theirs = torch.from_dlpack(ours)
    assert dtype_name(theirs.dtype) == dtype and theirs.data_ptr() == ours.data_ptr()
    theirs.zero_()
    assert to_torch(ours).sum() == 0
    ours.fill_(1)
    ours.copy_(ours.clone())
    assert theirs.tolist() == ours.tolist() == [[1] * 3] * 2
    assert torch.from_dlpack(ours.t()).stride() == (1, 3)


@pytest.mark.parametrize("dtype", WITH_BRAIN)
def test_dlpack_from_torch_shares(dtype):
    theirs = torch.tensor([[0, 1, 1], [1, 0, 1]]).to(getattr(torch, dtype))
    ours = pyburn.from_dlpack(theirs)
    assert dtype_name(ours.dtype) == dtype and ours.data_ptr() == theirs.data_ptr()
    ours.fill_(1)
    assert theirs.tolist() == [[1] * 3] * 2
    theirs.zero_()
    assert ours.tolist() == theirs.tolist()
    assert pyburn.from_dlpack(theirs.t()).stride() == (1, 3)
    assert pyburn.from_dlpack(theirs[1:, 1:]).tolist() == theirs[1:, 1:].tolist()


@pytest.mark.parametrize("dtype", NUMPY)
def test_dlpack_with_numpy_shares(dtype):
    ours = pyburn.tensor([0, 1, 1]).to(getattr(pyburn, dtype))
    array = np.from_dlpack(ours)
    assert array.dtype == np.dtype(dtype) and array.flags.writeable
    array[0] = 1
    assert ours.tolist() == [1, 1, 1]
    back = pyburn.from_dlpack(array)
    back.zero_()
    assert array.tolist() == ours.tolist() == [0, 0, 0]


def test_dlpack_of_odd_shapes():
    for shape in [(), (0,), (2, 0, 3), (1, 1), (1,) * 8]:
        ours = pyburn.ones(shape)
        assert torch.from_dlpack(ours).shape == torch.Size(shape)
        assert pyburn.from_dlpack(torch.ones(shape)).shape == shape
        assert pyburn.from_dlpack(ours).tolist() == ours.tolist()


def test_dlpack_capsules_legacy_and_versioned():
    x = pyburn.arange(3.0)
    assert '"dltensor"' in repr(x.__dlpack__()) and '"dltensor_versioned"' in repr(x.__dlpack__(max_version=(1, 0)))
    assert '"dltensor"' in repr(x.__dlpack__(max_version=(0, 8)))
    for capsule in [x.__dlpack__(), x.__dlpack__(max_version=(1, 1)), torch.utils.dlpack.to_dlpack(torch.arange(3.0))]:
        assert pyburn.from_dlpack(capsule).tolist() == [0.0, 1.0, 2.0]
        with pytest.raises(TypeError, match="only once"):
            pyburn.from_dlpack(capsule)
    assert torch.utils.dlpack.from_dlpack(x.__dlpack__()).tolist() == [0.0, 1.0, 2.0]
    assert tuple(map(int, x.__dlpack_device__())) == (1, 0)
    copied = pyburn.from_dlpack(x, copy=True)
    copied.zero_()
    assert x.tolist() == [0.0, 1.0, 2.0]
    assert pyburn.from_dlpack(x, copy=False).data_ptr() == x.data_ptr()
    for bad in [3, "a", None, [1, 2]]:
        with pytest.raises((TypeError, AttributeError)):
            pyburn.from_dlpack(bad)
    with pytest.raises(BufferError, match="gradient"):
        pyburn.ones(1, requires_grad=True).__dlpack__()
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(TypeError):
        x.__dlpack__(stream=3)


def test_read_only_dlpack_memory_warns():
    array = np.arange(3.0)
    array.flags.writeable = False
    with pytest.warns(UserWarning, match="read-only"):
        assert pyburn.from_dlpack(array).tolist() == [0.0, 1.0, 2.0]


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Legacy(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", Deleter)]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    ]


class Producer:
    """Four floats of its own and the count of how often they were given back."""

    def __init__(self, versioned, **fields):
        self.memory = (ctypes.c_float * 8)(*range(8))
        self.shape, self.strides = (ctypes.c_int64 * 2)(2, 2), (ctypes.c_int64 * 2)(2, 1)
        self.given_back = []
        managed = Versioned if versioned else Legacy
        self.managed = managed(deleter=Deleter(self.given_back.append))
        if versioned:
            self.managed.major = fields.pop("major", 1)
            self.managed.flags = fields.pop("flags", 0)
        tensor = self.managed.tensor
        tensor.data, tensor.ndim, tensor.code, tensor.bits, tensor.lanes = ctypes.addressof(self.memory), 2, 2, 32, 1
        tensor.device_type, tensor.shape, tensor.strides = 1, self.shape, self.strides
        for name, value in fields.items():
            setattr(tensor, name, value)
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        self.name = b"dltensor_versioned" if versioned else b"dltensor"
        self.capsule = make(ctypes.addressof(self.managed), self.name, None)


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize("in_thread", [False, True])
def test_a_deleter_is_called_exactly_once(versioned, in_thread):
    producer = Producer(versioned)
    box = [pyburn.from_dlpack(producer.capsule)]
    assert box[0].tolist() == [[0.0, 1.0], [2.0, 3.0]]
    box[0].add_(1)
    assert list(producer.memory)[:4] == [1.0, 2.0, 3.0, 4.0]
    box.append(box[0].t())
    box.append(box[0].numpy())
    box.pop(0)
    gc.collect()
    assert producer.given_back == []
    if in_thread:
        thread = threading.Thread(target=box.clear)
        thread.start()
        thread.join()
    else:
        box.clear()
    gc.collect()
    assert producer.given_back == [ctypes.addressof(producer.managed)]
    with pytest.raises(TypeError, match="only once"):
        pyburn.from_dlpack(producer.capsule)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"code": 9}, pyburn.DTypeError),
        ({"lanes": 2}, pyburn.DTypeError),
        ({"device_type": 2}, pyburn.DeviceError),
        ({"shape": (ctypes.c_int64 * 2)(-1, 2)}, ValueError),
        ({"strides": (ctypes.c_int64 * 2)(-2, 1)}, ValueError),
    ],
)
@pytest.mark.parametrize("versioned", [False, True])
def test_refused_memory_stays_the_producers(fields, error, versioned):
    producer = Producer(versioned, **fields)
    with pytest.raises(error):
        pyburn.from_dlpack(producer.capsule)
    assert producer.given_back == [] and producer.name.decode() in repr(producer.capsule)


def test_memory_that_cannot_be_used_after_all_is_given_back():
    producer = Producer(True, byte_offset=1)
    with pytest.raises(ValueError, match="aligned"):
        pyburn.from_dlpack(producer.capsule)
    assert len(producer.given_back) == 1
    newer = Producer(True, major=2)
    with pytest.raises(BufferError, match="version"):
        pyburn.from_dlpack(newer.capsule)
    assert newer.given_back == []


def test_missing_strides_offsets_and_flags():
    dense, moved, read_only = Producer(True, strides=None), Producer(False, byte_offset=8), Producer(True, flags=1)
    assert pyburn.from_dlpack(dense.capsule).tolist() == [[0.0, 1.0], [2.0, 3.0]]
    assert pyburn.from_dlpack(moved.capsule).tolist() == [[2.0, 3.0], [4.0, 5.0]]
    with pytest.warns(UserWarning, match="read-only"):
        pyburn.from_dlpack(read_only.capsule)
    empty = Producer(True, data=None, shape=(ctypes.c_int64 * 2)(0, 2))
    assert pyburn.from_dlpack(empty.capsule).shape == (0, 2)
    gc.collect()
    assert [len(one.given_back) for one in (dense, moved, read_only, empty)] == [1, 1, 1, 1]


def test_unused_capsules_give_memory_back():
    array = np.arange(4.0)
    watch = weakref.ref(array)
    ours = pyburn.from_numpy(array)
    capsules = [ours.__dlpack__(), ours.__dlpack__(max_version=(1, 0))]
    taken = torch.from_dlpack(ours.__dlpack__(max_version=(1, 0)))
    del array, ours
    gc.collect()
    assert watch() is not None
    capsules.clear()
    gc.collect()
    assert watch() is not None
    del taken
    gc.collect()
    pyburn.zeros(1)  # references dropped without the GIL are given back at the next entry into the core
    gc.collect()
    assert watch() is None


def test_gradients_flow_from_shared_memory():
    array = np.ones(3, dtype="f4")
    x = pyburn.from_numpy(array).requires_grad_()
    (x * 3).backward(pyburn.ones(3))
    assert x.grad.tolist() == [3.0] * 3


def test_writes_from_outside_are_seen_by_later_ops():
    array = np.ones(4, dtype="f4")
    x = pyburn.from_numpy(array)
    y = x + 0
    array[:] = 5
    assert (x + 1).tolist() == [6.0] * 4 and y.tolist() == [1.0] * 4
    view = x.view(2, 2)
    array[3] = -1
    assert view.tolist() == [[5.0, 5.0], [5.0, -1.0]] and (view * 1).tolist()[1][1] == -1.0


def test_without_gradients_a_weight_is_an_array():
    """torch refuses `numpy()` of what needs gradients only while gradients are recorded."""
    for t in (pyburn, torch):
        weight = t.ones(2, requires_grad=True)
        with pytest.raises(RuntimeError, match="requires grad"):
            weight.numpy()
        with t.no_grad():
            assert np.asarray(weight).tolist() == weight.numpy().tolist() == [1.0, 1.0]
