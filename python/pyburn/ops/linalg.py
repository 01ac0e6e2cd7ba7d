"""Products of matrices and vectors, and what is made of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pyburn import _core
from pyburn._core import Tensor, bfloat16, float16, float32
from pyburn._integers import is_integer
from pyburn.ops._methods import numbers_between, write_out

__all__ = [
    "addbmm",
    "addmm",
    "addmv",
    "addr",
    "baddbmm",
    "bilinear",
    "bmm",
    "chain_matmul",
    "cross",
    "dot",
    "ger",
    "inner",
    "kron",
    "matmul",
    "matrix_power",
    "mm",
    "mv",
    "outer",
    "tensordot",
    "vdot",
]

METHODS = (
    "addbmm",
    "addmm",
    "addmv",
    "addr",
    "baddbmm",
    "cross",
    "ger",
    "inner",
    "kron",
    "matrix_power",
    "outer",
    "vdot",
)
INPLACE = ("addbmm", "addmm", "addmv", "addr", "baddbmm")

Number = int | float


def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The matrix product; vectors count as rows on the left and as columns on the right, leading dimensions broadcast.

    Example:
        >>> import pyburn
        >>> pyburn.matmul(pyburn.tensor([[1.0, 2.0]]), pyburn.tensor([3.0, 4.0]))
        tensor([11.])
    """
    # The operator, not the method: a sparse right side answers for itself.
    return write_out(out, input @ other)


def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two matrices; nothing broadcasts.

    Example:
        >>> import pyburn
        >>> pyburn.mm(pyburn.tensor([[1, 2]]), pyburn.tensor([[3], [4]]))
        tensor([[11]])
    """
    return write_out(out, input @ mat2 if mat2.is_sparse else input.mm(mat2))


def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The products of (B, N, M) and (B, M, P), pair by pair.

    Example:
        >>> import pyburn
        >>> pyburn.bmm(pyburn.ones(2, 1, 3), pyburn.ones(2, 3, 1))
        tensor([[[3.]],
        <BLANKLINE>
                [[3.]]])
    """
    return write_out(out, input.bmm(mat2))


def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of a matrix and a vector.

    Example:
        >>> import pyburn
        >>> pyburn.mv(pyburn.tensor([[1.0, 2.0]]), pyburn.tensor([3.0, 4.0]))
        tensor([11.])
    """
    return write_out(out, input.mv(vec))


def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sum of the products of two vectors' elements.

    Example:
        >>> import pyburn
        >>> pyburn.dot(pyburn.tensor([2, 3]), pyburn.tensor([2, 1]))
        tensor(7)
    """
    return write_out(out, input.dot(tensor))


def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """As `dot`, with the first vector conjugated.

    Example:
        >>> import pyburn
        >>> pyburn.vdot(pyburn.tensor([2, 3]), pyburn.tensor([2, 1]))
        tensor(7)
    """
    return write_out(out, input.conj().dot(other))


def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sums of products over the last dimensions; a scalar multiplies all elements.

    Example:
        >>> import pyburn
        >>> pyburn.inner(pyburn.tensor([[1, 2], [3, 4]]), pyburn.tensor([1, 1]))
        tensor([3, 7])
    """
    if input.dim() == 0 or other.dim() == 0:
        return write_out(out, input * other)
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            f"inner() the last dimension must match on both input tensors but got shapes {list(input.shape)} and "
            f"{list(other.shape)}"
        )
    return write_out(out, tensordot(input, other, ([-1], [-1])))


def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The products of each element of one vector with each of another.

    Example:
        >>> import pyburn
        >>> pyburn.outer(pyburn.tensor([1, 2]), pyburn.tensor([3, 4]))
        tensor([[3, 4],
                [6, 8]])
    """
    if input.dim() != 1 or vec2.dim() != 1:
        raise RuntimeError(f"outer: expected 1-D vectors, but got {input.dim()}-D and {vec2.dim()}-D tensors")
    # A row spread over a column: the other way round each row costs a start of its own.
    return write_out(out, vec2 * input.unsqueeze(1), input, vec2)


