"""Containers against torch's."""

from collections import OrderedDict

import pyburn
import pytest
import torch

LIBRARIES = pytest.mark.parametrize("lib", [pyburn, torch], ids=["pyburn", "torch"])


def kinds(modules):
    return [type(module).__name__ for module in modules]


@LIBRARIES
def test_sequential(lib):
    nn = lib.nn
    model = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid())
    assert kinds(model[1:]) == ["Tanh", "Sigmoid"]
    assert kinds([model[-1]]) == ["Sigmoid"]
    model[0] = nn.GELU()
    model.append(nn.ReLU()).insert(1, nn.SELU()).extend(nn.Sequential(nn.ELU()))
    assert kinds(model) == ["GELU", "SELU", "Tanh", "Sigmoid", "ReLU", "ELU"]
    del model[1]
    assert kinds([model.pop(0)]) == ["GELU"]
    assert list(model._modules) == ["0", "1", "2", "3"]
    assert kinds(model + nn.Sequential(nn.GELU())) == ["Tanh", "Sigmoid", "ReLU", "ELU", "GELU"]
    assert len(model * 2) == 8
    model *= 2
    assert len(model) == 8
    with pytest.raises(IndexError, match="index 9 is out of range"):
        model[9]
    with pytest.raises(ValueError, match="Non-positive multiplication factor"):
        model * 0
    named = nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh()))
    assert list(named._modules) == ["a", "b"]
    assert kinds([named.b, named[0]]) == ["Tanh", "ReLU"]


@LIBRARIES
def test_module_list(lib):
    nn = lib.nn
    modules = nn.ModuleList([nn.ReLU(), nn.Tanh()])
    modules.append(nn.GELU())
    modules += [nn.SELU()]
    modules.insert(0, nn.ELU())
    assert kinds(modules) == ["ELU", "ReLU", "Tanh", "GELU", "SELU"]
    assert isinstance(modules[1:3], nn.ModuleList)
    assert kinds([modules.pop(-1), modules[-1]]) == ["SELU", "GELU"]
    del modules[0]
    modules[0] = nn.Sigmoid()
    assert kinds(modules + nn.ModuleList([nn.ReLU()])) == ["Sigmoid", "Tanh", "GELU", "ReLU"]
    assert list(modules._modules) == ["0", "1", "2"]
    with pytest.raises(IndexError, match="out of range"):
        modules[5]
    with pytest.raises(TypeError, match="should be called with an iterable"):
        modules.extend(3)


@LIBRARIES
def test_module_dict(lib):
    nn = lib.nn
    modules = nn.ModuleDict({"a": nn.ReLU()})
    modules["b"] = nn.Tanh()
    modules.update([("c", nn.GELU())])
    assert list(modules) == list(modules.keys()) == ["a", "b", "c"]
    assert kinds(modules.values()) == ["ReLU", "Tanh", "GELU"]
    assert "a" in modules
    assert kinds([modules.pop("a")]) == ["ReLU"]
    del modules["b"]
    assert len(modules) == 1
    modules.clear()
    assert len(modules) == 0


@LIBRARIES
def test_parameter_list(lib):
    nn = lib.nn
    values = nn.ParameterList([lib.zeros(2), nn.Parameter(lib.ones(1, 3))])
    values.append(lib.zeros(1))
    values += [lib.ones(1)]
    assert len(values) == 4
    assert all(isinstance(value, nn.Parameter) for value in values)
    assert [name for name, _ in values.named_parameters()] == ["0", "1", "2", "3"]
    values[0] = lib.ones(5)
    assert tuple(values[0].shape) == (5,)
    assert len(values[1:3]) == 2


@LIBRARIES
def test_parameter_dict(lib):
    nn = lib.nn
    values = nn.ParameterDict({"a": lib.zeros(2)})
    values["b"] = nn.Parameter(lib.ones(1))
    assert list(values) == ["a", "b"]
    assert [name for name, _ in values.named_parameters()] == ["a", "b"]
    assert "a" in values
    assert values.get("x") is None
    assert tuple(values.setdefault("c", lib.zeros(3)).shape) == (3,)
    assert tuple(values.pop("a").shape) == (2,)
    assert values.popitem()[0] == "c"
    assert list((values | nn.ParameterDict({"z": lib.zeros(1)})).keys()) == ["b", "z"]
    values.clear()
    assert len(values) == 0


def test_their_text():
    for build in (
        lambda lib: lib.nn.ParameterList([lib.zeros(2), lib.zeros(1, 3)]),
        lambda lib: lib.nn.ParameterDict({"a": lib.zeros(2), "b": lib.zeros(1, 3)}),
    ):
        mine = repr(build(pyburn))
        assert mine.replace("pyburn.", "torch.") == repr(build(torch))
