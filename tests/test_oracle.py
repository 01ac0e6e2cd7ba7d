"""The judge must be able to say no."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle import Case, check_error, check_op
from strategies import arrays, dtypes, shapes


def test_agreement():
    check_op(lambda lib, a, b: a * b + a, np.ones((2, 3), "float32"), [[1.0, 2.0, 3.0]], gradgrad=True)
    check_op(lambda lib, a: a.t(), np.arange(6.0).reshape(2, 3), dtypes=["float32", "bfloat16"], same_stride=True)


@pytest.mark.parametrize(
    "fn",
    [
        lambda lib, a: a + (1 if lib.__name__ == "pyburn" else 2),
        lambda lib, a: a.detach() if lib.__name__ == "pyburn" else a * 1,
        lambda lib, a: a.view(1, 2) if lib.__name__ == "pyburn" else a,
        lambda lib, a: a._to_dtype(lib.float16) if lib.__name__ == "pyburn" else a,
        lambda lib, a: (a,) if lib.__name__ == "pyburn" else [a],
        lambda lib, a: a * 2 if lib.__name__ == "pyburn" else a.detach() * 1 + a,
    ],
)
def test_disagreement_fails(fn):
    with pytest.raises(AssertionError):
        check_op(fn, np.ones(2, "float32"))


def test_errors_are_compared():
    check_error(lambda lib, a: a.view(5), np.ones(4))
    with pytest.raises(AssertionError, match="torch accepts"):
        check_error(lambda lib, a: a.view(4), np.ones(4))


@settings(max_examples=30, deadline=None)
@given(data=st.data(), dtype=dtypes, shape=shapes())
def test_cases_carry_values_and_strides(data, dtype, shape):
    array = data.draw(arrays(shape, "float32" if dtype == "bfloat16" else dtype, special=True))
    check_op(lambda lib, a: a, Case(array, dtype), grad=False, same_stride=True)
