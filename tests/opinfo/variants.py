"""The other forms of the bank's entries: methods, in-place methods and `out=`, on samples without gradients."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pyburn
import torch

from opinfo.bank import GAUGE, SEED, entries, quiet, spread
from opinfo.judge import BankJudge, ShapeJudge
from opinfo.resolve import MissingError, lookup, rebind, resolve
from opinfo.translate import Translator, UntranslatableError, collect

Call = Callable[..., Any]


def complaints(name: str, limit: int) -> list[str]:
    """What differs from torch in the other forms of an entry."""
    info = entries()[name]
    if info.name in GAUGE:
        return []
    with quiet():
        samples = list(info.sample_inputs("cpu", torch.float32))
        chosen = spread(len(samples), limit)
        found = [(index, text) for index in chosen for text in sample_complaints(info, samples[index])]
    return [f"{name} sample {index}: {text}" for index, text in found]


def sample_complaints(info: Any, sample: Any) -> Iterator[str]:
    try:
        Translator()((sample.input, sample.args, sample.kwargs))
    except (UntranslatableError, MissingError):
        return
    if not isinstance(sample.input, torch.Tensor):
        forms = []
    else:
        forms = [(one, one is info.inplace_variant) for one in (info.method_variant, info.inplace_variant) if one]
    for method, inplace in forms:
        if not (inplace and sample.broadcasts_input):
            yield from reported(
                "in place" if inplace else "as method", lambda m=method, i=inplace: run_method(info, sample, m, i)
            )
    # Functions of nn.functional take out= only where torch happens to call a native one.
    if info.supports_out and not info.name.startswith("nn.functional."):
        for kind in OUTS:
            yield from reported(f"out= of {kind}", lambda k=kind: run_out(info, sample, k))


def reported(what: str, run: Call) -> Iterator[str]:
    try:
        run()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        yield f"{what}: {type(error).__name__}: {error}"


def judge(info: Any) -> BankJudge:
    return ShapeJudge(info) if info.has_nondeterministic_output else BankJudge(info)


def attempt(call: Call) -> tuple[Any, Exception | None, list[str]]:
    """The result, or the error, and the warnings."""
    torch.manual_seed(SEED)
    pyburn.manual_seed(SEED)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            return call(), None, [str(one.message) for one in seen]
        except Exception as error:
            return None, error, []


def run_method(info: Any, sample: Any, method: Any, inplace: bool) -> None:
    """Fails unless pyburn's method does what torch's does; one in place gives back the object it wrote to."""
    translate = Translator()
    ours = [translate(part) for part in (sample.input, sample.args, sample.kwargs)]
    theirs = [sample.input, sample.args, sample.kwargs]
    if inplace:
        theirs[0], ours[0] = sample.input.clone(), ours[0].clone()
    name = getattr(method, "__name__", "<lambda>")
    function = rebind(method) if name == "<lambda>" else lookup(type(ours[0]), name, f"Tensor.{name}")
    expected, error, _ = attempt(lambda: method(theirs[0], *theirs[1], **theirs[2]))
    if error is not None:
        return
    found, raised, _ = attempt(lambda: function(ours[0], *ours[1], **ours[2]))
    if raised is not None:
        raise raised
    judge(info).compare(expected, found)
    if inplace:
        assert found is ours[0], "the result is another object"


# torch says nothing when these resize their out.
SILENT = {"addbmm", "linspace", "linspace.tensor_overload", "logspace", "logspace.tensor_overload", "lu", "narrow_copy"}
OUTS = ("the same size", "no elements", "another size", "int64")


def made_for(expected: torch.Tensor, kind: str) -> torch.Tensor:
    """An `out` for a result: right, empty, too large, or of a dtype that cannot hold it."""
    if kind == "the same size":
        return torch.empty_like(expected).fill_(1)
    if kind == "no elements":
        return torch.empty(0, dtype=expected.dtype)
    if kind == "another size":
        return torch.ones((*expected.shape, 2), dtype=expected.dtype)
    return torch.ones(expected.shape, dtype=torch.int64)


def run_out(info: Any, sample: Any, kind: str) -> None:
    """Fails unless `out=` is written to, resized with torch's warning, or refused, as torch does."""
    plain, error, _ = attempt(lambda: info.op(sample.input, *sample.args, **sample.kwargs))
    results = collect(plain, torch.Tensor)
    if error is not None or not results or any(one.numel() == 0 for one in results):
        return
    outs = [made_for(one, kind) for one in results]
    mine = [Translator()(one) for one in outs]
    pack = (lambda items: items[0]) if isinstance(plain, torch.Tensor) else tuple
    translate = Translator()
    ours = [translate(part) for part in (sample.input, sample.args, sample.kwargs)]
    function = resolve(info)
    _, refused, warned = attempt(lambda: info.op(sample.input, *sample.args, **sample.kwargs, out=pack(outs)))
    found, raised, said = attempt(lambda: function(ours[0], *ours[1], **ours[2], out=pack(mine)))
    if refused is not None:
        assert raised is not None, f"torch refuses: {' '.join(str(refused).split())[:90]}"
        return
    if raised is not None and kind == "int64":
        return  # torch computes a few sums in the dtype of out
    if raised is not None:
        raise raised
    for index, (one, other) in enumerate(zip(outs, mine, strict=True)):
        judge(info).compare(one, other, f"out {index}")
    for index, (one, other) in enumerate(zip(collect(found, pyburn.Tensor), mine, strict=True)):
        assert one is other, f"result {index} is another object than out"
    if info.full_name in SILENT:
        return
    resized = any("was resized" in text for text in warned)
    assert resized == any("was resized" in text for text in said), f"warns of resizing: torch {resized}"
