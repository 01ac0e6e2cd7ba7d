"""`save` and `load` beside torch: what one writes the other reads."""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import enum
import functools
import io
import pathlib
import pickle
import warnings
import zipfile
from collections import Counter, OrderedDict, defaultdict

import numpy as np
import pyburn
import pytest
import torch

DTYPES = (
    *("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8"),
    *("uint8", "uint16", "uint32", "uint64", "bool", "complex64"),
)


def from_torch(value: object, **options: object) -> object:
    """What pyburn reads of what torch writes."""
    file = io.BytesIO()
    torch.save(value, file, **options)
    file.seek(0)
    return pyburn.load(file)


def to_torch(value: object, **options: object) -> object:
    """What torch, in its careful mode, reads of what pyburn writes."""
    file = io.BytesIO()
    pyburn.save(value, file)
    file.seek(0)
    return torch.load(file, weights_only=True, **options)


def there_and_back(value: object) -> object:
    file = io.BytesIO()
    pyburn.save(value, file)
    file.seek(0)
    return pyburn.load(file)


# torch itself cannot write these in its old form.
NOT_IN_THE_OLD_FORM = ("uint16", "uint32", "uint64")


@pytest.mark.parametrize(
    ("name", "zipped"),
    [*((name, True) for name in DTYPES), *((name, False) for name in DTYPES if name not in NOT_IN_THE_OLD_FORM)],
)
def test_every_dtype_is_read(name, zipped):
    value = torch.arange(6).reshape(2, 3).to(getattr(torch, name))
    read = from_torch({"x": value}, _use_new_zipfile_serialization=zipped)["x"]
    assert str(read.dtype) == f"pyburn.{name}" and read.shape == (2, 3)
    assert read.tolist() == value.tolist()


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_is_written(name):
    value = pyburn.arange(6).reshape(2, 3).to(getattr(pyburn, name))
    read = to_torch([value])[0]
    assert read.dtype == getattr(torch, name) and read.tolist() == value.tolist()


@pytest.mark.parametrize("zipped", [True, False])
def test_training_state_of_torch_is_read(zipped):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, [2, 4])
    model(torch.randn(5, 3)).sum().backward()
    optimizer.step()
    saved = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "schedule": schedule.state_dict(),
        "epoch": 3,
        "best": float("-inf"),
        "note": "grün",
    }
    read = from_torch(saved, _use_new_zipfile_serialization=zipped)
    assert type(read["model"]) is OrderedDict and list(read["model"]) == list(saved["model"])
    assert read["model"]._metadata["1"] == {"version": 2}
    for key, tensor in saved["model"].items():
        assert np.array_equal(read["model"][key].numpy(), tensor.numpy())
    assert list(read["optimizer"]["state"]) == [0, 1, 2, 3, 4, 5]
    assert read["optimizer"]["param_groups"] == saved["optimizer"]["param_groups"]
    assert read["schedule"]["milestones"] == Counter({2: 1, 4: 1}) and type(read["schedule"]["milestones"]) is Counter
    assert (read["epoch"], read["best"], read["note"]) == (3, float("-inf"), "grün")


def test_training_state_of_pyburn_is_read_by_torch():
    pyburn.manual_seed(0)
    model = pyburn.nn.Sequential(pyburn.nn.Linear(3, 4), pyburn.nn.BatchNorm1d(4), pyburn.nn.Linear(4, 1))
    optimizer = pyburn.optim.Adam(model.parameters(), lr=0.1)
    model(pyburn.ones(5, 3)).sum().backward()
    optimizer.step()
    read = to_torch({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3})
    other = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))
    other.load_state_dict(read["model"])
    torch.optim.Adam(other.parameters()).load_state_dict(read["optimizer"])
    assert np.array_equal(other[0].weight.detach().numpy(), model[0].weight.detach().numpy())


@pytest.mark.parametrize("zipped", [True, False])
def test_shared_memory_and_strides_of_torch_stay(zipped):
    base = torch.arange(12.0)
    weight = base.view(3, 4)
    saved = {"a": weight, "b": weight.t(), "c": base[2:5], "tied": weight, "wide": base[:1].expand(1000)}
    read = from_torch(saved, _use_new_zipfile_serialization=zipped)
    assert read["b"].stride() == (1, 4) and read["c"].storage_offset() == 2 and read["wide"].stride() == (0,)
    assert read["a"] is read["tied"]
    read["a"].fill_(7.0)
    assert read["b"].tolist() == [[7.0] * 3] * 4 and read["c"].tolist() == [7.0] * 3


