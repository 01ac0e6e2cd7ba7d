"""Layers that bring what passes them to a common scale."""

from __future__ import annotations

from typing import Any

from pyburn import ops
from pyburn._core import ShapeError, Tensor
from pyburn.autograd import no_grad
from pyburn.keras import constraints, initializers, regularizers
from pyburn.keras.layer import InputSpec, Layer
from pyburn.keras.layers.core import Wrapper, last_size
from pyburn.nn import functional

__all__ = [
    "BatchNormalization",
    "GroupNormalization",
    "LayerNormalization",
    "RMSNormalization",
    "SpectralNormalization",
    "UnitNormalization",
]


def _axes(axis: Any, rank: int) -> tuple[int, ...]:
    given = (axis,) if isinstance(axis, int) else tuple(axis)
    return tuple(sorted(each % rank for each in given))


class _Scaled(Layer):
    """What the norms share: gamma, beta and their settings."""

    def _gamma_beta(
        self,
        beta: Any,
        gamma: Any,
        beta_regularizer: Any,
        gamma_regularizer: Any,
        beta_constraint: Any,
        gamma_constraint: Any,
    ) -> None:
        self.beta_initializer, self.gamma_initializer = initializers.get(beta), initializers.get(gamma)
        self.beta_regularizer = regularizers.get(beta_regularizer)
        self.gamma_regularizer = regularizers.get(gamma_regularizer)
        self.beta_constraint, self.gamma_constraint = (
            constraints.get(beta_constraint),
            constraints.get(gamma_constraint),
        )
        self.supports_masking = True

    def _add(self, shape: Any, scale: bool, center: bool) -> None:
        if scale:
            self.gamma = self.add_weight(
                shape,
                self.gamma_initializer,
                regularizer=self.gamma_regularizer,
                constraint=self.gamma_constraint,
                name="gamma",
            )
        else:
            self.gamma = None
        if center:
            self.beta = self.add_weight(
                shape,
                self.beta_initializer,
                regularizer=self.beta_regularizer,
                constraint=self.beta_constraint,
                name="beta",
            )
        else:
            self.beta = None


class BatchNormalization(_Scaled):
    """Mean 0 and variance 1 for each channel over the batch, and over all data so far when it does not train.

    Args:
        axis: The axis of the channels.
        momentum: How much of the running mean and variance stays at each batch.
        epsilon: What is added to the variance.
        center: Whether a learned `beta` is added.
        scale: Whether the result is multiplied by a learned `gamma`.
        beta_initializer: The first values of beta.
        gamma_initializer: The first values of gamma.
        moving_mean_initializer: The first values of the running mean.
        moving_variance_initializer: The first values of the running variance.
        beta_regularizer: A loss of beta.
        gamma_regularizer: A loss of gamma.
        beta_constraint: What beta must keep to.
        gamma_constraint: What gamma must keep to.
        synchronized: Accepted for Keras's sake.
        **kwargs: See `Layer`.

    Example:
        >>> import pyburn
        >>> x = BatchNormalization()(pyburn.randn(64, 3), training=True)
        >>> bool((x.mean(0).abs() < 1e-3).all())
        True
    """

    def __init__(
        self,
        axis: int = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        moving_mean_initializer: Any = "zeros",
        moving_variance_initializer: Any = "ones",
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        synchronized: bool = False,
        **kwargs: Any,
    ) -> None:
        if kwargs.pop("renorm", False):
            raise NotImplementedError("BatchNormalization: renorm=True is not there; leave it out")
        kwargs.pop("renorm_clipping", None)
        kwargs.pop("renorm_momentum", None)
        super().__init__(**kwargs)
        self.axis, self.momentum, self.epsilon = int(axis), momentum, epsilon
        self.center, self.scale, self.synchronized = center, scale, synchronized
        self._gamma_beta(
            beta_initializer, gamma_initializer, beta_regularizer, gamma_regularizer, beta_constraint, gamma_constraint
        )
        self.moving_mean_initializer = initializers.get(moving_mean_initializer)
        self.moving_variance_initializer = initializers.get(moving_variance_initializer)

    def build(self, input_shape: Any) -> None:
        size = last_size(self, input_shape, self.axis)
        self._add((size,), self.scale, self.center)
        self.moving_mean = self.add_weight((size,), self.moving_mean_initializer, trainable=False, name="moving_mean")
        self.moving_variance = self.add_weight(
            (size,), self.moving_variance_initializer, trainable=False, name="moving_variance"
        )
        self.input_spec = InputSpec(ndim=len(input_shape), axes={self.axis: size})

    def call(self, inputs: Any, training: bool | None = None, mask: Any = None) -> Any:
        axis = self.axis % inputs.dim()
        if not (training and self.trainable):
            x = inputs.movedim(axis, 1)
            x = functional.batch_norm(
                x, self.moving_mean, self.moving_variance, self.gamma, self.beta, False, 0.0, self.epsilon
            )
            return x.movedim(1, axis)
        if mask is not None:
            return self._masked(inputs, mask, axis)
        return self._trained(inputs, axis)

    def _trained(self, inputs: Tensor, axis: int) -> Tensor:
        x = inputs.movedim(axis, 1)
        others = [each for each in range(inputs.dim()) if each != axis]
        with no_grad():
            mean = inputs.mean(others)
            # Keras keeps the variance of the batch as it is, torch that of the population.
            variance = inputs.var(others, correction=0)
            self._remember(mean, variance)
        x = functional.batch_norm(x, None, None, self.gamma, self.beta, True, 0.0, self.epsilon)
        return x.movedim(1, axis)

    def _masked(self, inputs: Tensor, mask: Tensor, axis: int) -> Tensor:
        weight = (
            mask.to(inputs.dtype).reshape(*mask.shape, *[1] * (inputs.dim() - mask.dim())).broadcast_to(inputs.shape)
        )
        others = [each for each in range(inputs.dim()) if each != axis]
        total = ops.clamp(weight.sum(others, keepdim=True), min=1e-7)
        mean = (inputs * weight).sum(others, keepdim=True) / total
        variance = ((inputs - mean) ** 2 * weight).sum(others, keepdim=True) / total
        with no_grad():
            self._remember(mean.flatten(), variance.flatten())
        shape = [-1 if each == axis else 1 for each in range(inputs.dim())]
        x = (inputs - mean) * ops.rsqrt(variance + self.epsilon)
        x = x if self.gamma is None else x * self.gamma.reshape(shape)
        return x if self.beta is None else x + self.beta.reshape(shape)

    def _remember(self, mean: Tensor, variance: Tensor) -> None:
        self.moving_mean.lerp_(mean.detach().to(self.moving_mean.dtype), 1 - self.momentum)
        self.moving_variance.lerp_(variance.detach().to(self.moving_variance.dtype), 1 - self.momentum)


