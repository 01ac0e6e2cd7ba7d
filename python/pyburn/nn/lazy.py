"""Layers whose input sizes are taken from the first input they see."""

from __future__ import annotations

import copy
from typing import Any

from pyburn._core import Tensor, long
from pyburn.nn.batchnorm import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
)
from pyburn.nn.conv import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from pyburn.nn.linear import Linear
from pyburn.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy
from pyburn.ops import tensor


class LazyModuleMixin:
    """Lets a Module wait for its first input: a subclass says in `initialize_parameters` what it learns from it.

    After the first call the module becomes an instance of `cls_to_become`, if that is set.

    Example:
        >>> import pyburn
        >>> layer = pyburn.nn.LazyLinear(3)
        >>> output = layer(pyburn.zeros(1, 2)); layer
        Linear(in_features=2, out_features=3, bias=True)
    """

    cls_to_become: type[Any] | None = None
    _initialize_hook: Any
    _load_hook: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        module: Any = self
        self._load_hook = module._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = module.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Nothing; a subclass gives its parameters their shapes here, from the arguments of the first call."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer still has no shape."""
        module: Any = self
        return any(is_lazy(member) for member in [*module._parameters.values(), *module._buffers.values()])

    def _lazy_load_hook(self, state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
        """Nothing; members without a shape take that of the values which are about to be loaded."""
        module: Any = self
        for name, member in [*module._parameters.items(), *module._buffers.items()]:
            given = state_dict.get(prefix + name)
            if is_lazy(member) and given is not None and not is_lazy(given):
                member.materialize(given.shape)

    def _infer_parameters(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> None:
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {module._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A copy with hooks of its own."""
        return _copied(self, memo)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """What pickle needs: everything but the hooks, which are made anew."""
        return _rebuild, (type(self), _plain_state(self))


_HOOKS = ("_initialize_hook", "_load_hook", "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs")


def _plain_state(module: Any) -> dict[str, Any]:
    return {k: v for k, v in module.__dict__.items() if k not in (*_HOOKS, "_load_state_dict_pre_hooks")}


def _rebuild(cls: Any, state: dict[str, Any]) -> Any:
    made = cls.__new__(cls)
    made.__setstate__(state)
    if "_modules" in state:
        made.__dict__["_load_hook"] = made._register_load_state_dict_pre_hook(made._lazy_load_hook)
        made.__dict__["_initialize_hook"] = made.register_forward_pre_hook(made._infer_parameters, with_kwargs=True)
    return made


def _copied(module: Any, memo: dict[int, Any]) -> Any:
    made = _rebuild(type(module), copy.deepcopy(_plain_state(module), memo))
    memo[id(module)] = made
    return made


class LazyLinear(LazyModuleMixin, Linear):
    """A Linear whose `in_features` is the size of the first input's last dimension.

    Args:
        out_features: The size of the output.
        bias: Whether a bias is learned.
        device: Where the parameters are.
        dtype: Their dtype.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.LazyLinear(4)(pyburn.zeros(2, 7)).shape)
        (2, 4)
    """

    cls_to_become = Linear

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(0, 0, False)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Nothing; the parameters are drawn anew once they have a shape."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Nothing; the weights have the shapes that `input` asks for."""
        if self.has_uninitialized_params():
            self.in_features = input.shape[-1]
            _materialize(self.weight, (self.out_features, self.in_features))
            _materialize(self.bias, (self.out_features,))
        if self.in_features == 0:
            if input.shape[-1] != self.weight.shape[-1]:
                raise AssertionError(
                    f"The in_features inferred from input: {input.shape[-1]} is not equal to in_features from "
                    f"self.weight: {self.weight.shape[-1]}"
                )
            self.in_features = input.shape[-1]
            return
        self.reset_parameters()


def _materialize(member: Any, shape: tuple[int, ...]) -> None:
    if is_lazy(member):
        member.materialize(shape)


class _LazyConv(LazyModuleMixin):
    """Convolutions whose `in_channels` is that of the first input."""

    def _wait(self, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        module: Any = self
        module.weight = UninitializedParameter(device=device, dtype=dtype)
        module.out_channels = out_channels
        if bias:
            module.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Nothing; the parameters are drawn anew once they have a shape."""
        module: Any = self
        if not self.has_uninitialized_params() and module.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Nothing; the weights have the shapes that `input` asks for."""
        module: Any = self
        if not self.has_uninitialized_params():
            return
        n = module._dims
        if input.dim() not in (n + 1, n + 2):
            raise RuntimeError(
                f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {type(self).__name__}, but got input of "
                f"size: {list(input.shape)}"
            )
        channels = input.shape[-n - 1]
        if channels % module.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        module.in_channels = channels
        first, second = channels, module.out_channels
        if not module.transposed:
            first, second = second, first
        _materialize(module.weight, (first, second // module.groups, *module.kernel_size))
        _materialize(module.bias, (module.out_channels,))
        module.reset_parameters()


class _LazyForward(_LazyConv):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode)
        self._wait(out_channels, bias, device, dtype)


class _LazyTransposed(_LazyConv):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode)
        self._wait(out_channels, bias, device, dtype)


class _LazyNorm(LazyModuleMixin):
    """Norms whose `num_features` is the number of channels of the first input."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype)
        module: Any = self
        module.affine = affine
        module.track_running_stats = track_running_stats
        if module.affine:
            module.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                module.bias = UninitializedParameter(device=device, dtype=dtype)
        if module.track_running_stats:
            module.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            module.running_var = UninitializedBuffer(device=device, dtype=dtype)
            module.num_batches_tracked = tensor(0, dtype=long, device=device)

    def reset_parameters(self) -> None:
        """Nothing; parameters and statistics are as at the beginning once they have a shape."""
        module: Any = self
        if not self.has_uninitialized_params() and module.num_features != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor) -> None:
        """Nothing; parameters and statistics have one entry for each channel of `input`."""
        module: Any = self
        if not self.has_uninitialized_params():
            return
        channels = input.shape[1] if not hasattr(module, "_spatial") else input.shape[-module._spatial - 1]
        module.num_features = channels
        for member in (module.weight, module.bias, module.running_mean, module.running_var):
            _materialize(member, (channels,))
        module.reset_parameters()


class LazyConv1d(_LazyForward, Conv1d):
    """A Conv1d whose input size is taken from the first input; the other arguments are the same.

    Example:
        >>> import pyburn
        >>> layer = pyburn.nn.LazyConv1d(2, 3)
        >>> output = layer(pyburn.ones(1, 4, 5)); type(layer).__name__
        'Conv1d'
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyForward, Conv2d):
    """A Conv2d whose input size is taken from the first input; the other arguments are the same.

    Example:
        >>> import pyburn
        >>> layer = pyburn.nn.LazyConv2d(2, 3)
        >>> output = layer(pyburn.ones(1, 4, 5, 5)); type(layer).__name__
        'Conv2d'
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyForward, Conv3d):
    """A Conv3d whose input size is taken from the first input; the other arguments are the same.

    Example:
        >>> import pyburn
        >>> layer = pyburn.nn.LazyConv3d(2, 3)
        >>> output = layer(pyburn.ones(1, 4, 5, 5, 5)); type(layer).__name__
        'Conv3d'
    """

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyTransposed, ConvTranspose1d):
    """A ConvTranspose1d whose input size is taken from the first input; the other arguments are the same.

    Example:
        >>> import pyburn
        >>> layer = pyburn.nn.LazyConvTranspose1d(2, 3)
        >>> output = layer(pyburn.ones(1, 4, 5)); type(layer).__name__
        'ConvTranspose1d'
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyTransposed, ConvTranspose2d):
    """A ConvTranspose2d whose input size is taken from the first input; the other arguments are the same.

    Example:
        >>> import pyburn
        >>> layer = pyburn.nn.LazyConvTranspose2d(2, 3)
        >>> output = layer(pyburn.ones(1, 4, 5, 5)); type(layer).__name__
        'ConvTranspose2d'
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyTransposed, ConvTranspose3d):
    """A ConvTranspose3d whose input size is taken from the first input; the other arguments are the same.

    Example:
        >>> import pyburn
        >>> layer = pyburn.nn.LazyConvTranspose3d(2, 3)
        >>> output = layer(pyburn.ones(1, 4, 5, 5, 5)); type(layer).__name__
        'ConvTranspose3d'
    """

    cls_to_become = ConvTranspose3d


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """A BatchNorm1d whose input size is taken from the first input; the other arguments are the same.

    Example:
        >>> import pyburn
        >>> layer = pyburn.nn.LazyBatchNorm1d()
        >>> output = layer(pyburn.ones(2, 4)); type(layer).__name__
        'BatchNorm1d'
    """

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """A BatchNorm2d whose input size is taken from the first input; the other arguments are the same.

    Example:
        >>> import pyburn
        >>> layer = pyburn.nn.LazyBatchNorm2d()
        >>> output = layer(pyburn.ones(2, 4, 3, 3)); type(layer).__name__
        'BatchNorm2d'
    """

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """A BatchNorm3d whose input size is taken from the first input; the other arguments are the same.

    Example:
        >>> import pyburn
        >>> layer = pyburn.nn.LazyBatchNorm3d()
        >>> output = layer(pyburn.ones(2, 4, 3, 3, 3)); type(layer).__name__
        'BatchNorm3d'
    """

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d):
    """A InstanceNorm1d whose input size is taken from the first input; the other arguments are the same.

    Example:
        >>> import pyburn
        >>> layer = pyburn.nn.LazyInstanceNorm1d()
        >>> output = layer(pyburn.ones(2, 4, 3)); type(layer).__name__
        'InstanceNorm1d'
    """

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d):
    """A InstanceNorm2d whose input size is taken from the first input; the other arguments are the same.

    Example:
        >>> import pyburn
        >>> layer = pyburn.nn.LazyInstanceNorm2d()
        >>> output = layer(pyburn.ones(2, 4, 3, 3)); type(layer).__name__
        'InstanceNorm2d'
    """

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, InstanceNorm3d):
    """A InstanceNorm3d whose input size is taken from the first input; the other arguments are the same.

    Example:
        >>> import pyburn
        >>> layer = pyburn.nn.LazyInstanceNorm3d()
        >>> output = layer(pyburn.ones(2, 4, 3, 3, 3)); type(layer).__name__
        'InstanceNorm3d'
    """

    cls_to_become = InstanceNorm3d
