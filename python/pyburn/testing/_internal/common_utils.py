"""torch.testing._internal.common_utils: a TestCase whose `assertEqual` compares tensors by torch's tolerances."""

from __future__ import annotations

import unittest
from typing import Any

from pyburn._core import Tensor
from pyburn.testing import assert_close

__all__ = ["TestCase", "run_tests"]


class TestCase(unittest.TestCase):
    """A TestCase that knows tensors."""

    def assertEqual(
        self,
        x: Any,
        y: Any,
        msg: Any = None,
        *,
        atol: float | None = None,
        rtol: float | None = None,
        equal_nan: bool = True,
        exact_dtype: bool = True,
        exact_device: bool = False,
    ) -> None:
        """Nothing; fails when two values differ by more than the tolerance."""
        if isinstance(x, Tensor) or isinstance(y, Tensor) or (isinstance(x, float) and isinstance(y, float)):
            checks = {"check_dtype": exact_dtype, "check_device": exact_device}
            assert_close(x, y, rtol=rtol, atol=atol, equal_nan=equal_nan, msg=msg, **checks)
        else:
            super().assertEqual(x, y, msg)  # noqa: PT009


def run_tests(argv: list[str] | None = None) -> None:
    """Nothing; runs the tests of the program, and ends it."""
    unittest.main(argv=argv)
