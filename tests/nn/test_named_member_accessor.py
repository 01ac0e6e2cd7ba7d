"""Tensors of a module by their dotted names."""

import pyburn
import pytest
import torch
from pyburn.nn.utils._named_member_accessor import NamedMemberAccessor, swap_tensor
from torch.nn.utils import _named_member_accessor as theirs


@pytest.mark.parametrize(("lib", "kind"), [(pyburn, NamedMemberAccessor), (torch, theirs.NamedMemberAccessor)])
def test_tensors_are_swapped_by_name(lib, kind):
    model = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.BatchNorm1d(2))
    names = kind(model)
    weight = model[0].weight
    assert names.swap_tensor("0.weight", lib.zeros(2, 2)) is weight
    assert model[0].weight.sum() == 0 and "0.weight" in dict(model.named_parameters())
    names.set_tensors_dict({"0.weight": weight, "1.running_mean": lib.ones(2)})
    assert model[0].weight is weight and model[1].running_mean.sum() == 2
    missing, unexpected = names.check_keys(["0.weight", "none"])
    assert unexpected == ["none"] and "0.bias" in missing
    names.del_tensor("0.bias")
    assert not hasattr(model[0], "bias") or model[0].bias is None
    with pytest.raises(AttributeError):
        names.swap_tensor("0.other", lib.ones(1))


@pytest.mark.parametrize(("lib", "swap"), [(pyburn, swap_tensor), (torch, theirs.swap_tensor)])
def test_only_tensors_of_plain_names_are_swapped(lib, swap):
    layer = lib.nn.Linear(1, 1)
    with pytest.raises(KeyError):
        swap(layer, "a.b", lib.ones(1))
    with pytest.raises(TypeError):
        swap(layer, "weight", 3)
    with pytest.raises(TypeError):
        swap(layer, "in_features", lib.ones(1))
