"""torchvision's names of published weights: `ResNet18_Weights.DEFAULT` and its like."""

from __future__ import annotations

import enum
import functools
from typing import Any

from pyburn import hub
from pyburn.vision.models._categories import IMAGENET, VOC
from pyburn.vision.models._files import FILES, FOLDER

__all__ = ["WeightsEnum", "get_model_weights", "get_weight", "weights_of"]


class WeightsEnum(enum.Enum):
    """Weights that torchvision publishes for one model; each member's value is its address."""

    @property
    def url(self) -> str:
        """Where the file is."""
        return str(self.value)

    @property
    def meta(self) -> dict[str, Any]:
        """What is known about them: under "categories" the names of the classes, in the order of the scores."""
        segments = self.name == "COCO_WITH_VOC_LABELS_V1"
        return {"categories": list(VOC if segments else IMAGENET)}

    def get_state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The weights, from the file in torch's cache; nothing is downloaded."""
        found: dict[str, Any] = hub.load_state_dict_from_url(self.url, map_location="cpu")
        return found

    def transforms(self) -> Any:
        """What makes of an image of PIL, or of a tensor, what the model was trained on."""
        from pyburn.vision.models._presets import preset

        return preset(type(self).__name__.removesuffix("_Weights").lower(), self.name)


@functools.cache
def weights_of(name: str) -> type[WeightsEnum]:
    """The enum that is called `name`, such as ``ResNet18_Weights``.

    Raises:
        AttributeError: There is none.

    Example:
        >>> weights_of("ResNet50_Weights").DEFAULT.name
        'IMAGENET1K_V2'
    """
    model = name.removesuffix("_Weights").lower()
    if not name.endswith("_Weights") or model not in FILES:
        raise AttributeError(f"module 'pyburn.vision.models' has no attribute {name!r}")
    members = {key: FOLDER + file for key, file in FILES[model].items()}
    # An enum's second name of the same value is another name of its first: DEFAULT is the last one.
    make: Any = WeightsEnum
    made: type[WeightsEnum] = make(name, {**members, "DEFAULT": list(members.values())[-1]})
    return made


def get_model_weights(name: Any) -> type[WeightsEnum]:
    """The enum of the weights of a model, given by its name or function.

    Example:
        >>> list(get_model_weights("resnet18"))[0].name
        'IMAGENET1K_V1'
    """
    model = name if isinstance(name, str) else name.__name__
    if model.lower() not in FILES:
        raise ValueError(f"There are no published weights for {model}; see pyburn.vision.models.list_models()")
    return weights_of(f"{model.lower()}_Weights")


def get_weight(name: str) -> WeightsEnum:
    """The member of a full name, such as ``"ResNet50_Weights.IMAGENET1K_V2"``.

    Raises:
        ValueError: There is none.
    """
    kind, _, member = name.partition(".")
    try:
        return weights_of(kind)[member]
    except (AttributeError, KeyError):
        raise ValueError(f"Invalid weight name provided: '{name}'.") from None
