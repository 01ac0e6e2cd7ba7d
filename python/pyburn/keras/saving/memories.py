"""What optimizers remember, in the order of Keras's own files: steps, rate, then what each weight has."""

from __future__ import annotations

from typing import Any

from pyburn import ops
from pyburn._core import Tensor
from pyburn.autograd import no_grad

__all__ = ["put", "taken"]

# For each optimizer, our names of what it keeps of a weight, in Keras's order: a group goes weight by weight.
_Groups = tuple[tuple[str, ...], ...]
_ADAM: _Groups = (("exp_avg", "exp_avg_sq"),)
_TABLE: dict[str, _Groups] = {
    "SGD": (("momentum_buffer",),),
    "Adam": _ADAM,
    "AdamW": _ADAM,
    "RMSprop": (("velocity",),),
    "Adagrad": (("accumulator",),),
    "Adadelta": (("accumulated_grad", "accumulated_delta"),),
    "Adamax": (("m", "u"),),
    "Nadam": (("m", "v"),),
    "Lion": (("m",),),
    "Lamb": (("m", "v"),),
    "Ftrl": (("accumulator", "linear"),),
}


def _groups(optimizer: Any) -> _Groups | None:
    """What the optimizer keeps of weights; None where Keras's files keep it in another way."""
    kind = type(optimizer)
    groups = _TABLE.get(kind.__name__) if kind.__module__.startswith("pyburn.keras") else None
    if groups is None or optimizer.use_ema or optimizer.gradient_accumulation_steps:
        return None
    if kind.__name__ == "SGD":
        return groups if optimizer.momentum else ()
    if kind.__name__ in ("Adam", "AdamW") and optimizer.amsgrad:
        return (*groups, ("max_exp_avg_sq",))
    if kind.__name__ == "RMSprop":
        more = (("momentum", optimizer.momentum > 0), ("average_gradient", optimizer.centered))
        return (*groups, *((name,) for name, there in more if there))
    return groups


def _places(groups: _Groups, weights: list[Any]) -> list[tuple[Any, str]]:
    """The weight and the name of each array in the file."""
    return [(weight, name) for group in groups for weight in weights for name in group]


def taken(optimizer: Any, weights: list[Any]) -> list[Any] | None:
    """The arrays of Keras's file; None where this optimizer has other ones."""
    groups = _groups(optimizer)
    if groups is None:
        return None
    arrays = [ops.tensor(int(optimizer.iterations)).numpy()]
    if optimizer._schedule is None:
        arrays.append(ops.tensor(float(optimizer.learning_rate)).numpy())
    for weight, name in _places(groups, weights):
        value = optimizer.state.get(weight, {}).get(name)
        if value is None:
            first = getattr(optimizer, "initial_accumulator_value", 0.0) if name == "accumulator" else 0.0
            value = ops.full_like(weight.detach(), first)
        elif name == "momentum_buffer":
            value = value * -float(optimizer._last_rate or 0.0)  # Keras's velocity has the rate in it
        arrays.append(value.detach().cpu().numpy())
    if type(optimizer).__name__ == "Nadam":
        arrays.append(ops.tensor(optimizer.product_of(int(optimizer.iterations))).numpy())
    return arrays


def put(optimizer: Any, weights: list[Any], arrays: list[Any]) -> bool:
    """Whether the optimizer remembers now what the arrays of Keras's file say."""
    groups = _groups(optimizer)
    if groups is None:
        return False
    first = 1 if optimizer._schedule is not None else 2
    places = _places(groups, weights)
    last = 1 if type(optimizer).__name__ == "Nadam" else 0
    if len(arrays) != first + len(places) + last:
        return False
    optimizer.build(weights)
    optimizer.iterations = int(arrays[0])
    if first == 2:
        optimizer.learning_rate = float(arrays[1])
    with no_grad():
        for (weight, name), array in zip(places, arrays[first : first + len(places)], strict=True):
            value: Tensor = ops.as_tensor(array).to(weight.device, weight.dtype).clone()
            if name == "momentum_buffer":
                rate = optimizer._last_rate = float(optimizer.learning_rate)
                value = value / -rate if rate else ops.zeros_like(value)
            optimizer.state[weight][name] = value
            if name == "exp_avg":
                optimizer.state[weight]["step"] = ops.tensor(float(arrays[0]))
    return True
