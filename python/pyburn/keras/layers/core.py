"""Input, Dense, Embedding and other layers that models begin and end with."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from pyburn import nn, ops
from pyburn._core import ShapeError, device
from pyburn.keras import activations, constraints, initializers, regularizers
from pyburn.keras import config as settings
from pyburn.keras._context import CONTEXT
from pyburn.keras._naming import snake_case
from pyburn.keras._registry import get_registered_object
from pyburn.keras.layer import InputSpec, Layer
from pyburn.keras.symbolic import KerasTensor, Node, is_keras_tensor
from pyburn.nn import functional

__all__ = [
    "Activation",
    "Dense",
    "EinsumDense",
    "Embedding",
    "Identity",
    "Input",
    "InputLayer",
    "Lambda",
    "Masking",
    "TorchModuleWrapper",
    "Wrapper",
]


class InputLayer(Layer):
    """Where data enters a model.

    Args:
        shape: The shape of one sample.
        batch_size: The size of batches, where it is fixed.
        dtype: The dtype of the data.
        sparse: Accepted for Keras's sake.
        ragged: Accepted for Keras's sake.
        batch_shape: The whole shape, in place of `shape`.
        input_tensor: A symbolic tensor to enter with.
        optional: Whether the input may be None.
        name: Its name.
    """

    def __init__(
        self,
        shape: Sequence[int | None] | None = None,
        batch_size: int | None = None,
        dtype: Any = None,
        sparse: bool | None = None,
        ragged: bool | None = None,
        batch_shape: Sequence[int | None] | None = None,
        input_tensor: Any = None,
        optional: bool = False,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name)
        batch_shape = kwargs.pop("batch_input_shape", batch_shape)
        if shape is None and batch_shape is None and input_tensor is None:
            raise ValueError("Input: the shape of a sample is missing; write Input(shape=(4,))")
        if input_tensor is not None:
            batch_shape, dtype = input_tensor.shape, dtype or input_tensor.dtype
        if batch_shape is None:
            shape = (shape,) if isinstance(shape, int) else shape
            batch_shape = (batch_size, *(shape or ()))
        for size in batch_shape:
            if size is not None and (not isinstance(size, int) or size < 0):
                raise ValueError(
                    f"Input: {size!r} in the shape {tuple(batch_shape)} is no size; give whole numbers or None"
                )
        self.batch_shape = tuple(batch_shape)
        self._dtype = settings.dtype_name(dtype) if dtype is not None else settings.floatx()
        self.sparse, self.ragged, self.optional = bool(sparse), bool(ragged), optional
        self.built = True
        output = (
            input_tensor if is_keras_tensor(input_tensor) else KerasTensor(self.batch_shape, self._dtype, self.name)
        )
        Node(self, (), {}, output)

    @property
    def dtype(self) -> str:
        """The dtype of the data."""
        return self._dtype

    def call(self) -> None:
        """Nothing: an input is fed, not called."""

    def get_config(self) -> dict[str, Any]:
        return {
            "batch_shape": self.batch_shape,
            "dtype": self._dtype,
            "sparse": self.sparse,
            "ragged": self.ragged,
            "name": self.name,
            "optional": self.optional,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """The layer that `get_config` described."""
        return cls(**config)

    def get_build_config(self) -> dict[str, Any] | None:
        return None

    def extra_repr(self) -> str:
        """The shape and the name."""
        return f"{self.batch_shape[1:]}, name={self.name!r}"


def Input(
    shape: Sequence[int | None] | None = None,
    batch_size: int | None = None,
    dtype: Any = None,
    sparse: bool | None = None,
    ragged: bool | None = None,
    batch_shape: Sequence[int | None] | None = None,
    name: str | None = None,
    tensor: Any = None,
    optional: bool = False,
) -> Any:
    """A symbolic tensor where data enters a model; layers are called on it, or it is added to a `Sequential`.

    Args:
        shape: The shape of one sample.
        batch_size: The size of batches, where it is fixed.
        dtype: The dtype of the data, "float32" unless said otherwise.
        sparse: Accepted for Keras's sake.
        ragged: Accepted for Keras's sake.
        batch_shape: The whole shape, in place of `shape`.
        name: Its name.
        tensor: A symbolic tensor to enter with.
        optional: Whether the input may be None.

    Example:
        >>> Input(shape=(4,)).shape
        (None, 4)
    """
    if isinstance(shape, int):
        raise ValueError(f"Input: shape is {shape}, but must be a tuple; write Input(shape=({shape},))")
    layer = InputLayer(shape, batch_size, dtype, sparse, ragged, batch_shape, tensor, optional, name)
    return layer.output


class Dense(Layer):
    """`activation(inputs @ kernel + bias)`, along the last axis.

    Args:
        units: The size of the result.
        activation: What is applied to the result, by name or as a function.
        use_bias: Whether there is a bias.
        kernel_initializer: The first values of the kernel, which has shape (inputs, units).
        bias_initializer: The first values of the bias.
        kernel_regularizer: A loss of the kernel.
        bias_regularizer: A loss of the bias.
        activity_regularizer: A loss of the result.
        kernel_constraint: What the kernel must keep to.
        bias_constraint: What the bias must keep to.
        **kwargs: See `Layer`.

    Example:
        >>> import pyburn
        >>> Dense(3, activation="relu")(pyburn.ones(2, 4)).shape
        pyburn.Size([2, 3])
    """

    def __init__(
        self,
        units: int,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        _known_only(kwargs)
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        if not isinstance(units, int) or units <= 0:
            raise ValueError(f"Dense: units is {units!r}, but must be a positive whole number")
        self.units, self.use_bias = units, use_bias
        self.activation = activations.get(activation)
        self.kernel_initializer, self.bias_initializer = (
            initializers.get(kernel_initializer),
            initializers.get(bias_initializer),
        )
        self.kernel_regularizer, self.bias_regularizer = (
            regularizers.get(kernel_regularizer),
            regularizers.get(bias_regularizer),
        )
        self.kernel_constraint, self.bias_constraint = (
            constraints.get(kernel_constraint),
            constraints.get(bias_constraint),
        )
        self.input_spec = InputSpec(min_ndim=2)
        self.supports_masking = True

    def build(self, input_shape: Any) -> None:
        size = last_size(self, input_shape)
        self.kernel = self.add_weight(
            (size, self.units),
            self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
            name="kernel",
        )
        if self.use_bias:
            self.bias = self.add_weight(
                (self.units,),
                self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
                name="bias",
            )
        else:
            self.bias = None
        self.input_spec = InputSpec(
            min_ndim=2,
            axes={-1: size},
            hint=f"the layer was built for {size} features: give it those, or make a new Dense({self.units})",
        )

    def call(self, inputs: Any) -> Any:
        x = inputs if inputs.is_floating_point() else inputs.to(self.kernel.dtype)
        return self.activation(functional.linear(x, self.kernel.T, self.bias))


def _known_only(kwargs: dict[str, Any]) -> None:
    """Nothing; settings of real Keras's quantized layers that are off are dropped."""
    for name in ("lora_rank", "lora_alpha", "quantization_config", "quantization_mode"):
        if kwargs.get(name, 0) is None:
            kwargs.pop(name)


