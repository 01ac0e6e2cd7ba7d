"""Blocks in which products and convolutions are computed in bfloat16 or float16, and losses in float32.

The operations are those of torch's lists for the CPU. They are wrapped when the first block is entered, so that a
program without one pays nothing.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any, TypeVar

from pyburn import _core, ops
from pyburn._core import Tensor
from pyburn._overriding import copied, plain
from pyburn.nn import functional
from pyburn.ops._arguments import written
from pyburn.utils.checkpoint import SURROUNDINGS

F = TypeVar("F", bound=Callable[..., Any])

# Whatever has the most work in it: these become fast, and lose little.
_LOWER_METHODS = ("matmul", "mm", "bmm", "addmm", "addbmm", "baddbmm", "__matmul__", "__rmatmul__")
_LOWER_FUNCTIONS = ("prelu", "scaled_dot_product_attention")
# Sums of many terms and logarithms, which lose too much in half precision.
_FULL_LOSSES = (
    *("binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "cross_entropy", "ctc_loss"),
    *("grid_sample", "hinge_embedding_loss", "huber_loss", "kl_div", "l1_loss", "margin_ranking_loss", "mse_loss"),
    *("multi_margin_loss", "multilabel_margin_loss", "nll_loss", "poisson_nll_loss", "smooth_l1_loss"),
    *("soft_margin_loss", "triplet_margin_loss", "avg_pool3d"),
)
_FULL_METHODS = ("prod", "quantile", "nanquantile", "trace")
_LOWER_OPS = ("addmm", "addbmm", "baddbmm")
_FULL_OPS = ("prod", "quantile", "nanquantile", "cdist", "trace")

_DEVICES = ("cpu", "wgpu")
# Device types that torch knows and that are not here: a block for one of them does nothing, with torch's warning.
_ABSENT = ("cuda", "mps", "xpu", "hip", "xla", "hpu", "mtia", "ipu", "privateuseone")


class _State(threading.local):
    """What this thread computes in: by device type, whether blocks are on, and their dtype."""

    def __init__(self) -> None:
        self.enabled = dict.fromkeys((*_DEVICES, *_ABSENT), False)
        self.dtype: dict[str, _core.dtype] = dict.fromkeys((*_DEVICES, *_ABSENT), _core.float16)
        self.dtype["cpu"] = _core.bfloat16
        self.cache = True
        self.nesting = 0


_state = _State()
_installed = False


def _target(values: tuple[Any, ...]) -> _core.dtype | None:
    """The dtype that a product of these values is computed in; None outside a block."""
    for value in values:
        if isinstance(value, Tensor):
            kind = value.device.type
            return _state.dtype[kind] if _state.enabled.get(kind, False) else None
    return None


def _cast(value: Any, dtype: _core.dtype) -> Any:
    if isinstance(value, Tensor) and value.is_floating_point() and value.dtype not in (dtype, _core.float64):
        return value.to(dtype)
    return value


def _casting(function: Callable[..., Any], choose: Callable[[_core.dtype], _core.dtype]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        dtype = _target(args)
        if dtype is None:
            return function(*args, **kwargs)
        wanted = choose(dtype)
        return function(
            *(_cast(value, wanted) for value in args), **{name: _cast(value, wanted) for name, value in kwargs.items()}
        )

    return wrapper


def _lower(dtype: _core.dtype) -> _core.dtype:
    return dtype


def _full(dtype: _core.dtype) -> _core.dtype:
    return _core.float32


def _wrap(owner: type | ModuleType, names: tuple[str, ...], choose: Callable[[_core.dtype], _core.dtype]) -> None:
    for name in names:
        function = getattr(owner, name, None)
        own = written(function) if isinstance(function, FunctionType) else None
        if own is not None and isinstance(owner, ModuleType) and own.__closure__ is None:
            _change(own, choose)
        elif function is not None:
            setattr(owner, name, _casting(function, choose))


def _passing(*args: Any, **kwargs: Any) -> Any:
    return _autocast(*args, **kwargs)  # type: ignore[name-defined]  # noqa: F821


def _change(function: FunctionType, choose: Callable[[_core.dtype], _core.dtype]) -> None:
    """Nothing; the function itself casts its arguments, also for those who imported it before the first block."""
    function = plain(function)
    kept, name = copied(function), f"_autocast_{function.__name__}"
    function.__globals__[name] = _casting(kept, choose)
    function.__code__ = _passing.__code__.replace(co_names=(name,), co_name=function.__name__)
    function.__defaults__ = function.__kwdefaults__ = None
    function.__wrapped__ = kept  # type: ignore[attr-defined]


def _wrap_op(name: str, choose: Callable[[_core.dtype], _core.dtype]) -> None:
    """Wraps a function of `ops` there and where it is exported: at the top, and in the alias of torch."""
    function = getattr(ops, name, None)
    if function is None:
        return
    if isinstance(function, FunctionType) and written(function).__closure__ is None:
        _change(written(function), choose)
        return
    wrapped = _casting(function, choose)
    for owner in (ops, sys.modules["pyburn"], sys.modules.get("torch")):
        if owner is not None and vars(owner).get(name) is function:
            setattr(owner, name, wrapped)


def _install() -> None:
    global _installed
    if _installed:
        return
    _installed = True
    _wrap(Tensor, _LOWER_METHODS, _lower)
    _wrap(_core, ("linear", "_convolution"), _lower)
    _wrap(functional, _LOWER_FUNCTIONS, _lower)
    _wrap(functional, _FULL_LOSSES, _full)
    _wrap(Tensor, _FULL_METHODS, _full)
    for names, choose in ((_LOWER_OPS, _lower), (_FULL_OPS, _full)):
        for name in names:
            _wrap_op(name, choose)


class autocast:
    """A block, or a decorator, in which products and convolutions are computed in half precision.

    Args:
        device_type: Whose tensors: "cpu" or "wgpu". For a type that is not here, such as "cuda", the block does
            nothing, as in torch.
        dtype: bfloat16 or float16; left out, bfloat16 on the CPU and float16 elsewhere.
        enabled: Whether the block does anything.
        cache_enabled: Accepted; casts are not cached.

    Example:
        >>> import pyburn
        >>> x = pyburn.ones(2, 2)
        >>> with pyburn.autocast("cpu"):
        ...     (x @ x).dtype, (x + x).dtype
        (pyburn.bfloat16, pyburn.float32)
    """

    def __init__(
        self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = device_type.partition(":")[0]
        if self.device not in _state.enabled:
            raise RuntimeError(f"autocast: unknown device type {device_type!r}; expected one of {', '.join(_DEVICES)}.")
        self.fast_dtype: _core.dtype = _state.dtype[self.device] if dtype is None else dtype
        self._enabled = bool(enabled)
        self._cache = _state.cache if cache_enabled is None else bool(cache_enabled)
        self._before: list[tuple[bool, _core.dtype, bool]] = []
        if self._enabled and self.device in _ABSENT:
            warnings.warn(f"{self.device.upper()} is not available. Disabling autocast.", stacklevel=2)
            self._enabled = False
        elif self._enabled and self.fast_dtype not in (_core.bfloat16, _core.float16):
            warnings.warn(
                f"In {self.device.upper()} autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"{self.device.upper()} Autocast only supports dtypes of bfloat16, float16 currently.",
                stacklevel=2,
            )
            self._enabled = False

    def __enter__(self) -> autocast:
        if self._enabled:
            _install()
        kind = self.device
        self._before.append((_state.enabled[kind], _state.dtype[kind], _state.cache))
        _state.enabled[kind], _state.dtype[kind], _state.cache = self._enabled, self.fast_dtype, self._cache
        _state.nesting += 1
        return self

    def __exit__(self, *_: object) -> None:
        kind = self.device
        _state.enabled[kind], _state.dtype[kind], _state.cache = self._before.pop()
        _state.nesting -= 1

    def __call__(self, func: F) -> F:
        """The function, which runs in such a block."""

        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return wrapper  # type: ignore[return-value]


@contextlib.contextmanager
def _again(settings: list[tuple[str, _core.dtype, bool]]) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for kind, dtype, enabled in settings:
            stack.enter_context(autocast(kind, dtype, enabled))
        yield


def _present() -> Callable[[], contextlib.AbstractContextManager[None]]:
    """What makes blocks that compute in what is computed in now."""
    settings = [(kind, _state.dtype[kind], _state.enabled[kind]) for kind in _DEVICES]
    return lambda: _again(settings)


SURROUNDINGS.append(_present)


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether a block is on for this device type; without one, for CUDA, as in torch.

    Example:
        >>> import pyburn
        >>> with pyburn.autocast("cpu"):
        ...     pyburn.is_autocast_enabled("cpu"), pyburn.is_autocast_enabled()
        (True, False)
    """
    return _state.enabled["cuda" if device_type is None else device_type]