class LayerNormalization(_Scaled):
    """Mean 0 and variance 1 for each sample, over `axis`.

    Args:
        axis: The axis or axes over which.
        epsilon: What is added to the variance.
        center: Whether a learned `beta` is added.
        scale: Whether the result is multiplied by a learned `gamma`.
        beta_initializer: The first values of beta.
        gamma_initializer: The first values of gamma.
        beta_regularizer: A loss of beta.
        gamma_regularizer: A loss of gamma.
        beta_constraint: What beta must keep to.
        gamma_constraint: What gamma must keep to.
        **kwargs: See `Layer`.
    """

    def __init__(
        self,
        axis: Any = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        if kwargs.pop("rms_scaling", False):
            raise NotImplementedError("LayerNormalization: rms_scaling=True is not there; use RMSNormalization")
        super().__init__(**kwargs)
        self.axis = [axis] if isinstance(axis, int) else list(axis)
        self.epsilon, self.center, self.scale = epsilon, center, scale
        self._gamma_beta(
            beta_initializer, gamma_initializer, beta_regularizer, gamma_regularizer, beta_constraint, gamma_constraint
        )

    def build(self, input_shape: Any) -> None:
        axes = _axes(self.axis, len(input_shape))
        self._add([last_size(self, input_shape, each) for each in axes], self.scale, self.center)

    def call(self, inputs: Any) -> Any:
        axes = _axes(self.axis, inputs.dim())
        if axes == tuple(range(inputs.dim() - len(axes), inputs.dim())):
            return functional.layer_norm(
                inputs, [inputs.shape[each] for each in axes], self.gamma, self.beta, self.epsilon
            )
        mean = inputs.mean(axes, keepdim=True)
        variance = inputs.var(axes, correction=0, keepdim=True)
        x = (inputs - mean) * ops.rsqrt(variance + self.epsilon)
        shape = [size if place in axes else 1 for place, size in enumerate(inputs.shape)]
        x = x if self.gamma is None else x * self.gamma.reshape(shape)
        return x if self.beta is None else x + self.beta.reshape(shape)


class RMSNormalization(Layer):
    """Root mean square 1 for each sample, over `axis`, times a learned scale.

    Args:
        axis: The axis or axes over which.
        epsilon: What is added to the mean square.
        **kwargs: See `Layer`.
    """

    def __init__(self, axis: Any = -1, epsilon: float = 1e-6, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = [axis] if isinstance(axis, int) else list(axis)
        self.epsilon = epsilon

    def build(self, input_shape: Any) -> None:
        axes = _axes(self.axis, len(input_shape))
        self.scale = self.add_weight([last_size(self, input_shape, each) for each in axes], "ones", name="scale")

    def call(self, inputs: Any) -> Any:
        axes = _axes(self.axis, inputs.dim())
        x = inputs * ops.rsqrt((inputs * inputs).mean(axes, keepdim=True) + self.epsilon)
        return x * self.scale.reshape([size if place in axes else 1 for place, size in enumerate(inputs.shape)])


class GroupNormalization(_Scaled):
    """Mean 0 and variance 1 for each sample and each group of channels.

    Args:
        groups: The number of groups; -1 for one per channel.
        axis: The axis of the channels.
        epsilon: What is added to the variance.
        center: Whether a learned `beta` is added.
        scale: Whether the result is multiplied by a learned `gamma`.
        beta_initializer: The first values of beta.
        gamma_initializer: The first values of gamma.
        beta_regularizer: A loss of beta.
        gamma_regularizer: A loss of gamma.
        beta_constraint: What beta must keep to.
        gamma_constraint: What gamma must keep to.
        **kwargs: See `Layer`.
    """

    def __init__(
        self,
        groups: int = 32,
        axis: int = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.groups, self.axis, self.epsilon, self.center, self.scale = groups, axis, epsilon, center, scale
        self._gamma_beta(
            beta_initializer, gamma_initializer, beta_regularizer, gamma_regularizer, beta_constraint, gamma_constraint
        )

    def build(self, input_shape: Any) -> None:
        size = last_size(self, input_shape, self.axis)
        self.groups = size if self.groups == -1 else self.groups
        if size % self.groups:
            raise ShapeError(
                f"{self.name} (GroupNormalization): the {size} channels of {tuple(input_shape)} cannot be split into "
                f"groups={self.groups}; give a divisor of {size}"
            )
        self._add((size,), self.scale, self.center)

    def call(self, inputs: Any) -> Any:
        axis = self.axis % inputs.dim()
        x = functional.group_norm(inputs.movedim(axis, 1), self.groups, self.gamma, self.beta, self.epsilon)
        return x.movedim(1, axis)


class UnitNormalization(Layer):
    """Norm 1 for each sample, over `axis`.

    Args:
        axis: The axis or axes over which.
        **kwargs: See `Layer`.
    """

    def __init__(self, axis: Any = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis if isinstance(axis, int) else list(axis)
        self.supports_masking = True

    def call(self, inputs: Any) -> Any:
        axes = _axes(self.axis, inputs.dim())
        return inputs * ops.rsqrt(ops.clamp((inputs * inputs).sum(axes, keepdim=True), min=1e-12))


class SpectralNormalization(Wrapper):
    """A layer whose kernel is divided by its largest singular value, found by power iteration while it trains.

    Args:
        layer: The layer, which has a `kernel` or `embeddings`.
        power_iterations: How many iterations each call of training makes.
        **kwargs: See `Layer`.
    """

    def __init__(self, layer: Any, power_iterations: int = 1, **kwargs: Any) -> None:
        super().__init__(layer, **kwargs)
        if power_iterations <= 0:
            raise ValueError(f"SpectralNormalization: power_iterations is {power_iterations}, but must be positive")
        self.power_iterations = power_iterations

    def build(self, input_shape: Any = None) -> None:
        super().build(input_shape)
        word = "kernel" if hasattr(self.layer, "kernel") else "embeddings"
        if not hasattr(self.layer, word):
            raise ValueError(f"{self.name}: {type(self.layer).__name__} has neither kernel nor embeddings to normalize")
        self._word = word
        self.vector_u = self.add_weight(
            (1, getattr(self.layer, word).shape[-1]),
            initializers.TruncatedNormal(stddev=0.02),
            trainable=False,
            name="vector_u",
        )

    def _own_weights(self) -> list[Tensor]:
        # Keras counts the kernel among the wrapper's own weights.
        return [getattr(self.layer, self._word), self.vector_u] if self.built else []

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        if training:
            with no_grad():
                self._normalize()
        return self.layer(inputs)

    def _normalize(self) -> None:
        kernel = getattr(self.layer, self._word)
        matrix, u = kernel.detach().reshape(-1, kernel.shape[-1]), self.vector_u
        for _ in range(self.power_iterations):
            v = _unit(u @ matrix.T)
            u = _unit(v @ matrix)
        sigma = v @ matrix @ u.T
        self.vector_u.copy_(u)
        kernel.copy_(kernel / sigma)


def _unit(x: Tensor) -> Tensor:
    return x * ops.rsqrt(ops.clamp((x * x).sum(-1, keepdim=True), min=1e-12))
