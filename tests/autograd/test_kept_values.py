"""What ops keep for backward: a later write is refused exactly where torch refuses it."""

from __future__ import annotations

from typing import Any

import pyburn
import pytest
import torch

OPS = """
    lib.fmod(a, b)
    lib.remainder(a, b)
    lib.fmod(a, 0.3)
    lib.remainder(a, 0.3)
    lib.hypot(a, b)
    lib.copysign(a, b)
    lib.polar(a, b)
    lib.atan2(a, b)
    lib.mul(a, b)
    lib.div(a, b)
    lib.maximum(a, b)
    lib.logaddexp(a, b)
    lib.erfinv(a)
    lib.logit(a)
    lib.prod(a)
    lib.cumprod(a, 0)
"""


def outcome(lib: Any, code: str, grads: tuple[bool, bool], written: str) -> str:
    x = lib.tensor([0.1, 0.4, 0.6, 0.9], requires_grad=grads[0])
    y = lib.tensor([0.3, 0.7, 0.2, 0.5], requires_grad=grads[1])
    names = {"lib": lib, "a": x * 1, "b": y * 1}
    names["result"] = result = eval(code, names)
    if not result.requires_grad:
        return "no gradient"
    with lib.no_grad():
        names[written].add_(0.001)
    try:
        (result.abs() if result.is_complex() else result).sum().backward()
    except RuntimeError as error:
        assert "modified by an inplace operation" in str(error)
        return "refused"
    return "allowed"


@pytest.mark.parametrize("code", [line.strip() for line in OPS.strip().splitlines()])
def test_writes_after_the_op(code: str) -> None:
    for grads in ((True, True), (True, False), (False, True)):
        for written in ("a", "b", "result"):
            found, expected = (outcome(lib, code, grads, written) for lib in (pyburn, torch))
            assert found == expected, f"{grads} {written}: {found}, torch {expected}"


CASES = {
    "logit": [("lib.logit(x)", [-0.5, 0.5, 1.5, 0.0, 1.0]), ("lib.logit(x, 0.1)", [-0.5, 0.1, 0.9, 1.5, float("nan")])],
    "prod": [("x.prod()", [1.0, float("nan"), 2.0]), ("x.prod()", [1.0, 0.0, 2.0]), ("x.prod()", [0.0, 0.0, 2.0])],
    "cumprod": [
        ("x.cumprod(0)", [1.0, 0.0, 2.0, 0.0, 3.0]),
        ("x.cumprod(0)", [1.0, float("nan"), 2.0, 3.0]),
        ("x.cumprod(0)", [0.0, float("nan"), 2.0, 3.0]),
        ("x.cumprod(0)", [float("nan"), 0.0, 2.0, 3.0]),
        ("x.cumprod(0)", [float("inf"), 0.0, 2.0, 3.0]),
    ],
    "atan2": [("lib.atan2(x, lib.zeros(3))", [0.0, 1.0, -1.0])],
}


@pytest.mark.parametrize("name", CASES)
def test_gradients_at_the_edges(name: str) -> None:
    for code, values in CASES[name]:
        found, expected = [], []
        for lib, out in ((pyburn, found), (torch, expected)):
            x = lib.tensor(values, requires_grad=True)
            eval(code, {"lib": lib, "x": x}).sum().backward()
            out.append(torch.tensor(x.grad.tolist()))
        torch.testing.assert_close(
            found[0], expected[0], equal_nan=True, msg=f"{code} of {values}: {found}, {expected}"
        )
