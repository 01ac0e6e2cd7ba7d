"""Products of several tensors: einsum, tensordot, kron, the add*mm family, chain_matmul, bilinear and cross."""

import numpy as np
import pytest
import torch

from oracle import check_error, check_op

RNG = np.random.default_rng(7)


def draw(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape)


A, B, C = draw(3, 4), draw(4, 5), draw(3, 5)
X, Y, Z = draw(2, 3, 4), draw(2, 4, 5), draw(2, 3, 5)

EQUATIONS = [
    ("ij,jk->ik", (A, B)),
    ("ij,jk", (A, B)),
    ("ij,jk,lk->il", (A, B, draw(6, 5))),
    ("bij,bjk->bik", (X, Y)),
    ("...ij,...jk->...ik", (X, Y)),
    ("...ij,jk->...ik", (X, B)),
    ("ij->ji", (A,)),
    ("ij->", (A,)),
    ("ii->i", (draw(4, 4),)),
    ("ii", (draw(4, 4),)),
    ("bii->b", (draw(2, 3, 3),)),
    ("i,j->ij", (draw(3), draw(4))),
    ("i,i->", (draw(3), draw(3))),
    ("bhqd,bhkd->bhqk", (draw(2, 2, 3, 4), draw(2, 2, 5, 4))),
    ("ij,ij->j", (A, draw(3, 4))),
    ("b...,b...->...", (X, draw(2, 3, 4))),
    (" ij , jk -> ik ", (A, B)),
    ("i...->...", (A,)),
]


@pytest.mark.parametrize(("equation", "operands"), EQUATIONS, ids=[equation for equation, _ in EQUATIONS])
def test_einsum(equation: str, operands: tuple[np.ndarray, ...]) -> None:
    check_op(lambda lib, *tensors: lib.einsum(equation, *tensors), *operands, gradgrad=True)
    check_op(lambda lib, *tensors: lib.einsum(equation, list(tensors)), *operands, grad=False)


def test_einsum_by_lists_of_dimensions() -> None:
    check_op(lambda lib, a, b: lib.einsum(a, [0, 1], b, [1, 2], [0, 2]), A, B)
    check_op(lambda lib, a, b: lib.einsum(a, [..., 0, 1], b, [1, 2], [..., 0, 2]), X, B)


@pytest.mark.parametrize(
    ("equation", "operands"), [("ij,jk->ik", (A, C)), ("ij->ijk", (A,)), ("ijk->i", (A,)), ("ij,jk->il", (A, B))]
)
def test_einsum_refuses(equation: str, operands: tuple[np.ndarray, ...]) -> None:
    check_error(lambda lib, *tensors: lib.einsum(equation, *tensors), *operands, same_class=True)


@pytest.mark.parametrize("dims", [0, 1, 2, ([1], [0]), ([0, 1], [1, 0]), [[2], [1]]])
def test_tensordot(dims: object) -> None:
    left, right = {0: (A, B), 1: (A, B), 2: (X, draw(3, 4, 5))}.get(dims if isinstance(dims, int) else -1, (X, Y))
    if dims == ([1], [0]):
        left, right = A, B
    if dims == ([0, 1], [1, 0]):
        left, right = draw(2, 3, 4), draw(3, 2, 5)
    check_op(lambda lib, a, b: lib.tensordot(a, b, dims=dims), left, right, gradgrad=True)


@pytest.mark.parametrize("shapes", [((2, 3), (3, 2)), ((3,), (2, 2)), ((2, 1, 3), (2, 3)), ((), (2,))])
def test_kron(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    check_op(lambda lib, a, b: lib.kron(a, b), draw(*shapes[0]), draw(*shapes[1]))


FUSED = {"addmm": (C, A, B), "addbmm": (C, X, Y), "baddbmm": (Z, X, Y), "addmv": (draw(3), A, draw(4))}


@pytest.mark.parametrize("name", FUSED)
def test_sums_with_products(name: str) -> None:
    inputs = FUSED[name]
    check_op(lambda lib, c, a, b: getattr(lib, name)(c, a, b, beta=0.5, alpha=-2.0), *inputs, gradgrad=True)
    check_op(lambda lib, c, a, b: getattr(c, name)(a, b), *inputs, dtypes=["float32", "float64"])
    check_op(lambda lib, c, a, b: getattr(lib, name)(c[:1], a, b, beta=2), *inputs)
    with_nan = np.full_like(inputs[0], np.nan)
    check_op(lambda lib, c, a, b: getattr(lib, name)(c, a, b, beta=0), with_nan, *inputs[1:], grad=False)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_addmm_rounds_half_types_once(dtype: str) -> None:
    check_op(lambda lib, c, a, b: lib.addmm(c, a, b, beta=3.4, alpha=2.0), C, A, B, dtypes=[dtype], grad=False)


def test_chain_matmul() -> None:
    chain = [draw(3, 4), draw(4, 5), draw(5, 6), draw(6, 7)]
    with pytest.warns(UserWarning, match="deprecated"):
        expected = torch.chain_matmul(*[torch.tensor(each) for each in chain])
    check_op(lambda lib, *m: expected if lib is torch else lib.chain_matmul(*m), *chain, grad=False)
    check_op(lambda lib, *m: lib.linalg.multi_dot(m) if lib is torch else lib.chain_matmul(*m), *chain)


def test_bilinear() -> None:
    weight, bias = draw(6, 3, 4), draw(6)
    check_op(lambda lib, *x: lib.nn.functional.bilinear(*x), draw(2, 3), draw(2, 4), weight, bias, gradgrad=True)
    check_op(lambda lib, *x: lib.nn.functional.bilinear(*x), draw(2, 5, 3), draw(2, 5, 4), weight)


@pytest.mark.parametrize("shapes", [((4, 3), (4, 3), -1), ((3, 4), (3, 4), 0), ((2, 1, 3), (1, 5, 3), -1)])
def test_cross(shapes: tuple[tuple[int, ...], tuple[int, ...], int]) -> None:
    first, second, dim = shapes
    check_op(lambda lib, a, b: lib.cross(a, b, dim=dim), draw(*first), draw(*second), gradgrad=True)
    check_error(lambda lib, a, b: lib.cross(a, b, dim=-1), draw(2, 4), draw(2, 4))
