"""torch.signal: windows for spectra."""

from pyburn.signal import windows

__all__ = ["windows"]
