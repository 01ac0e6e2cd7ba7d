"""torch.fx.passes.shape_prop: the shapes of values in a graph, noted while it runs once."""

from __future__ import annotations

from typing import Any, NamedTuple

from pyburn._core import Tensor
from pyburn._formats import channels_last, channels_last_3d, contiguous_format, memory_format
from pyburn.fx.interpreter import Interpreter
from pyburn.fx.node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What is known of a tensor beside its values."""

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: memory_format | None
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: Tensor, include_contiguity: bool = True) -> TensorMetadata:
    """What is known of this tensor beside its values."""
    found = None
    if include_contiguity:
        formats = [contiguous_format]
        formats += [channels_last] if result.ndim == 4 else [channels_last_3d] if result.ndim == 5 else []
        found = next((each for each in formats if result.is_contiguous(memory_format=each)), None)
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, result.stride(), found, False, {})


class ShapeProp(Interpreter):
    """Runs a graph and notes the shape, dtype and layout of each value in ``node.meta["tensor_meta"]``.

    Example:
        >>> import pyburn
        >>> from pyburn.fx import symbolic_trace
        >>> traced = symbolic_trace(lambda x: x.reshape(-1))
        >>> _ = ShapeProp(traced).propagate(pyburn.ones(2, 3))
        >>> [tuple(node.meta["tensor_meta"].shape) for node in traced.graph.nodes]
        [(2, 3), (6,), (6,)]
    """

    def __init__(self, gm: Any, fake_mode: Any = None) -> None:
        super().__init__(gm)
        if fake_mode is not None:
            raise NotImplementedError("ShapeProp: there are no fake tensors; use those of the meta device.")
        self.fake_module = self.fake_mode = None
        self.real_module = self.module

    def run_node(self, n: Node) -> Any:
        """What the node gives, after it is noted."""
        try:
            result = super().run_node(n)
        except Exception as error:
            raise RuntimeError(f"ShapeProp error for: node={n.format_node()} with meta={n.meta}") from error
        tensors = 0

        def note(value: Any) -> Any:
            nonlocal tensors
            if not isinstance(value, Tensor):
                return value
            tensors += 1
            return _extract_tensor_metadata(value)

        meta = map_aggregate(result, note)
        if tensors:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """What the graph gives for these arguments."""
        return super().run(*args)
