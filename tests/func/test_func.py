"""torch.func's functions beside torch's own."""

from __future__ import annotations

import numpy as np
import pyburn
import pytest
import torch


def numbers(tree: object) -> object:
    """A tree of tensors as nested lists."""
    if isinstance(tree, pyburn.Tensor | torch.Tensor):
        return np.asarray(tree.detach().tolist())
    if isinstance(tree, dict):
        return {key: numbers(value) for key, value in tree.items()}
    if isinstance(tree, tuple | list):
        return [numbers(value) for value in tree]
    return tree


def same(ours: object, theirs: object) -> None:
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        for key in theirs:
            same(ours[key], theirs[key])
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs)
        for pair in zip(ours, theirs):
            same(*pair)
    elif isinstance(theirs, np.ndarray):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    else:
        assert ours == theirs


CASES = {
    "grad": "t.func.grad(lambda x: (x**3).sum())(x)",
    "grad of grad": "t.func.grad(lambda y: t.func.grad(lambda x: (x**3 * y).sum())(x).sum())(x)",
    "grad by several": "t.func.grad(lambda a, b: (a * b**2).sum(), argnums=(0, 1))(x, x + 1)",
    "grad of a dict": "t.func.grad(lambda d: (d['a'] * d['b'][0]).sum())({'a': x, 'b': (x * 2,)})",
    "grad with aux": "t.func.grad(lambda x: ((x**2).sum(), x + 1), has_aux=True)(x)",
    "grad of unused": "t.func.grad(lambda a, b: a.sum(), argnums=1)(x, x)",
    "grad_and_value": "t.func.grad_and_value(lambda x: (x.sin() * 2).sum())(x)",
    "grad_and_value aux": "t.func.grad_and_value(lambda x: (x.sum(), x * 2), has_aux=True)(x)",
    "vjp": "[t.func.vjp(lambda a, b: a * b.cos(), x, x)[0], t.func.vjp(lambda a, b: a * b.cos(), x, x)[1](x + 1)]",
    "vjp of a dict": "t.func.vjp(lambda a: {'p': a * 2, 'q': a**2}, x)[1]({'p': x, 'q': x + 1})",
    "jvp": "t.func.jvp(lambda a: a.exp() * a, (x,), (x + 1,))",
    "jvp by several": "t.func.jvp(lambda a, b: (a * b, a + b), (x, x * 2), (x + 1, x))",
    "jvp of a linear one": "t.func.jvp(lambda a: a * 3, (x,), (x,))",
    "jacrev": "t.func.jacrev(lambda a: t.outer(a, a.sin()))(x)",
    "jacrev by several": "t.func.jacrev(lambda a, b: a * b, argnums=(0, 1))(x, x + 2)",
    "jacrev of a dict": "t.func.jacrev(lambda a: {'u': a * 2, 'v': (a**2).sum()})(x)",
    "jacfwd": "t.func.jacfwd(lambda a: a**2 + a.sum())(x)",
    "hessian": "t.func.hessian(lambda a: (a**3).sum() + a.prod())(x)",
    "grad of jvp": "t.func.grad(lambda y: t.func.jvp(lambda a: a**3, (y,), (x,))[1].sum())(x)",
    "vmap": "t.func.vmap(lambda a, b: a * b.sum())(m, m + 1)",
    "vmap in_dims": "t.func.vmap(lambda a, b: t.dot(a, b), in_dims=(1, None))(m, x[:2])",
    "vmap out_dims": "t.func.vmap(lambda a: a * 2, out_dims=1)(m)",
    "vmap of trees": "t.func.vmap(lambda d, s: {'r': d['a'] + s, 'q': d['b'][0]}, in_dims=({'a': 0, 'b': (1,)}, None))"
    "({'a': m, 'b': (m.t(),)}, 1.0)",
    "vmap of vmap": "t.vmap(t.vmap(lambda a: a**2))(m)",
    "per-sample gradients": "t.vmap(t.func.grad(lambda w, a: (w * a).sum() ** 2), in_dims=(None, 0))(x, m)",
    "vmap with keywords": "t.vmap(lambda a, k: a + k)(m, k=m)",
}


# torch's own forward derivatives use a part of torch that torch warns about.
@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:FutureWarning")
@pytest.mark.parametrize("name", CASES)
def test_values_are_torchs(name):
    results = []
    for library in (torch, pyburn):
        x = library.tensor([0.5, -1.0, 2.0])
        m = library.arange(6.0).reshape(2, 3)
        results.append(numbers(eval(CASES[name], {"t": library, "x": x, "m": m})))
    same(results[1], results[0])


def test_results_have_no_graph_unless_one_is_around():
    x = pyburn.ones(2)
    assert not pyburn.func.grad(lambda a: (a**2).sum())(x).requires_grad
    weight = pyburn.ones(2, requires_grad=True)
    result = pyburn.func.grad(lambda a: (a**2 * weight).sum())(x)
    result.sum().backward()
    assert weight.grad.tolist() == [2.0, 2.0] and x.grad is None
    outer = pyburn.ones(2, requires_grad=True)
    pyburn.func.grad(lambda a: (a**3).sum())(outer).sum().backward()
    assert outer.grad.tolist() == [6.0, 6.0]


def test_grad_works_where_gradients_are_off():
    with pyburn.no_grad():
        assert pyburn.func.grad(lambda a: (a**2).sum())(pyburn.ones(2)).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("lib", [torch, pyburn])
