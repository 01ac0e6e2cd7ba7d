"""Settings of a run: typed fields, written and read as JSON."""

from __future__ import annotations

import dataclasses
import difflib
import enum
import json
import os
import pathlib
import types
from collections.abc import Callable, Mapping
from typing import Any, Literal, Self, Union, dataclass_transform, get_args, get_origin, get_type_hints

from pyburn._files import replacing

__all__ = ["Config", "Given", "as_config"]


@dataclass_transform()
@dataclasses.dataclass
class Config:
    """The base of a run's settings: a subclass names its fields, and is a dataclass by that.

    Example:
        >>> class Training(Config):
        ...     lr: float = 1e-3
        ...     layers: list[int] = dataclasses.field(default_factory=lambda: [64, 64])
        >>> Training(lr=0.1)
        Training(lr=0.1, layers=[64, 64])
        >>> Training.from_dict({"lr": "fast"})
        Traceback (most recent call last):
            ...
        TypeError: Training: lr is 'fast', but must be float
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        dataclasses.dataclass(cls)

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values that JSON can hold; those that others determine (`init=False`) are left out."""
        return {field.name: _plain(getattr(self, field.name)) for field in dataclasses.fields(self) if field.init}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Settings with these values; the fields that `values` leaves out have their defaults."""
        made: Self = _object(cls, values, cls.__name__)
        return made

    def save(self, path: str | os.PathLike[str]) -> None:
        """Nothing; the file at `path` holds the settings as JSON."""
        with replacing(path) as file:
            file.write((json.dumps(self.to_dict(), indent=2) + "\n").encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The settings that `save` wrote, checked field by field."""
        try:
            values = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{cls.__name__}.load: {os.fspath(path)} is not JSON: {error}") from None
        return cls.from_dict(values)

    def __str__(self) -> str:
        return _listed(type(self).__name__, self.to_dict())


