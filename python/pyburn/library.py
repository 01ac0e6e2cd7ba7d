"""torch.library: operators written in Python, which `torch.ops.<namespace>.<name>` calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyburn import _ops
from pyburn._absent import refuse
from pyburn._core import Tensor, is_grad_enabled
from pyburn._ops import OpOverload
from pyburn._schema import Schema, infer_schema
from pyburn.autograd import Function

__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "impl",
    "impl_abstract",
    "infer_schema",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
]


def fallthrough_kernel(*args: Any, **kwargs: Any) -> Any:
    """A mark for `Library.impl`: calls pass by this dispatch key.

    Raises:
        NotImplementedError: Always; it is not meant to be called.
    """
    raise NotImplementedError("fallthrough_kernel() should never be called.")


class Library:
    """A namespace's operators: `define` gives their schemas, `impl` what they compute.

    Args:
        ns: The namespace: ``torch.ops.<ns>``.
        kind: "DEF" for a new namespace, "FRAGMENT" to add to one, "IMPL" to implement what is defined.
        dispatch_key: What `impl` registers for when it is not told.

    Example:
        >>> import pyburn
        >>> lib = Library("mine", "DEF")
        >>> _ = lib.define("twice(Tensor x, int k=2) -> Tensor")
        >>> lib.impl("twice", lambda x, k: x * k, "CompositeImplicitAutograd")
        >>> pyburn.ops.mine.twice(pyburn.ones(2))
        tensor([2., 2.])
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("DEF", "FRAGMENT", "IMPL"):
            raise ValueError(f"Unsupported kind: {kind}")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """The name of the operator, which `torch.ops` knows from now on."""
        parsed = Schema.parse(schema)
        name = parsed.name + (f".{parsed.overload_name}" if parsed.overload_name else "")
        _ops.define(f"{self.ns}::{name}", parsed)
        return name

    def impl(
        self, op_name: Any, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False, **kwargs: Any
    ) -> None:
        """Nothing; the operator computes by `fn` where calls reach this dispatch key."""
        op = op_name if isinstance(op_name, OpOverload | _ops.OpOverloadPacket) else f"{self.ns}::{_bare(op_name)}"
        _register(op, dispatch_key or self.dispatch_key or "CompositeImplicitAutograd", fn)

    def _register_fake(self, op_name: str, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        _register(f"{self.ns}::{_bare(op_name)}", "Meta", fn)

    def _destroy(self) -> None:
        """Nothing: what is defined stays."""


def _bare(name: str) -> str:
    return name.rpartition("::")[2]


def _register(op: Any, key: str, function: Callable[..., Any]) -> None:
    try:
        found = _ops.operator(op)
    except RuntimeError:
        # An implementation may come before the definition, and shapes for operators of a C++ library that is missing.
        found = _ops.define(op)
    if function is not fallthrough_kernel:
        found.kernels[key] = function


class CustomOpDef:
    """What `custom_op` gives: the operator, with decorators for its gradient and other implementations."""

    def __init__(self, name: str, function: Callable[..., Any], schema: Schema | None, devices: Any) -> None:
        self._qualname, self._namespace, self._name = name, *name.split("::", 1)
        self._init_fn = function
        self._opoverload = _ops.define(name, schema)
        self.__name__ = self._name
        self.__doc__ = function.__doc__
        self.register_kernel(devices, function)
        self._opoverload.kernels["Autograd"] = _differentiable(self._opoverload, None, None)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the operator gives."""
        return self._opoverload(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def register_fake(self, fn: Any, /) -> Any:
        """The function itself: shapes are those that the operation really gives."""
        _register(self._opoverload, "Meta", fn)
        return fn

    def register_kernel(self, device_types: Any, fn: Any = None, /) -> Any:
        """The function, or a decorator: what the operator computes on these devices; on all if None."""

        def register(function: Any) -> Any:
            kinds = [device_types] if isinstance(device_types, str) or device_types is None else list(device_types)
            for kind in kinds:
                _register(self._opoverload, "CompositeExplicitAutograd" if kind is None else kind.upper(), function)
            return function

        return register if fn is None else register(fn)

    def register_autograd(self, backward: Callable[..., Any], /, *, setup_context: Any = None) -> None:
        """Nothing; the gradient is computed by `backward(ctx, *grads)` from now on."""
        register_autograd(self._opoverload, backward, setup_context=setup_context)

    def register_vmap(self, func: Any = None, /) -> Any:
        """The function itself: `vmap` calls the operator once for each entry."""
        return register_vmap(self._opoverload, func)

    def register_torch_dispatch(self, torch_dispatch_class: Any, fn: Any = None, /) -> Any:
        """The function itself: pyburn has no dispatch modes."""
        return register_torch_dispatch(self._opoverload, torch_dispatch_class, fn)

    def register_autocast(self, device_type: str, cast_inputs: Any) -> Any:
        """The operator, which casts its inputs inside `autocast`."""
        register_autocast(self._opoverload, device_type, cast_inputs)
        return self


def _differentiable(op: OpOverload, backward: Callable[..., Any] | None, setup: Any) -> Callable[..., Any]:
    """The operator as one step of autograd, by `backward`."""

    def call(*args: Any, **kwargs: Any) -> Any:
        def below(*inputs: Any) -> Any:
            with _ops.excluded("Autograd", "AutogradCPU", "AutogradWGPU"):
                return op(*inputs, **kwargs)

        if not is_grad_enabled() or not any(_wants_gradient(arg) for arg in args):
            return below(*args)

        class Generated(Function):
            @staticmethod
            def forward(ctx: Any, *inputs: Any) -> Any:
                output = below(*inputs)
                if setup is not None and kwargs:
                    setup(ctx=ctx, inputs=inputs, keyword_only_inputs=kwargs, output=output)
                elif setup is not None:
                    setup(ctx=ctx, inputs=inputs, output=output)
                return output

            @staticmethod
            def backward(ctx: Any, *grads: Any) -> Any:
                if backward is None:
                    raise RuntimeError(
                        f"Trying to backward through {op} but no autograd formula was registered. Please use "
                        "register_autograd to add one."
                    )
                return backward(ctx, *grads)

        Generated.__name__ = f"GeneratedBackwardFor_{str(op).replace('.', '_')}"
        return Generated.apply(*args)

    return call


def _wants_gradient(arg: Any) -> bool:
    if isinstance(arg, list | tuple):
        return any(_wants_gradient(item) for item in arg)
    return isinstance(arg, Tensor) and arg.requires_grad


def custom_op(
    name: str,
    fn: Any = None,
    /,
    *,
    mutates_args: Any = (),
    device_types: Any = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """The function as an operator, or a decorator that makes one.

    Example:
        >>> import pyburn
        >>> @custom_op("my::double", mutates_args=())
        ... def double(x: pyburn.Tensor) -> pyburn.Tensor:
        ...     return x * 2
        >>> double(pyburn.ones(1)), pyburn.ops.my.double(pyburn.ones(1))
        (tensor([2.]), tensor([2.]))
    """

    def make(function: Callable[..., Any]) -> CustomOpDef:
        text = schema if schema is not None else infer_schema(function, mutates_args=mutates_args)
        return CustomOpDef(name, function, Schema.parse(name + text), device_types)

    return make if fn is None else make(fn)


def define(qualname: str, schema: str, *, lib: Any = None, tags: Any = ()) -> None:
    """Nothing; `torch.ops` knows the operator from now on.

    Example:
        >>> define("mine::thrice", "(Tensor x) -> Tensor")
    """
    _ops.define(qualname, Schema.parse(qualname + schema))


def impl(qualname: str, types: Any, func: Any = None, *, lib: Any = None) -> Any:
    """The function, or a decorator: what the operator computes for these dispatch keys or devices."""
    if isinstance(qualname, Library):
        # The older form: impl(lib, name, dispatch_key).
        return _impl_of(qualname, types, func or "")

    def register(function: Any) -> Any:
        for kind in [types] if isinstance(types, str) else types:
            key = {"default": "CompositeExplicitAutograd"}.get(kind, kind.upper() if kind.islower() else kind)
            _register(qualname, key, function)
        return function

    return register if func is None else register(func)


def _impl_of(library: Library, name: Any, key: str) -> Any:
    def register(function: Any) -> Any:
        library.impl(name, function, key)
        return function

    return register


def register_fake(op: Any, func: Any = None, /, *, lib: Any = None, **kwargs: Any) -> Any:
    """The function, or a decorator: how to get the shapes of the operator's results without computing it."""

    def register(function: Any) -> Any:
        _register(op, "Meta", function)
        return function

    return register if func is None else register(func)


impl_abstract = register_fake


def register_kernel(op: Any, device_types: Any, func: Any = None, /, *, lib: Any = None) -> Any:
    """The function, or a decorator: what the operator computes on these devices; on all if None."""
    return impl(op, "default" if device_types is None else device_types, func)


def register_autograd(op: Any, backward: Callable[..., Any], /, *, setup_context: Any = None, lib: Any = None) -> None:
    """Nothing; the operator's gradient is computed by `backward(ctx, *grads)` from now on.

    Args:
        op: The operator, or its name ``namespace::name``.
        backward: Gives a gradient, or None, for each argument.
        setup_context: Called as ``setup_context(ctx, inputs, output)`` after the operator, to save what backward needs.
        lib: Accepted; what is registered stays.
    """
    found = _ops.operator(op)
    found.kernels["Autograd"] = _differentiable(found, backward, setup_context)


def register_vmap(op: Any, func: Any = None, /, *, lib: Any = None) -> Any:
    """The function itself: `vmap` calls the operator once for each entry."""
    return (lambda function: function) if func is None else func


def register_torch_dispatch(op: Any, torch_dispatch_class: Any, func: Any = None, /, *, lib: Any = None) -> Any:
    """The function itself: pyburn has no dispatch modes."""
    return (lambda function: function) if func is None else func


def register_autocast(op: Any, device_type: str, cast_inputs: Any, /, *, lib: Any = None) -> None:
    """Nothing; inside `autocast` for this device the operator gets its floating inputs in this dtype."""
    found = _ops.operator(op)
    key = f"Autocast{device_type.upper()}"

    def cast(value: Any) -> Any:
        if isinstance(value, Tensor) and value.is_floating_point() and value.device.type == device_type:
            return value.to(cast_inputs)
        return type(value)(cast(item) for item in value) if isinstance(value, list | tuple) else value

    def call(*args: Any, **kwargs: Any) -> Any:
        with _ops.excluded(key):
            return found(*[cast(arg) for arg in args], **{name: cast(arg) for name, arg in kwargs.items()})

    found.kernels[key] = call


def get_ctx() -> Any:
    """Nothing: shapes are never traced here.

    Raises:
        NotImplementedError: Always.
    """
    refuse("library.get_ctx", "pyburn traces no shapes", "call the operator on real tensors")