def last_size(layer: Any, input_shape: Any, axis: int = -1) -> int:
    """The size of an axis that a layer must know to make its weights."""
    if not -len(input_shape) <= axis < len(input_shape):
        raise ShapeError(
            f"{layer.name} ({type(layer).__name__}): there is no axis {axis} in an input of shape {tuple(input_shape)};"
            f" give axis a number from {-len(input_shape)} to {len(input_shape) - 1}"
        )
    size = input_shape[axis]
    if size is None:
        raise ShapeError(
            f"{layer.name} ({type(layer).__name__}): the size of axis {axis} of the input must be known, but the "
            "shape is "
            f"{tuple(input_shape)}; give it in Input(shape=...)"
        )
    return int(size)


class EinsumDense(Layer):
    """`activation(einsum(equation, inputs, kernel) + bias)`.

    Args:
        equation: Such as "abc,cd->abd"; `...` stands for axes of any number.
        output_shape: The shape of the result without the batch axis (and without the axes of `...`).
        activation: What is applied to the result.
        bias_axes: The axes of the result that the bias has, such as "d".
        kernel_initializer: The first values of the kernel.
        bias_initializer: The first values of the bias.
        kernel_regularizer: A loss of the kernel.
        bias_regularizer: A loss of the bias.
        kernel_constraint: What the kernel must keep to.
        bias_constraint: What the bias must keep to.
        **kwargs: See `Layer`.
    """

    def __init__(
        self,
        equation: str,
        output_shape: Any,
        activation: Any = None,
        bias_axes: str | None = None,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        _known_only(kwargs)
        kwargs.pop("gptq_unpacked_column_size", None)
        super().__init__(**kwargs)
        self.equation, self.bias_axes = equation, bias_axes
        self.output_shape = (output_shape,) if isinstance(output_shape, int) else tuple(output_shape)
        self.activation = activations.get(activation)
        self.kernel_initializer, self.bias_initializer = (
            initializers.get(kernel_initializer),
            initializers.get(bias_initializer),
        )
        self.kernel_regularizer, self.bias_regularizer = (
            regularizers.get(kernel_regularizer),
            regularizers.get(bias_regularizer),
        )
        self.kernel_constraint, self.bias_constraint = (
            constraints.get(kernel_constraint),
            constraints.get(bias_constraint),
        )
        if not re.fullmatch(r"[a-zA-Z.]+,[a-zA-Z.]+->[a-zA-Z.]+", equation.replace(" ", "")):
            raise ValueError(f"EinsumDense: {equation!r} is no equation such as 'ab,bc->ac'")

    def _sizes(self, input_shape: Any) -> tuple[list[int], list[int] | None]:
        """The shapes of kernel and bias."""
        left, right = self.equation.replace(" ", "").split("->")
        inputs, kernel = left.split(",")
        known: dict[str, Any] = {}
        _name_axes(inputs, list(input_shape), known)
        full = [None, *self.output_shape]
        letters = right.replace("...", "")
        if "..." not in right and len(letters) == len(full):
            named = zip(letters, full, strict=True)
        else:
            # The batch axis, if it is one of the letters, is not part of output_shape.
            named = zip(reversed(letters), reversed(self.output_shape), strict=False)
        for letter, size in named:
            if known.get(letter) is None and size is not None:
                known[letter] = size
        shape: list[Any] = [known.get(letter) for letter in kernel]
        if None in shape:
            raise ShapeError(
                f"{self.name} (EinsumDense): the sizes of the kernel {kernel!r} in {self.equation!r} are {shape} for "
                "an input "
                f"of shape {tuple(input_shape)} and output_shape={self.output_shape}; give the missing ones"
            )
        if not self.bias_axes:
            return [int(size) for size in shape], None
        first = min(letters.index(axis) for axis in self.bias_axes)
        bias = [known[letter] if letter in self.bias_axes else 1 for letter in letters[first:]]
        return [int(size) for size in shape], bias

    def build(self, input_shape: Any) -> None:
        kernel, bias = self._sizes(input_shape)
        self.kernel = self.add_weight(
            kernel,
            self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
            name="kernel",
        )
        if bias is None:
            self.bias = None
        else:
            self.bias = self.add_weight(
                bias,
                self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
                name="bias",
            )

    def call(self, inputs: Any) -> Any:
        x = ops.einsum(self.equation, inputs, self.kernel)
        return self.activation(x if self.bias is None else x + self.bias)


def _name_axes(letters: str, shape: list[Any], known: dict[str, Any]) -> None:
    """Nothing; `known` has the size of each letter."""
    before, _, after = letters.partition("...")
    if "..." in letters:
        pairs = [*zip(before, shape), *zip(reversed(after), reversed(shape))]
    else:
        pairs = list(zip(letters, shape, strict=True))
    for letter, size in pairs:
        known[letter] = size


class Embedding(Layer):
    """A row of numbers for each whole number.

    Args:
        input_dim: How many there are: inputs go from 0 to `input_dim - 1`.
        output_dim: The length of a row.
        embeddings_initializer: The first values of the rows.
        embeddings_regularizer: A loss of the rows.
        embeddings_constraint: What the rows must keep to.
        mask_zero: Whether 0 is padding, which later layers leave out.
        weights: First values, in place of the initializer.
        **kwargs: See `Layer`.

    Example:
        >>> import pyburn
        >>> Embedding(10, 4)(pyburn.tensor([[1, 2, 3]])).shape
        pyburn.Size([1, 3, 4])
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: Any = "uniform",
        embeddings_regularizer: Any = None,
        embeddings_constraint: Any = None,
        mask_zero: bool = False,
        weights: Any = None,
        **kwargs: Any,
    ) -> None:
        _known_only(kwargs)
        kwargs.pop("input_length", None)
        super().__init__(**kwargs)
        self.input_dim, self.output_dim, self.mask_zero = input_dim, output_dim, mask_zero
        self.embeddings_initializer = initializers.get(embeddings_initializer)
        self.embeddings_regularizer = regularizers.get(embeddings_regularizer)
        self.embeddings_constraint = constraints.get(embeddings_constraint)
        self.supports_masking = self._makes_masks = mask_zero
        self._first_values = weights
        self.autocast = False

    def build(self, input_shape: Any = None) -> None:
        self.embeddings = self.add_weight(
            (self.input_dim, self.output_dim),
            self.embeddings_initializer,
            regularizer=self.embeddings_regularizer,
            constraint=self.embeddings_constraint,
            name="embeddings",
        )
        if self._first_values is not None:
            self.set_weights(self._first_values if isinstance(self._first_values, list) else [self._first_values])

    def call(self, inputs: Any) -> Any:
        places = inputs.long()
        if CONTEXT.probing:
            # Places that were counted along an axis of unknown size may be beyond the table.
            places = ops.clamp(places, 0, self.input_dim - 1)
        elif not places.is_meta and places.numel():
            low, high = int(places.min()), int(places.max())
            if low < 0 or high >= self.input_dim:
                raise ValueError(
                    f"{self.name} (Embedding): inputs must be between 0 and {self.input_dim - 1}, but go from {low} to "
                    f"{high}; give Embedding({high + 1}, {self.output_dim}) or check the tokens"
                )
        found = functional.embedding(places, self.embeddings)
        return found.to(settings.as_dtype(self.compute_dtype))

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        return inputs != 0 if self.mask_zero else None

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        config.pop("weights", None)
        return config


class Activation(Layer):
    """An activation as a layer of its own.

    Args:
        activation: Its name, or a function.
        **kwargs: See `Layer`.

    Example:
        >>> import pyburn
        >>> Activation("relu")(pyburn.tensor([-1.0, 1.0]))
        tensor([0., 1.])
    """

    def __init__(self, activation: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self.activation = activations.get(activation)

    def call(self, inputs: Any) -> Any:
        return self.activation(inputs)


class Identity(Layer):
    """What it is given."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, inputs: Any) -> Any:
        return inputs


class Masking(Layer):
    """Marks the steps all of whose values are `mask_value`: later layers leave them out.

    Args:
        mask_value: The value of padding.
        **kwargs: See `Layer`.
    """

    def __init__(self, mask_value: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.mask_value = mask_value
        self.supports_masking = self._makes_masks = True

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        return (inputs != self.mask_value).any(-1)

    def call(self, inputs: Any) -> Any:
        return inputs * (inputs != self.mask_value).any(-1, keepdim=True).to(inputs.dtype)


class Lambda(Layer):
    """A function as a layer.

    Args:
        function: A function of the inputs (and of `mask` and `training`, where it names them).
        output_shape: Accepted for Keras's sake: the shape is found by trying.
        mask: The mask of the result, or a function of (inputs, mask).
        arguments: More arguments of the function, by name.
        **kwargs: See `Layer`.

    Example:
        >>> import pyburn
        >>> Lambda(lambda x: x * 2)(pyburn.ones(1))
        tensor([2.])
    """

    def __init__(
        self,
        function: Callable[..., Any],
        output_shape: Any = None,
        mask: Any = None,
        arguments: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if isinstance(function, dict) or not callable(function):
            raise ValueError(
                "Lambda: the file holds the function as code, which is never executed; give the layer in "
                "custom_objects, or "
                "write it as a Layer"
            )
        self.function, self.arguments = function, arguments or {}
        self._output_shape, self.mask = output_shape, mask
        self.supports_masking = True

    def call(self, inputs: Any, mask: Any = None, training: bool | None = None) -> Any:
        import inspect

        names = inspect.signature(self.function).parameters
        extra = {"mask": mask, "training": training}
        return self.function(inputs, **self.arguments, **{name: extra[name] for name in extra if name in names})

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        return self.mask(inputs, previous_mask) if callable(self.mask) else self.mask

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        config["output_shape"] = self._output_shape
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """The layer that `get_config` described."""
        function = config.get("function")
        if isinstance(function, str):
            config = {**config, "function": get_registered_object(function) or function}
        return cls(**config)


class Wrapper(Layer):
    """The base of layers around another one.

    Args:
        layer: The layer inside.
        **kwargs: See `Layer`.
    """

    def __init__(self, layer: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not isinstance(layer, Layer):
            raise ValueError(f"{type(self).__name__}: layer is a {type(layer).__name__}, but must be a Layer")
        self.layer = layer

    def build(self, input_shape: Any = None) -> None:
        if not self.layer.built:
            self.layer.build(input_shape)

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """The layer that `get_config` described."""
        from pyburn.keras._registry import deserialize_keras_object

        config = dict(config)
        return cls(deserialize_keras_object(config.pop("layer"), None, "layers"), **config)


class TorchModuleWrapper(Layer):
    """An `nn.Module` as a layer.

    Args:
        module: The module.
        name: Its name.
        output_shape: Accepted for Keras's sake: the shape is found by trying.
        **kwargs: See `Layer`.

    Example:
        >>> import pyburn
        >>> TorchModuleWrapper(pyburn.nn.Linear(4, 2))(pyburn.ones(3, 4)).shape
        pyburn.Size([3, 2])
    """

    def __init__(self, module: nn.Module, name: str | None = None, output_shape: Any = None, **kwargs: Any) -> None:
        super().__init__(name=name or _named_after(module), **kwargs)
        if not isinstance(module, nn.Module):
            raise ValueError(f"TorchModuleWrapper: module is a {type(module).__name__}, but must be an nn.Module")
        self.module = module
        if CONTEXT.device is not None:
            module.to(device(CONTEXT.device))

    def call(self, *args: Any, training: bool | None = None, **kwargs: Any) -> Any:
        if training is not None and self.module.training != training:
            self.module.train(training)
        return self.module(*args, **kwargs)

    def get_config(self) -> dict[str, Any]:
        raise NotImplementedError(
            f"{self.name}: an nn.Module ({type(self.module).__name__}) has no description that a file could hold; "
            "save the "
            "weights with save_weights and make the model in Python"
        )

    def extra_repr(self) -> str:
        """The name."""
        return f"name={self.name!r}"


def as_layer(module: nn.Module) -> Any:
    """The layer of a module, the same one each time: a module that is called twice shares its weights."""
    found = module.__dict__.get("_keras_layer")
    if found is None:
        # Beside the registered children: the wrapper holds the module, not the other way round.
        found = module.__dict__["_keras_layer"] = TorchModuleWrapper(module)
    return found


def _named_after(module: Any) -> str:
    from pyburn.keras._naming import unique_name

    return unique_name(snake_case(type(module).__name__))
