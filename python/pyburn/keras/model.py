"""Models: layers that also train, are saved and are summed up."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from pyburn import nn
from pyburn._core import Tensor, device, get_default_device
from pyburn._devices import Backend
from pyburn.keras._registry import deserialize_keras_object, plain, serialize_keras_object
from pyburn.keras.graph import Graph
from pyburn.keras.layer import Layer
from pyburn.keras.symbolic import KerasTensor, any_symbolic, flatten, shape_of
from pyburn.keras.training.mission import fit_with
from pyburn.keras.training.trainer import Trainer

__all__ = ["Functional", "Model", "model_from_json"]


class Model(Trainer):
    """A model: of symbolic inputs and outputs, or a subclass that says in `call` what it computes.

    Args:
        inputs: What `keras.Input` gave, or a list or dictionary of them.
        outputs: What layers made of them, or a list or dictionary.
        backend: Where its weights are: a name such as "Wgpu", or a `pyburn.Backend`.
        name: Its name.
        trainable: Whether training changes its weights.
        dtype: The dtype of its weights.

    Example:
        >>> from pyburn.keras import Dense, Input, Model
        >>> x = Input((4,))
        >>> Model(x, Dense(2)(x)).count_params()
        10
    """

    _graph: Graph | None = None
    # Whether inputs may have other sizes than those that the model was made for.
    _any_sizes = False

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """A functional model where there are inputs and outputs."""
        functional = len(args) >= 2 or "outputs" in kwargs
        return super().__new__(Functional if cls is Model and functional else cls, *args, **kwargs)

    def __init__(self, inputs: Any = None, outputs: Any = None, *, backend: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if backend is not None:
            self._place = device(backend)
        if outputs is not None:
            self._set_graph(Graph(inputs, outputs))

    def _set_graph(self, graph: Graph) -> None:
        self._graph = graph
        for layer in graph.layers:
            self._modules[layer.name.replace(".", "_")] = layer
        self.built = True
        if self._place is not None:
            self.to(self._place)

    def call(self, inputs: Any, training: bool | None = None, mask: Any = None) -> Any:
        """What the model computes; a subclass that has no inputs and outputs says it."""
        if self._graph is None:
            raise NotImplementedError(
                f"{type(self).__name__}: a model must define call(self, inputs), or be given inputs and outputs"
            )
        return self._graph.run(self, inputs, training)

    def build(self, input_shape: Any = None) -> None:
        """Nothing; the model has its weights for inputs of this shape."""
        # First, so that the trial call below does not build again.
        self.built = True
        if self._graph is None and input_shape is not None and type(self).call is not Model.call:
            self.compute_output_shape(_tuples(input_shape))

    def _build_once(self, signature: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        # Without a `build` of its own, the layers of a subclass make their weights in the call itself.
        if not self.built and type(self).build is Model.build and type(self).call is not Model.call:
            self.built = True
            if args and not any(isinstance(each, (Tensor, KerasTensor)) for each in flatten(list(kwargs.values()))):
                # So that a saved model can be built again before its weights are read.
                self._build_shapes = _any_batch(shape_of(args[0]))
            return
        super()._build_once(signature, args, kwargs)

    @property
    def layers(self) -> list[Any]:
        """The layers right inside this model."""
        self._track_lists()
        return [module for module in dict.fromkeys(self._modules.values()) if isinstance(module, nn.Module)]

    def get_layer(self, name: str | None = None, index: int | None = None) -> Any:
        """The layer of that name or place."""
        if index is not None:
            if not -len(self.layers) <= index < len(self.layers):
                raise ValueError(f"get_layer: index is {index}, but the model has {len(self.layers)} layers")
            return self.layers[index]
        for layer in self.layers:
            if getattr(layer, "name", None) == name:
                return layer
        raise ValueError(
            f"get_layer: there is none called {name!r}; the layers are {[each.name for each in self.layers]}"
        )

    @property
    def inputs(self) -> Any:
        """The symbolic inputs, as a list."""
        return None if self._graph is None else self._graph.inputs

    @property
    def outputs(self) -> Any:
        """The symbolic outputs, as a list."""
        return None if self._graph is None else self._graph.outputs

    @property
    def input(self) -> Any:
        """The symbolic input, in the nest that it was given in."""
        return super().input if self._graph is None else self._graph.inputs_struct

    @property
    def output(self) -> Any:
        """The symbolic output, in the nest that it was given in."""
        return super().output if self._graph is None else self._graph.outputs_struct

    @property
    def input_shape(self) -> Any:
        """The shape of the input, or a list of shapes."""
        return _one_or_list([each.shape for each in self.inputs or []])

    @property
    def output_shape(self) -> Any:
        """The shape of the output, or a list of shapes."""
        return _one_or_list([each.shape for each in self.outputs or []])

    @property
    def input_names(self) -> list[str]:
        """The names of the inputs."""
        return [] if self._graph is None else self._graph.input_names

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs."""
        return [] if self._graph is None else self._graph.output_names

    @property
    def backend(self) -> Any:
        """Where the weights are; setting it moves them, trained or not.

        Example:
            >>> from pyburn.keras import Dense, Input, Sequential
            >>> model = Sequential([Input((4,)), Dense(2)])
            >>> model.backend = "NdArray"
            >>> model.backend
            <Backend.NDARRAY: 'ndarray'>
        """
        first = next(iter(self.weights), None)
        place = first.device if first is not None else self._place or get_default_device()
        return Backend.NDARRAY if device(place).type == "cpu" else Backend.WGPUDEVICE

    @backend.setter
    def backend(self, value: Any) -> None:
        self._place = device(value)
        for module in self.modules():
            if isinstance(module, Layer):
                module._place = self._place
        self.to(self._place)
        for kept in getattr(self.optimizer, "state", {}).values():
            kept |= {
                name: each.to(self._place) for name, each in kept.items() if isinstance(each, Tensor) and each.dim()
            }

    def train(self, mode: Any = True, config: Any = None, valid_data: Any = None, **kwargs: Any) -> Any:
        """This model in training mode (`train(True)`, as in torch); or, given data, the history of its training.

        Args:
            mode: A bool, or training data: (x, y), a Dataset, a DataLoader.
            config: With data: a dictionary, a `pyburn.train.Config` or an object with fields of `compile` and `fit`
                (`optimizer`, `learning_rate`, `loss`, `metrics`, `epochs`, `batch_size`, `validation_data`, ...).
            valid_data: With data: the same for validation.
            **kwargs: The same fields by name.

        Example:
            >>> import pyburn
            >>> from pyburn.keras import Dense, Input, Sequential
            >>> model = Sequential([Input((3,)), Dense(1)])
            >>> x = pyburn.randn(64, 3)
            >>> history = model.train((x, x.sum(1)), {"loss": "mse", "epochs": 2, "verbose": 0})
            >>> len(history.history["loss"])
            2
        """
        if isinstance(mode, bool) and config is None and valid_data is None and not kwargs:
            return super().train(mode)
        return fit_with(self, mode, config, validation_data=valid_data, **kwargs)

    def summary(
        self,
        line_length: int | None = None,
        positions: Any = None,
        print_fn: Callable[[str], Any] | None = None,
        expand_nested: bool = False,
        show_trainable: bool = False,
        layer_range: Any = None,
    ) -> None:
        """Nothing; the layers with their outputs and numbers of weights are printed.

        Args:
            line_length: The width of the table.
            positions: Accepted for Keras's sake.
            print_fn: What is called with the text instead of `print`.
            expand_nested: Whether the layers of models inside are listed too.
            show_trainable: Whether a column says which layers train.
            layer_range: The names of the first and last layer to be listed.
        """
        from pyburn.keras.summary import text_of

        (print_fn or print)(text_of(self, line_length, expand_nested, show_trainable, layer_range))

    def get_config(self) -> dict[str, Any]:
        """The arguments that make the same model, in plain values."""
        if self._graph is None:
            return super().get_config()
        from pyburn.keras.functional_config import config_of

        return config_of(self)

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """The model that `get_config` described."""
        if "input_layers" in config and "layers" in config:
            from pyburn.keras.functional_config import model_of

            return model_of(Functional if cls is Model else cls, config, custom_objects)
        return cls(**config)

    def get_compile_config(self) -> dict[str, Any] | None:
        """The arguments of `compile`, in plain values."""
        if not self.compiled:
            return None
        found: dict[str, Any] = plain(self._compile_arguments)
        return found

    def compile_from_config(self, config: dict[str, Any]) -> None:
        """Nothing; the model is compiled as `get_compile_config` described."""
        known = ("optimizer", "loss", "loss_weights", "metrics", "weighted_metrics")
        families = {"optimizer": "optimizers", "loss": "losses", "metrics": "metrics", "weighted_metrics": "metrics"}
        self.compile(
            **{
                name: deserialize_keras_object(value, None, families.get(name, ""))
                for name, value in config.items()
                if name in known and value is not None
            }
        )

    def to_json(self, **kwargs: Any) -> str:
        """The architecture as JSON; `model_from_json` reads it.

        Args:
            **kwargs: Passed to `json.dumps`.
        """
        return json.dumps(serialize_keras_object(self), **kwargs)

    def save(self, filepath: str | os.PathLike[str], overwrite: bool = True, **kwargs: Any) -> None:
        """Nothing; the file holds architecture, weights and what the optimizer remembers.

        Args:
            filepath: Where to write.
            overwrite: Whether a file that is there may be replaced.
            **kwargs: `include_optimizer=False` leaves the optimizer out.
        """
        from pyburn.keras.saving import save_model

        save_model(self, filepath, overwrite, **kwargs)

    def save_weights(self, filepath: str | os.PathLike[str], overwrite: bool = True) -> None:
        """Nothing; the file holds the weights."""
        from pyburn.keras.saving import save_weights

        save_weights(self, filepath, overwrite)

    def load_weights(self, filepath: str | os.PathLike[str], skip_mismatch: bool = False, **kwargs: Any) -> None:
        """Nothing; the model has the weights of a file of ours, of a `.weights.h5`, a `.keras` or an `.h5`."""
        from pyburn.keras.saving import load_weights

        load_weights(self, filepath, skip_mismatch, **kwargs)

    def export(self, filepath: str | os.PathLike[str], **kwargs: Any) -> None:
        """Raises: a SavedModel needs TensorFlow.

        Raises:
            NotImplementedError: Always; the text names what to do.
        """
        raise NotImplementedError(
            "export: a SavedModel is TensorFlow's; use model.save(path) or model.save_weights(path)"
        )


