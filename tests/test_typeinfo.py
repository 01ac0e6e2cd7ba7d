"""`finfo` and `iinfo` say what torch's say."""

import pyburn
import pytest
import torch

FLOATS = ["float64", "float32", "float16", "bfloat16"]
INTEGERS = ["int64", "int32", "int16", "int8", "uint8"]


@pytest.mark.parametrize("name", FLOATS)
def test_finfo_is_torchs(name):
    theirs, ours = torch.finfo(getattr(torch, name)), pyburn.finfo(getattr(pyburn, name))
    for field in ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution", "dtype"):
        assert getattr(ours, field) == getattr(theirs, field), field
    assert repr(ours) == repr(theirs)
    assert ours == pyburn.finfo(getattr(pyburn, name))


@pytest.mark.parametrize("name", INTEGERS)
def test_iinfo_is_torchs(name):
    theirs, ours = torch.iinfo(getattr(torch, name)), pyburn.iinfo(getattr(pyburn, name))
    for field in ("bits", "max", "min", "dtype"):
        assert getattr(ours, field) == getattr(theirs, field), field
    assert repr(ours) == repr(theirs)
    assert ours == pyburn.iinfo(getattr(pyburn, name))


def test_finfo_without_a_dtype_is_that_of_the_default():
    assert pyburn.finfo() == pyburn.finfo(pyburn.float32)


@pytest.mark.parametrize("name", ["int64", "bool"])
def test_finfo_refuses_what_is_no_float(name):
    with pytest.raises(TypeError, match=f"floating-point dtype but got pyburn.{name}"):
        pyburn.finfo(getattr(pyburn, name))


@pytest.mark.parametrize("name", ["float32", "bool"])
def test_iinfo_refuses_what_is_no_integer(name):
    with pytest.raises(TypeError, match=f"integer dtype but got pyburn.{name}"):
        pyburn.iinfo(getattr(pyburn, name))


FLOATS8 = ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"]


@pytest.mark.parametrize("name", FLOATS8)
def test_limits_of_eight_bits(name):
    ours, theirs = pyburn.finfo(getattr(pyburn, name)), torch.finfo(getattr(torch, name))
    for field in ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution", "dtype"):
        assert getattr(ours, field) == getattr(theirs, field), field
