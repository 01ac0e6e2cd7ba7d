"""The base class of Keras's layers: an `nn.Module` that makes its weights when it first sees a shape."""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from pyburn import ops
from pyburn._core import Tensor, get_default_device
from pyburn.keras import config as settings
from pyburn.keras import constraints, initializers, regularizers
from pyburn.keras._context import CONTEXT, calling, path_of, placed, scoped
from pyburn.keras._naming import snake_case, unique_name
from pyburn.keras._probing import probe
from pyburn.keras._registry import serialize_keras_object
from pyburn.keras._weights import Weights
from pyburn.keras.specs import InputSpec, check_inputs
from pyburn.keras.symbolic import KerasTensor, Node, any_symbolic, flatten, map_structure, shape_of
from pyburn.keras.variables import State, Variable

__all__ = ["InputSpec", "Layer"]

# Layers that hold losses of their last call, so that the next one need only look for them when there are any.
_WITH_LOSSES: weakref.WeakSet[Any] = weakref.WeakSet()


class _Signature:
    """What the `call` of a class takes."""

    def __init__(self, kind: type) -> None:
        parameters = list(inspect.signature(kind.call).parameters.values())[1:]  # type: ignore[attr-defined]
        self.names = [each.name for each in parameters]
        kinds = {each.kind for each in parameters}
        self.open = inspect.Parameter.VAR_KEYWORD in kinds
        self.variadic = inspect.Parameter.VAR_POSITIONAL in kinds
        self.training, self.mask = "training" in self.names, "mask" in self.names
        self.masks = [name for name in self.names if name.endswith("_mask")]


_SIGNATURES: weakref.WeakKeyDictionary[type, _Signature] = weakref.WeakKeyDictionary()


def _signature(kind: type) -> _Signature:
    found = _SIGNATURES.get(kind)
    if found is None:
        found = _SIGNATURES[kind] = _Signature(kind)
    return found


