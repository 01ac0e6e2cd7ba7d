"""Ready parametrizations: orthogonal matrices, weight norm and spectral norm."""

from __future__ import annotations

from pyburn._core import Tensor
from pyburn.autograd import no_grad
from pyburn.nn.functional.norm import normalize
from pyburn.nn.module import Module
from pyburn.nn.utils import parametrize
from pyburn.nn.utils.spectral_norm import as_matrix, default_dim
from pyburn.nn.utils.weight_norm import norm_except_dim, weighted

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """The module, whose weight has orthonormal columns, or rows where it is wider than high.

    Args:
        module: Owns the weight.
        name: The weight's name.
        orthogonal_map: "matrix_exp", "cayley" or "householder"; the first for square weights and the last
            for others when left out.
        use_trivialization: Whether the map is taken around the present weight, so that any can be set.

    Raises:
        ValueError: There is no such tensor, it is no matrix, or the map is unknown.

    Example:
        >>> import pyburn
        >>> layer = pyburn.nn.utils.parametrizations.orthogonal(pyburn.nn.Linear(2, 3))
        >>> bool(pyburn.allclose(layer.weight.T @ layer.weight, pyburn.eye(2), atol=1e-5))
        True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.dim() < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.dim()} dimensions.")
    kind = orthogonal_map or ("matrix_exp" if weight.shape[-2] == weight.shape[-1] else "householder")
    if kind not in ("matrix_exp", "cayley", "householder"):
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    from pyburn.nn.utils._orthogonal import _Orthogonal  # brings linalg, which most programs do without

    made = _Orthogonal(weight, kind, use_trivialization=use_trivialization)
    return parametrize.register_parametrization(module, name, made, unsafe=True)


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weighted(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """The module, whose weight is trained as lengths (`original0`) and a direction (`original1`).

    Args:
        module: Owns the weight.
        name: The weight's name.
        dim: Each slice along it has its own length; None for one length of all.

    Example:
        >>> import pyburn
        >>> layer = pyburn.nn.utils.parametrizations.weight_norm(pyburn.nn.Linear(2, 3))
        >>> tuple(layer.parametrizations.weight.original0.shape)
        (3, 1)
    """
    return parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)


class _SpectralNorm(Module):
    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        rank = weight.dim()
        if not -rank <= dim < rank:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{rank}, {rank - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim % rank
        self.eps = eps
        if rank > 1:  # the largest singular value of a vector is its norm
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight.detach(), self.dim)
            u = matrix.new_empty(matrix.shape[0]).normal_(0, 1)
            v = matrix.new_empty(matrix.shape[1]).normal_(0, 1)
            self.register_buffer("_u", normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", normalize(v, dim=0, eps=eps))
            self._power_method(matrix, 15)

    def _power_method(self, weight_mat: Tensor, n_power_iterations: int) -> None:
        with no_grad():
            for _ in range(n_power_iterations):
                self._u.copy_(normalize(weight_mat.mv(self._v), dim=0, eps=self.eps))
                self._v.copy_(normalize(weight_mat.t().mv(self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.dim() == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._power_method(matrix.detach(), self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # what the graph holds may not change with the next call
        return weight / u.dot(matrix.mv(v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """The module, whose weight is divided by its largest singular value.

    Args:
        module: Owns the weight.
        name: The weight's name.
        n_power_iterations: By how many steps the estimate becomes better with each training call.
        eps: What norms are at least divided by.
        dim: The dimension of the outputs; worked out when left out.

    Raises:
        ValueError: There is no such tensor.

    Example:
        >>> import pyburn
        >>> layer = pyburn.nn.utils.parametrizations.spectral_norm(pyburn.nn.Linear(4, 4), n_power_iterations=50)
        >>> x = pyburn.ones(4)
        >>> bool((layer.weight @ x).norm() <= x.norm() * 1.001)
        True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    made = _SpectralNorm(weight, n_power_iterations, default_dim(module) if dim is None else dim, eps)
    return parametrize.register_parametrization(module, name, made)
