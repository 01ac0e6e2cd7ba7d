"""Adaptive softmax, fractional pooling, wrappers of one process and other rarer layers against torch's."""

import numpy as np
import pyburn
import pytest
import torch

from nn.compare import _load, check_module, ours, same

LIBRARIES = pytest.mark.parametrize("lib", [pyburn, torch], ids=["pyburn", "torch"])


def x(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape))).requires_grad_()


def test_adaptive_softmax():
    torch.manual_seed(3), pyburn.manual_seed(3)
    settings = (8, 12, [3, 6], 2.0, True)
    mine, theirs = (lib.nn.AdaptiveLogSoftmaxWithLoss(*settings) for lib in (pyburn, torch))
    assert repr(mine) == repr(theirs)
    for (name, a), (_, b) in zip(mine.named_parameters(), theirs.named_parameters(), strict=True):
        np.testing.assert_allclose(a.tolist(), b.tolist(), rtol=1e-6, atol=1e-6, err_msg=name)
    _load(mine, theirs)
    values, target = x(7, 8), torch.tensor([0, 5, 11, 2, 7, 3, 6])
    own = ours(values)
    result, expected = mine(own, ours(target)), theirs(values, target)
    same((result.output, result.loss), (expected.output, expected.loss))
    result.loss.backward(), expected.loss.backward()
    same(own.grad, values.grad)
    for a, b in zip(mine.parameters(), theirs.parameters(), strict=True):
        same(a.grad, b.grad)
    same(mine.log_prob(own), theirs.log_prob(values))
    same(mine.predict(own), theirs.predict(values))
    same(mine(own[0], ours(target[1])), theirs(values[0], target[1]))
    for call in (lambda m, f: m(f(values), f(target + 9)), lambda m, f: m(f(values), f(target[:3]))):
        with pytest.raises(RuntimeError):
            call(theirs, lambda t: t)
        with pytest.raises(RuntimeError):
            call(mine, ours)
    for lib in (pyburn, torch):
        with pytest.raises(ValueError, match="cutoffs should be"):
            lib.nn.AdaptiveLogSoftmaxWithLoss(8, 12, [6, 3])


@pytest.mark.parametrize("reduction", ["mean", "none"])
@pytest.mark.parametrize("places", [(), (3,)])
def test_linear_cross_entropy(places, reduction):
    mine, theirs = (
        lib.nn.LinearCrossEntropyLoss(4, 5, out_features=places, bias=True, reduction=reduction, label_smoothing=0.1)
        for lib in (pyburn, torch)
    )
    assert repr(mine) == repr(theirs)
    _load(mine, theirs)
    target = torch.randint(0, 5, (6, *places), generator=torch.Generator().manual_seed(0))
    values = x(6, 4)
    own = ours(values)
    result, expected = mine(own, ours(target)), theirs(values, target)
    same(result, expected)
    result.sum().backward(), expected.sum().backward()
    same(own.grad, values.grad)


@pytest.mark.parametrize(
    "settings", [{"output_size": 3}, {"output_ratio": (0.5, 0.7)}, {"output_size": (1, 4)}], ids=str
)
def test_fractional_pool_2d(settings):
    samples = torch.rand(2, 3, 2, generator=torch.Generator().manual_seed(0))
    check_module("FractionalMaxPool2d", 2, _random_samples=samples, inputs=(x(2, 3, 9, 8),), **settings)
    layer = pyburn.nn.FractionalMaxPool2d(2, return_indices=True, _random_samples=ours(samples), **settings)
    like = torch.nn.FractionalMaxPool2d(2, return_indices=True, _random_samples=samples, **settings)
    same(layer(ours(x(2, 3, 9, 8))), like(x(2, 3, 9, 8)))
    pyburn.manual_seed(1), torch.manual_seed(1)
    drawn = [lib.nn.functional.fractional_max_pool2d for lib in (pyburn, torch)]
    same(drawn[0](ours(x(2, 3, 9, 8)), (2, 3), 3), drawn[1](x(2, 3, 9, 8), (2, 3), 3))
    same(drawn[0](ours(x(3, 9, 8)), 2, 3), drawn[1](x(3, 9, 8), 2, 3))


def test_fractional_pool_3d():
    samples = torch.rand(2, 3, 3, generator=torch.Generator().manual_seed(0))
    check_module("FractionalMaxPool3d", 2, 3, _random_samples=samples, inputs=(x(2, 3, 6, 7, 8),))
    for lib in (pyburn, torch):
        with pytest.raises(RuntimeError):
            lib.nn.functional.fractional_max_pool3d(lib.zeros(1, 1, 3, 3, 3), 2, 3)
        with pytest.raises(ValueError, match="requires specifying either"):
            lib.nn.FractionalMaxPool3d(2)


def test_rarer_functions():
    F, G = pyburn.nn.functional, torch.nn.functional
    a, w, b = x(6, 2, 3), x(3, 3, 4), x(4)
    same(F.conv_tbc(ours(a), ours(w), ours(b), 1), G.conv_tbc(a, w, b, 1))
    for p in (0.0, 1.0, 2.0, 3.0, float("inf")):
        same(F.pdist(ours(x(5, 3)), p), G.pdist(x(5, 3), p))
    image = x(1, 4, 3, 5)
    same(F.native_channel_shuffle(ours(image), 2), G.native_channel_shuffle(image, 2))
    same(F.upsample_nearest(ours(image), scale_factor=2), G.interpolate(image, scale_factor=2))
    same(F.upsample_bilinear(ours(image), (4, 7)), G.interpolate(image, (4, 7), mode="bilinear", align_corners=True))
    for n, shape in ((1, (1, 2, 6)), (2, (1, 2, 6, 6)), (3, (1, 2, 6, 6, 6))):
        for name in (f"max_pool{n}d_with_indices", f"adaptive_max_pool{n}d_with_indices"):
            same(getattr(F, name)(ours(x(*shape)), 2), getattr(G, name)(x(*shape), 2))


