"""What models for segmentation share: a backbone, a head, and an auxiliary head that helps the middle to learn."""

from __future__ import annotations

from typing import Any

from pyburn import nn
from pyburn._core import Tensor
from pyburn.train import Trainable
from pyburn.vision.models._blocks import IntermediateLayerGetter
from pyburn.vision.models.mobilenetv3 import MobileNetV3
from pyburn.vision.models.resnet import ResNet


class FCNHead(nn.Sequential):
    """A 3x3 convolution that makes the features narrow, and a 1x1 one to the classes."""

    def __init__(self, in_channels: int, channels: int) -> None:
        inner = in_channels // 4
        super().__init__(
            nn.Conv2d(in_channels, inner, 3, padding=1, bias=False),
            nn.BatchNorm2d(inner),
            nn.ReLU(),
            nn.Dropout(0.1),
            nn.Conv2d(inner, channels, 1),
        )


class SegmentationModel(Trainable):
    """A backbone that gives features "out" and perhaps "aux", and a head for each of them.

    Args:
        backbone: Gives a dictionary of features.
        classifier: The head on "out".
        aux_classifier: The head on "aux", which counts half in the loss of `model.train(data, config)`.
    """

    aux_weight = 0.5

    def __init__(self, backbone: nn.Module, classifier: nn.Module, aux_classifier: nn.Module | None = None) -> None:
        super().__init__()
        self.backbone = backbone
        self.classifier = classifier
        self.aux_classifier = aux_classifier

    def forward(self, x: Tensor) -> dict[str, Tensor]:  # (B, 3, H, W)
        """A score for each class and pixel under "out", and those of the auxiliary head under "aux"."""
        features = self.backbone(x)
        found = {"out": enlarged(self.classifier(features["out"]), x)}  # (B, num_classes, H, W)
        if self.aux_classifier is not None:
            found["aux"] = enlarged(self.aux_classifier(features["aux"]), x)  # (B, num_classes, H, W)
        return found


def enlarged(x: Tensor, like: Tensor) -> Tensor:
    """`x` with the height and width of `like`."""
    return nn.functional.interpolate(x, size=like.shape[-2:], mode="bilinear", align_corners=False)


def resnet_features(backbone: ResNet, aux: bool) -> IntermediateLayerGetter:
    """The last stage of a ResNet under "out", the one before under "aux"."""
    return IntermediateLayerGetter(backbone, {"layer4": "out", **({"layer3": "aux"} if aux else {})})


def mobilenet_stages(backbone: MobileNetV3) -> list[tuple[str, int]]:
    """The name and width of the first layer, of each that halves the size, and of the last."""
    layers = list(backbone.features.named_children())
    turns = [0, *(i for i, (_, layer) in enumerate(layers) if getattr(layer, "_is_cn", False)), len(layers) - 1]
    return [(layers[i][0], layers[i][1].out_channels) for i in turns]


def with_aux_of_file(state: dict[str, Any], settings: dict[str, Any], torchvisions: bool) -> dict[str, Any]:
    """The auxiliary head is there if the file has one, unless `aux_loss` says otherwise."""
    has_aux = any(name.startswith("aux_classifier") for name in state)
    if settings.get("aux_loss") is None:
        settings["aux_loss"] = has_aux
    return state if settings["aux_loss"] else {k: v for k, v in state.items() if not k.startswith("aux_classifier")}


# torchvision's name.
_SimpleSegmentationModel = SegmentationModel
