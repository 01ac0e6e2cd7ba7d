"""Loads what must be loaded before a Vulkan driver is, and makes hypothesis draw the same cases every time."""

# Mesa's drivers bring an LLVM of their own, and triton, which torch.optim imports late, crashes when it comes second.
import torch._dynamo  # noqa: F401
from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")
