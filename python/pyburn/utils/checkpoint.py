"""Checkpointing: forget what a part of a model computed, and compute it again in backward.

Only the inputs of the part are kept. Two variants, as in torch:

- ``use_reentrant=False`` makes one graph node whose inputs are the arguments and the leaves that the
  part uses (its parameters), so that every kind of backward pass works.
- ``use_reentrant=True`` makes a node of the arguments alone and starts a second backward pass inside
  the first one, which fills the ``.grad`` of parameters directly.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any

from pyburn import ops
from pyburn._core import Tensor
from pyburn.autograd import Function, backward, enable_grad, grad, is_grad_enabled, no_grad
from pyburn.utils._selective import (
    CheckpointPolicy,
    Contexts,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
    detach_variable,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "SelectiveCheckpointContext",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]


# Each gives a function that makes blocks which bring back a setting of the present: layers above this one add theirs.
SURROUNDINGS: list[Callable[[], Callable[[], AbstractContextManager[Any]]]] = []


class CheckpointError(RuntimeError):
    """Computing a part again gave something else than the first time."""


def noop_context_fn() -> Contexts:
    """Two contexts that do nothing.

    Example:
        >>> len(noop_context_fn())
        2
    """
    return nullcontext(), nullcontext()


@contextmanager
def _random_state(state: Tensor | None) -> Iterator[None]:
    """Random numbers as they were when the part ran first; afterwards as if nothing had been drawn."""
    if state is None:
        yield
        return
    now = ops.get_rng_state()
    ops.set_rng_state(state)
    try:
        yield
    finally:
        ops.set_rng_state(now)


def _tensors(value: Any) -> list[Tensor]:
    """All tensors in nested tuples, lists and dicts, in order."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [tensor for item in value for tensor in _tensors(item)] if isinstance(value, (tuple, list)) else []


def _mapped(value: Any, change: Callable[[Tensor], Any]) -> Any:
    """The same structure with each tensor changed, in the order of `_tensors`."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, dict):
        return {key: _mapped(item, change) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        items = [_mapped(item, change) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def _recorded(value: Any) -> list[Tensor]:
    return [tensor for tensor in _tensors(value) if tensor.requires_grad]


def _node_of(tensor: Tensor) -> Any:
    """The node that a gradient of this tensor is delivered to; for a leaf, the one that fills ``.grad``."""
    if tensor.grad_fn is not None:
        return tensor.grad_fn
    alias: Any = tensor.view_as(tensor).grad_fn
    return alias.next_functions[0][0]


def _leaves(outputs: Sequence[Tensor], sources: Sequence[Tensor]) -> list[Tensor]:
    """The leaves that outputs were computed from without passing through the sources, each once."""
    seen = {_node_of(source) for source in sources}
    found: list[Tensor] = []
    pending = [_node_of(output) for output in outputs]
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        leaf = getattr(node, "variable", None)
        if leaf is not None:
            found.append(leaf)
        pending += [parent for parent, _ in node.next_functions if parent is not None]
    return found


class _Part:
    """A call that can be repeated under the conditions it was first made in."""

    def __init__(
        self, function: Callable[..., Any], args: Any, kwargs: Any, preserve_rng_state: bool, contexts: Contexts
    ) -> None:
        self.function, self.args, self.kwargs = function, args, kwargs
        self.state = ops.get_rng_state() if preserve_rng_state else None
        self.first, self.again = contexts
        self.surroundings = [present() for present in SURROUNDINGS]

    def run(self) -> Any:
        """What the call gives, the first time."""
        with self.first:
            return self.function(*self.args, **self.kwargs)

    def repeat(self, args: Any, kwargs: Any) -> Any:
        """What the call gives when made again with the same values, recorded."""
        with ExitStack() as stack:
            for block in self.surroundings:  # backward runs outside of the blocks that forward ran in
                stack.enter_context(block())
            stack.enter_context(enable_grad())
            stack.enter_context(_random_state(self.state))
            stack.enter_context(self.again)
            return self.function(*args, **kwargs)


class _Door(Function):
    """An argument as the second run sees it: while the door is closed, no gradient leaves the part through it.

    Arguments may have been computed from each other or from the part's own weights; without doors what they owe to
    each other outside would be counted inside as well.
    """

    @staticmethod
    def forward(ctx: Any, closed: list[bool], value: Tensor) -> Tensor:
        ctx.closed = closed
        return value.view_as(value)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None if ctx.closed[0] else grad


class _End:
    """While it is there, a tensor's gradient is kept here and goes no further back."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.gradient: Tensor | None = None
        self.handle = tensor.register_hook(self.keep)

    def keep(self, gradient: Tensor) -> Tensor:
        self.gradient = gradient
        return ops.zeros_like(gradient)

    def remove(self) -> Tensor | None:
        """The gradient that arrived."""
        self.handle.remove()
        return self.gradient


