"""Tensors are shown as torch shows them."""

import math
import re
from html.parser import HTMLParser

import pyburn
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pyburn import _printing

FLOATS = ["float32", "float64", "float16", "bfloat16"]
INTEGERS = ["int64", "int32", "int16", "int8", "uint8"]
DTYPES = [*FLOATS, *INTEGERS, "bool"]

# Values around every decision of the float format: whole or not, scientific or not, non-finite.
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, 999.0, 1000.0, 1e8, 1e9, 1e-4, 9.99e-5, math.inf, -math.inf, math.nan]
NUMBERS = st.one_of(
    st.sampled_from(EDGES), st.floats(), st.floats(-100, 100), st.integers(-9999, 9999).map(float), st.floats(0.001, 1)
)
# The largest size of a dimension for each rank, once below and once above the threshold of summaries.
SMALL = [1, 40, 7, 4, 3, 2, 2, 2, 2]
LARGE = [1, 1500, 40, 12, 7, 5, 4, 3, 3]


@pytest.fixture(autouse=True)
def _default_options():
    yield
    torch.set_printoptions(profile="default")
    pyburn.set_printoptions(profile="default")


def values_of(dtype):
    if dtype == "bool":
        return st.booleans()
    if dtype in FLOATS:
        return NUMBERS
    limits = torch.iinfo(getattr(torch, dtype))
    return st.one_of(st.integers(limits.min, limits.max), st.integers(max(limits.min, -20), 20))


@st.composite
def tensors(draw):
    """The same tensor in torch and in pyburn."""
    dtype = draw(st.sampled_from(DTYPES))
    rank = draw(st.integers(0, 8))
    limit = draw(st.sampled_from([SMALL, LARGE]))[rank]
    shape = [draw(st.integers(0 if draw(st.integers(0, 9)) == 0 else 1, limit)) for _ in range(rank)]
    pool = draw(st.lists(values_of(dtype), min_size=1, max_size=12))
    order = draw(st.randoms(use_true_random=False))
    # Through double precision first, so that no float is too large for the dtype's constructor.
    exact = torch.float64 if dtype in FLOATS else getattr(torch, dtype)
    flat = torch.tensor(order.choices(pool, k=math.prod(shape)), dtype=exact).to(getattr(torch, dtype))
    theirs = flat.reshape(shape)
    ours = pyburn.tensor(flat.tolist(), dtype=getattr(pyburn, dtype)).reshape(shape)
    return theirs, ours


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "precision": st.integers(0, 8),
        "threshold": st.sampled_from([0, 1, 5, 100, 1000, math.inf]),
        "edgeitems": st.integers(0, 5),
        "linewidth": st.integers(5, 200),
        "profile": st.sampled_from(["default", "short", "full"]),
        "sci_mode": st.booleans(),
    },
)


def same_text(theirs, ours):
    expected, got = repr(theirs), repr(ours)
    if "dtype=" in expected:
        # The module's name is one letter longer, which may move a suffix to a line of its own.
        expected = expected.replace("torch.", "pyburn.")
        expected, got = (re.sub(r",\s+(\w+=)", r", \1", text) for text in (expected, got))
    assert got == expected


@settings(max_examples=300)
@given(tensors(), OPTIONS)
def test_repr_is_torchs(pair, options):
    for module in (torch, pyburn):
        module.set_printoptions(profile="default")
        module.set_printoptions(**options)
    same_text(*pair)
    assert str(pair[1]) == repr(pair[1])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_requires_grad_and_grad_fn_are_shown(dtype):
    pair = [module.ones(3, dtype=getattr(module, dtype), requires_grad=True) for module in (torch, pyburn)]
    same_text(*pair)
    same_text(*[leaf + 1 for leaf in pair])
    same_text(*[(leaf.reshape(3, 1) * leaf).sum() for leaf in pair])


def test_suffixes_break_lines_as_in_torch():
    for length in range(1, 30):
        same_text(*[module.ones(length, requires_grad=True) * 2 for module in (torch, pyburn)])


def test_default_dtype_goes_without_saying():
    pyburn.set_default_dtype(pyburn.float64)
    try:
        assert repr(pyburn.tensor([1.0])) == "tensor([1.])"
        assert "dtype=pyburn.float32" in repr(pyburn.tensor([1.0], dtype=pyburn.float32))
    finally:
        pyburn.set_default_dtype(pyburn.float32)


def test_options_are_restored_by_the_context_even_after_an_error():
    before = _printing.get_printoptions()

    def fail():
        with _printing.printoptions(precision=1, sci_mode=True):
            assert repr(pyburn.tensor([1.25])) == "tensor([1.2e+00])"
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert _printing.get_printoptions() == before


def test_unknown_profile_is_refused():
    with pytest.raises(ValueError, match="profile is 'long'"):
        pyburn.set_printoptions(profile="long")


class Cells(HTMLParser):
    """The table cells of a page, row by row, and all text outside of them."""

    def __init__(self, page):
        super().__init__()
        self.rows, self.text, self.inside = [], "", False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        self.inside = tag == "td" or (self.inside and tag != "table")

    def handle_endtag(self, tag):
        if tag == "td":
            self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.rows[-1].append(data)
        else:
            self.text += data


def test_html_table_of_a_matrix():
    cells = Cells(pyburn.tensor([[1, 2, 3], [4, 5, 6]])._repr_html_())
    assert cells.rows == [["1", "2", "3"], ["4", "5", "6"]]
    assert "Tensor 2x3" in cells.text
    assert "int64" in cells.text
    assert "cpu" in cells.text


def test_html_table_of_a_large_matrix_is_summarised():
    cells = Cells(pyburn.arange(10_000).reshape(100, 100)._repr_html_())
    assert cells.rows[0] == ["0", "1", "2", "…", "97", "98", "99"]
    assert cells.rows[3] == ["…"] * 7
    assert cells.rows[6][-1] == "9999"
    assert len(cells.rows) == 7


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (2, 2, 2)])
def test_html_of_other_ranks_is_the_text(shape):
    tensor = pyburn.zeros(shape, requires_grad=True) * 1
    page = tensor._repr_html_()
    assert repr(tensor) in Cells(page).text
    assert "<MulBackward" not in page
