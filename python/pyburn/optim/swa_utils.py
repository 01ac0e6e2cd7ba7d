"""torch.optim.swa_utils: averages of a model's weights over its training."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import Any

from pyburn._core import Tensor, int64
from pyburn.autograd import no_grad
from pyburn.nn.batchnorm import _BatchNorm
from pyburn.nn.module import Module
from pyburn.ops import tensor
from pyburn.optim.lr_scheduler.base import LRScheduler, per_group
from pyburn.optim.optimizer import Optimizer

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

Average = Callable[[Tensor, Tensor, Any], Tensor]
MultiAverage = Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]


def _check_decay(decay: float) -> None:
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def get_ema_multi_avg_fn(decay: float = 0.999) -> MultiAverage:
    """A function for `AveragedModel` that keeps `decay` of the average at each update.

    Example:
        >>> import pyburn
        >>> average = [pyburn.zeros(1)]
        >>> pyburn.optim.swa_utils.get_ema_multi_avg_fn(0.9)(average, [pyburn.ones(1)], 1); average
        [tensor([0.1000])]
    """
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param_list: Sequence[Tensor], current_param_list: Sequence[Tensor], _: Any) -> None:
        for average, current in zip(ema_param_list, current_param_list, strict=True):
            if average.is_floating_point() or average.is_complex():
                average.lerp_(current, 1 - decay)
            else:
                average.copy_(average * decay + current * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> MultiAverage:
    """A function for `AveragedModel` that gives every update the same weight.

    Example:
        >>> import pyburn
        >>> average = [pyburn.zeros(1)]
        >>> pyburn.optim.swa_utils.get_swa_multi_avg_fn()(average, [pyburn.ones(1)], 1); average
        [tensor([0.5000])]
    """

    @no_grad()
    def swa_update(
        averaged_param_list: Sequence[Tensor], current_param_list: Sequence[Tensor], num_averaged: Any
    ) -> None:
        part = 1 / (float(num_averaged) + 1)
        for average, current in zip(averaged_param_list, current_param_list, strict=True):
            if average.is_floating_point() or average.is_complex():
                average.lerp_(current, part)
            else:
                average.copy_(average + (current - average) * part)

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """As `get_ema_multi_avg_fn`, for one tensor at a time.

    Example:
        >>> import pyburn
        >>> pyburn.optim.swa_utils.get_ema_avg_fn(0.75)(pyburn.zeros(1), pyburn.ones(1), 1)
        tensor([0.2500])
    """
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Average:
    """As `get_swa_multi_avg_fn`, for one tensor at a time.

    Example:
        >>> import pyburn
        >>> pyburn.optim.swa_utils.get_swa_avg_fn()(pyburn.zeros(1), pyburn.ones(1), 3)
        tensor([0.2500])
    """

    @no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return averaged_param + (current_param - averaged_param) / (float(num_averaged) + 1)

    return swa_update


class AveragedModel(Module):
    """A copy of a model that holds the average of the weights it was updated with.

    Args:
        model: The model that is trained.
        device: Where the average is kept; the model's device when left out.
        avg_fn: Gives the new average of one tensor from the old one, the model's and the number of updates.
        multi_avg_fn: The same for lists of tensors, in place.
        use_buffers: Whether buffers are averaged too; else they are copied.

    Example:
        >>> import pyburn
        >>> model = pyburn.nn.Linear(1, 1, bias=False)
        >>> average = pyburn.optim.swa_utils.AveragedModel(model)
        >>> for value in (1.0, 2.0):
        ...     _ = model.weight.data.fill_(value)
        ...     average.update_parameters(model)
        >>> average(pyburn.ones(1)).item()
        1.5
    """

    n_averaged: Tensor
    module: Module

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Average | None = None,
        multi_avg_fn: MultiAverage | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the averaged model gives."""
        return self.module(*args, **kwargs)

    @no_grad()
    def update_parameters(self, model: Module) -> None:
        """Nothing; the weights of `model` are part of the average."""
        mine, theirs = self._averaged(self.module), self._averaged(model)
        theirs = [value.to(average.device) for average, value in zip(mine, theirs, strict=True)]
        if self.n_averaged.item() == 0:
            for average, value in zip(mine, theirs, strict=True):
                average.copy_(value)
        elif self.avg_fn is not None:
            for average, value in zip(mine, theirs, strict=True):
                average.copy_(self.avg_fn(average, value, self.n_averaged.to(average.device)))
        else:
            (self.multi_avg_fn or get_swa_multi_avg_fn())(mine, theirs, self.n_averaged)
        if not self.use_buffers:
            for kept, buffer in zip(self.module.buffers(), model.buffers(), strict=True):
                kept.copy_(buffer.to(kept.device))
        self.n_averaged.add_(1)

    def _averaged(self, model: Module) -> list[Tensor]:
        buffers = model.buffers() if self.use_buffers else ()
        return [value.detach() for value in itertools.chain(model.parameters(), buffers)]


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Nothing; the running statistics of the model's batch norms are those of the loader's batches.

    Args:
        loader: Batches: tensors, or lists whose first item is what the model takes.
        model: The model.
        device: Where the batches are moved to.

    Example:
        >>> import pyburn
        >>> model = pyburn.nn.BatchNorm1d(1)
        >>> pyburn.optim.swa_utils.update_bn([pyburn.tensor([[1.0], [3.0]])], model); model.running_mean
        tensor([2.])
    """
    momenta: dict[_BatchNorm, Any] = {}
    for module in model.modules():
        if isinstance(module, _BatchNorm):
            module.reset_running_stats()
            momenta[module] = module.momentum
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.momentum = None
    for batch in loader:
        inputs = batch[0] if isinstance(batch, list | tuple) else batch
        model(inputs if device is None else inputs.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """The rate goes to `swa_lr` within some epochs and stays there.

    Args:
        optimizer: Whose rates are set.
        swa_lr: The rate at the end, or one for each group.
        anneal_epochs: In how many epochs it gets there.
        anneal_strategy: "cos" or "linear".
        last_epoch: The number of the step before the next one; -1 to begin.

    Example:
        >>> import pyburn
        >>> optimizer = pyburn.optim.SGD([pyburn.zeros(1, requires_grad=True)], lr=1.0)
        >>> schedule = pyburn.optim.swa_utils.SWALR(optimizer, 0.5, anneal_epochs=2, anneal_strategy="linear")
        >>> optimizer.step(); schedule.step(); schedule.get_last_lr()
        [0.75]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for group, rate in zip(optimizer.param_groups, per_group("swa_lr", optimizer, swa_lr), strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _part(self, step: int) -> float:
        """How much of the way is behind after `step` steps."""
        t = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def get_lr(self) -> list[float]:
        """The rates of this step."""
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._part(step - 1), self._part(step)
        rates = []
        for group in self.optimizer.param_groups:
            end = group["swa_lr"]
            start = end if before == 1 else (group["lr"] - before * end) / (1 - before)
            rates.append(end * now + start * (1 - now))
        return rates
