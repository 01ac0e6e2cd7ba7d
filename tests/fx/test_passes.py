"""Passes over whole graphs: shapes, parts, replaced patterns, fused layers."""

from __future__ import annotations

import pyburn
import pytest
import torch
from pyburn.fx.experimental import optimization
from pyburn.fx.passes import shape_prop, split_module
from torch.fx.experimental import optimization as torch_optimization
from torch.fx.passes import shape_prop as torch_shape_prop
from torch.fx.passes import split_module as torch_split_module

from tests.fx import models
from tests.fx.models import as_torch, drawn, fx_of, pair, same, steps

PASSES = (
    (pyburn, shape_prop, split_module, optimization),
    (torch, torch_shape_prop, torch_split_module, torch_optimization),
)


def test_shapes_are_torchs():
    found = []
    for index, (t, prop, _, _) in enumerate(PASSES):
        module = fx_of(t).symbolic_trace(pair(models.residual)[index])
        prop.ShapeProp(module).propagate(drawn(t, 2, 3, 8, 8))
        metas = [node.meta["tensor_meta"] for node in module.graph.nodes]
        found.append([as_torch((tuple(m.shape), *m[1:3], tuple(m.stride), *m[4:])) for m in metas])
        assert [node.meta["type"].__name__ for node in module.graph.nodes] == ["Tensor"] * len(metas)
    assert found[0] == found[1]
    module = fx_of(pyburn).symbolic_trace(lambda x: (x.split(2), x.size(0)))
    shape_prop.ShapeProp(module).propagate(pyburn.ones(4))
    assert [tuple(m.shape) for m in list(module.graph.nodes)[1].meta["tensor_meta"]] == [(2,), (2,)]
    with pytest.raises(RuntimeError, match="ShapeProp error for: node=%view"):
        shape_prop.ShapeProp(fx_of(pyburn).symbolic_trace(lambda x: x.view(9))).propagate(pyburn.ones(4))


