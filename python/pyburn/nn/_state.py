"""How a module's state is put into a dict and taken from one."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from pyburn._core import Tensor
from pyburn.autograd import no_grad
from pyburn.nn._hooks import RemovableHandle
from pyburn.nn._traversal import Traversal
from pyburn.nn.parameter import Parameter, is_lazy

if TYPE_CHECKING:
    from pyburn.nn.module import Module

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(NamedTuple):
    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"

    def __str__(self) -> str:
        return repr(self)


class State(Traversal):
    """The saving half of `Module`."""

    _version: int = 1
    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: OrderedDict[int, Callable[..., Any]]
    _state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _load_state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _load_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]

    def get_extra_state(self) -> Any:
        """What the module wants to save beside its tensors; a subclass that has such state says so here."""
        raise RuntimeError(
            "get_extra_state: this module has none; override get_extra_state and set_extra_state together."
        )

    def set_extra_state(self, state: Any) -> None:
        """Nothing; `state`, as `get_extra_state` gave it, is taken over by a subclass that has such state."""
        raise RuntimeError(
            "set_extra_state: this module has none; override get_extra_state and set_extra_state together."
        )

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """Every parameter and saved buffer by its path; the tensors are the module's own, not copies.

        Args:
            *args: `destination`, `prefix` and `keep_vars` by position, as older code gives them.
            destination: A dict that is filled and given back; a new one when left out.
            prefix: Text before each path.
            keep_vars: Whether parameters stay attached to autograd instead of being detached.

        Example:
            >>> from pyburn import nn
            >>> list(nn.BatchNorm1d(2, affine=False).state_dict())
            ['running_mean', 'running_var', 'num_batches_tracked']
        """
        if args:
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and not keep_vars else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            replaced = hook(self, destination, prefix, local_metadata)
            if replaced is not None:
                if getattr(hook, "_from_public_api", False):
                    raise RuntimeError("state_dict post-hook must return None")
                destination = replaced
        result: dict[str, Any] = destination
        return result

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """The keys that did not fit, as `missing_keys` and `unexpected_keys`; the values are copied in.

        Args:
            state_dict: What `state_dict()` of a module of the same structure gave.
            strict: Whether keys that do not fit are an error.
            assign: Whether the given tensors become the module's own, with their dtype and device,
                instead of being copied into the present ones.

        Raises:
            TypeError: `state_dict` is not a mapping.
            RuntimeError: A shape does not fit, or a key under `strict`; the text lists all of them.

        Example:
            >>> from pyburn import nn
            >>> nn.Linear(2, 3).load_state_dict(nn.Linear(2, 3).state_dict())
            <All keys matched successfully>
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        found = _Loading(metadata, assign)
        found.load(self, OrderedDict(state_dict), "")
        missing, unexpected, errors = found.missing, found.unexpected, found.errors
        if strict and unexpected:
            errors.insert(0, "Unexpected key(s) in state_dict: " + _quoted(unexpected) + ". ")
        if strict and missing:
            errors.insert(0, "Missing key(s) in state_dict: " + _quoted(missing) + ". ")
        if errors:
            lines = "\n\t".join(errors)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{lines}")
        return _IncompatibleKeys(missing, unexpected)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """A handle; `hook(module, prefix, keep_vars)` is called before each `state_dict`."""
        return _add(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """A handle; `hook(module, state_dict, prefix, local_metadata)` may change the finished dict."""
        hook._from_public_api = True  # type: ignore[attr-defined]
        return _add(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was registered before"
            )
        return _add(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """A handle; `hook(module, state_dict, prefix, ...)` may change what is about to be loaded.

        The hook receives `(module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs)`.
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        return _add(self._load_state_dict_pre_hooks, _PreLoadHook(hook, with_module))

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """A handle; `hook(module, incompatible_keys)` may change the lists of keys that did not fit."""
        return _add(self._load_state_dict_post_hooks, hook)

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        for name, parameter in self._parameters.items():
            if parameter is not None:
                destination[prefix + name] = parameter if keep_vars or is_lazy(parameter) else parameter.detach()
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = buffer if keep_vars or is_lazy(buffer) else buffer.detach()
        if type(self).get_extra_state is not State.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        for hook in self._load_state_dict_pre_hooks.values():
            hook(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        assign = bool(local_metadata.get("assign_to_params_buffers", False))
        own: dict[str, Any] = {k: v for k, v in self._parameters.items() if v is not None}
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                own[name] = buffer
        for name, current in own.items():
            key = prefix + name
            if key in state_dict:
                error = self._load_tensor(name, key, current, state_dict[key], assign)
                if error:
                    error_msgs.append(error)
            elif strict:
                missing_keys.append(key)
        self._load_extra_state(state_dict, prefix + _EXTRA_STATE_KEY_SUFFIX, strict, missing_keys, unexpected_keys)
        for key in state_dict if strict else ():
            if key.startswith(prefix) and key != prefix + _EXTRA_STATE_KEY_SUFFIX:
                name, dot, _ = key[len(prefix) :].partition(".")
                if name not in (self._modules if dot else own):
                    unexpected_keys.append(key)

    def _load_extra_state(
        self, state_dict: dict[str, Any], key: str, strict: bool, missing: list[str], unexpected: list[str]
    ) -> None:
        if type(self).set_extra_state is not State.set_extra_state:
            if key in state_dict:
                self.set_extra_state(state_dict[key])
            elif strict:
                missing.append(key)
        elif strict and key in state_dict:
            unexpected.append(key)

    def _load_tensor(self, name: str, key: str, current: Tensor, given: Any, assign: bool) -> str | None:
        """Nothing when `given` was taken over, else the reason why it could not be."""
        if not isinstance(given, Tensor):
            return (
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object '
                f"from checkpoint but received {type(given)}"
            )
        if is_lazy(current) and is_lazy(given):
            return None
        if current.dim() == 0 and given.dim() == 1 and given.shape[0] == 1:
            given = given[0]  # files of old torch versions hold scalars with shape [1]
        if given.shape != current.shape:
            return (
                f"size mismatch for {key}: copying a param with shape {_shape(given)} from checkpoint, "
                f"the shape in current model is {_shape(current)}."
            )
        if current.is_meta and not given.is_meta and not assign:
            warnings.warn(
                f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current "
                "model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary "
                "to their corresponding key in the module instead of copying them in place?)",
                stacklevel=2,
            )
        try:
            if assign:
                self._assign(name, current, given)
            else:
                with no_grad():
                    current.copy_(given)
        except Exception as error:
            return (
                f'While copying the parameter named "{key}", whose dimensions in the model are {_shape(current)} '
                f"and whose dimensions in the checkpoint are {_shape(given)}, an exception occurred : {error.args}."
            )
        return None

    def _assign(self, name: str, current: Tensor, given: Tensor) -> None:
        if isinstance(current, Parameter):
            if not isinstance(given, Parameter):
                given = Parameter(given, requires_grad=current.requires_grad)
            else:
                given.requires_grad_(current.requires_grad)
        setattr(self, name, given)


class _Loading:
    """One run of `load_state_dict` over a tree of modules, and what it found."""

    def __init__(self, metadata: Any, assign: bool) -> None:
        self.metadata = metadata
        self.assign = assign
        self.missing: list[str] = []
        self.unexpected: list[str] = []
        self.errors: list[str] = []

    def load(self, module: Any, state_dict: dict[str, Any], prefix: str) -> None:
        """Nothing; `module` and all below it have taken over what `state_dict` has for them."""
        local = {} if self.metadata is None else dict(self.metadata.get(prefix[:-1], {}))
        if self.assign:
            local["assign_to_params_buffers"] = True
        module._load_from_state_dict(state_dict, prefix, local, True, self.missing, self.unexpected, self.errors)
        for name, child in module._modules.items():
            if child is not None:
                path = f"{prefix}{name}."
                self.load(child, {k: v for k, v in state_dict.items() if k.startswith(path)}, path)
        keys = _IncompatibleKeys(self.missing, self.unexpected)
        for hook in module._load_state_dict_post_hooks.values():
            if hook(module, keys) is not None:
                raise RuntimeError(
                    "load_state_dict post-hook: must return None; change the given incompatible_keys in place."
                )


class _PreLoadHook:
    """A hook to be called before loading, with or without the module as its first argument."""

    def __init__(self, hook: Callable[..., Any], with_module: bool) -> None:
        self.hook = hook
        self.with_module = with_module

    def __call__(self, module: Module, *args: Any) -> Any:
        return self.hook(module, *args) if self.with_module else self.hook(*args)


def _add(hooks: OrderedDict[int, Callable[..., Any]], hook: Callable[..., Any]) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def _quoted(keys: list[str]) -> str:
    return ", ".join(f'"{key}"' for key in keys)


def _shape(tensor: Tensor) -> str:
    return f"torch.Size({list(tensor.shape)})"
