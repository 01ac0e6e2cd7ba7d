"""Layers of detectors: frozen normalization, dropped blocks, pyramids of features, bent convolutions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from pyburn import nn
from pyburn._core import Tensor
from pyburn.nn.functional import interpolate, max_pool2d, max_pool3d, pad, relu
from pyburn.ops import empty, ones, zeros
from pyburn.vision import deformable

__all__ = [
    "Conv3dNormActivation",
    "DeformConv2d",
    "DropBlock2d",
    "DropBlock3d",
    "ExtraFPNBlock",
    "FeaturePyramidNetwork",
    "FrozenBatchNorm2d",
    "LastLevelMaxPool",
    "LastLevelP6P7",
    "deform_conv2d",
    "drop_block2d",
    "drop_block3d",
]


class FrozenBatchNorm2d(nn.Module):
    """Batch normalization whose statistics and weights stay as they are.

    Args:
        num_features: How many channels there are.
        eps: Added to the variance.

    Example:
        >>> import pyburn
        >>> FrozenBatchNorm2d(3, eps=0.0)(pyburn.ones(1, 3, 1, 1)).flatten()
        tensor([1., 1., 1.])
    """

    weight: Tensor
    bias: Tensor
    running_mean: Tensor
    running_var: Tensor

    def __init__(self, num_features: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.register_buffer("weight", ones(num_features))
        self.register_buffer("bias", zeros(num_features))
        self.register_buffer("running_mean", zeros(num_features))
        self.register_buffer("running_var", ones(num_features))

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any) -> None:
        # Weights of a batch normalization that was trained count its batches.
        state_dict.pop(f"{prefix}num_batches_tracked", None)
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    def forward(self, x: Tensor) -> Tensor:
        """The normalized input."""
        scale = self.weight * (self.running_var + self.eps).rsqrt()
        shift = self.bias - self.running_mean * scale
        return x * scale.reshape(1, -1, 1, 1) + shift.reshape(1, -1, 1, 1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.weight.shape[0]}, eps={self.eps})"


class Conv3dNormActivation(nn.Sequential):
    """A convolution of volumes that keeps their size (but for its stride), a normalization and an activation.

    Args:
        in_channels: The channels that come in.
        out_channels: The channels that go out.
        kernel_size: The window's sizes, or one number for all.
        stride: How far it moves.
        padding: Zeros around the input; as many as keep the size when left out.
        groups: Into how many parts the channels are cut.
        norm_layer: The normalization, or None.
        activation_layer: The activation, or None.
        dilation: The distance between elements of a window.
        inplace: Whether the activation changes its input; None for activations without this choice.
        bias: Whether the convolution adds one; if there is no normalization when left out.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int] = 3,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] | None = None,
        groups: int = 1,
        norm_layer: Callable[..., nn.Module] | None = nn.BatchNorm3d,
        activation_layer: Callable[..., nn.Module] | None = nn.ReLU,
        dilation: int | Sequence[int] = 1,
        inplace: bool | None = True,
        bias: bool | None = None,
    ) -> None:
        if padding is None:
            sizes, steps = ([n] * 3 if isinstance(n, int) else list(n) for n in (kernel_size, dilation))
            padding = [(size - 1) // 2 * step for size, step in zip(sizes, steps, strict=True)]
        bias = norm_layer is None if bias is None else bias
        layers: list[nn.Module] = [
            nn.Conv3d(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias)
        ]
        layers += [] if norm_layer is None else [norm_layer(out_channels)]
        if activation_layer is not None:
            layers.append(activation_layer(**({} if inplace is None else {"inplace": inplace})))
        super().__init__(*layers)
        self.out_channels = out_channels


def _drop_block(input: Tensor, p: float, block: int, inplace: bool, eps: float, training: bool, rank: int) -> Tensor:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"drop probability has to be between 0 and 1, but got {p}.")
    if input.dim() != rank + 2:
        raise ValueError(f"input should be {rank + 2} dimensional. Got {input.dim()} dimensions.")
    if not training or p == 0.0:
        return input
    sizes = list(input.shape[2:])
    block = min(block, *sizes)
    if block % 2 == 0:
        raise ValueError(f"block size should be odd. Got {block} which is even.")
    places = [size - block + 1 for size in sizes]
    chance = (p * math.prod(sizes)) / (block**rank * math.prod(places))
    seeds = empty(*input.shape[:2], *places, dtype=input.dtype, device=input.device).bernoulli_(chance)
    pool = max_pool2d if rank == 2 else max_pool3d
    kept = 1 - pool(pad(seeds, [block // 2] * (2 * rank)), block, 1, block // 2)
    scale = kept.numel() / (eps + kept.sum())
    return input.mul_(kept).mul_(scale) if inplace else input * kept * scale


def drop_block2d(
    input: Tensor, p: float, block_size: int, inplace: bool = False, eps: float = 1e-6, training: bool = True
) -> Tensor:
    """The input (N, C, H, W) with random blocks set to 0 and the rest scaled up: Ghiasi and others, 2018.

    Args:
        input: The features.
        p: The share that is dropped.
        block_size: The sides of the blocks; odd.
        inplace: Whether the input itself is changed.
        eps: Added where one divides.
        training: Whether anything is dropped at all.

    Raises:
        ValueError: `p` is no probability, the input has other dimensions, or the size is even.

    Example:
        >>> import pyburn
        >>> drop_block2d(pyburn.ones(1, 1, 2, 2), 0.5, 1, training=False).sum().item()
        4.0
    """
    return _drop_block(input, p, block_size, inplace, eps, training, 2)


def drop_block3d(
    input: Tensor, p: float, block_size: int, inplace: bool = False, eps: float = 1e-6, training: bool = True
) -> Tensor:
    """`drop_block2d` for (N, C, D, H, W).

    Example:
        >>> import pyburn
        >>> drop_block3d(pyburn.ones(1, 1, 2, 2, 2), 0.5, 1, training=False).sum().item()
        8.0
    """
    return _drop_block(input, p, block_size, inplace, eps, training, 3)


class DropBlock2d(nn.Module):
    """See `drop_block2d`."""

    def __init__(self, p: float, block_size: int, inplace: bool = False, eps: float = 1e-6) -> None:
        super().__init__()
        self.p, self.block_size, self.inplace, self.eps = p, block_size, inplace, eps

    def forward(self, input: Tensor) -> Tensor:
        """The input, with blocks set to 0 while training."""
        return drop_block2d(input, self.p, self.block_size, self.inplace, self.eps, self.training)

    def extra_repr(self) -> str:
        """The settings."""
        return f"p={self.p}, block_size={self.block_size}, inplace={self.inplace}"


class DropBlock3d(DropBlock2d):
    """See `drop_block3d`."""

    def forward(self, input: Tensor) -> Tensor:
        """The input, with blocks set to 0 while training."""
        return drop_block3d(input, self.p, self.block_size, self.inplace, self.eps, self.training)


class ExtraFPNBlock(nn.Module):
    """The base of what adds maps to a pyramid."""

    def forward(self, results: list[Tensor], x: list[Tensor], names: list[str]) -> tuple[list[Tensor], list[str]]:
        """The maps and their names, with more of both."""
        raise NotImplementedError(f"{type(self).__name__}: an ExtraFPNBlock must define forward(results, x, names).")


class LastLevelMaxPool(ExtraFPNBlock):
    """Adds the last map in half its size."""

    def forward(self, results: list[Tensor], x: list[Tensor], names: list[str]) -> tuple[list[Tensor], list[str]]:
        """The maps and their names, with one more."""
        return [*results, max_pool2d(results[-1], 1, 2, 0)], [*names, "pool"]


class LastLevelP6P7(ExtraFPNBlock):
    """Adds two maps, each a convolution of half the size of the one before: Lin and others, 2017."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.p6 = nn.Conv2d(in_channels, out_channels, 3, 2, 1)
        self.p7 = nn.Conv2d(out_channels, out_channels, 3, 2, 1)
        for module in (self.p6, self.p7):
            nn.init.kaiming_uniform_(module.weight, a=1)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        self.use_P5 = in_channels == out_channels

    def forward(self, results: list[Tensor], x: list[Tensor], names: list[str]) -> tuple[list[Tensor], list[str]]:
        """The maps and their names, with two more."""
        p6 = self.p6(results[-1] if self.use_P5 else x[-1])
        return [*results, p6, self.p7(relu(p6))], [*names, "p6", "p7"]


def _step(wide: int, narrow: int, kernel: int, norm: Callable[..., nn.Module] | None) -> nn.Sequential:
    conv = nn.Conv2d(wide, narrow, kernel, padding=kernel // 2, bias=norm is None)
    return nn.Sequential(conv) if norm is None else nn.Sequential(conv, norm(narrow))


class FeaturePyramidNetwork(nn.Module):
    """Maps of several scales, each enriched by the coarser ones: Lin and others, 2017.

    Args:
        in_channels_list: The channels of each map, finest first.
        out_channels: The channels of each map that comes out.
        extra_blocks: What adds more maps.
        norm_layer: A normalization after each convolution.

    Raises:
        ValueError: A map has no channels.
        TypeError: `extra_blocks` is none.

    Example:
        >>> import pyburn
        >>> pyramid = FeaturePyramidNetwork([4, 8], 6)
        >>> maps = pyramid({"fine": pyburn.rand(1, 4, 8, 8), "coarse": pyburn.rand(1, 8, 4, 4)})
        >>> {name: tuple(part.shape) for name, part in maps.items()}
        {'fine': (1, 6, 8, 8), 'coarse': (1, 6, 4, 4)}
    """

    _version = 2

    def __init__(
        self,
        in_channels_list: Sequence[int],
        out_channels: int,
        extra_blocks: ExtraFPNBlock | None = None,
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__()
        if 0 in in_channels_list:
            raise ValueError("in_channels=0 is currently not supported")
        if extra_blocks is not None and not isinstance(extra_blocks, ExtraFPNBlock):
            raise TypeError(f"extra_blocks should be of type ExtraFPNBlock not {type(extra_blocks)}")
        self.inner_blocks, self.layer_blocks = nn.ModuleList(), nn.ModuleList()
        for channels in in_channels_list:
            self.inner_blocks.append(_step(channels, out_channels, 1, norm_layer))
            self.layer_blocks.append(_step(out_channels, out_channels, 3, norm_layer))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_uniform_(module.weight, a=1)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        self.extra_blocks = extra_blocks

    def forward(self, x: dict[str, Tensor]) -> dict[str, Tensor]:
        """The enriched maps by their names."""
        names, maps = list(x), list(x.values())
        results: list[Tensor] = []
        above: Tensor | None = None
        for i in reversed(range(len(maps))):
            inner = self.inner_blocks[i](maps[i])
            if above is not None:
                inner = inner + interpolate(above, size=tuple(inner.shape[-2:]), mode="nearest")
            above = inner
            results.insert(0, self.layer_blocks[i](inner))
        if self.extra_blocks is not None:
            results, names = self.extra_blocks(results, maps, names)
        return dict(zip(names, results, strict=True))


def _two(value: int | Sequence[int]) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (value[0], value[1])


def deform_conv2d(
    input: Tensor,
    offset: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = (1, 1),
    padding: int | Sequence[int] = (0, 0),
    dilation: int | Sequence[int] = (1, 1),
    mask: Tensor | None = None,
) -> Tensor:
    """`input` convolved with `weight`, each element read at its own offset: Dai and others, 2017.

    Args:
        input: (N, C, H, W).
        offset: (N, 2 * groups of offsets * KH * KW, OH, OW): how far down and how far right.
        weight: (O, C / groups, KH, KW).
        bias: (O).
        stride: How far the window moves.
        padding: Zeros around the input.
        dilation: The distance between elements of a window.
        mask: (N, groups of offsets * KH * KW, OH, OW): a factor for each element read.

    Raises:
        RuntimeError: The shapes do not fit together.

    Example:
        >>> import pyburn
        >>> x = pyburn.ones(1, 1, 3, 3)
        >>> deform_conv2d(x, pyburn.zeros(1, 2, 3, 3), pyburn.ones(1, 1, 1, 1)).sum().item()
        9.0
    """
    taps = weight.shape[-2] * weight.shape[-1]
    groups = offset.shape[1] // (2 * taps)
    if groups == 0:
        raise RuntimeError(
            "the shape of the offset tensor at dimension 1 is not valid. It should be a multiple of 2 * "
            f"weight.size[2] * weight.size[3].\nGot offset.shape[1]={offset.shape[1]}, while 2 * weight.size[2] * "
            f"weight.size[3]={2 * taps}"
        )
    factors = input.new_zeros(input.shape[0], 1) if mask is None else mask
    shift = input.new_zeros(weight.shape[0]) if bias is None else bias
    numbers = (*_two(stride), *_two(padding), *_two(dilation), input.shape[1] // weight.shape[1], groups)
    return deformable.deform_conv2d(input, weight, offset, factors, shift, *numbers, mask is not None)


class DeformConv2d(nn.Module):
    """See `deform_conv2d`; the weights are initialized as those of `nn.Conv2d`."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if in_channels % groups or out_channels % groups:
            raise ValueError("in_channels and out_channels must be divisible by groups")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride = _two(kernel_size), _two(stride)
        self.padding, self.dilation = _two(padding), _two(dilation)
        self.weight = nn.Parameter(empty(out_channels, in_channels // groups, *self.kernel_size))
        self.bias: nn.Parameter | None
        if bias:
            self.bias = nn.Parameter(empty(out_channels))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Nothing; the weights are drawn anew."""
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.weight[0].numel())
            nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor, offset: Tensor, mask: Tensor | None = None) -> Tensor:
        """The input, convolved."""
        return deform_conv2d(input, offset, self.weight, self.bias, self.stride, self.padding, self.dilation, mask)

    def extra_repr(self) -> str:
        """The settings."""
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        text += f", padding={self.padding}" if self.padding != (0, 0) else ""
        text += f", dilation={self.dilation}" if self.dilation != (1, 1) else ""
        text += f", groups={self.groups}" if self.groups != 1 else ""
        return text + (", bias=False" if self.bias is None else "")
