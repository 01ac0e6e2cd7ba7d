"""Graphs of programs: the nodes, names and code that torch's trace gives, and the same numbers and gradients."""

from __future__ import annotations

import math

import pyburn
import pytest
import torch

from tests.fx import models
from tests.fx.models import as_torch, drawn, fx_of, pair, same, steps

MODELS = {
    "residual": (models.residual, lambda t: (drawn(t, 2, 3, 8, 8),)),
    "transformer": (models.transformer, lambda t: (t.tensor([[1, 2, 3, 4], [5, 6, 7, 8]]),)),
    "keywords": (models.keywords, lambda t: (drawn(t, 2, 3),)),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_have_torchs_graphs_code_and_numbers(name):
    make, inputs = MODELS[name]
    ours, theirs = pair(make)
    traced, expected = fx_of(pyburn).symbolic_trace(ours), torch.fx.symbolic_trace(theirs)
    assert steps(traced.graph) == steps(expected.graph)
    assert as_torch(traced.code) == expected.code
    assert as_torch(traced.graph) == str(expected.graph)
    assert list(traced.state_dict()) == list(expected.state_dict())
    assert type(traced).__name__ == type(expected).__name__
    got, wanted = traced(*inputs(pyburn)), expected(*inputs(torch))
    same(got, wanted)
    same(got, ours(*inputs(pyburn)))
    total = got if name != "keywords" else got["both"][0]
    reference = wanted if name != "keywords" else wanted["both"][0]
    (total**2).sum().backward()
    (reference**2).sum().backward()
    for (path, mine), other in zip(traced.named_parameters(), expected.parameters()):
        assert (mine.grad is None) == (other.grad is None), path
        if other.grad is not None:
            same(mine.grad, other.grad)


FUNCTIONS = """
t.relu(x)
F.relu(x)
F.relu(x, inplace=True)
x.relu() + x.relu()
x + 1 - 2 * x / 3
2 - x, 2 / x, 2**x
constant + x
constant * x - constant @ x
constant == x, constant < x
constant[x]
constant.view(x.size(0), 1)
constant.add(x, alpha=2)
-x + abs(x)
~x
x % 3, x // 2, x & 1, x | 1, x ^ 1, x << 1, x >> 1
x[..., 1 : x.size(0)]
x[0], x[:, None], x[{"a": 1}["a"]]
x.shape[0] + x.ndim
x.T.mT
x.max(1)[0]
x.foo.bar(3, key=x).baz
F.max_pool2d(x, 2)
F.adaptive_avg_pool2d(x, (1, 1))
F.gelu(x)
F.linear(x, constant)
F.conv2d(x, constant, stride=2)
F.softmax(x, dim=1), t.softmax(x, 1), x.softmax(1)
F.log_softmax(x, 1)
F.dropout(x, 0.3, False)
F.embedding(x, constant, padding_idx=0)
F.layer_norm(x, (3,))
F.batch_norm(x, constant, constant, training=True)
F.interpolate(x, scale_factor=2, mode="bilinear")
F.pad(x, (1, 1))
F.cross_entropy(x, x, label_smoothing=0.1)
F.mse_loss(x, x)
F.scaled_dot_product_attention(x, x, x)
F.normalize(x)
F.sigmoid(x), F.tanh(x)
F.silu(x, True)
F.leaky_relu(x, 0.2)
F.one_hot(x, 3)
F.avg_pool2d(x, 2)
t.einsum("ij,jk->ik", x, x)
t.einsum("ij,jk", [x, x])
t.norm(x, dim=1)
t.split(x, 2)
t.stack([x, x], dim=1)
t.cat((x, x), 1)
t.tensordot(x, x, dims=([0], [1]))
t.zeros(x.size(0))
t.arange(x.size(0))
t.full((x.size(0),), 1.0)
t.zeros_like(x)
t.where(x > 0, x, constant)
t.broadcast_tensors(x, x)
t.meshgrid(x, x, indexing="ij")
t._assert(x.size(0) == 1, "one")
t.unique(x, return_counts=True)
math.sqrt(x.size(0))
(x, [x, {"a": x}])
t.add(input=x, other=2)
x.to(t.float64), x.type(t.int32)
x.view(-1, *[2, 3])
x.new_zeros(x.shape)
t.float32
isinstance(x, t.Tensor)
x.__setitem__(0, 1)
x(3)
slice(x, None, 2)
[float("inf"), float("nan"), 1j, None, ..., -1.5]
"""


def run(t, source: str):
    scene = {"t": t, "F": t.nn.functional, "math": math, "constant": t.ones(3, 3)}
    return fx_of(t).symbolic_trace(eval(f"lambda x: ({source})", scene))


@pytest.mark.parametrize("source", FUNCTIONS.strip().splitlines())
def test_functions_have_torchs_graphs_and_code(source):
    ours, theirs = run(pyburn, source), run(torch, source)
    assert steps(ours.graph) == steps(theirs.graph)
    assert as_torch(ours.code) == theirs.code


REFUSED = """
not x
x if x.sum() > 0 else -x
[each for each in x]
len(x)
int(x)
float(x)
range(x)
1 in x
{x: 1}[0] + object()
t.relu(x) + object()
divmod(x, 2)
round(x)
(lambda *a: a)(*x)
x and 1
{x.size(0): x}
"""


@pytest.mark.parametrize("source", REFUSED.strip().splitlines())
def test_what_depends_on_values_is_refused_as_in_torch(source):
    errors = []
    for t in (pyburn, torch):
        try:
            errors.append(f"{run(t, source)} is a graph of {t.__name__}")
        except Exception as error:
            errors.append(f"{type(error).__name__}: {error}"[:60])
    assert errors[0] == errors[1]
    assert "Error: " in errors[0]


CALLS = "F.hardshrink(x)|F.prelu(x, x)|F.l1_loss(x, x)|t.norm(x)|t.unique(x)|t.stft(x, 4)|t.lu(x)|F.relu(x)|x.norm()"


@pytest.mark.parametrize("source", CALLS.split("|"))
def test_proxies_record_outside_of_traces(source):
    found = []
    for t in (pyburn, torch):
        graph = fx_of(t).Graph()
        result = eval(source, {"t": t, "F": t.nn.functional, "x": fx_of(t).Proxy(graph.placeholder("x"))})
        graph.output(result.node)
        found.append((steps(graph), as_torch(graph.python_code("self").src)))
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["Linear(2, 3)", "Conv2d(2, 3, 3)", "LayerNorm(3)", "Embedding(3, 4)", "MaxPool2d(2)"])
def test_layers_themselves_are_traced(name):
    graphs = [fx_of(t).symbolic_trace(eval(f"t.nn.{name}", {"t": t})) for t in (pyburn, torch)]
    assert steps(graphs[0].graph) == steps(graphs[1].graph)
    assert graphs[0].code.splitlines()[-2:] == graphs[1].code.splitlines()[-2:]


