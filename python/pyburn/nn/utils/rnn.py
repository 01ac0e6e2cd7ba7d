"""Batches of sequences of different lengths: padded to the longest, or packed without padding."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Self

from pyburn._core import Tensor, int8, int16, int32, int64, uint8
from pyburn._core import float16 as half_dtype
from pyburn._core import float32 as float_dtype
from pyburn._core import float64 as double_dtype
from pyburn.ops import arange, argsort, as_tensor, cat, empty_like

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class _Packed(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Packed):
    """Sequences of different lengths without padding: all first elements, then all second ones, ...

    Made by `pack_padded_sequence` and `pack_sequence`; recurrent layers take it and give it.

    Args:
        data: (sum of the lengths, ...).
        batch_sizes: How many sequences have an element at each time; integers that never grow.
        sorted_indices: Which sequence of the caller is the first, second, ... here.
        unsorted_indices: The inverse permutation.

    Example:
        >>> import pyburn
        >>> packed = pyburn.nn.utils.rnn.pack_sequence([pyburn.tensor([1, 2, 3]), pyburn.tensor([4])])
        >>> packed.data, packed.batch_sizes
        (tensor([1, 4, 2, 3]), tensor([2, 1, 1]))
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Any,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> Self:
        """The tuple, with the inverse permutation worked out when only one is given."""
        if batch_sizes is None:
            if not isinstance(data, list | tuple) or len(data) != 2:
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        if batch_sizes is None or batch_sizes.device.type != "cpu":
            raise ValueError("batch_sizes should always be on CPU: PackedSequence got them on another device.")
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def _with(self, data: Tensor, move: Any = None) -> Self:
        """The same packing around other data, the indices moved along."""
        sorted_indices, unsorted_indices = self.sorted_indices, self.unsorted_indices
        if move is not None and sorted_indices is not None and unsorted_indices is not None:
            sorted_indices, unsorted_indices = move(sorted_indices), move(unsorted_indices)
        return type(self)(data, self.batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """The sequences with `data.to(...)`; the arguments are those of `Tensor.to`."""
        data = self.data.to(*args, **kwargs)
        return self if data is self.data else self._with(data, lambda index: index.to(data.device))

    def cuda(self, *args: Any, **kwargs: Any) -> Self:
        """The sequences where `Tensor.cuda` moves them."""
        return self._with(self.data.cuda(*args, **kwargs), lambda index: index.cuda(*args, **kwargs))

    def cpu(self, *args: Any, **kwargs: Any) -> Self:
        """The sequences on the CPU."""
        return self.to(*args, device="cpu", **kwargs)

    def pin_memory(self) -> Self:
        """These sequences; there is no pinned memory."""
        return self

    def double(self) -> Self:
        """The sequences as float64."""
        return self.to(dtype=double_dtype)

    def float(self) -> Self:
        """The sequences as float32."""
        return self.to(dtype=float_dtype)

    def half(self) -> Self:
        """The sequences as float16."""
        return self.to(dtype=half_dtype)

    def long(self) -> Self:
        """The sequences as int64."""
        return self.to(dtype=int64)

    def int(self) -> Self:
        """The sequences as int32."""
        return self.to(dtype=int32)

    def short(self) -> Self:
        """The sequences as int16."""
        return self.to(dtype=int16)

    def char(self) -> Self:
        """The sequences as int8."""
        return self.to(dtype=int8)

    def byte(self) -> Self:
        """The sequences as uint8."""
        return self.to(dtype=uint8)

    @property
    def is_cuda(self) -> bool:
        """Whether the data stand on a CUDA device."""
        return bool(self.data.is_cuda)

    def is_pinned(self) -> bool:
        """False: there is no pinned memory."""
        return False


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes `permutation`; None for None.

    Example:
        >>> import pyburn
        >>> pyburn.nn.utils.rnn.invert_permutation(pyburn.tensor([2, 0, 1]))
        tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    inverse = empty_like(permutation)
    return inverse.scatter_(0, permutation, arange(permutation.numel(), device=permutation.device))


def _places(lengths: list[builtins.int], steps: builtins.int, like: Tensor) -> Tensor:
    """Where in a (steps, batch) grid, flattened, the packed elements stand, in packed order."""
    limits = as_tensor(lengths).unsqueeze(0)  # (1, B)
    present = arange(steps).unsqueeze(1) < limits  # (T, B)
    places: Tensor = present.reshape(-1).nonzero().reshape(-1).to(like.device)
    return places


def pack_padded_sequence(
    input: Tensor,
    lengths: Tensor | Sequence[builtins.int],
    batch_first: bool = False,
    enforce_sorted: bool = True,
) -> PackedSequence:
    """The sequences of a padded batch without their padding.

    Args:
        input: (T, B, ...), or (B, T, ...) with `batch_first`.
        lengths: How long each of the B sequences is.
        batch_first: Whether the batch is the first dimension.
        enforce_sorted: Whether the lengths must not grow; otherwise the sequences are sorted here and
            put back in order by `pad_packed_sequence` and the recurrent layers.

    Raises:
        RuntimeError: The lengths are not sorted under `enforce_sorted`, not positive, not one for each
            sequence, or longer than the input.

    Example:
        >>> import pyburn
        >>> padded = pyburn.tensor([[1, 2, 3], [4, 0, 0]])
        >>> pyburn.nn.utils.rnn.pack_padded_sequence(padded, [3, 1], batch_first=True).data
        tensor([1, 4, 2, 3])
    """
    given = as_tensor(lengths, dtype=int64).cpu()
    sorted_indices = None
    if not enforce_sorted:
        sorted_indices = argsort(given, descending=True)
        given = given.index_select(0, sorted_indices)
        sorted_indices = sorted_indices.to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    if batch_first:
        input = input.transpose(0, 1)
    sizes: list[int] = given.tolist()
    _check_lengths(sizes, list(input.shape))
    steps = sizes[0]
    rows = input.reshape(input.shape[0] * input.shape[1], *input.shape[2:])
    data = rows.index_select(0, _places(sizes, input.shape[0], input))
    batch_sizes = (given.unsqueeze(0) > arange(steps).unsqueeze(1)).sum(1)
    return PackedSequence(data, batch_sizes, sorted_indices, None)


def _check_lengths(lengths: list[builtins.int], shape: list[builtins.int]) -> None:
    if len(shape) < 2 or len(lengths) != shape[1]:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(lengths)} (batch_size={shape[1:2]})"
        )
    if not lengths:
        raise RuntimeError("Cannot pack empty tensors.")
    if min(lengths) <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if any(one < other for one, other in pairwise(lengths)):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement."
        )
    if lengths[0] > shape[0]:
        raise RuntimeError(f"pack_padded_sequence: lengths {lengths} go beyond the input, which has {shape[0]} steps.")


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: builtins.float = 0.0,
    total_length: builtins.int | None = None,
) -> tuple[Tensor, Tensor]:
    """The padded batch of packed sequences, and the length of each.

    Args:
        sequence: What `pack_padded_sequence` or a recurrent layer gave.
        batch_first: Whether the batch is the first dimension of the result.
        padding_value: What stands after the end of a sequence.
        total_length: The length of the result; that of the longest sequence when left out.

    Raises:
        ValueError: `total_length` is less than the longest sequence.

    Example:
        >>> import pyburn
        >>> rnn = pyburn.nn.utils.rnn
        >>> packed = rnn.pack_sequence([pyburn.tensor([1, 2, 3]), pyburn.tensor([4])])
        >>> rnn.pad_packed_sequence(packed, batch_first=True)
        (tensor([[1, 2, 3],
                [4, 0, 0]]), tensor([3, 1]))
    """
    steps = sequence.batch_sizes.numel()
    if total_length is not None and total_length < steps:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {steps}"
        )
    data = sequence.data
    total = steps if total_length is None else total_length
    width = int(sequence.batch_sizes[0])
    lengths = (sequence.batch_sizes.unsqueeze(1) > arange(width).unsqueeze(0)).sum(0)
    rows = data.new_full((total * width, *data.shape[1:]), padding_value)
    places = _places(lengths.tolist(), total, data)
    padded = rows.index_copy(0, places, data).reshape(total, width, *data.shape[1:])
    if batch_first:
        padded = padded.transpose(0, 1)
    order = sequence.unsorted_indices
    if order is not None:
        return padded.index_select(0 if batch_first else 1, order), lengths.index_select(0, order.cpu())
    return padded, lengths


