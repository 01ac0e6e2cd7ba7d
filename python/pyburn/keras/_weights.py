"""The half of a layer that knows its weights: their order, which of them train, their losses and limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyburn import nn
from pyburn._core import Tensor
from pyburn.autograd import no_grad
from pyburn.keras.variables import assign


class Weights(nn.Module):
    """Keras's view of weights: a layer's own first, trainable ones before others, then those of its parts."""

    _trainable: bool
    _regularizers: dict[str, Any]
    _constraints: dict[str, Any]
    _lists: dict[str, Any]
    _losses: list[Any]
    built: bool
    name: Any

    def __init__(self) -> None:
        super().__init__()
        self._regularizers, self._constraints, self._lists = {}, {}, {}

    def __setattr__(self, name: str, value: Any) -> None:
        """Nothing; layers in lists and dictionaries are tracked too, and a weight takes the name of its attribute."""
        if isinstance(value, (nn.Parameter, nn.Buffer)) and "_parameters" in self.__dict__:
            self._rename(name, value)
        super().__setattr__(name, value)
        nested = isinstance(value, (list, tuple, dict)) and "_lists" in self.__dict__ and not name.startswith("_")
        if nested and next(_named_members(name, value), None):
            self._lists[name] = value
            self._track_lists()

    def _rename(self, name: str, value: Tensor) -> None:
        for kind in (self._parameters, self._buffers):
            for old in [key for key, held in kind.items() if held is value and key != name]:
                del kind[old]
                for rules in (self._regularizers, self._constraints):
                    if old in rules:
                        rules[name] = rules.pop(old)

    def _track_lists(self) -> None:
        """Nothing; layers that were appended to lists since are children too."""
        for name, value in self._lists.items():
            for key, each in _named_members(name, value):
                self._modules[key] = each

    def _own_weights(self) -> list[Tensor]:
        trainable = [weight for weight in self._parameters.values() if weight is not None]
        kept = [value for name, value in self._buffers.items() if name not in self._non_persistent_buffers_set]
        return [*trainable, *(value for value in kept if value is not None)]

    @property
    def weights(self) -> list[Tensor]:
        """All weights, trainable or not, each once; a layer that has not seen a shape yet has none.

        Example:
            >>> from pyburn.keras import Dense
            >>> layer = Dense(3); layer.build((None, 4)); [tuple(w.shape) for w in layer.weights]
            [(4, 3), (3,)]
        """
        self._track_lists()
        found = self._own_weights()
        for child in self.children():
            if isinstance(child, Weights):
                found += child.weights
            else:
                found += [*child.parameters(), *child.buffers()]
        return list({id(weight): weight for weight in found}.values())

    variables = weights

    @property
    def trainable_weights(self) -> list[Tensor]:
        """The weights that training changes."""
        return [weight for weight in self.weights if isinstance(weight, nn.Parameter) and weight.requires_grad]

    trainable_variables = trainable_weights

    @property
    def non_trainable_weights(self) -> list[Tensor]:
        """The weights that training leaves alone, such as running means."""
        return [weight for weight in self.weights if not isinstance(weight, nn.Parameter) or not weight.requires_grad]

    non_trainable_variables = non_trainable_weights

    @property
    def trainable(self) -> bool:
        """Whether training changes the layer's weights; setting it sets it for all layers inside."""
        return self._trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._track_lists()
        for module in self.modules():
            if isinstance(module, Weights):
                module._trainable = bool(value)
        for parameter in self.parameters():
            parameter.requires_grad_(bool(value))

    def get_weights(self) -> list[Any]:
        """Copies of all weights as numpy arrays, in the order of `weights`."""
        return [weight.detach().cpu().clone().numpy() for weight in self.weights]

    def set_weights(self, weights: Any) -> None:
        """Nothing; the weights have these values, in the order of `weights`."""
        own, given = self.weights, list(weights)
        if len(own) != len(given):
            raise ValueError(
                f"{self.name} ({type(self).__name__}): set_weights needs {len(own)} arrays, but got {len(given)}"
                + ("; the layer is not built yet: call it or build(input_shape) first" if not self.built else "")
            )
        for weight, value in zip(own, given, strict=True):
            assign(weight, value)

    def count_params(self) -> int:
        """The number of values in all weights."""
        if not self.built:
            raise ValueError(
                f"{self.name} ({type(self).__name__}) is not built yet, so its weights are not known; "
                "call it on data, or build(input_shape) it"
            )
        return sum(weight.numel() for weight in self.weights)

    @property
    def losses(self) -> list[Any]:
        """The losses of weights and activities, of this layer and those inside it, since the last call."""
        self._track_lists()
        found = [loss for module in self.modules() if isinstance(module, Weights) for loss in module._losses]
        for module in self.modules():
            if isinstance(module, Weights):
                held = {name: getattr(module, name) for name in module._regularizers}
                found += [module._regularizers[name](held[name]) for name in held if held[name].requires_grad]
        return found

    def _constrain(self) -> None:
        """Nothing; the weights keep to their constraints."""
        with no_grad():
            for module in self.modules():
                if isinstance(module, Weights):
                    for name, rule in module._constraints.items():
                        weight = getattr(module, name)
                        weight.copy_(rule(weight.detach()))


def _named_members(name: str, value: Any) -> Iterator[tuple[str, nn.Module]]:
    """The modules in lists and dictionaries, however deep, with the places that they have there."""
    for key, each in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(each, nn.Module):
            yield f"{name}_{key}", each
        elif isinstance(each, (list, tuple, dict)):
            yield from _named_members(f"{name}_{key}", each)
