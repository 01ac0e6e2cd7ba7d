"""nn.utils.parametrize, weight and spectral norms in both forms, against torch's."""

import copy
import pickle

import numpy as np
import pyburn
import pytest
import torch
import torch.nn.utils.parametrizations
import torch.nn.utils.parametrize

from nn.compare import ours, same

LIBRARIES = pytest.mark.parametrize("lib", [pyburn, torch], ids=["pyburn", "torch"])
OLD = pytest.mark.filterwarnings("ignore:.*torch.nn.utils.weight_norm.*:FutureWarning")


def symmetric(lib):
    class Symmetric(lib.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).transpose(-1, -2)

        def right_inverse(self, x):
            return x.triu()

    return Symmetric()


@LIBRARIES
def test_life_of_a_parametrization(lib):
    parametrize = lib.nn.utils.parametrize
    layer = lib.nn.Linear(3, 3)
    weight = layer.weight
    start = weight.detach().clone()
    assert parametrize.register_parametrization(layer, "weight", symmetric(lib)) is layer
    assert parametrize.is_parametrized(layer)
    assert parametrize.is_parametrized(layer, "weight")
    assert not parametrize.is_parametrized(layer, "bias")
    assert type(layer).__name__ == "ParametrizedLinear"
    assert parametrize.type_before_parametrizations(layer) is lib.nn.Linear
    assert layer.parametrizations.weight.original is weight
    assert list(layer.state_dict()) == ["bias", "parametrizations.weight.original"]
    assert layer.weight.tolist() == layer.weight.T.tolist()
    assert layer.weight.triu().tolist() == start.triu().tolist()
    layer(lib.ones(2, 3)).sum().backward()
    assert weight.grad is not None
    layer.weight = lib.full((3, 3), 2.0)
    assert weight.tolist() == [[2, 2, 2], [0, 2, 2], [0, 0, 2]]
    with parametrize.cached():
        assert layer.weight is layer.weight
    assert layer.weight is not layer.weight
    twin = copy.deepcopy(layer)
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is lib.nn.Linear
    assert layer.weight is weight
    assert layer.weight.tolist() == [[2.0] * 3] * 3
    assert list(layer.state_dict()) == ["bias", "weight"]
    if lib is torch:
        return  # its copies share one class, which the removal above has changed for both
    assert parametrize.is_parametrized(twin)
    parametrize.remove_parametrizations(twin, "weight", leave_parametrized=False)
    assert twin.weight.tolist() == [[2, 2, 2], [0, 2, 2], [0, 0, 2]]


def test_repr_and_pickling():
    shown = []
    for lib in (pyburn, torch):
        layer = lib.nn.utils.parametrize.register_parametrization(lib.nn.Linear(3, 3), "weight", symmetric(lib))
        lib.nn.utils.parametrize.register_parametrization(layer, "weight", lib.nn.Identity())
        shown.append(repr(layer))
        with pytest.raises(RuntimeError, match="only supported through state_dict"):
            pickle.dumps(layer)
    assert shown[0] == shown[1]


@LIBRARIES
def test_mistakes(lib):
    register = lib.nn.utils.parametrize.register_parametrization

    class Cut(lib.nn.Module):
        def forward(self, x):
            return x[:1]

    with pytest.raises(ValueError, match="may not change the shape"):
        register(lib.nn.Linear(3, 3), "weight", Cut())
    assert tuple(register(lib.nn.Linear(3, 3), "weight", Cut(), unsafe=True).weight.shape) == (1, 3)
    with pytest.raises(ValueError, match="does not have a parameter"):
        register(lib.nn.Linear(3, 3), "weights", Cut())
    with pytest.raises(ValueError, match="does not have a parametrization"):
        lib.nn.utils.parametrize.remove_parametrizations(lib.nn.Linear(3, 3), "weight")
    layer = register(lib.nn.Linear(3, 3), "weight", Cut(), unsafe=True)
    with pytest.raises(RuntimeError, match="does not implement right_inverse"):
        layer.weight = lib.zeros(3, 3)


def trained(lib, layer, values):
    """Outputs of three steps, the state and the gradients after them."""
    outputs = []
    for _ in range(3):
        output = layer(values)
        output.square().sum().backward()
        outputs.append(output.detach())
    state = dict(layer.state_dict())
    return outputs, state, {key: value.grad for key, value in layer.named_parameters()}