def set_autocast_enabled(device_type: str | bool, enabled: bool | None = None) -> None:
    """Nothing; blocks are on or off for this device type from now on."""
    kind, value = ("cuda", bool(device_type)) if enabled is None else (str(device_type), bool(enabled))
    if value and kind in _DEVICES:
        _install()
    _state.enabled[kind] = value and kind in _DEVICES


def get_autocast_dtype(device_type: str) -> _core.dtype:
    """The dtype of blocks for this device type.

    Example:
        >>> get_autocast_dtype("cpu")
        pyburn.bfloat16
    """
    return _state.dtype[device_type]


def set_autocast_dtype(device_type: str, dtype: _core.dtype) -> None:
    """Nothing; blocks for this device type have this dtype from now on."""
    _state.dtype[device_type] = dtype


def get_autocast_gpu_dtype() -> _core.dtype:
    """The dtype of blocks for CUDA."""
    return _state.dtype["cuda"]


def get_autocast_cpu_dtype() -> _core.dtype:
    """The dtype of blocks for the CPU."""
    return _state.dtype["cpu"]


def set_autocast_gpu_dtype(dtype: _core.dtype) -> None:
    """Nothing; blocks for CUDA have this dtype from now on."""
    set_autocast_dtype("cuda", dtype)


def set_autocast_cpu_dtype(dtype: _core.dtype) -> None:
    """Nothing; blocks for the CPU have this dtype from now on."""
    set_autocast_dtype("cpu", dtype)


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Nothing; blocks for the CPU are on or off from now on."""
    set_autocast_enabled("cpu", enabled)


def is_autocast_cpu_enabled() -> bool:
    """Whether a block for the CPU is on."""
    return _state.enabled["cpu"]


def is_autocast_available(device_type: str) -> bool:
    """Whether blocks for this device type do anything.

    Example:
        >>> is_autocast_available("cpu"), is_autocast_available("cuda")
        (True, False)
    """
    return device_type in _DEVICES


def is_autocast_cache_enabled() -> bool:
    """What was asked for; casts are not cached."""
    return _state.cache


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Nothing; casts are not cached."""
    _state.cache = bool(enabled)