def test_shared_memory_and_strides_of_pyburn_stay():
    base = pyburn.arange(12.0)
    weight = base.view(3, 4)
    read = to_torch({"a": weight, "b": weight.t(), "c": base[2:5], "tied": weight})
    assert read["b"].stride() == (1, 4) and read["c"].storage_offset() == 2 and read["a"] is read["tied"]
    read["a"].fill_(7.0)
    assert read["c"].tolist() == [7.0] * 3


def test_plain_values_of_torch_are_read():
    inner = [1, -5, 2**40, -(2**70), 1.5, None, True, "x" * 300, b"\x00\xff", 1 + 2j, {1, 2}, (), (1,), tuple(range(9))]
    saved = {"inner": inner, "again": inner, 3: {"deep": [[{}]]}, (1, "a"): bytearray(b"ab"), "d": torch.float16}
    read = from_torch(saved)
    assert read["inner"] == inner and read["again"] is read["inner"] and read[(1, "a")] == b"ab"
    assert read[3] == {"deep": [[{}]]} and read["d"] is pyburn.float16
    special = from_torch(
        [torch.Size([2, 3]), torch.device("cpu"), torch.nn.Parameter(torch.ones(2)), torch.zeros(0, 3)]
    )
    assert type(special[0]) is pyburn.Size and special[0] == (2, 3) and special[1] == pyburn.device("cpu")
    assert type(special[2]) is pyburn.nn.Parameter and special[2].requires_grad and special[3].shape == (0, 3)


def test_plain_values_of_pyburn_are_read_by_torch():
    inner = [
        1,
        -5,
        2**40,
        -(2**70),
        300,
        1.5,
        None,
        True,
        "x" * 300,
        b"\x00\xff",
        1 + 2j,
        {1, 2},
        (),
        (1,),
        (1, 2, 3, 4),
    ]
    saved = {"inner": inner, "again": inner, 3: OrderedDict(a=1), "d": pyburn.float16, "e": Counter("aab")}
    read = to_torch(saved)
    assert read["inner"] == inner and read["again"] is read["inner"] and type(read[3]) is OrderedDict
    assert read["d"] is torch.float16 and read["e"] == Counter("aab")
    special = to_torch(
        [pyburn.Size([2, 3]), pyburn.device("cpu"), pyburn.nn.Parameter(pyburn.ones(2)), pyburn.zeros(0, 3)]
    )
    assert special[0] == torch.Size([2, 3]) and special[1] == torch.device("cpu") and special[3].shape == (0, 3)
    assert type(special[2]) is torch.nn.Parameter and special[2].requires_grad


def test_values_that_programs_keep_beside_weights():
    counts = defaultdict(list, {"a": [1]})
    saved = {"args": argparse.Namespace(lr=0.1, layers=[1, 2]), "path": pathlib.PurePosixPath("a/b"), "counts": counts}
    read = there_and_back(saved)
    assert read == saved and type(read["counts"]) is defaultdict and read["counts"]["new"] == []
    assert from_torch({"args": argparse.Namespace(lr=0.1)})["args"] == argparse.Namespace(lr=0.1)


@pytest.mark.parametrize(
    "value", [np.arange(6.0).reshape(2, 3), np.arange(3), np.float64(1.5), np.bool_(True), np.array(["a", "bcd"])]
)
def test_numpy_values_both_ways(value):
    for read in (from_torch([value])[0], there_and_back([value])[0]):
        assert type(read) is type(value) and read.dtype == value.dtype and np.array_equal(read, value)
    file = io.BytesIO()
    pyburn.save([value], file)
    file.seek(0)
    assert np.array_equal(torch.load(file, weights_only=False)[0], value)


def test_requires_grad_comes_back():
    read = there_and_back([pyburn.ones(2, requires_grad=True), pyburn.ones(2)])
    assert [tensor.requires_grad for tensor in read] == [True, False]


def test_lists_that_hold_themselves():
    value: list[object] = [1]
    value.append(value)
    for read in (there_and_back(value), from_torch(value)):
        assert read[0] == 1 and read[1] is read