def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """As `outer`, under torch's older name.

    Example:
        >>> import pyburn
        >>> pyburn.ger(pyburn.tensor([1, 2]), pyburn.tensor([3]))
        tensor([[3],
                [6]])
    """
    return outer(input, vec2, out=out)


def _weighted(input: Tensor, product: Tensor, beta: Number, alpha: Number) -> Tensor:
    """`beta * input + alpha * product`; with a beta of 0 even NaN in `input` does not count."""
    if beta == 1 and alpha == 1:
        return product + input
    if not (product.is_floating_point() or product.is_complex()):
        # As in torch, the factors of integers are integers.
        beta, alpha = int(beta), int(alpha)
    _core._check_number(beta, product.dtype)
    _core._check_number(alpha, product.dtype)
    if alpha != 1:
        product = product * alpha
    if beta == 0:
        return product + input.new_zeros(()).expand(input.shape)
    return product + (input if beta == 1 else input * beta)


@numbers_between("beta", "alpha")
def addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None
) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)` for matrices.

    Example:
        >>> import pyburn
        >>> pyburn.addmm(pyburn.ones(1, 1), pyburn.ones(1, 2), pyburn.ones(2, 1), alpha=3)
        tensor([[7.]])
    """
    if mat1.dtype == input.dtype and input.dtype in (bfloat16, float16):
        # Half types are rounded once, at the end.
        wide = _weighted(input.to(float32), mat1.to(float32).mm(mat2.to(float32)), beta, alpha)
        total = wide.to(input.dtype)
        return write_out(out, _core._stand_for(total, "AddmmBackward0", (input, mat1, mat2)), input)
    total = _weighted(input, mat1.mm(mat2), beta, alpha)
    return write_out(out, _core._stand_for(total, "AddmmBackward0", (input, mat1, mat2)), input)


@numbers_between("beta", "alpha")
def addmv(
    input: Tensor, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None
) -> Tensor:
    """`beta * input + alpha * (mat @ vec)` for a matrix and a vector.

    Example:
        >>> import pyburn
        >>> pyburn.addmv(pyburn.ones(1), pyburn.ones(1, 2), pyburn.ones(2))
        tensor([3.])
    """
    return write_out(out, _weighted(input, mat.mv(vec), beta, alpha))


@numbers_between("beta", "alpha")
def addr(
    input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None
) -> Tensor:
    """`beta * input + alpha * outer(vec1, vec2)`.

    Example:
        >>> import pyburn
        >>> pyburn.addr(pyburn.ones(1, 2), pyburn.tensor([2.0]), pyburn.tensor([3.0, 4.0]))
        tensor([[7., 9.]])
    """
    if input.dtype == vec1.dtype == vec2.dtype == _core.bool:
        # Of truths the sum is "or", the product "and".
        pairs = outer(vec1, vec2) & bool(alpha)
        return write_out(out, pairs | input if beta else pairs.expand_as(input))
    wanted = _core.result_type(input, vec1)
    product = outer(vec1._to_dtype(wanted), vec2) if wanted.is_floating_point else outer(vec1, vec2)
    if not wanted.is_floating_point and not wanted.is_complex:
        for name, factor in (("beta", beta), ("alpha", alpha)):
            if isinstance(factor, (float, complex)):
                raise RuntimeError(f"addr: For integral input tensors, {name} must not be a floating point number.")
    return write_out(out, _weighted(input, product, beta, alpha), input, vec1, vec2)


@numbers_between("beta", "alpha")
def addbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None
) -> Tensor:
    """`beta * input + alpha *` the sum of the products of (B, N, M) and (B, M, P).

    Example:
        >>> import pyburn
        >>> pyburn.addbmm(pyburn.zeros(1, 1), pyburn.ones(2, 1, 3), pyburn.ones(2, 3, 1))
        tensor([[6.]])
    """
    return write_out(out, _weighted(input, batch1.bmm(batch2).sum(0).to(batch1.dtype), beta, alpha))


@numbers_between("beta", "alpha")
def baddbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None
) -> Tensor:
    """`beta * input + alpha *` the products of (B, N, M) and (B, M, P).

    Example:
        >>> import pyburn
        >>> pyburn.baddbmm(pyburn.ones(1, 1, 1), pyburn.ones(1, 1, 3), pyburn.ones(1, 3, 1))
        tensor([[[4.]]])
    """
    return write_out(out, _weighted(input, batch1.bmm(batch2), beta, alpha))


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input1 @ weight[k] @ input2 + bias[k]` for each output feature k.

    Args:
        input1: (..., in1).
        input2: (..., in2).
        weight: (out, in1, in2).
        bias: (out).

    Example:
        >>> import pyburn
        >>> pyburn.bilinear(pyburn.ones(1, 2), pyburn.ones(1, 3), pyburn.ones(1, 2, 3))
        tensor([[6.]])
    """
    if weight.dim() != 3 or input1.shape[-1] != weight.shape[1] or input2.shape[-1] != weight.shape[2]:
        raise RuntimeError(
            f"bilinear: inputs have last sizes {input1.shape[-1]} and {input2.shape[-1]} but weight "
            f"{list(weight.shape)} needs (out, in1, in2); change in1_features and in2_features or the inputs"
        )
    features, in1, in2 = weight.shape
    left = input1 @ weight.permute(1, 0, 2).reshape(in1, features * in2)  # (..., out * in2)
    left = left.reshape(*input1.shape[:-1], features, in2)
    output = (left @ input2.unsqueeze(-1)).squeeze(-1)  # (..., out)
    output = _core._stand_for(output, "ViewBackward0", (input1, weight, input2), (input1, weight, input2))
    return output if bias is None else output + bias


def tensordot(
    a: Tensor, b: Tensor, dims: int | Sequence[Sequence[int]] | Sequence[int] | Tensor = 2, out: Tensor | None = None
) -> Tensor:
    """The sums of products over pairs of dimensions, the other dimensions of `a` and then of `b` remaining.

    Args:
        a: Left tensor.
        b: Right tensor.
        dims: How many last dimensions of `a` meet the first ones of `b`, or the two lists of dimensions that meet.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.tensordot(pyburn.ones(2, 3), pyburn.ones(3, 4), 1).shape
        pyburn.Size([2, 4])
    """
    if isinstance(dims, Tensor):
        return tensordot(a, b, dims.tolist(), out)
    if is_integer(dims):
        if not 0 <= dims <= min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects 0 <= dims <= the number of dimensions of both, but got dims={dims}")
        left, right = list(range(a.dim() - dims, a.dim())), list(range(dims))
    else:
        first, second = dims
        left = [first] if is_integer(first) else [dim % max(a.dim(), 1) for dim in first]
        right = [second] if is_integer(second) else [dim % max(b.dim(), 1) for dim in second]
    if len(left) != len(right):
        raise RuntimeError("tensordot: both dimension lists should have same length")
    for one, other in zip(left, right, strict=True):
        if a.shape[one] != b.shape[other] and 1 not in (a.shape[one], b.shape[other]):
            raise RuntimeError(
                f"tensordot: contracted dimensions need to match, but first has size {a.shape[one]} in dim {one} and "
                f"second has size {b.shape[other]} in dim {other}"
            )
        # A size of 1 broadcasts: the other side is summed over first.
        if a.shape[one] != b.shape[other]:
            a, b = (a, b.sum(other, keepdim=True)) if a.shape[one] == 1 else (a.sum(one, keepdim=True), b)
    free_a = [dim for dim in range(a.dim()) if dim not in left]
    free_b = [dim for dim in range(b.dim()) if dim not in right]
    rows, columns = [a.shape[dim] for dim in free_a], [b.shape[dim] for dim in free_b]
    depth = math.prod(a.shape[dim] for dim in left)
    tall = a.permute(free_a + left).reshape(math.prod(rows), depth)
    wide = b.permute(right + free_b).reshape(depth, math.prod(columns))
    return write_out(out, tall.mm(wide).reshape(rows + columns))


def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Kronecker product: every element of `input` times the whole of `other`, as blocks.

    Example:
        >>> import pyburn
        >>> pyburn.kron(pyburn.tensor([1, 2]), pyburn.tensor([1, 10]))
        tensor([ 1, 10,  2, 20])
    """
    rank = max(input.dim(), other.dim())
    left = [1] * (rank - input.dim()) + list(input.shape)
    right = [1] * (rank - other.dim()) + list(other.shape)
    a = input.reshape([size for pair in zip(left, [1] * rank, strict=True) for size in pair])
    b = other.reshape([size for pair in zip([1] * rank, right, strict=True) for size in pair])
    return write_out(out, (b * a).reshape([one * two for one, two in zip(left, right, strict=True)]))