def pad_sequence(
    sequences: Tensor | Iterable[Tensor],
    batch_first: bool = False,
    padding_value: builtins.float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """The sequences as one batch, the shorter ones filled up with `padding_value`.

    Args:
        sequences: Tensors of shape (L, ...) that differ in L only.
        batch_first: Whether the batch is the first dimension of the result.
        padding_value: What fills up.
        padding_side: "right" or "left".

    Raises:
        RuntimeError: What is given is not an iterable of tensors, or there is none.

    Example:
        >>> import pyburn
        >>> pyburn.nn.utils.rnn.pad_sequence([pyburn.ones(2), pyburn.ones(1)], batch_first=True)
        tensor([[1., 1.],
                [1., 0.]])
    """
    if not isinstance(sequences, Iterable | Tensor):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    if padding_side not in ("left", "right"):
        raise RuntimeError(f'Expected padding_side to be one of left or right, but got "{padding_side}".')
    listed = list(sequences.unbind(0) if isinstance(sequences, Tensor) else sequences)
    if not listed:
        raise RuntimeError("received an empty list of sequences")
    longest = max(sequence.shape[0] for sequence in listed)
    filled = [_filled(sequence, longest, padding_value, padding_side) for sequence in listed]
    dim = 0 if batch_first else 1
    return cat([sequence.unsqueeze(dim) for sequence in filled], dim)


def _filled(sequence: Tensor, length: builtins.int, value: builtins.float, side: str) -> Tensor:
    missing = length - sequence.shape[0]
    if missing == 0:
        return sequence
    rest = sequence.new_full((missing, *sequence.shape[1:]), value)
    return cat([sequence, rest] if side == "right" else [rest, sequence])


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences of a padded batch, each cut to its length.

    Args:
        padded_sequences: (T, B, ...), or (B, T, ...) with `batch_first`.
        lengths: The length of each sequence.
        batch_first: Whether the batch is the first dimension.

    Example:
        >>> import pyburn
        >>> pyburn.nn.utils.rnn.unpad_sequence(pyburn.tensor([[1, 2], [3, 0]]), pyburn.tensor([2, 1]), True)
        [tensor([1, 2]), tensor([3])]
    """
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    # Copies, as in torch: a batch that is written to later leaves them alone.
    return [row[:length].clone() for row, length in zip(padded_sequences.unbind(0), lengths.tolist(), strict=True)]


def pack_sequence(sequences: Iterable[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """The sequences packed: all first elements, then all second ones, and so on.

    Args:
        sequences: Tensors of shape (L, ...) that differ in L only.
        enforce_sorted: Whether they must come longest first.

    Example:
        >>> import pyburn
        >>> pyburn.nn.utils.rnn.pack_sequence([pyburn.ones(2), pyburn.zeros(1)]).data
        tensor([1., 0., 1.])
    """
    listed = list(sequences)
    lengths = as_tensor([sequence.shape[0] for sequence in listed])
    return pack_padded_sequence(pad_sequence(listed), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences that `pack_sequence` was given.

    Example:
        >>> import pyburn
        >>> rnn = pyburn.nn.utils.rnn
        >>> rnn.unpack_sequence(rnn.pack_sequence([pyburn.ones(2), pyburn.zeros(1)]))
        [tensor([1., 1.]), tensor([0.])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
