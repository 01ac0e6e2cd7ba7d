"""Objects as plain dictionaries and back: what files hold, and what `get` takes. Nothing is ever executed."""

from __future__ import annotations

import contextlib
import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType
from typing import Any, TypeVar

T = TypeVar("T")

_CUSTOM: dict[str, Any] = {}
_CUSTOM_NAMES: dict[Any, str] = {}
_SCOPES: list[dict[str, Any]] = []

# The modules of a file's entries, and where their classes are here: nothing else is looked up.
_PLACES = {
    "keras": ("models", "config"),
    "keras.activations": ("activations",),
    "keras.callbacks": ("callbacks",),
    "keras.constraints": ("constraints",),
    "keras.initializers": ("initializers",),
    "keras.layers": ("layers", "models", "ops"),
    "keras.losses": ("losses",),
    "keras.metrics": ("metrics",),
    "keras.models": ("models",),
    "keras.optimizers": ("optimizers",),
    "keras.optimizers.schedules": ("optimizers.schedules",),
    "keras.regularizers": ("regularizers",),
    "keras.src.models.functional": ("models",),
    "keras.src.models.sequential": ("models",),
    "keras.src.ops": ("ops",),
    "keras.ops": ("ops",),
    "builtins": ("activations", "losses", "metrics"),
}


# Where Keras has the classes of its functions that are not in its module `numpy`.
_OPERATIONS = {
    name: module
    for module, names in {
        "core": "Cast StopGradient Scatter ScatterUpdate Slice SliceUpdate Unstack SaturateCast",
        "nn": "Gelu LogSoftmax OneHot Relu Sigmoid Silu Softmax Elu LeakyRelu Softplus Relu6 Selu HardSigmoid HardSilu "
        "HardTanh LogSigmoid Softsign TanhShrink Celu Glu HardShrink Moments Normalize SoftShrink Threshold "
        "AveragePool MaxPool Conv BinaryCrossentropy CategoricalCrossentropy SparseCategoricalCrossentropy "
        "DotProductAttention MultiHot Squareplus AdaptiveAveragePool AdaptiveMaxPool ConvTranspose DepthwiseConv "
        "SeparableConv DepthToSpace SpaceToDepth Polar SparsePlus SparseSigmoid Sparsemax Unfold",
        "math": "Rsqrt Erf Logsumexp Erfinv Erfc InTopK SegmentMax SegmentSum TopK Logdet ExtractSequences SegmentMin "
        "ViewAsComplex ViewAsReal",
        "linalg": "Norm Cholesky Det Inv Pinv Qr Solve Eigh Lstsq MatrixRank SolveTriangular CholeskyInverse",
    }.items()
    for name in names.split()
}


def register_keras_serializable(package: str = "Custom", name: str | None = None) -> Callable[[T], T]:
    """A decorator: a class of yours can be saved by name and found again when a file is read.

    Example:
        >>> @register_keras_serializable(package="mine")
        ... class Swish:
        ...     pass
        >>> get_registered_name(Swish)
        'mine>Swish'
    """

    def register(kind: T) -> T:
        full = f"{package}>{name or kind.__name__}"  # type: ignore[attr-defined]
        _CUSTOM[full] = kind
        _CUSTOM_NAMES[kind] = full
        return kind

    return register


def get_registered_name(kind: Any) -> str:
    """The name that `register_keras_serializable` gave, or the plain one."""
    return _CUSTOM_NAMES.get(kind, getattr(kind, "__name__", type(kind).__name__))


