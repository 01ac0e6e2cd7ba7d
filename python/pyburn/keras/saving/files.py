"""One file for a model: safetensors with the architecture as JSON beside the weights."""

from __future__ import annotations

import json
import os
from typing import Any

from pyburn import safetensors
from pyburn._core import Tensor
from pyburn.keras._registry import deserialize_keras_object, serialize_keras_object
from pyburn.keras.saving import keras_files, writing

__all__ = ["load_model", "load_weights", "save_model", "save_weights"]

_FORMAT = "pyburn.keras/1"
Path = str | os.PathLike[str]


def save_model(
    model: Any, filepath: Path, overwrite: bool = True, include_optimizer: bool = True, **kwargs: Any
) -> None:
    """Nothing; the file has the model: architecture, weights, `compile`'s arguments and the optimizer's memory.

    A path that ends with ".keras" or ".h5" is written as Keras writes it, and real Keras reads it; that needs h5py.

    Args:
        model: The model.
        filepath: Where to write, such as "model.keras". The file is complete or as it was before, never half written.
        overwrite: Whether a file that is there may be replaced.
        include_optimizer: Whether the optimizer's memory is written too.
        **kwargs: `zipped` is accepted for Keras's sake.

    Differs from Keras:
        Without h5py, or with modules and optimizers that Keras does not have, a ".keras" file is safetensors with the
        architecture as JSON, which `load_model` here reads and real Keras does not.
    """
    _may_write(filepath, overwrite)
    if not model.built:
        raise ValueError(
            f"{model.name}: the model has no weights yet, as it was never called or built; build it, then save"
        )
    if os.fspath(filepath).endswith((".h5", ".hdf5")):
        writing.save_h5(model, filepath, include_optimizer)
        return
    if os.fspath(filepath).endswith(".keras") and writing.save_zip(
        model, filepath, include_optimizer, len(_weights(model))
    ):
        return
    texts = {"format": _FORMAT, "config": json.dumps(serialize_keras_object(model))}
    tensors = {f"model/{name}": value for name, value in _weights(model).items()}
    if model.compiled:
        try:
            texts["compile"] = json.dumps(model.get_compile_config())
        except (TypeError, ValueError):
            # A loss that is a lambda has no name: the model is saved, and must be compiled again.
            texts["compile"] = ""
        if include_optimizer:
            kept, numbers = _optimizer_state(model.optimizer)
            tensors |= kept
            texts["optimizer"] = json.dumps(numbers)
    safetensors.save_file(tensors, filepath, texts)


def save_weights(model: Any, filepath: Path, overwrite: bool = True, **kwargs: Any) -> None:
    """Nothing; the file has the weights of the model by name.

    A path that ends with ".weights.h5" is written as Keras writes it, and real Keras reads it; that needs h5py.
    """
    _may_write(filepath, overwrite)
    if os.fspath(filepath).endswith(".weights.h5"):
        keras_files.save_weights(model, filepath)
        return
    if os.fspath(filepath).endswith((".h5", ".hdf5")):
        if not model.built:
            raise ValueError(f"{model.name}: the model has no weights yet; call or build it before save_weights")
        writing.save_weights_h5(model, filepath)
        return
    safetensors.save_file({f"model/{name}": value for name, value in _weights(model).items()}, filepath)


def _may_write(filepath: Path, overwrite: bool) -> None:
    path = os.fspath(filepath)
    if not overwrite and os.path.exists(path):
        raise FileExistsError(f"save: {path} is there already; give overwrite=True or another path")


def _weights(model: Any) -> dict[str, Tensor]:
    model._track_lists()
    return {name: value for name, value in model.state_dict().items() if isinstance(value, Tensor)}


def _optimizer_state(optimizer: Any) -> tuple[dict[str, Tensor], dict[str, Any]]:
    state = optimizer.state_dict()
    tensors: dict[str, Tensor] = {}
    numbers: dict[str, Any] = {}
    for place, kept in state["state"].items():
        for name, value in kept.items():
            if isinstance(value, Tensor):
                tensors[f"optimizer/{place}/{name}"] = value.detach()
            else:
                numbers[f"{place}/{name}"] = value
    rate = state["param_groups"][0].get("lr")
    return tensors, {"numbers": numbers, "iterations": state.get("iterations", 0), "lr": float(rate)}