class Layer(Weights):
    """A part of a model: a subclass makes its weights in `build(input_shape)` and says in `call` what it computes.

    Args:
        activity_regularizer: A loss of what the layer gives.
        trainable: Whether training changes its weights.
        dtype: The dtype of its weights and of what it computes, or a policy such as "mixed_bfloat16".
        autocast: Whether floating inputs are converted to the layer's dtype.
        name: Its name; without one, the class's name and a number.
        **kwargs: `input_shape`, `input_dim` or `batch_input_shape`, as older programs give them.

    Example:
        >>> import pyburn
        >>> class Scale(Layer):
        ...     def build(self, input_shape):
        ...         self.factor = self.add_weight(shape=(input_shape[-1],), initializer="ones")
        ...     def call(self, x):
        ...         return x * self.factor
        >>> Scale()(pyburn.ones(2, 3)).shape
        pyburn.Size([2, 3])
    """

    # Layers that change images at random do so in a call of their own; in a model they go by the model.
    _trains_by_default = False
    # A `build` that takes one shape gets the first argument's, whatever its name is.
    supports_masking: bool

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """An instance that remembers its arguments, for `get_config`."""
        made = super().__new__(cls)
        object.__setattr__(made, "_given", (args, kwargs))
        return made

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "build" in cls.__dict__:
            cls.build = _remembering(cls.__dict__["build"])  # type: ignore[method-assign]

    def __init__(
        self,
        *,
        activity_regularizer: Any = None,
        trainable: bool = True,
        dtype: Any = None,
        autocast: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self._name = name or unique_name(snake_case(type(self).__name__))
        self.dtype_policy = settings.policy_of(dtype)
        self.activity_regularizer = regularizers.get(activity_regularizer)
        self.autocast = autocast
        self.supports_masking = False
        self.input_spec: Any = None
        self.built = False
        self._trainable = bool(trainable)
        # As in Keras a call outside of training does not train; `model.train()` says otherwise, as in torch.
        self.training = False
        self._nodes: list[Node] = []
        self._losses: list[Any] = []
        self._build_shapes: Any = None
        self._place: Any = None
        self._input_shape_arg = self._older_shape(kwargs)
        if kwargs:
            raise ValueError(
                f"{type(self).__name__}: unknown arguments {sorted(kwargs)}; see help({type(self).__name__})"
            )

    @staticmethod
    def _older_shape(kwargs: dict[str, Any]) -> tuple[Any, ...] | None:
        batch = kwargs.pop("batch_input_shape", kwargs.pop("batch_shape", None))
        shape, size = kwargs.pop("input_shape", None), kwargs.pop("input_dim", None)
        if batch is not None:
            return tuple(batch)
        if shape is not None:
            return (None, *((shape,) if isinstance(shape, int) else shape))
        return None if size is None else (None, size)

    @property
    def name(self) -> str:
        """The layer's name."""
        return self._name

    @name.setter
    def name(self, value: str) -> None:
        self._name = value

    @property
    def dtype(self) -> str:
        """The dtype of the weights, by name."""
        return self.dtype_policy.variable_dtype

    variable_dtype = dtype

    @property
    def compute_dtype(self) -> str:
        """The dtype that the layer computes in, by name."""
        return self.dtype_policy.compute_dtype

    @property
    def input(self) -> Any:
        """The symbolic input of the layer's only call."""
        return self._only_node().args[0] if self._only_node().args else self._only_node().inputs

    @property
    def output(self) -> Any:
        """The symbolic output of the layer's only call."""
        return self._only_node().outputs

    @property
    def input_dtype(self) -> str:
        """The dtype that floating inputs are converted to, by name."""
        return self.compute_dtype

    @property
    def path(self) -> str:
        """Where the layer is: the names of those around its weights and its own."""
        around = (str(getattr(each, "path", "")).rpartition("/")[0] for each in self._own_weights())
        return next((each for each in around if each), self.name)

    def _only_node(self) -> Node:
        if len(self._nodes) != 1:
            raise AttributeError(
                f"{self.name} was called on {len(self._nodes)} symbolic inputs, not one: it has no single input or "
                "output"
            )
        return self._nodes[0]

    def build(self, input_shape: Any) -> None:
        """Nothing; the layer has its weights for inputs of this shape. Subclasses call `add_weight` here."""
        self._build_shapes = input_shape
        self.built = True

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """What the layer computes; every subclass says it."""
        raise NotImplementedError(f"{type(self).__name__}: a layer must define call(self, inputs)")

    def add_weight(
        self,
        shape: Sequence[int] | None = None,
        initializer: Any = None,
        dtype: Any = None,
        trainable: bool = True,
        autocast: bool = True,
        regularizer: Any = None,
        constraint: Any = None,
        aggregation: str | None = None,
        overwrite_with_gradient: bool = False,
        name: str | None = None,
    ) -> Any:
        """A new weight of the layer.

        Args:
            shape: Its shape.
            initializer: Its first values; without one, Glorot's for floats and zeros for others.
            dtype: Its dtype; the layer's own when left out.
            trainable: Whether training changes it.
            autocast: Accepted for Keras's sake: a weight is converted where its layer computes in another dtype.
            regularizer: A loss of it.
            constraint: What it must keep to after each step.
            aggregation: Accepted for Keras's sake.
            overwrite_with_gradient: Accepted for Keras's sake.
            name: Its name; the attribute that it is assigned to renames it.
        """
        kind = settings.as_dtype(dtype or self.variable_dtype)
        make = initializers.get(initializer or ("glorot_uniform" if kind.is_floating_point else "zeros"))
        values = make(tuple(shape or ()), dtype=settings.dtype_name(kind))
        values = values if isinstance(values, Tensor) else ops.as_tensor(values)
        place = self._place if CONTEXT.device is None else CONTEXT.device
        values = values.to(place if place is not None else get_default_device(), kind)
        path = path_of(self, name or unique_name("variable"))
        name = name or f"variable_{len(self._parameters) + len(self._buffers)}"
        if trainable and kind.is_floating_point:
            weight: Any = Variable(values, requires_grad=self._trainable)
            self.register_parameter(name, weight)
        else:
            weight = State(values)
            self.register_buffer(name, weight)
        weight._path = path
        if regularizer is not None:
            self._regularizers[name] = regularizers.get(regularizer)
        if constraint is not None:
            self._constraints[name] = constraints.get(constraint)
        return weight

    def add_variable(
        self, shape: Any, initializer: Any, dtype: Any = None, trainable: bool = True, **kwargs: Any
    ) -> Any:
        """A new weight of the layer; see `add_weight`."""
        return self.add_weight(shape, initializer, dtype, trainable, **kwargs)

    def add_loss(self, loss: Any) -> None:
        """Nothing; `loss` is added to the loss of the model's present call."""
        self._losses.extend(loss if isinstance(loss, (list, tuple)) else [loss])
        _WITH_LOSSES.add(self)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What calling the layer gives: symbolic tensors for symbolic ones, `call` of the rest."""
        signature = _signature(type(self))
        args, kwargs = self._named_last(signature, args, kwargs)
        if any_symbolic(args, kwargs):
            return self._symbolic(signature, args, kwargs)
        args, kwargs = map_structure(self._converted, args), map_structure(self._converted, kwargs)
        training = kwargs.pop("training", None)
        if training is None:
            training = self.training or self._trains_by_default if CONTEXT.training is None else CONTEXT.training
        if CONTEXT.training is None:
            self._clear_losses()
        with calling(bool(training)), placed(self._place), scoped(self):
            self._build_once(signature, args, kwargs)
            check_inputs(self, args[0] if args else None)
            masks = self._take_masks(signature, args, kwargs)
            if signature.training:
                kwargs["training"] = bool(training)
            result = self._in_its_dtype(args, kwargs)
        if self.activity_regularizer is not None:
            for each in flatten(result):
                self.add_loss(self.activity_regularizer(each) / each.shape[0])
        self._give_masks(args, masks, result)
        return result

    def _named_last(self, signature: _Signature, args: Any, kwargs: Any) -> tuple[Any, dict[str, Any]]:
        """The first argument by place and all others by name, so that each is found."""
        if len(args) > 1 and not signature.variadic:
            if len(args) > len(signature.names):
                raise TypeError(
                    f"{self.name} ({type(self).__name__}): call takes {len(signature.names)} arguments, got "
                    f"{len(args)}; "
                    "give several inputs as one list"
                )
            kwargs = {**dict(zip(signature.names[1:], args[1:], strict=False)), **kwargs}
            args = args[:1]
        elif not args and signature.names and signature.names[0] in kwargs:
            kwargs = dict(kwargs)
            args = (kwargs.pop(signature.names[0]),)
        for name in ("mask", "training"):
            if name in kwargs and name not in signature.names and not signature.open:
                kwargs = {key: value for key, value in kwargs.items() if key != name or name == "training"}
        return tuple(args), dict(kwargs)

    def _in_its_dtype(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.compute_dtype == self.variable_dtype or not self.autocast:
            return self.call(*args, **kwargs)
        kept, kind = self._parameters, settings.as_dtype(self.compute_dtype)
        self.__dict__["_parameters"] = {
            name: value.to(kind) if value is not None and value.is_floating_point() else value
            for name, value in kept.items()
        }
        try:
            return self.call(*args, **kwargs)
        finally:
            self.__dict__["_parameters"] = kept

    def _converted(self, value: Any) -> Any:
        if not isinstance(value, Tensor):
            if type(value).__module__ != "numpy":
                return value
            place = self._place if CONTEXT.device is None else CONTEXT.device
            value = ops.as_tensor(value, device=place)
        if not self.autocast or not value.is_floating_point():
            return value
        wanted = settings.as_dtype(self.compute_dtype)
        if value.dtype == wanted:
            return value
        cast, mask = value.to(wanted), getattr(value, "_keras_mask", None)
        if mask is not None:
            cast._keras_mask = mask
        return cast

    def _clear_losses(self) -> None:
        if not len(_WITH_LOSSES):
            return
        for module in self.modules():
            if isinstance(module, Layer) and module._losses:
                module._losses = []
                _WITH_LOSSES.discard(module)

    def _build_once(self, signature: _Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self.built:
            return
        wanted = list(inspect.signature(self.build).parameters)
        given = dict(zip(signature.names, args, strict=False)) | kwargs
        first = shape_of(args[0]) if args else None
        check_inputs(self, args[0] if args else None)
        if len(wanted) <= 1:
            self.build(first)
        else:
            shapes = {f"{name}_shape": shape_of(value) for name, value in given.items()}
            shapes[wanted[0]] = shapes.get(wanted[0], first)
            self.build(**{name: shapes.get(name) for name in wanted})
        self.built = True

    def _symbolic(self, signature: _Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with placed(self._place), scoped(self):
            self._build_once(signature, args, kwargs)
            check_inputs(self, args[0] if args else None)
            outputs = self.compute_output_spec(*args, **kwargs)
        # A tensor belongs to the call that made it: what a layer passes through gets a name of its own.
        outputs = map_structure(
            lambda each: KerasTensor(each.shape, each.dtype) if isinstance(each, KerasTensor) else each, outputs
        )
        Node(self, args, kwargs, outputs)
        return outputs

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        """The symbolic result for symbolic arguments."""
        return probe(self, args, kwargs)

    def compute_output_shape(self, *args: Any, **kwargs: Any) -> Any:
        """The shape of the result for inputs of these shapes; unknown sizes are None.

        Example:
            >>> from pyburn.keras import layers
            >>> layers.Dense(8).compute_output_shape((None, 28))
            (None, 8)
        """
        tensors = [_stand_in(shape, self.compute_dtype) for shape in args]
        named = {
            name.removesuffix("_shape"): _stand_in(shape, self.compute_dtype)
            for name, shape in kwargs.items()
            if name.endswith("_shape")
        }
        if not tensors and "input" in named:
            tensors = [named.pop("input")]
        signature = _signature(type(self))
        args, named = self._named_last(signature, tuple(tensors), named)
        self._build_once(signature, args, named)
        return shape_of(self.compute_output_spec(*args, **named))

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """The mask of the result; a layer that passes masks on gives the one it got."""
        return previous_mask

    def _take_masks(self, signature: _Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The masks of the first argument; arguments called `mask` or `*_mask` that were left out are filled in."""
        masks = map_structure(_mask_of, args[0]) if args else None
        if not any(each is not None for each in flatten(masks)):
            masks = None
        if signature.mask and kwargs.get("mask") is None and masks is not None:
            kwargs["mask"] = masks
        elif signature.mask and kwargs.get("mask") is not None:
            masks = kwargs["mask"]
        given = dict(zip(signature.names, args, strict=False)) | kwargs
        for name in signature.masks:
            source = given.get(name.removesuffix("_mask"))
            if kwargs.get(name) is None and isinstance(source, Tensor) and _mask_of(source) is not None:
                kwargs[name] = _mask_of(source)
        return masks

    def _give_masks(self, args: tuple[Any, ...], masks: Any, result: Any) -> None:
        changes = type(self).compute_mask is not Layer.compute_mask
        if not self.supports_masking and not changes:
            return
        # Our own layers say whether they make masks; others may do so whenever they say how.
        makes = getattr(self, "_makes_masks", not type(self).compute_mask.__module__.startswith("pyburn.keras"))
        if masks is None and not makes:
            return
        made = self.compute_mask(args[0] if args else None, masks)
        if made is None:
            return
        leaves = flatten(result)
        made_leaves = flatten(made) if isinstance(made, (list, tuple)) else [made] * len(leaves)
        for tensor, mask in zip(leaves, made_leaves, strict=False):
            if isinstance(tensor, Tensor) and mask is not None:
                tensor._keras_mask = mask  # type: ignore[attr-defined]

    def get_config(self) -> dict[str, Any]:
        """The arguments that make the same layer, in plain values."""
        policy = serialize_keras_object(self.dtype_policy)
        config: dict[str, Any] = {"name": self.name, "trainable": self.trainable, "dtype": policy}
        given = self._given_arguments()
        for name, value in given.items():
            if name not in ("name", "trainable", "dtype", "autocast", "kwargs"):
                config[name] = serialize_keras_object(getattr(self, name, value))
        if self.activity_regularizer is not None and "activity_regularizer" not in config:
            config["activity_regularizer"] = serialize_keras_object(self.activity_regularizer)
        return config

    def _given_arguments(self) -> dict[str, Any]:
        """The arguments of `__init__` by name, defaults included."""
        args, kwargs = self._given
        parameters = inspect.signature(type(self).__init__).parameters
        bound = inspect.signature(type(self).__init__).bind_partial(self, *args, **kwargs)
        bound.apply_defaults()
        return {
            name: value
            for name, value in list(bound.arguments.items())[1:]
            if parameters[name].kind not in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """The layer that `get_config` described."""
        return cls(**config)

    def get_build_config(self) -> dict[str, Any] | None:
        """The shapes that the layer was built for."""
        several = getattr(self, "_build_shapes_dict", None) or {}
        if len(several) > 1:
            return {"shapes_dict": several}
        return None if self._build_shapes is None else {"input_shape": self._build_shapes}

    def build_from_config(self, config: dict[str, Any]) -> None:
        """Nothing; the layer has the weights of the shapes in `config`."""
        shape, several = config.get("input_shape"), config.get("shapes_dict")
        if self.built:
            return
        if several:
            self.build(**{name: _as_shape(each) for name, each in several.items()})
            self.built = True
        elif shape is not None:
            self.build(_as_shape(shape))
            self.built = True

    def extra_repr(self) -> str:
        """The arguments that differ from the defaults, and the name."""
        parameters = inspect.signature(type(self).__init__).parameters
        shown = []
        for name, value in self._given_arguments().items():
            default = parameters[name].default
            now = getattr(self, name, value)
            plain = now if isinstance(now, (str, int, float, tuple, list, type(None))) else serialize_keras_object(now)
            plain = plain["class_name"] if isinstance(plain, dict) and "class_name" in plain else plain
            if name != "name" and value != default:
                shown.append(f"{plain!r}" if default is inspect.Parameter.empty else f"{name}={plain!r}")
        return ", ".join([*shown, f"name={self.name!r}"])


def _remembering(build: Callable[..., None]) -> Callable[..., None]:
    """`build` that leaves the layer built, and remembers the shapes."""

    @functools.wraps(build)
    def wrapped(self: Any, *args: Any, **kwargs: Any) -> None:
        with placed(self._place), scoped(self):
            build(self, *args, **kwargs)
        self._build_shapes = args[0] if args else next(iter(kwargs.values()), None)
        names = [name for name in inspect.signature(build).parameters if name != "self"]
        shapes = {**dict(zip(names, args, strict=False)), **kwargs}
        self._build_shapes_dict = {name: shape for name, shape in shapes.items() if shape is not None}
        self.built = True

    return wrapped


def _mask_of(value: Any) -> Any:
    return getattr(value, "_keras_mask", None)


def _stand_in(shape: Any, dtype: str) -> Any:
    if isinstance(shape, dict):
        return {key: _stand_in(each, dtype) for key, each in shape.items()}
    if isinstance(shape, (list, tuple)) and shape and isinstance(shape[0], (list, tuple)):
        return [_stand_in(each, dtype) for each in shape]
    return KerasTensor(tuple(shape), dtype)


def _as_shape(shape: Any) -> Any:
    if isinstance(shape, dict):
        return {key: _as_shape(each) for key, each in shape.items()}
    if shape and isinstance(shape[0], (list, tuple)):
        return [_as_shape(each) for each in shape]
    return tuple(shape)
