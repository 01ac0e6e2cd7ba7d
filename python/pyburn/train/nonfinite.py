"""Where a loss that is no number came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyburn import nn
from pyburn._core import Tensor, float16
from pyburn.autograd import no_grad
from pyburn.ops import get_rng_state, isfinite, set_rng_state
from pyburn.train import batches, building
from pyburn.train.logged import Logged
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
    return f"{where}: {_cause(learner, batch)}; the weights are those before this batch"


def _cause(learner: Learner, batch: Batch) -> str:
    if not _finite(learner.data):
        return "the data itself holds NaN or inf; clean it or skip such batches"
    for name, weight in learner.model.named_parameters():
        if not _finite(weight):
            return f"the weight {name} holds NaN or inf; lower the learning rate or clip the gradients"
    made, received, whole = _layers(learner, batch)
    if made:
        advice = "lower the learning rate or check its input"
        if learner.gradients.dtype is float16:
            advice = "numbers above 65504 are inf in float16: try precision='bfloat16', or check its input"
        return f"the first layer whose output is not finite is {made[0]}; {advice}"
    if received:
        return f"what comes into {received[0]} is not finite: a function between the layers made it (log of 0?)"
    if not whole:
        return "the model could not be asked a second time which layer it was"
    cause = "every layer's output is finite, so that the loss function made it"
    return f"{cause}; lower the learning rate, or check its input range (log of 0?)"


def _layers(learner: Learner, batch: Batch) -> tuple[list[str], list[str], bool]:
    """The layers that make NaN or inf of finite inputs and those that receive it, in the order of the calls.

    The batch is computed once more as the Learner computes it: by the model's own step, in the run's precision. The
    last value says whether that went to its end.
    """
    model, making, receiving = learner.model, list[str](), list[str]()

    def watch(name: str) -> Any:
        def hook(module: nn.Module, given: Any, made: Any) -> None:
            found = receiving if not _finite(given) else making if not _finite(made) else []
            found.append(f"{name or 'the model'} ({type(module).__name__})")

        return hook

    handles = [module.register_forward_hook(watch(name)) for name, module in model.named_modules()]
    state = get_rng_state()
    try:
        with no_grad(), learner.gradients.context(learner.device):
            step = building.own_step(model, "train")
            if step is None:
                batches.call(model, batch.input)
            else:
                with Logged().given_to(model, batch.size):
                    step(learner.data, batch.index)
    except Exception:  # the diagnosis must not hide what it explains
        return making, receiving, False
    finally:
        set_rng_state(state)
        for handle in handles:
            handle.remove()
    return making, receiving, True


def _finite(value: Any) -> bool:
    tensors = [leaf for leaf in tree_leaves(value) if isinstance(leaf, Tensor) and leaf.is_floating_point()]
    return all(bool(isfinite(tensor).all()) for tensor in tensors)
