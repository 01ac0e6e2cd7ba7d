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
    (r"DefaultCPUAllocator: can't allocate memory: you tried to allocate 4000000000000000", lambda t: t.zeros(10**15)),
]


@pytest.mark.parametrize(("text", "call"), KNOWN, ids=lambda value: value[:40] if isinstance(value, str) else "")
def test_the_class_and_the_sentence(text: str, call: Call) -> None:
    with pytest.raises(Exception, match=text) as theirs:
        call(torch)
    with pytest.raises(theirs.type, match=text):
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
