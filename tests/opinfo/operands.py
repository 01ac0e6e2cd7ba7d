"""Entries of the bank with operands they were not written for: sparse tensors, and every dtype that torch lists.

What must never come out is a wrong number: a result is torch's, or an ordinary exception says what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyburn
import torch

from opinfo.bank import GAUGE, SEED, entries, quiet, spread
from opinfo.judge import BankJudge, ShapeJudge
from opinfo.resolve import MissingError, method_of, rebind, resolve
from opinfo.translate import Translator, UntranslatableError, collect

Arguments = tuple[Any, tuple[Any, ...], dict[str, Any]]
# Which of several equal elements is named is not defined, and torch's own choice depends on the dtype.
TIES = {"argsort", "kthvalue", "mode", "sort", "topk"}
LOOSE = {torch.float16: (1e-2, 1e-1), torch.bfloat16: (6e-2, 3e-1), torch.complex64: (1e-5, 1e-5)}


class OperandJudge(BankJudge):
    """As the bank's, with room for halves, which both libraries sum in another order and round in other places."""

    def tolerance(self, dtype: torch.dtype) -> tuple[float, float]:
        rtol, atol = super().tolerance(dtype)
        least = LOOSE.get(dtype, (0.0, 0.0))
        return max(rtol, least[0]), max(atol, least[1])


def judge(info: Any) -> BankJudge:
    return ShapeJudge(info) if info.has_nondeterministic_output else OperandJudge(info)


def complaints_of_sparse(name: str, limit: int) -> list[str]:
    """What is wrong when a tensor among the arguments is sparse, as function and as method."""
    info = entries()[name]
    with quiet():
        samples = list(info.sample_inputs("cpu", torch.float32))
        chosen = [samples[index] for index in spread(len(samples), limit)]
        return [text for sample in chosen for text in sparse_complaints(info, sample)]


def sparse_complaints(info: Any, sample: Any) -> Iterator[str]:
    given = (sample.input, sample.args, sample.kwargs)
    for tensor in collect(given, torch.Tensor):
        for made in sparse_forms(tensor):
            mixed = tuple(replaced(part, tensor, made) for part in given)
            for form in ("function", "method"):
                text = sparse_complaint(info, given, mixed, form)
                if text is not None:
                    yield f"{info.full_name} as {form} with {made.layout}: {text}"


def sparse_forms(tensor: torch.Tensor) -> list[torch.Tensor]:
    plain = tensor.layout == torch.strided and tensor.dtype == torch.float32
    if not plain or tensor.dim() == 0 or tensor.numel() == 0:
        return []
    forms = [tensor.detach().to_sparse()]
    return [*forms, tensor.detach().to_sparse_csr()] if tensor.dim() == 2 else forms


def replaced(value: Any, old: torch.Tensor, new: torch.Tensor) -> Any:
    if value is old:
        return new
    if isinstance(value, dict):
        return {key: replaced(item, old, new) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(replaced(item, old, new) for item in value)
    return value


def sparse_complaint(info: Any, dense: Arguments, mixed: Arguments, form: str) -> str | None:
    try:
        ours = called(info, form, Translator(), mixed)
    except (MissingError, UntranslatableError):
        return None
    if isinstance(ours, BaseException):
        return refusal(ours)
    theirs = outcome(lambda: torch_form(info, form)(mixed[0], *mixed[1], **mixed[2]))
    if not isinstance(theirs, BaseException) and agree(info, theirs, ours):
        return None
    # Where torch refuses, the result for dense operands is right as well.
    whole = outcome(lambda: torch_form(info, form)(dense[0], *dense[1], **dense[2]))
    if not isinstance(whole, BaseException) and agree(info, whole, densed(ours)):
        return None
    return f"a result that is not torch's ({type(theirs).__name__})"


def torch_form(info: Any, form: str) -> Callable[..., Any]:
    found: Callable[..., Any] | None = info.op if form == "function" else info.method_variant
    if found is None:
        raise MissingError(form)
    return found


def called(info: Any, form: str, translate: Translator, given: Arguments) -> Any:
    """pyburn's result, or what it raised."""
    torch_form(info, form)
    function = resolve(info) if form == "function" else method_of(info)
    ours = [translate(part) for part in given]
    if form == "method":
        assert function is not None
        function = getattr(type(ours[0]), function.__name__, function)
    return outcome(lambda: function(ours[0], *ours[1], **ours[2]))


def outcome(call: Callable[[], Any]) -> Any:
    torch.manual_seed(SEED)
    pyburn.manual_seed(SEED)
    try:
        return call()
    except (KeyboardInterrupt, SystemExit, MissingError):
        raise
    except BaseException as error:
        return error


def refusal(error: BaseException) -> str | None:
    """None for an ordinary exception."""
    ordinary = isinstance(error, Exception) and "the engine failed" not in str(error)
    return None if ordinary else f"{type(error).__name__}: {error}"


def agree(info: Any, expected: Any, found: Any) -> bool:
    try:
        judge(info).compare(expected, found)
    except Exception:
        return False
    return True


def densed(value: Any) -> Any:
    if isinstance(value, pyburn.Tensor):
        return value.to_dense()
    return type(value)(densed(item) for item in value) if type(value) in (list, tuple) else value


def complaints_of_dtype(name: str, dtype: torch.dtype, limit: int) -> list[str]:
    """What is wrong with the samples that torch has in a dtype."""
    info = entries()[name]
    if dtype not in info.supported_dtypes("cpu"):
        return []
    with quiet():
        samples = list(info.sample_inputs("cpu", dtype))
        found = [(index, dtype_complaint(info, samples[index])) for index in spread(len(samples), limit)]
    return [f"{name} {dtype} sample {index}: {text}" for index, text in found if text is not None]


def dtype_complaint(info: Any, sample: Any) -> str | None:
    given = (sample.input, sample.args, sample.kwargs)
    try:
        ours = called(info, "function", Translator(), given)
    except (MissingError, UntranslatableError):
        return None
    if isinstance(ours, BaseException):
        return refusal(ours)
    theirs = outcome(lambda: info.op(sample.input, *sample.args, **sample.kwargs))
    if isinstance(theirs, BaseException):
        return None
    if info.name in GAUGE:
        theirs, ours = sample.output_process_fn_grad(theirs), rebind(sample.output_process_fn_grad)(ours)
    try:
        (ShapeJudge(info) if info.name in TIES else judge(info)).compare(theirs, ours)
    except Exception as error:
        return str(error)
    return None


def accepted_by_mistake(name: str, dtype: torch.dtype, limit: int) -> list[str]:
    """Samples that torch refuses in a dtype and pyburn computes."""
    info = entries()[name]
    with quiet():
        samples = list(info.sample_inputs("cpu", torch.float32))
        chosen = [converted((s.input, s.args, s.kwargs), dtype) for s in samples[:limit]]
        theirs = [outcome(lambda g=given: info.op(g[0], *g[1], **g[2])) for given in chosen]
        ours = [called(info, "function", Translator(), given) for given in chosen]
    pairs = zip(theirs, ours, strict=True)
    return [str(one) for one, other in pairs if isinstance(one, Exception) and not isinstance(other, Exception)]


def converted(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().to(dtype) if value.is_floating_point() else value
    if isinstance(value, dict):
        return {key: converted(item, dtype) for key, item in value.items()}
    return type(value)(converted(item, dtype) for item in value) if type(value) in (list, tuple) else value
