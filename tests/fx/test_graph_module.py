"""Modules that run graphs."""

from __future__ import annotations

import copy
import operator
import pickle
import traceback

import pyburn
import pytest
import torch

from tests.fx import models
from tests.fx.models import as_torch, drawn, fx_of, pair, same, steps

BOTH = pytest.mark.parametrize("t", [pyburn, torch], ids=["pyburn", "torch"])


@BOTH
def test_roots_may_be_dicts(t):
    fx = fx_of(t)
    graph = fx.Graph()
    x = graph.placeholder("x")
    weight, mask = graph.get_attr("inner.weight"), graph.get_attr("mask")
    graph.output(graph.call_module("inner.act", (graph.call_function(operator.mul, (x, weight)),)) if mask else None)
    root = {"inner.weight": t.nn.Parameter(t.ones(2)), "mask": t.zeros(1), "inner.act": t.nn.ReLU()}
    module = fx.GraphModule(root, graph, "Named")
    assert list(module.state_dict()) == ["mask", "inner.weight"]
    assert type(module).__name__ == "Named"
    assert module(t.tensor([-1.0, 2.0])).tolist() == [0.0, 2.0]
    with pytest.raises(RuntimeError, match="not provided in ``root``"):
        fx.GraphModule({}, graph)
    with pytest.raises(RuntimeError, match="Unsupported type"):
        fx.GraphModule(3, graph)


@BOTH
def test_changes_hold_after_recompile(t):
    fx = fx_of(t)
    module = fx.symbolic_trace(lambda x: t.relu(x) + 1)
    for node in module.graph.nodes:
        if node.target is t.relu:
            node.target = t.neg
    assert module(t.ones(1)).item() == 2.0
    module.recompile()
    assert module(t.ones(1)).item() == 0.0
    other = fx.symbolic_trace(lambda x: x * 5)
    module.graph = other.graph
    assert module(t.ones(1)).item() == 5.0
    assert other(t.ones(1)).item() == 5.0


def test_submodules_are_added_and_deleted_as_in_torch():
    results = []
    for index, t in ((0, pyburn), (1, torch)):
        module = fx_of(t).symbolic_trace(pair(models.residual)[index])
        found = [module.add_submodule("a.b.c", t.nn.ReLU()), module.add_submodule("fc.weight.c", t.nn.ReLU())]
        found += [module.delete_submodule("a.x"), module.delete_submodule("stem.0"), module.delete_submodule("fc.bias")]
        before = [name for name, _ in module.named_modules()]
        with module.graph.inserting_before(module.graph.output_node()):
            module.graph.call_module("a.b.c", (next(iter(module.graph.nodes)),))
        module.delete_all_unused_submodules()
        results.append((found, before, [name for name, _ in module.named_modules()]))
    assert results[0] == results[1]


@pytest.mark.parametrize("name", ["residual", "transformer"])
def test_copies_and_pickles_compute_the_same(name):
    ours, _ = pair(getattr(models, name))
    x = drawn(pyburn, 2, 3, 8, 8) if name == "residual" else pyburn.tensor([[1, 2, 3, 4]])
    module = pyburn.fx.symbolic_trace(ours.eval())
    module.meta["note"] = [1]
    expected = module(x)
    for made in (copy.deepcopy(module), pickle.loads(pickle.dumps(module)), copy.copy(module)):
        same(made(x), expected)
        assert made.code == module.code
        assert steps(made.graph) == steps(module.graph)
        assert made.meta == {"note": [1]}
        assert made.training is False
    deep = copy.deepcopy(module)
    for parameter in deep.parameters():
        parameter.data.zero_()
    same(module(x), expected)


class Doubled(pyburn.fx.GraphModule):
    """A subclass, as packages write them."""

    def __init__(self, root, graph, extra=2):
        super().__init__(root, graph, "Doubled")
        self.extra = extra


def test_subclasses_survive_pickling():
    graph = pyburn.fx.symbolic_trace(lambda x: x * 3).graph
    module = pickle.loads(pickle.dumps(Doubled(pyburn.nn.Module(), graph, 4)))
    assert isinstance(module, Doubled)
    assert (module.extra, module(pyburn.ones(1)).item()) == (4, 3.0)


def test_nested_inputs_survive_copies():
    fx = pyburn.fx
    module = fx.symbolic_trace(lambda tree: {"a": tree[0] + tree[1]}, concrete_args={"tree": (fx.PH, fx.PH)})
    x = pyburn.ones(2)
    for made in (module, copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert made((x, x))["a"].tolist() == [2.0, 2.0]


def test_readable_code_is_torchs(capsys):
    texts = []
    for index, t in ((0, pyburn), (1, torch)):
        module = fx_of(t).symbolic_trace(pair(models.residual)[index])
        fx_of(t).passes.shape_prop.ShapeProp(module).propagate(drawn(t, 2, 3, 8, 8))
        texts.append(as_torch(module.print_readable(print_output=False)))
        assert str(module).endswith("`graph_module.print_readable()`")
        module.print_readable()
        assert "class Residual" in capsys.readouterr().out
    assert texts[0] == texts[1]


def test_hooks_see_nodes_come_and_go():
    module = pyburn.fx.symbolic_trace(lambda x: pyburn.relu(x))
    seen = []
    module._register_create_node_hook(lambda node: seen.append(("made", node.name)))
    module._register_erase_node_hook(lambda node: seen.append(("gone", node.name)))
    x, relu, _ = module.graph.nodes
    with module.graph.inserting_after(relu), module._set_replace_hook(lambda **what: seen.append(what["new"])):
        added = module.graph.call_method("neg", (x,))
        relu.replace_all_uses_with(added)
    module.graph.erase_node(relu)
    assert seen == [("made", "neg"), "neg", ("gone", "relu")]


def test_errors_name_the_line_of_generated_code():
    module = pyburn.fx.symbolic_trace(lambda x: x.view(7))
    with pytest.raises(RuntimeError) as error:
        module(pyburn.ones(3))
    assert "view = x.view(7);  x = None" in "".join(traceback.format_exception(error.value))


@BOTH
@pytest.mark.filterwarnings("ignore")  # torch warns of its own compiler
def test_scripted_modules_are_script_modules(t):
    module = fx_of(t).symbolic_trace(t.nn.Sequential(t.nn.Linear(2, 2), t.nn.ReLU()))
    assert not isinstance(module, t.jit.ScriptModule)
    x = drawn(t, 3, 2)
    scripted = t.jit.script(module)
    assert isinstance(scripted, t.jit.ScriptModule)
    same(scripted(x), module(x))
    assert not isinstance(t.nn.ReLU(), t.jit.ScriptModule)
    assert not isinstance(3, t.jit.ScriptModule)


def test_to_folder_says_what_to_do():
    with pytest.raises(NotImplementedError, match="state_dict"):
        pyburn.fx.symbolic_trace(lambda x: x).to_folder("somewhere")


def test_names_of_attributes_never_become_code():
    root = pyburn.nn.Module()
    name = 'a"), print("b'
    root.add_module(name, pyburn.nn.ReLU())
    graph = pyburn.fx.Graph()
    graph.output(graph.call_module(name, (graph.placeholder("x"),)))
    made = pyburn.fx.GraphModule(root, graph)
    assert made(pyburn.tensor(-1.0)) == 0
    assert 'getattr(self, "a\\"), print(\\"b")' in made.code