@pytest.mark.parametrize("channels", [1, 2, 3, 7])
@pytest.mark.parametrize("size", [1, 3, 4, 5])
def test_cross_map_norm(size, channels):
    layer, like = pyburn.nn.CrossMapLRN2d(size, 0.1), torch.nn.CrossMapLRN2d(size, 0.1)
    assert repr(layer) == repr(like)
    same(layer(ours(x(2, channels, 2, 2))), like(x(2, channels, 2, 2)))


def test_sync_batch_norm_is_batch_norm():
    model = pyburn.nn.Sequential(pyburn.nn.BatchNorm2d(3), pyburn.nn.ReLU(), pyburn.nn.BatchNorm1d(2, affine=False))
    weight = model[0].weight
    converted = pyburn.nn.SyncBatchNorm.convert_sync_batchnorm(model)
    theirs = torch.nn.Sequential(torch.nn.BatchNorm2d(3), torch.nn.ReLU(), torch.nn.BatchNorm1d(2, affine=False))
    assert repr(converted) == repr(torch.nn.SyncBatchNorm.convert_sync_batchnorm(theirs))
    assert converted[0].weight is weight
    values = x(2, 3, 4, 4)
    same(converted[0](ours(values)), torch.nn.BatchNorm2d(3)(values))


@LIBRARIES
def test_an_empty_batch_leaves_the_statistics(lib):
    layer = lib.nn.BatchNorm2d(2)
    layer(lib.zeros(0, 2, 3, 3))
    assert layer.running_mean.tolist() == [0, 0]
    assert layer.running_var.tolist() == [1, 1]


@pytest.mark.parametrize("wrap", [pyburn.nn.DataParallel, pyburn.nn.parallel.DistributedDataParallel])
def test_wrappers_of_one_process(wrap):
    layer = pyburn.nn.Linear(2, 3)
    wrapped = wrap(layer, device_ids=[0])
    assert wrapped.module is layer
    assert list(wrapped.state_dict()) == ["module.weight", "module.bias"]
    assert wrapped(pyburn.ones(1, 2)).tolist() == layer(pyburn.ones(1, 2)).tolist()
    state = wrapped.state_dict()
    pyburn.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    pyburn.nn.Linear(2, 3).load_state_dict(state)


def test_distributed_settings():
    layer = pyburn.nn.Linear(2, 3)
    wrapped = pyburn.nn.parallel.DistributedDataParallel(layer, find_unused_parameters=True, static_graph=True)
    with wrapped.no_sync():
        assert not wrapped.require_backward_grad_sync
    with pytest.raises(TypeError, match="unexpected keyword argument 'speed'"):
        pyburn.nn.parallel.DistributedDataParallel(layer, speed=2)
    with pytest.raises(RuntimeError, match="requires a gradient"):
        pyburn.nn.parallel.DistributedDataParallel(pyburn.nn.ReLU())


def test_torch_file_names():
    from pyburn.nn.modules.activation import MultiheadAttention
    from pyburn.nn.modules.batchnorm import _BatchNorm
    from pyburn.nn.modules.conv import _ConvNd
    from pyburn.nn.modules.instancenorm import _InstanceNorm
    from pyburn.nn.modules.loss import _Loss, _WeightedLoss
    from pyburn.nn.modules.utils import _pair, _triple

    nn = pyburn.nn
    assert isinstance(nn.BatchNorm2d(1), _BatchNorm)
    assert isinstance(nn.Conv2d(1, 1, 1), _ConvNd)
    assert isinstance(nn.InstanceNorm1d(1), _InstanceNorm)
    assert issubclass(nn.NLLLoss, _WeightedLoss)
    assert issubclass(nn.MSELoss, _Loss)
    assert MultiheadAttention is nn.MultiheadAttention
    assert nn.modules.Linear is nn.Linear
    assert (_pair(3), _triple((1, 2, 3))) == ((3, 3), (1, 2, 3))
    with pytest.raises(AttributeError):
        nn.modules.Nothing  # noqa: B018


@LIBRARIES
def test_attention_kernels_are_accepted(lib):
    from importlib import import_module

    attention = import_module(f"{lib.__name__}.nn.attention")
    q = lib.ones(1, 2, 3)
    with attention.sdpa_kernel([attention.SDPBackend.MATH, attention.SDPBackend.FLASH_ATTENTION]):
        assert tuple(lib.nn.functional.scaled_dot_product_attention(q, q, q).shape) == (1, 2, 3)
    with pytest.raises(AssertionError), attention.sdpa_kernel("math"):
        pass


def test_ctc_gradient_is_that_of_torch():
    values = torch.randn(9, 2, 5, generator=torch.Generator().manual_seed(0)).requires_grad_()
    target = torch.tensor([[1, 2, 2], [3, 1, 4]])
    own = ours(values)
    for given, lib, labels in ((own, pyburn, ours(target)), (values, torch, target)):
        lib.nn.functional.ctc_loss(given, labels, [9, 6], [3, 2], reduction="sum").backward()
    same(own.grad, values.grad)


@LIBRARIES
def test_losses_refuse(lib):
    F = lib.nn.functional
    with pytest.raises(RuntimeError, match="ignore_index is not supported for floating point target"):
        F.cross_entropy(lib.zeros(2, 3), lib.zeros(2, 3), ignore_index=1)
    with pytest.raises(RuntimeError, match="expected scalar type"):
        F.nll_loss(lib.zeros(2, 3), lib.zeros(2).long(), lib.ones(3).double())