class Given(Config):
    """Settings of a run that are no `Config`: of a dictionary, of any dataclass, or of argparse.

    Example:
        >>> print(Given({"lr": 0.1, "name": "first"}))
        settings
          lr    0.1
          name  'first'
    """

    values: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain values that JSON can hold; what it has no place for is there as text."""
        return {str(name): _plain_or_text(value) for name, value in self.values.items()}

    def __str__(self) -> str:
        return _listed("settings", self.to_dict())


def as_config(given: Any) -> Config | None:
    """The settings of a run, whatever they were written as.

    Raises:
        TypeError: They have no names and values.
    """
    if given is None or isinstance(given, Config):
        return given
    if isinstance(given, Mapping):
        return Given(dict(given))
    if isinstance(given, type) or not hasattr(given, "__dict__"):
        raise TypeError(f"Learner: config is {given!r}; give a Config, a dictionary, or an object such as Settings()")
    return Given(dict(vars(given)))


def _plain_or_text(value: Any) -> Any:
    try:
        return _plain(value)
    except TypeError:
        return str(value)


def _listed(title: str, values: Mapping[str, Any]) -> str:
    width = max(map(len, values), default=0)
    return "\n".join([title, *(f"  {name:<{width}}  {value!r}" for name, value in values.items())])


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value) if field.init}
    if isinstance(value, dict):
        return {_plain_key(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        return value.item()  # one of its numbers
    raise TypeError(f"Config: {value!r} of type {type(value).__name__} has no place in JSON; keep its name or number")


def _plain_key(key: Any) -> str:
    return key.name if isinstance(key, enum.Enum) else str(key)


def _object(kind: Any, values: Any, path: str) -> Any:
    if not isinstance(values, dict):
        raise TypeError(f"{path} is {values!r}, but must be an object with the fields of {kind.__name__}")
    hints = get_type_hints(kind)
    names = [field.name for field in dataclasses.fields(kind) if field.init]
    for name in values:
        if name not in names:
            close = difflib.get_close_matches(str(name), names, 1)
            hint = f"; did you mean {close[0]!r}?" if close else f"; its fields are {', '.join(names)}"
            raise ValueError(f"{path} has no field {name!r}{hint}")
    missing = [field.name for field in dataclasses.fields(kind) if _required(field) and field.name not in values]
    if missing:
        raise ValueError(f"{path} needs a value for {', '.join(missing)}")
    return kind(**{name: _read(value, hints[name], f"{path}: {name}") for name, value in values.items()})


def _required(field: dataclasses.Field[Any]) -> bool:
    absent = dataclasses.MISSING
    return field.init and field.default is absent and field.default_factory is absent


def _read(value: Any, hint: Any, path: str) -> Any:
    """`value` as the type `hint`, or an error that says where it stands."""
    if hint is Any:
        return value
    origin = get_origin(hint)
    if origin in _COMPOSITE:
        return _COMPOSITE[origin](value, get_args(hint), hint, path)
    if dataclasses.is_dataclass(hint):
        return _object(hint, value, path)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        if value in hint.__members__:
            return hint[value]
        raise ValueError(f"{path} is {value!r}, but must be one of {', '.join(hint.__members__)}")
    if isinstance(hint, type) and issubclass(hint, pathlib.PurePath) and isinstance(value, str):
        return hint(value)
    if hint in (list, tuple, dict, set, frozenset):
        return hint(value) if isinstance(value, (list, dict)) else _refuse(value, hint, path)
    return _scalar(value, hint, path)


def _scalar(value: Any, hint: Any, path: str) -> Any:
    if hint is None or hint is type(None):
        return None if value is None else _refuse(value, hint, path)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    # A bool is an int to Python, but not to whoever wrote the field's type.
    if isinstance(value, hint) and not (isinstance(value, bool) and hint is not bool):
        return value
    return _refuse(value, hint, path)


def _refuse(value: Any, hint: Any, path: str) -> Any:
    raise TypeError(f"{path} is {value!r}, but must be {getattr(hint, '__name__', hint)}")


def _union(value: Any, choices: tuple[Any, ...], hint: Any, path: str) -> Any:
    for choice in choices:
        try:
            return _read(value, choice, path)
        except (TypeError, ValueError):
            continue
    return _refuse(value, hint, path)


def _literal(value: Any, choices: tuple[Any, ...], hint: Any, path: str) -> Any:
    if value in choices:
        return value
    raise ValueError(f"{path} is {value!r}, but must be one of {', '.join(map(repr, choices))}")


def _sequence(value: Any, items: tuple[Any, ...], hint: Any, path: str) -> Any:
    if not isinstance(value, list):
        return _refuse(value, hint, path)
    kind = get_origin(hint)
    if kind is tuple and not (len(items) == 2 and items[1] is Ellipsis):
        if len(items) != len(value):
            raise TypeError(f"{path} is {value!r}, but must have {len(items)} values")
        return tuple(_read(item, each, f"{path}[{i}]") for i, (item, each) in enumerate(zip(value, items, strict=True)))
    return kind(_read(item, items[0], f"{path}[{i}]") for i, item in enumerate(value))


def _mapping(value: Any, items: tuple[Any, ...], hint: Any, path: str) -> Any:
    if not isinstance(value, dict):
        return _refuse(value, hint, path)
    return {_key(key, items[0], path): _read(item, items[1], f"{path}[{key!r}]") for key, item in value.items()}


def _key(key: str, hint: Any, path: str) -> Any:
    """A key as the type `hint`: in JSON all keys are texts."""
    if hint in (int, float):
        try:
            return hint(key)
        except ValueError:
            _refuse(key, hint, f"{path}: the key")
    return key if hint is str or hint is Any else _read(key, hint, f"{path}: the key")


_COMPOSITE: dict[Any, Callable[[Any, tuple[Any, ...], Any, str], Any]] = {
    Union: _union,
    types.UnionType: _union,
    Literal: _literal,
    list: _sequence,
    tuple: _sequence,
    set: _sequence,
    frozenset: _sequence,
    dict: _mapping,
}
