"""The shape of what a layer would give, found by letting it run on stand-ins."""

from __future__ import annotations

import contextlib
from typing import Any

from pyburn import func, ops
from pyburn._core import Tensor
from pyburn.autograd import no_grad
from pyburn.keras import config as settings
from pyburn.keras._context import CONTEXT, calling, placed, probing
from pyburn.keras.symbolic import KerasTensor, flatten, map_structure

# Two sizes for each unknown one: where the results differ, the size is unknown there too. Sizes of images and sequences
# must be larger than usual kernels.
_FIRST, _OTHERS = (2, 3), (83, 89)


def probe(layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Symbolic tensors in the shapes of what `layer` gives for symbolic arguments."""
    unknown = any(None in leaf.shape for leaf in flatten((args, kwargs)) if isinstance(leaf, KerasTensor))
    kept = [(module, list(module._losses)) for module in layer.modules() if hasattr(module, "_losses")]
    first = _run(layer, args, kwargs, 0)
    second = _run(layer, args, kwargs, 1) if unknown else first
    for module, losses in kept:
        module._losses = losses
    others = iter(flatten(second))
    return map_structure(lambda tensor: _merged(tensor, next(others)), first)


def _merged(one: Any, two: Any) -> Any:
    if not isinstance(one, Tensor):
        return one
    shape = [a if a == b else None for a, b in zip(one.shape, two.shape, strict=True)]
    return KerasTensor(shape, one.dtype)


def _run(layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any], which: int) -> Any:
    """What the layer gives for tensors without values, or, where it needs some, for zeros."""
    with no_grad(), calling(False), probing():
        # A layer that makes weights when it is first called needs a real call.
        if all(getattr(module, "built", True) for module in layer.modules()):
            with contextlib.suppress(Exception), placed("meta"):
                stand_ins = _filled((args, kwargs), which, "meta")
                weights = {name: value.to("meta") for name, value in layer.state_dict(keep_vars=True).items()}
                return _order_of_dicts(func.functional_call(layer, weights, stand_ins[0], stand_ins[1]))
        device = next((weight.device for weight in layer.parameters()), CONTEXT.device)
        real = _filled((args, kwargs), which, device)
        return _order_of_dicts(layer(*real[0], **real[1]))


def _order_of_dicts(tree: Any) -> Any:
    return {key: tree[key] for key in sorted(tree, key=str)} if isinstance(tree, dict) else tree


def _filled(tree: Any, which: int, device: Any) -> Any:
    def fill(leaf: Any) -> Any:
        if not isinstance(leaf, KerasTensor):
            return leaf.to(device) if isinstance(leaf, Tensor) and device is not None else leaf
        shape = [
            size if size is not None else (_OTHERS if place else _FIRST)[which] for place, size in enumerate(leaf.shape)
        ]
        return ops.zeros(shape, dtype=settings.as_dtype(leaf.dtype), device=device)

    return map_structure(fill, tree)
