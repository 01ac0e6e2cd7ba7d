"""torch.fx.passes.utils: helpers of passes."""

from pyburn.fx.passes.utils import matcher_utils as matcher_utils

__all__ = ["matcher_utils"]
