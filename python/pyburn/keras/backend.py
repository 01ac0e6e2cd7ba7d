"""`keras.backend`: the settings under their older names."""

from pyburn.keras.config import (
    backend,
    epsilon,
    floatx,
    image_data_format,
    set_epsilon,
    set_floatx,
    set_image_data_format,
)
from pyburn.keras.symbolic import is_keras_tensor
from pyburn.keras.utils import clear_session

__all__ = [
    "backend",
    "clear_session",
    "epsilon",
    "floatx",
    "image_data_format",
    "is_keras_tensor",
    "set_epsilon",
    "set_floatx",
    "set_image_data_format",
]