def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """The product of several matrices in the order of multiplication that costs least.

    Example:
        >>> import pyburn
        >>> pyburn.chain_matmul(pyburn.ones(1, 2), pyburn.ones(2, 3), pyburn.ones(3, 1))
        tensor([[6.]])
    """
    for matrix in matrices:
        if matrix.dim() != 2:
            raise RuntimeError(f"chain_matmul: Tensor dimension is {matrix.dim()}, expected 2 instead")
    if len(matrices) == 1:
        return matrices[0]
    return write_out(out, _cheapest(list(matrices)))


def _cheapest(matrices: list[Tensor]) -> Tensor:
    """The product with the parentheses that need the fewest multiplications (dynamic programming)."""
    sizes = [matrix.shape[0] for matrix in matrices] + [matrices[-1].shape[1]]
    count = len(matrices)
    cost = [[0] * count for _ in range(count)]
    cut = [[0] * count for _ in range(count)]
    for length in range(2, count + 1):
        for first in range(count - length + 1):
            last = first + length - 1
            options = [
                (cost[first][k] + cost[k + 1][last] + sizes[first] * sizes[k + 1] * sizes[last + 1], k)
                for k in range(first, last)
            ]
            cost[first][last], cut[first][last] = min(options)

    def product(first: int, last: int) -> Tensor:
        if first == last:
            return matrices[first]
        k = cut[first][last]
        return product(first, k).mm(product(k + 1, last))

    return product(0, count - 1)


