"""What takes part in `fit`, `evaluate` and `predict`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["Callback", "CallbackList", "History"]

Logs = dict[str, Any] | None


class Callback:
    """A subclass has a method for each moment that it cares about.

    Attributes:
        model: The model that is trained.
        params: What `fit` was given: "epochs", "steps", "verbose".
    """

    model: Any = None
    params: dict[str, Any]

    def __init__(self) -> None:
        self.params = {}

    def set_params(self, params: dict[str, Any]) -> None:
        """Nothing; the callback knows what `fit` was given."""
        self.params = params

    def set_model(self, model: Any) -> None:
        """Nothing; the callback knows its model."""
        self.model = model

    def on_train_begin(self, logs: Logs = None) -> None:
        """Nothing; called when `fit` begins."""

    def on_train_end(self, logs: Logs = None) -> None:
        """Nothing; called when `fit` ends."""

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Nothing; called when an epoch begins."""

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Nothing; called with the numbers of an epoch."""

    def on_train_batch_begin(self, batch: int, logs: Logs = None) -> None:
        """Nothing; called before each batch of training."""
        self.on_batch_begin(batch, logs=logs)

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Nothing; called with the numbers so far after each batch of training."""
        self.on_batch_end(batch, logs=logs)

    def on_test_begin(self, logs: Logs = None) -> None:
        """Nothing; called when evaluation or validation begins."""

    def on_test_end(self, logs: Logs = None) -> None:
        """Nothing; called when evaluation or validation ends."""

    def on_test_batch_begin(self, batch: int, logs: Logs = None) -> None:
        """Nothing; called before each batch of evaluation."""

    def on_test_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Nothing; called with the numbers so far after each batch of evaluation."""

    def on_predict_begin(self, logs: Logs = None) -> None:
        """Nothing; called when `predict` begins."""

    def on_predict_end(self, logs: Logs = None) -> None:
        """Nothing; called when `predict` ends."""

    def on_predict_batch_begin(self, batch: int, logs: Logs = None) -> None:
        """Nothing; called before each batch of `predict`."""

    def on_predict_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Nothing; called after each batch of `predict`."""

    def on_batch_begin(self, batch: int, logs: Logs = None) -> None:
        """Nothing; an older name of `on_train_batch_begin`."""

    def on_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Nothing; an older name of `on_train_batch_end`."""


class History(Callback):
    """The numbers of all epochs, as `fit` gives them back.

    Attributes:
        history: A list for each number.
        epoch: The numbers of the epochs.
    """

    def __init__(self) -> None:
        super().__init__()
        self.history: dict[str, list[Any]] = {}
        self.epoch: list[int] = []

    def on_train_begin(self, logs: Logs = None) -> None:
        self.epoch = []

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)
        self.model.history = self

    def __repr__(self) -> str:
        last = {name: values[-1] for name, values in self.history.items()}
        return f"History({len(self.epoch)} epochs, last: {', '.join(f'{k}={v:.4g}' for k, v in last.items())})"


class CallbackList(Callback):
    """Several callbacks as one."""

    def __init__(
        self,
        callbacks: Iterable[Any] | Any | None = None,
        add_history: bool = False,
        add_progbar: bool = False,
        model: Any = None,
        **params: Any,
    ) -> None:
        super().__init__()
        given: list[Any] = (
            [] if callbacks is None else list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]
        )
        self.callbacks: list[Callback] = given
        if add_progbar:
            from pyburn.keras.callbacks.progress import ProgbarLogger

            self.callbacks.append(ProgbarLogger())
        self.history = next((each for each in given if isinstance(each, History)), None)
        if add_history and self.history is None:
            self.history = History()
            self.callbacks.append(self.history)
        if model is not None:
            self.set_model(model)
        self.set_params(params)

    def append(self, callback: Callback) -> None:
        """Nothing; one callback more."""
        self.callbacks.append(callback)

    def __getattribute__(self, name: str) -> Any:
        # Each moment is passed on to all.
        if not name.startswith(("on_", "set_")):
            return super().__getattribute__(name)
        callbacks = self.callbacks

        def pass_on(*args: Any, **kwargs: Any) -> None:
            if name.startswith("on_") and "logs" not in kwargs and not (args and isinstance(args[-1], dict)):
                args = (*(each for each in args if each is not None), {})
            for each in callbacks:
                getattr(each, name)(*args, **kwargs)

        return pass_on
