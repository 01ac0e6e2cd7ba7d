"""Modules called with other parameters than their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pyburn import ops
from pyburn._core import Tensor

_ABSENT = object()


def _owner(module: Any, name: str) -> tuple[dict[str, Any], str]:
    """The dict of a module that has this parameter or buffer, and its name there."""
    *path, last = name.split(".")
    for part in path:
        if part not in module._modules:
            raise AttributeError(f"functional_call: the module has no part {name!r}.")
        module = module._modules[part]
    for values in (module._parameters, module._buffers):
        if last in values:
            return values, last
    raise AttributeError(f"functional_call: {name!r} is neither a parameter nor a buffer of the module.")


def _tied(module: Any, values: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The values, and the same ones under the other names of what they replace."""
    own = [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]
    names: dict[int, list[str]] = {}
    for name, tensor in own:
        names.setdefault(id(tensor), []).append(name)
    found = dict(values)
    for group in names.values():
        given = [name for name in group if name in values]
        for name in group if given else ():
            found.setdefault(name, values[given[0]])
    return found


@contextmanager
def _replaced(module: Any, values: Mapping[str, Tensor]) -> Iterator[None]:
    before: list[tuple[dict[str, Any], str, Any]] = []
    try:
        for name, value in values.items():
            owner, last = _owner(module, name)
            before.append((owner, last, owner.get(last, _ABSENT)))
            owner[last] = value
        yield
    finally:
        for owner, last, value in reversed(before):
            owner[last] = value


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """What the module computes with these parameters and buffers instead of its own, which stay as they are.

    Example:
        >>> import pyburn
        >>> layer = pyburn.nn.Linear(1, 1)
        >>> new = {"weight": pyburn.tensor([[2.0]]), "bias": pyburn.zeros(1)}
        >>> pyburn.func.functional_call(layer, new, (pyburn.tensor([3.0]),))
        tensor([6.])
    """
    dicts = (
        [parameter_and_buffer_dicts] if isinstance(parameter_and_buffer_dicts, Mapping) else parameter_and_buffer_dicts
    )
    values: dict[str, Tensor] = {}
    for part in dicts:
        if twice := set(part) & set(values):
            raise ValueError(
                f"{sorted(twice)} appeared in multiple dictionaries; behavior of functional call is ambiguous"
            )
        values.update(part)
    if strict:
        own = {name for name, _ in (*module.named_parameters(), *module.named_buffers())}
        if own != set(values):
            raise RuntimeError(
                f"functional_call: missing {sorted(own - set(values))}, unexpected {sorted(set(values) - own)}"
            )
    arguments = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, _tied(module, values) if tie_weights else values):
        return module(*arguments, **(kwargs or {}))


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and the buffers of modules of one class, each stacked along a new first dimension."""
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not all(type(model) is type(models[0]) for model in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")

    def stacked(pick: str) -> dict[str, Tensor]:
        parts = [dict(getattr(model, pick)()) for model in models]
        return {
            name: ops.stack([part[name].detach() for part in parts]).requires_grad_(parts[0][name].requires_grad)
            for name in parts[0]
        }

    return stacked("named_parameters"), stacked("named_buffers")


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """The module itself, whose batch norms now use the statistics of each batch and keep none.

    Args:
        root: A module; it is changed in place.

    Example:
        >>> import pyburn
        >>> net = pyburn.nn.Sequential(pyburn.nn.Linear(2, 3), pyburn.nn.BatchNorm1d(3))
        >>> replace_all_batch_norm_modules_(net)[1].running_mean is None
        True
    """
    for module in root.modules():
        if any(kind.__name__ == "_BatchNorm" for kind in type(module).__mro__):  # layers stand above this file
            module.track_running_stats = False
            module.running_mean = module.running_var = module.num_batches_tracked = None
    return root