def get_registered_object(name: str, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """What is registered under `name`, or None."""
    for known in (custom_objects or {}, *reversed(_SCOPES), _CUSTOM):
        if name in known:
            return known[name]
    return None


def get_custom_objects() -> dict[str, Any]:
    """The objects of all users, by name; it may be changed."""
    return _CUSTOM


@contextlib.contextmanager
def custom_object_scope(custom_objects: Mapping[str, Any]) -> Iterator[None]:
    """While the block runs, these objects are found by their names.

    Example:
        >>> with custom_object_scope({"twice": lambda x: 2 * x}):
        ...     get_registered_object("twice")(2)
        4
    """
    _SCOPES.append(dict(custom_objects))
    try:
        yield
    finally:
        _SCOPES.pop()


def module_of(kind: Any) -> str:
    """The module that Keras's files name for a class of ours."""
    own = (getattr(kind, "__module__", "") or "").removeprefix("pyburn.")
    if own.startswith("keras.layers"):
        return "keras.layers"
    if own.startswith("keras.optimizers.schedules"):
        return "keras.optimizers.schedules"
    for family in ("losses", "metrics", "optimizers", "callbacks"):
        if own.startswith(f"keras.{family}"):
            return f"keras.{family}"
    if own == "keras.ops":
        return f"keras.src.ops.{_OPERATIONS.get(kind.__name__, 'numpy')}"
    if own == "keras.model" and kind.__name__ == "Functional":
        return "keras.src.models.functional"
    if own == "keras.config" or own.startswith(("keras.models", "keras.sequential", "keras.functional", "keras.model")):
        return "keras"
    return own


def serialize_keras_object(obj: Any) -> Any:
    """A dictionary of plain values that describes `obj`; plain values are given back.

    Example:
        >>> from pyburn.keras import regularizers
        >>> serialize_keras_object(regularizers.L2(0.1))["config"]
        {'l2': 0.1}
    """
    if obj is None or isinstance(obj, (bool, int, float, str)):
        return obj
    if isinstance(obj, (list, tuple)):
        return [serialize_keras_object(each) for each in obj]
    if isinstance(obj, Mapping):
        return {key: serialize_keras_object(value) for key, value in obj.items()}
    if isinstance(obj, FunctionType):
        if obj.__name__ == "<lambda>":
            raise ValueError(
                "serialize: a lambda has no name; give a named function and register_keras_serializable it"
            )
        return get_registered_name(obj)
    if hasattr(obj, "tolist"):
        return obj.tolist()
    if hasattr(obj, "get_config"):
        kind = type(obj)
        custom = _CUSTOM_NAMES.get(kind)
        own = kind.__module__.startswith("pyburn.keras")
        described = {
            "module": module_of(kind) if own else kind.__module__,
            "class_name": kind.__name__,
            "config": plain(obj.get_config()),
            "registered_name": custom or (None if own else kind.__name__),
        }
        build = getattr(obj, "get_build_config", None)
        if build is not None and getattr(obj, "built", False) and build():
            described["build_config"] = plain(build())
        return described
    return str(obj).rpartition(".")[2]


def plain(value: Any) -> Any:
    """`value` with tuples as lists and objects described: what JSON can hold."""
    return serialize_keras_object(value)


def deserialize_keras_object(config: Any, custom_objects: Mapping[str, Any] | None = None, kind: str = "") -> Any:
    """The object that `serialize_keras_object` described.

    Args:
        config: The dictionary; lists and dictionaries of them are gone through.
        custom_objects: Your own classes and functions by name.
        kind: The family, such as "layers", of entries that do not name their module.
    """
    if isinstance(config, list):
        return [deserialize_keras_object(each, custom_objects, kind) for each in config]
    if not isinstance(config, Mapping):
        return config
    if "class_name" not in config:
        return {key: deserialize_keras_object(value, custom_objects, kind) for key, value in config.items()}
    name, settings = config["class_name"], config.get("config")
    if name == "__tuple__":
        return tuple(deserialize_keras_object(each, custom_objects, kind) for each in config["items"])
    if name in ("__lambda__", "__typespec__", "__bytes__", "__numpy__", "__tensor__", "__slice__", "__ellipsis__"):
        return _special(name, settings, config)
    if name == "function":
        return find(str(settings), str(config.get("module") or kind), custom_objects)
    found = find_class(config, custom_objects, kind)
    if not isinstance(settings, Mapping):
        raise ValueError(f"{name}: its config is {type(settings).__name__}, but must be a dictionary")
    if not hasattr(found, "from_config"):
        return found(**settings)
    with custom_object_scope(custom_objects or {}):
        return found.from_config(dict(settings))


def _special(name: str, settings: Any, config: Mapping[str, Any]) -> Any:
    if name == "__numpy__":
        return settings.get("value")
    if name == "__tensor__":
        return settings.get("value")
    if name == "__slice__":
        return slice(settings.get("start"), settings.get("stop"), settings.get("step"))
    if name == "__ellipsis__":
        return Ellipsis
    raise ValueError(
        f"{name}: the file holds code, which is never executed; write the function in Python, "
        "give it in custom_objects={...}, and load the weights"
    )


def find_class(config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None, kind: str) -> Any:
    """The class that an entry names."""
    name = str(config["class_name"])
    registered = config.get("registered_name")
    for each in (registered, name):
        found = get_registered_object(str(each), custom_objects) if each else None
        if found is not None:
            return found
    return find(name, str(config.get("module") or kind), custom_objects)


def find(name: str, module: str, custom_objects: Mapping[str, Any] | None) -> Any:
    """The class or function called `name` in Keras's `module`, from our own files or a user's registered ones."""
    found = get_registered_object(name, custom_objects)
    if found is not None:
        return found
    module = module if module.startswith("keras") or module == "builtins" else f"keras.{module}"
    if module not in _PLACES:
        family = [place for place in _PLACES if module.startswith(place.replace("keras.", "keras.src.", 1))]
        family += ["keras.optimizers"] if "optimizers" in module else []
        module = max(family, key=len) if family else module
    for place in _PLACES.get(module, ()):
        home = importlib.import_module(f"pyburn.keras.{place}")
        found = getattr(home, name, None)
        if inspect.isclass(found) or callable(found):
            return found
    raise ValueError(
        f"{name} of {module or 'no module'} is not known here; if it is yours, decorate it with "
        "@register_keras_serializable() or give custom_objects={'" + name + "': ...}"
    )


class Configured:
    """What is made from a configuration: `get_config` describes it, `from_config` makes it again."""

    def get_config(self) -> dict[str, Any]:
        """The arguments that make the same object."""
        names = [name for name in inspect.signature(type(self).__init__).parameters if name != "self"]
        return {name: serialize_keras_object(getattr(self, name)) for name in names if hasattr(self, name)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """The object that `get_config` described."""
        return cls(**config)

    def __repr__(self) -> str:
        text = ", ".join(f"{name}={value!r}" for name, value in self.get_config().items())
        return f"{type(self).__name__}({text})"


def getter(
    family: str, base: Any, names: Mapping[str, Any], functions: Mapping[str, Any] | None = None
) -> Callable[[Any], Any]:
    """A `get` for a family: by name, by dictionary, by class, or the object itself."""

    def get(identifier: Any) -> Any:
        """The object that `identifier` is, names or describes; None for None."""
        if identifier is None:
            return None
        if isinstance(identifier, Mapping):
            return deserialize_keras_object(identifier, None, family)
        if isinstance(identifier, str):
            found = get_registered_object(identifier) or names.get(identifier) or names.get(identifier.lower())
            if found is None and functions is not None:
                found = functions.get(identifier)
            if found is None:
                known = ", ".join(sorted({*names, *(functions or {})}))
                raise ValueError(f"{family}: there is none called {identifier!r}; the names are {known}")
            return found() if inspect.isclass(found) else found
        if inspect.isclass(identifier):
            return identifier()
        if callable(identifier) or (base is not None and isinstance(identifier, base)):
            return identifier
        raise ValueError(f"{family}: {identifier!r} is no name, no dictionary and no object of this family")

    return get


def by_name(*kinds: Any, **aliases: Any) -> dict[str, Any]:
    """Classes by their own names, their names in snake case, and aliases."""
    from pyburn.keras._naming import snake_case

    found: dict[str, Any] = {}
    for each in kinds:
        found |= {each.__name__: each, snake_case(each.__name__): each, each.__name__.lower(): each}
    return found | aliases
