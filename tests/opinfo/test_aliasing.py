"""Results share memory with the arguments that torch's share memory with, and with no other: entry by entry."""

from __future__ import annotations

import itertools
from typing import Any

import pyburn
import pytest
import torch

from opinfo.bank import entries, quiet
from opinfo.resolve import resolve
from opinfo.translate import Translator, collect

# torch's own documentation calls the views of the first two an accident; the edges of the third are never written to.
UNLIKE = {"unsafe_chunk", "unsafe_split", "histogram"}
QUICK = ["reshape", "repeat", "tile", "expand", "contiguous", "clone", "to", "float", "flatten", "squeeze", "permute"]
QUICK += ["repeat_interleave", "nn.functional.pixel_shuffle", "broadcast_to", "unfold", "diagonal", "movedim", "real"]


def addresses(library: Any, value: Any) -> list[int | None]:
    """Where the memory of each dense tensor of a value begins; None where there is none."""
    found = collect(value, library.Tensor)
    dense = [x for x in found if x.layout == library.strided]
    return [x.untyped_storage().data_ptr() if x.numel() else None for x in dense]


def shared(library: Any, result: Any, arguments: Any) -> list[list[bool]]:
    given = addresses(library, arguments)
    return [[place is not None and place == other for other in given] for place in addresses(library, result)]


def compare(name: str, count: int) -> None:
    info = entries()[name]
    samples = list(itertools.islice(info.sample_inputs("cpu", torch.float32), 60))
    for sample in samples[:: max(1, len(samples) // count)]:
        translate = Translator()
        theirs = [sample.input, list(sample.args), dict(sample.kwargs)]
        try:
            ours = [translate(value) for value in theirs]
            expected = shared(torch, info.op(theirs[0], *theirs[1], **theirs[2]), theirs)
            found = shared(pyburn, resolve(info)(ours[0], *ours[1], **ours[2]), ours)
        except Exception:
            continue  # the bank's own tests say what is missing
        assert found == expected, f"{name}{tuple(theirs[1])} {theirs[2]}: shares {found}, torch {expected}"


@pytest.mark.parametrize("name", QUICK)
def test_views_are_torchs(name: str) -> None:
    with quiet():
        compare(name, 5)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_all_views_are_torchs() -> None:
    with quiet():
        for name in entries().keys() - UNLIKE:
            compare(name, 10)
