"""Models that give a class to each pixel."""

from pyburn.vision.models._enums import weights_of
from pyburn.vision.models.segmentation.deeplabv3 import (
    DeepLabV3,
    deeplabv3_mobilenet_v3_large,
    deeplabv3_resnet50,
    deeplabv3_resnet101,
)
from pyburn.vision.models.segmentation.fcn import FCN, fcn_resnet50, fcn_resnet101
from pyburn.vision.models.segmentation.lraspp import LRASPP, lraspp_mobilenet_v3_large
from pyburn.vision.models.segmentation.unet import UNet, unet

__all__ = [
    "FCN",
    "LRASPP",
    "DeepLabV3",
    "UNet",
    "deeplabv3_mobilenet_v3_large",
    "deeplabv3_resnet50",
    "deeplabv3_resnet101",
    "fcn_resnet50",
    "fcn_resnet101",
    "lraspp_mobilenet_v3_large",
    "unet",
]

# `FCN_ResNet50_Weights` and its like are made when they are named.
__getattr__ = weights_of