PATTERNS = {
    "function": ("t.relu(x + y) * t.relu(y + x)", "a, b: t.relu(a + b)", "a, b: a - b"),
    "chain": ("t.exp(t.exp(t.exp(t.exp(x))))", "a: t.exp(t.exp(a))", "a: t.log(a)"),
    "overlap": ("t.exp(t.exp(t.exp(x)))", "a: t.exp(t.exp(a))", "a: t.log(a)"),
    "method": ("x.neg().sum(dim=1) + y.neg().sum(dim=0)", "a: a.neg().sum(dim=1)", "a: a.mean(1)"),
    "inner use": ("t.relu(x + y) + (x + y).exp()", "a, b: t.relu(a + b)", "a, b: a"),
    "used inside": ("(lambda s: t.relu(s) + s)(x + y)", "a, b: t.relu(a + b)", "a, b: a - b"),
    "two outputs": (
        "(lambda s: s.exp() + s.neg())(x + y)",
        "a, b: (lambda s: (s.exp(), s.neg()))(a + b)",
        "a, b: (a, b)",
    ),
    "literal": ("x.view(2, 3) + x.view(3, 2)", "a: a.view(2, 3)", "a: a.reshape(6)"),
    "number as input": ("t.add(x, 3)", "a, b: t.add(a, b)", "a, b: t.sub(a, b)"),
    "list": ("t.cat([x, y], 1) + t.cat([x, y], 0)", "a, b: t.cat([a, b], 1)", "a, b: t.stack([b, a])"),
    "identity": ("t.relu(x) + y", "a: t.relu(a)", "a: a"),
    "nothing": ("x * y", "a: t.relu(a)", "a: a"),
    "same twice": ("x * x + x * y", "a: a * a", "a: a.square()"),
    "keywords": ("t.sum(x, dim=1) + t.sum(x, 1)", "a: t.sum(a, dim=1)", "a: t.mean(a, dim=1)"),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_are_replaced_as_in_torch(name):
    results = []
    for t in (pyburn, torch):
        program, pattern, replacement = (
            eval(f"lambda {text}", {"t": t}) for text in (f"x, y: {PATTERNS[name][0]}", *PATTERNS[name][1:])
        )
        module = fx_of(t).symbolic_trace(program)
        matches = fx_of(t).replace_pattern(module, pattern, replacement)
        module.graph.lint()
        named = [{str(a): str(b) for a, b in match.nodes_map.items()} for match in matches]
        results.append((as_torch(module.code), [str(match.anchor) for match in matches], named))
    assert results[0] == results[1]


def test_replacements_bring_their_modules():
    for t in (pyburn, torch):
        fx = fx_of(t)

        class Replacement(t.nn.Module):
            def __init__(self):
                super().__init__()
                self.act = t.nn.Tanh()  # noqa: B023

            def forward(self, a):
                return self.act(a)

        module = fx.symbolic_trace(lambda x: t.relu(x) * 2)  # noqa: B023
        fx.replace_pattern(module, lambda a: t.relu(a), fx.symbolic_trace(Replacement()))  # noqa: B023
        assert isinstance(module.act, t.nn.Tanh)
        same(module(drawn(t, 3)), t.tanh(drawn(t, 3)) * 2)


def test_filters_choose_places():
    from pyburn.fx.subgraph_rewriter import replace_pattern_with_filters

    module = pyburn.fx.symbolic_trace(lambda x: pyburn.add(x, 1) + pyburn.add(x, 2))
    found = replace_pattern_with_filters(
        module,
        lambda a: pyburn.add(a, 1),
        lambda a: a.neg(),
        match_filters=[lambda match, graph, pattern: match.returning_nodes[0].args[1] == 2],
        ignore_literals=True,
    )
    assert [[node.name for node in each.replacements] for each in found] == [["neg"]]
    assert module(pyburn.ones(1)).item() == 1.0


@pytest.mark.parametrize(
    "options", [{}, {"keep_original_order": True}, {"keep_original_node_name": True}, {"tuple_return": True}]
)
def test_parts_are_torchs(options):
    results = []
    for index, (t, _, split, _) in enumerate(PASSES):
        module = fx_of(t).symbolic_trace(pair(models.residual)[index].eval())
        order = {node: place for place, node in enumerate(module.graph.nodes)}
        names = {}
        made = split.split_module(module, module, lambda node, order=order: order[node] // 5, names, **options)
        parts = {name: (as_torch(child.code), list(child.state_dict())) for name, child in made.named_children()}
        results.append(
            (as_torch(made.code), parts, names, made(drawn(t, 2, 3, 8, 8)), sorted(made.meta["partition_names"]))
        )
    ours, theirs = results
    assert ours[:3] == theirs[:3]
    assert ours[4] == theirs[4]
    same(ours[3], theirs[3])


def test_parts_take_parameters_and_refuse_cycles():
    results = []
    for index, (t, _, split, _) in enumerate(PASSES):
        module = fx_of(t).symbolic_trace(pair(models.keywords)[index])
        made = split.split_module(module, module, lambda node: int(node.name in ("sub", "sum_1", "neg")))
        results.append(as_torch(made.code + "".join(child.code for child in made.children())))
        cyclic = fx_of(t).symbolic_trace(lambda x: x.exp().neg().exp())
        with pytest.raises(RuntimeError, match="cycle exists"):
            split.split_module(cyclic, cyclic, lambda node: int(node.target == "neg"))
    assert results[0] == results[1]


def test_batch_norms_are_fused_as_in_torch():
    ours, theirs = pair(models.residual)
    for model, t in ((ours, pyburn), (theirs, torch)):
        model.train()
        model(drawn(t, 4, 3, 8, 8))
        model.eval()
    fused, expected = optimization.fuse(ours), torch_optimization.fuse(theirs)
    assert steps(fused.graph) == steps(expected.graph)
    assert not any("bn" in str(node.target) for node in fused.graph.nodes)
    x = drawn(pyburn, 2, 3, 8, 8, seed=2)
    same(fused(x), expected(drawn(torch, 2, 3, 8, 8, seed=2)))
    same(fused(x), ours(x))


def test_dropout_is_removed():
    for t, _, _, tools in PASSES:
        model = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.Dropout(0.9), t.nn.ReLU())
        assert [str(node.target) for node in tools.remove_dropout(model).graph.nodes] == ["input", "0", "2", "output"]
