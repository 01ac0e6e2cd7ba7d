"""torch's ``utils``: tools around training."""

from pyburn.utils import checkpoint

__all__ = ["checkpoint"]
