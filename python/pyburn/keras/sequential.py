"""A model that is a row of layers."""

from __future__ import annotations

from typing import Any

from pyburn import nn
from pyburn._core import device
from pyburn.keras._context import placed, scoped
from pyburn.keras._registry import deserialize_keras_object, serialize_keras_object
from pyburn.keras.graph import Graph
from pyburn.keras.layer import Layer
from pyburn.keras.layers.core import InputLayer, as_layer
from pyburn.keras.model import Model
from pyburn.keras.symbolic import KerasTensor

__all__ = ["Sequential"]


class Sequential(Model):
    """A row of layers, each fed by the one before.

    Args:
        layers: The layers; `add` appends more.
        trainable: Whether training changes its weights.
        name: Its name.
        backend: Where its weights are: a name such as "Wgpu", or a `pyburn.Backend`.

    Example:
        >>> from pyburn.keras import Dense, Input, Sequential
        >>> model = Sequential()
        >>> model.add(Input(shape=(16,)))
        >>> model.add(Dense(8, activation="relu"))
        >>> len(model.weights)
        2
    """

    _any_sizes = True

    def __init__(
        self,
        layers: Any = None,
        trainable: bool = True,
        name: str | None = None,
        *,
        backend: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(trainable=trainable, name=name, dtype=dtype)
        if backend is not None:
            self._place = device(backend)
        self._begin_with(None)
        for layer in layers or ():
            self.add(layer)

    _start: InputLayer | None

    def _begin_with(self, layer: InputLayer | None) -> None:
        # Not by assignment: the input is none of the layers.
        self.__dict__["_start"] = layer

    @property
    def layers(self) -> list[Any]:
        """The layers, without the input."""
        return [module for module in self._modules.values() if module is not None]

    def add(self, layer: Any, rebuild: bool = True) -> None:
        """Nothing; the layer stands at the end.

        Args:
            layer: A layer, what `Input` gives (first of all), or any `nn.Module`.
            rebuild: Accepted for Keras's sake.
        """
        if isinstance(layer, KerasTensor) and layer.node is not None:
            layer = layer.node.layer
        if isinstance(layer, InputLayer):
            self._add_input(layer)
            return
        if not isinstance(layer, Layer):
            if not isinstance(layer, nn.Module):
                raise ValueError(
                    f"Sequential.add: {layer!r} is a {type(layer).__name__}; give a layer, an Input or an nn.Module"
                )
            layer = as_layer(layer)
        key = layer.name.replace(".", "_")
        if key in self._modules:
            raise ValueError(
                f"Sequential.add: {self.name} already has a layer called {layer.name!r}; give the new one another name="
            )
        if self._start is None and not self._modules:
            self._input_from(layer)
        self._modules[key] = layer
        if self._graph is not None:
            try:
                self._extend(layer)
            except Exception:
                del self._modules[key]
                raise
        else:
            self.built = False
            if self._start is not None:
                self._rebuild()

    def _add_input(self, layer: InputLayer) -> None:
        if self._start is not None or self._modules:
            raise ValueError(f"Sequential.add: {self.name} has layers already, but an Input must come first")
        self._begin_with(layer)
        self._graph = None

    def _input_from(self, layer: Any) -> None:
        """Nothing; a first layer that knows its input's shape brings the input with it."""
        shape = getattr(layer, "_input_shape_arg", None)
        if shape is None and isinstance(layer, Model) and layer.inputs and len(layer.inputs) == 1:
            shape = layer.inputs[0].shape
        if shape is not None:
            self._begin_with(InputLayer(batch_shape=shape))

    def _extend(self, layer: Any) -> None:
        assert self._graph is not None
        with placed(self._place), scoped(self):
            output = layer(self._graph.outputs_struct)
        self._graph = Graph(self._graph.inputs_struct, output)
        self._after_build()

    def _rebuild(self) -> None:
        assert self._start is not None
        with placed(self._place), scoped(self):
            tensor: Any = self._start.output
            for layer in self.layers:
                tensor = layer(tensor)
        self._graph = Graph(self._start.output, tensor)
        self._after_build()

    def _after_build(self) -> None:
        self.built = True
        assert self._start is not None
        self._build_shapes = self._start.batch_shape

    def pop(self, rebuild: bool = True) -> Any:
        """The last layer, which the model has no more."""
        if not self._modules:
            raise ValueError(f"Sequential.pop: {self.name} has no layers")
        layer = self._modules.pop(list(self._modules)[-1])
        self._graph = None
        self.built = False
        if self._start is not None and self._modules:
            self._rebuild()
        return layer

    def build(self, input_shape: Any = None) -> None:
        """Nothing; the layers have their weights for inputs of this shape, batch axis included."""
        if self._graph is not None or not self._modules:
            return
        if self._start is None:
            if input_shape is None:
                raise ValueError(
                    f"{self.name}: the input's shape is not known; begin the model with Input(shape), or "
                    "build(input_shape)"
                )
            if not isinstance(input_shape, (tuple, list)) or (
                input_shape and isinstance(input_shape[0], (tuple, list))
            ):
                return
            self._begin_with(InputLayer(batch_shape=(None, *input_shape[1:])))
        self._rebuild()

    def _build_once(self, signature: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        # An eager first call must know the dtype of what it is given, which a shape does not tell.
        if self.built or not args or not hasattr(args[0], "shape"):
            super()._build_once(signature, args, kwargs)
            return
        if self._start is None:
            self._begin_with(InputLayer(batch_shape=(None, *tuple(args[0].shape)[1:]), dtype=args[0].dtype))
        if self._modules:
            self._rebuild()
        self.built = True

    def call(self, inputs: Any, training: bool | None = None, mask: Any = None) -> Any:
        if self._graph is not None:
            return self._graph.run(self, inputs, training)
        for layer in self.layers:
            inputs = layer(inputs, training=training)
        return inputs

    def get_config(self) -> dict[str, Any]:
        first = [] if self._start is None else [serialize_keras_object(self._start)]
        config = {
            "name": self.name,
            "trainable": self.trainable,
            "dtype": serialize_keras_object(self.dtype_policy),
            "layers": [*first, *(serialize_keras_object(layer) for layer in self.layers)],
        }
        if self._start is not None:
            config["build_input_shape"] = list(self._start.batch_shape)
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """The model that `get_config` described."""
        model = cls(name=config.get("name"), dtype=config.get("dtype"))
        for entry in config["layers"]:
            layer = deserialize_keras_object(entry, custom_objects, "layers")
            model.add(layer)
        shape = config.get("build_input_shape")
        if shape and not model.built and all(each is None or isinstance(each, int) for each in shape):
            model.build(tuple(shape))
        model.trainable = config.get("trainable", True) if config.get("trainable") is False else model.trainable
        return model

    def extra_repr(self) -> str:
        """The name."""
        return f"name={self.name!r}"
