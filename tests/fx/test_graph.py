"""Graphs made and changed by hand: the same steps on both libraries."""

from __future__ import annotations

import copy
import operator
import pickle
import sys

import pyburn
import pytest
import torch

from tests.fx.models import as_torch, fx_of, steps

BOTH = pytest.mark.parametrize("t", [pyburn, torch], ids=["pyburn", "torch"])


def edited(t):
    """A graph after most of what can be done to one."""
    fx = fx_of(t)
    graph = fx.Graph()
    x = graph.placeholder("x", t.Tensor)
    y = graph.placeholder("y", default_value=3)
    total = graph.call_function(operator.add, (x, y))
    relu = graph.call_function(t.relu, (total,))
    method = graph.call_method("sum", (relu,), {"dim": 1})
    weight = graph.get_attr("inner.weight")
    module = graph.call_module("inner.0", (method, [weight, {"a": relu}]), {"k": slice(0, y)})
    end = graph.output((module, relu), tuple[t.Tensor, ...])
    with graph.inserting_before(relu):
        first = graph.call_method("neg", (total,))
    with graph.inserting_after(relu):
        graph.call_function(t.relu, (first,), name="camelCase")
    with graph.inserting_before():
        graph.placeholder("z")
    relu.replace_input_with(total, first)
    method.update_kwarg("keepdim", True)
    module.update_arg(0, relu)
    module.insert_arg(1, 7)
    total.prepend(y)
    with graph.inserting_before(end):
        graph.node_copy(relu, lambda node: node).append(graph.call_function(len, (x,)))
    end.prepend(graph.call_function(print, (x,)))
    return graph


def test_edited_graphs_are_torchs():
    ours, theirs = edited(pyburn), edited(torch)
    assert steps(ours) == steps(theirs)
    assert as_torch(ours) == str(theirs)
    assert as_torch(ours.python_code("self").src) == theirs.python_code("self").src
    assert as_torch(ours.output_node().format_node()) == theirs.output_node().format_node()


def test_copies_are_the_same_graph():
    graph = edited(pyburn)
    for made in (copy.deepcopy(graph), pickle.loads(pickle.dumps(graph))):
        assert steps(made) == steps(graph)
        assert made.python_code("self").src == graph.python_code("self").src
    other = pyburn.fx.Graph()
    values = {}
    assert str(other.graph_copy(graph, values)) == str(graph.output_node().args[0])
    assert [node.name for node in other.nodes] == [node.name for node in graph.nodes][:-1]


@BOTH
def test_nodes_know_their_neighbours_and_order(t):
    graph = edited(t)
    nodes = list(graph.nodes)
    shuffled = nodes[::-1]
    assert [node.next for node in nodes[:-1]] == nodes[1:]
    assert [node.prev for node in nodes[1:]] == nodes[:-1]
    assert sorted(shuffled) == nodes
    assert list(reversed(graph.nodes)) == nodes[::-1]
    assert len(graph.nodes) == len(nodes) == 14
    assert nodes[0] < nodes[1] and nodes[2] >= nodes[1]
    found = graph.find_nodes(op="call_function", target=t.relu)
    assert [node.name for node in found] == ["relu", "camelCase", "relu_1"]
    assert [node.name for node in graph.find_nodes(op="placeholder")] == ["z", "x", "y"]


@BOTH
def test_erasing_wants_no_users(t):
    graph = edited(t)
    relu = graph.find_nodes(op="call_function", target=t.relu)[0]
    with pytest.raises(RuntimeError, match="still had"):
        graph.erase_node(relu)
    with pytest.raises(RuntimeError, match="wrong graph"):
        graph.erase_node(edited(t).find_nodes(op="call_function", target=print)[0])
    assert graph.find_nodes(op="call_method", target="neg")[0].replace_all_uses_with(
        graph.find_nodes(op="placeholder")[0]
    )
    node = graph.find_nodes(op="call_method", target="neg")[0]
    graph.erase_node(node)
    with pytest.warns(UserWarning, match="already erased"):
        graph.erase_node(node)