def test_vmap_goes_over_one_graph_many_times(lib):
    x = lib.ones(3, requires_grad=True)
    y = x**2
    rows = lib.vmap(lambda v: lib.autograd.grad(y, x, v)[0])(lib.eye(3))
    assert rows.tolist() == [[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]]
    with pytest.raises(RuntimeError, match="a second time"):
        lib.autograd.grad(y.sum(), x)


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("t.func.grad(lambda x: x * 2)(x)", RuntimeError),
        ("t.func.grad(lambda x: 3)(x)", RuntimeError),
        ("t.func.grad(lambda x: x.sum(), argnums=2)(x)", RuntimeError),
        ("t.func.jvp(lambda a: a, x, x)", RuntimeError),
        ("t.vmap(lambda a, b: a + b)(x, x[:2])", ValueError),
        ("t.vmap(lambda a: 3)(x)", ValueError),
        ("t.vmap(lambda a: a, in_dims=None)(x)", ValueError),
        ("t.vmap(lambda a: a, in_dims=4)(x)", ValueError),
    ],
)
@pytest.mark.parametrize("library", [torch, pyburn])
def test_errors_are_torchs(code, error, library):
    with pytest.raises(error):
        eval(code, {"t": library, "x": library.ones(3)})


def test_functional_call_leaves_the_module_alone():
    model = pyburn.nn.Sequential(pyburn.nn.Linear(2, 2), pyburn.nn.BatchNorm1d(2))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    new = {"0.weight": pyburn.eye(2) * 2, "0.bias": pyburn.zeros(2)}
    model.eval()
    output = pyburn.func.functional_call(model, new, (pyburn.ones(3, 2),))
    assert pyburn.allclose(output, pyburn.full((3, 2), 2.0), rtol=1e-4)
    assert all(pyburn.equal(value, before[name]) for name, value in model.state_dict().items())
    with pytest.raises(AttributeError, match="nope"):
        pyburn.func.functional_call(model, {"nope": pyburn.ones(1)}, (pyburn.ones(3, 2),))
    with pytest.raises(RuntimeError, match="missing"):
        pyburn.func.functional_call(model, new, (pyburn.ones(3, 2),), strict=True)


def test_functional_call_replaces_tied_weights_together():
    class Tied(pyburn.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = pyburn.nn.Parameter(pyburn.ones(1))
            self.b = self.a

        def forward(self, x):
            return x * self.a + self.b

    model = Tied()
    assert pyburn.func.functional_call(model, {"a": pyburn.tensor([3.0])}, pyburn.ones(1)).item() == 6.0
    value = pyburn.func.functional_call(model, {"a": pyburn.tensor([3.0])}, pyburn.ones(1), tie_weights=False)
    assert value.item() == 4.0


def test_gradients_by_a_models_parameters():
    model = pyburn.nn.Linear(2, 1)
    parameters = {name: value.detach() for name, value in model.named_parameters()}

    def loss(values, x):
        return pyburn.func.functional_call(model, values, (x,)).pow(2).sum()

    found = pyburn.func.grad(loss)(parameters, pyburn.ones(3, 2))
    model(pyburn.ones(3, 2)).pow(2).sum().backward()
    for name, value in model.named_parameters():
        assert pyburn.allclose(found[name], value.grad)


def test_ensembles():
    models = [pyburn.nn.Linear(2, 1) for _ in range(3)]
    parameters, buffers = pyburn.func.stack_module_state(models)
    assert parameters["weight"].shape == (3, 1, 2) and buffers == {}
    run = pyburn.vmap(lambda values, x: pyburn.func.functional_call(models[0], values, (x,)), in_dims=(0, None))
    outputs = run(parameters, pyburn.ones(4, 2))
    for output, model in zip(outputs.unbind(0), models):
        assert pyburn.allclose(output, model(pyburn.ones(4, 2)))


@pytest.mark.parametrize("rows", [2, 5])
def test_batch_norms_that_keep_nothing(rows):
    """The recipe of torch's documentation for `vmap` over batch norms."""

    def run(library):
        library.manual_seed(0)
        net = library.nn.Sequential(library.nn.Linear(3, 4), library.nn.BatchNorm1d(4), library.nn.ReLU())
        assert library.func.replace_all_batch_norm_modules_(net) is net
        assert net[1].running_var is None
        assert not net[1].track_running_stats
        parameters = dict(net.named_parameters())
        call = library.func.vmap(lambda part: library.func.functional_call(net, parameters, (part,)))
        return numbers(call(library.linspace(-1, 1, rows * 15).sin().mul(9).cos().reshape(rows, 5, 3)))

    same(run(pyburn), run(torch))


def test_functionalize_gives_the_same_values():
    def writes(x):
        y = x.clone()
        y.add_(1)[0] = 7
        return y * x

    values = [1.0, 2.0, 3.0]
    for remove in ("mutations", "mutations_and_views"):
        ours = pyburn.func.functionalize(writes, remove=remove)(pyburn.tensor(values))
        same(numbers(ours), numbers(torch.func.functionalize(writes, remove=remove)(torch.tensor(values))))
    for library in (pyburn, torch):
        given = library.tensor(values)
        library.func.functionalize(lambda x: x.mul_(2))(given)
        assert given.tolist() == [2.0, 4.0, 6.0]
        with pytest.raises(RuntimeError, match="invalid argument for remove=views"):
            library.func.functionalize(writes, remove="views")