def test_paths_and_files(tmp_path):
    path = tmp_path / "model.pt"
    pyburn.save({"w": pyburn.ones(2)}, path)
    assert pyburn.load(str(path))["w"].tolist() == [1.0, 1.0]
    assert torch.load(path, mmap=True)["w"].tolist() == [1.0, 1.0]
    assert pyburn.load(path, mmap=True, weights_only=True, map_location="cpu")["w"].tolist() == [1.0, 1.0]
    with open(path, "rb") as file:
        assert pyburn.load(file)["w"].tolist() == [1.0, 1.0]


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.pt"
    pyburn.save({"w": 1}, path)
    before = path.read_bytes()
    with pytest.raises(TypeError, match=r"\['step'\] is a builtins.function .*<lambda>, which cannot be found"):
        pyburn.save({"step": lambda: 0}, path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("value", [lambda: 0, defaultdict(lambda: 0), {"g": (x for x in "a")}])
def test_code_is_not_saved(value):
    with pytest.raises(TypeError, match="save: "):
        pyburn.save(value, io.BytesIO())


class Strategy(enum.StrEnum):
    EPOCH = "epoch"


@dataclasses.dataclass
class Arguments:
    rate: float
    strategy: Strategy = Strategy.EPOCH


class Names(dict):
    pass


class Keyword:
    def __new__(cls, *, size):
        made = object.__new__(cls)
        made.size = size
        return made

    def __getnewargs_ex__(self):
        return (), {"size": self.size}

    def __eq__(self, other):
        return self.size == other.size


@pytest.mark.parametrize(
    "value",
    [
        Arguments(0.5),
        {"a": Strategy.EPOCH, "b": [Arguments(1.0)] * 2},
        Names(a=1),
        Keyword(size=3),
        datetime.timedelta(3),
        print,
        Arguments,
        range(4),
        functools.partial(max, 3),
        np.array(["a", None], dtype=object),
    ],
    ids=lambda value: type(value).__name__,
)
def test_objects_are_written_for_torch_and_not_rebuilt_here(value):
    file = io.BytesIO()
    pyburn.save(value, file)
    file.seek(0)
    read = torch.load(file, weights_only=False)
    assert type(read) is type(value) and (np.array_equal(read, value) or repr(read) == repr(value))
    for weights_only in (True, False):
        file.seek(0)
        with pytest.raises(pickle.UnpicklingError, match=r"(is not allowed, and nothing of it was executed|'O8')"):
            pyburn.load(file, weights_only=weights_only)


def test_an_object_is_read_when_the_program_allows_its_class():
    file = io.BytesIO()
    pyburn.save({"arguments": Arguments(0.5, "steps"), "w": pyburn.ones(2)}, file)
    file.seek(0)
    with pyburn.serialization.safe_globals([Arguments]):
        assert pyburn.load(file)["arguments"] == Arguments(0.5, "steps")


def test_a_whole_optimizer_is_written():
    file = io.BytesIO()
    pyburn.save({"optimizer": pyburn.optim.SGD([pyburn.ones(1)], lr=1)}, file)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match=r"pyburn\.optim\.sgd\.SGD"):
        pyburn.load(file, weights_only=False)


def test_one_memory_under_two_types_is_refused_as_in_torch():
    whole = pyburn.zeros(4)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        pyburn.save([whole, whole.view(pyburn.int32)], io.BytesIO())


def test_values_begin_where_torch_can_map_them():
    file = io.BytesIO()
    pyburn.save([pyburn.ones(3), pyburn.ones(5)], file)
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            file.seek(info.header_offset + 26)
            name, extra = int.from_bytes(file.read(2), "little"), int.from_bytes(file.read(2), "little")
            assert (info.header_offset + 30 + name + extra) % 64 == 0


def cuda_file() -> io.BytesIO:
    """A file that says its tensor was on a GPU."""
    file = io.BytesIO()
    torch.save([torch.ones(3)], file)
    out = io.BytesIO()
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(out, "w") as new:
        for info in old.infolist():
            data = old.read(info)
            new.writestr(info.filename, data.replace(b"\x03\x00\x00\x00cpu", b"\x06\x00\x00\x00cuda:0"))
    out.seek(0)
    return out


def test_map_location():
    with pytest.raises(RuntimeError, match=r"cuda:0 device.*map_location"):
        pyburn.load(cuda_file())
    for place in ("cpu", pyburn.device("cpu"), {"cuda:0": "cpu"}, lambda storage, location: storage):
        assert pyburn.load(cuda_file(), map_location=place)[0].tolist() == [1.0] * 3
    seen = []
    pyburn.load(
        cuda_file(), map_location=lambda storage, location: seen.append((location, storage.nbytes())) or storage
    )
    assert seen == [("cuda:0", 12)]


def test_classes_that_the_program_trusts():
    class Config:
        def __init__(self) -> None:
            raise AssertionError("pickle never calls __init__")

    Config.__qualname__ = "Config"
    file = pickled(Config.__module__, "Config", {"depth": 3})
    with pytest.raises(Exception, match="add_safe_globals"):
        pyburn.load(file)
    file.seek(0)
    with pyburn.serialization.safe_globals([Config]):
        assert pyburn.load(file).depth == 3
    assert pyburn.serialization.get_safe_globals() == []


