"""A module called with other tensors than its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyburn._core import Tensor
from pyburn.nn.module import Module

__all__ = ["functional_call"]

_ABSENT = object()


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """What `module` gives for `args` when the named parameters and buffers are the given tensors.

    Args:
        module: The module; it is as before afterwards.
        parameters_and_buffers: Tensors by their path, as in `named_parameters`.
        args: The arguments: a tuple, or one value.
        kwargs: The keyword arguments.
        tie_weights: Whether a tensor that is shared under several names is replaced under all of them.
        strict: Whether every parameter and buffer must be given, and nothing else.

    Raises:
        AttributeError: The module that a name belongs to does not exist.
        RuntimeError: Under `strict`, names are missing or unexpected.
        ValueError: Two names of one shared tensor are given different values.

    Example:
        >>> import pyburn
        >>> layer = pyburn.nn.Linear(1, 1, bias=False)
        >>> pyburn.nn.utils.stateless.functional_call(layer, {"weight": pyburn.tensor([[3.0]])}, pyburn.ones(1))
        tensor([3.])
    """
    given = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, parameters_and_buffers, tie_weights, strict):
        return module(*given, **(kwargs or {}))


@contextmanager
def _replaced(module: Module, tensors: dict[str, Tensor], tie_weights: bool, strict: bool) -> Iterator[None]:
    if strict:
        _check_complete(module, tensors)
    replacements = _tied(module, tensors) if tie_weights else dict(tensors)
    saved: list[tuple[dict[str, Any], str, Any]] = []
    try:
        for path, tensor in replacements.items():
            holder, name = _holder(module, path)
            saved.append((holder, name, holder.get(name, _ABSENT)))
            holder[name] = tensor
        yield
    finally:
        for holder, name, original in reversed(saved):
            if original is _ABSENT:
                del holder[name]
            else:
                holder[name] = original


def _holder(module: Module, path: str) -> tuple[dict[str, Any], str]:
    """The dict in which the tensor at `path` stands, and its name there; that of plain attributes otherwise."""
    parent, _, name = path.rpartition(".")
    owner = module.get_submodule(parent)
    for members in (owner._parameters, owner._buffers):
        if name in members:
            return members, name
    return owner.__dict__, name


def _tied(module: Module, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The replacements, also under the other names of shared tensors."""
    names: dict[int, list[str]] = {}
    for members in (module.named_parameters, module.named_buffers):
        for path, tensor in members(remove_duplicate=False):
            names.setdefault(id(tensor), []).append(path)
    replacements = dict(tensors)
    for shared in names.values():
        given = [tensors[path] for path in shared if path in tensors]
        if not given:
            continue
        if any(tensor is not given[0] for tensor in given):
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(shared)}, which are tied. Consider using "
                "tie_weights=False"
            )
        replacements.update(dict.fromkeys(shared, given[0]))
    return replacements


def _check_complete(module: Module, tensors: dict[str, Tensor]) -> None:
    own = {path for path, _ in module.named_parameters(remove_duplicate=False)}
    own |= {path for path, _ in module.named_buffers(remove_duplicate=False)}
    missing, unexpected = sorted(own - set(tensors)), sorted(set(tensors) - own)
    if missing or unexpected:
        raise RuntimeError(f"functional_call: unexpected key(s): {unexpected}, missing key(s): {missing}")
