"""`compile` gives what torch's gives, though nothing is compiled: a module around the module."""

from __future__ import annotations

import copy
import pickle

import pyburn
import pytest
import torch

LIBRARIES = pytest.mark.parametrize("lib", [pyburn, torch], ids=["pyburn", "torch"])


@LIBRARIES
def test_a_compiled_module_has_the_original_inside(lib):
    model = lib.nn.Sequential(lib.nn.Linear(2, 3), lib.nn.Dropout())
    compiled = lib.compile(model, backend="eager")
    assert compiled._orig_mod is model and isinstance(compiled, lib.nn.Module) and compiled is not model
    assert isinstance(compiled, lib._dynamo.OptimizedModule) and not hasattr(model, "_orig_mod")
    assert list(compiled.state_dict()) == ["_orig_mod.0.weight", "_orig_mod.0.bias"]
    assert [name for name, _ in compiled.named_parameters()] == ["_orig_mod.0.weight", "_orig_mod.0.bias"]
    assert list(dict(compiled.named_modules())) == ["", "_orig_mod", "_orig_mod.0", "_orig_mod.1"]
    assert repr(compiled).startswith("OptimizedModule(\n  (_orig_mod): Sequential(") and len(compiled) == 2


@LIBRARIES
def test_attributes_are_those_of_the_original(lib):
    model = lib.nn.Linear(2, 3)
    compiled = lib.compile(model, backend="eager")
    compiled.eval()
    assert not model.training and not compiled.training
    model.train()
    assert compiled.training and compiled.in_features == 2 and compiled.weight is model.weight
    compiled.note = "kept"
    assert model.note == "kept" and "note" in dir(compiled)
    del compiled.note
    assert not hasattr(model, "note") and not hasattr(compiled, "note")
    with pytest.raises(AttributeError, match="nothing_like_it"):
        compiled.nothing_like_it  # noqa: B018
    compiled.load_state_dict({f"_orig_mod.{key}": value * 0 for key, value in model.state_dict().items()})
    assert model.weight.abs().sum().item() == 0


def test_it_computes_copies_and_trains_as_the_original():
    model = pyburn.nn.Linear(2, 1)
    compiled = pyburn.compile(model)
    x = pyburn.ones(3, 2)
    assert compiled(x).tolist() == model(x).tolist()
    compiled(x).sum().backward()
    assert model.weight.grad.tolist() == [[3.0, 3.0]]
    for other in (copy.deepcopy(compiled), pickle.loads(pickle.dumps(compiled))):
        assert other(x).tolist() == model(x).tolist() and other._orig_mod is not model
    assert pyburn.compile(model, disable=True) is model and pyburn.compile(mode="default")(model)._orig_mod is model


@LIBRARIES
def test_functions_of_torch_do_not_become_methods_of_modules(lib):
    class Layer(lib.nn.Module):
        conv = lib.conv1d
        reduce = lib.sum

        def forward(self, x):
            return self.reduce(self.conv(x, weight=x), dim=-1)

    assert Layer()(lib.ones(1, 1, 3)).tolist() == [[3.0]]


@LIBRARIES
def test_no_tensor_is_a_dual_number(lib):
    x = lib.ones(2)
    found = lib.autograd.forward_ad.unpack_dual(x)
    assert found.tangent is None and found.primal is x


@LIBRARIES
def test_the_name_of_the_default_backend(lib):
    assert lib.compiler.get_default_backend() == "inductor"
    lib.compiler.set_default_backend("eager")
    assert lib.compiler.get_default_backend() == "eager"
    lib.compiler.set_default_backend(None)
    assert lib.compiler.get_default_backend() == "inductor"
    with pytest.raises(TypeError, match="backend must be a string or callable"):
        lib.compiler.set_default_backend(5)


@LIBRARIES
def test_functions_of_numpy_and_of_none(lib):
    total = lib.compiler.wrap_numpy(lambda a, scale=None: type(a).__name__ + type(scale["s"]).__name__)
    assert total(lib.ones(2), scale={"s": lib.ones(1)}) == "ndarrayndarray"
    assert lib.compiler.nonstrict_trace(len)([1, 2]) == 2
    generator = lib.random.thread_safe_generator()
    assert generator is None and lib.randint(0, 3, (4,), generator=generator).shape == (4,)


def test_what_stands_in_for_a_function_is_itself():
    def stand_in(text):
        return 7

    assert pyburn.compiler.substitute_in_graph(len)(stand_in) is stand_in
