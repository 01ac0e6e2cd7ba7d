"""torch.version: the version of torch's API that pyburn follows, and which vendors' libraries are in it (none)."""

from __future__ import annotations

from pyburn.torch_version import TorchVersion

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "xpu"]

__version__: str = TorchVersion("2.15.0+pyburn")
debug = False
cuda: str | None = None
git_version = ""
hip: str | None = None
xpu: str | None = None
