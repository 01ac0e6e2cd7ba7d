"""torch.fx.experimental: rewrites of whole models."""

from pyburn.fx.experimental import optimization as optimization

__all__ = ["optimization"]
