"""Every optimizer of torch's own bank of settings, ten steps beside torch, and the mistakes it lists."""

import copy
import pickle

import numpy as np
import pyburn
import pytest
import torch
from torch.testing._internal.common_optimizers import OptimizerErrorEnum, optim_db

from oracle import from_torch, to_torch

INFOS = {info.optim_cls.__name__: info for info in optim_db}


def ours(value):
    if isinstance(value, torch.Tensor):
        return from_torch(value)
    if isinstance(value, dict):
        return {key: ours(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(ours(item) for item in value)
    return value


def theirs(value):
    if isinstance(value, pyburn.Tensor):
        return to_torch(value.detach())
    if isinstance(value, dict):
        return {key: theirs(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(theirs(item) for item in value)
    return value


def cases():
    for name, info in INFOS.items():
        for given in info.optim_inputs_func(device="cpu"):
            yield pytest.param(name, given.kwargs, id=f"{name}-{given.desc}")


CASES = list(cases())


def values(name, dtype="float32"):
    rng = np.random.default_rng(3)
    shapes = [(5, 3), (2, 5)] if name == "Muon" else [(5, 3), (5,), (2, 3, 2), ()]
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def loss_of(lib, params):
    total = 0.0
    for i, p in enumerate(params):
        total = total + ((p * p).sin() * 0.5 + p.exp() * 0.1 * (i + 1)).sum()
    return total


def sparse_gradients(lib, params, step):
    for p in params:
        p.grad = None
        if p.dim() == 0:
            continue
        rng = np.random.default_rng(step)
        rows = rng.integers(0, p.shape[0], 3)
        parts = rng.standard_normal((3, *p.shape[1:])).astype("float32")
        made = lib.sparse_coo_tensor(
            lib.tensor(rows.tolist())[None], lib.tensor(parts.tolist(), dtype=p.dtype), tuple(p.shape)
        )
        p.grad = HELD[p] = made


# A gradient of a subclass of Tensor must be held by someone else, too.
HELD = {}


class Run:
    """One library's parameters and optimizer."""

    def __init__(self, lib, name, settings, dtype="float32", device="cpu"):
        self.lib, self.name = lib, name
        make = torch.tensor if lib is torch else lambda a: from_torch(torch.tensor(a), device)
        self.params = [make(value).requires_grad_() for value in values(name, dtype)]
        self.settings = copy.deepcopy(settings) if lib is torch else ours(settings)
        self.optimizer = getattr(lib.optim, name)(self.params, **self.settings)

    def closure(self):
        self.optimizer.zero_grad()
        loss = loss_of(self.lib, self.params)
        if self.name == "LBFGS" and self.settings.get("maximize"):
            loss = -loss  # else the loss grows without bound
        loss.backward()
        return loss

    def steps(self, count, begin=0):
        for i in range(count):
            if self.name == "SparseAdam":
                sparse_gradients(self.lib, self.params, begin + i)
                self.optimizer.step()
            else:
                self.optimizer.step(self.closure)
        return self


def agree(mine, other, tolerance=1e-5):
    for a, b in zip(mine.params, other.params, strict=True):
        torch.testing.assert_close(to_torch(a.detach().cpu()), b.detach(), rtol=tolerance, atol=tolerance)


def close_states(mine, other, where="", atol=1e-5):
    if isinstance(other, torch.Tensor):
        torch.testing.assert_close(to_torch(mine), other, rtol=1e-4, atol=atol, check_dtype=False, msg=where)
    elif isinstance(other, dict):
        assert set(mine) == set(other), where
        for key, value in other.items():
            close_states(mine[key], value, f"{where}.{key}", atol)
    elif isinstance(other, list | tuple):
        assert len(mine) == len(other), where
        for i, value in enumerate(other):
            close_states(mine[i], value, f"{where}.{i}", atol)
    elif isinstance(other, float | int) and not isinstance(other, bool):
        assert float(mine) == pytest.approx(float(other), rel=1e-4, abs=1e-6), where
    else:
        assert mine == other, where


def run_pair(name, settings, steps):
    # L-BFGS asks whether a curvature is above 1e-10: in float32 rounding answers.
    dtype = "float64" if name == "LBFGS" else "float32"
    return Run(pyburn, name, settings, dtype).steps(steps), Run(torch, name, settings, dtype).steps(steps)


# bfloat16 products inside of Muon are rounded in another order.
TOLERANCE = {"Muon": 2e-3}


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")  # torch's own, once in a process
@pytest.mark.parametrize(("name", "settings"), CASES)
def test_ten_steps_are_torchs(name, settings):
    mine, other = run_pair(name, settings, 10)
    agree(mine, other, TOLERANCE.get(name, 1e-5))
    if not any(isinstance(value, torch.Tensor) for value in settings.values()):
        assert repr(mine.optimizer) == repr(other.optimizer)
    state, expected = mine.optimizer.state_dict(), other.optimizer.state_dict()
    assert [list(group) for group in state["param_groups"]] == [list(group) for group in expected["param_groups"]]
    if name not in ("Muon", "LBFGS"):
        # Centered RMSprop divides by a difference of near numbers; in float64 its states are equal to 1e-14.
        close_states(state["state"], expected["state"], atol=2e-5 if settings.get("centered") else 1e-5)


@pytest.mark.parametrize("name", INFOS)
def test_double_precision(name):
    mine, other = Run(pyburn, name, {}, "float64").steps(10), Run(torch, name, {}, "float64").steps(10)
    agree(mine, other, TOLERANCE.get(name, 1e-9))


@pytest.mark.parametrize(("name", "settings"), CASES)
def test_a_state_goes_both_ways_and_the_numbers_go_on(name, settings):
    mine, other = run_pair(name, settings, 3)
    fresh, fresh_torch = run_pair(name, {}, 0)
    fresh.settings = fresh_torch.settings = settings
    for a, b, source in zip(fresh.params, fresh_torch.params, other.params, strict=True):
        a.data.copy_(from_torch(source)), b.data.copy_(source)
    fresh.optimizer.load_state_dict(ours(other.optimizer.state_dict()))
    fresh_torch.optimizer.load_state_dict(theirs(mine.optimizer.state_dict()))
    other.steps(4, 3), fresh.steps(4, 3), fresh_torch.steps(4, 3)
    agree(fresh, other, TOLERANCE.get(name, 1e-5))
    for a, b in zip(fresh_torch.params, other.params, strict=True):
        tolerance = TOLERANCE.get(name, 2e-5)
        torch.testing.assert_close(a.detach(), b.detach(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", INFOS)
def test_pickle_and_deepcopy_go_on_alike(name):
    run = Run(pyburn, name, {}).steps(2)
    for copied in (pickle.loads(pickle.dumps(run.optimizer)), copy.deepcopy(run.optimizer)):
        again = Run(pyburn, name, {})
        again.params = copied.param_groups[0]["params"]
        again.optimizer = copied
        again.steps(2, 2)
        kept = Run(pyburn, name, {}).steps(4)
        for a, b in zip(again.params, kept.params, strict=True):
            assert a.tolist() == b.tolist()


FLAGS = [(name, flag) for name, info in INFOS.items() for flag in ("foreach", "fused") if flag in info.supported_impls]


@pytest.mark.parametrize(("name", "flag"), FLAGS)
def test_flags_are_accepted(name, flag):
    agree(Run(pyburn, name, {flag: True}).steps(3), Run(torch, name, {flag: True}).steps(3))


@pytest.mark.parametrize("name", [n for n, info in INFOS.items() if "differentiable" in info.supported_impls])
def test_gradients_pass_through_a_differentiable_step(name):
    found = []
    for lib in (pyburn, torch):
        leaf = lib.tensor([0.5, -1.0, 2.0], dtype=lib.float64, requires_grad=True)
        p = leaf.clone()
        p.grad = (leaf * leaf).exp() * 0.1
        getattr(lib.optim, name)([p], differentiable=True, lr=0.1).step()
        p.sum().backward()
        found.append(leaf.grad.tolist())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


def mistakes():
    for name, info in INFOS.items():
        for i, given in enumerate(info.optim_error_inputs_func(device="cpu", dtype=torch.float32)):
            # Tensors may be settings in every form here, and complex parameters come with complex tensors.
            if "foreach" not in given.optimizer_error_input.kwargs and "complex" not in given.error_regex.lower():
                yield pytest.param(name, given, id=f"{name}-{i}")


@pytest.mark.parametrize(("name", "given"), list(mistakes()))
def test_torchs_list_of_mistakes(name, given):
    wrong = given.optimizer_error_input
    params = wrong.params() if callable(wrong.params) else wrong.params
    if params is None:
        params = [torch.zeros(2, 2)]
    converted = {}

    def convert(value):
        if isinstance(value, torch.Tensor) and value.is_sparse:
            return pyburn.sparse_coo_tensor(
                from_torch(value._indices()), from_torch(value._values()), tuple(value.shape)
            )
        if isinstance(value, torch.Tensor):
            return converted.setdefault(id(value), from_torch(value).requires_grad_(value.requires_grad))
        if isinstance(value, dict):
            return {key: convert(item) for key, item in value.items()}
        return type(value)(convert(item) for item in value) if isinstance(value, list | tuple | set) else value

    assert given.error_on == OptimizerErrorEnum.CONSTRUCTION_ERROR
    make = getattr(pyburn.optim, name)
    if issubclass(given.error_type, Warning):
        with pytest.warns(given.error_type, match=given.error_regex):
            make(convert(params), **ours(wrong.kwargs))
    else:
        with pytest.raises(given.error_type, match=given.error_regex):
            make(convert(params), **ours(wrong.kwargs))


@pytest.mark.gpu
@pytest.mark.parametrize("name", [name for name in INFOS if name not in ("Muon", "SparseAdam")])
def test_parameters_on_a_gpu(name):
    mine, other = Run(pyburn, name, {}, device="wgpu").steps(5), Run(torch, name, {}).steps(5)
    assert mine.params[0].device.type == "wgpu"
    agree(mine, other, 1e-4)