class _Recompute(Function):
    """A node that stands for a whole part; its inputs are everything the part differentiates by."""

    @staticmethod
    def forward(ctx: Any, part: _Part, values: list[Tensor], check: bool, *inputs: Tensor) -> tuple[Tensor, ...]:
        ctx.part, ctx.inputs = part, inputs
        ctx.expected = [(tuple(value.shape), value.dtype) for value in values] if check else None
        # Saved for nothing but this: reading them back in backward fails if one was overwritten.
        ctx.save_for_backward(*_tensors((part.args, part.kwargs)), *inputs)
        results = tuple(values)
        # The context must not keep its own outputs alive.
        values.clear()
        return results

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        _ = ctx.saved_tensors
        create_graph = is_grad_enabled()
        part, closed = ctx.part, [False]
        with enable_grad():
            doors = {id(each): _Door.apply(closed, each) for each in _recorded((part.args, part.kwargs))}
        args, kwargs = _mapped((part.args, part.kwargs), lambda tensor: doors.get(id(tensor), tensor))
        outputs = _recorded(part.repeat(args, kwargs))
        found = [(tuple(output.shape), output.dtype) for output in outputs]
        if len(outputs) != len(grads) or ctx.expected not in (None, found):
            raise CheckpointError(
                f"checkpoint: the part gave outputs {ctx.expected} in forward but {found} when computed again; it "
                "must not depend on anything that changes between the two."
            )
        used = [(output, grad) for output, grad in zip(outputs, grads) if grad is not None]
        wanted = [each for each, needed in zip(ctx.inputs, ctx.needs_input_grad[3:], strict=True) if needed]
        gradients = _gradients(used, wanted, doors, closed, create_graph) if used and wanted else {}
        return (None, None, None, *(gradients.get(id(each)) for each in ctx.inputs))


def _gradients(
    used: list[tuple[Tensor, Tensor]],
    wanted: list[Tensor],
    doors: dict[int, Tensor],
    closed: list[bool],
    create_graph: bool,
) -> dict[int, Tensor | None]:
    """What the part contributes to the gradient of each input, by the input's id."""
    behind = [each for each in wanted if id(each) in doors]
    sources = [*(doors[id(each)] for each in behind), *wanted]
    outputs, seeds = zip(*used)
    # An argument that the part also reaches by itself has a share beside that of its door, and it ends there too.
    ends = {id(each): _End(each) for each in behind if each.grad_fn is not None}
    closed[0] = True
    shares = grad(outputs, sources, seeds, retain_graph=True, create_graph=create_graph, allow_unused=True)
    closed[0] = False
    found: dict[int, Tensor | None] = {id(each): share for each, share in zip(behind, shares)}
    for each, share in zip(wanted, shares[len(behind) :], strict=True):
        own = ends[id(each)].remove() if id(each) in ends else share
        before = found.get(id(each))
        found[id(each)] = own if before is None else before if own is None else before + own
    return found


def _without_reentry(part: _Part, check: bool) -> Any:
    outputs = part.run()
    recorded = _recorded(outputs)
    if not recorded:
        return outputs
    sources = list({id(tensor): tensor for tensor in _recorded((part.args, part.kwargs))}.values())
    leaves = _leaves(recorded, sources)
    flags = [tensor.requires_grad for tensor in _tensors(outputs)]
    # From here on the graph of the first run is garbage, and with it all that the part computed.
    outputs = _mapped(outputs, lambda tensor: tensor.detach() if tensor.requires_grad else tensor)
    del recorded
    values = [tensor for tensor, flag in zip(_tensors(outputs), flags) if flag]
    results = iter(_Recompute.apply(part, values, check, *sources, *leaves))
    replace = iter(flags)
    return _mapped(outputs, lambda tensor: next(results) if next(replace) else tensor)


class _Reenter(Function):
    """A node of the arguments alone, whose backward starts a backward pass of its own."""

    @staticmethod
    def forward(ctx: Any, part: _Part, *args: Any) -> Any:
        ctx.part = part
        ctx.save_for_backward(*(arg for arg in args if isinstance(arg, Tensor)))
        with no_grad():
            return part.run()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        saved = iter(ctx.saved_tensors)
        args = [next(saved) if isinstance(arg, Tensor) else arg for arg in ctx.part.args]
        fresh = [arg.detach().requires_grad_(arg.requires_grad) if isinstance(arg, Tensor) else arg for arg in args]
        outputs = ctx.part.repeat(fresh, ctx.part.kwargs)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        used = [(out, grad) for out, grad in zip(outputs, grads) if isinstance(out, Tensor) and out.requires_grad]
        if not used:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([output for output, _ in used], [grad for _, grad in used])
        return (None, *(arg.grad if isinstance(arg, Tensor) else None for arg in fresh))


def _choose_variant(name: str, use_reentrant: bool | None) -> bool:
    if use_reentrant is None:
        warnings.warn(
            f"{name}: say use_reentrant=False, which is recommended, or use_reentrant=True, which is the default for "
            "now; torch will require it.",
            stacklevel=3,
        )
        return True
    return use_reentrant


