"""The base class of all optimizers: groups of parameters, their state, and saving both."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from itertools import chain
from typing import Any, TypeAlias

from pyburn import _core
from pyburn._core import Tensor
from pyburn.autograd import enable_grad, set_grad_enabled
from pyburn.nn._hooks import RemovableHandle
from pyburn.ops import tensor

Closure = Callable[[], Any]


class _Required:
    """Marks a setting that each group must give itself."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


class Optimizer:
    """Holds parameters in groups, each with its settings, and changes them at each `step`.

    A subclass gives `step`, reads the settings from the groups and keeps what it must remember of
    a parameter in `self.state[parameter]`.

    Args:
        params: Parameters, pairs of names and parameters, or dicts with "params" and settings.
        defaults: The settings of groups that do not give them.

    Attributes:
        param_groups: A list of dicts: "params" and the settings.
        state: For each parameter a dict.

    Example:
        >>> import pyburn
        >>> class SignDescent(pyburn.optim.Optimizer):
        ...     def __init__(self, params, lr=0.5):
        ...         super().__init__(params, {"lr": lr})
        ...     @pyburn.no_grad()
        ...     def step(self, closure=None):
        ...         for group in self.param_groups:
        ...             for p in group["params"]:
        ...                 p.sub_(p.grad.sign() * group["lr"])
        >>> w = pyburn.ones(1, requires_grad=True)
        >>> (3 * w).sum().backward(); SignDescent([w]).step(); w.detach()
        tensor([0.5000])
    """

    state: defaultdict[Any, Any]
    param_groups: list[dict[str, Any]]
    _opt_called: bool

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got {type(params).__name__}"
            )
        if isinstance(params, set):
            warnings.warn(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in "
                "sets will change between runs. Please use a list instead.",
                FutureWarning,
                stacklevel=3,
            )
        self.defaults = defaults
        self.state = defaultdict(dict)
        self.param_groups = []
        self._make_hook_tables()
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(dict(group))

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Nothing; a `step` that the subclass defines runs the step hooks around itself."""
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _with_hooks(cls.__dict__["step"])  # type: ignore[method-assign]

    def _make_hook_tables(self) -> None:
        for name in _HOOK_TABLES:
            setattr(self, name, OrderedDict())

    def step(self, closure: Closure | None = None) -> Any:
        """What `closure` gave, or None; the parameters have taken one step."""
        raise NotImplementedError(f"{type(self).__name__}: an optimizer must define step(closure=None).")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Nothing; each parameter's `.grad` is None, or zero when `set_to_none` is false."""
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none or p.grad is None:
                    p.grad = None
                else:
                    p.grad = p.grad.detach().zero_()

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Nothing; the optimizer has one group more.

        Args:
            param_group: "params", and settings that differ from the defaults.

        Raises:
            TypeError: It is no dict, or a parameter no tensor.
            ValueError: A parameter is no leaf, is in another group, or a required setting is missing.

        Example:
            >>> import pyburn
            >>> a, b = pyburn.zeros(1, requires_grad=True), pyburn.zeros(1, requires_grad=True)
            >>> optimizer = pyburn.optim.SGD([a], lr=0.1)
            >>> optimizer.add_param_group({"params": [b], "lr": 0.01})
            >>> [group["lr"] for group in optimizer.param_groups]
            [0.1, 0.01]
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering "
                "of tensors in sets will change between runs. Please use a list instead."
            )
        params = [params] if isinstance(params, Tensor) else list(params)
        names = [p[0] for p in params if isinstance(p, tuple)]
        if names:
            if len(names) != len(params):
                raise ValueError(
                    "all optimizer params should be with/without names. Some param names are missing; give pairs of "
                    "a name and a parameter for all of them, or for none."
                )
            param_group["param_names"] = names
            params = [p for _, p in params]
        param_group["params"] = params
        self._check_params(params)
        self._check_names("param_names" in param_group)
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        self.param_groups.append(param_group)

    def _check_params(self, params: list[Any]) -> None:
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}")
            if not (p.is_leaf or p.retains_grad or self.defaults.get("differentiable")):
                raise ValueError("can't optimize a non-leaf Tensor")
        ids = [id(p) for p in params]
        if len(set(ids)) != len(ids):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; each takes its step twice",
                stacklevel=4,
            )
        taken = {id(p) for group in self.param_groups for p in group["params"]}
        if not taken.isdisjoint(ids):
            raise ValueError("some parameters appear in more than one parameter group")

    def _check_names(self, named: bool) -> None:
        if any(("param_names" in group) != named for group in self.param_groups):
            kind = "with names" if named else "without names"
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param group "
                f"{kind} to the optimizer"
            )

    def state_dict(self) -> dict[str, Any]:
        """The state and the groups, with numbers in place of the parameters, as torch saves them.

        Example:
            >>> import pyburn
            >>> optimizer = pyburn.optim.SGD([pyburn.zeros(1, requires_grad=True)], lr=0.1)
            >>> optimizer.state_dict()["param_groups"][0]["params"]
            [0]
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for p in group["params"]:
                numbers.setdefault(id(p), len(numbers))
            packed = {name: value for name, value in group.items() if name != "params"}
            packed["params"] = [numbers[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {numbers[id(k)] if isinstance(k, Tensor) else k: v for k, v in self.state.items()}
        result: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            replaced = hook(self, result)
            if replaced is not None:
                result = replaced
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Nothing; the state and the settings are those of `state_dict`.

        Args:
            state_dict: What `state_dict()` of an optimizer over the same groups gave.

        Raises:
            ValueError: The groups, or their numbers of parameters, differ.
        """
        state_dict = dict(state_dict)
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            replaced = hook(self, state_dict)
            if replaced is not None:
                state_dict = replaced
        saved = deepcopy(state_dict["param_groups"])
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(old["params"]) != len(new["params"]) for old, new in zip(saved, self.param_groups, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        numbers = chain.from_iterable(group["params"] for group in saved)
        parameters = dict(zip(numbers, chain.from_iterable(g["params"] for g in self.param_groups), strict=True))
        state: defaultdict[Any, Any] = defaultdict(dict)
        for number, values in state_dict["state"].items():
            if number in parameters:
                state[parameters[number]] = _cast(parameters[number], values, None)
            else:
                state[number] = values
        for old, new in zip(saved, self.param_groups, strict=True):
            old["params"] = new["params"]
            if "param_names" in new and "param_names" not in old:
                old["param_names"] = new["param_names"]
        self.state, self.param_groups = state, saved
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """A handle; `hook(optimizer, args, kwargs)` is called before each step and may give new arguments."""
        return self._add(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """A handle; `hook(optimizer, args, kwargs)` is called after each step."""
        return self._add(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """A handle; `hook(optimizer)` is called before `state_dict`."""
        return self._add(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """A handle; `hook(optimizer, state_dict)` may give another dict."""
        return self._add(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """A handle; `hook(optimizer, state_dict)` may give another dict to load."""
        return self._add(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """A handle; `hook(optimizer)` is called after loading."""
        return self._add(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    @staticmethod
    def _add(table: OrderedDict[int, Any], hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        handle = RemovableHandle(table)
        table[handle.id] = hook
        if prepend:
            table.move_to_end(handle.id, last=False)
        return handle

    def __getattr__(self, name: str) -> Any:
        """The hook table of that name; anything else is missing."""
        if name in _HOOK_TABLES:
            return self.__dict__.setdefault(name, OrderedDict())
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __getstate__(self) -> dict[str, Any]:
        """What pickle saves: all but the hooks."""
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Nothing; the optimizer is the one that was pickled."""
        self.__dict__.update(state)
        self._make_hook_tables()

    def __repr__(self) -> str:
        """The name and the settings of each group."""
        text = f"{type(self).__name__} ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            text += "".join(f"    {name}: {group[name]}\n" for name in sorted(group) if name != "params")
        return text + ")"


_HOOK_TABLES = (
    "_optimizer_step_pre_hooks",
    "_optimizer_step_post_hooks",
    "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks",
    "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)


def _with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """`step` with the hooks around it; `_opt_called` tells schedulers that a step was taken."""

    @functools.wraps(step)
    def stepped(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        self._opt_called = True
        for hook in self._optimizer_step_pre_hooks.values():
            changed = hook(self, args, kwargs)
            if changed is not None:
                if not isinstance(changed, tuple) or len(changed) != 2:
                    raise RuntimeError(
                        f"{hook} must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                    )
                args, kwargs = changed
        result = step(self, *args, **kwargs)
        for hook in self._optimizer_step_post_hooks.values():
            hook(self, args, kwargs)
        return result

    return stepped


def _cast(param: Tensor, value: Any, key: Any) -> Any:
    """`value` with its tensors on the parameter's device, floating ones in its dtype; "step" as it is."""
    if isinstance(value, Tensor):
        if key == "step":
            return value
        return value.to(device=param.device, dtype=param.dtype if param.is_floating_point() else value.dtype)
    if isinstance(value, dict):
        return {k: _cast(param, v, k) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_cast(param, v, key) for v in value)
    return value


# A native rule: its name, the running values that it changes, and its numbers.
Native: TypeAlias = tuple[str, list[Tensor], list[float]]


class Stepping(Optimizer):
    """An optimizer whose step treats each parameter on its own: `_update` says how."""

    def step(self, closure: Closure | None = None) -> Any:
        """What `closure` gave, or None; each parameter that has a gradient took one step.

        Args:
            closure: Computes the loss anew, with gradients, and gives it.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with set_grad_enabled(bool(self.defaults.get("differentiable"))):
            for group in self.param_groups:
                self._step_group(group)
        return loss

    def _step_group(self, group: dict[str, Any]) -> None:
        """Nothing; parameters that have a native rule take their steps together, the others one by one."""
        together: dict[str, tuple[list[list[Tensor]], list[list[float]]]] = {}
        alone = bool(self.defaults.get("differentiable"))
        for p in group["params"]:
            grad = p.grad
            if grad is None:
                continue
            if grad.is_sparse and self._takes_sparse != "sparse":
                grad = self._densified(grad)
            native = None if alone else self._native(p, grad, self.state[p], group)
            if native is None:
                self._update(p, -grad if group.get("maximize") else grad, self.state[p], group)
            else:
                rule, kept, numbers = native
                tensors, settings = together.setdefault(rule, ([], []))
                tensors.append([p, grad, *kept])
                settings.append(numbers)
        for rule, (tensors, settings) in together.items():
            _core._fused_step(rule, tensors, settings, bool(group.get("maximize")))

    def _native(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> Native | None:
        """The name of the native rule for this step, its running values and its numbers; None where there is none."""
        return None

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Nothing; the state and the settings are those of `state_dict`, also where an old torch wrote it."""
        super().load_state_dict(state_dict)
        for p, values in self.state.items():
            # torch before 1.12 wrote the number of steps as an int; its SparseAdam still does.
            if isinstance(p, Tensor) and isinstance(values.get("step"), int | float) and self._counts_in_tensors:
                values["step"] = tensor(float(values["step"]))
        for group in self.param_groups:
            for name, value in self.defaults.items():
                group.setdefault(name, value)

    _counts_in_tensors = True
    # What happens to sparse gradients: "sparse" keeps them, "dense" gives them their zeros, "" refuses them.
    _takes_sparse = ""

    def _densified(self, grad: Tensor) -> Tensor:
        if not self._takes_sparse:
            raise RuntimeError(
                f"{type(self).__name__} does not support sparse gradients, please consider SparseAdam instead"
            )
        return grad.to_dense()

    def _update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        raise NotImplementedError


def check_settings(lr: float | Tensor | None = None, **least_zero: float | Tensor) -> None:
    """Nothing; settings that must not be negative are not, and a learning rate that is a tensor has one element.

    Raises:
        ValueError: One is.
    """
    if lr is not None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError(f"Tensor lr must be 1-element, but it has shape {list(lr.shape)}")
        if not float(lr) >= 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
    for setting, value in least_zero.items():
        if not float(value) >= 0.0:
            raise ValueError(f"Invalid {setting} value: {value}")


def check_betas(betas: Sequence[float | Tensor]) -> None:
    """Nothing; each beta is in [0, 1).

    Raises:
        ValueError: One is not.
    """
    if len({isinstance(beta, Tensor) for beta in betas}) == 2:
        raise ValueError("betas must be either both floats or both Tensors")
    for i, beta in enumerate(betas):
        if not 0.0 <= float(beta) < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")


# What optimizers written for torch import beside the class.
ParamsT: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]


def _use_grad_for_differentiable(func: Callable[..., Any]) -> Callable[..., Any]:
    """A `step` that records its work only for an optimizer made with ``differentiable=True``."""

    @functools.wraps(func)
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        with set_grad_enabled(bool(self.defaults.get("differentiable", False))):
            return func(self, *args, **kwargs)

    return step


def _get_value(x: Any) -> Any:
    return x.item() if isinstance(x, Tensor) else x


def _default_to_fused_or_foreach(params: Any, differentiable: bool, use_fused: bool = False) -> tuple[bool, bool]:
    """Neither: each parameter's step is one call here already."""
    return False, False


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    return []
