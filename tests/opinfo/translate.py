"""Values of torch as values of pyburn: tensors with their strides, dtypes, devices, sizes, and what holds them."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import pyburn
import torch

from oracle import Case, dtype_name, from_torch

FORMATS = {
    torch.contiguous_format: "contiguous_format",
    torch.preserve_format: "preserve_format",
    torch.channels_last: "channels_last",
    torch.channels_last_3d: "channels_last_3d",
}
PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), np.generic, range)


class UntranslatableError(Exception):
    """A value of torch that pyburn has no counterpart for."""


class Translator:
    """Turns the arguments of one call into pyburn's, and remembers which tensor became which.

    The same tensor given twice stays one tensor; strides are kept.
    """

    def __init__(self) -> None:
        self.pairs: dict[int, tuple[torch.Tensor, Any]] = {}
        self.memories: dict[tuple[int, torch.dtype], Any] = {}
        # Copies without conjugation live on, since their addresses name memories.
        self.kept: list[torch.Tensor] = []

    def __call__(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self.tensor(value)
        if isinstance(value, torch.Size):
            return pyburn.Size(value)
        if isinstance(value, (list, tuple, set)):
            return self.sequence(value)
        if isinstance(value, dict):
            return type(value)((key, self(item)) for key, item in value.items())
        if isinstance(value, slice):
            return slice(self(value.start), self(value.stop), self(value.step))
        if isinstance(value, PLAIN):
            return value
        if isinstance(value, torch.nn.utils.rnn.PackedSequence):
            return pyburn.nn.utils.rnn.PackedSequence(*[self(item) for item in value])
        if isinstance(value, torch.nn.TransformerEncoderLayer):
            return self.encoder_layer(value)
        return self.named(value)

    def encoder_layer(self, value: torch.nn.TransformerEncoderLayer) -> Any:
        """The only layer that the bank gives to another one."""
        attention = value.self_attn
        made = pyburn.nn.TransformerEncoderLayer(
            attention.embed_dim,
            attention.num_heads,
            value.linear1.out_features,
            value.dropout.p,
            self(value.activation),
            value.norm1.eps,
            attention.batch_first,
            value.norm_first,
            value.linear1.bias is not None,
        )
        made.load_state_dict({key: dense(item) for key, item in value.state_dict().items()})
        return made

    def sequence(self, value: Any) -> Any:
        items = [self(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)

    def named(self, value: Any) -> Any:
        if isinstance(value, torch.dtype):
            return getattr(pyburn, dtype_name(value))
        if isinstance(value, torch.device):
            return pyburn.device(str(value))
        if isinstance(value, torch.memory_format):
            return getattr(pyburn, FORMATS[value])
        if isinstance(value, torch.layout):
            return getattr(pyburn, dtype_name(value))
        if isinstance(value, torch.Generator):
            return pyburn.Generator().manual_seed(value.initial_seed())
        if isinstance(value, torch.nn.LinearCrossEntropyOptions):
            fields = {name: getattr(value, name) for name in value.__dataclass_fields__}
            return pyburn.nn.LinearCrossEntropyOptions(**self(fields))
        if isinstance(value, type) and hasattr(builtin_types, value.__name__):
            return value
        if isinstance(value, torch.nn.Module):
            return module(value)
        if callable(value):
            from opinfo.resolve import path, rebind

            known = getattr(torch.nn.functional, getattr(value, "__name__", "?"), None) is value
            return path(f"nn.functional.{value.__name__}") if known else rebind(value)
        raise UntranslatableError(f"{type(value).__name__} has no counterpart")

    def tensor(self, value: torch.Tensor) -> Any:
        if id(value) in self.pairs:
            return self.pairs[id(value)][1]
        if value.layout != torch.strided:
            ours = self.sparse(value)
        elif value.is_quantized or value.is_nested:
            raise UntranslatableError("quantized and nested tensors have no counterpart")
        else:
            ours = self.dense(value)
        if value.requires_grad:
            ours.requires_grad_()
        if isinstance(value, torch.nn.Parameter):
            ours = pyburn.nn.Parameter(ours, value.requires_grad)
        self.pairs[id(value)] = (value, ours)
        return ours

    def dense(self, value: torch.Tensor) -> Any:
        """A copy with the same strides and the same memory around it; tensors that share memory still share it."""
        plain = value.detach().resolve_conj().resolve_neg()
        storage = plain.untyped_storage()
        if plain.numel() == 0 or storage.nbytes() % plain.itemsize:
            return Case(plain).ours("cpu")
        key = (storage.data_ptr(), plain.dtype)
        if key not in self.memories:
            self.kept.append(plain)
            self.memories[key] = from_torch(torch.empty(0, dtype=plain.dtype).set_(storage))
        place = plain.storage_offset()
        return self.memories[key].as_strided(list(plain.shape), list(plain.stride()), place).detach()

    def sparse(self, value: torch.Tensor) -> Any:
        plain = value.detach()
        if value.layout == torch.sparse_coo:
            made = pyburn.sparse_coo_tensor(dense(plain._indices()), dense(plain._values()), tuple(value.shape))
            return made.coalesce() if value.is_coalesced() else made
        if value.layout == torch.sparse_csr:
            parts = [dense(part) for part in (plain.crow_indices(), plain.col_indices(), plain.values())]
            return pyburn.sparse_csr_tensor(*parts, tuple(value.shape))
        raise UntranslatableError(f"layout {value.layout} has no counterpart")

    def leaves(self) -> list[tuple[torch.Tensor, Any]]:
        """The pairs of tensors that want a gradient."""
        return [pair for pair in self.pairs.values() if pair[0].requires_grad]


class builtin_types:
    """The Python types that torch accepts in place of a dtype."""

    bool, int, float, complex = bool, int, float, complex


def module(value: torch.nn.Module) -> Any:
    """Our layer with the settings and the weights of a layer of torch's, as far as samples hold layers."""
    name = type(value).__name__
    if isinstance(value, torch.nn.PairwiseDistance):
        return pyburn.nn.PairwiseDistance(value.norm, value.eps, value.keepdim)
    if not isinstance(value, (torch.nn.TransformerEncoderLayer, torch.nn.TransformerDecoderLayer)):
        raise UntranslatableError(f"{name} has no counterpart")
    attention = value.self_attn
    activation = getattr(value.activation, "__name__", "relu")
    made = getattr(pyburn.nn, name)(
        attention.embed_dim,
        attention.num_heads,
        value.linear1.out_features,
        value.dropout.p,
        activation,
        value.norm1.eps,
        attention.batch_first,
        value.norm_first,
        value.linear1.bias is not None,
    )
    made.load_state_dict({key: dense(weight) for key, weight in value.state_dict().items()})
    return made.train(value.training)


def dense(value: torch.Tensor) -> Any:
    """A copy with the same strides."""
    return Translator().dense(value)


def collect(value: Any, kind: type) -> list[Any]:
    """The tensors of a result, in order."""
    if isinstance(value, kind):
        return [value]
    if isinstance(value, (dict, collections.OrderedDict)):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [tensor for item in value for tensor in collect(item, kind)]
    return []
