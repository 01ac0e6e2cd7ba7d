"""`model.train(train_data, config)`: compile and fit out of one set of settings."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from typing import Any

__all__ = ["fit_with"]

_OTHER_NAMES = {
    "lr": "learning_rate",
    "num_epochs": "epochs",
    "valid_data": "validation_data",
    "valid": "validation_data",
    "criterion": "loss",
}


def fit_with(model: Any, data: Any, config: Any = None, **kwargs: Any) -> Any:
    """The history of training `model` on `data` with the settings of `config`.

    Args:
        model: A Keras model.
        data: (x, y), (x, y, sample_weight), a Dataset, a DataLoader, or anything that `fit` takes.
        config: A dictionary, a dataclass such as `pyburn.train.Config`, or an object with attributes.
        **kwargs: Settings by name, which win.
    """
    said = {name: value for name, value in kwargs.items() if value is not None}
    given = {_OTHER_NAMES.get(name, name): value for name, value in {**_fields(config), **said}.items()}
    if given.get("device") is not None:
        model.backend = given["device"]
    compile_names = list(inspect.signature(model.compile).parameters)
    fit_names = [name for name in inspect.signature(model.fit).parameters if name not in ("x", "y")]
    unknown = sorted(set(given) - {*compile_names, *fit_names, "device", "learning_rate", "seed"})
    if unknown and isinstance(config, (Mapping, type(None))):
        raise ValueError(
            f"train: unknown settings {unknown}; those of compile are {compile_names}, those of fit {fit_names}, "
            "and device, learning_rate and seed"
        )
    _compile(model, {name: given[name] for name in compile_names if given.get(name) is not None}, given)
    if given.get("seed") is not None:
        from pyburn.keras.utils import set_random_seed

        set_random_seed(int(given["seed"]))
    arguments = {name: given[name] for name in fit_names if given.get(name) is not None}
    several = isinstance(data, (tuple, list)) and 2 <= len(data) <= 3
    if several and len(data) == 3:
        arguments.setdefault("sample_weight", data[2])
    return model.fit(data[0], data[1], **arguments) if several else model.fit(data, **arguments)


def _compile(model: Any, given: dict[str, Any], settings: dict[str, Any]) -> None:
    if model.compiled and not given:
        if settings.get("learning_rate") is not None:
            model.optimizer.learning_rate = settings["learning_rate"]
        return
    if "loss" not in given and not model.compiled:
        raise ValueError("train: the model is not compiled and config has no loss; give config={'loss': 'mse', ...}")
    before = {name: value for name, value in model._compile_arguments.items() if value is not None}
    model.compile(**{"optimizer": "adam", **before, **given})
    if settings.get("learning_rate") is not None:
        model.optimizer.learning_rate = settings["learning_rate"]


def _fields(config: Any) -> dict[str, Any]:
    if config is None:
        return {}
    if isinstance(config, Mapping):
        return dict(config)
    if dataclasses.is_dataclass(config):
        return {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    if hasattr(config, "__dict__"):
        return {name: value for name, value in vars(config).items() if not name.startswith("_")}
    raise TypeError(f"train: config is a {type(config).__name__}; give a dictionary or a dataclass of settings")
