"""Activations that are layers because they have settings or weights."""

from __future__ import annotations

from typing import Any

from pyburn.keras import activations, constraints, initializers, regularizers
from pyburn.keras.layer import InputSpec, Layer
from pyburn.keras.layers.core import last_size
from pyburn.nn import functional

__all__ = ["ELU", "LeakyReLU", "PReLU", "ReLU", "Softmax"]


class ReLU(Layer):
    """`x` where it is above the threshold, a slope below, at most `max_value`.

    Args:
        max_value: The largest result.
        negative_slope: The slope below the threshold.
        threshold: Where the slope changes.
        **kwargs: See `Layer`.
    """

    def __init__(
        self, max_value: float | None = None, negative_slope: float = 0.0, threshold: float = 0.0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        for name, value in (
            ("max_value", max_value or 0.0),
            ("negative_slope", negative_slope),
            ("threshold", threshold),
        ):
            if value is None or value < 0:
                raise ValueError(f"ReLU: {name} is {value}, but must not be negative")
        self.max_value, self.negative_slope, self.threshold = max_value, negative_slope, threshold
        self.supports_masking = True

    def call(self, inputs: Any) -> Any:
        return activations.relu(inputs, self.negative_slope, self.max_value, self.threshold)


class LeakyReLU(Layer):
    """`x`, and a slope below zero.

    Args:
        negative_slope: The slope.
        **kwargs: See `Layer`.
    """

    def __init__(self, negative_slope: float = 0.3, **kwargs: Any) -> None:
        negative_slope = kwargs.pop("alpha", negative_slope)
        super().__init__(**kwargs)
        self.negative_slope = negative_slope
        self.supports_masking = True

    def call(self, inputs: Any) -> Any:
        return functional.leaky_relu(inputs, self.negative_slope)


class ELU(Layer):
    """`x` above zero, `alpha * (exp(x) - 1)` below.

    Args:
        alpha: The factor below zero.
        **kwargs: See `Layer`.
    """

    def __init__(self, alpha: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha = alpha
        self.supports_masking = True

    def call(self, inputs: Any) -> Any:
        return functional.elu(inputs, self.alpha)


class PReLU(Layer):
    """`x`, and a learned slope below zero.

    Args:
        alpha_initializer: The first slopes.
        alpha_regularizer: A loss of the slopes.
        alpha_constraint: What the slopes must keep to.
        shared_axes: The axes along which the slope is the same.
        **kwargs: See `Layer`.
    """

    def __init__(
        self,
        alpha_initializer: Any = "Zeros",
        alpha_regularizer: Any = None,
        alpha_constraint: Any = None,
        shared_axes: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.alpha_initializer = initializers.get(alpha_initializer)
        self.alpha_regularizer = regularizers.get(alpha_regularizer)
        self.alpha_constraint = constraints.get(alpha_constraint)
        self.shared_axes = (
            None if shared_axes is None else [shared_axes] if isinstance(shared_axes, int) else list(shared_axes)
        )
        self.supports_masking = True

    def build(self, input_shape: Any) -> None:
        shared = set(self.shared_axes or ())
        shape = [1 if axis in shared else last_size(self, input_shape, axis) for axis in range(1, len(input_shape))]
        self.alpha = self.add_weight(
            shape,
            self.alpha_initializer,
            regularizer=self.alpha_regularizer,
            constraint=self.alpha_constraint,
            name="alpha",
        )
        self.input_spec = InputSpec(ndim=len(input_shape))

    def call(self, inputs: Any) -> Any:
        return functional.relu(inputs) - self.alpha * functional.relu(-inputs)


class Softmax(Layer):
    """Numbers that are positive and sum to 1 along `axis`; masked ones are 0.

    Args:
        axis: The axis or axes.
        **kwargs: See `Layer`.
    """

    def __init__(self, axis: Any = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis
        self.supports_masking = True

    def call(self, inputs: Any, mask: Any = None) -> Any:
        if mask is not None:
            inputs = inputs + (1.0 - mask.to(inputs.dtype)) * -3e4
            found = activations.softmax(inputs, self.axis)
            return found * mask.to(inputs.dtype)
        return activations.softmax(inputs, self.axis)
