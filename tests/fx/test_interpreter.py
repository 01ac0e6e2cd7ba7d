"""Graphs run node by node."""

from __future__ import annotations

import operator

import pyburn
import pytest
import torch

from tests.fx import models
from tests.fx.models import drawn, fx_of, pair, same, steps

BOTH = pytest.mark.parametrize("t", [pyburn, torch], ids=["pyburn", "torch"])


@pytest.mark.parametrize("keep", [True, False])
def test_interpreters_compute_what_modules_do(keep):
    ours, theirs = pair(models.transformer)
    index = [[1, 2, 3, 4]]
    module = pyburn.fx.symbolic_trace(ours)
    runner = pyburn.fx.Interpreter(module, garbage_collect_values=keep)
    same(runner.run(pyburn.tensor(index)), theirs(torch.tensor(index)))
    assert len(runner.env) == (1 if keep else len(module.graph.nodes))
    same(runner.boxed_run([pyburn.tensor(index)]), theirs(torch.tensor(index)))
    with pytest.raises(RuntimeError, match="missing arguments"):
        runner.boxed_run([])


@BOTH
def test_each_kind_of_node_has_a_method(t):
    seen = []

    class Recorder(fx_of(t).Interpreter):
        def run_node(self, n):
            seen.append(n.name)
            return super().run_node(n)

        def call_function(self, target, args, kwargs):
            return super().call_function(t.sub if target is operator.add else target, args, kwargs)

        def call_method(self, target, args, kwargs):
            return super().call_method("exp" if target == "neg" else target, args, kwargs)

    module = fx_of(t).symbolic_trace(lambda x, y=2.0: (x + y).neg())
    same(Recorder(module).run(t.ones(1)), t.exp(t.ones(1) - 2.0))
    assert seen == ["x", "y", "add", "neg", "output"]
    with pytest.raises(RuntimeError, match="Expected positional argument for parameter x"):
        Recorder(module).run()


@BOTH
def test_errors_name_the_node(t):
    module = fx_of(t).symbolic_trace(lambda x: x.view(7))
    with pytest.raises(RuntimeError, match="While executing %view"):
        fx_of(t).Interpreter(module).run(t.ones(3))


@BOTH
def test_known_values_are_not_computed_again(t):
    module = fx_of(t).symbolic_trace(lambda x: t.relu(x) + 1)
    x, relu, *_ = module.graph.nodes
    env = {x: t.ones(1), relu: t.full((1,), 5.0)}
    assert fx_of(t).Interpreter(module).run(initial_env=env).item() == 6.0


def test_nested_inputs_are_taken_apart():
    for t in (pyburn, torch):
        fx = fx_of(t)
        module = fx.symbolic_trace(lambda tree: {"a": tree[0] - tree[1]}, concrete_args={"tree": (fx.PH, fx.PH)})
        assert fx.Interpreter(module).run((t.ones(1), t.zeros(1)))["a"].item() == 1.0


def test_transformers_make_torchs_graphs():
    results = []
    for index, t in ((0, pyburn), (1, torch)):
        fx = fx_of(t)

        class Swap(fx.Transformer):
            def call_function(self, target, args, kwargs):
                if target in (operator.add, operator.iadd):
                    return t.sigmoid(args[0]) - args[1]  # noqa: B023
                return super().call_function(target, args, kwargs)

        module = Swap(fx.symbolic_trace(pair(models.residual)[index].eval())).transform()
        results.append((steps(module.graph), module(drawn(t, 2, 3, 8, 8))))
    (ours, got), (theirs, wanted) = results
    assert ours == theirs
    same(got, wanted)
