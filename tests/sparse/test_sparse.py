"""Sparse tensors beside torch's: what graph networks do with them, and what is refused."""

import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pyburn
import pytest
import torch

from oracle import Case, check_error, check_op, to_torch

PLACES = [[0, 1, 1, 2, 1], [2, 0, 2, 1, 2]]
VALUES = np.array([3.0, 4.0, 5.0, -1.0, 0.5])
DENSE = np.arange(6.0).reshape(3, 2) - 1.5
PLACE = Case(np.array(PLACES))


# torch says once that it does not check places, and once that CSR is new.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    torch.sparse_coo_tensor([[0]], [1.0], (1,)).to_dense()
    torch.eye(2).to_sparse_csr()


def coo(lib, i, v, size=(3, 3)):
    return lib.sparse_coo_tensor(i, v, size)


MATRIX = {
    "to_dense": lambda lib, s, d: s.to_dense(),
    "coalesce": lambda lib, s, d: (s.coalesce().indices(), s.coalesce().values()),
    "taken as coalesced": lambda lib, s, d: s._coalesced_(True).indices(),
    "matmul": lambda lib, s, d: s @ d,
    "mm": lambda lib, s, d: lib.mm(s, d),
    "sparse.mm": lambda lib, s, d: lib.sparse.mm(s, d),
    "spmm": lambda lib, s, d: lib.spmm(s, d),
    "torch.matmul": lambda lib, s, d: lib.matmul(s, d),
    "vector": lambda lib, s, d: s @ d[:, 0],
    "dense first": lambda lib, s, d: d.t() @ s,
    "mm dense first": lambda lib, s, d: lib.mm(d.t(), s),
    "transposed": lambda lib, s, d: s.t() @ d,
    "T": lambda lib, s, d: s.T.to_dense(),
    "transpose": lambda lib, s, d: s.transpose(0, 1).to_dense(),
    "addmm": lambda lib, s, d: lib.sparse.addmm(d, s, d, beta=0.5, alpha=2.0),
    "scaled": lambda lib, s, d: (s * 2.5).to_dense(),
    "scaled from the left": lambda lib, s, d: (2.5 * s).to_dense(),
    "divided": lambda lib, s, d: (s / 2).to_dense(),
    "negated": lambda lib, s, d: (-s).to_dense(),
    "sum of two": lambda lib, s, d: (s + s.t()).to_dense(),
    "difference": lambda lib, s, d: (s - s.t()).to_dense(),
    "dense plus sparse": lambda lib, s, d: (d @ d.t()) + s,
    "times dense": lambda lib, s, d: (s.coalesce() * (d @ d.t())).to_dense(),
    "sum": lambda lib, s, d: lib.sparse.sum(s),
    "sum 0": lambda lib, s, d: lib.sparse.sum(s, 0).to_dense(),
    "sum 1": lambda lib, s, d: lib.sparse.sum(s, [1]).to_dense(),
    "softmax": lambda lib, s, d: lib.sparse.softmax(s, 1).to_dense(),
    "softmax 0": lambda lib, s, d: lib.sparse.softmax(s, 0).to_dense(),
    "log_softmax": lambda lib, s, d: lib.sparse.log_softmax(s, 1).coalesce().values(),
    "row": lambda lib, s, d: s.coalesce()[1].to_dense(),
    "index_select": lambda lib, s, d: s.coalesce().index_select(0, lib.tensor([1, 1, 2])).to_dense(),
    "detached": lambda lib, s, d: s.detach().clone().to_dense() + s.to_dense(),
    "squares": lambda lib, s, d: s.coalesce().pow(2).to_dense(),
}


@pytest.mark.parametrize("name", MATRIX)
def test_values_and_gradients_are_torchs(name):
    if name == "spmm" and not hasattr(torch, "spmm"):
        return
    # torch has no gradient of a sparse softmax's values through to_dense for one of its layouts.
    check_op(
        lambda lib, i, v, d: MATRIX[name](lib, coo(lib, i, v), d),
        PLACE,
        Case(VALUES),
        Case(DENSE),
        grad=name not in ("index_select", "squares", "softmax", "softmax 0", "log_softmax", "row"),
        rtol=1e-9,
    )


