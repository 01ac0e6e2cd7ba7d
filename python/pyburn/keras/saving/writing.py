"""Files in Keras's own layouts: `.keras` (a zip) and the older `.h5`. They need h5py."""

from __future__ import annotations

import importlib.util
import io
import json
import zipfile
from typing import Any

from pyburn._files import replacing
from pyburn.keras._registry import serialize_keras_object
from pyburn.keras.saving import memories
from pyburn.keras.saving.keras_files import _h5py, save_tree

__all__ = ["save_h5", "save_zip"]

# What real Keras is told wrote the file: the version whose layout it has.
_VERSION = "3.0.0"


def save_zip(model: Any, filepath: Any, include_optimizer: bool, count: int) -> bool:
    """Whether a file of Keras's kind was written: h5py is there, and its layout has a place for every weight.

    Args:
        model: The model.
        filepath: Where to write.
        include_optimizer: Whether what the optimizer remembers is written too.
        count: How many tensors the model has.
    """
    if importlib.util.find_spec("h5py") is None:
        return False
    config = serialize_keras_object(model)
    compiled = _compiled(model)
    memory = memories.taken(model.optimizer, model.trainable_weights) if compiled and include_optimizer else None
    if include_optimizer and model.compiled and memory is None:
        return False
    if compiled:
        config["compile_config"] = compiled
    buffer = io.BytesIO()
    with _h5py().File(buffer, "w") as file:
        save_tree(model, file, set())
        if _count(file) != count:
            return False
        for place, value in enumerate(memory or ()):
            file.require_group("optimizer/vars")[str(place)] = value
    with replacing(filepath) as whole, zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("metadata.json", json.dumps({"keras_version": _VERSION}))
        archive.writestr("config.json", json.dumps(config))
        archive.writestr("model.weights.h5", buffer.getvalue())
    return True


def _compiled(model: Any) -> Any:
    """The arguments of `compile` in plain values; None where one of them has no name."""
    if not model.compiled:
        return None
    try:
        found = model.get_compile_config()
        json.dumps(found)
    except (TypeError, ValueError):
        return None
    return found


def _count(group: Any) -> int:
    """How many arrays are in a group and below it."""
    return sum(_count(group[key]) if hasattr(group[key], "keys") else 1 for key in group)


def save_h5(model: Any, filepath: Any, include_optimizer: bool) -> None:
    """Nothing; the file has the model in the layout of older Keras, and is whole or as it was before."""
    h5py, buffer = _h5py(), io.BytesIO()
    config = serialize_keras_object(model)
    with h5py.File(buffer, "w") as file:
        file.attrs["keras_version"], file.attrs["backend"] = _VERSION, "torch"
        file.attrs["model_config"] = json.dumps({name: config[name] for name in ("class_name", "config")})
        _write_layers(h5py, file.create_group("model_weights"), model)
        compiled = _compiled(model) if include_optimizer else None
        if compiled:
            training = {name: compiled.get(name) for name in ("loss", "loss_weights", "metrics", "weighted_metrics")}
            file.attrs["training_config"] = json.dumps({**training, "optimizer_config": compiled["optimizer"]})
            arrays = memories.taken(model.optimizer, model.trainable_weights)
            if arrays is not None:
                named = [(f"variable_{place}", value) for place, value in enumerate(arrays)]
                _write_arrays(h5py, file.create_group("optimizer_weights"), named)
    with replacing(filepath) as whole:
        whole.write(buffer.getvalue())


def save_weights_h5(model: Any, filepath: Any) -> None:
    """Nothing; the file has the weights by layer, as older Keras wrote them."""
    h5py, buffer = _h5py(), io.BytesIO()
    with h5py.File(buffer, "w") as file:
        _write_layers(h5py, file, model)
    with replacing(filepath) as whole:
        whole.write(buffer.getvalue())


def _write_layers(h5py: Any, group: Any, model: Any) -> None:
    group.attrs["keras_version"], group.attrs["backend"] = _VERSION, "torch"
    _write_names(h5py, group, "layer_names", [layer.name for layer in model.layers])
    for layer in model.layers:
        weights = [*layer.trainable_weights, *layer.non_trainable_weights]
        named = [(str(getattr(each, "path", "") or place), each) for place, each in enumerate(weights)]
        _write_arrays(h5py, group.create_group(layer.name), named)
    _write_arrays(h5py, group.create_group("top_level_model_weights"), [])


def _write_arrays(h5py: Any, group: Any, named: list[tuple[str, Any]]) -> None:
    _write_names(h5py, group, "weight_names", [name for name, _ in named])
    for name, value in named:
        group[name] = value.detach().cpu().numpy() if hasattr(value, "detach") else value


def _write_names(h5py: Any, group: Any, attribute: str, names: list[str]) -> None:
    group.attrs.create(attribute, names, dtype=h5py.string_dtype())
