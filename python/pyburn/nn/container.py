"""Modules that hold other modules, and holders of parameters."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, overload

from pyburn._core import Tensor
from pyburn.nn.module import Module
from pyburn.nn.parameter import Parameter


def _position(index: Any, length: int) -> int:
    """A place from 0 on for an index that may count from the end."""
    place = operator.index(index)
    if not -length <= place < length:
        raise IndexError(f"index {place} is out of range")
    return place % length


class Sequential(Module):
    """Calls its modules one after another, each with the result of the one before.

    Args:
        *args: The modules, or one OrderedDict of named modules.

    Example:
        >>> import pyburn
        >>> from pyburn import nn
        >>> model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        >>> tuple(model(pyburn.zeros(3, 4)).shape)
        (3, 2)
        >>> model[1]
        ReLU()
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], OrderedDict) else enumerate(args)
        for name, module in named:
            self.add_module(str(name), module)

    def _name_at(self, index: Any) -> str:
        return list(self._modules)[_position(index, len(self))]

    @overload
    def __getitem__(self, idx: slice) -> Sequential: ...

    @overload
    def __getitem__(self, idx: int) -> Module: ...

    def __getitem__(self, idx: slice | int) -> Any:
        """The module at a place, or a Sequential of the same modules for a slice."""
        if isinstance(idx, slice):
            return type(self)(OrderedDict(list(self._modules.items())[idx]))
        return self._modules[self._name_at(idx)]

    def __setitem__(self, idx: int, module: Module) -> None:
        """Nothing; the module at that place is another one."""
        setattr(self, self._name_at(idx), module)

    def __delitem__(self, idx: slice | int) -> None:
        """Nothing; the module is gone and the later ones move up."""
        names = list(self._modules)[idx] if isinstance(idx, slice) else [self._name_at(idx)]
        for name in names:
            delattr(self, name)
        rest = list(self._modules.values())
        self.__dict__["_modules"] = {str(i): module for i, module in enumerate(rest)}

    def __len__(self) -> int:
        """How many modules there are."""
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        """The modules in order."""
        return iter(self._modules.values())  # type: ignore[arg-type]

    def __add__(self, other: Any) -> Sequential:
        """A new Sequential of both's modules."""
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Sequential:
        """This one, with the other's modules at its end."""
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return self.extend(other)

    def __mul__(self, other: int) -> Sequential:
        """A new Sequential that repeats these very modules."""
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")
        return Sequential(*(module for _ in range(other) for module in self))

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Sequential:
        """This one, with its own modules repeated."""
        return self.extend(list(self) * (len(self * other) // max(len(self), 1) - 1))

    def append(self, module: Module) -> Sequential:
        """This one, with `module` at its end."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Module) -> Sequential:
        """This one, with `module` before the place `index`."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        modules: list[Module | None] = list(self._modules.values())
        modules.insert(index if index >= 0 else index + len(self), module)
        self.__dict__["_modules"] = {str(i): m for i, m in enumerate(modules)}
        return self

    def extend(self, sequential: Iterable[Module]) -> Sequential:
        """This one, with the given modules at its end."""
        for module in list(sequential):
            self.append(module)
        return self

    def pop(self, key: int | slice) -> Module:
        """The module at `key`, which is not part of this one any more."""
        module = self[key]
        del self[key]
        return module

    def forward(self, input: Any) -> Any:
        """The last module's result."""
        for module in self:
            input = module(input)
        return input


class ModuleList(Module):
    """A list of modules whose parameters are found.

    Args:
        modules: The first modules.

    Example:
        >>> from pyburn import nn
        >>> layers = nn.ModuleList([nn.ReLU() for _ in range(3)])
        >>> layers
        ModuleList(
          (0-2): 3 x ReLU()
        )
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self += modules

    @overload
    def __getitem__(self, idx: slice) -> ModuleList: ...

    @overload
    def __getitem__(self, idx: int) -> Module: ...

    def __getitem__(self, idx: slice | int) -> Any:
        """The module at a place, or a ModuleList of the same modules for a slice."""
        if isinstance(idx, slice):
            return type(self)(list(self._modules.values())[idx])  # type: ignore[arg-type]
        return self._modules[str(_position(idx, len(self)))]

    def __setitem__(self, idx: int, module: Module) -> None:
        """Nothing; the module at that place is another one."""
        setattr(self, str(_position(idx, len(self))), module)

    def __delitem__(self, idx: slice | int) -> None:
        """Nothing; the module is gone and the later ones move up."""
        modules = list(self._modules.values())
        del modules[idx if isinstance(idx, slice) else _position(idx, len(self))]
        self._put(modules)

    def _put(self, modules: list[Module | None]) -> None:
        self.__dict__["_modules"] = {str(i): module for i, module in enumerate(modules)}

    def __len__(self) -> int:
        """How many modules there are."""
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        """The modules in order."""
        return iter(self._modules.values())  # type: ignore[arg-type]

    def __iadd__(self, modules: Iterable[Module]) -> ModuleList:
        """This list, longer by `modules`."""
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        """A new list of both's modules."""
        return ModuleList([*self, *other])

    def insert(self, index: int, module: Module) -> None:
        """Nothing; `module` stands before the place `index`."""
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._put(modules)

    def append(self, module: Module) -> ModuleList:
        """This list, longer by `module`."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: int) -> Module:
        """The module at `key`, which is not part of the list any more."""
        module = self[key]
        del self[key]
        return module

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        """This list, longer by `modules`."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        for module in list(modules):
            self.append(module)
        return self

    def __repr__(self) -> str:
        """One line for each run of modules that print alike."""
        if not len(self):
            return self._get_name() + "()"
        runs: list[list[Any]] = []
        for i, text in enumerate(repr(module) for module in self):
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        lines = []
        for first, last, text in runs:
            label = f"({first}): " if first == last else f"({first}-{last}): {last - first + 1} x "
            lines.append(label + text.replace("\n", "\n  "))
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


class ModuleDict(Module):
    """A dict of modules whose parameters are found.

    Args:
        modules: The first names and modules.

    Example:
        >>> from pyburn import nn
        >>> heads = nn.ModuleDict({"digit": nn.Linear(4, 10), "letter": nn.Linear(4, 26)})
        >>> list(heads)
        ['digit', 'letter']
    """

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        """The module of that name."""
        return self._modules[key]  # type: ignore[return-value]

    def __setitem__(self, key: str, module: Module) -> None:
        """Nothing; `module` has that name."""
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        """Nothing; the module of that name is gone."""
        del self._modules[key]

    def __len__(self) -> int:
        """How many modules there are."""
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        """The names in order."""
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        """Whether there is a module of that name."""
        return key in self._modules

    def clear(self) -> None:
        """Nothing; the dict is empty."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """The module of that name, which is not part of the dict any more."""
        module = self[key]
        del self[key]
        return module

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._modules.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """The names and modules."""
        return self._modules.items()

    def values(self) -> Iterable[Any]:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Nothing; the given names have the given modules."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleDict.update should be called with an iterable of key/value pairs, "
                f"but got {type(modules).__name__}"
            )
        pairs = modules.items() if isinstance(modules, Mapping | ModuleDict) else modules
        for name, module in pairs:
            self[name] = module


def _as_parameter(value: Any) -> Any:
    """Tensors become parameters, anything else stays what it is."""
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _describe(value: Any, kind: Any) -> str:
    """One value's line: what it holds and its size; `kind` is its dtype or torch's older type name."""
    if not isinstance(value, Tensor):
        return f"Object of type: {type(value).__name__}"
    holder = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"{holder} containing: [{kind} of size {'x'.join(str(n) for n in value.shape)}]"


class ParameterList(Module):
    """A list of parameters that are found; tensors that are put in become parameters.

    Args:
        values: The first values.

    Example:
        >>> import pyburn
        >>> weights = pyburn.nn.ParameterList([pyburn.zeros(2) for _ in range(3)])
        >>> len(list(weights.parameters()))
        3
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    @overload
    def __getitem__(self, idx: int) -> Any: ...

    @overload
    def __getitem__(self, idx: slice) -> ParameterList: ...

    def __getitem__(self, idx: Any) -> Any:
        """The value at a place, or a ParameterList of the same values for a slice."""
        if isinstance(idx, slice):
            return type(self)(getattr(self, str(i)) for i in range(*idx.indices(len(self))))
        return getattr(self, str(_position(idx, len(self))))

    def __setitem__(self, idx: int, param: Any) -> None:
        """Nothing; the value at that place is another one."""
        setattr(self, str(_position(idx, len(self))), _as_parameter(param))

    def __len__(self) -> int:
        """How many values there are."""
        return self._size

    def __iter__(self) -> Iterator[Any]:
        """The values in order."""
        return iter([self[i] for i in range(len(self))])

    def __iadd__(self, parameters: Iterable[Any]) -> ParameterList:
        """This list, longer by `parameters`."""
        return self.extend(parameters)

    def append(self, value: Any) -> ParameterList:
        """This list, longer by `value`."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """This list, longer by `values`."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        """One line for each value."""
        lines = (f"  ({i}): {_describe(v, getattr(v, 'dtype', None))}" for i, v in enumerate(self))
        return "\n".join(lines)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Nothing; a list of parameters computes nothing."""
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dict of parameters that are found; tensors that are put in become parameters.

    Args:
        parameters: The first names and values.

    Example:
        >>> import pyburn
        >>> weights = pyburn.nn.ParameterDict({"left": pyburn.zeros(2), "right": pyburn.zeros(3)})
        >>> list(weights.state_dict())
        ['left', 'right']
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        """The value of that name."""
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        """Nothing; `value` has that name."""
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string "
                f"(type is '{type(key).__name__}')."
            )
        self._keys[key] = None
        setattr(self, key, _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        """Nothing; the value of that name is gone."""
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        """How many values there are."""
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        """The names in order."""
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        """The names, last first."""
        return reversed(list(self._keys))

    def __contains__(self, key: str) -> bool:
        """Whether there is a value of that name."""
        return key in self._keys

    def copy(self) -> ParameterDict:
        """A new dict of the same values."""
        return ParameterDict(OrderedDict((key, self[key]) for key in self._keys))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of that name, which is `default` if there was none."""
        if key not in self._keys:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Nothing; the dict is empty."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """The value of that name, which is not part of the dict any more."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """The last name and its value, which are not part of the dict any more."""
        key = list(self._keys)[-1]
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of that name, or `default`."""
        return self[key] if key in self._keys else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A new dict with `default` for each of `keys`."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """The names and values."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """The values."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Nothing; the given names have the given values."""
        if not isinstance(parameters, Iterable):
            raise TypeError(
                "ParametersDict.update should be called with an iterable of key/value pairs, "
                f"but got {type(parameters).__name__}"
            )
        pairs = parameters.items() if isinstance(parameters, Mapping | ParameterDict) else parameters
        for key, value in pairs:
            self[key] = value

    def extra_repr(self) -> str:
        """One line for each value."""
        lines = []
        for key, value in self.items():
            kind = value.type() if isinstance(value, Tensor) else None
            lines.append(f"  ({key}): {_describe(value, kind)}")
        return "\n".join(lines)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Nothing; a dict of parameters computes nothing."""
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: ParameterDict) -> ParameterDict:
        """A new dict of both's values; the other's win."""
        joined = self.copy()
        joined.update(other)
        return joined
