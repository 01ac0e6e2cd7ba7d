"""torch.distributed.fsdp: with one process there is nothing to split; its settings can be made, using it raises."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from pyburn._absent import absent_class, absent_function

_WHY = ("pyburn computes in one process", "use the module itself")

FullyShardedDataParallel: Any = absent_class("distributed.fsdp.FullyShardedDataParallel", *_WHY)
FSDPModule: Any = absent_class("distributed.fsdp.FSDPModule", *_WHY)
CPUOffloadPolicy: Any = absent_class("distributed.fsdp.CPUOffloadPolicy", *_WHY)
MixedPrecisionPolicy: Any = absent_class("distributed.fsdp.MixedPrecisionPolicy", *_WHY)
OffloadPolicy: Any = absent_class("distributed.fsdp.OffloadPolicy", *_WHY)
fully_shard = absent_function("distributed.fsdp.fully_shard", *_WHY)


class ShardingStrategy(Enum):
    """How a model would be split."""

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


class BackwardPrefetch(Enum):
    """When the next parameters would be fetched."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


class StateDictType(Enum):
    """What a state dict would hold."""

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


class OptimStateKeyType(Enum):
    """What an optimizer's state would be named by."""

    PARAM_NAME = auto()
    PARAM_ID = auto()


@dataclass(frozen=True)
class MixedPrecision:
    """The dtypes of a split model's parts."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: tuple[Any, ...] = ()


@dataclass
class CPUOffload:
    """Whether parameters would wait in the CPU's memory."""

    offload_params: bool = False


@dataclass
class StateDictConfig:
    """The settings of a state dict."""

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """The settings of a whole state dict."""

    rank0_only: bool = False


@dataclass
class LocalStateDictConfig(StateDictConfig):
    """The settings of a state dict of one process."""


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """The settings of a state dict in pieces."""

    _use_dtensor: bool = False


@dataclass
class OptimStateDictConfig:
    """The settings of an optimizer's state dict."""

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """The settings of an optimizer's whole state dict."""

    rank0_only: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """The settings of an optimizer's state dict in pieces."""

    _use_dtensor: bool = False
