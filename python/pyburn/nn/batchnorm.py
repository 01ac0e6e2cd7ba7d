"""Normalization with running statistics: over a batch, or over each instance."""

from __future__ import annotations

from typing import Any

from pyburn._core import Tensor, long
from pyburn.autograd import no_grad
from pyburn.nn import functional as F
from pyburn.nn import init
from pyburn.nn.module import Module
from pyburn.nn.parameter import Parameter
from pyburn.ops import empty, ones, tensor, zeros


class _NormBase(Module):
    """Affine parameters and running statistics, one for each of `num_features` channels."""

    _version = 2
    weight: Parameter | None
    bias: Parameter | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        for name, present in (("weight", affine), ("bias", affine and bias)):
            values = Parameter(empty((num_features,), device=device, dtype=dtype)) if present else None
            self.register_parameter(name, values)
        if track_running_stats:
            self.register_buffer("running_mean", zeros((num_features,), device=device, dtype=dtype))
            self.register_buffer("running_var", ones((num_features,), device=device, dtype=dtype))
            self.register_buffer("num_batches_tracked", tensor(0, dtype=long, device=device))
        else:
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                self.register_buffer(name, None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Nothing; the running statistics are those of no batch at all."""
        if self.running_mean is not None and self.running_var is not None:
            self.running_mean.zero_()
            self.running_var.fill_(1)
        if self.num_batches_tracked is not None:
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Nothing; the statistics and the affine parameters are as at the beginning."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError

    def extra_repr(self) -> str:
        """The sizes and settings."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        version = local_metadata.get("version")
        if (version is None or version < 2) and self.track_running_stats:
            # Files older than version 2 do not have the counter.
            key = prefix + "num_batches_tracked"
            if key not in state_dict:
                own = self.num_batches_tracked
                state_dict[key] = tensor(0, dtype=long) if own is None else own
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class _BatchNorm(_NormBase):
    """Batch normalization for inputs of the ranks `_ranks`."""

    _ranks: tuple[int, ...]

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in self._ranks:
            expected = " or ".join(f"{rank}D" for rank in self._ranks)
            raise ValueError(f"expected {expected} input (got {input.dim()}D input)")

    def _count_batch(self) -> float:
        """The momentum of this batch: given, or that of a plain average over all batches."""
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            with no_grad():
                self.num_batches_tracked.add_(1)
            if self.momentum is None:
                return 1.0 / float(self.num_batches_tracked)
        return 0.0 if self.momentum is None else self.momentum

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input, of the same shape."""
        self._check_input_dim(input)
        momentum = self._count_batch()
        own_statistics = self.training or (self.running_mean is None and self.running_var is None)
        tracked = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if tracked else None,
            self.running_var if tracked else None,
            self.weight,
            self.bias,
            own_statistics,
            momentum,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """Normalizes (N, C) or (N, C, L) for each channel over the batch.

    Args:
        num_features: C.
        eps: Added to the variance.
        momentum: How much of a batch goes into the running statistics; None for their plain average.
        affine: Whether a factor and a summand are learned for each channel.
        track_running_stats: Whether running statistics are kept, and used in evaluation.
        device: Where the parameters are.
        dtype: Their dtype.
        bias: Whether the summand is learned, with `affine`.

    Example:
        >>> import pyburn
        >>> pyburn.nn.BatchNorm1d(1)(pyburn.tensor([[1.0], [3.0]])).detach()
        tensor([[-1.0000],
                [ 1.0000]])
    """

    _ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalizes (N, C, H, W) for each channel over the batch; arguments as `BatchNorm1d`.

    Example:
        >>> import pyburn
        >>> pyburn.nn.BatchNorm2d(3)
        BatchNorm2d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    _ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Normalizes (N, C, D, H, W) for each channel over the batch; arguments as `BatchNorm1d`.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.BatchNorm3d(2)(pyburn.zeros(1, 2, 2, 2, 2)).shape)
        (1, 2, 2, 2, 2)
    """

    _ranks = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch normalization over all processes; in the one process there is, that of its batch.

    Args:
        num_features: C.
        eps: Added to the variance.
        momentum: How much of a batch goes into the running statistics; None for their plain average.
        affine: Whether a factor and a summand are learned for each channel.
        track_running_stats: Whether running statistics are kept, and used in evaluation.
        process_group: Accepted for torch's sake.
        device: Where the parameters are.
        dtype: Their dtype.

    Example:
        >>> from pyburn import nn
        >>> nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm2d(2)))[0]
        SyncBatchNorm(2, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.shape[1] == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """The module with each batch norm in it replaced by one of this class, over the same tensors.

        Args:
            module: The module; its children are replaced in place.
            process_group: Accepted for torch's sake.
        """
        converted = module
        if isinstance(module, _BatchNorm):
            converted = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            if module.affine:
                converted.weight, converted.bias = module.weight, module.bias
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                setattr(converted, name, getattr(module, name))
            converted.training = module.training
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted


class _InstanceNorm(_NormBase):
    """Instance normalization for inputs with `_spatial` dimensions after the channels."""

    _spatial: int

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _check_input_dim(self, input: Tensor) -> None:
        ranks = (self._spatial + 1, self._spatial + 2)
        if input.dim() not in ranks:
            raise ValueError(f"expected {ranks[0]}D or {ranks[1]}D input (got {input.dim()}D input)")
        channels = input.shape[-self._spatial - 1]
        if channels != self.num_features and self.affine:
            raise ValueError(
                f"expected input's size at dim={input.dim() - self._spatial - 1} to match num_features "
                f"({self.num_features}), but got: {channels}."
            )

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input, of the same shape."""
        self._check_input_dim(input)
        batched = input if input.dim() == self._spatial + 2 else input.unsqueeze(0)
        output = F.instance_norm(
            batched,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return output if batched is input else output.squeeze(0)


class InstanceNorm1d(_InstanceNorm):
    """Normalizes (N, C, L) or (C, L) for each sample and channel.

    Arguments as `BatchNorm1d`; nothing is learned or tracked unless asked for.

    Example:
        >>> import pyburn
        >>> pyburn.nn.InstanceNorm1d(1, eps=0.0)(pyburn.tensor([[[1.0, 3.0]]]))
        tensor([[[-1.,  1.]]])
    """

    _spatial = 1


class InstanceNorm2d(_InstanceNorm):
    """Normalizes (N, C, H, W) or (C, H, W) for each sample and channel; arguments as `InstanceNorm1d`.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.InstanceNorm2d(2)(pyburn.zeros(1, 2, 3, 3)).shape)
        (1, 2, 3, 3)
    """

    _spatial = 2


class InstanceNorm3d(_InstanceNorm):
    """Normalizes (N, C, D, H, W) or (C, D, H, W) for each sample and channel; arguments as `InstanceNorm1d`.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.InstanceNorm3d(2)(pyburn.zeros(1, 2, 2, 2, 2)).shape)
        (1, 2, 2, 2, 2)
    """

    _spatial = 3
