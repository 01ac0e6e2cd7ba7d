"""Gradients written in Python for ops whose values come from native code outside the graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyburn import _core
from pyburn._core import Tensor

__all__ = ["Backward", "link", "link_constant", "precise"]

_FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed). Specify retain_graph=True if you need to backward through the graph a second time."
)


class Backward:
    """What a rule gets: the saved tensors, a gradient or None for each output, and which inputs want one."""

    __slots__ = ("grads", "needs", "saved")

    def __init__(self, saved: list[Tensor], grads: tuple[Tensor | None, ...], needs: list[bool]) -> None:
        self.saved = saved
        self.grads = grads
        self.needs = needs


Rule = Callable[[Backward], tuple[Tensor | None, ...]]


_WIDE = {_core.float32: _core.float64, _core.complex64: _core.complex128}
_NARROW = {wide: narrow for narrow, wide in _WIDE.items()}


def precise(rule: Rule) -> Rule:
    """`rule` in float64 where it is given float32 on the CPU: it divides by small differences."""

    def wide(tensor: Tensor) -> Tensor:
        return tensor.to(_WIDE.get(tensor.dtype, tensor.dtype))

    def wrapped(context: Backward) -> tuple[Tensor | None, ...]:
        first = context.saved[0]
        if first.dtype not in _WIDE or first.device.type != "cpu":
            return rule(context)
        saved = [wide(tensor) for tensor in context.saved]
        grads = tuple(None if grad is None else wide(grad) for grad in context.grads)
        results = rule(Backward(saved, grads, context.needs))
        return tuple(None if result is None else result.to(_NARROW[result.dtype]) for result in results)

    return wrapped


class _Entry:
    """The owner of a node of the graph: the engine calls `_run` and `_release`."""

    def __init__(self, name: str, rule: Rule, needs: list[bool]) -> None:
        self._name = name
        self._rule = rule
        self._needs = needs
        # Each saved tensor with its place among the outputs, or -1 for others.
        self._saved: list[tuple[_core._SavedTensor, int]] | None = []

    def _keep(self, saved: Sequence[Tensor], outputs: Sequence[Tensor]) -> None:
        places = [next((at for at, output in enumerate(outputs) if output is tensor), -1) for tensor in saved]
        # An output knows this object through its history: only its values may be kept here.
        self._saved = [
            (_core._SavedTensor(tensor if place < 0 else tensor.detach(), self._name), place)
            for tensor, place in zip(saved, places, strict=True)
        ]

    def _run(self, grads: tuple[Tensor | None, ...], node: _core.Node) -> tuple[Tensor | None, ...]:
        if self._saved is None:
            raise RuntimeError(_FREED)
        saved = []
        for kept, place in self._saved:
            tensor = kept.unpack()
            if place >= 0:
                tensor = tensor.detach()
                if _core.is_grad_enabled():
                    _core._set_history(tensor, node, place)
            saved.append(tensor)
        return self._rule(Backward(saved, grads, self._needs))

    def _release(self) -> None:
        self._saved = None


def link(name: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor], saved: Sequence[Tensor], rule: Rule) -> None:
    """Makes fresh `outputs` results of `inputs` in the graph, where that is recorded.

    Args:
        name: The node's name, as torch shows it.
        inputs: Tensors that may want a gradient.
        outputs: Float tensors outside the graph.
        saved: What the rule needs: inputs, outputs or others.
        rule: Returns a gradient or None for each input; written with recorded ops, so that it can be differentiated.
    """
    needs = [tensor.requires_grad for tensor in inputs]
    if not (_core.is_grad_enabled() and any(needs)):
        return
    entry = _Entry(name, rule, needs)
    _core._record_function(name, entry, list(inputs), list(outputs))
    entry._keep(saved, outputs)


def link_constant(name: str, inputs: Sequence[Tensor], output: Tensor) -> None:
    """Makes a fresh `output` a result of `inputs` that does not change with them."""

    def zeros(context: Backward) -> tuple[Tensor | None, ...]:
        return tuple(tensor.new_zeros(tensor.shape) for tensor in context.saved)

    link(name, inputs, [output], inputs, zeros)
