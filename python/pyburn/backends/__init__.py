"""torch.backends: switches of libraries that are not here; each keeps what it is set to and changes no result."""

from pyburn.backends import cpu, cuda, cudnn, mkl, mkldnn, mps, openmp, opt_einsum

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum"]
