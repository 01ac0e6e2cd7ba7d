"""`keras.preprocessing`: helpers of `keras.utils` under their older names."""

from pyburn.keras.folders import (
    image_dataset_from_directory,
    text_dataset_from_directory,
    timeseries_dataset_from_array,
)
from pyburn.keras.preprocessing import image, sequence

__all__ = [
    "image",
    "image_dataset_from_directory",
    "sequence",
    "text_dataset_from_directory",
    "timeseries_dataset_from_array",
]
