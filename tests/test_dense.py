"""Dense tensors asked as sparse, quantized or foreign ones; the names of dtypes and storages that torch has."""

from __future__ import annotations

import numpy as np
import pyburn
import pytest
import torch

from oracle import check_op

REFUSED = (
    "values",
    "indices",
    "coalesce",
    "is_coalesced",
    "crow_indices",
    "col_indices",
    "ccol_indices",
    "row_indices",
)


@pytest.mark.parametrize("name", [*REFUSED, "_values", "_indices", "_nnz", "q_scale", "int_repr", "qscheme"])
def test_torchs_errors_for_a_dense_tensor(name):
    with pytest.raises(RuntimeError) as theirs:
        getattr(torch.ones(2), name)()
    with pytest.raises(RuntimeError) as ours:
        getattr(pyburn.ones(2), name)()
    assert type(ours.value) is type(theirs.value)
    if name in REFUSED:
        assert str(ours.value).startswith(str(theirs.value))


def test_sparse_tensors_keep_their_own():
    made = pyburn.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse()
    assert made.coalesce().values().tolist() == [2.0, 3.0] and made._nnz() == 2 and made.sparse_dim() == 2
    assert made.to_sparse_csr().crow_indices().tolist() == [0, 1, 2]


@pytest.mark.parametrize("name", ["sparse_dim", "dense_dim", "is_distributed", "dim_order"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 1, 3)])
def test_answers(name, shape):
    assert getattr(pyburn.ones(shape), name)() == getattr(torch.ones(shape), name)()


def test_dim_order_of_views():
    for make in (lambda t: t.ones(2, 3, 4).permute(2, 0, 1), lambda t: t.ones(2, 3, 4).transpose(0, 2)):
        assert make(pyburn).dim_order() == make(torch).dim_order()


def test_special_functions_are_methods_too():
    x, y = np.array([0.5, 1.5, 3.0]), np.array([0.2, 2.0, 1.0])
    check_op(lambda t, a: a.i0(), x)
    check_op(lambda t, a, b: (a.igamma(b), a.igammac(b)), x, y, grad=False)
    check_op(lambda t, a: a.mvlgamma(2), x + 1)


def test_views_and_shapes():
    x = pyburn.arange(6.0)
    assert x.is_set_to(x.view(6)) and not x.is_set_to(x.view(2, 3)) and not x.is_set_to(x.clone())
    assert pyburn.zeros(1).resize_as_(x).shape == (6,)
    with pytest.raises(pyburn.DeviceError, match="no such device"):
        x.xpu()


def test_storages_by_type():
    x = pyburn.tensor([1.0, 2.0, 3.0])
    kept = x.storage()
    assert isinstance(kept, pyburn.FloatStorage) and not isinstance(kept, pyburn.LongStorage)
    kept[1] = 5.0
    assert x.tolist() == [1.0, 5.0, 3.0] and kept[1] == 5.0 and list(kept) == [1.0, 5.0, 3.0]
    assert pyburn.LongStorage([1, 2]).tolist() == [1, 2] and len(pyburn.HalfStorage(4)) == 4
    assert kept.clone().fill_(0).tolist() == [0.0] * 3 and x[0] == 1.0


def test_dtypes_that_are_only_names():
    for name in ("float8_e4m3fn", "float8_e5m2", "complex32", "qint8", "quint8", "qint32"):
        ours, theirs = getattr(pyburn, name), getattr(torch, name)
        assert (ours.itemsize, ours.is_floating_point, ours.is_complex) == (
            theirs.itemsize,
            theirs.is_floating_point,
            theirs.is_complex,
        )
        assert ours != pyburn.float32 and {ours: 1}[ours] == 1
        with pytest.raises(TypeError):
            pyburn.zeros(1, dtype=ours)
    assert isinstance(pyburn.per_tensor_affine, pyburn.qscheme)


def test_numbers_that_a_compiler_would_not_know():
    for expression in ("t.sym_max(1, 2.0)", "t.sym_min(3, 2)", "t.sym_int(-2.5)", "t.sym_float(2)", "t.sym_not(True)"):
        assert eval(expression, {"t": pyburn}) == eval(expression, {"t": torch})
    assert not isinstance(3, pyburn.SymInt)
    with pytest.raises(NotImplementedError):
        pyburn.SymInt(3)


def test_coordinates_and_powers():
    for shape in [(3, 4), (2, 3, 2), 12]:
        check_op(lambda t, i, s=shape: t.unravel_index(i, s), np.array([[0, 11], [5, 7]]), grad=False)
    x = np.array([1.5, -2.0])
    check_op(lambda t, x: (t.vander(x), t.vander(x, 2, True), t.vander(x, 1), t.vander(x, 0)), x, grad=False)
    check_op(lambda t, x: t.vander(x, 4), np.array([1, 2, 3]), grad=False)
    with pytest.raises(TypeError, match="integer dtype"):
        pyburn.unravel_index(pyburn.ones(2), (2,))


def test_anomaly_switches():
    assert not pyburn.is_anomaly_enabled() and pyburn.is_anomaly_check_nan_enabled()
    pyburn.set_anomaly_enabled(True, False)
    assert pyburn.is_anomaly_enabled() and not pyburn.is_anomaly_check_nan_enabled()
    pyburn.set_anomaly_enabled(False)
    assert not pyburn.is_anomaly_enabled() and pyburn.is_anomaly_check_nan_enabled()
