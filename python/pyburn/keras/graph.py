"""The calls between some symbolic inputs and outputs, put in order and run on data."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pyburn._core import ShapeError, Tensor
from pyburn.keras import config as settings
from pyburn.keras.symbolic import KerasTensor, Node, flatten, map_structure

__all__ = ["Graph"]


class Graph:
    """What a functional model runs.

    Args:
        inputs: A nest of symbolic tensors.
        outputs: A nest of symbolic tensors that come from them.
    """

    def __init__(self, inputs: Any, outputs: Any) -> None:
        self.inputs_struct, self.outputs_struct = inputs, outputs
        self.inputs: list[KerasTensor] = flatten(inputs)
        self.outputs: list[KerasTensor] = flatten(outputs)
        for each in (*self.inputs, *self.outputs):
            if not isinstance(each, KerasTensor):
                raise ValueError(
                    f"Model: inputs and outputs must be symbolic tensors, but got {type(each).__name__}; "
                    "inputs come from keras.Input, outputs from calling layers on them"
                )
        self._first = {id(each) for each in self.inputs}
        self.nodes, self.layers = self._ordered()
        names = Counter(layer.name for layer in self.layers)
        again = [name for name, count in names.items() if count > 1]
        if again:
            raise ValueError(f"Model: several layers are called {again[0]!r}; give each another name=")

    def _walk(self) -> tuple[list[Node], dict[Any, int]]:
        """Every call that the outputs need, those that come first before others, and the layers as they were met."""
        found: list[Node] = []
        met: dict[Any, int] = {}
        state: dict[int, str] = {}
        stack: list[tuple[KerasTensor, bool]] = [(each, False) for each in reversed(self.outputs)]
        while stack:
            tensor, leaving = stack.pop()
            node = tensor.node
            if node is None:
                raise ValueError(f"Model: {tensor} comes from no layer; use keras.Input and layers to make it")
            if leaving:
                if state.get(id(node)) != "done":
                    state[id(node)] = "done"
                    found.append(node)
                continue
            if id(node) in state:
                continue
            state[id(node)] = "open"
            met.setdefault(node.layer, len(met))
            stack.append((tensor, True))
            if id(tensor) not in self._first:
                if not node.inputs:
                    raise ValueError(
                        f"Model: the outputs need the input {node.layer.name!r}, which is not among inputs="
                        f"{[each.node.layer.name for each in self.inputs if each.node]}; add it to them"
                    )
                stack.extend((each, False) for each in reversed(node.inputs))
        return found, met

    def _ordered(self) -> tuple[list[Node], list[Any]]:
        """The calls in an order that can be run, and the layers from the inputs to the outputs as Keras lists them."""
        found, met = self._walk()
        depth: dict[int, int] = {}
        layer_depth: dict[Any, int] = {}
        for node in reversed(found):
            own = max(depth.get(id(node), 0), layer_depth.get(node.layer, 0))
            depth[id(node)] = layer_depth[node.layer] = own
            if not any(id(each) in self._first for each in flatten(node.outputs)):
                for each in node.inputs:
                    if each.node is not None:
                        depth[id(each.node)] = max(own + 1, depth.get(id(each.node), 0))
        for each in self.inputs:
            if each.node is not None and each.node.layer not in layer_depth:
                layer_depth[each.node.layer] = 0
                met.setdefault(each.node.layer, -1)
        layers = sorted(layer_depth, key=lambda layer: (-layer_depth[layer], met[layer]))
        return found, layers

    @property
    def input_names(self) -> list[str]:
        """The names of the inputs."""
        return [each.node.layer.name if each.node else each.name for each in self.inputs]

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs: those of the layers that they come from."""
        return [each.node.layer.name if each.node else each.name for each in self.outputs]

    def run(self, model: Any, given: Any, training: bool | None) -> Any:
        """The outputs for these inputs."""
        values: dict[int, Any] = {}
        doubts: list[str] = []
        for tensor, value in zip(self.inputs, self._arranged(model, given), strict=True):
            values[id(tensor)] = self._fitting(model, tensor, value, doubts)
        try:
            self._fill(values, training)
        except ShapeError as error:
            raise ShapeError(f"{doubts[0]} ({error})") if doubts else error from None
        return map_structure(lambda each: values[id(each)], self.outputs_struct)

    def _fill(self, values: dict[int, Any], training: bool | None) -> None:
        """Nothing; every call of the graph has its values."""
        for node in self.nodes:
            outputs = flatten(node.outputs)
            if all(id(each) in values for each in outputs):
                continue
            args, kwargs = map_structure(lambda leaf: _value(leaf, values), (node.args, node.kwargs))
            if "training" in kwargs or training is not None:
                kwargs["training"] = training if training is not None else kwargs["training"]
            result = node.layer(*args, **kwargs)
            for symbol, value in zip(outputs, flatten(result), strict=True):
                values[id(symbol)] = value

    def _arranged(self, model: Any, given: Any) -> list[Any]:
        """The inputs in order, out of one, a list, or a dictionary by name."""
        if isinstance(given, dict):
            keys = sorted(self.inputs_struct) if isinstance(self.inputs_struct, dict) else self.input_names
            missing = [name for name in keys if name not in given]
            if missing and isinstance(self.inputs_struct, dict) and set(self.input_names) <= set(given):
                keys, missing = self.input_names, []
            if missing:
                raise ValueError(f"{model.name}: the input(s) {missing} are missing; got {sorted(given)}")
            found = flatten([given[name] for name in keys])
        else:
            found = flatten(given)
        if len(found) != len(self.inputs):
            raise ShapeError(
                f"{model.name} ({type(model).__name__}) takes {len(self.inputs)} input(s) {self.input_names}, "
                f"but got {len(found)}; give a list of {len(self.inputs)}, or a dictionary by their names"
            )
        return found

    def _fitting(self, model: Any, wanted: KerasTensor, value: Any, doubts: list[str]) -> Any:
        """The value in the input's rank and dtype, or an error that says what is wrong.

        As in Keras, the layers of a row judge sizes themselves, since sequences of other lengths may well fit: there
        what is wrong is kept among the doubts, for the error of such a layer.
        """
        if not isinstance(value, Tensor):
            return value
        mask = getattr(value, "_keras_mask", None)
        if value.dim() == len(wanted.shape) - 1 and wanted.shape[-1] == 1:
            value = value.unsqueeze(-1)
        elif value.dim() == len(wanted.shape) + 1 and value.shape[-1] == 1:
            value = value.squeeze(-1)
        ranked = value.dim() == len(wanted.shape)
        fits = ranked and all(a is None or a == b for a, b in zip(wanted.shape, value.shape, strict=True))
        if not fits:
            name = wanted.node.layer.name if wanted.node else wanted.name
            doubts.append(
                f"{model.name} ({type(model).__name__}): the input {name!r} must have shape {wanted.shape} (None is "
                f"any size), but got {tuple(value.shape)}; reshape the data, or make the model with Input(shape="
                f"{tuple(value.shape[1:])})"
            )
            if not (ranked and model._any_sizes):
                raise ShapeError(doubts[0])
        kind = settings.as_dtype(wanted.dtype)
        value = value if value.dtype == kind else value.to(kind)
        if mask is not None:
            value._keras_mask = mask
        return value


def _value(leaf: Any, values: dict[int, Any]) -> Any:
    return values[id(leaf)] if isinstance(leaf, KerasTensor) else leaf
