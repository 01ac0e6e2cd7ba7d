"""Every method of torch's Tensor that takes nothing or one number gives torch's answer on every rank from 0 to 8."""

from __future__ import annotations

import warnings
from typing import Any

import pyburn
import pytest
import torch

from oracle import dtype_name, from_torch, to_torch

SHAPES = [
    (),
    (3,),
    (2, 3),
    (2, 3, 3),
    (2, 1, 2, 3),
    (1, 2, 1, 2, 2),
    (2, 1, 2, 1, 1, 2),
    (1, 2, 1, 1, 2, 1, 2),
    (2, 1, 1, 1, 2, 1, 1, 2),
    (0,),
    (2, 0),
    (1,),
]
ARGUMENTS: list[tuple[int, ...]] = [(), (-1,), (0,), (1,)]
RANDOM = {
    *("bernoulli", "bernoulli_", "cauchy_", "exponential_", "geometric_", "log_normal_", "multinomial", "normal_"),
    *("random_", "uniform_"),
}
UNWRITTEN = {"new", "new_empty", "resize", "resize_"}  # what is in fresh memory is nobody's answer
ADDRESSES = {"const_data_ptr", "data_ptr", "storage", "storage_type", "untyped_storage"}
OTHER_DEVICES = {"cuda", "hpu", "ipu", "is_distributed", "is_pinned", "mtia", "pin_memory", "record_stream", "xpu"}
OTHER_LAYOUTS = {
    *("dense_dim", "dequantize", "q_scale", "sparse_dim", "to_mkldnn", "to_sparse", "to_sparse_bsc", "to_sparse_bsr"),
    *("to_sparse_coo", "to_sparse_csc", "to_sparse_csr"),
}
UNLIKE = {
    "backward": "gives nothing to compare",
    "chalf": "complex32 is not there",
    "hash_tensor": "not there",
    "histogram": "puts a lone value on the edge of two bins",
    "module_load": "is for parameters",
    "numpy": "gives an array",
    "reinforce": "was removed, and says so",
    "requires_grad_": "is for floats only",
    "svd": "is known up to signs",
    "topk": "of no elements of a number is unwritten memory in torch",
}
NAMES = sorted(
    name
    for name in dir(torch.Tensor)
    if not name.startswith("_")
    and callable(getattr(torch.Tensor, name))
    and name not in RANDOM | UNWRITTEN | ADDRESSES | OTHER_DEVICES | OTHER_LAYOUTS | set(UNLIKE)
)
# torch leaves the order of equal values open, rounds beside the poles of polygamma, and computes nothing of any dtype.
OPEN = {("kthvalue", "int64"), ("kthvalue", "bool"), ("softmax", "int64"), ("softmax", "bool")}
OPEN |= {("polygamma", "int64"), ("lu", "int64"), ("lu", "bool")}
OPEN |= {("log_softmax", "int64"), ("log_softmax", "bool"), ("cumsum_", "bool"), ("cumprod_", "bool")}


def sample(shape: tuple[int, ...], dtype: str) -> torch.Tensor:
    values = torch.rand(shape, generator=torch.Generator().manual_seed(0)) * 4 - 2
    return {"float32": values, "int64": values.round().long(), "bool": values > 0}[dtype]


def comparable(value: Any) -> Any:
    """The value in types that both libraries share: tensors become torch's."""
    if isinstance(value, pyburn.Tensor):
        return to_torch(value)
    if isinstance(value, torch.Tensor):
        return value.detach()
    if isinstance(value, (tuple, list)):
        return [comparable(part) for part in value]
    return dtype_name(value) if isinstance(value, (torch.dtype, pyburn.dtype)) else value


def answer(tensor: Any, name: str, arguments: tuple[int, ...]) -> Any:
    """What the method gives; None when it refuses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return comparable(getattr(tensor, name)(*arguments))
        except Exception:
            return None


def equal(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, list):
        return isinstance(ours, list) and len(ours) == len(theirs) and all(map(equal, ours, theirs))
    if not isinstance(theirs, torch.Tensor):
        return str(ours).replace("pyburn", "torch") == str(theirs)
    try:
        torch.testing.assert_close(ours, theirs, equal_nan=True, rtol=1e-4, atol=1e-5)
    except (AssertionError, TypeError):
        return False
    return True


def above_eight(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dim() > 8


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_methods(shape, dtype):
    base, wrong = sample(shape, dtype), []
    for name in NAMES:
        if (name, dtype) in OPEN:
            continue
        for arguments in ARGUMENTS:
            theirs = answer(base.clone(), name, arguments)
            if theirs is None or above_eight(theirs) or (arguments == (-1,) and name in ("repeat", "tile")):
                continue
            if not hasattr(pyburn.Tensor, name):
                wrong.append(f"{name}: not there")
            elif not equal(ours := answer(from_torch(base), name, arguments), theirs):
                wrong.append(f"{name}{arguments}: {ours!s:.100} instead of {theirs!s:.100}")
    assert not wrong, "\n".join(wrong)


def test_one_class():
    """No rank, dtype or device has a class or a module of its own."""
    for shape in SHAPES:
        for dtype in ("float32", "int64", "bool"):
            assert type(from_torch(sample(shape, dtype))) is pyburn.Tensor
    classes = [value for value in vars(pyburn._core).values() if isinstance(value, type)]
    assert [made for made in classes if issubclass(made, pyburn.Tensor)] == [pyburn.Tensor]
    with pytest.raises(pyburn.ShapeError, match="9 dimensions"):
        pyburn.zeros([1] * 9)
