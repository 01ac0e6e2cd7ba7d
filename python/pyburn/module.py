"""The module of `Module` and what it owns, under burn's name for it."""

from pyburn.nn.module import Module
from pyburn.nn.parameter import Buffer, Parameter

__all__ = ["Buffer", "Module", "Parameter"]
