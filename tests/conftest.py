"""Loads what must be loaded before a Vulkan driver is, and makes hypothesis draw the same cases every time."""

# Mesa's drivers bring an LLVM of their own, and triton, which torch.optim imports late, crashes when it comes second.
import pyburn
import pytest
import torch._dynamo  # noqa: F401
from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")


@pytest.fixture(autouse=True)
def merged_kernels():
    """Takes back a test's wish for determinism, which a GPU's first tensor in the process would be bound by."""
    yield
    if pyburn.are_deterministic_algorithms_enabled():
        pyburn.use_deterministic_algorithms(False)
