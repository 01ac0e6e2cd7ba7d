"""torch.distributions.utils: what the distributions share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, overload

from pyburn._core import Tensor, device, dtype, get_default_dtype
from pyburn._typeinfo import finfo
from pyburn.autograd import enable_grad
from pyburn.ops import broadcast_tensors, log_softmax, randn, sigmoid, softmax, tensor, tril_indices
from pyburn.ops import stack as _stack

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "euler_constant",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

euler_constant = 0.57721566490153286060
R = TypeVar("R")


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """The values as tensors of one shape; numbers take the dtype and device of the first tensor.

    Raises:
        ValueError: A value is neither a number nor a tensor.

    Example:
        >>> import pyburn
        >>> broadcast_all(pyburn.zeros(2), 1.0)
        (tensor([0., 0.]), tensor([1., 1.]))
    """
    if not all(isinstance(value, Tensor | int | float) for value in values):
        raise ValueError("Input arguments must all be instances of Number, torch.Tensor or objects implementing it.")
    first = next((value for value in values if isinstance(value, Tensor)), None)
    if all(isinstance(value, Tensor) for value in values):
        return tuple(broadcast_tensors(*values))
    dtype = get_default_dtype() if first is None else first.dtype
    device = None if first is None else first.device
    made = [v if isinstance(v, Tensor) else tensor(v, dtype=dtype, device=device) for v in values]
    return tuple(broadcast_tensors(*made))


def is_number(*values: Any) -> bool:
    """Whether all values are plain numbers."""
    return all(isinstance(value, int | float) for value in values)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities of log-odds (`is_binary`) or of unnormalised log-probabilities along the last dimension.

    Example:
        >>> import pyburn
        >>> logits_to_probs(pyburn.zeros(2))
        tensor([0.5000, 0.5000])
    """
    return sigmoid(logits) if is_binary else softmax(logits, dim=-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """`probs`, kept away from 0 and 1 by the dtype's epsilon.

    Example:
        >>> import pyburn
        >>> bool(clamp_probs(pyburn.zeros(1)) > 0)
        True
    """
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Log-odds (`is_binary`) or log-probabilities.

    Example:
        >>> import pyburn
        >>> probs_to_logits(pyburn.tensor([0.5]), is_binary=True)
        tensor([0.])
    """
    kept = clamp_probs(probs)
    return kept.log() - (-kept).log1p() if is_binary else kept.log()


def normalized_logits(logits: Tensor) -> Tensor:
    """Log-probabilities of unnormalised ones."""
    return log_softmax(logits, dim=-1)


class lazy_property(Generic[R]):
    """A property that is computed when it is first asked for, with gradients, and then kept.

    Example:
        >>> class Box:
        ...     @lazy_property
        ...     def content(self):
        ...         return [1]
        >>> box = Box(); box.content is box.content
        True
    """

    def __init__(self, wrapped: Callable[[Any], R]) -> None:
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__

    @overload
    def __get__(self, instance: None, obj_type: Any = None) -> lazy_property[R]: ...
    @overload
    def __get__(self, instance: object, obj_type: Any = None) -> R: ...
    def __get__(self, instance: object | None, obj_type: Any = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements on and below a diagonal, row by row.

    Example:
        >>> import pyburn
        >>> tril_matrix_to_vec(pyburn.tensor([[1, 2], [3, 4]]))
        tensor([1, 3, 4])
    """
    n = mat.shape[-1]
    if not -n < diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows, columns = tril_indices(n, n, diag)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """The inverse of `tril_matrix_to_vec`: the elements above the diagonal are zero.

    Example:
        >>> import pyburn
        >>> vec_to_tril_matrix(pyburn.tensor([1, 3, 4]))
        tensor([[1, 0],
                [3, 4]])
    """
    length = vec.shape[-1]
    n = (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * length + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if round(n) - n > finfo(get_default_dtype()).eps:
        raise ValueError(
            f"The size of last dimension is {length} which cannot be expressed as the lower triangular part of a "
            f"square D x D matrix."
        )
    size = round(n)
    rows, columns = tril_indices(size, size, diag)
    matrix = vec.new_zeros([*vec.shape[:-1], size * size])
    places = (rows * size + columns).expand(vec.shape)
    return matrix.scatter(-1, places, vec).reshape([*vec.shape[:-1], size, size])


def sum_rightmost(value: Tensor, dims: int) -> Tensor:
    """`value` summed over its last `dims` dimensions."""
    if dims == 0:
        return value
    return value.reshape([*value.shape[: value.dim() - dims], -1]).sum(-1)


# The name under which torch's own distributions, and those of other libraries, know it.
_sum_rightmost = sum_rightmost


def _standard_normal(shape: Sequence[int], dtype: dtype, device: device | str | None) -> Tensor:
    """Normal numbers of a shape.

    Example:
        >>> import pyburn
        >>> _standard_normal((2, 3), pyburn.float64, None).shape
        pyburn.Size([2, 3])
    """
    return randn(shape, dtype=dtype, device=device)


def stacked(values: list[Tensor], dim: int) -> Tensor:
    """The tensors along a new dimension."""
    return _stack(values, dim)
