"""Affine layers with parameters that are not where they usually are."""

from __future__ import annotations

import numpy as np
import pyburn
import pytest
import torch


@pytest.mark.parametrize("lib", [pyburn, torch])
def test_a_subclass_may_make_a_property_of_its_weight(lib):
    class Doubled(lib.nn.Linear):
        @property
        def weight(self):
            if "weight" not in self._parameters:
                raise AttributeError("weight")
            return self._parameters["weight"].detach() * 2

    layer = Doubled(2, 3)
    stored = layer._parameters["weight"].detach().fill_(0.25).numpy()  # the initial values went to the property's copy
    out = layer(lib.ones(1, 2)).detach().numpy()
    assert np.allclose(out, 2 * stored.sum(1) + layer.bias.detach().numpy(), atol=1e-6)


@pytest.mark.parametrize("lib", [pyburn, torch])
@pytest.mark.parametrize("name", ["weight", "bias"])
def test_parameters_that_were_replaced_by_attributes_are_used(lib, name):
    layer = lib.nn.Linear(2, 3)
    value = lib.ones_like(getattr(layer, name).detach())
    delattr(layer, name)
    setattr(layer, name, value)
    expected = lib.nn.functional.linear(lib.ones(1, 2), layer.weight, layer.bias)
    assert layer(lib.ones(1, 2)).tolist() == expected.tolist()


@pytest.mark.parametrize("lib", [pyburn, torch])
def test_a_call_before_init_is_an_attribute_error(lib):
    class Hasty(lib.nn.Module):
        def __init__(self):
            pass

    with pytest.raises(AttributeError, match="'Hasty' object has no attribute"):
        Hasty()(1)
