"""MaxViT: convolutions, then attention inside windows, then attention between the same places of all windows.

Tu and others, "MaxViT: multi-axis vision transformer", https://arxiv.org/abs/2204.01697
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from typing import Any

from pyburn import nn
from pyburn._core import Tensor
from pyburn.ops import arange, meshgrid, stack, zeros
from pyburn.vision.models._blocks import Conv2dNormActivation, Layer, SqueezeExcitation, StochasticDepth, initialize
from pyburn.vision.models._building import Classifier, builder

__all__ = ["MaxVit", "maxvit_t"]

F = nn.functional


class MBConv(nn.Module):
    """A wide depthwise convolution with squeeze and excitation between narrow ends, added to what was there.

    Args:
        in_channels: Channels of the input.
        out_channels: Channels of the output.
        expansion_ratio: How many times as wide it is inside.
        squeeze_ratio: How wide squeeze and excitation is, as a share of the output.
        stride: 2 halves the size.
        activation_layer: What follows the normalizations.
        norm_layer: What normalizes.
        p_stochastic_dropout: The chance that it is left out while training.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        expansion_ratio: float,
        squeeze_ratio: float,
        stride: int,
        activation_layer: Layer,
        norm_layer: Layer,
        p_stochastic_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.proj: nn.Module = nn.Identity()
        if stride != 1 or in_channels != out_channels:
            pool = [nn.AvgPool2d(3, stride=stride, padding=1)] if stride == 2 else []
            self.proj = nn.Sequential(*pool, nn.Conv2d(in_channels, out_channels, 1))
        middle, squeezed = int(out_channels * expansion_ratio), int(out_channels * squeeze_ratio)
        self.stochastic_depth: nn.Module = nn.Identity()
        if p_stochastic_dropout:
            self.stochastic_depth = StochasticDepth(p_stochastic_dropout, "row")
        conv = partial(Conv2dNormActivation, activation_layer=activation_layer, norm_layer=norm_layer, inplace=None)
        layers: OrderedDict[str, nn.Module] = OrderedDict()
        layers["pre_norm"] = norm_layer(in_channels)
        layers["conv_a"] = conv(in_channels, middle, 1)
        layers["conv_b"] = conv(middle, middle, 3, stride, groups=middle)
        layers["squeeze_excitation"] = SqueezeExcitation(middle, squeezed, activation=nn.SiLU)
        layers["conv_c"] = nn.Conv2d(middle, out_channels, 1)
        self.layers = nn.Sequential(layers)

    def forward(self, x: Tensor) -> Tensor:  # (B, in_channels, H, W)
        """The image with its correction."""
        out: Tensor = self.proj(x) + self.stochastic_depth(self.layers(x))  # (B, out_channels, H / stride, W / stride)
        return out


class RelativePositionalMultiHeadAttention(nn.Module):
    """Attention inside each group of pixels, with a learned bias for each distance.

    Args:
        feat_dim: The width.
        head_dim: The width of a head.
        max_seq_len: How many pixels a group has, a square number.

    Raises:
        ValueError: `feat_dim` is no multiple of `head_dim`.
    """

    def __init__(self, feat_dim: int, head_dim: int, max_seq_len: int) -> None:
        super().__init__()
        if feat_dim % head_dim != 0:
            raise ValueError(f"feat_dim: {feat_dim} must be divisible by head_dim: {head_dim}")
        self.n_heads, self.head_dim = feat_dim // head_dim, head_dim
        self.size, self.max_seq_len = math.isqrt(max_seq_len), max_seq_len
        self.to_qkv = nn.Linear(feat_dim, 3 * feat_dim)
        self.scale_factor: float = feat_dim**-0.5
        self.merge = nn.Linear(feat_dim, feat_dim)
        distances = 2 * self.size - 1
        self.relative_position_bias_table = nn.Parameter(zeros(distances * distances, self.n_heads))
        places = stack(meshgrid(arange(self.size), arange(self.size), indexing="ij")).flatten(1)  # (2, N)
        apart = places[:, :, None] - places[:, None, :] + self.size - 1  # (2, N, N)
        self.register_buffer("relative_position_index", apart[0] * distances + apart[1])
        nn.init.trunc_normal_(self.relative_position_bias_table, std=0.02)

    def get_relative_positional_bias(self) -> Tensor:
        """The bias between each two pixels of a group."""
        N = self.max_seq_len
        bias = self.relative_position_bias_table[self.relative_position_index.view(-1)].view(N, N, -1)
        return bias.permute(2, 0, 1).contiguous().unsqueeze(0)  # (1, heads, N, N)

    def forward(self, x: Tensor) -> Tensor:  # (B, G, N, D)
        """The pixels, each knowing of the others of its group."""
        B, G, N, D = x.shape
        qkv = self.to_qkv(x).reshape(B, G, N, 3, self.n_heads, self.head_dim).permute(3, 0, 1, 4, 2, 5)
        scores = qkv[0] @ (qkv[1] * self.scale_factor).transpose(-2, -1)  # (B, G, heads, N, N)
        attention = F.softmax(scores + self.get_relative_positional_bias(), dim=-1)
        out = (attention @ qkv[2]).permute(0, 1, 3, 2, 4).reshape(B, G, N, D)
        merged: Tensor = self.merge(out)  # (B, G, N, D)
        return merged


