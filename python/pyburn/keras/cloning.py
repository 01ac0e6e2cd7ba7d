"""Copies of models: new layers with new weights in the same places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyburn.keras.layers.core import InputLayer
from pyburn.keras.model import Functional, Model
from pyburn.keras.sequential import Sequential
from pyburn.keras.symbolic import KerasTensor, flatten, map_structure

__all__ = ["clone_model"]


def clone_model(
    model: Any,
    input_tensors: Any = None,
    clone_function: Callable[[Any], Any] | None = None,
    call_function: Callable[..., Any] | None = None,
    recursive: bool = False,
    **kwargs: Any,
) -> Any:
    """A model like `model` of new layers, whose weights are new too.

    Args:
        model: A functional model, a `Sequential`, or a subclass that has no `clone_function`.
        input_tensors: Symbolic tensors to build the new model on.
        clone_function: What makes the new layer out of each old one; without it, the layer's own config.
        call_function: What calls the new layer: a function of (layer, *args, **kwargs).
        recursive: Whether `clone_function` also makes the layers of models inside.
        **kwargs: None are taken.

    Example:
        >>> from pyburn.keras import Dense, Input, Sequential
        >>> clone_model(Sequential([Input((4,)), Dense(2)])).count_params()
        10
    """
    if kwargs:
        raise ValueError(f"clone_model: unknown arguments {sorted(kwargs)}")

    def make(layer: Any) -> Any:
        if recursive and isinstance(layer, (Functional, Sequential)):
            return clone_model(layer, None, clone_function, call_function, True)
        return type(layer).from_config(layer.get_config()) if clone_function is None else clone_function(layer)

    if isinstance(model, Sequential):
        return _row(model, make, input_tensors)
    if isinstance(model, Model) and model._graph is not None:
        return _graph(model, make, input_tensors, call_function)
    if clone_function is not None or call_function is not None or input_tensors is not None:
        raise ValueError(
            f"clone_model: {model.name} ({type(model).__name__}) is a subclass whose layers only its own code knows; "
            "clone it without clone_function, call_function and input_tensors"
        )
    return make(model)


def _row(model: Any, make: Callable[[Any], Any], input_tensors: Any) -> Any:
    made = type(model)(name=model.name) if type(model) is Sequential else Sequential(name=model.name)
    given = flatten(input_tensors)[0] if input_tensors is not None else None
    if given is not None:
        made.add(given)
    elif model._start is not None:
        made.add(type(model._start).from_config(model._start.get_config()))
    for layer in model.layers:
        made.add(make(layer))
    return made


def _graph(model: Any, make: Callable[[Any], Any], input_tensors: Any, call: Callable[..., Any] | None) -> Any:
    graph = model._graph
    given = flatten(input_tensors) if input_tensors is not None else [None] * len(graph.inputs)
    if len(given) != len(graph.inputs):
        raise ValueError(f"clone_model: {len(given)} input_tensors were given for {len(graph.inputs)} inputs")
    known: dict[int, Any] = {}
    for old, new in zip(graph.inputs, given, strict=True):
        known[id(old)] = InputLayer.from_config(old.node.layer.get_config()).output if new is None else new
    layers: dict[int, Any] = {}
    for node in graph.nodes:
        if all(id(each) in known for each in flatten(node.outputs)):
            continue
        if id(node.layer) not in layers:
            layers[id(node.layer)] = make(node.layer)
        layer = layers[id(node.layer)]
        args, kwargs = map_structure(lambda leaf: _known(leaf, known), (node.args, node.kwargs))
        result = layer(*args, **kwargs) if call is None else call(layer, *args, **kwargs)
        for old, new in zip(flatten(node.outputs), flatten(result), strict=True):
            known[id(old)] = new
    inputs, outputs = map_structure(lambda leaf: _known(leaf, known), (graph.inputs_struct, graph.outputs_struct))
    return Functional(inputs, outputs, name=model.name)


def _known(leaf: Any, known: dict[int, Any]) -> Any:
    return known[id(leaf)] if isinstance(leaf, KerasTensor) else leaf
