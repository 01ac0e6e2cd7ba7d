"""torch.utils._python_dispatch: pyburn has no dispatcher; its modes can be named and raise when they are used."""

from typing import Any

from pyburn._absent import absent_class
from pyburn._core import Tensor

TorchDispatchMode: Any = absent_class(
    "utils._python_dispatch.TorchDispatchMode", "pyburn has no dispatcher", "use module hooks to see operations"
)


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Whether this is a tensor that can be taken apart into others by `__tensor_flatten__`."""
    parts = hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")
    return isinstance(t, Tensor) and type(t) is not Tensor and parts