def test_sequences_are_unpacked_but_not_run_through():
    def program(x):
        a, b = x
        (c, _), *_ = (b, a), a
        return a + b + c

    ours, theirs = (fx_of(t).symbolic_trace(program) for t in (pyburn, torch))
    assert steps(ours.graph) == steps(theirs.graph)


def test_names_of_inputs_and_annotations():
    def program(input, list: int, x_1, x: float = 3.0, *args: str, flag=True, **rest) -> tuple[int, float]:
        return input + x + x_1, flag, args, rest, list

    ours, theirs = (fx_of(t).symbolic_trace(program) for t in (pyburn, torch))
    assert steps(ours.graph) == steps(theirs.graph)
    assert as_torch(ours.code) == theirs.code


def test_concrete_args_take_values_and_trees():
    def program(x, flag, tree):
        return (x + tree["a"][0] if flag else x), {"b": tree["a"][1]}

    results = []
    for t in (pyburn, torch):
        fx = fx_of(t)
        traced = fx.symbolic_trace(program, concrete_args={"flag": True, "tree": {"a": [fx.PH, fx.PH]}})
        x = drawn(t, 3)
        results.append((traced, traced(x, True, {"a": [x, x * 2]})))
        with pytest.raises(AssertionError, match="specialized"):
            traced(x, False, {"a": [x, x]})
    (ours, got), (theirs, wanted) = results
    assert steps(ours.graph) == steps(theirs.graph)
    assert as_torch(ours.code) == theirs.code
    same(got, wanted)


def test_concrete_none_is_checked():
    def program(x, mask=None):
        return x if mask is None else x + mask

    ours, theirs = (fx_of(t).symbolic_trace(program, concrete_args={"mask": None}) for t in (pyburn, torch))
    assert steps(ours.graph) == steps(theirs.graph)
    with pytest.raises(AssertionError):
        ours(pyburn.ones(1), pyburn.ones(1))


