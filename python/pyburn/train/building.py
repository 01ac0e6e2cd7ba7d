"""What a Learner is given, in all forms that people write, as what it works with."""

from __future__ import annotations

import contextlib
import fnmatch
import functools
import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyburn import data, nn, optim, safetensors, serialization
from pyburn._core import Tensor
from pyburn.autograd import no_grad
from pyburn.ops import as_tensor, empty
from pyburn.optim import Optimizer
from pyburn.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from pyburn.train import batches
from pyburn.train.callbacks import TensorBoard
from pyburn.train.checkpoints import Checkpoints, Keep, KeepBest, KeepLast
from pyburn.train.events import Callback
from pyburn.train.hooks import ModuleHooks, has_hooks
from pyburn.train.metrics import Loss, Metric, metric
from pyburn.train.renderers.board import Board
from pyburn.train.report import Report
from pyburn.train.schedule import Pace
from pyburn.utils.checkpoint import checkpoint

if TYPE_CHECKING:
    from pyburn.train.learner import Learner

_OPTIMIZERS = {
    name.lower(): getattr(optim, name)
    for name in optim.__all__
    if isinstance(getattr(optim, name), type) and name != "Optimizer"
}


def device_of(model: nn.Module) -> Any:
    """Where the model's weights are; of a model without any, the default device."""
    first = next(iter(model.parameters()), None)
    return empty(0).device if first is None else first.device


def optimizer(
    model: nn.Module,
    given: Optimizer | Callable[..., Optimizer] | str,
    lr: float | None,
    groups: Mapping[str, Mapping[str, Any]],
) -> Optimizer:
    """The optimizer that `given` is, makes, or names."""
    if isinstance(given, Optimizer):
        if lr is not None or groups:
            raise TypeError("Learner: lr and groups belong to an optimizer given by name; set them on the optimizer")
        return stepping(given)
    options = {} if lr is None else {"lr": lr}
    if isinstance(given, str) and given.lower() not in _OPTIMIZERS:
        raise ValueError(f"Learner: there is no optimizer {given!r}; the names are {', '.join(sorted(_OPTIMIZERS))}")
    make: Callable[..., Any] = _OPTIMIZERS[given.lower()] if isinstance(given, str) else given
    made = make(parameter_groups(model, groups), **options)
    if not isinstance(made, Optimizer):
        raise TypeError(f"Learner: optimizer made a {type(made).__name__}, which is no pyburn.optim.Optimizer")
    return stepping(made)


def stepping(given: Optimizer) -> Optimizer:
    """The optimizer, where a step needs nothing but gradients."""
    if isinstance(given, optim.LBFGS):
        raise TypeError("Learner: LBFGS asks for the loss many times in one step; call optimizer.step(closure) by hand")
    return given


def configured(
    model: Any, schedule: Any, every: Pace | None, monitor: str
) -> tuple[Optimizer, LRScheduler | Callable[[Optimizer], LRScheduler] | None, Pace | None, str]:
    """The optimizer, the schedule, its pace and the watched number that `model.configure_optimizers()` asks for.

    It gives an optimizer, a pair of lists (optimizers, schedules), or a dictionary with "optimizer" and "lr_scheduler",
    which may be a dictionary again with "scheduler", "interval", "frequency" and "monitor". What the Learner was given
    comes first.
    """
    given, found = model.configure_optimizers(), None
    if isinstance(given, (list, tuple)) and len(given) == 2 and isinstance(given[0], (list, tuple)):
        given, found = given[0], given[1]
    optimizers = list(given) if isinstance(given, (list, tuple)) else [given]
    if len(optimizers) == 1 and isinstance(optimizers[0], Mapping):
        whole = optimizers[0]
        found, monitor = whole.get("lr_scheduler"), whole.get("monitor", monitor)
        optimizers = [whole.get("optimizer")]
    schedules = list(found) if isinstance(found, (list, tuple)) else [] if found is None else [found]
    if len(optimizers) != 1 or not isinstance(optimizers[0], Optimizer) or len(schedules) > 1:
        kinds = ", ".join(type(each).__name__ for each in optimizers)
        raise TypeError(
            f"Learner: configure_optimizers() gave {len(optimizers)} optimizers ({kinds}) and {len(schedules)} "
            "schedules; a Learner steps one of each: write a strategy= for more, or give the Learner its optimizer="
        )
    first = schedules[0] if schedules else None
    if isinstance(first, Mapping):
        every = every or (first.get("interval", "epoch"), first.get("frequency", 1))
        monitor, first = first.get("monitor", monitor), first["scheduler"]
    elif first is not None:
        every = every or "epoch"  # as Lightning does, whatever the schedule
    return optimizers[0], first if schedule is None else schedule, every, monitor


