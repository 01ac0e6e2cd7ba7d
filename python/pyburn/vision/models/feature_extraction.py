"""Features from the middle of a model, by the names of its layers and functions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyburn import nn

__all__ = ["create_feature_extractor", "get_graph_node_names"]

Nodes = Mapping[str, str] | Sequence[str]


def create_feature_extractor(
    model: nn.Module,
    return_nodes: Nodes | None = None,
    train_return_nodes: Nodes | None = None,
    eval_return_nodes: Nodes | None = None,
    tracer_kwargs: dict[str, Any] | None = None,
    suppress_diff_warning: bool = False,
    concrete_args: dict[str, Any] | None = None,
) -> nn.Module:
    """A module with the weights of `model` that gives a dictionary of what some of its layers and functions give.

    Args:
        model: Any module; the weights are shared with it. `fx` must be able to trace it if functions are named.
        return_nodes: The name of each layer whose output is wanted, ``"layer1.0"``, and perhaps another name for it in
            the dictionary. Of a layer that is called several times ``"relu_1"`` is the second output. Names of
            functions inside a layer, ``"layer1.0.add"`` or ``"flatten"``, are those of `get_graph_node_names`.
        train_return_nodes: Other layers while training, together with `eval_return_nodes`.
        eval_return_nodes: Other layers in evaluation mode.
        tracer_kwargs: Accepted as by torchvision.
        suppress_diff_warning: Accepted as by torchvision; there is no such warning.
        concrete_args: Arguments of the model that are fixed while it is traced.

    Raises:
        ValueError: There is no such layer or function, or it was not called.

    Example:
        >>> import pyburn
        >>> from pyburn.vision import models
        >>> extractor = create_feature_extractor(models.squeezenet1_1(num_classes=2), {"features.5": "early"})
        >>> extractor(pyburn.zeros(1, 3, 64, 64))["early"].shape
        pyburn.Size([1, 128, 7, 7])
    """
    if (train_return_nodes is None) != (eval_return_nodes is None):
        raise ValueError(
            "create_feature_extractor: give both train_return_nodes and eval_return_nodes, or return_nodes"
        )
    if (return_nodes is None) == (train_return_nodes is None):
        raise ValueError("create_feature_extractor: give return_nodes, or train_return_nodes and eval_return_nodes")
    train, evaluate = train_return_nodes or return_nodes or [], eval_return_nodes or return_nodes or []
    layers = _named(model, train), _named(model, evaluate)
    if layers[0] is not None and layers[1] is not None:
        return FeatureExtractor(model, layers[0], layers[1])
    return _traced(model, (train, evaluate), concrete_args)


def _traced(model: nn.Module, nodes: tuple[Nodes, Nodes], concrete_args: dict[str, Any] | None) -> FeatureExtractor:
    from pyburn.vision.models._tracing import features_graph

    training = model.training
    try:
        graphs = [
            features_graph(model.train(mode), dict(_pairs(wanted)), concrete_args)
            for mode, wanted in zip((True, False), nodes, strict=True)
        ]
    finally:
        model.train(training)
    made = FeatureExtractor(model, {}, {})
    made._graphs = graphs
    return made


def _pairs(nodes: Nodes) -> Iterable[tuple[str, str]]:
    return nodes.items() if isinstance(nodes, Mapping) else zip(nodes, nodes, strict=True)


def get_graph_node_names(model: nn.Module) -> tuple[list[str], list[str]]:
    """The names of all layers and functions that a model computes, in their order: while training and in evaluation.

    Args:
        model: A module that `fx` can trace.

    Example:
        >>> from pyburn import nn
        >>> get_graph_node_names(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))[1]
        ['input', '0', '1']
    """
    # Tracing lets arguments take calls over, which makes every call of the program slower: not before it is wanted.
    from pyburn.vision.models._tracing import Paths

    found = []
    training = model.training
    try:
        for mode in (True, False):
            tracer = Paths()
            tracer.trace(model.train(mode))
            found.append(tracer.names)
    finally:
        model.train(training)
    return found[0], found[1]


def _named(model: nn.Module, nodes: Nodes) -> dict[tuple[str, int], str] | None:
    """The wanted name of each layer and of its how-manieth call; None if something is no layer."""
    layers = dict(model.named_modules())
    found = {}
    for node, name in _pairs(nodes):
        counted = re.fullmatch(r"(.+)_(\d+)", node)
        if node in layers:
            found[node, 0] = name
        elif counted and counted[1] in layers:
            found[counted[1], int(counted[2])] = name
        else:
            return None
    return found


class _Enough(Exception):
    """All that was wanted is there."""


class FeatureExtractor(nn.Module):
    """A model that gives the outputs of some of its layers and stops when it has them.

    Args:
        model: The model.
        train_nodes: The names of layers and how often each was called before, with the names for their outputs.
        eval_nodes: The same in evaluation mode.
    """

    def __init__(
        self, model: nn.Module, train_nodes: dict[tuple[str, int], str], eval_nodes: dict[tuple[str, int], str]
    ) -> None:
        super().__init__()
        # The very same dictionaries: keys of the state are the model's, and what moves here moves there.
        for kind in ("_parameters", "_buffers", "_modules"):
            self.__dict__[kind] = model.__dict__[kind]
        self._whole = [model]
        self._graphs: list[Any] = []
        self.train_nodes, self.eval_nodes = train_nodes, eval_nodes
        self.training = model.training

    def train(self, mode: bool = True) -> FeatureExtractor:
        """This module with `training` set to `mode`, in the model and all of its layers too."""
        self._whole[0].training = mode
        return super().train(mode)

    def forward(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The outputs of the wanted layers by their names, in the order in which they were asked for."""
        wanted = self.train_nodes if self.training else self.eval_nodes
        model = self._whole[0]
        if self._graphs:
            return self._by_graph(args, kwargs)
        outputs: dict[tuple[str, int], Any] = {}
        calls = dict.fromkeys([layer for layer, _ in wanted], 0)

        def keep(layer: str, output: Any) -> None:
            if (layer, calls[layer]) in wanted:
                outputs[layer, calls[layer]] = output
            calls[layer] += 1
            if len(outputs) == len(wanted):
                raise _Enough

        layers = dict(model.named_modules())
        hooks = [
            layers[layer].register_forward_hook(lambda _, inputs, output, layer=layer: keep(layer, output))
            for layer in calls
        ]
        try:
            model(*args, **kwargs)
        except _Enough:
            pass
        finally:
            for hook in hooks:
                hook.remove()
        missing = [layer for layer, count in wanted if (layer, count) not in outputs]
        if missing:
            raise ValueError(f"create_feature_extractor: the layer {missing[0]!r} was not called that often")
        return {name: outputs[node] for node, name in wanted.items()}

    def _by_graph(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        from pyburn.vision.models._tracing import run_graph

        found: dict[str, Any] = run_graph(self._whole[0], self._graphs[0 if self.training else 1], args, kwargs)
        return found
