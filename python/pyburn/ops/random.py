"""Random tensors. After ``manual_seed`` the numbers are those that torch gives on a CPU, on every device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pyburn import _core
from pyburn._core import Generator, Tensor
from pyburn._formats import layout as Layout
from pyburn._formats import memory_format as MemoryFormat
from pyburn._formats import preserve_format
from pyburn.ops._methods import check_out, made_out, write_out
from pyburn.ops.creation import Device, Shape, _formatted, _named, _sizes, empty_like

__all__ = [
    "Generator",
    "bernoulli",
    "default_generator",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "multinomial",
    "normal",
    "poisson",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "seed",
    "set_rng_state",
]

METHODS = ("bernoulli", "multinomial")

default_generator: Generator = _core._default_generator()


def _here() -> Generator:
    """The generator of calls in this thread that name none: a worker of a DataLoader has its own."""
    return _core._thread_generator() or default_generator


def manual_seed(seed: int) -> Generator:
    """The default generator, restarted from `seed`.

    Example:
        >>> import pyburn
        >>> _ = pyburn.manual_seed(42)
        >>> pyburn.rand(2)
        tensor([0.8823, 0.9150])
    """
    return _here().manual_seed(seed)


def seed() -> int:
    """The seed nobody chose from which the default generator is now restarted.

    Example:
        >>> import pyburn
        >>> pyburn.seed() == pyburn.initial_seed()
        True
    """
    return _here().seed()


def initial_seed() -> int:
    """The seed that the default generator was started from.

    Example:
        >>> import pyburn
        >>> pyburn.manual_seed(7).initial_seed() == pyburn.initial_seed()
        True
    """
    return _here().initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator, a uint8 tensor in torch's layout.

    Example:
        >>> import pyburn
        >>> pyburn.get_rng_state().shape
        pyburn.Size([5056])
    """
    return _here().get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Nothing; the default generator continues from `new_state`.

    Example:
        >>> import pyburn
        >>> state = pyburn.get_rng_state()
        >>> first = pyburn.rand(3)
        >>> pyburn.set_rng_state(state)
        >>> pyburn.rand(3).tolist() == first.tolist()
        True
    """
    _here().set_state(new_state)


@contextmanager
def fork_rng(devices: Any = None, enabled: bool = True) -> Iterator[None]:
    """A context after which the default generator continues as if nothing had been drawn inside.

    Args:
        devices: Accepted; all devices share the default generator.
        enabled: Whether to do anything at all.

    Example:
        >>> import pyburn
        >>> _ = pyburn.manual_seed(0)
        >>> with pyburn.random.fork_rng():
        ...     inside = pyburn.rand(2)
        >>> pyburn.rand(2).tolist() == inside.tolist()
        True
    """
    state = get_rng_state()
    try:
        yield
    finally:
        if enabled:
            set_rng_state(state)


def _dtype(dtype: _core.dtype | None, out: Tensor | None) -> _core.dtype | None:
    return out.dtype if dtype is None and out is not None else dtype


def rand(
    *size: Any,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _core.dtype | None = None,
    layout: Layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    **named: Any,
) -> Tensor:
    """Uniform random numbers of [0, 1).

    Args:
        *size: The sizes, as integers or as one sequence.
        generator: Where the numbers come from; the default generator if not given.
        out: A tensor to write the result into.
        dtype: A floating-point type; the default dtype if not given.
        layout: `pyburn.strided`.
        device: Where it lives; the default device if not given.
        requires_grad: Whether gradients are wanted for it.
        pin_memory: Accepted; host memory needs no pinning here.
        **named: `size=` as another way to give the sizes.

    Example:
        >>> import pyburn
        >>> _ = pyburn.manual_seed(0)
        >>> pyburn.rand(2, 2)
        tensor([[0.4963, 0.7682],
                [0.0885, 0.1320]])
    """
    sizes = _sizes(size, _named(named, "rand"), "rand")
    return made_out(out, _core._rand("rand", sizes, generator, _dtype(dtype, out), device, requires_grad))


def randn(
    *size: Any,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _core.dtype | None = None,
    layout: Layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    **named: Any,
) -> Tensor:
    """Random numbers of the standard normal distribution; the arguments are those of :func:`rand`.

    Example:
        >>> import pyburn
        >>> _ = pyburn.manual_seed(0)
        >>> pyburn.randn(3)
        tensor([ 1.5410, -0.2934, -2.1788])
    """
    sizes = _sizes(size, _named(named, "randn"), "randn")
    return made_out(out, _core._randn("randn", sizes, 0.0, 1.0, generator, _dtype(dtype, out), device, requires_grad))


def randint(
    *args: Any,
    low: int | None = None,
    high: int | None = None,
    size: Shape | None = None,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _core.dtype | None = None,
    layout: Layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Random integers of [low, high): ``randint(high, size)`` or ``randint(low, high, size)``.

    Args:
        *args: `high, size` or `low, high, size`.
        low: The lowest integer; 0 if not given.
        high: One above the highest integer.
        size: The sizes.
        generator: Where the numbers come from; the default generator if not given.
        out: A tensor to write the result into.
        dtype: The element type; int64 if not given.
        layout: `pyburn.strided`.
        device: Where it lives; the default device if not given.
        requires_grad: Whether gradients are wanted for it.
        pin_memory: Accepted; host memory needs no pinning here.

    Example:
        >>> import pyburn
        >>> _ = pyburn.manual_seed(0)
        >>> pyburn.randint(10, (4,))
        tensor([4, 9, 3, 0])
    """
    given = list(args)
    if given and size is None and not isinstance(given[-1], int):
        size = given.pop()
    if len(given) == 2:
        low, high = given
    elif len(given) == 1 and high is None:
        high = given[0]
    elif len(given) == 1 and low is None:
        low = given[0]
    elif given:
        raise TypeError(f"randint() takes (high, size) or (low, high, size), got {len(args)} positional arguments")
    if size is None or high is None:
        raise TypeError("randint() needs high and size: randint(high, size) or randint(low, high, size)")
    made = _core._randint("randint", low or 0, high, (size,), generator, _dtype(dtype, out), device, requires_grad)
    return made_out(out, made)