def load_model(
    filepath: Path, custom_objects: dict[str, Any] | None = None, compile: bool = True, safe_mode: bool = True
) -> Any:
    """The model of a file that `save` wrote, or real Keras: `.keras`, or `.h5` (both need h5py).

    Args:
        filepath: The file.
        custom_objects: Your own classes and functions by name.
        compile: Whether the model is compiled as it was.
        safe_mode: Accepted for Keras's sake: code in files is never executed.

    Raises:
        ValueError: The file is damaged, or needs a class that is not known, or holds code.
    """
    kind = keras_files.kind_of(filepath)
    if kind != "safetensors":
        return keras_files.load_model(filepath, kind, custom_objects, compile)
    texts = safetensors.metadata(filepath)
    if texts.get("format") != _FORMAT:
        raise ValueError(
            f"load_model: {os.fspath(filepath)} holds tensors but no architecture; make the model and load_weights it"
        )
    config = json.loads(texts["config"])
    model = deserialize_keras_object(config, custom_objects, "models")
    if not model.built and config.get("build_config"):
        model.build_from_config(config["build_config"])
    tensors = safetensors.load_file(filepath)
    _put(
        model,
        {name.removeprefix("model/"): value for name, value in tensors.items() if name.startswith("model/")},
        False,
    )
    if compile and texts.get("compile"):
        model.compile_from_config(json.loads(texts["compile"]))
        if "optimizer" in texts:
            _restore(model, tensors, json.loads(texts["optimizer"]))
    return model


def _restore(model: Any, tensors: dict[str, Tensor], texts: dict[str, Any]) -> None:
    optimizer = model.optimizer
    if not hasattr(optimizer, "build"):
        return
    optimizer.build(model.trainable_weights)
    state: dict[int, dict[str, Any]] = {}
    for name, value in tensors.items():
        if name.startswith("optimizer/"):
            _, place, key = name.split("/", 2)
            state.setdefault(int(place), {})[key] = value
    for name, value in texts["numbers"].items():
        place, _, key = name.partition("/")
        state.setdefault(int(place), {})[key] = value
    own = optimizer.state_dict()
    optimizer.load_state_dict({**own, "state": state, "iterations": texts["iterations"]})
    optimizer.param_groups[0]["lr"] = texts["lr"]


def restore(model: Any, filepath: Path) -> None:
    """Nothing; a compiled model has the weights of a file of ours, and its optimizer what it remembered."""
    tensors, texts = safetensors.load_file(filepath), safetensors.metadata(filepath)
    own = {name.removeprefix("model/"): value for name, value in tensors.items() if name.startswith("model/")}
    _put(model, own, False)
    if "optimizer" in texts:
        _restore(model, tensors, json.loads(texts["optimizer"]))


def load_weights(model: Any, filepath: Path, skip_mismatch: bool = False, **kwargs: Any) -> None:
    """Nothing; the model has the weights of the file.

    Args:
        model: The model, with its weights made (built or called).
        filepath: A file of ours, a `.weights.h5`, a `.keras` or an `.h5`; the last three need h5py.
        skip_mismatch: Whether weights that do not fit are left as they are.
        **kwargs: `by_name=True` is accepted for `.h5` files of older Keras, which are read by name in any case.
    """
    if not model.built:
        raise ValueError(f"{model.name}: the model has no weights yet; call or build it before load_weights")
    kind = keras_files.kind_of(filepath)
    if kind != "safetensors":
        keras_files.load_weights(model, filepath, kind, skip_mismatch)
        return
    tensors = safetensors.load_file(filepath)
    named = any(name.startswith("model/") for name in tensors)
    found = {n.removeprefix("model/"): v for n, v in tensors.items() if n.startswith("model/") or not named}
    _put(model, found, skip_mismatch)


def _put(model: Any, tensors: dict[str, Tensor], skip_mismatch: bool) -> None:
    own = _weights(model)
    if skip_mismatch:
        tensors = {n: v for n, v in tensors.items() if n in own and tuple(own[n].shape) == tuple(v.shape)}
    model.load_state_dict(tensors, strict=not skip_mismatch)
