"""Image processing on tensors of any device, as in burn-vision: parts, shapes, filters, colours, maps of the plane."""

from pyburn.vision.detection import nms
from pyburn.vision.imaging.affine import Transform2D, warp_affine
from pyburn.vision.imaging.colors import (
    bgr_to_rgb,
    gray_to_rgb,
    hsv_to_rgb,
    lab_to_rgb,
    rgb_to_bgr,
    rgb_to_gray,
    rgb_to_hsv,
    rgb_to_lab,
)
from pyburn.vision.imaging.components import ConnectedStats, connected_components, connected_components_with_stats
from pyburn.vision.imaging.filters import box_blur, filter2d, gaussian_blur2d, median_blur
from pyburn.vision.imaging.morphology import create_structuring_element, dilate, erode, morphology
from pyburn.vision.imaging.style import GramMatrixLoss, gram_matrix
from pyburn.vision.utils import save_image as save_tensor_as_image

__all__ = [
    "ConnectedStats",
    "GramMatrixLoss",
    "Transform2D",
    "bgr_to_rgb",
    "box_blur",
    "connected_components",
    "connected_components_with_stats",
    "create_structuring_element",
    "dilate",
    "erode",
    "filter2d",
    "gaussian_blur2d",
    "gram_matrix",
    "gray_to_rgb",
    "hsv_to_rgb",
    "lab_to_rgb",
    "median_blur",
    "morphology",
    "nms",
    "rgb_to_bgr",
    "rgb_to_gray",
    "rgb_to_hsv",
    "rgb_to_lab",
    "save_tensor_as_image",
    "warp_affine",
]