def parameter_groups(model: nn.Module, groups: Mapping[str, Mapping[str, Any]]) -> Any:
    """The weights of the model; with `groups`, each in the group of the first pattern that its name matches."""
    if not groups:
        return list(model.parameters())
    members: dict[str | None, list[nn.Parameter]] = {pattern: [] for pattern in groups}
    members[None] = []
    for name, weight in model.named_parameters():
        members[next((p for p in groups if fnmatch.fnmatchcase(name, p)), None)].append(weight)
    for pattern in groups:
        if not members[pattern]:
            raise ValueError(f"Learner: no weight of the model matches the group {pattern!r}; see named_parameters()")
    made: list[dict[str, Any]] = [{"params": members[pattern], **settings} for pattern, settings in groups.items()]
    return [{"params": members[None]}, *made] if members[None] else made


def scheduler(
    optimizer: Optimizer, given: LRScheduler | Callable[[Optimizer], LRScheduler] | None
) -> LRScheduler | None:
    """The schedule that `given` is or makes."""
    return given if given is None or isinstance(given, LRScheduler) else given(optimizer)


def loader(given: Any, batch_size: int, shuffle: bool, model: nn.Module | None = None) -> Any:
    """Batches of what `given` is: a loader as it is, datasets and tuples or dictionaries of arrays in batches."""
    if isinstance(given, data.DataLoader):
        return given
    if hasattr(given, "shape"):  # inputs alone, for a model with its own steps
        given = (given,)
    if is_columns(given):
        given = _columns(given, shuffle, model)
    if isinstance(given, data.IterableDataset):
        return data.DataLoader(given, batch_size=batch_size)
    indexed = hasattr(given, "__getitem__") and hasattr(given, "__len__") and not hasattr(given, "__iter__")
    if isinstance(given, data.Dataset) or indexed:
        return data.DataLoader(given, batch_size=batch_size, shuffle=shuffle)
    if inspect.isgeneratorfunction(given):
        return _Again(given)
    if isinstance(given, Iterable) and not isinstance(given, (str, bytes, Iterator, Mapping)):
        return given
    raise TypeError(
        f"Learner: data is a {type(given).__name__}; give a DataLoader, a Dataset, a tuple or dictionary of tensors or "
        "arrays, a generator function, or something that can be iterated again for each epoch"
    )


def is_columns(given: Any) -> bool:
    """Whether `given` is a tuple or a dictionary of tensors or arrays: data as a whole, not yet in batches."""
    parts = given.values() if isinstance(given, Mapping) else given if isinstance(given, (tuple, list)) else ()
    return bool(parts) and all(hasattr(each, "shape") for each in parts)


def _columns(given: Any, shuffle: bool, model: nn.Module | None) -> data.Dataset[Any]:
    """A dataset of tuples or of dictionaries."""
    named = isinstance(given, Mapping)
    tensors = [as_data(each, model) for each in (given.values() if named else given)]
    sizes = [len(each) if each.dim() else None for each in tensors]
    if None in sizes or len(set(sizes)) > 1:
        shapes = ", ".join(str(tuple(each.shape)) for each in tensors)
        raise ValueError(f"Learner: inputs and targets must have the same number of samples, but have shapes {shapes}")
    if shuffle and sizes[0] == 0:
        raise ValueError("Learner: the training data gave no batch; it is empty")
    return data.StackDataset(**dict(zip(given, tensors, strict=True))) if named else data.TensorDataset(*tensors)


