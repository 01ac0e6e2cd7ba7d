"""ViT: an image is a sentence of patches, read by a plain transformer.

Dosovitskiy and others, "An image is worth 16x16 words: transformers for image recognition at scale",
https://arxiv.org/abs/2010.11929
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from pyburn import nn
from pyburn._checks import _assert
from pyburn._core import Tensor
from pyburn.ops import cat, empty, zeros
from pyburn.vision.models._blocks import MLP, Conv2dNormActivation, Layer, initialize, initialize_mlp
from pyburn.vision.models._building import Classifier, builder_with

__all__ = ["VisionTransformer", "interpolate_embeddings", "vit_b_16", "vit_b_32", "vit_h_14", "vit_l_16", "vit_l_32"]

NORM = partial(nn.LayerNorm, eps=1e-6)


class ConvStemConfig(NamedTuple):
    """One convolution of a stem that takes the place of the patches."""

    out_channels: int
    kernel_size: int
    stride: int
    norm_layer: Layer = nn.BatchNorm2d
    activation_layer: Layer = nn.ReLU


class MLPBlock(MLP):
    """Two linear layers for each patch."""

    def __init__(self, in_dim: int, mlp_dim: int, dropout: float) -> None:
        super().__init__(in_dim, [mlp_dim, in_dim], activation_layer=nn.GELU, dropout=dropout)
        initialize_mlp(self)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        # The published files are from a time when the layers had names.
        for old, new in (("linear_1", "0"), ("linear_2", "3")):
            for kind in ("weight", "bias"):
                if f"{prefix}{old}.{kind}" in state_dict:
                    state_dict[f"{prefix}{new}.{kind}"] = state_dict.pop(f"{prefix}{old}.{kind}")
        super()._load_from_state_dict(state_dict, prefix, *args)


class EncoderBlock(nn.Module):
    """Attention between the patches, then an MLP for each, both added to what was there."""

    def __init__(
        self,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float,
        attention_dropout: float,
        norm_layer: Layer = NORM,
    ) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.ln_1 = norm_layer(hidden_dim)
        self.self_attention = nn.MultiheadAttention(hidden_dim, num_heads, dropout=attention_dropout, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.ln_2 = norm_layer(hidden_dim)
        self.mlp = MLPBlock(hidden_dim, mlp_dim, dropout)

    def forward(self, input: Tensor) -> Tensor:  # (B, T, D)
        """The patches, each knowing of the others."""
        x = self.ln_1(input)
        x, _ = self.self_attention(x, x, x, need_weights=False)
        x = self.dropout(x) + input  # (B, T, D)
        out: Tensor = x + self.mlp(self.ln_2(x))  # (B, T, D)
        return out


class Encoder(nn.Module):
    """Adds where each patch is, and reads them with all blocks."""

    def __init__(
        self,
        seq_length: int,
        num_layers: int,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float,
        attention_dropout: float,
        norm_layer: Layer = NORM,
    ) -> None:
        super().__init__()
        self.pos_embedding = nn.Parameter(empty(1, seq_length, hidden_dim).normal_(std=0.02))
        self.dropout = nn.Dropout(dropout)
        sizes = (num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer)
        self.layers = nn.Sequential(
            OrderedDict((f"encoder_layer_{i}", EncoderBlock(*sizes)) for i in range(num_layers))
        )
        self.ln = norm_layer(hidden_dim)

    def forward(self, input: Tensor) -> Tensor:  # (B, T, D)
        """The patches after all blocks."""
        out: Tensor = self.ln(self.layers(self.dropout(input + self.pos_embedding)))  # (B, T, D)
        return out


class VisionTransformer(Classifier):
    """ViT for square images of one size.

    Args:
        image_size: The height and width of the images.
        patch_size: The height and width of a patch.
        num_layers: How many blocks there are.
        num_heads: How many heads the attention has.
        hidden_dim: The width of a patch inside.
        mlp_dim: The width inside the MLP.
        dropout: The chance that a feature is zero while training.
        attention_dropout: The same for what attention looks at.
        num_classes: How many classes there are.
        representation_size: The width of a layer before the last; None for none.
        norm_layer: What normalizes.
        conv_stem_configs: Convolutions instead of patches.
    """

    def __init__(
        self,
        image_size: int,
        patch_size: int,
        num_layers: int,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        num_classes: int = 1000,
        representation_size: int | None = None,
        norm_layer: Layer = NORM,
        conv_stem_configs: Sequence[ConvStemConfig] | None = None,
    ) -> None:
        super().__init__()
        if image_size % patch_size:
            raise AssertionError("Input shape indivisible by patch size!")
        self.image_size, self.patch_size = image_size, patch_size
        self.hidden_dim, self.mlp_dim = hidden_dim, mlp_dim
        self.attention_dropout, self.dropout = attention_dropout, dropout
        self.num_classes, self.representation_size = num_classes, representation_size
        self.norm_layer = norm_layer
        self.conv_proj: nn.Module
        if conv_stem_configs is None:
            self.conv_proj = nn.Conv2d(3, hidden_dim, patch_size, stride=patch_size)
        else:
            self.conv_proj = _stem(conv_stem_configs, hidden_dim)
        self.class_token = nn.Parameter(zeros(1, 1, hidden_dim))
        self.seq_length = (image_size // patch_size) ** 2 + 1
        sizes = (num_layers, num_heads, hidden_dim, mlp_dim, dropout, attention_dropout)
        self.encoder = Encoder(self.seq_length, *sizes, norm_layer)
        heads = OrderedDict[str, nn.Module]()
        if representation_size is not None:
            heads["pre_logits"] = nn.Linear(hidden_dim, representation_size)
            heads["act"] = nn.Tanh()
        heads["head"] = nn.Linear(representation_size or hidden_dim, num_classes)
        self.heads = nn.Sequential(heads)
        self._draw_weights()

    def _draw_weights(self) -> None:
        if isinstance(self.conv_proj, nn.Conv2d):
            fan_in = 3 * self.patch_size**2
            initialize(self.conv_proj, conv=partial(nn.init.trunc_normal_, std=math.sqrt(1 / fan_in)))
        else:
            last = partial(nn.init.normal_, std=math.sqrt(2.0 / self.hidden_dim))
            initialize(self.conv_proj.conv_last, conv=last)
        if self.representation_size is not None:
            fan_in = self.hidden_dim
            initialize(self.heads.pre_logits, linear=partial(nn.init.trunc_normal_, std=math.sqrt(1 / fan_in)))
        initialize(self.heads.head, linear=nn.init.zeros_)

    def _process_input(self, x: Tensor) -> Tensor:  # (B, 3, image_size, image_size)
        """The patches as tokens; programs that want features of the encoder call it."""
        batch, _, height, width = x.shape
        _assert(height == self.image_size, f"Wrong image height! Expected {self.image_size} but got {height}!")
        _assert(width == self.image_size, f"Wrong image width! Expected {self.image_size} but got {width}!")
        rows, columns = height // self.patch_size, width // self.patch_size
        x = self.conv_proj(x).reshape(batch, self.hidden_dim, rows * columns)  # (B, D, T - 1)
        return x.permute(0, 2, 1)  # (B, T - 1, D)

    def forward(self, x: Tensor) -> Tensor:  # (B, 3, image_size, image_size)
        """A score for each class."""
        x = self._process_input(x)  # (B, T - 1, D)
        token = self.class_token.expand(x.shape[0], -1, -1)  # (B, 1, D)
        x = self.encoder(cat([token, x], dim=1))  # (B, T, D)
        scores: Tensor = self.heads(x[:, 0])  # (B, num_classes)
        return scores


def _stem(configs: Sequence[ConvStemConfig], hidden_dim: int) -> nn.Sequential:
    layers = OrderedDict[str, nn.Module]()
    channels = 3
    for i, (width, kernel, stride, norm, activation) in enumerate(configs):
        layers[f"conv_bn_relu_{i}"] = Conv2dNormActivation(
            channels, width, kernel, stride, norm_layer=norm, activation_layer=activation
        )
        channels = width
    layers["conv_last"] = nn.Conv2d(channels, hidden_dim, 1)
    return nn.Sequential(layers)


def interpolate_embeddings(
    image_size: int,
    patch_size: int,
    model_state: dict[str, Tensor],
    interpolation_mode: str = "bicubic",
    reset_heads: bool = False,
) -> dict[str, Tensor]:
    """A state dict for images of another size: the places of the patches are interpolated.

    Args:
        image_size: The new size.
        patch_size: The size of the patches.
        model_state: The state dict of a `VisionTransformer`.
        interpolation_mode: How `interpolate` works.
        reset_heads: Whether the last layers are left out.
    """
    places = model_state["encoder.pos_embedding"]  # (1, T, D)
    side, wanted = math.isqrt(places.shape[1] - 1), image_size // patch_size
    if places.shape[0] != 1 or side * side != places.shape[1] - 1:
        raise ValueError(f"Unexpected position embedding shape: {places.shape}")
    if side == wanted:
        return model_state
    grid = places[:, 1:].permute(0, 2, 1).reshape(1, -1, side, side)  # (1, D, side, side)
    grid = nn.functional.interpolate(grid, size=wanted, mode=interpolation_mode, align_corners=True)
    moved = cat([places[:, :1], grid.flatten(2).permute(0, 2, 1)], dim=1)  # (1, wanted ** 2 + 1, D)
    kept = {key: value for key, value in model_state.items() if not (reset_heads and key.startswith("heads"))}
    return {**kept, "encoder.pos_embedding": moved}


def _size_of(patch_size: int) -> Callable[[dict[str, Any], dict[str, Any], bool], dict[str, Any]]:
    """Without another word the images have the size that the weights were trained on."""

    def prepare(state: dict[str, Any], settings: dict[str, Any], torchvisions: bool) -> dict[str, Any]:
        places = state.get("encoder.pos_embedding")
        if places is not None:
            settings.setdefault("image_size", math.isqrt(places.shape[1] - 1) * patch_size)
        return state

    return prepare


def _vit(patch_size: int, layers: int, heads: int, hidden: int, mlp: int, kwargs: dict[str, Any]) -> VisionTransformer:
    image_size = kwargs.pop("image_size", 224)
    return VisionTransformer(image_size, patch_size, layers, heads, hidden, mlp, **kwargs)


@builder_with(_size_of(16))
def vit_b_16(**kwargs: Any) -> VisionTransformer:
    """ViT, base, with patches of 16 by 16 pixels."""
    return _vit(16, 12, 12, 768, 3072, kwargs)


@builder_with(_size_of(32))
def vit_b_32(**kwargs: Any) -> VisionTransformer:
    """ViT, base, with patches of 32 by 32 pixels."""
    return _vit(32, 12, 12, 768, 3072, kwargs)


@builder_with(_size_of(16))
def vit_l_16(**kwargs: Any) -> VisionTransformer:
    """ViT, large, with patches of 16 by 16 pixels."""
    return _vit(16, 24, 16, 1024, 4096, kwargs)


@builder_with(_size_of(32))
def vit_l_32(**kwargs: Any) -> VisionTransformer:
    """ViT, large, with patches of 32 by 32 pixels."""
    return _vit(32, 24, 16, 1024, 4096, kwargs)


@builder_with(_size_of(14))
def vit_h_14(**kwargs: Any) -> VisionTransformer:
    """ViT, huge, with patches of 14 by 14 pixels."""
    return _vit(14, 32, 16, 1280, 5120, kwargs)
