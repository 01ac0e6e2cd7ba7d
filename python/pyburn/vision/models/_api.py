"""What programs import from torchvision.models._api: weights, and models by their names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from pyburn.vision.models import get_model, get_model_builder, list_models
from pyburn.vision.models._building import builders
from pyburn.vision.models._enums import WeightsEnum, get_model_weights, get_weight

__all__ = [
    "Weights",
    "WeightsEnum",
    "get_model",
    "get_model_builder",
    "get_model_weights",
    "get_weight",
    "list_models",
    "register_model",
]

F = TypeVar("F", bound=Callable[..., Any])


@dataclass
class Weights:
    """Weights of a program's own model: where they are, what images must look like, and what is known about them."""

    url: str
    transforms: Callable[..., Any]
    meta: dict[str, Any]


def register_model(name: str | None = None) -> Callable[[F], F]:
    """What makes a function known to `get_model` and `list_models`.

    Args:
        name: The model's name; the function's when left out.

    Raises:
        ValueError: There is a model of this name.
    """

    def keep(function: F) -> F:
        known = function.__name__ if name is None else name
        if known in builders:
            raise ValueError(f"An entry is already registered under the name '{known}'.")
        builders[known] = lambda backend=None, **config: function(**config)
        return function

    return keep
