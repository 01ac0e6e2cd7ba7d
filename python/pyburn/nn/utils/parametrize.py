"""Parameters that are functions of others: the weight a layer uses is computed from the one that is trained."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from pyburn._core import Tensor
from pyburn.autograd import no_grad
from pyburn.nn.container import ModuleDict, ModuleList
from pyburn.nn.module import Module
from pyburn.nn.parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

_cache_users = 0
_cache: dict[tuple[int, str], Tensor | None] = {}


@contextmanager
def cached() -> Iterator[None]:
    """A block in which each parametrized tensor is computed once and then remembered.

    Example:
        >>> import pyburn
        >>> from pyburn.nn.utils import parametrize, parametrizations
        >>> layer = parametrizations.weight_norm(pyburn.nn.Linear(2, 2))
        >>> with parametrize.cached():
        ...     layer.weight is layer.weight
        True
    """
    global _cache_users
    _cache_users += 1
    try:
        yield
    finally:
        _cache_users -= 1
        if not _cache_users:
            _cache.clear()


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, and the tensor or tensors that are trained in its place.

    Args:
        modules: The parametrizations, in the order in which they are applied.
        original: The tensor before it was parametrized.
        unsafe: Whether shape and dtype may change.

    Attributes:
        original: The trained tensor; `original0`, `original1`, ... where `right_inverse` gives several.
    """

    original: Tensor

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = tuple(original.shape), original.dtype
        new: Any = original
        with no_grad():
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    with suppress(NotImplementedError):
                        new = module.right_inverse(new)
        if not isinstance(new, Tensor) and not isinstance(new, Sequence):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(new).__name__}"
            )
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if isinstance(new, Tensor):
            _same_kind(new, original)
            _set(original, new)
            _register(self, "original", original)
        else:
            self._register_several(new, original)
        if not unsafe:
            _check_result(self(), dtype, shape)

    def _register_several(self, new: Sequence[Any], original: Tensor) -> None:
        for i, part in enumerate(new):
            if not isinstance(part, Tensor):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                    f"Got element {i} of the sequence with type {type(part).__name__}."
                )
            held = Parameter(part, original.requires_grad) if isinstance(original, Parameter) else part
            _register(self, f"original{i}", held.requires_grad_(original.requires_grad))

    def right_inverse(self, value: Tensor) -> None:
        """Nothing; the trained tensors are those for which the parametrization gives `value`."""
        result: Any = value
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                result = module.right_inverse(result)
        if self.is_tensor:
            if not isinstance(result, Tensor):
                raise ValueError(f"`right_inverse` should return a tensor. Got {type(result).__name__}")
            _set(self.original, _of_dtype(result, self.original, "original"))
            return
        if not isinstance(result, Sequence):
            raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(result).__name__}.")
        if len(result) != self.ntensors:
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of "
                f"length {len(result)}."
            )
        for i, part in enumerate(result):
            held = getattr(self, f"original{i}")
            _set(held, _of_dtype(part, held, f"original{i}"))

    def forward(self) -> Tensor:
        """The parametrized tensor."""
        first, *rest = list(self)
        originals = [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]
        value: Tensor = first(*originals)
        for module in rest:
            value = module(value)
        return value


def _same_kind(new: Tensor, original: Tensor) -> None:
    for what in ("dtype", "device"):
        if getattr(new, what) != getattr(original, what):
            raise ValueError(
                f"When `right_inverse` outputs one tensor, it may not change the {what}.\n"
                f"original.{what}: {getattr(original, what)}\n"
                f"right_inverse(original).{what}: {getattr(new, what)}"
            )


def _of_dtype(value: Tensor, held: Tensor, name: str) -> Tensor:
    if value.dtype != held.dtype:
        raise ValueError(
            f"The tensor returned by `right_inverse` has dtype {value.dtype} while `{name}` has dtype {held.dtype}"
        )
    return value


def _set(target: Tensor, value: Tensor) -> None:
    if target is not value:
        with no_grad():
            target.data = value.detach()


def _check_result(value: Any, dtype: Any, shape: tuple[int, ...]) -> None:
    if not isinstance(value, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(value).__name__}.")
    for what, before, after in (("dtype", dtype, value.dtype), ("shape", shape, tuple(value.shape))):
        if before != after:
            raise ValueError(
                f"Registering a parametrization may not change the {what} of the tensor, unless `unsafe` flag is "
                f"enabled.\nunparametrized {what}: {before}\nparametrized {what}: {after}"
            )


