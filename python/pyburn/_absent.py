"""Parts of torch that pyburn has not: they can be imported and named, and raise when they are really used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

__all__ = ["absent_class", "absent_function", "refuse"]


def refuse(name: str, reason: str, instead: str) -> NoReturn:
    """Raises what every absent part raises: which it is, why it is absent, and what to do."""
    raise NotImplementedError(f"{name}: {reason}; {instead}.")


def absent_function(name: str, reason: str, instead: str) -> Callable[..., NoReturn]:
    """A function that raises when it is called."""

    def function(*args: Any, **kwargs: Any) -> NoReturn:
        refuse(name, reason, instead)

    function.__name__ = function.__qualname__ = name.rpartition(".")[2]
    function.__doc__ = f"Nothing: raises, since {reason}.\n\nRaises:\n    NotImplementedError: Always."
    return function


def absent_class(name: str, reason: str, instead: str) -> type:
    """A class of which there can be no instances; it may be a base and stand in `isinstance`."""

    def __init__(self: object, *args: Any, **kwargs: Any) -> None:
        refuse(name, reason, instead)

    text = f"A class without instances, since {reason}."
    return type(name.rpartition(".")[2], (), {"__init__": __init__, "__doc__": text, "__module__": f"pyburn.{name}"})