def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The product of several matrices, of which the first and the last may be vectors: `torch.linalg.multi_dot`.

    Example:
        >>> import pyburn
        >>> pyburn.linalg.multi_dot([pyburn.ones(2), pyburn.ones(2, 3), pyburn.ones(3)])
        tensor(6.)
    """
    if len(tensors) < 2:
        raise RuntimeError("multi_dot(): expected at least 2 tensors but got " + str(len(tensors)))
    chain = list(tensors)
    row, column = chain[0].dim() == 1, chain[-1].dim() == 1
    chain[0] = chain[0].unsqueeze(0) if row else chain[0]
    chain[-1] = chain[-1].unsqueeze(1) if column else chain[-1]
    for place, matrix in enumerate(chain):
        if matrix.dim() != 2:
            raise RuntimeError(f"multi_dot(): tensor {place} must be 2D but got {matrix.dim()}D")
    result = _cheapest(chain)
    if column:
        result = result.squeeze(1)
    return write_out(out, result.squeeze(0) if row else result)


def cross(input: Tensor, other: Tensor, dim: int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The cross products of vectors of three elements along `dim`.

    Args:
        input: Left vectors.
        other: Right vectors; leading dimensions broadcast.
        dim: Where the vectors lie; None is the first dimension of size 3.
        out: Where to write the result.

    Example:
        >>> import pyburn
        >>> pyburn.cross(pyburn.tensor([1, 0, 0]), pyburn.tensor([0, 1, 0]), dim=0)
        tensor([0, 0, 1])
    """
    if input.dim() != other.dim():
        raise RuntimeError(
            f"cross: inputs must have the same number of dimensions, got {input.dim()} and {other.dim()}"
        )
    if dim is None:
        threes = [d for d, size in enumerate(input.shape) if size == 3]
        if not threes:
            raise RuntimeError(f"cross: no dimension of size 3 in input of shape {list(input.shape)}; give dim")
        dim = threes[0]
    if input.shape[dim] != 3 or other.shape[dim] != 3:
        raise RuntimeError(
            f"cross: inputs dimension {dim} must have length 3. Got {input.shape[dim]} and {other.shape[dim]}"
        )
    dim %= input.dim()
    if input.is_cpu and other.is_cpu and input.dtype == other.dtype and input.dtype in (_core.float32, _core.float64):
        left, right = input, other
        if left.shape != right.shape:
            from pyburn.ops import broadcast_tensors

            left, right = broadcast_tensors(left, right)
        return write_out(out, left._cross(right, dim), input, other)
    a0, a1, a2 = (input.narrow(dim, at, 1) for at in range(3))
    b0, b1, b2 = (other.narrow(dim, at, 1) for at in range(3))
    parts = [a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0]
    from pyburn.ops import cat

    joined = _core._stand_for(cat(parts, dim), "LinalgCrossBackward0", (input, other))
    return write_out(out, joined, input, other)


