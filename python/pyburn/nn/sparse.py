"""Tables of vectors that are looked up by index."""

from __future__ import annotations

from typing import Any, Self

from pyburn._core import Tensor
from pyburn.autograd import no_grad
from pyburn.nn import functional as F
from pyburn.nn import init
from pyburn.nn.module import Module
from pyburn.nn.parameter import Parameter
from pyburn.ops import empty


class _Table(Module):
    """The weight, its padding row, and how both are shown."""

    weight: Parameter

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None,
        max_norm: float | None,
        norm_type: float,
        scale_grad_by_freq: bool,
        sparse: bool,
        weight: Tensor | None,
        freeze: bool,
        device: Any,
        dtype: Any,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise AssertionError("Padding_idx must be within num_embeddings")
            padding_idx %= num_embeddings
        self.padding_idx = padding_idx
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        if weight is None:
            values = empty((num_embeddings, embedding_dim), device=device, dtype=dtype)
            self.weight = Parameter(values, requires_grad=not freeze)
            self.reset_parameters()
        else:
            if list(weight.shape) != [num_embeddings, embedding_dim]:
                raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
            self.weight = Parameter(weight, requires_grad=not freeze)

    def reset_parameters(self) -> None:
        """Nothing; the rows are drawn anew, the padding row is zero."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self) -> None:
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    def _settings(self) -> list[str]:
        text = [str(self.num_embeddings), str(self.embedding_dim)]
        if self.max_norm is not None:
            text.append(f"max_norm={self.max_norm}")
        if self.norm_type != 2:
            text.append(f"norm_type={self.norm_type}")
        if self.scale_grad_by_freq is not False:
            text.append(f"scale_grad_by_freq={self.scale_grad_by_freq}")
        return text


class Embedding(_Table):
    """Gives the row of a learned table for each index.

    Args:
        num_embeddings: How many rows.
        embedding_dim: How long a row is.
        padding_idx: A row that begins as zeros and is not trained.
        max_norm: Rows that are longer are shortened when looked up.
        norm_type: Which norm `max_norm` means.
        scale_grad_by_freq: Whether a row's gradient is divided by how often it was named.
        sparse: Accepted for torch's sake; the gradient is dense.
        _weight: The table's values, instead of random ones.
        _freeze: Whether the table is not trained.
        device: Where the table is.
        dtype: Its dtype.

    Example:
        >>> import pyburn
        >>> table = pyburn.nn.Embedding(10, 3, padding_idx=0)
        >>> tuple(table(pyburn.tensor([[1, 2], [4, 0]])).shape)
        (2, 2, 3)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            num_embeddings,
            embedding_dim,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight,
            _freeze,
            device,
            dtype,
        )

    def forward(self, input: Tensor) -> Tensor:
        """The rows, in the input's shape with one more dimension."""
        return F.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    def extra_repr(self) -> str:
        """The sizes, and what differs from the defaults."""
        text = self._settings()
        if self.padding_idx is not None:
            text.insert(2, f"padding_idx={self.padding_idx}")
        if self.sparse is not False:
            text.append("sparse=True")
        return ", ".join(text)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Self:
        """An Embedding over the matrix `embeddings`, not trained when `freeze`.

        Example:
            >>> import pyburn
            >>> table = pyburn.nn.Embedding.from_pretrained(pyburn.tensor([[1.0, 2.0]]))
            >>> table(pyburn.tensor([0]))
            tensor([[1., 2.]])
        """
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, length = embeddings.shape
        return cls(
            rows,
            length,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight=embeddings,
            _freeze=freeze,
        )


class EmbeddingBag(_Table):
    """Gives the sum, mean or maximum of the rows that each bag of indices names.

    Args:
        num_embeddings: How many rows.
        embedding_dim: How long a row is.
        max_norm: Rows that are longer are shortened when looked up.
        norm_type: Which norm `max_norm` means.
        scale_grad_by_freq: Whether a row's gradient is divided by how often it was named.
        mode: "sum", "mean" or "max".
        sparse: Accepted for torch's sake; the gradient is dense.
        _weight: The table's values, instead of random ones.
        include_last_offset: Whether the last offset is the number of indices.
        padding_idx: Indices of this row count for nothing.
        device: Where the table is.
        dtype: Its dtype.

    Example:
        >>> import pyburn
        >>> table = pyburn.nn.EmbeddingBag(10, 3, mode="sum")
        >>> tuple(table(pyburn.tensor([1, 2, 4]), pyburn.tensor([0, 2])).shape)
        (2, 3)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            num_embeddings,
            embedding_dim,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight,
            False,
            device,
            dtype,
        )
        self.mode = mode
        self.include_last_offset = include_last_offset

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        """(number of bags, embedding_dim)."""
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        """The sizes, and what differs from the defaults."""
        text = [*self._settings(), f"mode={self.mode!r}"]
        if self.padding_idx is not None:
            text.append(f"padding_idx={self.padding_idx}")
        return ", ".join(text)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Self:
        """An EmbeddingBag over the matrix `embeddings`, not trained when `freeze`."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, length = embeddings.shape
        made = cls(
            rows,
            length,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse,
            embeddings,
            include_last_offset,
            padding_idx,
        )
        made.weight.requires_grad_(not freeze)
        return made