def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _core.dtype | None = None,
    layout: Layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """The integers from 0 to `n` - 1 in random order.

    Example:
        >>> import pyburn
        >>> _ = pyburn.manual_seed(0)
        >>> pyburn.randperm(4)
        tensor([0, 1, 3, 2])
    """
    if n > 0:
        # The list that is shuffled, and the tensor made of it.
        _core._check_allocation(min(16 * n, 2**62))
    return made_out(out, _core._randperm(n, generator, _dtype(dtype, out), device, requires_grad))


def normal(
    mean: Tensor | float = 0.0,
    std: Tensor | float = 1.0,
    size: Shape | None = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _core.dtype | None = None,
    layout: Layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Random numbers of normal distributions.

    Args:
        mean: The mean: one number, or a tensor with one for each result.
        std: The standard deviation: one number, or a tensor with one for each result.
        size: The sizes, where both are numbers.
        generator: Where the numbers come from; the default generator if not given.
        out: A tensor to write the result into.
        dtype: A floating-point type, where both are numbers.
        layout: `pyburn.strided`.
        device: Where it lives, where both are numbers.
        requires_grad: Whether gradients are wanted for it, where both are numbers.
        pin_memory: Accepted; host memory needs no pinning here.

    Example:
        >>> import pyburn
        >>> _ = pyburn.manual_seed(0)
        >>> pyburn.normal(2.0, 3.0, (3,))
        tensor([ 6.6230,  1.1197, -4.5364])
    """
    if isinstance(mean, Tensor) or isinstance(std, Tensor):
        if size is not None:
            raise TypeError("normal: size is only for a mean and a std that are numbers")
        return write_out(out, _with_zero_gradient(_normal_each(mean, std, generator), mean, std))
    if size is None:
        raise TypeError("normal() with numbers for mean and std needs a size: normal(mean, std, size)")
    kind = _dtype(dtype, out)
    made = _core._randn("normal", (size,), float(mean), float(std), generator, kind, device, requires_grad)
    return made_out(out, made)


def _with_zero_gradient(drawn: Tensor, *parameters: Tensor | float) -> Tensor:
    """The numbers drawn, as a result of their parameters that does not change with them: torch's gradient is zero."""
    for parameter in parameters:
        if isinstance(parameter, Tensor) and parameter.requires_grad and _core.is_grad_enabled():
            nothing = parameter.masked_fill(parameter.new_ones((), dtype=_core.bool), 0.0)
            drawn = drawn + nothing.to(drawn.dtype)
    return drawn


def _normal_each(mean: Tensor | float, std: Tensor | float, generator: Generator | None) -> Tensor:
    """Normal numbers where the mean or the standard deviation is a tensor."""
    like: Tensor = mean if isinstance(mean, Tensor) else std  # type: ignore[assignment]
    if not isinstance(std, Tensor):
        drawn = _core._randn("normal", (like.shape,), 0.0, float(std), generator, like.dtype, like.device)
        return drawn.add_(like.detach())
    _core._check_std(std)
    shape = (like.new_zeros(()).expand(like.shape) + std.new_zeros(()).expand(std.shape)).shape
    drawn = _core._randn("normal", (shape,), 0.0, 1.0, generator, like.dtype, like.device)
    drawn.mul_(std.detach())
    return drawn.add_(mean.detach() if isinstance(mean, Tensor) else mean)


def bernoulli(
    input: Tensor, p: float | None = None, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor:
    """Ones and zeros: one with the probability that stands in `input`, or with `p`.

    Example:
        >>> import pyburn
        >>> pyburn.bernoulli(pyburn.tensor([0.0, 1.0]))
        tensor([0., 1.])
    """
    if p is not None:
        return made_out(out, input.new_empty(input.shape).bernoulli_(p, generator=generator))
    return made_out(out, _with_zero_gradient(_core._bernoulli(input.detach(), generator), input))


def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Indices drawn with the weights in `input`, for each of its rows.

    Args:
        input: Weights, not negative; they need not sum to one. A vector or a matrix.
        num_samples: How many indices to draw in each row.
        replacement: Whether an index may be drawn again.
        generator: Where the numbers come from; the default generator if not given.
        out: A tensor to write the result into.

    Example:
        >>> import pyburn
        >>> pyburn.multinomial(pyburn.tensor([0.0, 3.0, 0.0]), 2, replacement=True)
        tensor([1, 1])
    """
    check_out("multinomial", out, _core.int64)
    return made_out(out, _core._multinomial(input.detach(), num_samples, replacement, generator))


def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Random counts with the rates that stand in `input`.

    Example:
        >>> import pyburn
        >>> pyburn.poisson(pyburn.zeros(2))
        tensor([0., 0.])
    """
    return _core._poisson(input.detach(), generator)


def _laid_out(input: Tensor, memory_format: MemoryFormat | None, draw: Callable[[Any], Tensor]) -> Tensor:
    """What `draw` makes of the sizes, laid out as `input` is and drawn in the order of memory, as torch does."""
    preserve = memory_format is None or memory_format is preserve_format
    if not preserve or input.is_contiguous() or not input.is_cpu:
        return _formatted(draw(input.shape), memory_format)
    strides = _core._preserved_strides(input)
    order = sorted(range(input.dim()), key=lambda dim: -strides[dim])
    drawn = draw([input.shape[dim] for dim in order])
    return drawn.permute([order.index(dim) for dim in range(input.dim())]).detach()


def rand_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: _core.dtype | None = None,
    layout: Layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
    memory_format: MemoryFormat | None = preserve_format,
    pin_memory: bool = False,
) -> Tensor:
    """Uniform random numbers of [0, 1) with the shape, dtype and device of `input`.

    Example:
        >>> import pyburn
        >>> pyburn.rand_like(pyburn.zeros(2, 3)).shape
        pyburn.Size([2, 3])
    """
    where = input.device if device is None else device
    kind = dtype or input.dtype
    made = _laid_out(input, memory_format, lambda size: _core._rand("rand_like", (size,), generator, kind, where))
    return made.requires_grad_(requires_grad)


def randn_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: _core.dtype | None = None,
    layout: Layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
    memory_format: MemoryFormat | None = preserve_format,
    pin_memory: bool = False,
) -> Tensor:
    """Standard normal random numbers with the shape, dtype and device of `input`.

    Example:
        >>> import pyburn
        >>> pyburn.randn_like(pyburn.zeros(2, 3)).shape
        pyburn.Size([2, 3])
    """
    where = input.device if device is None else device
    kind = dtype or input.dtype
    if input.is_cpu and not input.is_contiguous() and memory_format in (None, preserve_format) and not kind.is_complex:
        # Normal numbers are drawn in pairs where memory is contiguous, one by one elsewhere.
        made = empty_like(input.detach(), dtype=kind, device=where).normal_(generator=generator)
    else:
        made = _formatted(_core._randn("randn_like", (input.shape,), 0.0, 1.0, generator, kind, where), memory_format)
    return made.requires_grad_(requires_grad)


def randint_like(
    input: Tensor,
    *args: int,
    low: int | None = None,
    high: int | None = None,
    generator: Generator | None = None,
    dtype: _core.dtype | None = None,
    layout: Layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
    memory_format: MemoryFormat | None = preserve_format,
    pin_memory: bool = False,
) -> Tensor:
    """Random integers of [low, high) with the shape, dtype and device of `input`.

    Example:
        >>> import pyburn
        >>> pyburn.randint_like(pyburn.zeros(2), 1)
        tensor([0., 0.])
    """
    kind, where = dtype or input.dtype, input.device if device is None else device
    made = _laid_out(
        input,
        memory_format,
        lambda size: randint(*args, low=low, high=high, size=size, generator=generator, dtype=kind, device=where),
    )
    return made.requires_grad_(requires_grad)
