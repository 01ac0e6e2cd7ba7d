"""Keras's layers, with Keras's names, arguments, defaults and layouts of weights."""

from __future__ import annotations

from typing import Any

from pyburn.keras._registry import deserialize_keras_object as _deserialize
from pyburn.keras._registry import serialize_keras_object as _serialize
from pyburn.keras.layer import InputSpec, Layer
from pyburn.keras.layers import activation as _activation
from pyburn.keras.layers import attention as _attention
from pyburn.keras.layers import audio as _audio
from pyburn.keras.layers import cells as _cells
from pyburn.keras.layers import colors as _colors
from pyburn.keras.layers import conv as _conv
from pyburn.keras.layers import convlstm as _convlstm
from pyburn.keras.layers import core as _core_layers
from pyburn.keras.layers import lookup as _lookup
from pyburn.keras.layers import merging as _merging
from pyburn.keras.layers import mixing as _mixing
from pyburn.keras.layers import normalization as _normalization
from pyburn.keras.layers import pooling as _pooling
from pyburn.keras.layers import preprocessing as _preprocessing
from pyburn.keras.layers import regularization as _regularization
from pyburn.keras.layers import reshaping as _reshaping
from pyburn.keras.layers import rnn as _rnn
from pyburn.keras.layers.activation import *  # noqa: F403
from pyburn.keras.layers.attention import *  # noqa: F403
from pyburn.keras.layers.audio import *  # noqa: F403
from pyburn.keras.layers.cells import *  # noqa: F403
from pyburn.keras.layers.colors import *  # noqa: F403
from pyburn.keras.layers.conv import *  # noqa: F403
from pyburn.keras.layers.convlstm import *  # noqa: F403
from pyburn.keras.layers.core import *  # noqa: F403
from pyburn.keras.layers.lookup import *  # noqa: F403
from pyburn.keras.layers.merging import *  # noqa: F403
from pyburn.keras.layers.mixing import *  # noqa: F403
from pyburn.keras.layers.normalization import *  # noqa: F403
from pyburn.keras.layers.pooling import *  # noqa: F403
from pyburn.keras.layers.preprocessing import *  # noqa: F403
from pyburn.keras.layers.regularization import *  # noqa: F403
from pyburn.keras.layers.reshaping import *  # noqa: F403
from pyburn.keras.layers.rnn import *  # noqa: F403

# `serialize` and `deserialize` are of this module alone: `from pyburn.keras.layers import *` is for layers.
__all__ = [
    "InputSpec",
    "Layer",
    *_activation.__all__,
    *_attention.__all__,
    *_audio.__all__,
    *_cells.__all__,
    *_colors.__all__,
    *_conv.__all__,
    *_convlstm.__all__,
    *_core_layers.__all__,
    *_lookup.__all__,
    *_merging.__all__,
    *_mixing.__all__,
    *_normalization.__all__,
    *_pooling.__all__,
    *_preprocessing.__all__,
    *_regularization.__all__,
    *_reshaping.__all__,
    *_rnn.__all__,
]


def serialize(layer: Any) -> Any:
    """The layer as a dictionary that `deserialize` takes."""
    return _serialize(layer)


def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The layer that `serialize` described."""
    return _deserialize(config, custom_objects, "layers")
