"""Settings that hold for all layers: the default dtype, the data format, the small number that keeps logs finite."""

from __future__ import annotations

from typing import Any

from pyburn import _core

__all__ = [
    "DTypePolicy",
    "backend",
    "disable_flash_attention",
    "disable_interactive_logging",
    "disable_traceback_filtering",
    "dtype_policy",
    "enable_flash_attention",
    "enable_interactive_logging",
    "enable_traceback_filtering",
    "enable_unsafe_deserialization",
    "epsilon",
    "floatx",
    "image_data_format",
    "is_flash_attention_enabled",
    "is_interactive_logging_enabled",
    "is_traceback_filtering_enabled",
    "set_backend",
    "set_dtype_policy",
    "set_epsilon",
    "set_floatx",
    "set_image_data_format",
]

_SETTINGS: dict[str, Any] = {
    "floatx": "float32",
    "epsilon": 1e-7,
    "image_data_format": "channels_last",
    "policy": None,
}
_FORMATS = ("channels_last", "channels_first")


class DTypePolicy:
    """Which dtype weights are kept in, and which one a layer computes in.

    Args:
        name: A dtype, or "mixed_float16" or "mixed_bfloat16" for weights in float32.

    Example:
        >>> DTypePolicy("mixed_bfloat16").compute_dtype
        'bfloat16'
    """

    def __init__(self, name: str) -> None:
        self.name = name
        mixed = name.startswith("mixed_")
        self.compute_dtype = name.removeprefix("mixed_")
        self.variable_dtype = "float32" if mixed else name
        as_dtype(self.compute_dtype)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make the same policy."""
        return {"name": self.name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> DTypePolicy:
        """The policy that `get_config` described."""
        return cls(**config)

    def __repr__(self) -> str:
        return f'<DTypePolicy "{self.name}">'

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DTypePolicy) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


def as_dtype(name: Any) -> _core.dtype:
    """The dtype of that name; a dtype is given back."""
    if isinstance(name, _core.dtype):
        return name
    found = getattr(_core, str(name).rpartition(".")[2], None)
    if not isinstance(found, _core.dtype):
        raise ValueError(f"dtype: {name!r} is no dtype; give a name such as 'float32', 'int64' or 'bool'")
    return found


def dtype_name(dtype: Any) -> str:
    """The name of a dtype as Keras writes it: `float32`."""
    return str(dtype).rpartition(".")[2]


def policy_of(given: Any) -> DTypePolicy:
    """The policy that `given` is, names or describes; None is the global one."""
    if given is None:
        return dtype_policy()
    if isinstance(given, DTypePolicy):
        return given
    if isinstance(given, dict):
        return DTypePolicy(given["config"]["name"])
    return DTypePolicy(given if isinstance(given, str) else dtype_name(given))


def dtype_policy() -> DTypePolicy:
    """The policy of layers that are given none."""
    policy: DTypePolicy | None = _SETTINGS["policy"]
    return DTypePolicy(floatx()) if policy is None else policy


def set_dtype_policy(policy: Any) -> None:
    """Nothing; layers made from now on have this policy."""
    _SETTINGS["policy"] = None if policy is None else policy_of(policy)


def floatx() -> str:
    """The name of the default float dtype.

    Example:
        >>> floatx()
        'float32'
    """
    return str(_SETTINGS["floatx"])


def set_floatx(value: str) -> None:
    """Nothing; `value` is the default float dtype: "float16", "bfloat16", "float32" or "float64"."""
    if value not in ("float16", "bfloat16", "float32", "float64"):
        raise ValueError(f"set_floatx: {value!r} is no float dtype; give float16, bfloat16, float32 or float64")
    _SETTINGS["floatx"] = value


def backend() -> str:
    """The name of Keras's backend whose programs run here: tensors are those of torch's API.

    Example:
        >>> backend()
        'torch'
    """
    return "torch"


_LOGGING = {"interactive": True}


def enable_interactive_logging() -> None:
    """Nothing; `verbose="auto"` shows a bar."""
    _LOGGING["interactive"] = True


def disable_interactive_logging() -> None:
    """Nothing; `verbose="auto"` shows a line for each epoch, as Keras does then."""
    _LOGGING["interactive"] = False


def is_interactive_logging_enabled() -> bool:
    """Whether `verbose="auto"` shows a bar.

    Example:
        >>> is_interactive_logging_enabled()
        True
    """
    return _LOGGING["interactive"]


def epsilon() -> float:
    """The small number that keeps logarithms and quotients finite.

    Example:
        >>> epsilon()
        1e-07
    """
    return float(_SETTINGS["epsilon"])


def set_epsilon(value: float) -> None:
    """Nothing; `value` is what `epsilon()` gives."""
    _SETTINGS["epsilon"] = value


def image_data_format() -> str:
    """Where the channels of images are: "channels_last" or "channels_first"."""
    return str(_SETTINGS["image_data_format"])


def set_image_data_format(data_format: str) -> None:
    """Nothing; layers made from now on expect images so."""
    _SETTINGS["image_data_format"] = data_format_of(data_format)


def data_format_of(given: str | None) -> str:
    """A data format that was checked; None is the global one."""
    if given is None:
        return image_data_format()
    if given.lower() not in _FORMATS:
        raise ValueError(f"data_format: {given!r} is none; give 'channels_last' or 'channels_first'")
    return given.lower()


def enable_traceback_filtering() -> None:
    """Nothing: errors are short already, and show where they come from."""


def disable_traceback_filtering() -> None:
    """Nothing: errors show where they come from already."""


def is_traceback_filtering_enabled() -> bool:
    """False: errors show where they come from."""
    return False


def enable_flash_attention() -> None:
    """Nothing: attention chooses the fastest kernel by itself."""


def disable_flash_attention() -> None:
    """Nothing: attention chooses the fastest kernel by itself."""


def is_flash_attention_enabled() -> bool:
    """True: attention without the matrix of scores is used where it can be."""
    return True


def enable_unsafe_deserialization() -> None:
    """Raises: code in files is never executed.

    Raises:
        ValueError: Always; the text names what to do.
    """
    raise ValueError(
        "enable_unsafe_deserialization: code in files is never executed here; give functions in custom_objects={...}"
    )


def set_backend(backend: str) -> None:
    """Nothing for "pyburn"; there is no other engine behind this module."""
    if backend != "pyburn":
        raise ValueError(f"set_backend: {backend!r} is not there; pyburn.keras always computes with pyburn")