def _register(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


class _Parametrized:
    """What the classes of parametrized modules have beside their own."""

    def __getstate__(self) -> Any:
        """Nothing: raises."""
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(). Save and load that instead."
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A copy whose class is its own, so that removing a parametrization leaves the other as it is."""
        if id(self) not in memo:
            original: Any = type(self).__bases__[1]
            made: Any = original.__new__(original)
            memo[id(self)] = made
            made.__dict__.update(copy.deepcopy(self.__dict__, memo))
            _inject_class(made)
            for name in made.parametrizations:
                _inject_property(made, name)
        return memo[id(self)]


def _inject_class(module: Any) -> None:
    cls = type(module)
    module.__class__ = type(f"Parametrized{cls.__name__}", (_Parametrized, cls), {"__module__": cls.__module__})


def _inject_property(module: Module, name: str) -> None:
    def get(self: Any) -> Tensor:
        if not _cache_users:
            return self.parametrizations[name]()  # type: ignore[no-any-return]
        key = (id(self), name)
        value = _cache.get(key)
        if value is None:
            value = _cache[key] = self.parametrizations[name]()
        return value

    def put(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(get, put))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """The module, in which `tensor_name` is `parametrization(...)` of a tensor that is trained instead.

    Args:
        module: Owns the parameter or buffer.
        tensor_name: Its name; from now on `module.<name>` computes it, and setting it goes through the
            parametrization's `right_inverse`, if it has one.
        parametrization: A module that takes and gives a tensor.
        unsafe: Whether it may change shape and dtype.

    Raises:
        ValueError: There is no such tensor, or its shape or dtype would change.

    Example:
        >>> import pyburn
        >>> from pyburn.nn.utils import parametrize
        >>> class Symmetric(pyburn.nn.Module):
        ...     def forward(self, x):
        ...         return x.triu() + x.triu(1).mT
        >>> layer = parametrize.register_parametrization(pyburn.nn.Linear(3, 3), "weight", Symmetric())
        >>> bool((layer.weight == layer.weight.mT).all()), list(layer.state_dict())
        (True, ['bias', 'parametrizations.weight.original'])
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_addition(module, tensor_name, parametrization)
        held: Any = module.parametrizations[tensor_name]
        held.append(parametrization)
        held.unsafe |= unsafe
        return module
    if tensor_name not in module._buffers and tensor_name not in module._parameters:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    original = getattr(module, tensor_name)
    listed = ParametrizationList([parametrization], original, unsafe=unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _inject_class(module)
        module.parametrizations = ModuleDict()
    _inject_property(module, tensor_name)
    module.parametrizations[tensor_name] = listed
    return module


def _check_addition(module: Module, name: str, parametrization: Any) -> None:
    before = getattr(module, name)
    after = parametrization(before)
    _check_result(after, before.dtype, tuple(before.shape))
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        back = parametrization.right_inverse(after)
    except NotImplementedError:
        return
    if not isinstance(back, Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}")
    _check_result(back, before.dtype, tuple(before.shape))


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether any tensor of the module, or the one of that name, is parametrized.

    Example:
        >>> import pyburn
        >>> pyburn.nn.utils.parametrize.is_parametrized(pyburn.nn.Linear(1, 1), "weight")
        False
    """
    held = getattr(module, "parametrizations", None)
    if held is None or not isinstance(held, ModuleDict):
        return False
    return len(held) > 0 if tensor_name is None else tensor_name in held


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """The module, in which `tensor_name` is an ordinary parameter or buffer again.

    Args:
        module: A module with that parametrization.
        tensor_name: The tensor's name.
        leave_parametrized: Whether it keeps the value it has now; otherwise it gets that of the original.

    Raises:
        ValueError: The tensor is not parametrized, or has several originals and should not keep its value.

    Example:
        >>> import pyburn
        >>> from pyburn.nn.utils import parametrize, parametrizations
        >>> layer = parametrizations.weight_norm(pyburn.nn.Linear(2, 2))
        >>> parametrize.remove_parametrizations(layer, "weight")
        Linear(in_features=2, out_features=2, bias=True)
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    held: Any = module.parametrizations[tensor_name]
    if held.is_tensor:
        original = held.original
        if leave_parametrized:
            _set(original, getattr(module, tensor_name).detach())
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value.detach()) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
            "sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[1]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The module's class as it was before anything was parametrized."""
    return type(module).__bases__[1] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """`to_module`, with the parametrizations of `from_module` and the tensors they are computed from.

    Args:
        from_module: A parametrized module.
        to_module: A module with tensors of the same names.
        tensor_name: The only tensor to transfer; all when left out.
    """
    if not is_parametrized(from_module):
        return to_module
    source: Any = from_module
    target: Any = to_module
    for name in [tensor_name] if tensor_name is not None else list(source.parametrizations):
        if not hasattr(target, name):
            setattr(target, name, Parameter(getattr(source, name).detach().clone()))
        for parametrization in source.parametrizations[name]:
            register_parametrization(target, name, parametrization, unsafe=True)
        given, taken = source.parametrizations[name], target.parametrizations[name]
        names = ["original"] if given.is_tensor else [f"original{i}" for i in range(given.ntensors)]
        for each in names:
            setattr(taken, each, getattr(given, each))
    return to_module