def halve(x, by=2):
    return x / by if float(x.sum()) > 0 else x


pyburn.fx.wrap("halve")
torch.fx.wrap("halve")
torch.fx.wrap("len")
pyburn.fx.wrap("len")


def test_wrapped_functions_are_one_step():
    def program(x):
        return halve(x, by=4) + len(x)

    ours, theirs = (fx_of(t).symbolic_trace(program) for t in (pyburn, torch))
    assert steps(ours.graph) == steps(theirs.graph)
    same(ours(drawn(pyburn, 3)), theirs(drawn(torch, 3)))
    assert halve(pyburn.ones(1)).item() == 0.5
    retraced = fx_of(pyburn).symbolic_trace(ours)
    assert steps(retraced.graph) == steps(ours.graph)


def test_wrap_wants_the_top_of_a_module():
    for t in (pyburn, torch):
        with pytest.raises(NotImplementedError, match="top level of a module"):
            fx_of(t).wrap("halve")
        with pytest.raises(RuntimeError):
            fx_of(t).wrap(3)


def test_tracers_choose_leaves_and_parameters():
    results = []
    for t in (pyburn, torch):
        ours, _ = pair(models.residual) if t is pyburn else (pair(models.residual)[1], None)

        class Tracer(fx_of(t).Tracer):
            proxy_buffer_attributes = True

            def is_leaf_module(self, m, module_qualified_name):
                return type(m).__name__ == "Block" or super().is_leaf_module(m, module_qualified_name)

        tracer = Tracer()
        graph = tracer.trace(ours)
        results.append((steps(graph), [tracer.path_of_module(ours.layer1[1].conv1), tracer.root is ours]))
    assert results[0] == results[1]


@pytest.mark.parametrize("t", [pyburn, torch], ids=["pyburn", "torch"])
def test_shapes_of_parameters_may_be_constant(t):
    class Model(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = t.nn.Parameter(t.ones(3, 2))

        def forward(self, x):
            return x @ self.weight if self.weight.shape[0] == 3 else x

    with pytest.raises(fx_of(t).proxy.TraceError):
        fx_of(t).Tracer().trace(Model())
    graph = fx_of(t).Tracer(param_shapes_constant=True).trace(Model())
    assert [node.name for node in graph.nodes] == ["x", "weight", "matmul", "output"]


def test_nodes_know_the_modules_they_were_made_in():
    stacks = []
    for t in (pyburn, torch):
        model = pair(models.residual)[0 if t is pyburn else 1]
        graph = fx_of(t).symbolic_trace(model).graph
        stacks.append([list(node.meta.get("nn_module_stack", {})) for node in graph.nodes])
    assert stacks[0] == stacks[1]


def test_tensors_are_as_they_were_after_a_trace():
    before = {name: vars(pyburn.Tensor).get(name) for name in dir(pyburn.Tensor)}
    call, read = pyburn.nn.Module.__call__, pyburn.nn.Module.__getattr__
    with pytest.raises(fx_of(pyburn).proxy.TraceError):
        run(pyburn, "1 if x else 0")
    run(pyburn, "constant + x")
    assert {name: vars(pyburn.Tensor).get(name) for name in dir(pyburn.Tensor)} == before
    assert (pyburn.nn.Module.__call__, pyburn.nn.Module.__getattr__) == (call, read)
    assert (pyburn.ones(2) + 1).tolist() == [2.0, 2.0]
    assert not fx_of(pyburn)._symbolic_trace.is_fx_tracing()


def test_classes_may_be_made_of_proxies():
    for t in (pyburn, torch):

        class Pair(metaclass=fx_of(t).ProxyableClassMeta):
            def __init__(self, left, right):
                self.left, self.right = left, right

        def program(x):
            return Pair(x, x + 1).left

        traced = fx_of(t).symbolic_trace(program)
        assert [node.name for node in traced.graph.nodes] == ["x", "add", "pair", "getattr_1", "output"]
        assert traced(t.ones(1)).item() == 1.0


def test_functions_keep_their_names_after_autocast():
    before = pyburn.fx.symbolic_trace(lambda x: pyburn.nn.functional.l1_loss(x, x)).code
    with pyburn.autocast("cpu"):
        pyburn.nn.functional.l1_loss(pyburn.ones(1), pyburn.ones(1))
    assert pyburn.fx.symbolic_trace(lambda x: pyburn.nn.functional.l1_loss(x, x)).code == before
