"""Each way to fill a tensor: torch's numbers for torch's seed, and its errors."""

import pyburn
import pytest
import torch

from nn.compare import same

CASES = [
    ("uniform_", (3, 4), (-1.0, 2.0)),
    ("normal_", (5, 4), (1.0, 0.5)),
    ("trunc_normal_", (6, 4), (0.1, 1.0, -0.5, 0.7)),
    ("trunc_normal_", (6, 4), (0.0, 1.0, 1.0, 2.0)),
    ("constant_", (2, 3), (4.0,)),
    ("ones_", (2, 3), ()),
    ("zeros_", (2, 3), ()),
    ("eye_", (2, 3), ()),
    ("dirac_", (4, 2, 3), ()),
    ("dirac_", (4, 2, 3, 3), (2,)),
    ("xavier_uniform_", (3, 4), (1.5,)),
    ("xavier_normal_", (3, 4, 2, 2), ()),
    ("kaiming_uniform_", (3, 4), (0.5, "fan_out")),
    ("kaiming_normal_", (5, 4), (0.0, "fan_in", "relu")),
    ("orthogonal_", (3, 5), (2.0,)),
    ("orthogonal_", (5, 3), ()),
    ("orthogonal_", (4, 2, 2), ()),
    ("sparse_", (6, 3), (0.4, 1.0)),
]


@pytest.mark.parametrize(("name", "shape", "args"), CASES, ids=str)
def test_values_are_torchs_for_the_same_seed(name, shape, args):
    pyburn.manual_seed(5)
    mine = pyburn.nn.Parameter(pyburn.empty(shape))
    result = getattr(pyburn.nn.init, name)(mine, *args)
    assert result is mine
    assert mine.requires_grad
    assert mine.is_leaf
    torch.manual_seed(5)
    same(mine, getattr(torch.nn.init, name)(torch.empty(shape), *args))


def test_gains_are_torchs():
    for name in ("linear", "conv2d", "conv_transpose3d", "sigmoid", "tanh", "relu", "leaky_relu", "selu"):
        assert pyburn.nn.init.calculate_gain(name) == torch.nn.init.calculate_gain(name)
    assert pyburn.nn.init.calculate_gain("leaky_relu", 0.2) == torch.nn.init.calculate_gain("leaky_relu", 0.2)
    with pytest.raises(ValueError, match="Unsupported nonlinearity"):
        pyburn.nn.init.calculate_gain("sine")


def test_mistakes_are_named():
    init, vector = pyburn.nn.init, pyburn.empty(3)
    for call, text in (
        (lambda: init.eye_(vector), "Only tensors with 2 dimensions"),
        (lambda: init.dirac_(vector), "Only tensors with 3, 4, or 5 dimensions"),
        (lambda: init.xavier_uniform_(vector), "fewer than 2 dimensions"),
        (lambda: init.orthogonal_(vector), "Only tensors with 2 or more dimensions"),
        (lambda: init.kaiming_uniform_(pyburn.empty(2, 2), mode="fan"), "Mode fan not supported"),
    ):
        with pytest.raises(ValueError, match=text):
            call()


def test_older_names_warn():
    with pytest.warns(FutureWarning, match="deprecated in favor of `nn.init.constant_`"):
        assert pyburn.nn.init.constant(pyburn.empty(1), 2.0).item() == 2.0


def test_values_that_are_not_there_are_not_drawn():
    weight = pyburn.empty(4, 3, device="meta")
    assert pyburn.nn.init.trunc_normal_(weight) is weight