@BOTH
def test_lint_finds_what_does_not_fit(t):
    fx = fx_of(t)
    graph = fx.Graph()
    x = graph.placeholder("x")
    a = graph.call_function(t.relu, (x,))
    b = graph.call_function(t.abs, (a,))
    graph.output(b)
    graph.lint()
    b.append(a)
    with pytest.raises(RuntimeError, match="before it has been defined"):
        graph.lint()
    a.append(b)
    b.args = (fx.Graph().placeholder("foreign"),)
    with pytest.raises(RuntimeError, match="does not belong to this Graph"):
        graph.lint()
    b.args = (a,)
    module = fx.GraphModule({}, graph)
    with graph.inserting_after(x), pytest.warns(UserWarning, match="no underlying reference"):
        graph.get_attr("nothing")
    with pytest.raises(RuntimeError, match="nonexistent attribute nothing"):
        module.graph.lint()


@BOTH
def test_arguments_are_fixed(t):
    fx = fx_of(t)
    graph = fx.Graph()
    node = graph.call_function(t.cat, ([graph.placeholder("x")],), {"dim": {"a": 1}})
    with pytest.raises(TypeError, match="does not support mutation"):
        node.args[0].append(1)
    with pytest.raises(TypeError, match="does not support mutation"):
        node.kwargs["dim"]["a"] = 2
    with pytest.raises(AssertionError):
        graph.create_node("call_function", t.cat, [node])
    with pytest.raises(AssertionError, match="_legal_ops"):
        graph.create_node("call_nothing", "x")
    with pytest.raises(ValueError, match="Callable is expected"):
        graph.create_node("call_function", "relu")


def test_dead_code_is_eliminated_as_in_torch():
    results = []
    source = """def program(x):
        t.relu(x).exp()
        x.add_(1)
        t._assert(x.size(0) > 0, "some")
        x.sum()
        return x * 2"""
    for t in (pyburn, torch):
        scene = {"t": t}
        exec(source, scene)
        module = fx_of(t).symbolic_trace(scene["program"])
        results.append(([module.graph.eliminate_dead_code(), module.graph.eliminate_dead_code()], steps(module.graph)))
    assert results[0] == results[1]


def test_names_are_torchs():
    names = [
        "relu",
        "relu",
        "relu_1",
        "relu_5",
        "relu",
        "list",
        "self",
        "1x",
        "a.b-c",
        "",
        "fooBar",
        "HTTPServer",
        "x_0",
    ]
    names += ["x", "x_1", "for", "device", "inf", "__add__", "_private", "x_01", "torch_1", "output"]
    made = []
    for t in (pyburn, torch):
        graph = fx_of(t).Graph()
        made.append([graph.placeholder(name).name for name in names])
    assert made[0] == made[1]


@BOTH
def test_code_may_be_changed_on_the_way(t):
    module = fx_of(t).symbolic_trace(lambda x: x + 1)

    def remember(_before):
        return lambda lines: ["seen.append(x)\n", *lines]

    with module.graph.on_generate_code(remember):
        code = module.recompile().src
    assert "seen.append(x)" in code
    assert "seen" not in module.recompile().src


def test_print_tabular_names_what_it_needs(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tabulate", None)
    for t in (pyburn, torch):
        with pytest.raises(ImportError):
            fx_of(t).symbolic_trace(lambda x: x + 1).graph.print_tabular()
        assert "pip install tabulate" in capsys.readouterr().out


def test_aggregates_are_mapped():
    for t in (pyburn, torch):
        node = fx_of(t).node
        assert node.map_aggregate([1, {"a": (2, slice(3, None))}], lambda a: None if a is None else a + 1) == [
            2,
            {"a": (3, slice(4, None))},
        ]
        graph = fx_of(t).Graph()
        x = graph.placeholder("x")
        assert node.map_arg([x, (x, 2)], lambda n: n.name) == ["x", ("x", 2)]


def test_side_effects_keep_calls():
    def shout(x):
        return x

    pyburn.fx.has_side_effect(shout)
    graph = pyburn.fx.Graph()
    x = graph.placeholder("x")
    graph.call_function(shout, (x,))
    graph.output(x)
    assert not graph.eliminate_dead_code()


def test_proxies_of_two_graphs_do_not_mix():
    for t in (pyburn, torch):
        fx = fx_of(t)
        one, other = (fx.Proxy(fx.Graph().placeholder("x")) for _ in range(2))
        with pytest.raises(RuntimeError, match="multiple different tracers"):
            t.add(one, other)
