"""torchaudio's compiled operators under their names in `torch.ops.torchaudio`, so that the real package imports."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from pyburn._core import Tensor
from pyburn.autograd import enable_grad, grad, no_grad
from pyburn.library import Library
from pyburn.nn.burn import rnnt_loss
from pyburn.ops import tensor

__all__ = ["register"]

_SCHEMAS = {
    "_torchaudio": ("is_align_available() -> bool", "cuda_version() -> int?"),
    "torchaudio": (
        "_lfilter_core_loop(Tensor input_signal_windows, Tensor a_coeff_flipped, Tensor(a!) padded_output_waveform)"
        " -> ()",
        "_overdrive_core_loop(Tensor waveform, Tensor temp, Tensor last_in, Tensor last_out, Tensor(a!) "
        "output_waveform) -> ()",
        "forced_align(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank)"
        " -> (Tensor, Tensor)",
        "rnnt_loss_forward(Tensor logits, Tensor targets, Tensor logit_lengths, Tensor target_lengths, int blank, "
        "float clamp, bool fused_log_softmax=True) -> (Tensor, Tensor)",
    ),
}


def _filter_loop(windows: Tensor, coefficients: Tensor, padded: Tensor) -> None:
    # Each sample needs the one before it: Python's numbers make that loop faster than one tensor op a sample would.
    order = coefficients.shape[1]
    rows = windows.tolist()
    for row, start in zip(rows, padded[..., : order - 1].tolist(), strict=True):
        for channel, (signal, before) in enumerate(zip(row, start, strict=True)):
            weights = coefficients[channel, : order - 1].tolist()
            heard = list(before)
            for value in signal:
                past = heard[len(heard) - order + 1 :]
                heard.append(value - sum(w * y for w, y in zip(weights, past, strict=True)))
            row[channel] = heard[order - 1 :]
    padded[..., order - 1 :] = tensor(rows, dtype=padded.dtype)


def _overdrive_loop(waveform: Tensor, temp: Tensor, last_in: Tensor, last_out: Tensor, output: Tensor) -> None:
    rows = []
    for row, before, out in zip(temp.tolist(), last_in.tolist(), last_out.tolist(), strict=True):
        heard = []
        for value in row:
            out = value - before + 0.995 * out
            before = value
            heard.append(out)
        rows.append(heard)
    output.copy_(waveform * 0.5 + tensor(rows, dtype=output.dtype) * 0.75)


def _transducer_loss(
    logits: Tensor,
    targets: Tensor,
    logit_lengths: Tensor,
    target_lengths: Tensor,
    blank: int,
    clamp: float,
    fused_log_softmax: bool = True,
) -> tuple[Tensor, Tensor]:
    with enable_grad():
        leaf = logits.detach().requires_grad_()
        last = blank if blank >= 0 else logits.shape[-1] + blank
        losses = rnnt_loss(leaf, targets, logit_lengths, target_lengths, last, fused_log_softmax, "none")
        slope: Tensor = grad(losses.sum(), leaf)[0]
    return losses.detach(), slope.clamp(-clamp, clamp) if clamp > 0 else slope


def _align(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int
) -> tuple[Tensor, Tensor]:
    """The most probable way through a CTC lattice (Viterbi), one class a time step, and the scores it was read from."""
    if log_probs.shape[0] != 1:
        raise RuntimeError(f"forced_align: batch size must be 1, got {log_probs.shape[0]}.")
    times, count = int(input_lengths[0]), int(target_lengths[0])
    labels = targets[0, :count].tolist()
    states = [blank]
    for label in labels:
        states += [label, blank]
    repeats = sum(a == b for a, b in pairwise(labels))
    if times < count + repeats:
        raise RuntimeError(
            f"forced_align: targets length is too long for CTC: {times} time steps, {count} labels, {repeats} repeats."
        )
    path = [states[state] for state in _best_states(log_probs[0, :times].tolist(), states, blank)]
    return tensor([path], dtype=targets.dtype), log_probs


def _best_states(scores: list[list[float]], states: list[int], blank: int) -> list[int]:
    best = [scores[0][state] if place < 2 else -math.inf for place, state in enumerate(states)]
    came: list[list[int]] = []
    for row in scores[1:]:
        after, origins = [], []
        for place, state in enumerate(states):
            origin = place
            if place and best[place - 1] > best[origin]:
                origin = place - 1
            may_skip = place > 1 and state != blank and state != states[place - 2]
            if may_skip and best[place - 2] > best[origin]:
                origin = place - 2
            after.append(best[origin] + row[state])
            origins.append(origin)
        best = after
        came.append(origins)
    place = len(states) - 1
    if place and best[place - 1] > best[place]:
        place -= 1
    path = [place]
    for origins in reversed(came):
        path.append(origins[path[-1]])
    return path[::-1]


def _without_gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        with no_grad():
            return function(*arguments)

    return call


_KERNELS: dict[str, dict[str, Callable[..., Any]]] = {
    "_torchaudio": {"is_align_available": lambda: True, "cuda_version": lambda: None},
    "torchaudio": {
        "_lfilter_core_loop": _without_gradient(_filter_loop),
        "_overdrive_core_loop": _without_gradient(_overdrive_loop),
        "forced_align": _without_gradient(_align),
        "rnnt_loss_forward": _transducer_loss,
    },
}


def register() -> None:
    """Nothing; `torch.ops.torchaudio` has the operators."""
    for space, schemas in _SCHEMAS.items():
        library = Library(space, "FRAGMENT")
        for schema in schemas:
            library.define(schema)
        for name, kernel in _KERNELS[space].items():
            library.impl(name, kernel, "CompositeExplicitAutograd")
