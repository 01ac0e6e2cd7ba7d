"""Sentences of torch's errors that programs look for in the text, and forums explain: ours have them too."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyburn
import pytest
import torch

Call = Callable[[Any], Any]


def _backward_twice(t: Any) -> None:
    loss = (t.ones(2, requires_grad=True) ** 2).sum()
    loss.backward()
    loss.backward()


def _write_after_use(t: Any) -> None:
    y = t.ones(2, requires_grad=True).exp()
    y.add_(1)
    y.sum().backward()


def _load(t: Any, keys: dict[str, tuple[int, ...]]) -> None:
    t.nn.Sequential(t.nn.Linear(3, 4)).load_state_dict({key: t.zeros(size) for key, size in keys.items()})


def _loss(t: Any, target: Any) -> None:
    t.nn.functional.cross_entropy(t.ones(2, 3), target)


KNOWN: list[tuple[str, Call]] = [
    (r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 4x5\)", lambda t: t.ones(2, 3) @ t.ones(4, 5)),
    (r"mat1 and mat2 shapes cannot be multiplied \(2x5 and 3x4\)", lambda t: t.nn.Linear(3, 4)(t.ones(2, 5))),
    (r"mat1 and mat2 shapes cannot be multiplied \(6x5 and 3x4\)", lambda t: t.nn.Linear(3, 4)(t.ones(2, 3, 5))),
    (r"batch1 must be a 3D tensor", lambda t: t.bmm(t.ones(2, 3), t.ones(2, 3))),
    (
        r"Expected size for first two dimensions of batch2 tensor to be: \[2, 4\] but got: \[2, 5\]",
        lambda t: t.bmm(t.ones(2, 3, 4), t.ones(2, 5, 6)),
    ),
    (
        r"Given groups=1, weight of size \[4, 3, 3, 3\], expected input\[1, 5, 8, 8\] to have 3 channels, but got 5 "
        r"channels instead",
        lambda t: t.nn.Conv2d(3, 4, 3)(t.ones(1, 5, 8, 8)),
    ),
    (
        r"Given transposed=1, weight of size \[3, 4, 3, 3\], expected input\[1, 2, 5, 5\] to have 3 channels",
        lambda t: t.nn.ConvTranspose2d(3, 4, 3)(t.ones(1, 2, 5, 5)),
    ),
    (
        r"Expected 3D \(unbatched\) or 4D \(batched\) input to conv2d, but got input of size: \[8, 8\]",
        lambda t: t.nn.Conv2d(3, 4, 3)(t.ones(8, 8)),
    ),
    (
        r"expected bias to be 1-dimensional with 4 elements, but got bias of size \[5\] instead",
        lambda t: t.nn.functional.conv2d(t.ones(1, 3, 5, 5), t.ones(4, 3, 3, 3), t.ones(5)),
    ),
    (r"Kernel size can't be greater than actual input size", lambda t: t.nn.Conv2d(3, 4, 9)(t.ones(1, 3, 8, 8))),
    (
        r"The expanded size of the tensor \(3\) must match the existing size \(2\) at non-singleton dimension 0.  "
        r"Target sizes: \[3, 3\].  Tensor sizes: \[2, 3\]",
        lambda t: t.ones(2, 3).expand(3, 3),
    ),
    (
        r"expanded size of the tensor \(3\) must match the existing size \(4\) at non-singleton dimension 0",
        lambda t: t.ones(2, 3).__setitem__(0, t.ones(4)),
    ),
    (r"The size of tensor a \(2\) must match the size of tensor b \(3\)", lambda t: t.ones(2) + t.ones(3)),
    (
        r"Sizes of tensors must match except in dimension 0. Expected size 3 but got size 4 for tensor number 1 in",
        lambda t: t.cat([t.ones(2, 3), t.ones(2, 4)]),
    ),
    (r"Tensors must have same number of dimensions: got 1 and 2", lambda t: t.cat([t.ones(2), t.ones(2, 2)])),
    (
        r"view size is not compatible with input tensor's size and stride \(at least one dimension spans across two "
        r"contiguous subspaces\). Use .reshape\(...\) instead",
        lambda t: t.ones(2, 3).t().view(6),
    ),
    (r"shape '\[5\]' is invalid for input of size 6", lambda t: t.ones(2, 3).view(5)),
    (r"Trying to backward through the graph a second time", _backward_twice),
    (r"modified by an inplace operation", _write_after_use),
    (r"element 0 of tensors does not require grad and does not have a grad_fn", lambda t: t.ones(()).backward()),
    (r"grad can be implicitly created only for scalar outputs", lambda t: t.ones(2, requires_grad=True).backward()),
    (
        r"a leaf Variable that requires grad is being used in an in-place",
        lambda t: t.ones(2, requires_grad=True).add_(1),
    ),
    (r"size mismatch for 0.weight", lambda t: _load(t, {"0.weight": (4, 5), "0.bias": (4,)})),
    (r"Missing key\(s\) in state_dict: \"0.bias\"", lambda t: _load(t, {"0.weight": (4, 3)})),
    (r"Unexpected key\(s\) in state_dict: \"x\"", lambda t: _load(t, {"0.weight": (4, 3), "0.bias": (4,), "x": (1,)})),
    (
        r"Expected input batch_size \(2\) to match target batch_size \(3\)",
        lambda t: t.nn.functional.cross_entropy(t.ones(2, 3), t.tensor([0, 1, 2])),
    ),
    (
        r"0D or 1D target tensor expected, multi-target not supported",
        lambda t: t.nn.functional.nll_loss(t.ones(2, 3), t.tensor([[0], [1]])),
    ),
    (
        r"Expected target size \[2, 4\], got \[2, 5\]",
        lambda t: t.nn.functional.cross_entropy(t.ones(2, 3, 4), t.zeros(2, 5).long()),
    ),
    (
        r"Expected floating point type for target with class probabilities",
        lambda t: t.nn.functional.cross_entropy(t.ones(2, 3), t.zeros(2, 3).long()),
    ),
    (
        r"weight tensor should be defined either for all 3 classes or no classes but got weight tensor of shape: \[4\]",
        lambda t: t.nn.CrossEntropyLoss(weight=t.ones(4))(t.ones(2, 3), t.tensor([0, 1])),
    ),
    (r"Attempted step but _scale is None", lambda t: t.amp.GradScaler("cpu").step(t.optim.SGD([t.ones(1)], lr=0.1))),
    (r"Attempted unscale_ but _scale", lambda t: t.amp.GradScaler("cpu").unscale_(t.optim.SGD([t.ones(1)], lr=0.1))),
    (
        r"Expected tensor to have size at least 9 at dimension 1, but got size 3",
        lambda t: t.nn.functional.ctc_loss(t.zeros(5, 2, 3), t.ones(2, 3).long(), [5, 5], [3, 9]),
    ),
    (r"num_samples should be a positive integer value", lambda t: t.utils.data.DataLoader([], shuffle=True)),
    (r"Subclasses of Dataset should implement __getitem__", lambda t: t.utils.data.Dataset()[0]),
    (
        r"mat1 and mat2 must have the same dtype, but got Double and Float",
        lambda t: t.nn.Linear(3, 4)(t.ones(2, 3).double()),
    ),
    (
        r"mat1 and mat2 must have the same dtype, but got Long and Float",
        lambda t: t.nn.Linear(3, 4)(t.ones(2, 3).long()),
    ),
    (
        r"expected m1 and m2 to have the same dtype, but got: c10::Half != float",
        lambda t: t.mm(t.ones(2, 2).half(), t.ones(2, 2)),
    ),
    (
        r"expected m1 and m2 to have the same dtype, but got: long int != float",
        lambda t: t.ones(2, 2).long() @ t.ones(2, 2),
    ),
    (r"expected scalar type Float but found Double", lambda t: t.bmm(t.ones(1, 2, 2), t.ones(1, 2, 2).double())),
    (r"expected scalar type Float but found Long", lambda t: t.ones(3, 2, 2) @ t.ones(3, 2, 2).long()),
    (
        r"expected scalar type Double but found Float",
        lambda t: t.nn.functional.conv2d(t.ones(1, 1, 4, 4).double(), t.ones(1, 1, 1, 1)),
    ),
    (
        r"Input type \(double\) and bias type \(float\) should be the same",
        lambda t: t.nn.Conv2d(1, 1, 1)(t.ones(1, 1, 4, 4).double()),
    ),
    (r"result type Float can't be cast to the desired output type Long", lambda t: t.arange(3).add_(1.5)),
    (r"could not infer output dtype.* Got: Long", lambda t: t.arange(3).mean()),
    (r"not implemented for 'Long'", lambda t: t.arange(3).normal_()),
    (r"not implemented for 'Long'", lambda t: t.softmax(t.arange(3), 0)),
    (r"not implemented for 'Float'", lambda t: t.bincount(t.ones(3))),
    (r"not implemented for 'Float'", lambda t: t.ones(3) & t.arange(3)),
    (
        r"Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
        r"torch.FloatTensor instead \(while checking arguments for embedding\)",
        lambda t: t.nn.Embedding(3, 2)(t.ones(2)),
    ),
    (
        r"index_add_?\(\): self \(Float\) and source \(Double\) must have the same scalar type",
        lambda t: t.ones(3).index_add_(0, t.tensor([0]), t.ones(1).double()),
    ),
    (
        r"Index put requires the source and destination dtypes match, got Float for the destination and Double for the",
        lambda t: t.ones(3).__setitem__(t.tensor([0]), t.ones(1).double()),
    ),
    (r"modified by an inplace operation: \[torch.FloatTensor \[2\]\]", _write_after_use),
    (r"expected target dtype to be Long or Byte, but got Float", lambda t: _loss(t, t.zeros(2))),
    (r"expected target dtype to be Long or Byte, but got Int", lambda t: _loss(t, t.zeros(2).int())),
    (r"Found dtype Long but expected Float", lambda t: t.nn.BCELoss()(t.ones(3), t.ones(3).long())),
    (r"istft requires a complex-valued input tensor matching the output from stft", lambda t: t.istft(t.ones(5, 4), 8)),
    (r"Float did not match Double", lambda t: t.allclose(t.ones(2), t.ones(2).double())),
    (r"DefaultCPUAllocator: can't allocate memory: you tried to allocate 4000000000000000", lambda t: t.zeros(10**15)),
]


@pytest.mark.parametrize(("text", "call"), KNOWN, ids=lambda value: value[:40] if isinstance(value, str) else "")
def test_the_class_and_the_sentence(text: str, call: Call) -> None:
    with pytest.raises(Exception, match=text) as theirs:
        call(torch)
    # What torch raises for a dtype since its last releases is a subclass of what it raised before, and ours is.
    with pytest.raises(RuntimeError if theirs.type is NotImplementedError else theirs.type, match=text):
        call(pyburn)


def test_memory_is_both_of_torchs_and_pythons_class() -> None:
    with pytest.raises(MemoryError) as caught:
        pyburn.empty(10**15)
    assert isinstance(caught.value, RuntimeError)


def test_norm_type_is_a_number_even_without_gradients() -> None:
    for t in (torch, pyburn):
        with pytest.raises(ValueError, match="could not convert string to float"):
            t.nn.utils.clip_grad_norm_([t.nn.Parameter(t.ones(1))], 1.0, norm_type="a")  # type: ignore[attr-defined]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "absent" / "x.pt"
    for t in (torch, pyburn):
        with pytest.raises(RuntimeError, match=re.escape(f"Parent directory {path.parent} does not exist.")):
            t.save(t.ones(1), path)  # type: ignore[attr-defined]
