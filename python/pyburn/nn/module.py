"""The base class of every layer and model."""

from __future__ import annotations

import builtins
import functools
import importlib
from collections import OrderedDict
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

from pyburn._core import Tensor, bfloat16, device, dtype, float16, float32, float64
from pyburn.autograd import no_grad
from pyburn.nn import _global_hooks as everywhere
from pyburn.nn import _state, _traversal
from pyburn.nn._global_hooks import (
    BACKWARD,
    BACKWARD_PRE,
    FORWARD,
    FORWARD_PRE,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from pyburn.nn._hooks import BackwardTaps, RemovableHandle
from pyburn.nn._state import _EXTRA_STATE_KEY_SUFFIX as _EXTRA_STATE_KEY_SUFFIX
from pyburn.nn._state import State
from pyburn.nn._where import say_where
from pyburn.nn.parameter import Buffer, Parameter
from pyburn.ops.creation import empty_like

__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

T = TypeVar("T", bound="Module")

# Under the names by which other libraries run them too.
_global_buffer_registration_hooks = everywhere.BUFFER_REGISTRATION
_global_module_registration_hooks = everywhere.MODULE_REGISTRATION
_global_parameter_registration_hooks = everywhere.PARAMETER_REGISTRATION


def _forward_unimplemented(self: Any, *input: Any) -> None:
    """Nothing; a subclass says here what it computes."""
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


class Module(State):
    """A part of a network that owns parameters, buffers and further modules.

    A subclass calls `super().__init__()`, sets parameters and layers as attributes, and says in
    `forward` what it computes; calling the module runs `forward` and the hooks around it.

    Example:
        >>> import pyburn
        >>> from pyburn import nn
        >>> class Double(nn.Module):
        ...     def forward(self, x):
        ...         return 2 * x
        >>> Double()(pyburn.ones(2))
        tensor([2., 2.])
    """

    training: bool
    call_super_init: bool = False
    forward: Callable[..., Any] = _forward_unimplemented

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # torch's functions are builtins, which do not become methods: `conv = torch.conv2d` in a class stays as it is.
        for name, value in list(vars(cls).items()):
            if isinstance(value, FunctionType) and (value.__module__ or "").startswith("pyburn.ops"):
                setattr(cls, name, staticmethod(value))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and (args or kwargs):
            given = f"keyword argument '{next(iter(kwargs))}'" if kwargs else f"{len(args)} positional arguments"
            raise TypeError(f"{type(self).__name__}.__init__: got an unexpected {given}")
        put = super().__setattr__
        put("training", True)
        put("_parameters", {})
        put("_buffers", {})
        put("_modules", {})
        put("_non_persistent_buffers_set", set())
        for name in _HOOK_DICTS:
            put(name, OrderedDict())
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What `forward` gives, with the hooks run around it."""
        own = self.__dict__
        try:
            # A lookup in the dict costs a third of one by `__getattr__`'s side.
            if (
                own["_forward_pre_hooks"]
                or own["_forward_hooks"]
                or own["_backward_hooks"]
                or own["_backward_pre_hooks"]
                or FORWARD_PRE
                or FORWARD
                or BACKWARD
                or BACKWARD_PRE
            ):
                return self._call_with_hooks(args, kwargs)
            return self.forward(*args, **kwargs)
        except Exception as error:
            if "_forward_hooks" not in own:
                raise AttributeError(f"'{type(self).__name__}' object has no attribute '_forward_hooks'") from None
            # A stand-in for data that is still to come (a Keras Input) makes a layer of the module instead.
            symbolic = next((each for each in args if hasattr(each, "__call_module__")), None)
            made = NotImplemented if symbolic is None else symbolic.__call_module__(self, args, kwargs)
            if made is not NotImplemented:
                return made
            say_where(self, error)
            raise

    _call_impl = __call__

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        called: set[int] = set()
        try:
            args, kwargs = self._run_pre_hooks(args, kwargs)
            taps = None
            after = [*everywhere.BACKWARD.values(), *self._backward_hooks.values()]
            before = [*everywhere.BACKWARD_PRE.values(), *self._backward_pre_hooks.values()]
            if after or before:
                taps = BackwardTaps(self, after, before)
                args = taps.tap_inputs(args)
            result = self.forward(*args, **kwargs)
            for id, hook in [*everywhere.FORWARD.items(), *self._forward_hooks.items()]:
                called.add(id)
                result = self._run_forward_hook(id, hook, args, kwargs, result)
            return result if taps is None else taps.tap_outputs(result)
        except Exception:
            for id, hook in [*everywhere.FORWARD.items(), *self._forward_hooks.items()]:
                always = id in self._forward_hooks_always_called or id in everywhere.ALWAYS_CALLED
                if always and id not in called:
                    self._run_forward_hook(id, hook, args, kwargs, None)
            raise

    def _run_pre_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        for id, hook in [*everywhere.FORWARD_PRE.items(), *self._forward_pre_hooks.items()]:
            if id in self._forward_pre_hooks_with_kwargs:
                changed = hook(self, args, kwargs)
                if changed is None:
                    continue
                if not isinstance(changed, tuple) or len(changed) != 2:
                    raise RuntimeError(
                        f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                    )
                args, kwargs = changed
            else:
                changed = hook(self, args)
                if changed is not None:
                    args = changed if isinstance(changed, tuple) else (changed,)
        return args, kwargs

    def _run_forward_hook(
        self, id: int, hook: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
    ) -> Any:
        if id in self._forward_hooks_with_kwargs or id in everywhere.WITH_KWARGS:
            changed = hook(self, args, kwargs, result)
        else:
            changed = hook(self, args, result)
        return result if changed is None else changed

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """A handle; `hook(module, args)` is called before `forward` and may replace its arguments.

        Args:
            hook: Gives None, the new argument, or a tuple of new arguments; with `with_kwargs` it is
                called as `hook(module, args, kwargs)` and gives None or `(args, kwargs)`.
            prepend: Whether it comes before the hooks that are already there.
            with_kwargs: Whether it sees the keyword arguments.
        """
        flags = [self._forward_pre_hooks_with_kwargs] if with_kwargs else []
        return _register(self._forward_pre_hooks, hook, prepend, flags)

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """A handle; `hook(module, args, output)` is called after `forward` and may replace its output.

        Args:
            hook: Gives None or the new output; with `with_kwargs` it is called as
                `hook(module, args, kwargs, output)`.
            prepend: Whether it comes before the hooks that are already there.
            with_kwargs: Whether it sees the keyword arguments.
            always_call: Whether it is called, with the output None, when `forward` raises too.

        Example:
            >>> import pyburn
            >>> layer, shapes = pyburn.nn.Linear(2, 3), []
            >>> handle = layer.register_forward_hook(lambda m, args, out: shapes.append(tuple(out.shape)))
            >>> out = layer(pyburn.zeros(4, 2)); handle.remove(); shapes
            [(4, 3)]
        """
        flags = [self._forward_hooks_with_kwargs] if with_kwargs else []
        if always_call:
            flags.append(self._forward_hooks_always_called)
        return _register(self._forward_hooks, hook, prepend, flags)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """A handle; `hook(module, grad_output)` sees the output's gradients first and may replace them."""
        return _register(self._backward_pre_hooks, hook, prepend, [])

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """A handle; `hook(module, grad_input, grad_output)` is called when the input's gradients are known.

        Args:
            hook: Gives None or new gradients for the inputs; entries for other values than tensors
                are None.
            prepend: Whether it comes before the hooks that are already there.
        """
        return _register(self._backward_hooks, hook, prepend, [])

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """A handle; the older name of `register_full_backward_hook`.

        Differs from torch:
            torch's older hook sees the gradients of the last operation only; this one sees the module's.
        """
        return self.register_full_backward_hook(hook)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Nothing; `param` is reachable, trained and saved under `name`. None marks an absent one.

        Raises:
            AttributeError: `super().__init__()` was not called yet.
            TypeError: `name` is not a string or `param` not a Parameter.
            KeyError: The name is taken, empty or has a dot.
            ValueError: The parameter is the result of a computation.
        """
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_name("parameter", name, self._parameters)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{_typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. "
                f"To express '{name}' as a function of another Tensor, compute the value in the forward() method."
            )
        if everywhere.PARAMETER_REGISTRATION:
            param = everywhere.registered(everywhere.PARAMETER_REGISTRATION, self, name, param)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Nothing; `tensor` is reachable and moved with the module under `name`, but not trained.

        Args:
            name: The attribute's name.
            tensor: The values; None marks an absent buffer.
            persistent: Whether `state_dict` has it.

        Raises:
            AttributeError: `super().__init__()` was not called yet.
            TypeError: `name` is not a string or `tensor` not a Tensor.
            KeyError: The name is taken, empty or has a dot.

        Example:
            >>> import pyburn
            >>> module = pyburn.nn.Module()
            >>> module.register_buffer("mean", pyburn.zeros(2), persistent=False)
            >>> len(module.state_dict()), module.mean
            (0, tensor([0., 0.]))
        """
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name("buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{_typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        if everywhere.BUFFER_REGISTRATION:
            tensor = everywhere.registered(everywhere.BUFFER_REGISTRATION, self, name, tensor)
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Nothing; `module` is a child under `name`.

        Raises:
            TypeError: `name` is not a string or `module` not a Module.
            KeyError: The name is taken, empty or has a dot.
        """
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{_typename(module)} is not a Module subclass")
        self._check_name("module", name, self._modules)
        self._put_module(name, module)

    def _put_module(self, name: str, module: Module | None) -> None:
        if everywhere.MODULE_REGISTRATION:
            module = everywhere.registered(everywhere.MODULE_REGISTRATION, self, name, module)
        self._modules[name] = module

    def register_module(self, name: str, module: Module | None) -> None:
        """Nothing; another name of `add_module`."""
        self.add_module(name, module)

    def _check_name(self, kind: str, name: Any, taken: dict[str, Any]) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {_typename(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in taken:
            raise KeyError(f"attribute '{name}' already exists")

    def __getattr__(self, name: str) -> Any:
        """The parameter, buffer or child of that name."""
        own = self.__dict__
        if "_modules" in own:
            if name in (members := own["_parameters"]):
                return members[name]
            if name in (members := own["_modules"]):
                return members[name]
            if name in (members := own["_buffers"]):
                return members[name]
        # Not a method: models written for torch name layers so, and a method would hide them.
        if name == "summary" and "_modules" in self.__dict__:
            return functools.partial(importlib.import_module("pyburn.nn.summary").summary, self)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        """Nothing; parameters, buffers and modules are registered, all else is a plain attribute."""
        own = self.__dict__
        if isinstance(value, Parameter):
            if "_parameters" not in own:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, "_buffers", "_modules")
            self.register_parameter(name, value)
        elif name in own.get("_parameters", ()):
            self._check_none(name, value, "parameter", "torch.nn.Parameter or None expected")
            self._parameters[name] = None
        elif isinstance(value, Module):
            if "_modules" not in own:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, "_parameters", "_buffers")
            self._put_module(name, value)
        elif name in own.get("_modules", ()):
            self._check_none(name, value, "child module", "torch.nn.Module or None expected")
            self._modules[name] = None
        elif isinstance(value, Buffer) or name in own.get("_buffers", ()):
            self._set_buffer(name, value)
        else:
            super().__setattr__(name, value)

    def _set_buffer(self, name: str, value: Any) -> None:
        if not isinstance(value, Tensor):
            self._check_none(name, value, "buffer", "torch.nn.Buffer, torch.Tensor or None expected")
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        if isinstance(value, Buffer):
            self._forget(name, "_parameters", "_modules")
            self.register_buffer(name, value, value.persistent)
        else:
            self._buffers[name] = value

    def _check_none(self, name: str, value: Any, kind: str, expected: str) -> None:
        if value is not None:
            raise TypeError(f"cannot assign '{_typename(value)}' as {kind} '{name}' ({expected})")

    def _forget(self, name: str, *kinds: str) -> None:
        self.__dict__.pop(name, None)
        for kind in kinds:
            self.__dict__[kind].pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __delattr__(self, name: str) -> None:
        """Nothing; the member or attribute of that name is gone."""
        for kind in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__.get(kind, ()):
                del self.__dict__[kind][name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        """Every attribute, parameter, buffer and child that can be written after a dot."""
        names = {*dir(type(self)), *self.__dict__, *self._parameters, *self._buffers, *self._modules}
        return sorted(name for name in names if not name[:1].isdigit())

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Nothing; the attributes are those of `state`, with hook tables that it may lack."""
        self.__dict__.update(state)
        for name in _HOOK_DICTS:
            self.__dict__.setdefault(name, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())

    def apply(self: T, fn: Callable[[Module], Any]) -> T:
        """This module, after `fn` was called on each module of the tree, children first."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self: T, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> T:
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, parameter in self._parameters.items():
            if parameter is None:
                continue
            # The object stays the same, so that optimizers and shared layers keep it.
            with no_grad():
                grad = parameter.grad
                moved, moved_grad = fn(parameter), None if grad is None else fn(grad)
                parameter.grad = None
                if moved.is_complex() != parameter.is_complex():
                    # `.data` keeps real numbers real, in torch too, which then puts a new parameter in its place.
                    self._parameters[name] = parameter = Parameter(moved, parameter.requires_grad)
                else:
                    parameter.data = moved
                parameter.grad = moved_grad
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self: T, *args: Any, **kwargs: Any) -> T:
        """This module, its floating tensors converted and all of its tensors moved.

        Args:
            *args: `(device)`, `(dtype)`, `(device, dtype)` or `(tensor)` whose device and dtype are taken.
            **kwargs: The same as `device=`, `dtype=`, `tensor=`; `memory_format=` for tensors of rank 4 and 5;
                `non_blocking=` is accepted.

        Raises:
            TypeError: The dtype is not a floating one, or the arguments make no sense.

        Example:
            >>> import pyburn
            >>> pyburn.nn.Linear(2, 2).to(pyburn.float64).weight.dtype == pyburn.float64
            True
        """
        target, kind = _parse_to(args, kwargs)
        if kind is not None and not (kind.is_floating_point or kind.is_complex):
            raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={kind}")

        form = kwargs.get("memory_format")

        def convert(tensor: Tensor) -> Tensor:
            floating = tensor.is_floating_point() or tensor.is_complex()
            chosen = kind if kind and floating else tensor.dtype
            order = {"memory_format": form} if form is not None and tensor.dim() in (4, 5) else {}
            try:
                return tensor.to(device=target or tensor.device, dtype=chosen, **order)
            except NotImplementedError as error:
                if not tensor.is_meta:
                    raise
                raise NotImplementedError(
                    f"{error} Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() when moving module "
                    "from meta to a different device."
                ) from None

        return self._apply(convert)

    def type(self: T, dst_type: Any) -> T:
        """This module, all of its tensors converted to `dst_type`."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def _to_floating(self: T, kind: dtype) -> T:
        return self._apply(lambda tensor: tensor.to(kind) if tensor.is_floating_point() else tensor)

    def float(self: T) -> T:
        """This module, its floating tensors as float32."""
        return self._to_floating(float32)

    def double(self: T) -> T:
        """This module, its floating tensors as float64."""
        return self._to_floating(float64)

    def half(self: T) -> T:
        """This module, its floating tensors as float16."""
        return self._to_floating(float16)

    def bfloat16(self: T) -> T:
        """This module, its floating tensors as bfloat16."""
        return self._to_floating(bfloat16)

    def cpu(self: T) -> T:
        """This module, moved to the CPU."""
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self: T, device: int | device | None = None) -> T:
        """This module, moved where `Tensor.cuda` moves a tensor."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def xpu(self: T, device: int | device | None = None) -> T:
        """This module, moved where `Tensor.cuda` moves a tensor."""
        return self.cuda(device)

    def to_empty(self: T, *, device: Any, recurse: bool = True) -> T:
        """This module on `device` with tensors of the same shapes whose values are arbitrary."""
        return self._apply(lambda tensor: empty_like(tensor, device=device), recurse)

    def share_memory(self: T) -> T:
        """This module, its parameters, their gradients and its buffers in memory that other processes see.

        What a child process writes there, as a step of its optimizer does, this process sees at once, and the reverse.
        """
        for parameter in self.parameters():
            parameter.share_memory_()
            if parameter.grad is not None:
                parameter.grad.share_memory_()
        for buffer in self.buffers():
            buffer.share_memory_()
        return self

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Nothing; accepted so that scripts run, the module is called as before."""

    def train(self: T, mode: bool = True) -> T:
        """This module with `training` set to `mode`, in all of its children too.

        Raises:
            ValueError: `mode` is not a bool.
        """
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self: T) -> T:
        """This module in evaluation mode: `train(False)`."""
        return self.train(False)

    def requires_grad_(self: T, requires_grad: bool = True) -> T:
        """This module, each of its parameters set to be trained or not."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Nothing; each parameter's `.grad` is None, or zero when `set_to_none` is false."""
        for parameter in self.parameters():
            grad = parameter.grad
            if set_to_none or grad is None:
                parameter.grad = None
            elif grad.grad_fn is not None:
                parameter.grad = grad.detach().zero_()
            else:
                with no_grad():
                    grad.zero_()

    def _get_name(self) -> str:
        return builtins.type(self).__name__

    def extra_repr(self) -> str:
        """What stands between the parentheses when the module is printed; a subclass says it here."""
        return ""

    def __repr__(self) -> str:
        """The module's name, its `extra_repr` and its children, one under another."""
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): " + _addindent(repr(module)) for name, module in self._modules.items()]
        if not children and len(lines) <= 1:
            return f"{self._get_name()}({extra})"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines + children) + "\n)"


