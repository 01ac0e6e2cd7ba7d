"""What a call of a layer passes on to the layers inside it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any


class _Context(threading.local):
    """The present call: whether it trains, and where new weights go."""

    def __init__(self) -> None:
        self.training: bool | None = None
        self.device: Any = None
        self.losses: list[Any] | None = None
        self.scopes: list[Any] = []
        self.probing = False


CONTEXT = _Context()


@contextlib.contextmanager
def calling(training: bool) -> Iterator[None]:
    """Layers called inside train, or do not, unless they are told otherwise."""
    before, CONTEXT.training = CONTEXT.training, training
    try:
        yield
    finally:
        CONTEXT.training = before


@contextlib.contextmanager
def probing() -> Iterator[None]:
    """Layers called inside are given stand-ins, whose values mean nothing."""
    before, CONTEXT.probing = CONTEXT.probing, True
    try:
        yield
    finally:
        CONTEXT.probing = before


@contextlib.contextmanager
def scoped(layer: Any) -> Iterator[None]:
    """Weights made inside have the layer's name in their path."""
    CONTEXT.scopes.append(layer)
    try:
        yield
    finally:
        CONTEXT.scopes.pop()


def path_of(layer: Any, name: str) -> str:
    """The path of a weight that `layer` makes now."""
    around = [*CONTEXT.scopes, layer]
    parts = [each.name for place, each in enumerate(around) if not place or around[place - 1] is not each]
    return "/".join([*parts, name])


@contextlib.contextmanager
def placed(device: Any) -> Iterator[None]:
    """Weights made inside are put on `device`; None changes nothing."""
    before = CONTEXT.device
    CONTEXT.device = device if device is not None else before
    try:
        yield
    finally:
        CONTEXT.device = before


@contextlib.contextmanager
def collecting() -> Iterator[list[Any]]:
    """The losses that layers add while the block runs."""
    before, CONTEXT.losses = CONTEXT.losses, []
    try:
        yield CONTEXT.losses
    finally:
        CONTEXT.losses = before
