"""After the same seed every layer of torch's bank has torch's first weights, and prints as it does."""

import warnings

import numpy as np
import pyburn
import pytest
import torch
from opinfo.modules import Translator, build, entries

LAYERS = [name for name, info in entries().items() if not info.is_lazy]


def constructions(info):
    """A few different sets of arguments of a layer."""
    seen = {}
    for sample in info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=False, training=True):
        made = sample.constructor_input
        seen.setdefault(f"{made.args} {made.kwargs}", sample)
        if len(seen) == 5:
            break
    return seen.values()


@pytest.mark.parametrize("name", LAYERS)
def test_first_weights(name):
    info = entries()[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample in constructions(info):
            made = sample.constructor_input
            torch.manual_seed(3), pyburn.manual_seed(3)
            theirs, mine = info.module_cls(*made.args, **made.kwargs), build(info, sample, Translator())
            assert repr(mine) == repr(theirs)
            pairs = zip(mine.named_parameters(), theirs.named_parameters(), strict=True)
            for (key, value), (other, expected) in pairs:
                assert key == other
                np.testing.assert_allclose(value.tolist(), expected.tolist(), rtol=1e-6, atol=1e-6, err_msg=key)