class SwapAxes(nn.Module):
    """`swapaxes` as a layer."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__()
        self.a, self.b = a, b

    def forward(self, x: Tensor) -> Tensor:
        """The input with two dimensions exchanged."""
        return x.swapaxes(self.a, self.b)


class WindowPartition(nn.Module):
    """An image as windows."""

    def forward(self, x: Tensor, p: int) -> Tensor:  # (B, C, H, W)
        """The windows of height and width `p`."""
        B, C, H, W = x.shape
        x = x.reshape(B, C, H // p, p, W // p, p).permute(0, 2, 4, 3, 5, 1)
        return x.reshape(B, (H // p) * (W // p), p * p, C)  # (B, windows, p * p, C)


class WindowDepartition(nn.Module):
    """Windows as an image."""

    def forward(self, x: Tensor, p: int, h_partitions: int, w_partitions: int) -> Tensor:  # (B, windows, p * p, C)
        """The image of as many windows down and across."""
        B, _, _, C = x.shape
        x = x.reshape(B, h_partitions, w_partitions, p, p, C).permute(0, 5, 1, 3, 2, 4)
        return x.reshape(B, C, h_partitions * p, w_partitions * p)  # (B, C, H, W)


class PartitionAttentionLayer(nn.Module):
    """Attention and an MLP inside groups of pixels: windows, or the same place of every window.

    Args:
        in_channels: The width.
        head_dim: The width of a head.
        partition_size: The height and width of a group.
        partition_type: "window" or "grid".
        grid_size: The height and width of the image.
        mlp_ratio: How many times as wide the MLP is inside.
        activation_layer: The activation of the MLP.
        norm_layer: What normalizes before the attention.
        attention_dropout: The chance that what attention gives is zero while training.
        mlp_dropout: The same for the MLP.
        p_stochastic_dropout: The chance that either is left out while training.

    Raises:
        ValueError: `partition_type` is neither.
    """

    def __init__(
        self,
        in_channels: int,
        head_dim: int,
        partition_size: int,
        partition_type: str,
        grid_size: tuple[int, int],
        mlp_ratio: int,
        activation_layer: Layer,
        norm_layer: Layer,
        attention_dropout: float,
        mlp_dropout: float,
        p_stochastic_dropout: float,
    ) -> None:
        super().__init__()
        if partition_type not in ("grid", "window"):
            raise ValueError(f"partition_type must be either 'grid' or 'window', but got {partition_type!r}")
        self.n_heads, self.head_dim = in_channels // head_dim, head_dim
        self.n_partitions = grid_size[0] // partition_size
        self.partition_type, self.grid_size = partition_type, grid_size
        grid = partition_type == "grid"
        self.p, self.g = (self.n_partitions, partition_size) if grid else (partition_size, self.n_partitions)
        self.partition_op = WindowPartition()
        self.departition_op = WindowDepartition()
        self.partition_swap = SwapAxes(-2, -3) if grid else nn.Identity()
        self.departition_swap = SwapAxes(-2, -3) if grid else nn.Identity()
        self.attn_layer = nn.Sequential(
            norm_layer(in_channels),
            RelativePositionalMultiHeadAttention(in_channels, head_dim, partition_size**2),
            nn.Dropout(attention_dropout),
        )
        self.mlp_layer = nn.Sequential(
            nn.LayerNorm(in_channels),
            nn.Linear(in_channels, in_channels * mlp_ratio),
            activation_layer(),
            nn.Linear(in_channels * mlp_ratio, in_channels),
            nn.Dropout(mlp_dropout),
        )
        self.stochastic_dropout = StochasticDepth(p_stochastic_dropout, "row")

    def forward(self, x: Tensor) -> Tensor:  # (B, C, H, W)
        """The image with its corrections."""
        if tuple(x.shape[-2:]) != tuple(self.grid_size):
            raise ValueError(
                f"MaxVit: a layer made for images of {tuple(self.grid_size)} received {tuple(x.shape[-2:])}; resize "
                "the images, or make the model with input_size= the height and width of yours."
            )
        x = self.partition_swap(self.partition_op(x, self.p))  # (B, G, N, C)
        x = x + self.stochastic_dropout(self.attn_layer(x))
        x = x + self.stochastic_dropout(self.mlp_layer(x))
        down, across = self.grid_size[0] // self.p, self.grid_size[1] // self.p
        out: Tensor = self.departition_op(self.departition_swap(x), self.p, down, across)  # (B, C, H, W)
        return out


class MaxVitLayer(nn.Module):
    """A convolution, attention inside windows and attention across them; see their classes for the arguments."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        squeeze_ratio: float,
        expansion_ratio: float,
        stride: int,
        norm_layer: Layer,
        activation_layer: Layer,
        head_dim: int,
        mlp_ratio: int,
        mlp_dropout: float,
        attention_dropout: float,
        p_stochastic_dropout: float,
        partition_size: int,
        grid_size: tuple[int, int],
    ) -> None:
        super().__init__()
        attention = partial(
            PartitionAttentionLayer,
            in_channels=out_channels,
            head_dim=head_dim,
            partition_size=partition_size,
            grid_size=grid_size,
            mlp_ratio=mlp_ratio,
            activation_layer=activation_layer,
            norm_layer=nn.LayerNorm,
            attention_dropout=attention_dropout,
            mlp_dropout=mlp_dropout,
            p_stochastic_dropout=p_stochastic_dropout,
        )
        ratios = (expansion_ratio, squeeze_ratio)
        layers: OrderedDict[str, nn.Module] = OrderedDict()
        layers["MBconv"] = MBConv(
            in_channels, out_channels, *ratios, stride, activation_layer, norm_layer, p_stochastic_dropout
        )
        layers["window_attention"] = attention(partition_type="window")
        layers["grid_attention"] = attention(partition_type="grid")
        self.layers = nn.Sequential(layers)

    def forward(self, x: Tensor) -> Tensor:  # (B, in_channels, H, W)
        """The image through all three."""
        out: Tensor = self.layers(x)  # (B, out_channels, H / stride, W / stride)
        return out