class Functional(Model):
    """A model of symbolic inputs and outputs, as `Model(inputs, outputs)` makes it."""

    def __init__(self, inputs: Any = None, outputs: Any = None, **kwargs: Any) -> None:
        super().__init__(inputs, outputs, **kwargs)

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and any_symbolic(args) and self._graph is not None:
            given = [each for each in flatten(args[0]) if isinstance(each, KerasTensor)]
            if [each.shape for each in given] == [each.shape for each in self._graph.inputs]:
                return self._graph.outputs_struct
        return super().compute_output_spec(*args, **kwargs)


def model_from_json(json_string: str, custom_objects: dict[str, Any] | None = None) -> Any:
    """The model that `to_json` described, with new weights."""
    return deserialize_keras_object(json.loads(json_string), custom_objects, "models")


def _one_or_list(shapes: list[Any]) -> Any:
    return shapes[0] if len(shapes) == 1 else shapes


def _tuples(shape: Any) -> Any:
    if isinstance(shape, dict):
        return {key: _tuples(each) for key, each in shape.items()}
    if shape and isinstance(shape[0], (list, tuple)):
        return [_tuples(each) for each in shape]
    return tuple(shape)


def _any_batch(shape: Any) -> Any:
    """Shapes with any number of samples."""
    if isinstance(shape, dict):
        return {key: _any_batch(each) for key, each in shape.items()}
    if shape and isinstance(shape[0], (list, tuple, dict)):
        return [_any_batch(each) for each in shape]
    return None if shape is None else (None, *shape[1:])
