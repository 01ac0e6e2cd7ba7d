"""Numbers before the tensors that they scale, as early torch took them: deprecated there, and in much old code."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pyburn
import pytest
import torch

from tests.oracle import check_error

CASES = {
    "add": lambda lib, x, m: x.add(2, x),
    "add_": lambda lib, x, m: x.clone().add_(-0.1, x),
    "torch.add": lambda lib, x, m: (lib.add(x, 3, x), x.add(2, 3)),
    "sub": lambda lib, x, m: (x.sub(2, x), lib.sub(x, 2, x), x.clone().sub_(0.5, x)),
    "addcmul": lambda lib, x, m: (x.addcmul(0.5, x, x), lib.addcmul(x, 2, x, x), x.clone().addcmul_(0.1, x, x)),
    "addcdiv": lambda lib, x, m: (lib.addcdiv(x, 2, x, x + 3), x.clone().addcdiv_(-0.1, x, x + 3)),
    "addmm": lambda lib, x, m: (lib.addmm(0.5, m, 2, m, m), lib.addmm(0.5, m, m, m), m.addmm(0.5, 2, m, m)),
    "addmm_": lambda lib, x, m: (m.clone().addmm_(0.5, 2, m, m), m.clone().addmm_(0.5, m, m)),
    "addmv": lambda lib, x, m: (lib.addmv(0.5, x, 2, m, x), x.addmv(0.5, m, x)),
    "addr": lambda lib, x, m: (lib.addr(0.5, m, 2, x, x), m.addr(0.5, 2, x, x)),
    "addbmm": lambda lib, x, m: (lib.addbmm(0.5, m, 2, m[None], m[None]), m.addbmm(2, m[None], m[None])),
    "baddbmm": lambda lib, x, m: lib.baddbmm(0.5, m[None], 2, m[None], m[None]),
}


@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    x = np.arange(3, dtype=np.float32)
    m = np.random.default_rng(0).standard_normal((3, 3)).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = CASES[name](torch, torch.tensor(x), torch.tensor(m))
        found = CASES[name](pyburn, pyburn.tensor(x), pyburn.tensor(m))
    as_tuple: Any = lambda value: value if isinstance(value, tuple) else (value,)  # noqa: E731
    for ours, theirs in zip(as_tuple(found), as_tuple(expected), strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5, atol=1e-6)


def test_it_warns() -> None:
    x = pyburn.ones(2)
    with pytest.warns(UserWarning, match="deprecated"):
        x.add_(2, x)
    assert x.tolist() == [3.0, 3.0]


def test_more_tensors_than_there_are_places_are_refused() -> None:
    for call in (lambda x: x.add(x, x), lambda x: x.addcmul(x, x, x, x)):
        check_error(lambda lib, x, call=call: call(x), np.ones(2, np.float32))