def test_it_is_a_tensor_that_knows_what_it_is():
    for lib in (torch, pyburn):
        s = coo(lib, lib.tensor(PLACES), lib.tensor(VALUES.tolist()))
        assert isinstance(s, lib.Tensor)
        assert (s.is_sparse, s.layout == lib.sparse_coo, s._nnz(), s.is_coalesced()) == (True, True, 5, False)
        assert (tuple(s.shape), s.dim(), s.size(1), s.numel(), len(s)) == ((3, 3), 2, 3, 9, 3)
        assert (s.dtype, s.device.type, s.sparse_dim(), s.dense_dim()) == (lib.float32, "cpu", 2, 0)
        assert s.coalesce().is_coalesced() and s.coalesce()._nnz() == 4
        assert s.double().dtype == lib.float64 and s.to(lib.float64).to_dense().dtype == lib.float64
        csr = s.to_sparse_csr()
        assert (csr.is_sparse, csr.is_sparse_csr, csr.layout == lib.sparse_csr) == (False, True, True)
        assert csr.crow_indices().tolist() == [0, 1, 3, 4] and csr.col_indices().tolist() == [2, 0, 2, 1]
        assert not lib.ones(1).is_sparse and lib.ones(1).layout == lib.strided


def test_text_is_torchs():
    for make in (
        lambda lib: coo(lib, lib.tensor(PLACES), lib.tensor(VALUES.tolist())),
        lambda lib: coo(lib, lib.tensor(PLACES), lib.tensor(VALUES.tolist())).coalesce().to_sparse_csr(),
        lambda lib: lib.tensor([[0, 2], [3, 0]]).to_sparse(),
    ):
        assert repr(make(pyburn)).replace("pyburn.", "torch.") == repr(make(torch))


def test_making_them():
    check_op(lambda lib, x: lib.relu(x).to_sparse().to_dense(), Case(DENSE))
    check_op(lambda lib, x: lib.relu(x).to_sparse().indices(), Case(DENSE), grad=False)
    check_op(lambda lib, i, v: lib.sparse_coo_tensor(i, v).to_dense(), PLACE, Case(VALUES))
    check_op(lambda lib: lib.sparse_coo_tensor((2, 3)).to_dense(), grad=False)
    check_op(lambda lib, v: lib.sparse_coo_tensor(lib.tensor([[1, 0, 1]]), v, (2, 2)).to_dense(), Case(DENSE))
    parts = [lambda lib: lib.tensor([0, 1, 1, 3]), lambda lib: lib.tensor([0, 1, 2]), lambda lib: lib.ones(3)]
    found = [lib.sparse_csr_tensor(*[part(lib) for part in parts], (3, 3)) for lib in (torch, pyburn)]
    assert found[0].to_dense().tolist() == found[1].to_dense().tolist() == found[1].to_sparse().to_dense().tolist()
    assert (found[0] @ torch.ones(3, 2)).tolist() == (found[1] @ pyburn.ones(3, 2)).tolist()
    check_error(lambda lib, v: lib.sparse_coo_tensor(lib.tensor([[0, 1]]), v, (5,)), Case(VALUES), same_class=True)
    for places, size in (([[0, 7]], (3,)), ([[0, -1]], (3,)), ([[0, 1]], (3, 3))):
        with pytest.raises(RuntimeError):
            pyburn.sparse_coo_tensor(places, [1.0, 2.0], size)


@pytest.mark.parametrize("name", ["exp", "reshape", "sort", "__getitem__", "__eq__", "cumsum", "view", "sigmoid"])
def test_what_is_not_there_is_refused_by_name(name):
    s = coo(pyburn, pyburn.tensor(PLACES), pyburn.tensor(VALUES.tolist()))
    with pytest.raises(NotImplementedError, match="to_dense"):
        getattr(s, name)(slice(None))


