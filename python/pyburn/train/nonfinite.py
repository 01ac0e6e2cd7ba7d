"""Where a loss that is no number came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyburn import nn
from pyburn._core import Tensor
from pyburn.autograd import no_grad
from pyburn.ops import get_rng_state, isfinite, set_rng_state
from pyburn.train import batches
from pyburn.train.metrics import Batch
from pyburn.utils._pytree import tree_leaves

if TYPE_CHECKING:
    from pyburn.train.learner import Learner

__all__ = ["NonFiniteLoss", "explain"]


class NonFiniteLoss(ArithmeticError):
    """The loss of a batch is NaN or infinite; the text says where it began."""


def explain(learner: Learner, batch: Batch) -> str:
    """The epoch, the batch, and the first layer that made a number which is not finite."""
    loss = float("nan") if batch.loss is None else float(batch.loss.detach())
    where = f"the loss is {loss} in epoch {batch.epoch}, batch {batch.index + 1}"
    return f"{where}: {_cause(learner.model, learner.data, batch)}; the weights are those before this batch"


def _cause(model: nn.Module, data: Any, batch: Batch) -> str:
    if not _finite(data):
        return "the data itself holds NaN or inf; clean it or skip such batches"
    for name, weight in model.named_parameters():
        if not _finite(weight):
            return f"the weight {name} holds NaN or inf; lower the learning rate or clip the gradients"
    layer = _first_layer(model, batch.input)
    if layer is not None:
        return f"the first layer whose output is not finite is {layer}; lower the learning rate or check its input"
    return "every layer's output is finite, so that the loss function made it; check its input range (log of 0?)"


def _first_layer(model: nn.Module, inputs: Any) -> str | None:
    """The first layer, in the order of the calls, that makes NaN or inf of finite inputs."""
    found: list[str] = []

    def watch(name: str) -> Any:
        def hook(module: nn.Module, given: Any, made: Any) -> None:
            if not found and _finite(given) and not _finite(made):
                found.append(f"{name or 'the model'} ({type(module).__name__})")

        return hook

    handles = [module.register_forward_hook(watch(name)) for name, module in model.named_modules()]
    state = get_rng_state()
    try:
        with no_grad():
            batches.call(model, inputs)
    except Exception:  # the diagnosis must not hide what it explains
        return None
    finally:
        set_rng_state(state)
        for handle in handles:
            handle.remove()
    return found[0] if found else None


def _finite(value: Any) -> bool:
    tensors = [leaf for leaf in tree_leaves(value) if isinstance(leaf, Tensor) and leaf.is_floating_point()]
    return all(bool(isfinite(tensor).all()) for tensor in tensors)
