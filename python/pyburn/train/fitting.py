"""`model.train(train_data, config)`: one call from data and settings to a trained model, for every kind of model."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from pyburn import nn
from pyburn._core import Tensor
from pyburn.train import losses
from pyburn.train.config import Config
from pyburn.train.events import Callback
from pyburn.train.learner import Learner

__all__ = ["TrainConfig", "Trainable", "train_model"]

_F = nn.functional
_FIT = ("epochs", "batch_size", "resume")
_LEARNER = tuple(name for name in inspect.signature(Learner).parameters if name not in ("model", "config"))
_NAMES = (*_FIT, *_LEARNER)


class TrainConfig(Config):
    """The usual settings of `model.train(train_data, config)`, which may also be a dictionary or a Config of your own.

    Each field is an argument of `Learner` or of `Learner.fit`, under its name.

    Example:
        >>> config = TrainConfig(epochs=3, lr=1e-2)
        >>> config.batch_size, config.optimizer
        (32, 'adamw')
    """

    epochs: int = 1
    batch_size: int = 32
    optimizer: str = "adamw"
    lr: float | None = None
    loss: str | None = None
    metrics: list[str] | None = None
    device: str | None = None
    seed: int | None = None


def train_model(
    model: nn.Module,
    train_data: Any,
    config: Any = None,
    valid_data: Any = None,
    *,
    defaults: Mapping[str, Any] | None = None,
    **settings: Any,
) -> list[dict[str, Any]]:
    """The history of training `model`, a dictionary for each epoch, as `Learner.fit` gives it.

    Args:
        model: The module to train.
        train_data: A loader, a dataset, or a tuple of tensors or arrays.
        config: A `TrainConfig`, a dictionary, or any dataclass: its fields that are arguments of `Learner` or of
            `Learner.fit` are used, None meaning that nothing was said. A dictionary may hold nothing else, a dataclass
            may: these are the settings of its owner.
        valid_data: The same as `train_data` for validation.
        defaults: What holds where neither `config` nor `settings` say anything.
        **settings: Single settings, which go before those of `config`.

    Without a `loss`, targets that are integers are classes (cross entropy) and others are values (mean squared error).

    Example:
        >>> import pyburn
        >>> x = pyburn.randn(64, 3)
        >>> config = {"epochs": 20, "optimizer": "sgd", "lr": 0.1, "folder": False, "renderer": None}
        >>> history = train_model(nn.Linear(3, 1), (x, x.sum(1, keepdim=True)), config)
        >>> history[-1]["train_loss"] < 0.01
        True
    """
    if isinstance(config, Mapping):
        _refuse_unknown(config)
    _refuse_unknown(settings)
    chosen = {**(defaults or {}), **_said(config), **settings}
    fit = {name: chosen.pop(name) for name in _FIT if name in chosen}
    chosen["loss"] = _Loss(chosen.get("loss"), getattr(model, "aux_weight", 0.0))
    chosen["callbacks"] = [_MainOutput(), *chosen.get("callbacks", ())]
    learner = Learner(model, config=config if isinstance(config, Config) else None, **chosen)
    return learner.fit(train_data, valid_data, **fit)


class Trainable(nn.Module):
    """A module whose `train` also takes data: `model.train(train_data, config)`; `model.train(False)` stays torch's."""

    def train(self, mode: Any = True, config: Any = None, valid_data: Any = None, **settings: Any) -> Any:
        """This module in training mode; given data instead of a bool, the history of training on it.

        Args:
            mode: A bool as in torch, or the data to train on: a loader, a dataset, a tuple of tensors or arrays.
            config: The settings, see `pyburn.train.train_model`.
            valid_data: The same as the data for validation.
            **settings: Single settings, which go before those of `config`.

        Raises:
            ValueError: `mode` is a number or None, which is neither a bool nor data.
        """
        given = config is not None or valid_data is not None or bool(settings)
        if isinstance(mode, bool) and given:
            raise TypeError(
                "train: settings need data to train on; the first argument is the data: train(data, config)"
            )
        if isinstance(mode, str) or not (hasattr(mode, "__iter__") or hasattr(mode, "__getitem__")):
            return super().train(mode)
        return train_model(self, mode, config, valid_data, defaults=self.train_defaults(), **settings)

    def train_defaults(self) -> dict[str, Any]:
        """The settings of `train` that hold for this model where none are given."""
        return {}


class _Loss:
    """A loss by its name or function, of models too that give auxiliary outputs beside their main one."""

    def __init__(self, given: Any, aux_weight: float) -> None:
        self.given: Any = losses.named(given)
        self.aux_weight = aux_weight

    def __call__(self, output: Any, target: Any) -> Tensor:
        main, others = _outputs(output)
        function = self.given or _usual_loss(target)
        loss: Tensor = function(main, target)
        for other in others:
            loss = loss + self.aux_weight * function(other, target)
        return loss


class _MainOutput(Callback):
    """Metrics see the main output of a model that gives auxiliary ones beside it."""

    order = -100

    def after_loss(self, learner: Learner) -> None:
        if learner.batch is not None:
            learner.batch.output = _outputs(learner.batch.output)[0]


def _outputs(output: Any) -> tuple[Any, list[Any]]:
    """The main output and the auxiliary ones, as vision models give them while they train."""
    if isinstance(output, Mapping) and "out" in output:
        return output["out"], [value for name, value in output.items() if name != "out"]
    if isinstance(output, tuple) and hasattr(output, "_asdict") and hasattr(output, "logits"):
        others = [value for name, value in output._asdict().items() if name != "logits"]
        return output.logits, [value for value in others if value is not None]
    return output, []


def _usual_loss(target: Any) -> Callable[..., Tensor]:
    classes = isinstance(target, Tensor) and not target.is_floating_point() and not target.is_complex()
    return _F.cross_entropy if classes else _F.mse_loss


def _said(config: Any) -> dict[str, Any]:
    """The settings of Learner that `config` names."""
    if config is None:
        return {}
    if isinstance(config, Mapping):
        values = dict(config)
    elif dataclasses.is_dataclass(config) and not isinstance(config, type):
        values = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    else:
        raise TypeError(f"train: config is a {type(config).__name__}; give a TrainConfig, a dictionary or a dataclass")
    # `renderer=None` means silence and `checkpoints=None` no files: there None says something.
    silent = ("renderer", "checkpoints") if isinstance(config, Mapping) else ()
    return {name: v for name, v in values.items() if name in _NAMES and (v is not None or name in silent)}


def _refuse_unknown(values: Mapping[str, Any]) -> None:
    unknown = [name for name in values if name not in _NAMES]
    if unknown:
        raise TypeError(f"train: there is no setting {unknown[0]!r}; the settings are {', '.join(sorted(_NAMES))}")
