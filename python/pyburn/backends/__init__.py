"""torch.backends: switches of libraries that are not here; each keeps what it is set to and changes no result."""

from contextlib import AbstractContextManager, nullcontext

from pyburn.backends import cpu, cuda, cudnn, mkl, mkldnn, mps, openmp, opt_einsum

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum"]


def flags_frozen() -> bool:
    """False: the switches can be set at any time, since they change nothing."""
    return False


def __allow_nonbracketed_mutation() -> AbstractContextManager[None]:
    """A context in which the switches can be set, as they can anywhere."""
    return nullcontext()
