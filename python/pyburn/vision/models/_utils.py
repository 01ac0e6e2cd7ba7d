"""What programs import from torchvision.models._utils: features of a backbone, and widths that divide."""

from pyburn.hub import load_state_dict_from_url
from pyburn.vision.models._blocks import IntermediateLayerGetter
from pyburn.vision.models._blocks import make_divisible as _make_divisible

__all__ = ["IntermediateLayerGetter", "_make_divisible", "load_state_dict_from_url"]