def compare(make, *shape):
    values = torch.randn(*shape, generator=torch.Generator().manual_seed(2))
    results = []
    for lib in (pyburn, torch):
        lib.manual_seed(3)
        layer = make(lib)
        given = ours(values) if lib is pyburn else values
        outputs, state, grads = trained(lib, layer, given)
        layer.eval()
        outputs.append(layer(given).detach())
        results.append((outputs, state, grads, repr(layer)))
    mine, theirs = results
    assert mine[3] == theirs[3]
    for a, b in zip(mine[0], theirs[0], strict=True):
        same(a, b, rtol=1e-3, atol=1e-4)
    for i in (1, 2):
        assert list(mine[i]) == list(theirs[i])
        for key, value in theirs[i].items():
            np.testing.assert_allclose(mine[i][key].tolist(), value.tolist(), rtol=1e-3, atol=1e-4, err_msg=key)


@pytest.mark.parametrize("dim", [0, 1, None])
def test_weight_norm(dim):
    compare(lambda lib: lib.nn.utils.parametrizations.weight_norm(lib.nn.Linear(3, 4), dim=dim), 2, 3)
    compare(lambda lib: lib.nn.utils.parametrizations.weight_norm(lib.nn.Conv2d(2, 3, 2), dim=dim), 2, 2, 4, 4)


@pytest.mark.parametrize("make", ["Linear", "ConvTranspose1d"])
def test_spectral_norm(make):
    def layer(lib):
        return lib.nn.Linear(3, 4) if make == "Linear" else lib.nn.ConvTranspose1d(3, 4, 2)

    shape = (2, 3) if make == "Linear" else (2, 3, 5)
    compare(lambda lib: lib.nn.utils.parametrizations.spectral_norm(layer(lib)), *shape)
    if make == "Linear":
        compare(lambda lib: lib.nn.utils.parametrizations.spectral_norm(layer(lib), "bias"), *shape)


@pytest.mark.parametrize("trivial", [True, False])
@pytest.mark.parametrize("kind", ["matrix_exp", "cayley", "householder", None])
@pytest.mark.parametrize("shape", [(3, 3), (3, 5), (5, 3)], ids=str)
def test_orthogonal_weights(shape, kind, trivial):
    def make(lib):
        layer = lib.nn.Linear(*shape)
        return lib.nn.utils.parametrizations.orthogonal(layer, orthogonal_map=kind, use_trivialization=trivial)

    compare(make, 2, shape[0])
    weight = make(pyburn).weight.detach()
    product = weight.T @ weight if shape[1] >= shape[0] else weight @ weight.T
    assert pyburn.allclose(product, pyburn.eye(min(shape)), atol=1e-5)


@LIBRARIES
def test_orthogonal_weights_are_set(lib):
    layer = lib.nn.utils.parametrizations.orthogonal(lib.nn.Linear(3, 3))
    layer.weight = lib.eye(3)[[1, 0, 2]]
    np.testing.assert_allclose(layer.weight.tolist(), [[0, 1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-6)
    with pytest.raises(ValueError, match="orthogonal_map has to be"):
        lib.nn.utils.parametrizations.orthogonal(lib.nn.Linear(3, 3), orthogonal_map="other")
    with pytest.raises(ValueError, match="Expected a matrix"):
        lib.nn.utils.parametrizations.orthogonal(lib.nn.Linear(3, 3), "bias")


@OLD
@pytest.mark.parametrize("dim", [0, 1, None])
def test_weight_norm_by_hooks(dim):
    compare(lambda lib: lib.nn.utils.weight_norm(lib.nn.Linear(3, 4), dim=dim), 2, 3)


@pytest.mark.parametrize("steps", [1, 3])
def test_spectral_norm_by_hooks(steps):
    compare(lambda lib: lib.nn.utils.spectral_norm(lib.nn.Linear(3, 4), n_power_iterations=steps), 2, 3)
    compare(lambda lib: lib.nn.utils.spectral_norm(lib.nn.Conv2d(2, 3, 2), n_power_iterations=steps), 2, 2, 4, 4)


@OLD
@LIBRARIES
@pytest.mark.parametrize("kind", ["weight", "spectral"])
def test_hooks_come_off(lib, kind):
    add, take = getattr(lib.nn.utils, f"{kind}_norm"), getattr(lib.nn.utils, f"remove_{kind}_norm")
    layer = add(lib.nn.Linear(3, 4)).eval()
    before = layer(lib.ones(1, 3))
    with pytest.raises(RuntimeError, match="Cannot register two"):
        add(layer)
    take(layer)
    assert list(layer.state_dict()) == ["bias", "weight"]
    np.testing.assert_allclose(layer(lib.ones(1, 3)).tolist(), before.tolist(), rtol=1e-5)
    with pytest.raises(ValueError, match="not found in"):
        take(layer)
