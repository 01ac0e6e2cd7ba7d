"""Products of several tensors: einsum, tensordot, kron, the add*mm family, chain_matmul, bilinear and cross."""

import os
import subprocess
import sys

import numpy as np
import pyburn
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


SIZES = [
    (1, 1, 1),
    (1, 200, 50),
    (8, 300, 70),
    (200, 1, 50),
    (15, 33, 17),
    (29, 65, 400),
    (100, 7, 900),
    (130, 300, 500),
    (170, 70, 400),
    (100, 900, 770),
]


def layouts(array):
    """The same matrix in other memory: turned, with gaps, backwards where that is possible."""
    wide = np.zeros((array.shape[0] * 2, array.shape[1] * 3), dtype=array.dtype)
    wide[::2, ::3] = array
    return [lambda x: x, lambda x: x.t().contiguous().t(), lambda x: x.new_tensor(wide)[::2, ::3]]


@pytest.mark.parametrize(("rows", "columns", "depth"), SIZES)
def test_sizes_and_layouts(rows, columns, depth):
    random = np.random.default_rng(rows + columns + depth)
    a, b = random.standard_normal((rows, depth)), random.standard_normal((depth, columns))
    for first in layouts(a.astype("float32")):
        for second in layouts(b.astype("float32")):
            x, y = first(pyburn.tensor(a, dtype=pyburn.float32)), second(pyburn.tensor(b, dtype=pyburn.float32))
            np.testing.assert_allclose((x @ y).numpy(), a @ b, rtol=1e-4, atol=1e-4)
            np.testing.assert_allclose((y.t() @ x.t()).t().numpy(), a @ b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("rows", "columns", "depth"), [*SIZES, (3, 4, 0), (0, 4, 3)])
def test_linear_of_sizes(rows, columns, depth):
    random = np.random.default_rng(rows)
    arrays = [random.standard_normal(shape) for shape in ((rows, depth), (columns, depth), (columns,))]
    check_op(lambda lib, x, w, b: lib.nn.functional.linear(x, w, b), *arrays, dtypes=["float32"], rtol=1e-4, atol=2e-4)


