"""Arguments have torch's names, order, kinds and defaults, and functions of several results torch's named tuples."""

from __future__ import annotations

import importlib
import inspect
import re

import pyburn
import pytest
import torch

MODULES = [
    *("nn", "nn.functional", "nn.init", "nn.utils", "nn.utils.rnn", "nn.utils.prune", "nn.utils.parametrize"),
    *("nn.utils.parametrizations", "nn.utils.stateless", "nn.parallel", "optim", "optim.lr_scheduler"),
    *("optim.swa_utils", "utils.data", "utils.data.distributed", "distributions", "autograd.functional"),
]
# What differs on purpose, and why.
DIFFERENT = {
    "nn.functional.log_softmax": "one function with torch.log_softmax, which takes out=",
    "nn.functional.softmax": "one function with torch.softmax, which takes out=",
    "nn.functional.scaled_addmm": "raises, as its like: no such kernels",
    "nn.functional.scaled_addmm_": "raises",
    "nn.functional.scaled_grouped_mm": "raises",
    "nn.functional.scaled_mm": "raises",
    "nn.Module.ipu": "no such device",
    "nn.Module.mtia": "no such device",
    "optim.LBFGS.step": "the closure may be left out for the error that names it",
    "optim.Optimizer.OptimizerPostHook": "a type for annotations",
    "optim.Optimizer.OptimizerPreHook": "a type for annotations",
    "optim.Optimizer.profile_hook_step": "an internal decorator",
    "optim.lr_scheduler.SequentialLR.recursive_undo": "an internal step",
    "utils.data.ConcatDataset.cumsum": "an internal step",
    "utils.data.DataLoader.check_worker_number_rationality": "an internal warning",
    "utils.data.IterDataPipe": "raises",
    "utils.data.MapDataPipe": "raises",
    "utils.data.Sampler": "older programs pass a data source",
    "utils.data.random_split": "None is the default generator",
    "distributions.CorrCholeskyTransform.log_abs_det_jacobian": "no intermediates are kept",
    "distributions.Gamma.rsample": "draws from the default generator",
    "distributions.Gamma.sample": "draws from the default generator",
}
SKIPPED = re.compile(r"nn\.(parallel\.)?(DataParallel|DistributedDataParallel)\.|utils\.data\.\w*DataPipe\.")


def pairs(name: str) -> list[tuple[str, object, object]]:
    """The functions, classes and public methods of a module of torch, with those of pyburn (None where absent)."""
    theirs, ours = importlib.import_module(f"torch.{name}"), importlib.import_module(f"pyburn.{name}")
    found = []
    for key in sorted(set(getattr(theirs, "__all__", None) or dir(theirs))):
        value = getattr(theirs, key, None)
        if key.startswith("_") or not str(getattr(value, "__module__", "")).startswith("torch"):
            continue
        if not hasattr(ours, key) or not callable(value):
            continue
        found.append((f"{name}.{key}", value, getattr(ours, key)))
        if inspect.isclass(value):
            methods = {k: v for k, v in vars(value).items() if not k.startswith("_") and callable(v)}
            found += [(f"{name}.{key}.{k}", v, getattr(getattr(ours, key), k, None)) for k, v in methods.items()]
    return found


def shape_of(function: object) -> list[tuple[str, str, str]] | None:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    return [(p.name, p.kind.name, shown(p.default)) for p in parameters]


def shown(default: object) -> str:
    if default == ():
        return "()"
    text = re.sub(r"torch\.|pyburn\.", "", repr(default))
    return re.sub(r" at 0x\w+", "", text)


@pytest.mark.parametrize("name", MODULES)
def test_signatures_are_torchs(name):
    wrong = []
    for label, theirs, ours in pairs(name):
        expected, found = shape_of(theirs), shape_of(ours) if ours is not None else "absent"
        # torch hides the arguments of functions that it dispatches itself.
        hidden = expected is None or [kind for _, kind, _ in expected] == ["VAR_POSITIONAL", "VAR_KEYWORD"]
        if hidden or expected == found or SKIPPED.match(label):
            continue
        if label not in DIFFERENT:
            wrong.append((label, expected, found))
    assert wrong == []


def test_every_difference_is_still_one():
    labels = {label for name in MODULES for label, _, _ in pairs(name)}
    assert set(DIFFERENT) <= labels
    found = [pair for name in MODULES for pair in pairs(name) if pair[0] in DIFFERENT]
    assert [label for label, theirs, ours in found if ours is not None and shape_of(theirs) == shape_of(ours)] == []


NAMED = [
    *("t.max(x, 1)", "t.min(x, 0)", "t.sort(x)", "t.topk(x, 1)", "t.median(x, 1)", "t.nanmedian(x, 1)", "t.mode(x)"),
    *("t.kthvalue(x, 1)", "t.cummax(x, 0)", "t.cummin(x, 0)", "t.aminmax(x)", "t.frexp(x)", "t.histogram(x, 2)"),
    *("t.slogdet(x)", "t.svd(x)", "t.linalg.eigh(x)", "t.linalg.qr(x)", "t.linalg.svd(x)"),
    *("t.linalg.slogdet(x)", "t.linalg.lu(x)", "t.linalg.lu_factor(x)", "t.linalg.lstsq(x, x)", "t.linalg.inv_ex(x)"),
    *("t.linalg.cholesky_ex(x)", "t.linalg.solve_ex(x, x)", "t.linalg.eig(x)", "t.linalg.ldl_factor(x)", "t.geqrf(x)"),
    *("t.triangular_solve(x, x)", "t.lu_unpack(*t.linalg.lu_factor(x))", "t.histogramdd(x, [2, 2])"),
]


@pytest.mark.filterwarnings("ignore:.*deprecated", "ignore:torch.qr", "ignore:torch.triangular_solve")
@pytest.mark.parametrize("expression", NAMED)
def test_results_have_torchs_names(expression):
    ours, theirs = (eval(expression, {"t": t, "x": t.tensor([[2.0, 1.0], [1.0, 3.0]])}) for t in (pyburn, torch))
    # Fields of torch's results are descriptors of one kind; `n_fields` and its like are plain numbers.
    kind = type(torch.return_types.max.values)
    fields = [name for name in dir(theirs) if isinstance(getattr(type(theirs), name), kind)]
    assert len(fields) == len(theirs) == len(ours)
    assert type(ours).__name__ == type(theirs).__name__ and isinstance(ours, tuple)
    for name in fields:
        place = next(i for i, item in enumerate(theirs) if item is getattr(theirs, name))
        assert ours[place] is getattr(ours, name)
