"""FCN: a classifier without its end gives coarse scores for all pixels at once.

Long and others, "Fully convolutional networks for semantic segmentation", https://arxiv.org/abs/1411.4038
"""

from __future__ import annotations

from typing import Any

from pyburn.vision.models._building import Builder, builder_with
from pyburn.vision.models.resnet import ResNet, resnet50, resnet101
from pyburn.vision.models.segmentation._common import FCNHead, SegmentationModel, resnet_features, with_aux_of_file

__all__ = ["FCN", "fcn_resnet50", "fcn_resnet101"]


class FCN(SegmentationModel):
    """A classifier without its end, whose coarse scores are enlarged to the size of the image."""


def _fcn(
    resnet: Builder[ResNet],
    num_classes: int | None = None,
    aux_loss: bool | None = None,
    weights_backbone: Any = None,
    **kwargs: Any,
) -> FCN:
    classes = 21 if num_classes is None else num_classes
    # The last two stages keep an eighth of the size.
    backbone = resnet(weights=weights_backbone, replace_stride_with_dilation=[False, True, True])
    features = resnet_features(backbone, bool(aux_loss))
    aux = FCNHead(1024, classes) if aux_loss else None
    return FCN(features, FCNHead(2048, classes), aux)


@builder_with(with_aux_of_file)
def fcn_resnet50(**kwargs: Any) -> FCN:
    """FCN on ResNet-50, with `num_classes=21` and no `aux_loss`.

    Differs from torchvision: `weights_backbone` is None, so that nothing is downloaded.
    """
    return _fcn(resnet50, **kwargs)


@builder_with(with_aux_of_file)
def fcn_resnet101(**kwargs: Any) -> FCN:
    """FCN on ResNet-101, with `num_classes=21` and no `aux_loss`.

    Differs from torchvision: `weights_backbone` is None, so that nothing is downloaded.
    """
    return _fcn(resnet101, **kwargs)
