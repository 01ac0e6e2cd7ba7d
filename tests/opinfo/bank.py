"""Runs entries of torch's own bank of operators (`op_db`) on pyburn and compares values and gradients with torch."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import io
import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pyburn
import torch
from torch.testing._internal.common_methods_invocations import op_db

from opinfo.judge import BankJudge, ShapeJudge
from opinfo.resolve import rebind, resolve
from opinfo.translate import Translator, collect
from oracle import Case, compare_grads, grad_ours, random_like

# Decompositions are unique up to signs and phases: torch's bank brings the function that removes them, and its result
# is compared instead of the raw one.
GAUGE = {"svd", "linalg.svd", "linalg.eig", "linalg.eigh", "svd_lowrank", "pca_lowrank"}
SEED = 1234


@dataclasses.dataclass
class Outcome:
    """What came of one entry: the numbers of the samples that torch runs, and the text of each failure."""

    name: str
    ran: list[int] = dataclasses.field(default_factory=list)
    failed: dict[int, str] = dataclasses.field(default_factory=dict)
    errors_ran: list[int] = dataclasses.field(default_factory=list)
    errors_failed: dict[int, str] = dataclasses.field(default_factory=dict)

    @property
    def samples(self) -> int:
        return len(self.ran)

    @property
    def passes(self) -> bool:
        """Whether the entry counts: at least 97 % of its samples agree."""
        return self.samples > 0 and len(self.failed) <= 0.03 * self.samples

    @classmethod
    def read(cls, line: str) -> Outcome:
        """The outcome that a child process wrote as JSON."""
        fields = json.loads(line)
        for key in ("failed", "errors_failed"):
            fields[key] = {int(index): text for index, text in fields[key].items()}
        return cls(**fields)


class SkippedError(Exception):
    """torch itself does not run this on the CPU."""


@functools.cache
def entries() -> dict[str, Any]:
    """The entries of `op_db` that have float32 samples, by name."""
    return {info.full_name: info for info in op_db if torch.float32 in info.supported_dtypes("cpu")}


def run_entry(name: str, limit: int | None = None) -> Outcome:
    """Runs the samples of an entry (`limit` of them, spread evenly) and its error inputs."""
    info = entries()[name]
    with quiet():
        samples = list(info.sample_inputs("cpu", torch.float32, requires_grad=has_gradient(info)))
        errors = list(info.error_inputs("cpu")) if info.error_inputs_func is not None else []
        return run_cases(
            name,
            [functools.partial(run_sample, info, sample) for sample in samples],
            [functools.partial(run_error, info, error) for error in errors],
            limit,
        )


def run_cases(
    name: str, samples: Sequence[Callable[[], None]], errors: Sequence[Callable[[], None]], limit: int | None
) -> Outcome:
    outcome = Outcome(name)
    outcome.ran, outcome.failed = attempt(samples, spread(len(samples), limit))
    outcome.errors_ran, outcome.errors_failed = attempt(errors, range(len(errors)))
    return outcome


def attempt(cases: Sequence[Callable[[], None]], chosen: Iterable[int]) -> tuple[list[int], dict[int, str]]:
    ran: list[int] = []
    failed: dict[int, str] = {}
    for index in chosen:
        try:
            cases[index]()
        except SkippedError:
            continue
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a PanicException is no Exception
            failed[index] = f"{type(error).__name__}: {error}"
        ran.append(index)
    return ran, failed


def spread(count: int, limit: int | None) -> list[int]:
    """`limit` numbers below `count`, first and last included."""
    if limit is None or count <= limit:
        return list(range(count))
    return sorted({round(i * (count - 1) / (limit - 1)) for i in range(limit)}) if limit > 1 else [0]


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


def has_gradient(info: Any) -> bool:
    return bool(info.supports_autograd) and torch.float32 in info.supported_backward_dtypes("cpu")


def run_sample(info: Any, sample: Any) -> None:
    """Fails unless pyburn's result and gradients are torch's."""
    judge = ShapeJudge(info) if info.has_nondeterministic_output else BankJudge(info)
    translate = Translator()
    failure: Exception | None = None
    try:
        function = resolve(info)
        ours = [translate(value) for value in (sample.input, sample.args, sample.kwargs)]
    except Exception as error:
        failure = error
    expected = expect(info, sample)
    if failure is not None:
        raise failure
    pyburn.manual_seed(SEED)
    found = function(ours[0], *ours[1], **ours[2])
    process = sample.output_process_fn_grad
    if info.name in GAUGE:
        expected, found = process(expected), rebind(process)(found)
        process = None
    judge.compare(expected, found)
    if has_gradient(info):
        if process is not None:
            expected, found = process(expected), rebind(process)(found)
        compare_gradients(judge, (expected, found), translate.leaves())


def expect(info: Any, sample: Any) -> Any:
    """torch's result."""
    torch.manual_seed(SEED)
    try:
        return info.op(sample.input, *sample.args, **sample.kwargs)
    except Exception as error:
        raise SkippedError(f"torch raises: {error}") from error


def compare_gradients(judge: BankJudge, results: tuple[Any, Any], leaves: list[tuple[torch.Tensor, Any]]) -> None:
    outputs = list(zip(collect(results[0], torch.Tensor), collect(results[1], pyburn.Tensor), strict=True))
    wanted = [pair for pair in outputs if pair[0].requires_grad]
    cotangents = [random_like(one, seed) for seed, (one, _) in enumerate(wanted)]
    expected: Sequence[Any] = ()
    if wanted and leaves:
        try:
            expected = torch.autograd.grad(
                [one for one, _ in wanted], [x for x, _ in leaves], cotangents, allow_unused=True
            )
        except Exception:
            return  # torch has no gradient for it
    for index, (one, other) in enumerate(outputs):
        assert one.requires_grad == other.requires_grad, f"output {index}: requires_grad is {other.requires_grad}"
    if not wanted or not leaves:
        return
    mine = [Case(cotangent).ours("cpu") for cotangent in cotangents]
    found = grad_ours([other for _, other in wanted], [y for _, y in leaves], mine, create_graph=False)
    compare_grads(judge, list(expected), found, [x for x, _ in leaves], "gradient")


def accepted(call: Callable[[], Any]) -> bool:
    """Whether torch runs it."""
    try:
        call()
    except Exception:
        return False
    return True


def run_error(info: Any, error: Any) -> None:
    """Fails unless pyburn refuses, by an ordinary exception of its own, what torch refuses."""
    sample = error.sample_input
    function = resolve(info)
    try:
        translate = Translator()
        ours = [translate(value) for value in (sample.input, sample.args, sample.kwargs)]
    except (RuntimeError, ValueError, TypeError):
        return  # the input itself cannot be made: a tensor of 65 dimensions
    if accepted(lambda: info.op(sample.input, *sample.args, **sample.kwargs)):
        raise SkippedError("torch accepts this")
    try:
        function(ours[0], *ours[1], **ours[2])
    except Exception as raised:
        assert "the engine failed" not in str(raised), f"a panic of burn reached the caller: {raised}"
        return
    raise AssertionError(f"pyburn accepts what torch refuses: {error.error_type.__name__} {error.error_regex}")