def test_no_function_computes_with_the_shell():
    s = coo(pyburn, pyburn.tensor(PLACES), pyburn.tensor(VALUES.tolist()))
    for function in (pyburn.relu, pyburn.exp, pyburn.nn.functional.gelu, lambda x: x.view(9)):
        with pytest.raises(NotImplementedError):
            function(s)
    for made in (s, s.to_sparse_csr()):
        # Methods of the class itself, arguments of native functions, indices, values and lists of them.
        for call in (
            lambda x: pyburn.Tensor.sum(x),
            lambda x: pyburn.Tensor.exp(x),
            lambda x: pyburn.Tensor.as_strided(x, [1], [1]).item(),
            lambda x: pyburn.tensor(x),
            lambda x: pyburn.tensor([x]),
            lambda x: pyburn.where(pyburn.eye(3) > 0, x, pyburn.zeros(3, 3)),
            lambda x: pyburn.ones(3, 3).bmm(x),
            lambda x: pyburn.ones(3, 3).__setitem__(0, x),
            lambda x: pyburn.stack([pyburn.ones(3, 3), x]),
            lambda x: pyburn.linalg.inv(x),
            lambda x: x.H,
            lambda x: x.real,
        ):
            with pytest.raises((RuntimeError, TypeError)):
                call(made)


METHODS = {
    "mm": lambda lib, s, d: d.mm(s),
    "matmul": lambda lib, s, d: d.matmul(s),
    "add": lambda lib, s, d: d.add(s, alpha=2.5),
    "add_": lambda lib, s, d: d.clone().add_(s, alpha=-0.5),
    "sub": lambda lib, s, d: d.sub(s),
    "sub_": lambda lib, s, d: d.clone().sub_(s, alpha=3),
    "function": lambda lib, s, d: lib.add(d, s, alpha=2),
    "difference": lambda lib, s, d: lib.sub(d, s),
    "mul": lambda lib, s, d: d.mul(s).to_dense(),
    "addmm": lambda lib, s, d: d.addmm(s, d, beta=0.5, alpha=2),
    "cat": lambda lib, s, d: lib.cat([s, s * 2]).to_dense(),
    "cat of columns": lambda lib, s, d: lib.cat([s, s.t(), s], 1).to_dense(),
    "cat backwards": lambda lib, s, d: lib.cat([s, s], -1).to_dense(),
}


@pytest.mark.parametrize("name", METHODS)
def test_dense_with_sparse(name):
    # torch does not differentiate cat, and gives mul a sparse gradient.
    grad = name.split()[0] not in ("cat", "mul")
    held, square = Case(VALUES, requires_grad=grad), Case(np.arange(9.0).reshape(3, 3) - 3.5, requires_grad=grad)
    check_op(lambda lib, i, v, d: METHODS[name](lib, coo(lib, i, v), d), PLACE, held, square)


def test_cat_of_values_with_dimensions():
    held = Case(np.arange(10.0).reshape(5, 2), requires_grad=False)
    for dim in (0, 1, 2):
        check_op(lambda lib, i, v, at=dim: lib.cat([coo(lib, i, v, (3, 3, 2))] * 2, at).to_dense(), PLACE, held)


@pytest.mark.parametrize("reduce", ["sum", "mean", "amax", "amin"])
def test_mm_with_reduce(reduce):
    def call(lib, v, d):
        return lib.sparse.mm(lib.sparse_csr_tensor([0, 2, 2, 4], [0, 2, 1, 2], v, (3, 3)), d, reduce)

    check_op(call, Case(VALUES[:4], requires_grad=False), Case(DENSE, requires_grad=False))


