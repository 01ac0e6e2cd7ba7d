"""torchvision's other name of this package: `from pyburn.vision.transforms import v2`."""

from pyburn.vision.transforms import *  # noqa: F403
from pyburn.vision.transforms import __all__ as __all__
