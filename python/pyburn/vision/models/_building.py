"""What every model of this folder has: a function that makes it, on a backend, with weights from a file."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from pyburn import hub, nn, safetensors, serialization
from pyburn._core import device
from pyburn.train import Trainable
from pyburn.vision.models._enums import WeightsEnum, weights_of
from pyburn.vision.models._files import FILES, FOLDER

__all__ = ["Builder", "Classifier", "builder", "builder_with", "builders"]

M = TypeVar("M", bound=nn.Module)
M_co = TypeVar("M_co", bound=nn.Module, covariant=True)
Prepare = Callable[[dict[str, Any], dict[str, Any], bool], dict[str, Any]]

builders: dict[str, Builder[nn.Module]] = {}


class Classifier(Trainable):
    """A model that gives a score for each class; `model.train(data, config)` counts its right answers."""

    def train_defaults(self) -> dict[str, Any]:
        """The settings of `train` that hold for this model where none are given."""
        return {"metrics": ["accuracy"]}


class Builder(Protocol[M_co]):
    """A function that makes a model."""

    __name__: str

    def __call__(self, backend: Any = None, *, weights: Any = None, progress: bool = True, **kwargs: Any) -> M_co:
        """A new model.

        Args:
            backend: Where it is: a `Backend`, its name, or a device; without it where new tensors are.
            weights: None for fresh ones, the path of a .pth or .safetensors file, a state dict, or a name of
                torchvision's ("DEFAULT", "IMAGENET1K_V1"), whose file must be in torch's cache: nothing is downloaded.
            progress: Accepted as by torchvision.
            **kwargs: The settings of the model's class, such as `num_classes`.
        """
        ...


def builder(build: Callable[..., M]) -> Builder[M]:
    """`build`, which makes the model of its name from settings, as a function that also takes a backend and weights."""
    return _builder(build, lambda state, settings, torchvisions: state)


def builder_with(prepare: Prepare) -> Callable[[Callable[..., M]], Builder[M]]:
    """`builder` for a model whose settings depend on the weights that it is given.

    Args:
        prepare: `prepare(state, settings, torchvisions)` changes the settings for a state dict that will be loaded, and
            gives what is loaded; `torchvisions` says whether it is one that torchvision publishes.
    """
    return lambda build: _builder(build, prepare)


def _builder(build: Callable[..., M], prepare: Prepare) -> Builder[M]:
    name = build.__name__

    @functools.wraps(build)
    def make(backend: Any = None, *, weights: Any = None, progress: bool = True, **kwargs: Any) -> M:
        if isinstance(backend, bool | WeightsEnum):
            # torchvision's first argument: weights, once the flag `pretrained`.
            backend, weights = None, backend if isinstance(backend, WeightsEnum) else "DEFAULT" if backend else None
        if kwargs.pop("pretrained", False) and weights is None:
            weights = "DEFAULT"
        state, torchvisions = _state(name, weights)
        if state is not None:
            state = prepare(state, kwargs, torchvisions)
        # Made on the CPU, a model has the same first weights on every backend, and they are torch's.
        with contextlib.nullcontext() if backend is None else device("cpu"):
            made = build(**kwargs)
        if state is not None:
            made.load_state_dict(state)
        return made if backend is None else made.to(backend)

    # Its signature is that of `make`, not of what it wraps.
    del make.__wrapped__
    builders[name] = make
    # `from torchvision.models.resnet import ResNet18_Weights` is found in programs.
    sys.modules[build.__module__].__dict__.setdefault("__getattr__", weights_of)
    return make


def _state(name: str, weights: Any) -> tuple[dict[str, Any] | None, bool]:
    """The state dict that `weights` names, and whether it is one that torchvision publishes."""
    if weights is None:
        return None, False
    if isinstance(weights, Mapping):
        return dict(weights), False
    files = FILES.get(name, {})
    known = str(getattr(weights, "name", weights)).rpartition("_Weights.")[2]
    if known == "DEFAULT" or known in files:
        if not files:
            raise ValueError(f"{name}: there are no published weights; pass the path of a file of your own")
        file = files[known] if known in files else list(files.values())[-1]
        return dict(hub.load_state_dict_from_url(FOLDER + file, map_location="cpu")), True
    path = os.path.expanduser(os.fspath(weights)) if isinstance(weights, (str, os.PathLike)) else None
    if path is None or not os.path.exists(path):
        raise ValueError(
            f"{name}: weights is {weights!r}, which is no file; pass the path of a .pth or .safetensors file, a state "
            f"dict, or one of {', '.join(['DEFAULT', *files])} when torchvision's file is in torch's cache"
        )
    return _read(path), os.path.basename(path) in files.values()


def _read(path: str) -> dict[str, Any]:
    if path.endswith(".safetensors"):
        return dict(safetensors.load_file(path))
    found = serialization.load(path, map_location="cpu")
    # Training scripts keep the model beside the optimizer.
    for key in ("state_dict", "model"):
        if isinstance(found, Mapping) and isinstance(found.get(key), Mapping):
            found = found[key]
    if not isinstance(found, Mapping):
        raise TypeError(f"{path} holds a {type(found).__name__}, not a state dict")
    return dict(found)