def test_sampled_addmm():
    def call(lib, v, d):
        sampled = lib.sparse_csr_tensor([0, 2, 2, 4], [0, 2, 1, 2], v, (3, 3))
        return lib.sparse.sampled_addmm(sampled, d, d.t(), beta=0.5, alpha=2.0).values()

    check_op(call, Case(VALUES[:4]), Case(DENSE))


def test_a_sparse_gradient_lives_with_its_tensor():
    weight = pyburn.zeros(3, 3, requires_grad=True)
    weight.grad = coo(pyburn, pyburn.tensor(PLACES), pyburn.tensor(VALUES.tolist(), dtype=pyburn.float32))
    assert weight.grad.to_dense().sum().item() == VALUES.sum()
    with pytest.raises(NotImplementedError, match="sparse"):
        weight.sum().backward()


def test_function_with_a_sparse_argument():
    class Multiply(pyburn.autograd.Function):
        @staticmethod
        def forward(ctx, matrix, x):
            ctx.save_for_backward(matrix, x)
            return matrix @ x

        @staticmethod
        def backward(ctx, grad):
            matrix, _ = ctx.saved_tensors
            return None, matrix.t() @ grad

    s = coo(pyburn, pyburn.tensor(PLACES), pyburn.tensor(VALUES.tolist()))
    x = pyburn.tensor(DENSE.tolist(), dtype=pyburn.float64, requires_grad=True)
    s = s.to(pyburn.float64)
    Multiply.apply(s, x).sum().backward()
    assert x.grad.tolist() == (s.t() @ pyburn.ones(3, 2, dtype=pyburn.float64)).tolist()


def test_copies():
    s = coo(pyburn, pyburn.tensor(PLACES), pyburn.tensor(VALUES.tolist()))
    for one in (s, s.to_sparse_csr()):
        for copied in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one)), one.clone(), one.cpu()):
            assert type(copied) is type(one)
            assert copied.tolist() == one.tolist()


def test_embedding_with_a_sparse_gradient_trains_as_torchs():
    tables = []
    for lib in (torch, pyburn):
        table = lib.nn.Embedding(6, 2, sparse=True, padding_idx=5)
        table.weight.data.copy_(lib.arange(12.0).reshape(6, 2) / 10)
        for make in (lib.optim.SparseAdam, lib.optim.SGD, lib.optim.Adagrad):
            optimizer = make(table.parameters(), lr=0.1)
            for rows in ([1, 3, 3], [0, 5, 1], [4, 4, 4]):
                optimizer.zero_grad()
                (table(lib.tensor(rows)).pow(2).sum() + table(lib.tensor([2])).sum()).backward()
                assert table.weight.grad.is_sparse
                optimizer.step()
        with pytest.raises(RuntimeError, match="does not support sparse gradients"):
            lib.optim.Adam(table.parameters()).step()
        tables.append(table.weight.detach())
    torch.testing.assert_close(to_torch(tables[1]), tables[0])


def test_a_graph_convolution_learns():
    """Two layers of a graph network, beside torch's."""
    rng = np.random.default_rng(0)
    features, first, second = rng.standard_normal((3, 4)), rng.standard_normal((4, 5)), rng.standard_normal((5, 2))

    def loss(lib, v, x, a, b):
        graph = coo(lib, lib.tensor(PLACES), v).coalesce()
        hidden = lib.relu(lib.sparse.mm(graph, x @ a))
        return lib.nn.functional.log_softmax(lib.spmm(graph, hidden @ b), dim=1)[:, 0].sum()

    check_op(loss, Case(VALUES), Case(features), Case(first), Case(second), rtol=1e-8)


