"""Functional models as plain dictionaries and back, in the layout of Keras's own files."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from pyburn._core import Tensor
from pyburn.keras._registry import deserialize_keras_object, plain, serialize_keras_object
from pyburn.keras.layers.core import InputLayer
from pyburn.keras.ops import Operation
from pyburn.keras.symbolic import KerasTensor, any_symbolic, map_structure

__all__ = ["config_of", "model_of"]


def config_of(model: Any) -> dict[str, Any]:
    """The layers of a functional model, and which call feeds which."""
    graph = model._graph
    own = {id(node) for node in graph.nodes}
    numbers: dict[int, int] = {}
    for layer in graph.layers:
        for place, node in enumerate(node for node in layer._nodes if id(node) in own):
            numbers[id(node)] = place
    entries = []
    for layer in graph.layers:
        entry = serialize_keras_object(layer)
        entry["name"] = layer.name
        if isinstance(layer, Operation):
            node = next(node for node in layer._nodes if id(node) in own)
            args, settings = _divided(layer, node)
            entry["config"] = {"name": layer.name, **plain(settings)}
            entry["inbound_nodes"] = [{"args": _described(args, numbers), "kwargs": {}}]
            entries.append(entry)
            continue
        calls = [node for node in layer._nodes if id(node) in own and not isinstance(layer, InputLayer)]
        entry["inbound_nodes"] = [
            {"args": _described(node.args, numbers), "kwargs": _described(node.kwargs, numbers)} for node in calls
        ]
        entries.append(entry)
    return {
        "name": model.name,
        "trainable": model.trainable,
        "layers": entries,
        "input_layers": _ends(graph.inputs_struct, numbers),
        "output_layers": _ends(graph.outputs_struct, numbers),
    }


# The arguments of Keras's functions that are given in calls; the others belong to the operation.
_CALLED = frozenset(
    """
    a abs_ angle array atol b bias bins choicelist condition condlist constant_values data default depthwise_kernel
    fill_value indices inputs kernel key mask output pointwise_kernel predictions q query rtol scale segment_ids
    start start_indices step stop target targets updates value values variable weights x x1 x2 xs y
    """.split()  # noqa: SIM905  # as a list it would be a page
)


def _divided(layer: Any, node: Any) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a function's call, and those of its operation, as Keras tells them apart."""
    compute = type(layer)._function[0]
    bound = inspect.signature(compute).bind(*node.args, **{**layer.settings, **node.kwargs})
    args: list[Any] = []
    settings: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        kind = inspect.signature(compute).parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            args += value
        elif kind is inspect.Parameter.VAR_KEYWORD:
            settings |= value
        elif any_symbolic(value) or (name in _CALLED and (type(layer).__name__, name) != ("Squareplus", "b")):
            args.append(value)
        else:
            settings[name] = value
    return args, settings


def _history(tensor: KerasTensor, numbers: Mapping[int, int]) -> list[Any]:
    assert tensor.node is not None
    return [tensor.node.layer.name, numbers.get(id(tensor.node), 0), tensor.index]


def _ends(struct: Any, numbers: Mapping[int, int]) -> Any:
    return map_structure(
        lambda each: _history(each, numbers), struct if not isinstance(struct, tuple) else list(struct)
    )


def _described(tree: Any, numbers: Mapping[int, int]) -> Any:
    if isinstance(tree, KerasTensor):
        config = {"shape": list(tree.shape), "dtype": tree.dtype, "keras_history": _history(tree, numbers)}
        return {"class_name": "__keras_tensor__", "config": config}
    if isinstance(tree, (list, tuple)):
        return [_described(each, numbers) for each in tree]
    if isinstance(tree, dict):
        return {key: _described(value, numbers) for key, value in tree.items()}
    if isinstance(tree, Tensor):
        return {"class_name": "__tensor__", "config": {"value": tree.tolist(), "dtype": str(tree.dtype)}}
    if isinstance(tree, slice):
        return {"class_name": "__slice__", "config": {"start": tree.start, "stop": tree.stop, "step": tree.step}}
    if tree is Ellipsis:
        return {"class_name": "__ellipsis__", "config": {}}
    return plain(tree)


class _Rebuilding:
    """The calls of a described model, made one after the other as their inputs become known."""

    def __init__(self, config: dict[str, Any], custom_objects: Any) -> None:
        self.custom_objects = custom_objects
        self.layers: dict[str, Any] = {}
        self.outputs: dict[tuple[str, int], list[Any]] = {}
        self.waiting: list[tuple[str, int, Any]] = []
        for entry in config["layers"]:
            name = entry.get("name") or entry["config"]["name"]
            layer = deserialize_keras_object(entry, custom_objects, "layers")
            layer.name = name
            self.layers[name] = layer
            if isinstance(layer, InputLayer):
                self.outputs[(name, 0)] = [layer.output]
            for place, call in enumerate(entry.get("inbound_nodes", [])):
                self.waiting.append((name, place, call))

    def run(self) -> None:
        """Nothing; every call has been made."""
        while self.waiting:
            left = []
            for name, place, call in self.waiting:
                try:
                    args, kwargs = self._arguments(call)
                except KeyError:
                    left.append((name, place, call))
                    continue
                kwargs.pop("mask", None) if kwargs.get("mask") is None else None
                made = self.layers[name](*args, **kwargs)
                self.outputs[(name, place)] = list(made) if isinstance(made, (list, tuple)) else [made]
            if len(left) == len(self.waiting):
                raise ValueError(
                    f"from_config: the calls of {sorted({name for name, _, _ in left})} wait for each other"
                )
            self.waiting = left

    def tensor(self, history: Any) -> Any:
        """The symbolic tensor that (layer, call, output) names."""
        name, place, index = history[:3]
        return self.outputs[(name, place)][index]

    def _arguments(self, call: Any) -> tuple[Any, dict[str, Any]]:
        if isinstance(call, Mapping):
            return tuple(self._made(each) for each in call["args"]), {
                k: self._made(v) for k, v in call["kwargs"].items()
            }
        # The layout of older files: [layer, call, output, kwargs] for each input.
        inputs = [self.tensor(each) for each in call]
        kwargs = call[0][3] if len(call[0]) > 3 else {}
        return (inputs[0] if len(inputs) == 1 else inputs,), {key: self._made(value) for key, value in kwargs.items()}

    def _made(self, tree: Any) -> Any:
        if isinstance(tree, list):
            return [self._made(each) for each in tree]
        if isinstance(tree, Mapping):
            if tree.get("class_name") == "__keras_tensor__":
                return self.tensor(tree["config"]["keras_history"])
            if "class_name" in tree:
                return deserialize_keras_object(tree, self.custom_objects)
            return {key: self._made(value) for key, value in tree.items()}
        return tree


def model_of(kind: Any, config: dict[str, Any], custom_objects: Any = None) -> Any:
    """The functional model that `config_of` described."""
    rebuilding = _Rebuilding(config, custom_objects)
    rebuilding.run()

    def ends(entry: Any) -> Any:
        if isinstance(entry, Mapping):
            return {key: ends(value) for key, value in entry.items()}
        if entry and isinstance(entry[0], str):
            return rebuilding.tensor(entry)
        return [ends(each) for each in entry]

    inputs, outputs = ends(config["input_layers"]), ends(config["output_layers"])
    single = len(config["input_layers"]) == 1 and isinstance(inputs, list)
    model = kind(
        inputs=inputs[0] if single else inputs,
        outputs=outputs[0] if isinstance(outputs, list) and len(outputs) == 1 else outputs,
        name=config.get("name"),
    )
    if config.get("trainable") is False:
        model.trainable = False
    return model
