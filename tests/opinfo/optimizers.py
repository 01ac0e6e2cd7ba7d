"""Runs torch's own bank of optimizers (`optim_db`) on pyburn: ten steps from one start, to 1e-5."""

from __future__ import annotations

import functools
from typing import Any

import pyburn
import torch
from torch.testing._internal.common_optimizers import optim_db

from opinfo.bank import Outcome, SkippedError, accepted, quiet, run_cases
from opinfo.translate import Translator, dense
from oracle import to_torch

STEPS = 10


@functools.cache
def entries() -> dict[str, Any]:
    return {f"optim:{info.optim_cls.__name__}": info for info in optim_db}


def run_entry(name: str, limit: int | None = None) -> Outcome:
    """Runs every configuration of an optimizer, and its error inputs."""
    info = entries()[name]
    with quiet():
        cases = [functools.partial(run_sample, info, sample) for sample in info.optim_inputs_func(device="cpu")]
        errors = []
        if info.optim_error_inputs_func is not None:
            samples = info.optim_error_inputs_func(device="cpu", dtype=torch.float32)
            errors = [functools.partial(run_error, info, sample) for sample in samples]
        return run_cases(name, cases, errors, limit)


def start() -> list[torch.Tensor]:
    """A weight, an input, and for sparse gradients the rows that are looked up."""
    torch.manual_seed(0)
    return [torch.randn(10, 5), torch.randn(5), torch.randn(10, 4)]


def run_sample(info: Any, sample: Any) -> None:
    """Fails unless losses and parameters agree after each step."""
    values = start()
    if info.step_requires_closure:
        # L-BFGS asks whether a curvature is above 1e-10, twenty times a step: in float32 rounding answers, and on
        # a loss that is not convex the paths part.
        values = [value.double() for value in values]
    expected = curve(torch, info, sample.kwargs, values)
    found = curve(pyburn, info, Translator()(sample.kwargs), [dense(value) for value in values])
    for step, (one, other) in enumerate(zip(expected, found, strict=True)):
        for left, right in zip(one, other, strict=True):
            torch.testing.assert_close(
                to_torch(right.detach()),
                left.detach(),
                rtol=1e-5,
                atol=1e-5,
                msg=lambda text, n=step: f"step {n}: {text}",
            )


def curve(library: Any, info: Any, kwargs: dict[str, Any], values: list[Any]) -> list[list[Any]]:
    """Loss and parameters after each step."""
    weight, inputs, bias = values[0].clone().requires_grad_(), values[1], values[2].clone().requires_grad_()
    parameters = [weight] if info.only_supports_sparse_grads else [weight, bias]
    optimizer = getattr(library.optim, info.optim_cls.__name__)(parameters, **kwargs)
    rows = library.tensor([1, 3, 3, 7])

    def closure() -> Any:
        optimizer.zero_grad()
        if info.only_supports_sparse_grads:
            looked_up = library.nn.functional.embedding(rows, weight, sparse=True)
            loss = (looked_up * inputs).sum(-1).pow(2).sum()
        elif info.step_requires_closure:
            loss = (weight @ inputs).pow(2).sum() + (bias - 1).pow(4).mean() + 0.1 * (weight - 0.5).pow(4).sum()
        else:
            loss = (weight @ inputs).pow(2).sum() + (bias - 1).pow(2).mean() + (weight.T @ bias).sin().sum()
        if info.step_requires_closure and kwargs.get("maximize"):
            loss = -loss  # else twenty iterations a step lead beyond all numbers
        loss.backward()
        return loss

    found = []
    for _ in range(STEPS):
        loss = optimizer.step(closure)
        found.append([loss.detach().clone(), *[parameter.detach().clone() for parameter in parameters]])
    return found


def run_error(info: Any, error: Any) -> None:
    """Fails unless our optimizer refuses what torch's refuses when it is made."""
    sample = error.optimizer_error_input
    translate = Translator()
    if "CONSTRUCTION" not in str(error.error_on):
        raise SkippedError("errors of steps are tested with the optimizers")
    if accepted(lambda: info.optim_cls(sample.params, **sample.kwargs)):
        raise SkippedError("torch only warns")
    try:
        getattr(pyburn.optim, info.optim_cls.__name__)(translate(sample.params), **translate(sample.kwargs))
    except Exception:
        return
    raise AssertionError(f"pyburn accepts what torch refuses: {error.error_type.__name__} {error.error_regex}")
