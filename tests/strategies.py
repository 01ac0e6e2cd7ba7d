"""hypothesis strategies for tensors: shapes, dims, dtypes, layouts, values and index expressions."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

FLOATS = ("float32", "float64", "float16", "bfloat16")
INTS = ("int64", "int32", "int16", "int8", "uint8")
DTYPES = (*FLOATS, *INTS, "bool")

float_dtypes = st.sampled_from(FLOATS)
int_dtypes = st.sampled_from(INTS)
dtypes = st.sampled_from(DTYPES)


def shapes(min_rank: int = 0, max_rank: int = 6, max_size: int = 4, min_size: int = 0) -> st.SearchStrategy[Any]:
    """Shapes of any rank, sizes 0 and 1 included, of at most about a thousand elements."""
    return st.lists(st.integers(min_size, max_size), min_size=min_rank, max_size=max_rank).map(tuple)


def dims(rank: int) -> st.SearchStrategy[int]:
    """A dimension of a tensor of this rank, counted from either end."""
    span = max(rank, 1)
    return st.integers(-span, span - 1)


def dim_lists(rank: int) -> st.SearchStrategy[list[int]]:
    """Distinct dimensions, counted from either end."""
    if rank == 0:
        return st.just([])
    distinct = st.lists(st.integers(0, rank - 1), unique=True, max_size=rank)
    return distinct.flatmap(lambda found: st.tuples(*[st.sampled_from([dim, dim - rank]) for dim in found]).map(list))


def permutations(rank: int) -> st.SearchStrategy[Any]:
    return st.permutations(range(rank))


@st.composite
def broadcastable(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that broadcasts to `shape`: some sizes 1, some leading ones missing."""
    kept = tuple(draw(st.sampled_from([size, 1])) for size in shape)
    return kept[draw(st.integers(0, len(kept))) :]


@st.composite
def arrays(
    draw: st.DrawFn,
    shape: st.SearchStrategy[tuple[int, ...]] | tuple[int, ...] | None = None,
    dtype: str = "float32",
    special: bool = False,
    strided: bool = True,
) -> np.ndarray[Any, Any]:
    """An array of small values; `special` adds NaN and infinities, `strided` other memory layouts.

    bfloat16, which numpy lacks, comes as float32: convert with `check_op(dtypes=["bfloat16"])`.
    """
    if shape is None:
        shape = shapes()
    sizes = draw(shape) if isinstance(shape, st.SearchStrategy) else shape
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if dtype == "bool":
        values = rng.integers(0, 2, sizes).astype(bool)
    elif dtype in INTS:
        low = 0 if dtype == "uint8" else -9
        values = rng.integers(low, 10, sizes).astype(dtype)
    else:
        values = rng.standard_normal(sizes).astype("float32" if dtype == "bfloat16" else dtype)
        if special and values.size:
            count = draw(st.integers(0, 3))
            places = rng.integers(0, values.size, count)
            values.reshape(-1)[places] = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], count)
    return draw(layouts(values)) if strided else values


@st.composite
def layouts(draw: st.DrawFn, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same values in another memory layout: permuted, with gaps, or as they are."""
    kind = draw(st.sampled_from(["plain", "permuted", "gaps"]))
    if kind == "plain" or values.ndim == 0:
        return values
    if kind == "permuted":
        axes = draw(permutations(values.ndim))
        memory = np.ascontiguousarray(values.transpose(axes))
        return memory.transpose(np.argsort(axes))
    step = draw(st.integers(2, 3))
    memory = np.zeros((*values.shape[:-1], values.shape[-1] * step), values.dtype)
    view = memory[..., ::step]
    view[...] = values
    return view


@st.composite
def basic_index(draw: st.DrawFn, size: int) -> Any:
    """An int, or a slice with any bounds and a positive step, for one dimension."""
    if size > 0 and draw(st.booleans()):
        return draw(st.integers(-size, size - 1))
    bound = st.none() | st.integers(-size - 2, size + 2)
    return slice(draw(bound), draw(bound), draw(st.none() | st.integers(1, 3)))


@st.composite
def indices(draw: st.DrawFn, shape: tuple[int, ...], advanced: bool = True, masks: bool = True) -> tuple[Any, ...]:
    """An index expression: ints, slices, None, Ellipsis, and with `advanced` integer arrays and masks as lists.

    Integer arrays and masks come as numpy arrays; turn them into each library's tensors with `library_index`.
    """
    items: list[Any] = []
    dim, used_ellipsis = 0, False
    common = draw(shapes(max_rank=2, max_size=3)) if advanced else ()
    while dim < len(shape):
        choice = draw(st.sampled_from(["basic"] * 4 + ["none", "ellipsis", "stop"] + ["array", "mask"] * advanced))
        if choice == "stop":
            break
        if choice == "none":
            # Two at most: with a broadcast index array the result stays within the eight dimensions of a tensor.
            if sum(item is None for item in items) == 2:
                break
            items.append(None)
        elif choice == "ellipsis" and not used_ellipsis:
            items.append(Ellipsis)
            used_ellipsis = True
            dim += draw(st.integers(0, len(shape) - dim))
            # What an Ellipsis spans depends on how many items follow, so the rest must be consumed exactly.
            while dim < len(shape):
                items.append(draw(basic_index(shape[dim])))
                dim += 1
        elif choice == "array":
            size = shape[dim]
            sizes = draw(broadcastable(common))
            if size == 0:
                sizes = (*sizes[:-1], 0) if sizes else (0,)
            values = draw(st.lists(st.integers(-size, max(size - 1, -size)), min_size=1, max_size=4))
            array = np.resize(np.array(values), sizes) if 0 not in sizes else np.zeros(sizes, "int64")
            items.append(array.astype("int64"))
            dim += 1
        elif choice == "mask" and masks:
            rank = draw(st.integers(1, min(2, len(shape) - dim)))
            sizes = shape[dim : dim + rank]
            rng = np.random.default_rng(draw(st.integers(0, 2**16)))
            items.append(rng.integers(0, 2, sizes).astype(bool))
            dim += rank
        else:
            items.append(draw(basic_index(shape[dim])))
            dim += 1
    return tuple(items)


def library_index(lib: Any, index: Any, make: Any) -> Any:
    """The index with its numpy arrays as tensors: `make(lib, array)` makes them."""
    if isinstance(index, tuple):
        return tuple(library_index(lib, item, make) for item in index)
    return make(lib, index) if isinstance(index, np.ndarray) else index