class _Again:
    """The batches of a generator function, from the start each time."""

    def __init__(self, function: Callable[[], Iterator[Any]]) -> None:
        self.function = function

    def __iter__(self) -> Iterator[Any]:
        return self.function()


def as_data(given: Any, model: nn.Module | None) -> Tensor:
    """A tensor as it is; an array, a frame or a series as one, its floats in the dtype of the model's weights."""
    if isinstance(given, Tensor):
        return given
    array = given.to_numpy() if hasattr(given, "to_numpy") else given
    if (
        getattr(getattr(array, "dtype", None), "kind", "") == "O"
    ):  # a frame whose columns differ, or that knows missing values
        import numpy

        array = numpy.array(array.tolist())
        if array.dtype.kind not in "biuf":
            raise TypeError(
                f"Learner: a {type(given).__name__} holds what is no number, or nothing at all; give numbers, e.g. by "
                "pandas.get_dummies, Series.cat.codes or fillna"
            )
    tensor = as_tensor(array)
    if not tensor.is_floating_point():
        return tensor
    kinds = (each.dtype for each in (() if model is None else model.parameters()) if each.is_floating_point())
    return tensor.to(next(kinds, tensor.dtype))


def inputs(given: Any, batch_size: int, model: nn.Module | None = None) -> Iterator[Any]:
    """The inputs, batch after batch, of what `predict` is given."""
    if hasattr(given, "shape"):
        yield from as_data(given, model).split(batch_size)
        return
    for batch in loader(given, batch_size, shuffle=False, model=model):
        yield batches.split(batch)[0]


def callbacks(
    learner: Learner,
    given: Iterable[Callback],
    renderer: Callback | str | None,
    checkpoints: Keep | str | None,
    default_renderer: Callable[[], Callback],
) -> Iterator[Callback]:
    """All that takes part in a run: what was given, and what every run has unless it was given."""
    given = [_callback(each) for each in ([given] if isinstance(given, Callback) else given)]
    yield from given
    if learner.folder is not None:
        yield learner.folder
        for usual in (TensorBoard, Report):
            if not any(isinstance(each, usual) for each in given):
                yield usual()
        if checkpoints is not None:
            yield Checkpoints(_usual_keep(learner) if isinstance(checkpoints, str) else checkpoints)
    if renderer is not None:
        yield default_renderer() if isinstance(renderer, str) else renderer
    if has_hooks(learner.model):
        yield ModuleHooks()


def _callback(given: Any) -> Callback:
    """A callback that was given, or is made of its class."""
    made = given() if isinstance(given, type) and issubclass(given, Callback) else given
    if not isinstance(made, Callback):
        raise TypeError(
            f"Learner: {given!r} is no callback; give an object such as train.EarlyStopping(), or of a class of your "
            "own that is derived from train.Callback"
        )
    return made


def metrics(given: Any) -> list[Metric]:
    """The loss, and the metrics that were given or named; each has a name of its own, under which its numbers stand."""
    if isinstance(given, Mapping):
        wanted = [_renamed(metric(each), name) for name, each in given.items()]
    else:
        wanted = [metric(each) for each in ([given] if isinstance(given, (str, Metric)) or callable(given) else given)]
    found: list[Metric] = [Loss()]
    for each in wanted:
        if type(each) is Loss and each.function is None and each.name == "loss":
            continue  # which every run has
        if any(each.name == other.name for other in found):
            raise ValueError(
                f"Learner: two metrics are named {each.name!r}, and only one could be shown; give one of them another "
                f"name, such as {type(each).__name__}(name='other_{each.name}')"
            )
        found.append(each)
    return found


