"""Module paths of torch that programs import and pyburn has no file for, as tables.

`SHARED` are other names of modules that pyburn has. `ABSENT` are parts that it has not: importing them and naming what
is in them does nothing, using it raises `NotImplementedError` with the reason and a way out.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from types import ModuleType

from pyburn._absent import absent_class, absent_function

__all__ = [
    *("ABSENT", "EARLY", "OPEN", "PARENTS", "SHARED", "WHY"),
    *("late", "make", "make_open", "open_names", "with_children"),
]

# torch's path: the modules of pyburn whose names it has.
SHARED: dict[str, str] = {
    "_C._functorch": "func._levels",
    "_functorch": "func",
    "_functorch.apis": "func",
    "_functorch.deprecated": "func func._stateless",
    "_functorch.eager_transforms": "func",
    "_functorch.functional_call": "func",
    "_functorch.make_functional": "func._stateless",
    "_functorch.vmap": "func",
    "_linalg_utils": "ops linalg",
    "_lowrank": "ops",
    "_tensor": "_tensor _core",
    "_tensor_str": "_printing",
    "_vmap_internals": "func",
    "autograd.anomaly_mode": "autograd",
    "autograd.profiler_util": "autograd.profiler",
    "cuda.amp.autocast_mode": "cuda.amp",
    "cuda.amp.grad_scaler": "cuda.amp",
    "cuda.graphs": "cuda",
    "cuda.streams": "cuda",
    "distributed.fsdp.api": "distributed.fsdp",
    "distributed.fsdp.fully_sharded_data_parallel": "distributed.fsdp",
    "distributed.nn.functional": "distributed.nn",
    "distributed._tensor": "distributed.tensor",
    "distributed._tensor.placement_types": "distributed.tensor",
    "distributed.rpc.api": "distributed.rpc",
    "distributed.tensor.placement_types": "distributed.tensor",
    "jit._script": "jit",
    "jit._trace": "jit",
    "masked._ops": "masked",
    "mtia": "xpu",
    "multiprocessing.pool": "multiprocessing",
    "multiprocessing.queue": "multiprocessing",
    "multiprocessing.spawn": "multiprocessing",
    "nn.attention.bias": "nn.attention_bias",
    "nn.attention.flex_attention": "nn.flex_attention",
    "nn.parallel.data_parallel": "nn.parallel",
    "nn.parallel.parallel_apply": "nn.parallel",
    "nn.parallel.replicate": "nn.parallel",
    "nn.parallel.scatter_gather": "nn.parallel",
    "nn.quantized": "ao.nn.quantized",
    "nn.quantized.modules": "ao.nn.quantized",
    "optim.adamw": "optim.adam",
    "profiler.profiler": "profiler",
    "testing._comparison": "testing",
    "utils.data.backward_compatibility": "data",
}

# What a path's parent has under the same name is a function, which importing the path must not replace.
EARLY = (
    "multiprocessing.spawn",
    "nn.parallel.data_parallel",
    "nn.parallel.parallel_apply",
    "nn.parallel.replicate",
)

WHY: dict[str, tuple[str, str]] = {
    "cuda": ("there is no CUDA here", "guard it by torch.cuda.is_available(), or use device='wgpu'"),
    "compiler": ("pyburn does not compile programs", "call the function itself"),
    "dispatcher": ("pyburn has no dispatcher", "call the function of the same name in torch"),
    "file": ("pyburn does not read or write such files", "save and load a state_dict"),
    "graph": ("pyburn does not trace programs", "call the module itself, or use hooks to see inside it"),
    "mode": ("pyburn does not redirect its operations", "call the function itself"),
    "onnx": ("pyburn does not write ONNX files yet", "save model.state_dict(), load it in torch and export there"),
    "pipe": ("torch has left its data pipes behind", "use Dataset or IterableDataset with DataLoader"),
    "process": ("pyburn computes in one process", "use the module, optimizer or tensor itself"),
    "quantization": ("pyburn does not quantize networks", "use half precision: autocast or model.half()"),
}

_SHARDED = "ShardedTensor Shard ShardedTensorMetadata init_from_local_shards"
_QUANTIZED_LAYERS = "Linear Conv1d Conv2d Conv3d BatchNorm2d Embedding EmbeddingBag LSTM GRU ReLU6 Hardswish"
_FUSED = "ConvBn1d ConvBn2d ConvBnReLU1d ConvBnReLU2d ConvReLU1d ConvReLU2d ConvReLU3d LinearReLU BNReLU2d BNReLU3d"
_PARALLEL = "ColwiseParallel RowwiseParallel SequenceParallel ParallelStyle PrepareModuleInput PrepareModuleOutput"
_STATE_DICT = "StateDictOptions get_model_state_dict get_optimizer_state_dict get_state_dict set_model_state_dict"

# torch's path: why it is absent, and the names that it has.
ABSENT: dict[str, tuple[str, str]] = {
    "_decomp": ("dispatcher", "core_aten_decompositions get_decompositions register_decomposition"),
    "_functorch.config": ("compiler", ""),
    "_functorch.aot_autograd": ("compiler", "aot_function aot_module aot_module_simplified"),
    "_higher_order_ops": ("compiler", "cond while_loop scan associative_scan"),
    "_logging": ("compiler", "set_logs"),
    "_subclasses": ("mode", "FakeTensor FakeTensorMode"),
    "_subclasses.fake_tensor": ("mode", "FakeTensor FakeTensorMode"),
    "ao.nn.intrinsic": ("quantization", _FUSED),
    "ao.nn.intrinsic.qat": ("quantization", _FUSED),
    "ao.nn.qat": ("quantization", _QUANTIZED_LAYERS),
    "ao.nn.quantizable": ("quantization", "LSTM LSTMCell MultiheadAttention"),
    "ao.nn.quantized.dynamic": ("quantization", _QUANTIZED_LAYERS),
    "ao.ns": ("quantization", "compare_weights"),
    "ao.pruning": ("quantization", "BaseSparsifier WeightNormSparsifier NearlyDiagonalSparsifier"),
    "cuda.comm": ("cuda", "broadcast broadcast_coalesced gather reduce_add reduce_add_coalesced scatter"),
    "cuda.jiterator": ("cuda", "_create_jit_fn _create_multi_output_jit_fn"),
    "cuda.nccl": ("cuda", "all_gather all_reduce broadcast reduce reduce_scatter version"),
    "cuda.profiler": ("cuda", "init profile start stop"),
    "cuda.sparse": ("cuda", "FloatTensor DoubleTensor"),
    "cuda.tunable": ("cuda", "enable tuning_enable write_file"),
    "distributed._composable": ("process", "checkpoint contract fully_shard replicate"),
    "distributed._composable.fsdp": ("process", "CPUOffloadPolicy MixedPrecisionPolicy OffloadPolicy fully_shard"),
    "distributed._functional_collectives": ("process", "AsyncCollectiveTensor all_gather_tensor all_reduce"),
    "distributed._shard": ("process", "shard_module"),
    "distributed._shard.sharded_tensor": ("process", _SHARDED),
    "distributed._tensor.device_mesh": ("process", "DeviceMesh init_device_mesh"),
    "distributed.algorithms": ("process", "_checkpoint ddp_comm_hooks join model_averaging"),
    "distributed.algorithms._checkpoint": ("process", "checkpoint_wrapper"),
    "distributed.algorithms._checkpoint.checkpoint_wrapper": (
        "process",
        "CheckpointImpl CheckpointWrapper apply_activation_checkpointing checkpoint_wrapper offload_wrapper",
    ),
    "distributed.algorithms.ddp_comm_hooks": ("process", "DDPCommHookType register_ddp_comm_hook"),
    "distributed.algorithms.ddp_comm_hooks.default_hooks": (
        "process",
        "allreduce_hook bf16_compress_hook bf16_compress_wrapper fp16_compress_hook fp16_compress_wrapper",
    ),
    "distributed.algorithms.ddp_comm_hooks.post_localSGD_hook": ("process", "PostLocalSGDState post_localSGD_hook"),
    "distributed.algorithms.ddp_comm_hooks.powerSGD_hook": (
        "process",
        "PowerSGDState batched_powerSGD_hook powerSGD_hook",
    ),
    "distributed.algorithms.join": ("process", "Join JoinHook Joinable"),
    "distributed.algorithms.model_averaging": ("process", "averagers"),
    "distributed.algorithms.model_averaging.averagers": ("process", "ModelAverager PeriodicModelAverager"),
    "distributed.autograd": ("process", "backward context get_gradients"),
    "distributed.checkpoint": (
        "process",
        "FileSystemReader FileSystemWriter StorageReader StorageWriter async_save load load_state_dict save "
        "save_state_dict",
    ),
    "distributed.checkpoint.default_planner": ("process", "DefaultLoadPlanner DefaultSavePlanner"),
    "distributed.checkpoint.format_utils": ("process", "dcp_to_torch_save torch_save_to_dcp"),
    "distributed.checkpoint.metadata": ("process", "Metadata TensorStorageMetadata"),
    "distributed.checkpoint.optimizer": ("process", "load_sharded_optimizer_state_dict"),
    "distributed.checkpoint.state_dict": ("process", f"{_STATE_DICT} set_optimizer_state_dict set_state_dict"),
    "distributed.checkpoint.stateful": ("process", "Stateful"),
    "distributed.device_mesh": ("process", "DeviceMesh init_device_mesh"),
    "distributed.elastic.agent": ("process", "server"),
    "distributed.elastic.agent.server": ("process", "WorkerGroup WorkerSpec WorkerState"),
    "distributed.elastic.agent.server.api": ("process", "RunResult WorkerGroup WorkerSpec WorkerState"),
    "distributed.elastic.rendezvous": ("process", "RendezvousHandler RendezvousParameters"),
    "distributed.elastic.utils": ("process", "macros"),
    "distributed.fsdp._common_utils": ("process", "_is_fsdp_flattened"),
    "distributed.fsdp.sharded_grad_scaler": ("process", "ShardedGradScaler"),
    "distributed.fsdp.wrap": (
        "process",
        "CustomPolicy ModuleWrapPolicy always_wrap_policy enable_wrap lambda_auto_wrap_policy "
        "size_based_auto_wrap_policy transformer_auto_wrap_policy wrap",
    ),
    "distributed.launch": ("process", "launch main parse_args"),
    "distributed.optim.zero_redundancy_optimizer": ("process", "ZeroRedundancyOptimizer"),
    "distributed.pipeline": ("process", "sync"),
    "distributed.pipeline.sync": ("process", "Pipe"),
    "distributed.pipelining": (
        "process",
        "Pipe PipelineStage ScheduleGPipe Schedule1F1B SplitPoint pipe_split pipeline",
    ),
    "distributed.run": ("process", "get_args_parser main parse_args run"),
    "distributed.tensor.experimental": ("process", "context_parallel implicit_replication local_map"),
    "distributed.tensor.parallel": ("process", f"{_PARALLEL} loss_parallel parallelize_module"),
    "distributed.utils": ("process", "_recursive_to _sync_module_states"),
    "fx.experimental.proxy_tensor": ("graph", "get_proxy_mode make_fx maybe_disable_fake_tensor_mode"),
    "fx.experimental.symbolic_shapes": ("graph", "ShapeEnv guard_int is_concrete_int"),
    "fx.traceback": ("graph", "format_stack preserve_node_meta"),
    "jit.frontend": ("compiler", "FrontendError NotSupportedError get_jit_def"),
    "jit.mobile": ("compiler", "LiteScriptModule _load_for_lite_interpreter"),
    "monitor": ("file", "Event Stat TensorboardEventHandler log_event register_event_handler"),
    "nn.intrinsic": ("quantization", _FUSED),
    "nn.intrinsic.qat": ("quantization", _FUSED),
    "nn.intrinsic.quantized": ("quantization", _FUSED),
    "nn.parallel._functions": ("cuda", "Broadcast Gather ReduceAddCoalesced Scatter"),
    "nn.qat": ("quantization", _QUANTIZED_LAYERS),
    "nn.quantizable": ("quantization", "LSTM LSTMCell MultiheadAttention"),
    "nn.quantized.dynamic": ("quantization", _QUANTIZED_LAYERS),
    "nn.quantized.functional": ("quantization", "adaptive_avg_pool2d conv2d linear relu"),
    "onnx.errors": ("onnx", "OnnxExporterError SymbolicValueError UnsupportedOperatorError"),
    "onnx.utils": ("onnx", "export register_custom_op_symbolic select_model_mode_for_export"),
    "package": ("file", "PackageExporter PackageImporter"),
    "sparse.semi_structured": ("cuda", "SparseSemiStructuredTensor to_sparse_semi_structured"),
    "utils._device": ("mode", "DeviceContext"),
    "utils._triton": ("compiler", "dtype_to_string"),
    "utils.bundled_inputs": ("file", "augment_model_with_bundled_inputs"),
    "utils.data.datapipes": ("pipe", "iter map"),
    "utils.data.datapipes.datapipe": ("pipe", "DFIterDataPipe DataChunk IterDataPipe MapDataPipe"),
    "utils.data.datapipes.iter": ("pipe", "FileLister FileOpener IterableWrapper Mapper StreamReader"),
    "utils.data.datapipes.map": ("pipe", "SequenceWrapper"),
    "utils.data.datapipes.utils": ("pipe", "common"),
    "utils.data.datapipes.utils.common": ("pipe", "StreamWrapper"),
    "utils.data.graph": ("pipe", "traverse traverse_dps"),
    "utils.data.graph_settings": ("pipe", "apply_random_seed get_all_graph_pipes"),
    "utils.mobile_optimizer": ("file", "optimize_for_mobile"),
    "utils.module_tracker": ("mode", "ModuleTracker"),
    "utils.tensorboard.summary": ("file", "hparams image scalar"),
    "utils.throughput_benchmark": ("compiler", "ThroughputBenchmark"),
}

# Parts of torch that pyburn has not as a whole: every module below them can be imported, with any name in it.
OPEN: dict[str, str] = {
    "_dynamo": "compiler",
    "_export": "compiler",
    "_functorch": "compiler",
    "_higher_order_ops": "compiler",
    "_inductor": "compiler",
    "_logging": "compiler",
    "_subclasses": "mode",
    "ao": "quantization",
    "distributed": "process",
    "export": "compiler",
    "fx": "graph",
    "onnx": "onnx",
}

PARENTS = {path.rpartition(".")[0] for path in (*SHARED, *ABSENT)}


@functools.cache
def make(below: str) -> ModuleType | None:
    """A module for ``torch.<below>``, or None where the tables have none."""
    if below not in SHARED and below not in ABSENT:
        return None
    made = ModuleType(f"torch.{below}", f"torch.{below}: see pyburn.compat.paths.")
    # Any of these may have others below it; the finder answers for those, so the path is empty.
    made.__path__ = []
    for source in SHARED.get(below, "").split():
        found = vars(importlib.import_module(f"pyburn.{source}"))
        made.__dict__.update({name: value for name, value in found.items() if not name.startswith("__")})
    why, names = ABSENT.get(below, ("", ""))
    for name in names.split():
        if f"{below}.{name}" in ABSENT or f"{below}.{name}" in SHARED:
            continue  # a module of its own, found when it is named
        made.__dict__[name] = _absent(below, name, WHY[why])
    made.__dict__["__getattr__"] = lambda name: _below(made, below, name)
    return made


def open_names(below: str) -> Callable[[str], object] | None:
    """What gives any name of ``torch.<below>``, a class or function that raises, where torch's part is open."""
    root, _, rest = below.partition(".")
    if not rest or root not in OPEN:
        return None
    why = WHY[OPEN[root]]

    def name_of(name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(f"module 'torch.{below}' has no attribute '{name}'")
        return _absent(below, name, why)

    return name_of


def _absent(below: str, name: str, why: tuple[str, str]) -> object:
    """What stands for a part that pyburn has not: it raises when it is used, and says so when it is asked."""
    if name == "is_available":
        return lambda: False
    kind = absent_class if name.lstrip("_")[:1].isupper() else absent_function
    return kind(f"{below}.{name}", *why)


@functools.cache
def make_open(below: str) -> ModuleType | None:
    """A module for ``torch.<below>`` with any name in it, or None outside of the open parts."""
    names = open_names(below)
    if names is None:
        return None
    made = ModuleType(f"torch.{below}", f"torch.{below}: see pyburn.compat.paths.")
    made.__path__ = []
    made.__dict__["__getattr__"] = names
    return made


def _below(parent: ModuleType, path: str, name: str) -> object:
    if f"{path}.{name}" in ABSENT or f"{path}.{name}" in SHARED:
        return importlib.import_module(f"torch.{path}.{name}")
    if (names := open_names(path)) is not None:
        return names(name)
    raise AttributeError(f"module {parent.__name__!r} has no attribute {name!r}")


def with_children(module: ModuleType, below: str, plain: Callable[[str], object] | None) -> Callable[[str], object]:
    """What gives the names of ``torch.<below>`` that `module` has not: its own `__getattr__`, then modules below it."""

    def name_of(name: str) -> object:
        if f"{below}.{name}" in ABSENT or f"{below}.{name}" in SHARED:
            return importlib.import_module(f"torch.{below}.{name}")
        if plain is not None:
            return plain(name)
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

    return name_of


def late(below: str) -> ModuleType:
    """A module for ``torch.<below>`` that looks its names up when they are asked for."""
    made = ModuleType(f"torch.{below}", f"torch.{below}: see pyburn.compat.paths.")
    made.__dict__["__getattr__"] = lambda name: getattr(make(below), name)
    return made
