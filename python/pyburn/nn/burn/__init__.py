"""Layers and losses that burn's burn-nn has and torch has not, under burn's names.

A burn `...Config` with `init` is here the class called with the config's fields. Those of burn's layers
that torch has too are in `pyburn.nn` under torch's names.
"""

from pyburn.nn.burn.activation import GaussianNoise, Shrink, SwiGlu, ThresholdedRelu
from pyburn.nn.burn.attention import (
    CrossAttention,
    PositionWiseFeedForward,
    generate_autoregressive_mask,
    generate_padding_mask,
)
from pyburn.nn.burn.deform import DeformConv2d, deform_conv2d
from pyburn.nn.burn.loss import LpLoss, RNNTLoss, rnnt_loss
from pyburn.nn.burn.position import PositionalEncoding, RotaryEncoding, generate_sinusoids

__all__ = [
    "CrossAttention",
    "DeformConv2d",
    "GaussianNoise",
    "LpLoss",
    "PositionWiseFeedForward",
    "PositionalEncoding",
    "RNNTLoss",
    "RotaryEncoding",
    "Shrink",
    "SwiGlu",
    "ThresholdedRelu",
    "deform_conv2d",
    "generate_autoregressive_mask",
    "generate_padding_mask",
    "generate_sinusoids",
    "rnnt_loss",
]