def matrix_power(input: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
    """The product of `n` copies of a square matrix (or of each of a batch); of its inverse when `n` is negative.

    Example:
        >>> import pyburn
        >>> pyburn.matrix_power(pyburn.tensor([[1, 1], [0, 1]]), 3)
        tensor([[1, 3],
                [0, 1]])
    """
    if input.dim() < 2 or input.shape[-1] != input.shape[-2]:
        raise RuntimeError(
            f"matrix_power: input must be batches of square matrices, but it has shape {list(input.shape)}"
        )
    if n < 0:
        from pyburn.ops.matrices.solve import inv

        input, n = inv(input), -n
    if n == 0:
        from pyburn.ops.matrices.functions import zeroth_power

        return write_out(out, zeroth_power(input))
    result, square = None, input
    while n > 0:
        if n % 2:
            result = square if result is None else result.matmul(square)
        n //= 2
        square = square.matmul(square) if n else square
    return write_out(out, input if result is None else result)


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input @ weight.T + bias` over the last dimension: `torch.nn.functional.linear`.

    Args:
        input: (..., in_features).
        weight: (out_features, in_features), or (in_features).
        bias: (out_features).

    Example:
        >>> import pyburn
        >>> from pyburn.ops import nn
        >>> nn.linear(pyburn.ones(1, 2), pyburn.ones(3, 2))
        tensor([[2., 2., 2.]])
    """
    return _core.linear(input, weight, bias)


def _addmm_activation(
    input: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    *,
    beta: Number = 1,
    alpha: Number = 1,
    use_gelu: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """`relu`, or `gelu`, of `beta * input + alpha * (mat1 @ mat2)`; a relu is applied as the product is written.

    Differs from torch:
        It has a gradient.

    Example:
        >>> import pyburn
        >>> pyburn._addmm_activation(pyburn.tensor([1.0, -4.0]), pyburn.ones(1, 2), pyburn.ones(2, 2))
        tensor([[3., 0.]])
    """
    plain = (input.dim(), mat1.dim(), mat2.dim()) == (1, 2, 2) and (beta, alpha, use_gelu) == (1, 1, False)
    if plain and mat1.shape[1] == mat2.shape[0] and input.shape[0] in (1, mat2.shape[1]):
        return write_out(out, _core._linear_relu(mat1, mat2.t(), input), input)
    total = addmm(input, mat1, mat2, beta=beta, alpha=alpha)
    return write_out(out, total._gelu(False) if use_gelu else total.relu(), input)
