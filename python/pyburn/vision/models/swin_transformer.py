"""Swin: attention inside small windows, which move by half of their size from block to block.

Liu and others, "Swin Transformer: hierarchical vision transformer using shifted windows",
https://arxiv.org/abs/2103.14030
Liu and others, "Swin Transformer V2: scaling up capacity and resolution", https://arxiv.org/abs/2111.09883
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from pyburn import nn
from pyburn._core import Tensor, float32
from pyburn.ops import arange, cat, meshgrid, ones, roll, stack, zeros
from pyburn.vision.models._blocks import MLP, Layer, Permute, StochasticDepth, initialize, initialize_mlp
from pyburn.vision.models._building import Classifier, builder

__all__ = ["SwinTransformer", "swin_b", "swin_s", "swin_t", "swin_v2_b", "swin_v2_s", "swin_v2_t"]

F = nn.functional


def _neighbours(x: Tensor) -> Tensor:  # (B, H, W, C)
    """Each two by two pixels as one with all their channels."""
    H, W = x.shape[-3:-1]
    x = F.pad(x, (0, 0, 0, W % 2, 0, H % 2))
    return cat([x[..., i::2, j::2, :] for j in (0, 1) for i in (0, 1)], -1)  # (B, H / 2, W / 2, 4 * C)


class PatchMerging(nn.Module):
    """Halves the size and doubles the width."""

    def __init__(self, dim: int, norm_layer: Layer = nn.LayerNorm) -> None:
        super().__init__()
        self.dim = dim
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)
        self.norm = norm_layer(4 * dim)

    def forward(self, x: Tensor) -> Tensor:  # (B, H, W, dim)
        """The smaller image."""
        out: Tensor = self.reduction(self.norm(_neighbours(x)))  # (B, H / 2, W / 2, 2 * dim)
        return out


class PatchMergingV2(nn.Module):
    """Halves the size and doubles the width, and normalizes afterwards."""

    def __init__(self, dim: int, norm_layer: Layer = nn.LayerNorm) -> None:
        super().__init__()
        self.dim = dim
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)
        self.norm = norm_layer(2 * dim)

    def forward(self, x: Tensor) -> Tensor:  # (B, H, W, dim)
        """The smaller image."""
        out: Tensor = self.norm(self.reduction(_neighbours(x)))  # (B, H / 2, W / 2, 2 * dim)
        return out


def _windows(x: Tensor, height: int, width: int) -> Tensor:  # (B, H, W, C)
    B, H, W, C = x.shape
    x = x.view(B, H // height, height, W // width, width, C).permute(0, 1, 3, 2, 4, 5)
    return x.reshape(-1, height * width, C)  # (B * windows, height * width, C)


def _image(x: Tensor, shape: Sequence[int], height: int, width: int) -> Tensor:  # (B * windows, height * width, C)
    B, H, W, C = shape
    x = x.view(B, H // height, W // width, height, width, C).permute(0, 1, 3, 2, 4, 5)
    return x.reshape(B, H, W, C)


def _strangers(x: Tensor, window: Sequence[int], shift: Sequence[int]) -> Tensor:  # (B, H, W, C)
    """-100 where two pixels share a window only because the image was rolled around its edges, else 0."""
    H, W = x.shape[1:3]
    regions = zeros(1, H, W, 1, dtype=x.dtype, device=x.device)
    rows = (slice(0, -window[0]), slice(-window[0], -shift[0]), slice(-shift[0], None))
    columns = (slice(0, -window[1]), slice(-window[1], -shift[1]), slice(-shift[1], None))
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            regions[:, row, column] = 3.0 * i + j
    of_pixel = _windows(regions, window[0], window[1]).squeeze(-1)  # (windows, N)
    apart = of_pixel.unsqueeze(1) != of_pixel.unsqueeze(2)  # (windows, N, N)
    return apart.to(x.dtype) * -100.0


class ShiftedWindowAttention(nn.Module):
    """Attention between the pixels of each window, with a bias for each distance.

    Args:
        dim: The width.
        window_size: The height and width of a window.
        shift_size: By how much the windows are moved.
        num_heads: How many heads the attention has.
        qkv_bias: Whether queries, keys and values have a bias.
        proj_bias: Whether the last layer has one.
        attention_dropout: The chance that attention overlooks a pixel while training.
        dropout: The chance that a feature is zero while training.
    """

    def __init__(
        self,
        dim: int,
        window_size: Sequence[int],
        shift_size: Sequence[int],
        num_heads: int,
        qkv_bias: bool = True,
        proj_bias: bool = True,
        attention_dropout: float = 0.0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if len(window_size) != 2 or len(shift_size) != 2:
            raise ValueError("window_size and shift_size must be of length 2")
        self.window_size, self.shift_size = list(window_size), list(shift_size)
        self.num_heads, self.attention_dropout, self.dropout = num_heads, attention_dropout, dropout
        self.qkv = nn.Linear(dim, 3 * dim, bias=qkv_bias)
        self.proj = nn.Linear(dim, dim, bias=proj_bias)
        self._make_table()
        height, width = self.window_size
        pixels = stack(meshgrid(arange(height), arange(width), indexing="ij")).flatten(1)  # (2, N)
        apart = pixels[:, :, None] - pixels[:, None, :]  # (2, N, N)
        index = (apart[0] + height - 1) * (2 * width - 1) + apart[1] + width - 1  # (N, N)
        self.register_buffer("relative_position_index", index.flatten())

    def _make_table(self) -> None:
        """Learned biases, one row for each distance."""
        rows = (2 * self.window_size[0] - 1) * (2 * self.window_size[1] - 1)
        self.relative_position_bias_table = nn.Parameter(zeros(rows, self.num_heads))
        nn.init.trunc_normal_(self.relative_position_bias_table, std=0.02)

    def _table(self) -> Tensor:
        table: Tensor = self.relative_position_bias_table  # (distances, heads)
        return table

    def get_relative_position_bias(self) -> Tensor:
        """The bias between each two pixels of a window."""
        N = self.window_size[0] * self.window_size[1]
        bias = self._table()[self.relative_position_index].view(N, N, -1)  # (N, N, heads)
        return bias.permute(2, 0, 1).contiguous().unsqueeze(0)  # (1, heads, N, N)

    def _project(self, x: Tensor) -> Tensor:
        projected: Tensor = self.qkv(x)
        return projected

    def _scores(self, q: Tensor, k: Tensor) -> Tensor:  # (windows, heads, N, D)
        scale: float = q.shape[-1] ** -0.5
        return (q * scale).matmul(k.transpose(-2, -1))  # (windows, heads, N, N)

    def forward(self, x: Tensor) -> Tensor:  # (B, H, W, C)
        """The pixels, each knowing of the others in its window."""
        _, H, W, C = x.shape
        height, width = self.window_size
        x = F.pad(x, (0, 0, 0, -W % width, 0, -H % height))  # whole windows
        shape = x.shape
        # A window as large as the image sees all of it already.
        shift = [0 if size >= whole else by for by, size, whole in zip(self.shift_size, self.window_size, shape[1:3])]
        if sum(shift):
            x = roll(x, (-shift[0], -shift[1]), (1, 2))
        tokens = _windows(x, height, width)  # (B * windows, N, C)
        count, N, _ = tokens.shape
        qkv = self._project(tokens).reshape(count, N, 3, self.num_heads, C // self.num_heads).permute(2, 0, 3, 1, 4)
        attention = self._scores(qkv[0], qkv[1]) + self.get_relative_position_bias()  # (B * windows, heads, N, N)
        if sum(shift):
            mask = _strangers(x, self.window_size, shift)  # (windows, N, N)
            attention = attention.view(-1, mask.shape[0], self.num_heads, N, N) + mask.unsqueeze(1)
            attention = attention.view(count, self.num_heads, N, N)
        attention = F.dropout(F.softmax(attention, dim=-1), self.attention_dropout, self.training)
        out = attention.matmul(qkv[2]).transpose(1, 2).reshape(count, N, C)  # (B * windows, N, C)
        out = F.dropout(self.proj(out), self.dropout, self.training)
        out = _image(out, shape, height, width)  # (B, H, W, C), padded
        if sum(shift):
            out = roll(out, (shift[0], shift[1]), (1, 2))
        return out[:, :H, :W].contiguous()  # (B, H, W, C)


class ShiftedWindowAttentionV2(ShiftedWindowAttention):
    """Version 2: angles between queries and keys, and biases that a small network makes from the distances."""

    def __init__(
        self, dim: int, window_size: Sequence[int], shift_size: Sequence[int], num_heads: int, **kwargs: Any
    ) -> None:
        super().__init__(dim, window_size, shift_size, num_heads, **kwargs)
        self.logit_scale = nn.Parameter((10 * ones(num_heads, 1, 1)).log())
        self.cpb_mlp = nn.Sequential(nn.Linear(2, 512), nn.ReLU(inplace=True), nn.Linear(512, num_heads, bias=False))
        if self.qkv.bias is not None:
            self.qkv.bias.data[dim : 2 * dim].zero_()

    def _make_table(self) -> None:
        """Distances on a logarithmic scale."""
        ways = [arange(1 - size, size, dtype=float32) / (size - 1) * 8 for size in self.window_size]
        table = stack(meshgrid(ways[0], ways[1], indexing="ij"), -1).unsqueeze(0)  # (1, rows, columns, 2)
        self.register_buffer("relative_coords_table", table.sign() * (table.abs() + 1.0).log2() / 3.0)

    def _table(self) -> Tensor:
        made: Tensor = self.cpb_mlp(self.relative_coords_table).view(-1, self.num_heads)  # (distances, heads)
        return made

    def get_relative_position_bias(self) -> Tensor:
        """The bias between each two pixels of a window."""
        return 16 * super().get_relative_position_bias().sigmoid()

    def _project(self, x: Tensor) -> Tensor:
        if self.qkv.bias is None:
            return super()._project(x)
        query, key, value = self.qkv.bias.chunk(3)
        no_key = zeros(key.shape, dtype=key.dtype, device=key.device)
        return F.linear(x, self.qkv.weight, cat([query, no_key, value]))

    def _scores(self, q: Tensor, k: Tensor) -> Tensor:  # (windows, heads, N, D)
        angles = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1)  # (windows, heads, N, N)
        return angles * self.logit_scale.clamp(max=math.log(100.0)).exp()


class SwinTransformerBlock(nn.Module):
    """Attention inside windows, then an MLP for each pixel, both added to what was there."""

    def __init__(
        self,
        dim: int,
        num_heads: int,
        window_size: Sequence[int],
        shift_size: Sequence[int],
        mlp_ratio: float = 4.0,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        stochastic_depth_prob: float = 0.0,
        norm_layer: Layer = nn.LayerNorm,
        attn_layer: Layer = ShiftedWindowAttention,
    ) -> None:
        super().__init__()
        self.norm1 = norm_layer(dim)
        chances = {"attention_dropout": attention_dropout, "dropout": dropout}
        self.attn = attn_layer(dim, window_size, shift_size, num_heads, **chances)
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")
        self.norm2 = norm_layer(dim)
        self.mlp = MLP(dim, [int(dim * mlp_ratio), dim], activation_layer=nn.GELU, dropout=dropout)
        initialize_mlp(self.mlp)

    def forward(self, x: Tensor) -> Tensor:  # (B, H, W, dim)
        """The pixels with their corrections."""
        x = x + self.stochastic_depth(self.attn(self.norm1(x)))
        out: Tensor = x + self.stochastic_depth(self.mlp(self.norm2(x)))
        return out


class SwinTransformerBlockV2(SwinTransformerBlock):
    """Version 2: the corrections are normalized, not what they are made from."""

    def __init__(self, dim: int, num_heads: int, **kwargs: Any) -> None:
        super().__init__(dim, num_heads, **{"attn_layer": ShiftedWindowAttentionV2, **kwargs})

    def forward(self, x: Tensor) -> Tensor:  # (B, H, W, dim)
        """The pixels with their corrections."""
        x = x + self.stochastic_depth(self.norm1(self.attn(x)))
        out: Tensor = x + self.stochastic_depth(self.norm2(self.mlp(x)))
        return out


class SwinTransformer(Classifier):
    """Swin for images of any size.

    Args:
        patch_size: The height and width of the first patches.
        embed_dim: The width of the first stage; each later one is twice as wide.
        depths: How many blocks each stage has.
        num_heads: How many heads the attention of each stage has.
        window_size: The height and width of a window.
        mlp_ratio: How many times as wide the MLP is inside.
        dropout: The chance that a feature is zero while training.
        attention_dropout: The same for what attention looks at.
        stochastic_depth_prob: The chance that the last block is left out while training; earlier ones have less.
        num_classes: How many classes there are.
        norm_layer: What normalizes.
        block: Another class for the blocks.
        downsample_layer: Another class for what is between the stages.
    """

    def __init__(
        self,
        patch_size: Sequence[int],
        embed_dim: int,
        depths: Sequence[int],
        num_heads: Sequence[int],
        window_size: Sequence[int],
        mlp_ratio: float = 4.0,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        stochastic_depth_prob: float = 0.1,
        num_classes: int = 1000,
        norm_layer: Layer | None = None,
        block: Layer | None = None,
        downsample_layer: Layer = PatchMerging,
    ) -> None:
        super().__init__()
        self.num_classes = num_classes
        norm_layer = norm_layer or partial(nn.LayerNorm, eps=1e-5)
        block = partial(
            block or SwinTransformerBlock,
            window_size=window_size,
            mlp_ratio=mlp_ratio,
            dropout=dropout,
            attention_dropout=attention_dropout,
            norm_layer=norm_layer,
        )
        patches = nn.Conv2d(3, embed_dim, tuple(patch_size), stride=tuple(patch_size))
        layers: list[nn.Module] = [nn.Sequential(patches, Permute([0, 2, 3, 1]), norm_layer(embed_dim))]
        dim, count = embed_dim, 0
        for i, (depth, heads) in enumerate(zip(depths, num_heads, strict=True)):
            stage = []
            for j in range(depth):
                shift = [0 if j % 2 == 0 else size // 2 for size in window_size]
                chance = stochastic_depth_prob * count / (sum(depths) - 1)
                stage.append(block(dim, heads, shift_size=shift, stochastic_depth_prob=chance))
                count += 1
            layers.append(nn.Sequential(*stage))
            if i < len(depths) - 1:
                layers.append(downsample_layer(dim, norm_layer))
                dim *= 2
        self.features = nn.Sequential(*layers)
        self.norm = norm_layer(dim)
        self.permute = Permute([0, 3, 1, 2])
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten(1)
        self.head = nn.Linear(dim, num_classes)
        initialize(self, linear=partial(nn.init.trunc_normal_, std=0.02))

    def forward(self, x: Tensor) -> Tensor:  # (B, 3, H, W)
        """A score for each class."""
        x = self.norm(self.features(x))  # (B, H / 32, W / 32, D)
        x = self.flatten(self.avgpool(self.permute(x)))  # (B, D)
        scores: Tensor = self.head(x)  # (B, num_classes)
        return scores


def _swin(embed: int, depths: list[int], heads: list[int], chance: float, kwargs: dict[str, Any]) -> SwinTransformer:
    return SwinTransformer([4, 4], embed, depths, heads, [7, 7], **{"stochastic_depth_prob": chance, **kwargs})


def _swin_v2(embed: int, depths: list[int], heads: list[int], chance: float, kwargs: dict[str, Any]) -> SwinTransformer:
    settings = {"block": SwinTransformerBlockV2, "downsample_layer": PatchMergingV2, "stochastic_depth_prob": chance}
    return SwinTransformer([4, 4], embed, depths, heads, [8, 8], **{**settings, **kwargs})


@builder
def swin_t(**kwargs: Any) -> SwinTransformer:
    """Swin, tiny."""
    return _swin(96, [2, 2, 6, 2], [3, 6, 12, 24], 0.2, kwargs)


@builder
def swin_s(**kwargs: Any) -> SwinTransformer:
    """Swin, small."""
    return _swin(96, [2, 2, 18, 2], [3, 6, 12, 24], 0.3, kwargs)


@builder
def swin_b(**kwargs: Any) -> SwinTransformer:
    """Swin, base."""
    return _swin(128, [2, 2, 18, 2], [4, 8, 16, 32], 0.5, kwargs)


@builder
def swin_v2_t(**kwargs: Any) -> SwinTransformer:
    """Swin v2, tiny."""
    return _swin_v2(96, [2, 2, 6, 2], [3, 6, 12, 24], 0.2, kwargs)


@builder
def swin_v2_s(**kwargs: Any) -> SwinTransformer:
    """Swin v2, small."""
    return _swin_v2(96, [2, 2, 18, 2], [3, 6, 12, 24], 0.3, kwargs)


@builder
def swin_v2_b(**kwargs: Any) -> SwinTransformer:
    """Swin v2, base."""
    return _swin_v2(128, [2, 2, 18, 2], [4, 8, 16, 32], 0.5, kwargs)
