"""Files that real Keras wrote: `.keras` (a zip), `.weights.h5` and the older `.h5`. They need h5py."""

from __future__ import annotations

import importlib
import io
import json
import os
import zipfile
from collections import Counter
from typing import Any

from pyburn import nn
from pyburn._files import replacing
from pyburn.keras._naming import snake_case
from pyburn.keras._registry import deserialize_keras_object
from pyburn.keras._weights import Weights
from pyburn.keras.layers.core import InputLayer
from pyburn.keras.saving import memories
from pyburn.keras.variables import assign

__all__ = ["kind_of", "load_model", "load_weights", "save_weights"]


def kind_of(filepath: str | os.PathLike[str]) -> str:
    """Which format the file's first bytes name: "zip", "hdf5" or "safetensors"."""
    with open(filepath, "rb") as file:
        start = file.read(8)
    return "zip" if start[:2] == b"PK" else "hdf5" if start == b"\x89HDF\r\n\x1a\n" else "safetensors"


def _h5py() -> Any:
    try:
        return importlib.import_module("h5py")
    except ImportError:
        raise ImportError("this file of Keras's is HDF5 inside: pip install h5py") from None


def load_model(filepath: Any, kind: str, custom_objects: Any, compile: bool) -> Any:
    """The model of a `.keras` or `.h5` file."""
    return (
        _from_zip(filepath, custom_objects, compile) if kind == "zip" else _from_h5(filepath, custom_objects, compile)
    )


def _from_zip(filepath: Any, custom_objects: Any, compile: bool) -> Any:
    with zipfile.ZipFile(filepath) as archive:
        config = json.loads(archive.read("config.json"))
        values = io.BytesIO(archive.read("model.weights.h5"))
    model = deserialize_keras_object(config, custom_objects, "models")
    if not model.built and config.get("build_config"):
        model.build_from_config(config["build_config"])
    with _h5py().File(values, "r") as file:
        load_tree(model, file, False)
        if compile and config.get("compile_config"):
            model.compile_from_config(config["compile_config"])
            if "optimizer" in file:
                memories.put(model.optimizer, model.trainable_weights, _datasets(file["optimizer"]))
    return model


def _from_h5(filepath: Any, custom_objects: Any, compile: bool) -> Any:
    with _h5py().File(filepath, "r") as file:
        text = file.attrs.get("model_config")
        if text is None:
            raise ValueError(
                f"load_model: {os.fspath(filepath)} holds weights but no architecture; make the model and "
                "load_weights it"
            )
        config = json.loads(text if isinstance(text, str) else text.decode())
        model = deserialize_keras_object(config, custom_objects, "models")
        load_named(model, file["model_weights"], False)
        training = file.attrs.get("training_config")
        memory = file.get("optimizer_weights")
        arrays = [] if memory is None else [memory[name][()] for name in _names(memory)]
    if compile and training is not None:
        given = json.loads(training if isinstance(training, str) else training.decode())
        given["optimizer"] = given.pop("optimizer_config", None)
        model.compile_from_config(given)
        memories.put(model.optimizer, model.trainable_weights, arrays)
    return model


def _names(group: Any) -> list[str]:
    """The names of a layer's weights in an older file, in order."""
    return [name if isinstance(name, str) else name.decode() for name in group.attrs["weight_names"]]


def load_weights(model: Any, filepath: Any, kind: str, skip: bool) -> None:
    """Nothing; the model has the weights of a file of Keras's."""
    if kind == "zip":
        with zipfile.ZipFile(filepath) as archive:
            values = io.BytesIO(archive.read("model.weights.h5"))
        with _h5py().File(values, "r") as file:
            load_tree(model, file, skip)
        return
    with _h5py().File(filepath, "r") as file:
        if "model_weights" in file or "layer_names" in file.attrs:
            load_named(model, file.get("model_weights", file), skip)
        else:
            load_tree(model, file, skip)


def save_weights(model: Any, filepath: Any) -> None:
    """Nothing; the file has the weights in Keras's own layout, and is whole or as it was before."""
    if not model.built:
        raise ValueError(f"{model.name}: the model has no weights yet; call or build it before save_weights")
    buffer = io.BytesIO()
    with _h5py().File(buffer, "w") as file:
        save_tree(model, file, set())
    with replacing(filepath) as whole:
        whole.write(buffer.getvalue())


def save_tree(layer: Any, group: Any, done: set[int]) -> None:
    """Nothing; the group has the values of a layer and of all inside it, each once."""
    if id(layer) in done:
        return
    done.add(id(layer))
    group.attrs["name"] = layer.name
    held = group.require_group("vars")
    for place, weight in enumerate(layer._own_weights()):
        held[str(place)] = weight.detach().cpu().numpy()
    layer._track_lists()
    listed = {id(each) for value in layer._lists.values() for each in _items(value)}
    rows = _row_names(_with_start(layer)) if hasattr(layer, "layers") and _has_rows(layer) else {}
    for name, child in layer.named_children():
        if isinstance(child, Weights) and id(child) in rows:
            save_tree(child, group.require_group(f"layers/{rows[id(child)]}"), done)
        elif isinstance(child, Weights) and id(child) not in listed:
            save_tree(child, group.require_group(name), done)
    for name, value in layer._lists.items():
        names = _row_names(value)
        for child in _items(value):
            if isinstance(child, Weights):
                save_tree(child, group.require_group(f"{name}/{names[id(child)]}"), done)


