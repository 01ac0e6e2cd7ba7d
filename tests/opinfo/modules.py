"""Runs torch's own bank of layers (`module_db`) on pyburn: results, states and gradients against torch."""

from __future__ import annotations

import functools
from typing import Any

import pyburn
import torch
from torch.testing._internal.common_modules import module_db

from opinfo.bank import SEED, Outcome, SkippedError, compare_gradients, quiet, run_cases
from opinfo.judge import BankJudge
from opinfo.resolve import path
from opinfo.translate import Translator, dense


@functools.cache
def entries() -> dict[str, Any]:
    return {f"module:{info.name}": info for info in module_db if torch.float32 in info.dtypes}


def run_entry(name: str, limit: int | None = None) -> Outcome:
    """Runs a layer's samples in training and in evaluation mode."""
    info = entries()[name]
    cases = []
    with quiet():
        for training in (True, False):
            torch.manual_seed(SEED)
            inputs = info.module_inputs_func(
                info, device="cpu", dtype=torch.float32, requires_grad=True, training=training
            )
            cases += [functools.partial(run_sample, info, sample, training) for sample in inputs]
        errors = []
        if info.module_error_inputs_func is not None:
            samples = info.module_error_inputs_func(
                info, device="cpu", dtype=torch.float32, requires_grad=True, training=False
            )
            errors = [functools.partial(run_error, info, sample) for sample in samples]
        return run_cases(name, cases, errors, limit)


def run_sample(info: Any, sample: Any, training: bool) -> None:
    """Fails unless our layer, given torch's weights, does what torch's does."""
    translate = Translator()
    inputs, failure, ours = None, None, None
    try:
        ours = build(info, sample, translate).train(training)
        inputs = translate((sample.forward_input.args, sample.forward_input.kwargs))
    except Exception as error:
        failure = error
    theirs = torch_layer(info, sample, training)
    if info.is_lazy:
        call(torch, theirs, sample.forward_input.args, sample.forward_input.kwargs)
        if failure is None:
            call(pyburn, ours, *inputs)
    if failure is None:
        keys = list(theirs.state_dict())
        assert list(ours.state_dict()) == keys, f"state_dict: {list(ours.state_dict())}, torch has {keys}"
        ours.load_state_dict({key: dense(value) for key, value in theirs.state_dict().items()})
    expected = call(torch, theirs, sample.forward_input.args, sample.forward_input.kwargs)
    if failure is not None:
        raise failure
    found = call(pyburn, ours, *inputs)
    judge = BankJudge(info)
    judge.compare(expected, found)
    for key, value in theirs.state_dict().items():
        judge.compare(value, ours.state_dict()[key], f"state {key}")
    parameters = dict(ours.named_parameters())
    pairs = [(value, parameters[key]) for key, value in theirs.named_parameters()]
    compare_gradients(judge, (expected, found), [*pairs, *translate.leaves()])


def build(info: Any, sample: Any, translate: Translator) -> Any:
    cls = path(info.name if info.name.startswith("nn.") else f"nn.{info.name}")
    made = sample.constructor_input
    return cls(*translate(made.args), **translate(made.kwargs))


def torch_layer(info: Any, sample: Any, training: bool) -> Any:
    try:
        torch.manual_seed(SEED)
        return info.module_cls(*sample.constructor_input.args, **sample.constructor_input.kwargs).train(training)
    except Exception as error:
        raise SkippedError(f"torch raises: {error}") from error


def call(library: Any, layer: Any, args: Any, kwargs: Any) -> Any:
    """The layer's result from one seed; where torch raises, the sample does not count."""
    library.manual_seed(SEED)
    try:
        return layer(*args, **kwargs)
    except Exception as error:
        if library is torch:
            raise SkippedError(f"torch raises: {error}") from error
        raise


def run_error(info: Any, error: Any) -> None:
    """Fails unless our layer refuses what torch's refuses."""
    sample = error.module_error_input
    translate = Translator()
    try:
        layer = build(info, sample, translate)
        layer(*translate(sample.forward_input.args), **translate(sample.forward_input.kwargs))
    except Exception as raised:
        assert "the engine failed" not in str(raised), f"a panic of burn reached the caller: {raised}"
        return
    raise AssertionError(f"pyburn accepts what torch refuses: {error.error_type.__name__} {error.error_regex}")