_HOOK_DICTS = (
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_backward_pre_hooks",
    "_backward_hooks",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)


def _register(
    hooks: OrderedDict[int, Any], hook: Callable[..., Any], prepend: bool, flags: list[OrderedDict[int, bool]]
) -> RemovableHandle:
    handle = RemovableHandle(hooks, *flags)
    hooks[handle.id] = hook
    for flag in flags:
        flag[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def _parse_to(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dtype | None]:
    """The device and dtype, either None when not named, of the arguments of `to`."""
    unknown = set(kwargs) - {"device", "dtype", "tensor", "other", "non_blocking", "copy", "memory_format"}
    if unknown or len(args) > 3:
        raise TypeError(f"to: got unexpected arguments {sorted(unknown) or args}; give a device, a dtype or a tensor")
    target: Any = kwargs.get("device")
    kind: dtype | None = kwargs.get("dtype")
    like = kwargs.get("tensor", kwargs.get("other"))
    for value in args:
        if isinstance(value, Tensor):
            like = value
        elif isinstance(value, dtype):
            kind = value
        elif value is not None and not isinstance(value, bool):
            target = value
    if like is not None:
        target, kind = like.device, like.dtype
    if target is not None and not isinstance(target, device):
        target = device(target)
    return target, kind


def _typename(value: Any) -> str:
    kind = value if isinstance(value, type) else type(value)
    return kind.__name__ if kind.__module__ in ("builtins", "") else f"{kind.__module__}.{kind.__name__}"


def _addindent(s_: str, numSpaces: int = 2) -> str:
    return s_.replace("\n", "\n" + " " * numSpaces)


# Readers of annotations (`typing.get_type_hints`) look names up in the file of each base class.
for _home in (_state, _traversal):
    vars(_home)["Module"] = Module