def _has_rows(layer: Any) -> bool:
    return getattr(layer, "_graph", None) is not None or hasattr(layer, "_start")


def _with_start(layer: Any) -> list[Any]:
    start = getattr(layer, "_start", None)
    return [*([start] if start is not None else []), *layer.layers]


def _datasets(group: Any) -> list[Any]:
    """The variables of a layer's group, in order."""
    held = group.get("vars")
    return [] if held is None else [held[key][()] for key in sorted(held, key=int)]


def _holds(group: Any) -> bool:
    """Whether any variable is in the group or below it."""
    return any(True for _ in _every(group))


def _every(group: Any) -> Any:
    for key in group:
        inner = group[key]
        if hasattr(inner, "keys"):
            yield from _every(inner)
        else:
            yield inner


def load_tree(layer: Any, group: Any, skip: bool) -> None:
    """Nothing; a layer and all inside it have the values of their groups."""
    own = layer._own_weights()
    values = _datasets(group)
    if own or values:
        _assign(layer, own, values, skip)
    for child, inner in _children(layer, group):
        if inner is not None:
            load_tree(child, inner, skip)
        elif child.weights and not skip:
            raise ValueError(
                f"load_weights: the file has no values for {child.name} ({type(child).__name__}) of {layer.name}; "
                f"it has {sorted(group)}"
            )


def _children(layer: Any, group: Any) -> list[tuple[Any, Any]]:
    """The layers inside a layer, each with its group."""
    layer._track_lists()
    listed = {id(each): name for name, value in layer._lists.items() for each in _items(value)}
    rows = _listed_groups(layer, group)
    found = []
    for name, child in layer.named_children():
        if not isinstance(child, Weights):
            continue
        if id(child) in listed and listed[id(child)] in group:
            name_in_list = _row_names(layer._lists[listed[id(child)]]).get(id(child), "")
            inner = group[listed[id(child)]].get(name_in_list)
        else:
            inner = next((group[key] for key in (name, f"_{name}", name.lstrip("_")) if key in group), None)
        if inner is None or not _holds(inner):
            inner = rows.get(id(child), inner)
        found.append((child, inner))
    return found


def _listed_groups(layer: Any, group: Any) -> dict[int, Any]:
    """The groups under `layers`, which Keras names after classes in the order of the model's layers."""
    if "layers" not in group or not hasattr(layer, "layers"):
        return {}
    names = _row_names(_with_start(layer))
    return {key: group["layers"][name] for key, name in names.items() if name in group["layers"]}


def _row_names(layers: Any) -> dict[int, str]:
    """The places of layers in a list, named after their classes; a list in the list is a "container"."""
    counts: Counter[str] = Counter()
    names: dict[int, str] = {}
    for each in layers.values() if isinstance(layers, dict) else layers:
        inner = isinstance(each, (list, tuple, dict))
        if not inner and not isinstance(each, nn.Module):
            continue
        kind = "container" if inner else snake_case(type(each).__name__)
        name = f"{kind}_{counts[kind]}" if counts[kind] else kind
        counts[kind] += 1
        found = {key: f"{name}/{below}" for key, below in _row_names(each).items()} if inner else {id(each): name}
        names = {**found, **names}
    return names


def _items(value: Any) -> list[Any]:
    """The layers in lists and dictionaries, however deep."""
    if isinstance(value, nn.Module):
        return [value]
    if not isinstance(value, (list, tuple, dict)):
        return []
    return [item for each in (value.values() if isinstance(value, dict) else value) for item in _items(each)]


def _assign(layer: Any, own: list[Any], values: list[Any], skip: bool) -> None:
    fits = len(own) == len(values) and all(tuple(a.shape) == tuple(b.shape) for a, b in zip(own, values))
    if not fits:
        if skip:
            return
        raise ValueError(
            f"load_weights: {layer.name} ({type(layer).__name__}) has weights of shapes "
            f"{[tuple(w.shape) for w in own]}, but the "
            f"file has {[tuple(v.shape) for v in values]}; make the model as it was when it was saved, or give "
            "skip_mismatch=True"
        )
    for weight, value in zip(own, values, strict=True):
        assign(weight, value)


def load_named(model: Any, group: Any, skip: bool) -> None:
    """Nothing; the layers of the model have the values that the file keeps under their names."""
    for layer in model.layers:
        if isinstance(layer, InputLayer) or not layer.weights:
            continue
        if layer.name not in group:
            if skip:
                continue
            raise ValueError(f"load_weights: the file has no layer {layer.name!r}; it has {sorted(group)}")
        inner = group[layer.name]
        _assign(layer, _older_order(layer), [inner[name][()] for name in _names(inner)], skip)


def _older_order(layer: Any) -> list[Any]:
    """The order of weights in older files: all trainable ones of a layer, then the others."""
    return [*layer.trainable_weights, *layer.non_trainable_weights]