@pytest.mark.parametrize("gelu", [False, True])
@pytest.mark.parametrize(("rows", "columns", "depth"), [*SIZES, (3, 4, 0), (0, 4, 3)])
def test_product_with_activation(rows, columns, depth, gelu):
    random = np.random.default_rng(columns)
    arrays = [random.standard_normal(shape) for shape in ((columns,), (rows, depth), (depth, columns))]
    arrays[1][rows // 2 :, depth // 2 :] = np.nan
    close = {"dtypes": ["float32"], "rtol": 1e-4, "atol": 2e-4}
    check_op(lambda lib, c, a, b: lib._addmm_activation(c, a, b, use_gelu=gelu), *arrays, grad=False, **close)
    turned = [arrays[0], arrays[1], np.ascontiguousarray(arrays[2].T)]
    check_op(lambda lib, c, a, b: lib._addmm_activation(c, a, b.t(), use_gelu=gelu), *turned, grad=False, **close)


def test_product_with_activation_as_composed():
    def composed(lib, c, a, b):
        if lib is torch:
            return lib.relu(lib.addmm(c, a, b))
        return lib._addmm_activation(c, a, b)

    check_op(composed, C[0], A, B, gradgrad=True)
    check_op(composed, C, A, B)
    check_op(composed, C[0], A, B, dtypes=["bfloat16", "float64"], grad=False)
    check_op(lambda lib, *x: lib._addmm_activation(*x, beta=0.5, alpha=-2.0), C[0], A, B, grad=False)
    out = pyburn.empty(3, 5)
    assert pyburn._addmm_activation(*(pyburn.tensor(x, dtype=pyburn.float32) for x in (C[0], A, B)), out=out) is out
    check_error(lambda lib, *x: lib._addmm_activation(*x), C[0], A, A)


def test_special_numbers_stay_in_their_places():
    a, b = np.ones((20, 40), dtype="float32"), np.ones((40, 37), dtype="float32")
    a[3, 4], a[7, 8], b[9, 36], b[10, 0] = np.nan, np.inf, -np.inf, -0.0
    check_op(lambda lib, x, y: x @ y, a, b, dtypes=["float32"], grad=False)


PRODUCTS = """
import pyburn
pyburn.manual_seed(0)
a, b, w = pyburn.randn(37, 410), pyburn.randn(410, 45), pyburn.randn(45, 410)
q, k, v = (pyburn.randn(1, 2, n, 20, requires_grad=True) for n in (150, 140, 140))
out = pyburn.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
some = pyburn.nn.functional.scaled_dot_product_attention(q, k, v, dropout_p=0.3)
(out + some).square().sum().backward()
large = (pyburn.randn(120, 770) @ pyburn.randn(770, 810))[:, ::37]
parts = [large, a @ b, pyburn.nn.functional.linear(a, w, b[0]), b.t() @ a.t(), a[:3] @ b]
parts += [q.grad, k.grad, v.grad, out.detach(), some.detach()]
print(pyburn.cat([part.reshape(-1) for part in parts]).double().tolist())
"""


@pytest.mark.parametrize("width", ["128", "256"])
def test_narrower_vectors(width):
    environment = os.environ | {"PYBURN_VECTORS": width, "PYBURN_QUIET": "1"}
    run = subprocess.run([sys.executable, "-c", PRODUCTS], capture_output=True, text=True, env=environment, check=True)
    scope = {"print": lambda value: scope.update(found=value)}
    exec(PRODUCTS, scope)
    np.testing.assert_allclose(eval(run.stdout, {"inf": np.inf, "nan": np.nan}), scope["found"], rtol=1e-4, atol=1e-4)


def test_threads_do_not_change_a_bit():
    pyburn.manual_seed(0)
    a, b, rows = pyburn.randn(333, 800), pyburn.randn(800, 900), pyburn.randn(3, 2, 800)
    wide, batch = pyburn.randn(800, 1500), pyburn.randn(24, 100, 90)
    threads, found = pyburn.get_num_threads(), []
    try:
        for count in (1, 2, 5):
            pyburn.set_num_threads(count)
            parts = [a @ b, b.t() @ a.t(), pyburn.stack([a, a]) @ b, rows @ b, a[:6] @ a.t()]
            parts += [a[:90] @ wide, b.t() @ wide[:, :1100], batch @ batch.transpose(1, 2)]
            found.append([part.numpy().tobytes() for part in parts])
    finally:
        pyburn.set_num_threads(threads)
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(
    ("count", "rows", "columns", "depth"), [(1, 150, 1100, 395), (1, 40, 2070, 420), (24, 110, 95, 100)]
)
@pytest.mark.parametrize("turned", ["", "a", "b", "ab"])
def test_wide_products_and_long_batches(count, rows, columns, depth, turned):
    rng = np.random.default_rng(columns)
    a = rng.standard_normal((count, depth, rows) if "a" in turned else (count, rows, depth)).astype("float32")
    b = rng.standard_normal((count, columns, depth) if "b" in turned else (count, depth, columns)).astype("float32")

    def product(lib, a, b):
        return (a.mT if "a" in turned else a) @ (b.mT if "b" in turned else b)

    check_op(product, a, b, dtypes=["float32"], grad=False, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("depth", [1, 3, 15])
def test_shallow_sums_are_rounded_once_a_term_in_their_order(depth):
    # As torch's are where MKL takes fused instructions, which it does not on every processor.
    rng = np.random.default_rng(depth)
    a, b = rng.standard_normal((500, depth)).astype("float32"), rng.standard_normal((depth, 2)).astype("float32")
    sums = np.zeros((500, 2), "float32")
    for k in range(depth):
        sums = (a[:, k : k + 1].astype("float64") * b[k : k + 1] + sums).astype("float32")
    assert np.array_equal((pyburn.tensor(a) @ pyburn.tensor(b)).numpy(), sums)


@pytest.mark.parametrize("equation", ["i,i", "i,i->", "ij,jk->ik", "ij,kj->ik", "bij,bjk->bik", "bij,bij->b"])
def test_einsum_does_not_mix_dtypes_in_sums(equation: str) -> None:
    first, second = (len(part) for part in equation.partition("->")[0].split(","))
    for lib in (torch, pyburn):
        left, right = lib.full((2,) * first, 0.5), lib.full((2,) * second, 0.5, dtype=lib.float64)
        with pytest.raises(RuntimeError):
            lib.einsum(equation, left, right)


@pytest.mark.parametrize("equation", ["i,j->ij", "i,i->i", "ij,i->ij"])
def test_einsum_promotes_where_nothing_is_summed(equation: str) -> None:
    first, second = (len(part) for part in equation.partition("->")[0].split(","))
    made = [
        lib.einsum(equation, lib.full((2,) * first, 0.5), lib.full((2,) * second, 0.25, dtype=lib.float64))
        for lib in (torch, pyburn)
    ]
    assert made[1].tolist() == made[0].tolist()
    assert str(made[1].dtype).split(".")[1] == str(made[0].dtype).split(".")[1]


@pytest.mark.parametrize("size", [1, 5, 10, 31, 33, 64, 79, 81, 100, 129, 255, 300, 385, 511, 513])
def test_sizes_where_products_are_shared_out_anew(size: int) -> None:
    """Values of every layout, and the same bits with one thread, two or three."""
    rng = np.random.default_rng(size)
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((size, size + 3), (size + 3, size + 1)))
    bias = rng.standard_normal(size + 1).astype(np.float32)
    exact = a.astype(np.float64) @ b
    x, y, z = pyburn.tensor(a), pyburn.tensor(b), pyburn.tensor(bias)
    turned, before = pyburn.tensor(np.ascontiguousarray(b.T)), pyburn.get_num_threads()
    calls = {
        "plain": lambda: x @ y,
        "right turned": lambda: x @ turned.t(),
        "left turned": lambda: pyburn.tensor(np.ascontiguousarray(a.T)).t() @ y,
        "linear": lambda: pyburn.nn.functional.linear(x, turned, z) - z,
        "some columns": lambda: pyburn.cat([x, x])[:size, : size + 3] @ y,
    }
    try:
        for name, call in calls.items():
            found = []
            for threads in (1, 2, 3):
                pyburn.set_num_threads(threads)
                found.append(call())
            np.testing.assert_allclose(found[0].tolist(), exact, rtol=1e-4, atol=2e-5 * size**0.5, err_msg=name)
            assert all(pyburn.equal(found[0], other) for other in found[1:]), name
    finally:
        pyburn.set_num_threads(before)


@pytest.mark.parametrize(
    "sizes", [(256, 128, 128), (33, 300, 40), (40, 300, 33), (1, 600, 700), (700, 600, 1), (65, 64, 63)]
)
def test_parts_of_products_of_doubles(sizes: tuple[int, int, int]) -> None:
    """Sizes at which rows or columns are shared out, in any order, and the same for any number of threads."""
    rows, depth, columns = sizes
    rng = np.random.default_rng(4)
    a, b, c = (rng.standard_normal(shape) for shape in ((rows, depth), (depth, columns), (rows, columns)))
    check_op(lambda lib, a, b: a @ b, a, b, grad=False, rtol=1e-12, atol=1e-12)
    check_op(lambda lib, a, b: a.t() @ b.t(), a.T.copy(), b.T.copy(), grad=False, rtol=1e-12, atol=1e-12)
    check_op(lambda lib, c, a, b: c.addmm(a, b, alpha=-1), c, a, b, grad=False, rtol=1e-12, atol=1e-12)
    left, right = (pyburn.tensor(side.tolist(), dtype=pyburn.float64) for side in (a, b))
    before, found = pyburn.get_num_threads(), []
    try:
        for count in (1, 2, 3):
            pyburn.set_num_threads(count)
            found.append((left @ right).tolist())
    finally:
        pyburn.set_num_threads(before)
    assert found[0] == found[1] == found[2]