@pytest.mark.filterwarnings("ignore:torch.sparse.SparseTensor")
@pytest.mark.parametrize("name", ["FloatTensor", "DoubleTensor", "LongTensor"])
def test_typed_constructors(name: str):
    for lib in (torch, pyburn):
        kind = getattr(lib.sparse, name)
        places, values = lib.tensor(PLACES), lib.tensor(VALUES.tolist())
        for made in (kind(places, values, lib.Size([3, 3])), kind(places, values)):
            assert str(made.dtype).endswith("float32") and not made.is_coalesced()
            assert made.to_dense().tolist() == [[0.0, 0.0, 3.0], [4.0, 0.0, 5.5], [0.0, -1.0, 0.0]]
        empty = kind(2, 3)
        assert empty.shape == (2, 3) and empty._nnz() == 0 and kind().shape == (0,)
        assert isinstance(empty, kind) and not isinstance(empty.to_dense(), kind)
        assert not isinstance(empty, lib.sparse.ByteTensor)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "bool", "complex64"])
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
def test_the_text_is_torchs(dtype: str):
    texts = []
    for lib in (torch, pyburn):
        dense = lib.tensor([[0, 1, 0], [2, 0, 3]]).to(getattr(lib, dtype))
        values = lib.ones(2, 2).to(getattr(lib, dtype))
        made = [dense.to_sparse(), dense.to_sparse_csr(), (dense * 0).to_sparse(), (dense * 0).to_sparse_csr()]
        made.append(lib.sparse_coo_tensor([[0, 4]], values, (5, 2)))
        if made[0].is_floating_point():
            made += [dense.to_sparse().requires_grad_(), dense.to_sparse_csr().requires_grad_()]
        texts.append([repr(one).replace("pyburn.", "torch.") for one in made])
        assert made[0].stride() == (0, 0) and made[0].stride(1) == 0
    # Lines are broken where torch's name stands, which is as long as pyburn's but for one letter.
    flat = [[" ".join(text.split()) for text in of] for of in texts]
    assert flat[0] == flat[1]


@pytest.mark.parametrize("offsets", [[0, -1, -2], [0, 1, 2], [-1, 0, 1]])
@pytest.mark.parametrize("shape", [(3, 3), (5, 4), (3, 6)])
def test_matrices_of_diagonals(offsets: list[int], shape: tuple[int, int]):
    results = []
    for lib in (torch, pyburn):
        rows = lib.arange(1, 10).reshape(3, 3)
        made = lib.sparse.spdiags(rows, lib.tensor(offsets), shape)
        results.append([made._indices().tolist(), made._values().tolist(), made.to_dense().tolist()])
    assert results[0] == results[1]


@pytest.mark.parametrize("lib", [torch, pyburn])
def test_diagonals_that_do_not_fit(lib: Any):
    rows, offsets = lib.ones(3, 3), lib.tensor([0, 1, 2])
    wrong = [(lib.tensor([0, 0, 1]), (3, 3)), (offsets[:2], (3, 3)), (lib.tensor([0, 1, 9]), (3, 3))]
    for bad, shape in [*wrong, (offsets, (3, 3, 3)), (offsets.float(), (3, 3))]:
        with pytest.raises(RuntimeError):
            lib.sparse.spdiags(rows, bad, shape)


def test_elements_at_the_places_of_a_mask():
    def masked(lib: Any, x: Any) -> Any:
        mask = lib.sparse_coo_tensor([[0, 2], [1, 2]], lib.ones(2, 2, dtype=x.dtype), (3, 3, 2)).coalesce()
        return x.sparse_mask(mask).to_dense()

    check_op(masked, Case(np.arange(18.0).reshape(3, 3, 2)), rtol=1e-8)
    for lib in (torch, pyburn):
        with pytest.raises(RuntimeError, match="sparse_mask"):
            lib.ones(2, 2).sparse_mask(lib.eye(3).to_sparse())


@pytest.mark.parametrize("lib", [torch, pyburn])
def test_the_switch_of_the_checks(lib: Any):
    checks = lib.sparse.check_sparse_tensor_invariants
    before = checks.is_enabled()
    with checks():
        assert checks.is_enabled()
        assert not checks(False)(checks.is_enabled)()
    assert checks.is_enabled() == before
    checks.enable()
    assert checks.is_enabled()
    checks.disable()
    assert not checks.is_enabled()
