"""torch.fx.passes: what is done with whole graphs."""

from pyburn.fx.passes import shape_prop as shape_prop
from pyburn.fx.passes import split_module as split_module

__all__ = ["shape_prop", "split_module"]
