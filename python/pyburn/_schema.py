"""What an operator takes, as its schema says: ``name(Tensor x, int k=3, *, float p=0.5) -> Tensor``."""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pyburn._core import Tensor, device, dtype

__all__ = ["Argument", "Schema", "infer_schema"]

_HEAD = re.compile(
    r"^\s*(?:(?P<space>\w+)::)?(?P<name>\w+)(?:\.(?P<overload>\w+))?\s*\((?P<arguments>.*)\)\s*->\s*(?P<returns>.+)$",
    re.S,
)
_MISSING = object()


@dataclass
class Argument:
    """One argument: its name, its type as text, its default, and whether it is given by name only."""

    name: str
    type: str
    default_value: Any = _MISSING
    kwarg_only: bool = False

    @property
    def is_required(self) -> bool:
        """Whether a call must give it."""
        return self.default_value is _MISSING

    @property
    def is_write(self) -> bool:
        """Whether the operator writes to it."""
        return "!" in self.type


@dataclass
class Schema:
    """An operator's name and arguments; `str` gives back its text."""

    name: str
    overload_name: str
    arguments: list[Argument]
    text: str

    @classmethod
    def parse(cls, text: str) -> Schema:
        """The schema of a text.

        Example:
            >>> [argument.name for argument in Schema.parse("f(Tensor x, int k=3) -> Tensor").arguments]
            ['x', 'k']

        Raises:
            RuntimeError: If the text is no schema.
        """
        match = _HEAD.match(text)
        if match is None:
            raise RuntimeError(f"library: '{text}' is no schema; write it as name(Tensor x, int k=3) -> Tensor")
        return cls(match["name"], match["overload"] or "", list(_arguments(match["arguments"])), text.strip())

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """All positional arguments in their order, with defaults, and those that go by name.

        Raises:
            RuntimeError: If an argument is missing, unknown or given twice.
        """
        positional = [argument for argument in self.arguments if not argument.kwarg_only]
        by_name = [argument for argument in self.arguments if argument.kwarg_only]
        if len(args) > len(positional):
            raise RuntimeError(
                f"{self.name}() expected at most {len(positional)} argument(s) but received {len(args)} argument(s). "
                f"Schema: {self.text}"
            )
        given = dict(zip((argument.name for argument in positional), args))
        for key, value in kwargs.items():
            if key in given or key not in {argument.name for argument in self.arguments}:
                raise RuntimeError(f"Unknown keyword argument '{key}' for operator '{self.name}'. Schema: {self.text}")
            given[key] = value
        values = {argument.name: self._value(argument, given) for argument in self.arguments}
        return tuple(values[a.name] for a in positional), {a.name: values[a.name] for a in by_name}

    def _value(self, argument: Argument, given: dict[str, Any]) -> Any:
        if argument.name in given:
            return given[argument.name]
        if argument.is_required:
            raise RuntimeError(f"{self.name}() is missing value for argument '{argument.name}'. Schema: {self.text}")
        return argument.default_value

    def takes(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether a call with these arguments fits."""
        try:
            self.bind(args, kwargs)
        except RuntimeError:
            return False
        return True

    def __str__(self) -> str:
        return self.text


def _arguments(text: str) -> Iterable[Argument]:
    by_name = False
    for part in _split(text):
        if part == "*":
            by_name = True
            continue
        declared, _, default = part.partition("=")
        kind, _, name = declared.strip().rpartition(" ")
        yield Argument(name, kind, _literal(default.strip(), kind) if default else _MISSING, by_name)


def _split(text: str) -> list[str]:
    """The parts between commas that stand in no brackets."""
    parts, depth, start = [], 0, 0
    for position, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    return [part.strip() for part in [*parts, text[start:]] if part.strip()]


def _literal(text: str, kind: str) -> Any:
    if text in ("None", "True", "False"):
        return {"None": None, "True": True, "False": False}[text]
    if text[:1] in "'\"":
        return text[1:-1]
    if text.startswith("["):
        return [_literal(item, kind) for item in _split(text[1:-1])]
    try:
        return float(text) if kind.startswith("float") else int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return text


_NAMES: dict[Any, str] = {Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str"}
_NAMES |= {dtype: "ScalarType", device: "Device", complex: "Scalar", type(None): "()"}


def infer_schema(
    prototype_function: Callable[..., Any], /, *, mutates_args: Any = (), op_name: str | None = None
) -> str:
    """The schema of a function with annotations.

    Example:
        >>> def scaled(x: Tensor, by: float = 2.0) -> Tensor: ...
        >>> infer_schema(scaled)
        '(Tensor x, float by=2.0) -> Tensor'

    Raises:
        ValueError: If an argument has no annotation, or one that operators cannot take.
    """
    hints = typing.get_type_hints(prototype_function)
    parts: list[str] = []
    for name, parameter in inspect.signature(prototype_function).parameters.items():
        if name not in hints:
            raise ValueError(f"infer_schema(func): Parameter {name} must have a type annotation.")
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        kind = _kind(hints[name])
        if mutates_args == "unknown" or name in mutates_args:
            kind = kind.replace("Tensor", f"Tensor(a{len(parts)}!)", 1)
        default = parameter.default
        shown = "" if default is inspect.Parameter.empty else f"={default!r}".replace("'", '"')
        parts.append(f"{kind} {name}{shown}")
    returns = hints.get("return", type(None))
    results = typing.get_args(returns) if typing.get_origin(returns) is tuple else ()
    shown = f"({', '.join(_kind(result) for result in results)})" if results else _kind(returns)
    return f"{op_name or ''}({', '.join(parts)}) -> {shown}"


def _kind(annotation: Any) -> str:
    if annotation in _NAMES:
        return _NAMES[annotation]
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        rest = [argument for argument in arguments if argument is not type(None)]
        if set(rest) <= {int, float, bool, complex} and len(rest) > 1:
            return "Scalar" + ("?" if len(rest) < len(arguments) else "")
        if len(rest) == 1:
            return f"{_kind(rest[0])}?"
    elif origin is not None and arguments:
        return f"{_kind(arguments[0])}[]"
    raise ValueError(
        f"infer_schema(func): unsupported type annotation {annotation}; operators take tensors, numbers, "
        "text, devices, dtypes, and sequences of these."
    )
