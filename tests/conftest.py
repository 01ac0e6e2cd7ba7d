"""Loads what must be loaded before a Vulkan driver is, and makes hypothesis draw the same cases every time."""

import os

# Some virtual machines announce AMX and do not run it: torch's products of bfloat16 would end the process.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16")

# Mesa's drivers bring an LLVM of their own, and triton, which torch.optim imports late, crashes when it comes second.
import torch._dynamo  # noqa: F401
from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")