def clear_autocast_cache() -> None:
    """Nothing; casts are not cached."""


def autocast_increment_nesting() -> int:
    """The number of blocks around the caller, one more than before."""
    _state.nesting += 1
    return _state.nesting


def autocast_decrement_nesting() -> int:
    """The number of blocks around the caller, one fewer than before."""
    _state.nesting -= 1
    return _state.nesting


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str = "cpu", cast_inputs: _core.dtype | None = None
) -> Any:
    """A decorator for `forward` of a custom Function: inside a block its inputs are cast to `cast_inputs`."""
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        args[0]._dtype = get_autocast_dtype(device_type)
        args[0]._fwd_used_autocast = is_autocast_enabled(device_type)
        if cast_inputs is None or not args[0]._fwd_used_autocast:
            return fwd(*args, **kwargs)
        args[0]._fwd_used_autocast = False
        with autocast(device_type, enabled=False):
            return fwd(
                *(_cast(value, cast_inputs) for value in args),
                **{name: _cast(value, cast_inputs) for name, value in kwargs.items()},
            )

    return wrapper


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str = "cpu") -> Any:
    """A decorator for `backward` of a custom Function: it computes in what its `forward` computed in."""
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, dtype=args[0]._dtype, enabled=args[0]._fwd_used_autocast):
            return bwd(*args, **kwargs)

    return wrapper
