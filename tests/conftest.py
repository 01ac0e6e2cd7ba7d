"""Loads what must be loaded before a Vulkan driver is."""

# Mesa's drivers bring an LLVM of their own, and triton, which torch.optim imports late, crashes when it comes second.
import torch._dynamo  # noqa: F401
