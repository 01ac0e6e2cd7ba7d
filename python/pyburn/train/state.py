"""All that a run needs to go on exactly: taken from a learner, and put back into one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pyburn.train import randomness
from pyburn.train.logged import metrics_of

if TYPE_CHECKING:
    from pyburn.train.learner import Learner

__all__ = ["history_of", "restore", "restore_randomness", "state_of"]

FORMAT = 2


def state_of(learner: Learner) -> dict[str, Any]:
    """The run as it stands: weights, optimizer, schedule, counters, metrics, callbacks and random numbers."""
    within = learner.batches_done > 0
    waiting = learner.gradients.waiting
    return {
        "format": FORMAT,
        "start": learner.start,
        "finished": learner.finished,
        "batch": learner.batches_done,
        "step": learner.step,
        "model": learner.model.state_dict(),
        "gradients": [weight.grad for weight in learner.model.parameters()] if waiting else None,
        "waiting": waiting,
        "optimizer": learner.optimizer.state_dict(),
        "schedule": learner.schedule.state_dict(),
        "scaler": learner.gradients.state_dict(),
        "metrics": [each.state_dict() for each in learner.trackers["train"]] if within else None,
        "logged": learner.logged["train"].state_dict() if within else None,
        "module_metrics": _module_metrics(learner) if within else {},
        "callbacks": [[type(each).__name__, each.state_dict()] for each in learner.events.callbacks],
        "history": _packed(learner.history),
        "randomness": randomness.packed(learner.next_randomness or _randomness(learner)),
        "epoch_randomness": randomness.packed(learner.epoch_randomness) if within else None,
    }


def _module_metrics(learner: Learner) -> dict[str, Any]:
    """The states of the metrics that the module's training step logs; those of validation begin anew."""
    logged = list(learner.logged["train"].metrics.values())
    own = metrics_of(learner.model).items()
    return {name: each.state_dict() for name, each in own if any(each is other for other in logged)}


def _randomness(learner: Learner) -> dict[str, Any]:
    return randomness.capture(learner.train_data, learner.valid_data)


def _packed(history: list[dict[str, Any]]) -> Any:
    """The same as text: lines of numbers one by one would take most of the time of a checkpoint after many epochs."""
    try:
        return json.dumps(history)
    except TypeError:  # a metric that gives a number for each class
        return history


def history_of(state: dict[str, Any]) -> list[dict[str, Any]]:
    """The lines of the epochs that `state_of` packed."""
    history = state["history"]
    return list(json.loads(history) if isinstance(history, str) else history)


def restore(learner: Learner, state: dict[str, Any]) -> None:
    """Nothing; the learner stands where the other stood, and its next `fit` goes on from there."""
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise ValueError("Learner: this is no checkpoint of a Learner; load weights by learner.load or load_state_dict")
    if state["metrics"] is not None and len(state["metrics"]) != len(learner.metrics):
        raise ValueError(
            f"Learner: the checkpoint stands within an epoch of a run with {len(state['metrics'])} metrics (one is the "
            f"loss), and this one has {len(learner.metrics)}; resume with the same metrics"
        )
    learner.model.load_state_dict(state["model"])
    learner.optimizer.load_state_dict(state["optimizer"])
    learner.schedule.load_state_dict(state["schedule"])
    learner.gradients.load_state_dict(state["scaler"])
    learner.gradients.waiting = state["waiting"]
    if state["gradients"] is not None:
        for weight, gradient in zip(learner.model.parameters(), state["gradients"], strict=True):
            weight.grad = None if gradient is None else gradient.to(weight.device)
    learner.start, learner.finished, learner.step = state["start"], state["finished"], state["step"]
    learner.history = history_of(state)
    learner.batches_done = learner.skip = state["batch"]
    learner.next_trackers = state["metrics"]
    learner.next_logged = state.get("logged")
    own = metrics_of(learner.model)
    for name, saved in state.get("module_metrics", {}).items():
        if name in own:
            own[name].load_state_dict(saved)
    for callback, (name, saved) in zip(learner.events.callbacks, state["callbacks"], strict=False):
        if type(callback).__name__ == name:
            callback.load_state_dict(saved)
    restore_randomness(learner, state)


def restore_randomness(learner: Learner, state: dict[str, Any]) -> None:
    """Nothing; within an epoch the numbers are those of its begin, and the learner keeps the present ones for later.

    The order of an epoch's samples is drawn when it begins: a run that goes on within one draws the same order again,
    leaves out the batches that it has used, and only then has the random numbers of where it stopped.
    """
    learner.epoch_randomness = state["epoch_randomness"]
    if learner.epoch_randomness is None:
        learner.next_randomness = None
        randomness.restore(state["randomness"], learner.train_data, learner.valid_data)
    else:
        learner.next_randomness = state["randomness"]
        randomness.restore(learner.epoch_randomness, learner.train_data, learner.valid_data)
