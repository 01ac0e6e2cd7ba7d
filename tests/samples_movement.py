"""Samples of views, joins, and everything that reads or writes by index."""

from __future__ import annotations

from typing import Any

from sample_inputs import Call, Make, assign
from sample_inputs import functional as _f


def _written(x: Any, write: Any) -> Any:
    """A copy of `x` after a write through one of its views."""
    x = x.clone()
    write(x)
    return x


def _reduce(name: str, include: bool) -> Call:
    return lambda m: m.x(3, 4).scatter_reduce(1, m.index(4, 3, 3), m.positive(3, 3), name, include_self=include)


def _pad(m: Make, mode: str) -> Any:
    return _f(m).pad(m.x(1, 2, 4, 4), (1, 2, 1, 0), mode=mode)


MOVEMENT_CALLS: dict[str, Call] = {
    "squeeze": lambda m: m.x(2, 1, 3).squeeze(1) * 1,
    "unsqueeze": lambda m: m.x(2, 3).unsqueeze(1) * 1,
    "flatten": lambda m: m.x(2, 3, 4).flatten(1) * 1,
    "unflatten": lambda m: m.x(2, 6).unflatten(1, (2, 3)) * 1,
    "movedim": lambda m: m.x(2, 3, 4).movedim(0, 2) * 1,
    "diagonal": lambda m: m.x(3, 4).diagonal(1) * 1,
    "diag": lambda m: m.lib.diag(m.x(3)),
    "diag_embed": lambda m: m.lib.diag_embed(m.x(2, 3)),
    "as_strided": lambda m: m.x(3, 4).as_strided((2, 3), (5, 1), 1) * 1,
    "overlapping": lambda m: m.x(6).as_strided((4, 3), (1, 1)) * 1,
    "select": lambda m: m.x(3, 4).select(1, 2) * 1,
    "narrow": lambda m: m.x(3, 4).narrow(1, 1, 2) * 1,
    "split": lambda m: [part * 1 for part in m.x(5, 2).split(2)],
    "chunk": lambda m: [part * 1 for part in m.x(2, 5).chunk(2, 1)],
    "unbind": lambda m: [part * 1 for part in m.x(2, 3).unbind(1)],
    "step_slice": lambda m: m.x(7, 5)[1::3, ::2] * 1,
    "newaxis": lambda m: m.x(2, 3)[:, None, ..., 1] * 1,
    "view": lambda m: m.x(2, 6).view(3, -1) * 1,
    "broadcast_to": lambda m: m.lib.broadcast_to(m.x(2, 1), (3, 2, 4)) * 1,
    "roll": lambda m: m.lib.roll(m.x(3, 4), (1, -2), (0, 1)),
    "rot90": lambda m: m.lib.rot90(m.x(3, 4)),
    "fliplr": lambda m: m.lib.fliplr(m.x(3, 4)),
    "tile": lambda m: m.lib.tile(m.x(2, 3), (2, 1, 2)),
    "repeat_interleave": lambda m: m.lib.repeat_interleave(m.x(2, 3), 2, 1),
    "repeat_interleave_list": lambda m: m.lib.repeat_interleave(m.x(3, 2), m.index(3, 3), 0),
    "hstack": lambda m: m.lib.hstack([m.x(2, 3), m.x(2, 1)]),
    "vstack": lambda m: m.lib.vstack([m.x(2, 3), m.x(3)]),
    "cat_dim": lambda m: m.lib.cat([m.x(2, 3), m.x(2, 0), m.x(2, 2)], 1),
    "meshgrid": lambda m: [part * 1 for part in m.lib.meshgrid(m.x(2), m.x(3), indexing="ij")],
    "cartesian_prod": lambda m: m.lib.cartesian_prod(m.x(2), m.x(3)),
    "block_diag": lambda m: m.lib.block_diag(m.x(2, 2), m.x(1, 3)),
    "pad_reflect": lambda m: _pad(m, "reflect"),
    "pad_replicate": lambda m: _pad(m, "replicate"),
    "pad_circular": lambda m: _pad(m, "circular"),
    "pad_negative": lambda m: _f(m).pad(m.x(3, 4), (-1, 1)),
    "pixel_shuffle": lambda m: _f(m).pixel_shuffle(m.x(1, 4, 2, 3), 2),
    "pixel_unshuffle": lambda m: _f(m).pixel_unshuffle(m.x(1, 1, 4, 4), 2),
    "channel_shuffle": lambda m: _f(m).channel_shuffle(m.x(1, 4, 2, 2), 2),
    "gather0": lambda m: m.lib.gather(m.x(3, 4), 0, m.index(3, 5, 4)),
    "take": lambda m: m.lib.take(m.x(3, 4), m.index(12, 5)),
    "take_along_dim": lambda m: m.lib.take_along_dim(m.x(3, 4), m.index(4, 3, 2), 1),
    "index_mask": lambda m: m.x(3, 4)[m.mask(3, 4)],
    "index_mask_rows": lambda m: m.x(3, 4)[m.mask(3)],
    "index_mixed": lambda m: m.x(3, 4, 2)[m.index(3, 2), :, 1],
    "index_list": lambda m: m.x(3, 4)[[0, -1]],
    "index_apart": lambda m: m.x(3, 4, 2)[m.index(3, 2), :, m.index(2, 2)],
    "scatter_value": lambda m: m.x(3, 4).scatter(1, m.index(4, 3, 2), 2),
    **{f"scatter_reduce_{n}": _reduce(n, True) for n in ("sum", "prod", "mean", "amax", "amin")},
    **{f"scatter_reduce_{n}_new": _reduce(n, False) for n in ("sum", "prod", "mean", "amax", "amin")},
    "index_copy": lambda m: m.x(3, 4).index_copy(0, m.index(3, 2), m.positive(2, 4)),
    "index_fill": lambda m: m.x(3, 4).index_fill(1, m.index(4, 2), 1),
    "index_reduce": lambda m: m.x(3, 4).index_reduce(0, m.index(3, 2), m.positive(2, 4), "prod"),
    "index_put_accumulate": lambda m: m.x(3, 4).index_put((m.index(2, 5),), m.x(5, 4), accumulate=True),
    "put": lambda m: m.x(3, 4).put(m.index(12, 3), m.x(3)),
    "masked_scatter": lambda m: m.x(2, 3).masked_scatter(m.mask(2, 3), m.positive(6)),
    "masked_fill_tensor": lambda m: m.x(2, 3).masked_fill(m.mask(3), m.positive(1)[0]),
    "select_scatter": lambda m: m.lib.select_scatter(m.x(3, 4), m.positive(4), 0, 1),
    "slice_scatter": lambda m: m.lib.slice_scatter(m.x(3, 4), m.positive(3, 2), 1, 0, 4, 2),
    "diagonal_scatter": lambda m: m.lib.diagonal_scatter(m.x(3, 3), m.positive(3)),
    "assign_mask": lambda m: assign(m.x(3, 4), m.mask(3, 4), 1),
    "assign_mask_values": lambda m: assign(m.x(3, 4), m.mask(3), m.positive(1, 4)),
    "assign_mixed": lambda m: assign(m.x(3, 4, 2), (m.index(3, 2), slice(1, 3)), m.positive(2, 2, 2)),
    "write_transposed": lambda m: _written(m.x(3, 4), lambda x: x.t()[1:3].mul_(2)),
    "write_diagonal": lambda m: _written(m.x(3, 4), lambda x: x.diagonal().add_(1)),
    "write_strided": lambda m: _written(m.x(3, 4), lambda x: x.as_strided((3,), (5,), 0).zero_()),
    "nonzero_tuple": lambda m: m.lib.nonzero(m.x(2, 3), as_tuple=True),
    "argwhere": lambda m: m.lib.argwhere(m.x(2, 3)),
    "where_one": lambda m: m.lib.where(m.mask(2, 3)),
    "one_hot": lambda m: _f(m).one_hot(m.index(4, 3), 5),
    "tril_indices": lambda m: m.lib.tril_indices(3, 4, device=m.device),
}
