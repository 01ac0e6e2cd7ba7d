"""The names that torchvision gives to what a model computes, found by tracing it."""

from __future__ import annotations

import re
from typing import Any

from pyburn import nn
from pyburn.fx import Tracer
from pyburn.vision.models._blocks import MLP, Conv2dNormActivation, Permute, SqueezeExcitation, StochasticDepth

_WHOLE = (MLP, Conv2dNormActivation, Permute, SqueezeExcitation, StochasticDepth)


class Paths(Tracer):
    """A tracer that knows in which layer each node was made, and how often that name was used before."""

    def __init__(self) -> None:
        super().__init__()
        self.inside, self.names = "", list[str]()
        self.used: dict[str, int] = {}

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        """Whether nothing inside is of interest: as in torchvision, also blocks that several architectures share."""
        return isinstance(m, _WHOLE) or super().is_leaf_module(m, module_qualified_name)

    def call_module(self, m: nn.Module, forward: Any, args: Any, kwargs: Any) -> Any:
        """What the layer gives; a node if it is a leaf."""
        before = self.inside
        self.inside = self.path_of_module(m)
        try:
            if not self.is_leaf_module(m, self.inside):
                return forward(*args, **kwargs)
            return self.create_proxy("call_module", self.inside, args, kwargs)
        finally:
            self.inside = before

    def create_proxy(self, kind: str, *args: Any, **kwargs: Any) -> Any:
        """A proxy whose node has a name here."""
        proxy: Any = super().create_proxy(kind, *args, **kwargs)
        own = re.sub(r"_\d+$", "", str(proxy.node))
        name = self.inside if kind == "call_module" else f"{self.inside}.{own}" if self.inside else own
        name = re.sub(r"_\d+$", "", name)
        count = self.used[name] = self.used.get(name, -1) + 1
        self.names.append(f"{name}_{count}" if count else name)
        return proxy
