"""The named events of a run: the one extension point that callbacks, renderers, loggers and strategies are built on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyburn.train.learner import Learner

__all__ = ["EVENTS", "Callback", "Events", "SkipBatch", "StopEpoch", "StopFit"]

EVENTS = (
    "before_fit",  # once; the model, the optimizer and the data are ready
    "before_epoch",
    "before_train",  # the training half of an epoch
    "before_batch",  # learner.data is what the loader gave; it may be replaced
    "after_forward",  # learner.batch.output is there
    "after_loss",  # learner.batch.loss is there; it may be replaced
    "after_backward",  # the gradients of this batch are added
    "before_step",  # the gradients are whole, clipped, and about to be used
    "after_step",  # the weights are new
    "after_batch",  # everything about this batch is known; metrics have seen it
    "after_train",
    "before_validate",  # the validating half, whose batches fire the events of batches too
    "after_validate",
    "after_epoch",  # learner.history ends with this epoch's line
    "after_fit",  # always, also after an error or an interrupt
)


class SkipBatch(Exception):
    """Raised in an event: the rest of this batch is left out."""


class StopEpoch(Exception):
    """Raised in an event: this half of the epoch ends here."""


class StopFit(Exception):
    """Raised in an event, with the reason as its text: the run ends here, as if its epochs were over."""


class Callback:
    """Something that takes part in a run: a subclass has a method for each event that it cares about.

    Each of `EVENTS` may be a method that takes the learner. `order` says who is called first (small numbers).

    Example:
        >>> class Count(Callback):
        ...     batches = 0
        ...     def after_batch(self, learner):
        ...         self.batches += learner.training
    """

    order: int = 0

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps of this callback, so that a resumed run goes on as if it had not stopped."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Takes back what `state_dict` gave."""


class Events:
    """Who is called at which event.

    Example:
        >>> events = Events()
        >>> events.on("after_batch", lambda learner: print("one more"))
        >>> events.fire("after_batch", None)
        one more
    """

    def __init__(self) -> None:
        self.callbacks: list[Callback] = []
        self._handlers: dict[str, list[tuple[int, Callable[[Any], object]]]] = {event: [] for event in EVENTS}
        self._calls: dict[str, tuple[Callable[[Any], object], ...]] = {}

    def add(self, callback: Callback) -> None:
        """Nothing; the events that `callback` has methods for call it from now on."""
        self.callbacks.append(callback)
        for event in EVENTS:
            handler = getattr(callback, event, None)
            if handler is not None:
                self.on(event, handler, callback.order)

    def remove(self, callback: Callback) -> None:
        """Nothing; `callback` is not called any more."""
        self.callbacks.remove(callback)
        for handlers in self._handlers.values():
            handlers[:] = [(order, call) for order, call in handlers if getattr(call, "__self__", None) is not callback]
        self._bind()

    def on(self, event: str, function: Callable[[Any], object], order: int = 0) -> None:
        """Nothing; `function(learner)` is called at `event` from now on."""
        if event not in self._handlers:
            raise ValueError(f"on: there is no event {event!r}; the events are {', '.join(EVENTS)}")
        handlers = self._handlers[event]
        handlers.append((order, function))
        handlers.sort(key=lambda pair: pair[0])
        self._bind()

    def _bind(self) -> None:
        """Nothing; who waits for what is ready to be called: events without anyone, which are most, cost nothing."""
        self._calls = {event: tuple(call for _, call in found) for event, found in self._handlers.items() if found}

    def fire(self, event: str, learner: Learner | None) -> None:
        """Nothing; everyone who waits for `event` has been called."""
        for function in self._calls.get(event, ()):
            function(learner)
