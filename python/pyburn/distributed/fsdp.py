"""torch.distributed.fsdp: with one process there is nothing to split; using it raises."""

from typing import Any

from pyburn._absent import absent_class, absent_function

_WHY = ("pyburn computes in one process", "use the module itself")

FullyShardedDataParallel: Any = absent_class("distributed.fsdp.FullyShardedDataParallel", *_WHY)
MixedPrecision: Any = absent_class("distributed.fsdp.MixedPrecision", *_WHY)
CPUOffload: Any = absent_class("distributed.fsdp.CPUOffload", *_WHY)
fully_shard = absent_function("distributed.fsdp.fully_shard", *_WHY)