def pickled(module: str, name: str, state: dict[str, int]) -> io.BytesIO:
    key, value = next(iter(state.items()))
    text = b"X" + len(key).to_bytes(4, "little") + key.encode()
    pickle = f"\x80\x02c{module}\n{name}\n".encode("latin1") + b")\x81}" + text + bytes([75, value]) + b"sb."
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", pickle)
        archive.writestr("archive/version", b"3\n")
    file.seek(0)
    return file


def test_a_whole_model_of_torch_is_refused():
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.save(torch.nn.Linear(1, 1), file)
    file.seek(0)
    with pytest.raises(Exception, match=r"torch.nn.modules.linear.Linear.*state_dict"):
        pyburn.load(file, weights_only=False)


class Net(pyburn.nn.Module):
    made = 0

    class Block(pyburn.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = pyburn.nn.Parameter(pyburn.full((3,), 2.0))

        def forward(self, x):
            return x * self.scale

    def __init__(self):
        super().__init__()
        Net.made += 1
        self.layers = pyburn.nn.Sequential(pyburn.nn.Linear(2, 3), pyburn.nn.BatchNorm1d(3), Net.Block())
        self.tied = self.layers[0].weight
        self.activation = pyburn.nn.functional.relu
        self.sizes = {"in": 2, "path": [1, (2, 3)]}

    def forward(self, x):
        return self.activation(self.layers(x)) + self.tied.sum()

    def __setstate__(self, state):
        raise AssertionError("no method of a class is called")


def test_whole_modules_come_back_without_a_call():
    model = Net().eval()
    file = io.BytesIO()
    pyburn.save({"model": model, "epoch": 2}, file)
    before = Net.made
    file.seek(0)
    read = pyburn.load(file, weights_only=False)["model"]
    assert type(read) is Net and Net.made == before and not read.training and read.sizes == model.sizes
    assert pyburn.equal(read(pyburn.ones(2, 2)), model(pyburn.ones(2, 2)))
    assert read.tied is read.layers[0].weight and read.tied is not model.tied
    read(pyburn.ones(2, 2)).sum().backward()
    assert read.tied.grad is not None
    file.seek(0)
    with pytest.raises(Exception, match="weights_only=False"):
        pyburn.load(file)


def test_layers_of_all_kinds_come_back():
    layers = [
        pyburn.nn.LSTM(2, 3, bidirectional=True),
        pyburn.nn.MultiheadAttention(4, 2),
        pyburn.nn.TransformerEncoderLayer(4, 2, 8),
        pyburn.nn.Embedding(3, 2, padding_idx=0),
        pyburn.nn.ModuleDict({"a": pyburn.nn.Conv2d(1, 2, 3), "b": pyburn.nn.Dropout(0.1)}),
        pyburn.nn.ParameterList([pyburn.nn.Parameter(pyburn.ones(1))]),
    ]
    file = io.BytesIO()
    pyburn.save(layers, file)
    file.seek(0)
    for ours, read in zip(layers, pyburn.load(file, weights_only=False), strict=True):
        assert repr(ours) == repr(read)
        for (name, value), (other, copy) in zip(ours.state_dict().items(), read.state_dict().items(), strict=True):
            assert name == other and pyburn.equal(value, copy)


def test_classes_that_cannot_be_found_by_name_are_not_saved():
    class Local(pyburn.nn.Module):
        pass

    with pytest.raises(TypeError, match="cannot be found by its name"):
        pyburn.save(Local(), io.BytesIO())


@pytest.mark.parametrize(
    "name",
    [
        "os system",
        "builtins eval",
        "pyburn.hub load",
        "pyburn.serialization load",
        "pyburn.nn.module Module.apply",
        "no_such_module Net",
        "torch.nn.modules.linear Linear",
        "pyburn.nn.functional relu",
        "pyburn.nn.linear Linear",
    ],
)
def test_names_are_not_called_even_where_modules_are_allowed(name):
    module, _, attribute = name.partition(" ")
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", f"\x80\x02c{module}\n{attribute}\n)R.".encode("latin1"))
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError):
        pyburn.load(file, weights_only=False)


def test_a_device_that_cannot_hold_a_file_says_so(tmp_path):
    pyburn.save({"x": pyburn.ones(2, dtype=pyburn.float64)}, tmp_path / "x.pt")
    with pytest.raises(pyburn.DTypeError, match="float64"):
        pyburn.load(tmp_path / "x.pt", map_location="wgpu")
