"""Models for images, one readable file each, with torchvision's names, arguments and keys."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatch
from typing import Any

from pyburn import nn
from pyburn.vision.models import feature_extraction, segmentation
from pyburn.vision.models._building import Builder, builders
from pyburn.vision.models._enums import WeightsEnum, get_model_weights, get_weight, weights_of
from pyburn.vision.models.alexnet import AlexNet, alexnet
from pyburn.vision.models.convnext import ConvNeXt, convnext_base, convnext_large, convnext_small, convnext_tiny
from pyburn.vision.models.densenet import DenseNet, densenet121, densenet161, densenet169, densenet201
from pyburn.vision.models.efficientnet import (
    EfficientNet,
    efficientnet_b0,
    efficientnet_b1,
    efficientnet_b2,
    efficientnet_b3,
    efficientnet_b4,
    efficientnet_b5,
    efficientnet_b6,
    efficientnet_b7,
    efficientnet_v2_l,
    efficientnet_v2_m,
    efficientnet_v2_s,
)
from pyburn.vision.models.googlenet import GoogLeNet, GoogLeNetOutputs, googlenet
from pyburn.vision.models.inception import Inception3, InceptionOutputs, inception_v3
from pyburn.vision.models.maxvit import MaxVit, maxvit_t
from pyburn.vision.models.mnasnet import MNASNet, mnasnet0_5, mnasnet0_75, mnasnet1_0, mnasnet1_3
from pyburn.vision.models.mobilenetv2 import MobileNetV2, mobilenet_v2
from pyburn.vision.models.mobilenetv3 import MobileNetV3, mobilenet_v3_large, mobilenet_v3_small
from pyburn.vision.models.regnet import (
    RegNet,
    regnet_x_1_6gf,
    regnet_x_3_2gf,
    regnet_x_8gf,
    regnet_x_16gf,
    regnet_x_32gf,
    regnet_x_400mf,
    regnet_x_800mf,
    regnet_y_1_6gf,
    regnet_y_3_2gf,
    regnet_y_8gf,
    regnet_y_16gf,
    regnet_y_32gf,
    regnet_y_128gf,
    regnet_y_400mf,
    regnet_y_800mf,
)
from pyburn.vision.models.resnet import (
    ResNet,
    resnet18,
    resnet34,
    resnet50,
    resnet101,
    resnet152,
    resnext50_32x4d,
    resnext101_32x8d,
    resnext101_64x4d,
    wide_resnet50_2,
    wide_resnet101_2,
)
from pyburn.vision.models.shufflenetv2 import (
    ShuffleNetV2,
    shufflenet_v2_x0_5,
    shufflenet_v2_x1_0,
    shufflenet_v2_x1_5,
    shufflenet_v2_x2_0,
)
from pyburn.vision.models.squeezenet import SqueezeNet, squeezenet1_0, squeezenet1_1
from pyburn.vision.models.swin_transformer import (
    SwinTransformer,
    swin_b,
    swin_s,
    swin_t,
    swin_v2_b,
    swin_v2_s,
    swin_v2_t,
)
from pyburn.vision.models.vgg import VGG, vgg11, vgg11_bn, vgg13, vgg13_bn, vgg16, vgg16_bn, vgg19, vgg19_bn
from pyburn.vision.models.vision_transformer import (
    VisionTransformer,
    interpolate_embeddings,
    vit_b_16,
    vit_b_32,
    vit_h_14,
    vit_l_16,
    vit_l_32,
)

__all__ = [
    "VGG",
    "AlexNet",
    "ConvNeXt",
    "DenseNet",
    "EfficientNet",
    "GoogLeNet",
    "GoogLeNetOutputs",
    "Inception3",
    "InceptionOutputs",
    "MNASNet",
    "MaxVit",
    "MobileNetV2",
    "MobileNetV3",
    "RegNet",
    "ResNet",
    "ShuffleNetV2",
    "SqueezeNet",
    "SwinTransformer",
    "VisionTransformer",
    "WeightsEnum",
    "alexnet",
    "convnext_base",
    "convnext_large",
    "convnext_small",
    "convnext_tiny",
    "densenet121",
    "densenet161",
    "densenet169",
    "densenet201",
    "efficientnet_b0",
    "efficientnet_b1",
    "efficientnet_b2",
    "efficientnet_b3",
    "efficientnet_b4",
    "efficientnet_b5",
    "efficientnet_b6",
    "efficientnet_b7",
    "efficientnet_v2_l",
    "efficientnet_v2_m",
    "efficientnet_v2_s",
    "feature_extraction",
    "get_model",
    "get_model_builder",
    "get_model_weights",
    "get_weight",
    "googlenet",
    "inception_v3",
    "interpolate_embeddings",
    "list_models",
    "maxvit_t",
    "mnasnet0_5",
    "mnasnet0_75",
    "mnasnet1_0",
    "mnasnet1_3",
    "mobilenet_v2",
    "mobilenet_v3_large",
    "mobilenet_v3_small",
    "regnet_x_1_6gf",
    "regnet_x_3_2gf",
    "regnet_x_8gf",
    "regnet_x_16gf",
    "regnet_x_32gf",
    "regnet_x_400mf",
    "regnet_x_800mf",
    "regnet_y_1_6gf",
    "regnet_y_3_2gf",
    "regnet_y_8gf",
    "regnet_y_16gf",
    "regnet_y_32gf",
    "regnet_y_128gf",
    "regnet_y_400mf",
    "regnet_y_800mf",
    "resnet18",
    "resnet34",
    "resnet50",
    "resnet101",
    "resnet152",
    "resnext50_32x4d",
    "resnext101_32x8d",
    "resnext101_64x4d",
    "segmentation",
    "shufflenet_v2_x0_5",
    "shufflenet_v2_x1_0",
    "shufflenet_v2_x1_5",
    "shufflenet_v2_x2_0",
    "squeezenet1_0",
    "squeezenet1_1",
    "swin_b",
    "swin_s",
    "swin_t",
    "swin_v2_b",
    "swin_v2_s",
    "swin_v2_t",
    "vgg11",
    "vgg11_bn",
    "vgg13",
    "vgg13_bn",
    "vgg16",
    "vgg16_bn",
    "vgg19",
    "vgg19_bn",
    "vit_b_16",
    "vit_b_32",
    "vit_h_14",
    "vit_l_16",
    "vit_l_32",
    "wide_resnet50_2",
    "wide_resnet101_2",
]


def __getattr__(name: str) -> Any:
    if name.endswith("_Weights"):
        return weights_of(name)
    if name in ("Weights", "register_model"):
        from pyburn.vision.models import _api

        return getattr(_api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def list_models(
    module: Any = None, include: str | Iterable[str] | None = None, exclude: str | Iterable[str] | None = None
) -> list[str]:
    """The names of the models, sorted.

    Args:
        module: Only those of this module, such as `pyburn.vision.models.segmentation`.
        include: Patterns as of file names, of which one must match.
        exclude: Patterns of which none may match.

    Example:
        >>> list_models(include="mobilenet*")
        ['mobilenet_v2', 'mobilenet_v3_large', 'mobilenet_v3_small']
    """
    names = sorted(builders)
    if module is not None:
        names = [name for name in names if getattr(module, name, None) is builders[name]]
    if include is not None:
        names = [name for name in names if _matches(name, include)]
    return names if exclude is None else [name for name in names if not _matches(name, exclude)]


def _matches(name: str, patterns: str | Iterable[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in ([patterns] if isinstance(patterns, str) else patterns))


def get_model_builder(name: str) -> Builder[nn.Module]:
    """The function that makes the model `name`.

    Raises:
        ValueError: There is no such model.
    """
    if name.lower() not in builders:
        raise ValueError(f"Unknown model {name}; see pyburn.vision.models.list_models()")
    return builders[name.lower()]


def get_model(name: str, backend: Any = None, **config: Any) -> nn.Module:
    """The model `name`.

    Args:
        name: One of `list_models()`.
        backend: Where it is, as for the model's own function.
        **config: The other arguments of that function, such as `weights` and `num_classes`.

    Example:
        >>> get_model("squeezenet1_1", num_classes=5).num_classes
        5
    """
    return get_model_builder(name)(backend, **config)