def checkpoint(
    function: Callable[..., Any] | None = None,
    *args: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    context_fn: Callable[[], Contexts] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """What the function gives, without keeping what it computed on the way: backward computes it again.

    Args:
        function: The part of the model; without one, a decorator with the other settings comes out.
        *args: Its arguments.
        use_reentrant: Which variant to use; ``False`` is the one without pitfalls.
        preserve_rng_state: Whether the second run draws the random numbers of the first one.
        context_fn: Gives the contexts of the first and of the second run.
        determinism_check: ``"default"`` compares shapes and dtypes of both runs, ``"none"`` does not.
        debug: Accepted; there is nothing more to say.
        early_stop: Accepted; the second run always goes to the end.
        **kwargs: Keyword arguments of the function, not with ``use_reentrant=True``.

    Raises:
        CheckpointError: In backward, if the second run gives something else than the first.
        ValueError: If the variant cannot do with the arguments.

    Example:
        >>> import pyburn
        >>> x = pyburn.tensor([1.0, 2.0], requires_grad=True)
        >>> checkpoint(lambda x: x.exp().sum(), x, use_reentrant=False).backward()
        >>> bool((x.grad == x.detach().exp()).all())
        True

    Differs from torch:
        With ``use_reentrant=True``, ``autograd.grad`` is not refused: parameters get no gradient then.
    """
    if function is None:
        return functools.partial(
            _decorated,
            use_reentrant=_choose_variant("checkpoint", use_reentrant),
            preserve_rng_state=preserve_rng_state,
            context_fn=context_fn,
            determinism_check=determinism_check,
        )
    if determinism_check not in ("default", "none"):
        raise ValueError(f"checkpoint: determinism_check is {determinism_check!r} but must be 'default' or 'none'.")
    reentrant = _choose_variant("checkpoint", use_reentrant)
    if reentrant and kwargs:
        raise ValueError(f"Unexpected keyword arguments: {','.join(kwargs)}")
    if reentrant and context_fn is not noop_context_fn:
        raise ValueError("checkpoint: context_fn needs use_reentrant=False.")
    if not is_grad_enabled():
        return function(*args, **kwargs)
    part = _Part(function, args, kwargs, preserve_rng_state, context_fn())
    if not reentrant:
        return _without_reentry(part, determinism_check == "default")
    if not any(isinstance(arg, Tensor) and arg.requires_grad for arg in args):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)
    return _Reenter.apply(part, *args)


def _decorated(function: Callable[..., Any], **settings: Any) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return checkpoint(function, *args, **settings, **kwargs)

    return wrapper


def checkpoint_sequential(
    functions: Any,
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
) -> Any:
    """What a chain of functions gives, checkpointed in segments; the last one is run as usual.

    Args:
        functions: A ``Sequential`` or a list of functions, each of which takes the result of the one before.
        segments: Into how many parts to cut the chain.
        input: What goes into the first function.
        use_reentrant: As for `checkpoint`.
        preserve_rng_state: As for `checkpoint`.

    Example:
        >>> import pyburn
        >>> x = pyburn.tensor([0.5], requires_grad=True)
        >>> chain = [pyburn.Tensor.exp, pyburn.Tensor.neg, pyburn.Tensor.exp]
        >>> checkpoint_sequential(chain, 2, x, use_reentrant=False).backward()
        >>> x.grad is not None
        True
    """
    reentrant = _choose_variant("checkpoint_sequential", use_reentrant)
    chain: list[Callable[[Any], Any]] = list(functions)
    if not 1 <= segments <= len(chain):
        raise ValueError(f"checkpoint_sequential: segments is {segments} but must be from 1 to {len(chain)}.")
    size = len(chain) // segments
    cut = size * (segments - 1)
    for start in range(0, cut, size):
        piece = functools.partial(_run_chain, chain[start : start + size])
        input = checkpoint(piece, input, use_reentrant=reentrant, preserve_rng_state=preserve_rng_state)
    return _run_chain(chain[cut:], input)


def _run_chain(chain: Sequence[Callable[[Any], Any]], value: Any) -> Any:
    for function in chain:
        value = function(value)
    return value


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """Two empty lists: the devices of the arguments beside the CPU whose random state has to be kept, and the states.

    Example:
        >>> get_device_states(1)
        ([], [])
    """
    return [], []


def set_device_states(devices: Sequence[int], states: Sequence[Tensor], *, device_type: str | None = None) -> None:
    """Nothing; the random state of the CPU is the only one."""


class CheckpointFunction:
    """`checkpoint(..., use_reentrant=True)` in the form of an autograd function."""

    @staticmethod
    def apply(run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        """What the function gives, which is computed again in the backward pass."""
        return checkpoint(run_function, *args, use_reentrant=True, preserve_rng_state=preserve_rng_state)