def _renamed(given: Metric, name: str) -> Metric:
    given.name = name
    return given


def _usual_keep(learner: Learner) -> Keep:
    """The two newest checkpoints and the best one, where a schedule that watches the same number says what is best."""
    schedule, mode = learner.schedule.scheduler, "auto"
    if isinstance(schedule, ReduceLROnPlateau) and learner.schedule.monitor == learner.monitor:
        mode = str(schedule.mode)
    best = KeepBest(learner.monitor, mode=mode)
    best.needed = learner.monitor != "valid_loss"  # which nobody has asked for, and a module's own steps may not give
    return KeepLast(2) | best


def board() -> Board | None:
    """What a full-screen view of the run shows; None where there is no terminal for one."""
    try:
        from pyburn.train.renderers import dashboard
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"Learner: dashboard=True needs the package {error.name}: pip install 'pyburn[dashboard]'", name=error.name
        ) from None
    return Board() if dashboard.possible() else None


_STEPS = {"train": ("training_step",), "valid": ("validation_step",), "test": ("test_step", "validation_step")}


def own_step(model: Any, split: str) -> Callable[[Any, int], Any] | None:
    """The step that the model brings for its batches, as a function of the batch and its number; None without one."""
    step = next((getattr(model, name) for name in _STEPS[split] if hasattr(model, name)), None)
    # Lightning's steps also take the number of the batch.
    if step is None or len(inspect.signature(step).parameters) > 1:
        return step
    return lambda batch, number: step(batch)


@contextlib.contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """The model in eval mode while the block runs, each layer back in its own mode afterwards."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


def _twice(module: nn.Module) -> tuple[contextlib.AbstractContextManager[Any], contextlib.AbstractContextManager[Any]]:
    return contextlib.nullcontext(), _buffers_kept(module)


@contextlib.contextmanager
def _buffers_kept(module: nn.Module) -> Iterator[None]:
    """What the block writes into buffers is undone: running means have seen the batch once already."""
    before = [(buffer, buffer._version, buffer.detach().clone()) for buffer in module.buffers()]
    try:
        yield
    finally:
        with no_grad():
            for buffer, version, value in before:
                if buffer._version != version:
                    buffer.copy_(value)


@contextlib.contextmanager
def recomputed(model: nn.Module, patterns: Sequence[str]) -> Iterator[None]:
    """While the block runs, layers whose names match keep no activations: the backward pass computes them again.

    Of layers inside each other the outermost is computed again, and with it all that it holds.
    """
    named = {name: module for name, module in model.named_modules() if name}
    matched: set[str] = set()
    for pattern in patterns:
        found = [name for name in named if fnmatch.fnmatchcase(name, pattern)]
        if not found:
            raise ValueError(f"Learner: no layer of the model matches recompute={pattern!r}; see named_modules()")
        matched.update(found)
    outer = [name for name in matched if not any(name.startswith(f"{other}.") for other in matched)]
    changed = [named[name] for name in outer]
    for module in changed:
        contexts = functools.partial(_twice, module)
        module.forward = functools.partial(checkpoint, module.forward, use_reentrant=False, context_fn=contexts)
    try:
        yield
    finally:
        for module in changed:
            del module.forward


def save_weights(model: nn.Module, path: str | os.PathLike[str]) -> None:
    """Nothing; the file at `path` holds the model's weights."""
    if os.fspath(path).endswith(".safetensors"):
        safetensors.save_file(model.state_dict(), path)
    else:
        serialization.save(model.state_dict(), path)


def load_weights(model: nn.Module, path: str | os.PathLike[str], device: Any) -> None:
    """Nothing; the model has the weights of the file at `path`, which may also be a checkpoint of a run."""
    if os.fspath(path).endswith(".safetensors"):
        model.load_state_dict(safetensors.load_file(path))
        return
    found = serialization.load(path, map_location=device)
    model.load_state_dict(found["model"] if "format" in found and "model" in found else found)