def _halved(size: Sequence[int]) -> tuple[int, int]:
    """The size after a convolution of stride 2."""
    return (size[0] - 1) // 2 + 1, (size[1] - 1) // 2 + 1


class MaxVitBlock(nn.Module):
    """Layers of one size, the first of which halves it; see `MaxVitLayer` for the other arguments.

    Args:
        in_channels: Channels of the input.
        out_channels: Channels of the output.
        input_grid_size: The height and width of the input.
        n_layers: How many layers there are.
        p_stochastic: For each layer the chance that its parts are left out while training.
        **kwargs: The other settings of each layer.

    Raises:
        ValueError: There are not `n_layers` chances.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        input_grid_size: tuple[int, int],
        n_layers: int,
        p_stochastic: Sequence[float],
        **kwargs: Any,
    ) -> None:
        super().__init__()
        if len(p_stochastic) != n_layers:
            raise ValueError(f"p_stochastic must have length n_layers={n_layers}, got p_stochastic={p_stochastic}.")
        self.layers = nn.ModuleList()
        self.grid_size = _halved(input_grid_size)
        for i, chance in enumerate(p_stochastic):
            self.layers.append(
                MaxVitLayer(
                    out_channels if i else in_channels,
                    out_channels,
                    stride=1 if i else 2,
                    grid_size=self.grid_size,
                    p_stochastic_dropout=chance,
                    **kwargs,
                )
            )

    def forward(self, x: Tensor) -> Tensor:  # (B, in_channels, H, W)
        """The image through all layers."""
        for layer in self.layers:
            x = layer(x)
        return x  # (B, out_channels, H / 2, W / 2)


def _check_sizes(input_size: Sequence[int], blocks: int, partition_size: int) -> None:
    sizes, size = [], _halved(input_size)
    for _ in range(blocks):
        size = _halved(size)
        sizes.append(size)
    for i, size in enumerate(sizes):
        if size[0] % partition_size or size[1] % partition_size:
            raise ValueError(
                f"Input size {size} of block {i} is not divisible by partition size {partition_size}. "
                "Consider changing the partition size or the input size.\n"
                f"Current configuration yields the following block input sizes: {sizes}."
            )


class MaxVit(Classifier):
    """MaxViT for images of one size.

    Args:
        input_size: The height and width of the images.
        stem_channels: The width of the first convolutions.
        partition_size: The height and width of a window, and of the grid of windows.
        block_channels: The width of each block.
        block_layers: How many layers each block has.
        head_dim: The width of a head of attention.
        stochastic_depth_prob: The chance that the last layer is left out while training; earlier ones have less.
        norm_layer: What normalizes between convolutions.
        activation_layer: The activation of convolutions and MLPs.
        squeeze_ratio: How wide squeeze and excitation is, as a share of the width.
        expansion_ratio: How many times as wide convolutions are inside.
        mlp_ratio: How many times as wide MLPs are inside.
        mlp_dropout: The chance that what an MLP gives is zero while training.
        attention_dropout: The same for attention.
        num_classes: How many classes there are.

    Raises:
        ValueError: The images cannot be cut into windows in every block.
    """

    def __init__(
        self,
        input_size: tuple[int, int],
        stem_channels: int,
        partition_size: int,
        block_channels: Sequence[int],
        block_layers: Sequence[int],
        head_dim: int,
        stochastic_depth_prob: float,
        norm_layer: Layer | None = None,
        activation_layer: Layer = nn.GELU,
        squeeze_ratio: float = 0.25,
        expansion_ratio: float = 4,
        mlp_ratio: int = 4,
        mlp_dropout: float = 0.0,
        attention_dropout: float = 0.0,
        num_classes: int = 1000,
    ) -> None:
        super().__init__()
        self.num_classes = num_classes
        _check_sizes(input_size, len(block_channels), partition_size)
        norm_layer = norm_layer or partial(nn.BatchNorm2d, eps=1e-3, momentum=0.01)
        first: dict[str, Any] = {
            "norm_layer": norm_layer,
            "activation_layer": activation_layer,
            "bias": False,
            "inplace": None,
        }
        self.stem = nn.Sequential(
            Conv2dNormActivation(3, stem_channels, 3, stride=2, **first),
            Conv2dNormActivation(stem_channels, stem_channels, 3, norm_layer=None, activation_layer=None, bias=True),
        )
        self.partition_size = partition_size
        self.blocks = nn.ModuleList()
        size, before, total = _halved(input_size), stem_channels, sum(block_layers)
        step = stochastic_depth_prob / max(total - 1, 1)
        # The last one is the number itself, which the product may miss by its last bit.
        chances = [i * step for i in range(total - 1)] + [stochastic_depth_prob if total > 1 else 0.0]
        for channels, count in zip(block_channels, block_layers, strict=True):
            block = MaxVitBlock(
                before,
                channels,
                squeeze_ratio=squeeze_ratio,
                expansion_ratio=expansion_ratio,
                norm_layer=norm_layer,
                activation_layer=activation_layer,
                head_dim=head_dim,
                mlp_ratio=mlp_ratio,
                mlp_dropout=mlp_dropout,
                attention_dropout=attention_dropout,
                partition_size=partition_size,
                input_grid_size=size,
                n_layers=count,
                p_stochastic=chances[:count],
            )
            self.blocks.append(block)
            size, before, chances = block.grid_size, channels, chances[count:]
        self.classifier = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.LayerNorm(before),
            nn.Linear(before, before),
            nn.Tanh(),
            nn.Linear(before, num_classes, bias=False),
        )
        draw = partial(nn.init.normal_, std=0.02)
        initialize(self, conv=draw, linear=draw)

    def forward(self, x: Tensor) -> Tensor:  # (B, 3, H, W)
        """A score for each class."""
        x = self.stem(x)  # (B, stem_channels, H / 2, W / 2)
        for block in self.blocks:
            x = block(x)
        scores: Tensor = self.classifier(x)  # (B, num_classes)
        return scores


@builder
def maxvit_t(**kwargs: Any) -> MaxVit:
    """MaxViT, tiny, for images of 224 by 224 or of `input_size`."""
    sizes: dict[str, Any] = {"block_channels": [64, 128, 256, 512], "block_layers": [2, 2, 5, 2], "partition_size": 7}
    defaults = {"input_size": (224, 224), "stem_channels": 64, "head_dim": 32, "stochastic_depth_prob": 0.2}
    return MaxVit(**{**sizes, **defaults, **kwargs})
