"""torch._inductor: the back end of torch's compiler, of which nothing is needed; its switches are kept."""

from pyburn._inductor import config

__all__ = ["config"]
