"""Lazy layers against torch's: sizes from the first input, the same weights from one seed, loading, copies."""

import copy
import pickle

import numpy as np
import pyburn
import pytest
import torch

from nn.compare import ours, same

LIBRARIES = pytest.mark.parametrize("lib", [pyburn, torch], ids=["pyburn", "torch"])
CASES = [
    ("LazyLinear", (3,), (2, 5)),
    ("LazyConv1d", (4, 3), (2, 5, 7)),
    ("LazyConv2d", (4, 3, 2), (2, 5, 7, 7)),
    ("LazyConv3d", (4, 2), (1, 3, 4, 4, 4)),
    ("LazyConvTranspose1d", (4, 3), (2, 5, 7)),
    ("LazyConvTranspose2d", (4, 3, 2), (2, 5, 4, 4)),
    ("LazyConvTranspose3d", (4, 2), (1, 3, 3, 3, 3)),
    ("LazyBatchNorm1d", (), (4, 5)),
    ("LazyBatchNorm2d", (), (2, 5, 3, 3)),
    ("LazyBatchNorm3d", (), (2, 5, 2, 2, 2)),
    ("LazyInstanceNorm1d", (), (2, 5, 4)),
    ("LazyInstanceNorm2d", (), (2, 5, 3, 3)),
    ("LazyInstanceNorm3d", (), (2, 5, 2, 2, 2)),
]


@pytest.mark.filterwarnings("ignore:Lazy modules are a new feature")
@pytest.mark.parametrize(("name", "args", "shape"), CASES, ids=[case[0] for case in CASES])
def test_first_input_decides(name, args, shape):
    mine, theirs = getattr(pyburn.nn, name)(*args), getattr(torch.nn, name)(*args)
    assert repr(mine) == repr(theirs)
    assert mine.has_uninitialized_params()
    assert list(mine.state_dict()) == list(theirs.state_dict())
    values = torch.randn(*shape, generator=torch.Generator().manual_seed(1))
    for twin in (mine, copy.deepcopy(mine), pickle.loads(pickle.dumps(mine))):
        torch.manual_seed(4), pyburn.manual_seed(4)
        like = getattr(torch.nn, name)(*args)
        same(twin(ours(values)), like(values))
        assert type(twin).__name__ == type(like).__name__ == name.removeprefix("Lazy")
        assert repr(twin) == repr(like)
        for key, value in like.state_dict().items():
            np.testing.assert_allclose(twin.state_dict()[key].tolist(), value.tolist(), rtol=1e-6, atol=1e-6)
        assert len(twin._forward_pre_hooks) == 0
        twin(ours(values)).sum().backward()


@LIBRARIES
@pytest.mark.filterwarnings("ignore:Lazy modules are a new feature")
def test_loading_gives_shapes(lib):
    lazy, full = lib.nn.LazyLinear(3), lib.nn.Linear(2, 3)
    lazy.load_state_dict(full.state_dict())
    assert not lazy.has_uninitialized_params()
    assert lazy.weight.tolist() == full.weight.tolist()
    assert lazy(lib.ones(1, 2)).tolist() == full(lib.ones(1, 2)).tolist()
    assert type(lazy) is lib.nn.Linear
    assert lazy.in_features == 2
    model = lib.nn.Sequential(lib.nn.LazyLinear(4), lib.nn.ReLU(), lib.nn.LazyLinear(2))
    assert tuple(model(lib.zeros(3, 7)).shape) == (3, 2)
    with pytest.raises(RuntimeError):
        full.load_state_dict(lib.nn.LazyLinear(3).state_dict())


@LIBRARIES
def test_parameters_without_a_shape(lib):
    weight = lib.nn.UninitializedParameter()
    assert repr(weight) == "<UninitializedParameter>"
    assert isinstance(weight, lib.nn.Parameter)
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        weight.shape  # noqa: B018
    weight.materialize((2, 3))
    assert type(weight) is lib.nn.Parameter
    assert tuple(weight.shape) == (2, 3)
    assert weight.requires_grad


@LIBRARIES
@pytest.mark.filterwarnings("ignore:Lazy modules are a new feature")
def test_moving_before_the_first_input(lib):
    layer = lib.nn.LazyLinear(3).double()
    assert layer(lib.zeros(1, 2, dtype=lib.float64)).dtype == lib.float64
