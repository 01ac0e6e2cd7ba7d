"""The hooks and properties that modules written for Lightning count on: `on_train_epoch_end`, `self.current_epoch`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyburn import nn
from pyburn.train.events import Callback

if TYPE_CHECKING:
    from pyburn.train.learner import Learner

__all__ = ["ModuleHooks", "has_hooks"]

_STEPS = ("training_step", "validation_step", "test_step")
_LOOPS = {"train": "train", "valid": "validation", "test": "test"}


def has_hooks(model: nn.Module) -> bool:
    """Whether the module has steps or hooks of its own.

    Example:
        >>> has_hooks(nn.Linear(1, 1))
        False
    """
    return any(hasattr(model, name) for name in _STEPS) or any(name.startswith("on_") for name in dir(model))


class ModuleHooks(Callback):
    """Calls the hooks of a module under Lightning's names, and lends it `current_epoch`, `global_step` and `device`.

    What a hook logs by `self.log` stands in the epoch's line. What the module has itself is left alone.
    """

    order = -60  # before averaged weights come or go

    def __init__(self) -> None:
        self._lent: list[str] = []
        self._fitting = False
        self._number = -1  # of the batch

    def before_fit(self, learner: Learner) -> None:
        """Nothing; the module knows that a run begins."""
        self._fitting = True
        self._lend(learner)
        self._call(learner, "on_fit_start")
        self._call(learner, "on_train_start")

    def before_epoch(self, learner: Learner) -> None:
        """Nothing; the module knows the epoch."""
        self._lend(learner)

    def before_train(self, learner: Learner) -> None:
        """Nothing; the module knows that its training goes on."""
        self._call(learner, "on_train_epoch_start")

    def before_batch(self, learner: Learner) -> None:
        """Nothing; the module has seen the batch."""
        self._number = learner.batches_done - 1 if learner.training else self._number + 1
        self._call(learner, f"on_{_LOOPS[learner.split]}_batch_start", learner.data, self._number)

    def after_backward(self, learner: Learner) -> None:
        """Nothing; the module has seen its gradients."""
        self._call(learner, "on_after_backward")

    def before_step(self, learner: Learner) -> None:
        """Nothing; the module has seen its gradients, whole and clipped."""
        self._call(learner, "on_before_optimizer_step", learner.optimizer)

    def after_step(self, learner: Learner) -> None:
        """Nothing; the module knows the number of steps."""
        if "global_step" in self._lent:
            vars(learner.model)["global_step"] = learner.step

    def after_batch(self, learner: Learner) -> None:
        """Nothing; the module has seen what became of the batch."""
        batch = learner.batch
        if batch is not None:
            outputs = {"loss": batch.loss, "output": batch.output}
            self._call(learner, f"on_{_LOOPS[learner.split]}_batch_end", outputs, learner.data, batch.index)

    def after_train(self, learner: Learner) -> None:
        """Nothing; the module knows that the training of the epoch is over."""
        self._call(learner, "on_train_epoch_end")

    def before_validate(self, learner: Learner) -> None:
        """Nothing; the module knows that it is judged."""
        self._number = -1
        self._lend(learner)
        self._call(learner, f"on_{_LOOPS[learner.split]}_epoch_start")

    def after_validate(self, learner: Learner) -> None:
        """Nothing; the module knows that it has been judged."""
        self._call(learner, f"on_{_LOOPS[learner.split]}_epoch_end")
        if not self._fitting:
            self._take_back(learner)

    def after_fit(self, learner: Learner) -> None:
        """Nothing; the module is as it was."""
        self._fitting = False
        self._call(learner, "on_train_end")
        self._call(learner, "on_fit_end")
        self._take_back(learner)

    def _call(self, learner: Learner, name: str, *arguments: Any) -> None:
        hook = getattr(learner.model, name, None)
        if hook is None:
            return
        logged = learner.logged.get(learner.split)
        if logged is None:
            hook(*arguments)
        else:
            with logged.given_to(learner.model, learner.batch.size if learner.batch is not None else 1):
                hook(*arguments)

    def _lend(self, learner: Learner) -> None:
        own = {"current_epoch": max(learner.epoch - 1, 0), "global_step": learner.step, "device": learner.device}
        self._lent += [name for name in own if name not in self._lent and not hasattr(learner.model, name)]
        vars(learner.model).update({name: own[name] for name in self._lent})

    def _take_back(self, learner: Learner) -> None:
        for name in self._lent:
            vars(learner.model).pop(name, None)
        self._lent = []
