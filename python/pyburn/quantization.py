"""torch.quantization: an old name of torch.ao.quantization."""

from pyburn.ao.quantization import *  # noqa: F403
