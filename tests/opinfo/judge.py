"""How results are compared: torch's own tolerances, entry by entry."""

from __future__ import annotations

from typing import Any

import torch
from torch.testing._internal.common_device_type import toleranceOverride
from torch.testing._internal.opinfo.core import DecorateInfo

from oracle import Judge, dtype_name

# Classes of torch's tests that compare values of an operator; others (decompositions, compilers) have their own limits.
CLASSES = {None, "TestCommon", "TestUnaryUfuncs", "TestBinaryUfuncs", "TestReductions", "TestModule"}


class BankJudge(Judge):
    """Compares at the limits that torch's tests set for the entry, else at `assert_close`'s."""

    def __init__(self, info: Any) -> None:
        super().__init__(None, None, same_stride=False, device="cpu")
        self.wider = overrides(info)

    def tolerance(self, dtype: torch.dtype) -> tuple[float, float]:
        if dtype.is_complex:
            dtype = torch.float64 if dtype == torch.complex128 else torch.float32
        rtol, atol = super().tolerance(dtype)
        limit = self.wider.get(dtype)
        return (rtol, atol) if limit is None else (max(rtol, limit[0]), max(atol, limit[1]))

    def compare(self, expected: Any, found: Any, where: str = "result") -> None:
        if isinstance(expected, torch.Tensor) and expected.layout != torch.strided:
            assert dtype_name(found.layout) == dtype_name(expected.layout), f"{where}: {found.layout}"
            expected, found = expected.to_dense(), found.to_dense()
        if isinstance(expected, complex):
            assert type(found) is complex and abs(found - expected) <= 1e-5 + 1.3e-6 * abs(expected), (
                f"{where}: {found}"
            )
            return
        super().compare(expected, found, where)


def overrides(info: Any) -> dict[torch.dtype, tuple[float, float]]:
    """(rtol, atol) by dtype, the widest of the limits that torch's tests set on the CPU."""
    widest: dict[torch.dtype, tuple[float, float]] = {}
    for decorator in info.decorators or ():
        if isinstance(decorator, DecorateInfo):
            if decorator.cls_name not in CLASSES or decorator.device_type not in (None, "cpu"):
                continue
            inner = decorator.decorators if decorator.active_if else ()
        else:
            inner = [decorator]
        for one in inner:
            if isinstance(one, toleranceOverride):
                for dtype, limit in one.d.items():
                    rtol, atol = widest.get(dtype, (0.0, 0.0))
                    widest[dtype] = (max(rtol, limit.rtol), max(atol, limit.atol))
    return widest


class ShapeJudge(BankJudge):
    """Compares only structure, dtype and shape: for results that torch itself leaves undefined."""

    def values(self, expected: torch.Tensor, found: Any, where: str) -> None:
        assert dtype_name(found.dtype) == dtype_name(expected.dtype), f"{where}: dtype {found.dtype}, {expected.dtype}"
        assert tuple(found.shape) == tuple(expected.shape), f"{where}: shape {found.shape}, torch {expected.shape}"
