"""torch._custom_ops: the older names of torch.library."""

from pyburn.library import custom_op, get_ctx, impl, impl_abstract

__all__ = ["custom_op", "get_ctx", "impl", "impl_abstract"]
