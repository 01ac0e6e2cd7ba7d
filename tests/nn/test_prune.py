"""Pruning, fusion, functional_call and skip_init against torch's."""

import pyburn
import pytest
import torch
import torch.nn.utils.prune

from nn.compare import _load, ours, same

LIBRARIES = pytest.mark.parametrize("lib", [pyburn, torch], ids=["pyburn", "torch"])


def both(make, *shape):
    torch.manual_seed(1), pyburn.manual_seed(1)
    mine, theirs = make(pyburn), make(torch)
    assert list(mine.state_dict()) == list(theirs.state_dict())
    for key, value in theirs.state_dict().items():
        same(mine.state_dict()[key], value)
    values = torch.randn(*shape, generator=torch.Generator().manual_seed(0))
    same(mine(ours(values)), theirs(values))


def pruned(lib, *names_and_settings):
    layer = lib.nn.Conv1d(4, 6, 2)
    for name, *settings in names_and_settings:
        getattr(lib.nn.utils.prune, name)(layer, "weight", *settings)
    return layer


@pytest.mark.parametrize(
    "steps",
    [
        [("l1_unstructured", 0.3)],
        [("l1_unstructured", 7)],
        [("random_unstructured", 0.4)],
        [("ln_structured", 2, 2, 0)],
        [("ln_structured", 0.5, float("inf"), 1)],
        [("random_structured", 3, 0)],
        [("identity",)],
        [("l1_unstructured", 0.3), ("l1_unstructured", 0.5)],
        [("ln_structured", 2, 2, 0), ("ln_structured", 1, 2, 0)],
        [("ln_structured", 2, 2, 0), ("l1_unstructured", 5)],
    ],
    ids=str,
)
def test_methods(steps):
    both(lambda lib: pruned(lib, *steps), 2, 4, 5)

    def removed(lib):
        layer = pruned(lib, *steps)
        assert lib.nn.utils.prune.is_pruned(layer)
        lib.nn.utils.prune.remove(layer, "weight")
        assert not lib.nn.utils.prune.is_pruned(layer)
        return layer

    both(removed, 2, 4, 5)


def test_masks_and_global_pruning():
    both(lambda lib: pruned(lib, ("custom_from_mask", (lib.arange(48).reshape(6, 4, 2) % 3 > 0).float())), 2, 4, 5)

    def everywhere(lib):
        model = lib.nn.Sequential(lib.nn.Linear(4, 5), lib.nn.Linear(5, 2))
        prune = lib.nn.utils.prune
        prune.global_unstructured([(model[0], "weight"), (model[1], "weight")], prune.L1Unstructured, amount=0.4)
        return model

    both(everywhere, 3, 4)


@LIBRARIES
def test_mistakes(lib):
    prune = lib.nn.utils.prune
    for amount, error in ((-1, ValueError), (1.5, ValueError), (100, ValueError), ("all", TypeError)):
        with pytest.raises(error):
            prune.l1_unstructured(lib.nn.Linear(2, 2), "weight", amount)
    with pytest.raises(ValueError, match="multidimensional"):
        prune.ln_structured(lib.nn.Linear(2, 2), "bias", 1, 2, 0)
    with pytest.raises(ValueError, match="has to be pruned before"):
        prune.remove(lib.nn.Linear(2, 2), "weight")


def evaluated(lib, *layers):
    model = lib.nn.Sequential(*layers)
    for _ in range(3):
        model(lib.randn(6, 3, 5, 5) if isinstance(layers[1], lib.nn.BatchNorm2d) else lib.randn(6, 3))
    return model.eval()


@pytest.mark.parametrize("bias", [True, False])
def test_fusion(bias):
    nn = pyburn.nn
    for model, values, fuse in (
        (evaluated(pyburn, nn.Conv2d(3, 4, 2, bias=bias), nn.BatchNorm2d(4)), pyburn.randn(2, 3, 5, 5), "conv"),
        (evaluated(pyburn, nn.Linear(3, 4, bias=bias), nn.BatchNorm1d(4)), pyburn.randn(2, 3), "linear"),
    ):
        fused = getattr(nn.utils, f"fuse_{fuse}_bn_eval")(*model)
        assert isinstance(fused.bias, nn.Parameter)
        assert pyburn.allclose(fused(values), model(values), atol=1e-5)
    transposed = evaluated(pyburn, nn.ConvTranspose2d(3, 4, 2, bias=bias), nn.BatchNorm2d(4))
    values = pyburn.randn(2, 3, 5, 5)
    fused = nn.utils.fuse_conv_bn_eval(*transposed, transpose=True)
    assert pyburn.allclose(fused(values), transposed(values), atol=1e-5)
    with pytest.raises(AssertionError, match="only for eval"):
        nn.utils.fuse_conv_bn_eval(nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1))


@LIBRARIES
def test_functional_call(lib):
    call = lib.nn.utils.stateless.functional_call if lib is pyburn else torch.func.functional_call
    model = lib.nn.Sequential(lib.nn.Linear(2, 2, bias=False), lib.nn.Linear(2, 2, bias=False))
    before = model[0].weight
    weight = lib.ones(2, 2, requires_grad=True)
    result = call(model, {"0.weight": weight}, (lib.ones(1, 2),))
    assert result.tolist() == model[1](lib.full((1, 2), 2.0)).tolist()
    result.sum().backward()
    assert weight.grad is not None
    assert model[0].weight is before
    assert before.grad is None
    model[1].weight = model[0].weight
    assert call(model, {"0.weight": lib.eye(2)}, lib.ones(1, 2)).tolist() == [[1, 1]]
    with pytest.raises(ValueError, match="tied"):
        call(model, {"0.weight": lib.eye(2), "1.weight": lib.ones(2, 2)}, lib.ones(1, 2))
    assert call(
        model, {"0.weight": lib.eye(2), "1.weight": lib.ones(2, 2)}, lib.ones(1, 2), tie_weights=False
    ).tolist() == [[2, 2]]
    with pytest.raises(AttributeError):
        call(model, {"2.weight": lib.eye(2)}, lib.ones(1, 2))
    call(model, {"0.other": lib.eye(2)}, lib.ones(1, 2))
    assert not hasattr(model[0], "other")
    with pytest.raises(RuntimeError):
        call(model, {}, lib.ones(1, 2), strict=True)


@LIBRARIES
def test_skipped_first_values(lib):
    lib.manual_seed(0)
    first = lib.rand(2).tolist()
    lib.manual_seed(0)
    layer = lib.nn.utils.skip_init(lib.nn.Linear, 3, 4)
    assert tuple(layer.weight.shape) == (4, 3)
    assert lib.rand(2).tolist() == first
    with pytest.raises(RuntimeError, match="must support a 'device' arg"):
        lib.nn.utils.skip_init(lib.nn.ReLU)


def test_same_weights_can_be_loaded():
    mine, theirs = pruned(pyburn, ("l1_unstructured", 3)), pruned(torch, ("l1_unstructured", 3))
    _load(mine, theirs)
