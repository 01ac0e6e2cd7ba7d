"""A deep-learning library with PyTorch's API and burn, the Rust framework, as its engine."""

import importlib as _importlib
import os as _os
import typing as _typing

# `X as X` is how a module says to type checkers that X is for its users.
from pyburn import _core
from pyburn._core import (
    DeviceError as DeviceError,
    DimError as DimError,
    DTypeError as DTypeError,
    ShapeError as ShapeError,
    Tensor as Tensor,
    bfloat16 as bfloat16,
    bool as bool,  # noqa: A004
    can_cast as can_cast,
    cdouble as cdouble,
    cfloat as cfloat,
    complex64 as complex64,
    complex128 as complex128,
    device as device,
    double as double,
    dtype as dtype,
    float as float,  # noqa: A004
    float16 as float16,
    float32 as float32,
    float64 as float64,
    get_default_device as get_default_device,
    get_default_dtype as get_default_dtype,
    get_num_threads as get_num_threads,
    half as half,
    int as int,  # noqa: A004
    int8 as int8,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    is_grad_enabled as is_grad_enabled,
    is_inference_mode_enabled as is_inference_mode_enabled,
    long as long,
    promote_types as promote_types,
    set_default_device as set_default_device,
    set_default_dtype as set_default_dtype,
    set_num_threads as set_num_threads,
    short as short,
    synchronize as synchronize,
    uint8 as uint8,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
)
from pyburn._size import Size as Size
from pyburn import _copying, _dense, _storage, _subclass, _tensor
from pyburn._formats import (
    channels_last as channels_last,
    channels_last_3d as channels_last_3d,
    contiguous_format as contiguous_format,
    contiguous_format as legacy_contiguous_format,
    jagged as jagged,
    layout as layout,
    memory_format as memory_format,
    preserve_format as preserve_format,
    sparse_bsc as sparse_bsc,
    sparse_bsr as sparse_bsr,
    sparse_coo as sparse_coo,
    sparse_csc as sparse_csc,
    sparse_csr as sparse_csr,
    strided as strided,
)
from pyburn._devices import Backend as Backend, DeviceInfo as DeviceInfo, devices as devices
from pyburn._legacy import *  # noqa: F403
from pyburn._legacy_storage import *  # noqa: F403
from pyburn._printing import (
    get_printoptions as get_printoptions,
    printoptions as printoptions,
    set_printoptions as set_printoptions,
)
from pyburn._quantized import *  # noqa: F403
from pyburn._memory import (
    empty_cache as empty_cache,
    memory_stats as memory_stats,
    reset_peak_memory_stats as reset_peak_memory_stats,
)
from pyburn._settings import *  # noqa: F403
from pyburn._typeinfo import finfo as finfo, iinfo as iinfo
from pyburn.ops import *  # noqa: F403
from pyburn import autograd as autograd
from pyburn.autograd import (
    enable_grad as enable_grad,
    inference_mode as inference_mode,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)
from pyburn import utils as utils
from pyburn._distribution import Distribution as Distribution
from pyburn._storage import TypedStorage as TypedStorage, UntypedStorage as UntypedStorage
from pyburn import cuda as cuda
from pyburn import ops as ops
from pyburn import random as random

if _typing.TYPE_CHECKING:
    from pyburn import (
        _C as _C,
        _VF as _VF,
        __config__ as __config__,
        _custom_ops as _custom_ops,
        _dynamo as _dynamo,
        _inductor as _inductor,
        _jit_internal as _jit_internal,
        _ops as _ops,
        _prims_common as _prims_common,
        _six as _six,
        _utils as _utils,
        accelerator as accelerator,
        amp as amp,
        ao as ao,
        backends as backends,
        compat as compat,
        compiler as compiler,
        cpu as cpu,
        data as data,
        distributed as distributed,
        distributions as distributions,
        export as export,
        fft as fft,
        func as func,
        functional as functional,
        futures as futures,
        fx as fx,
        hub as hub,
        jit as jit,
        keras as keras,
        library as library,
        linalg as linalg,
        masked as masked,
        mps as mps,
        multiprocessing as multiprocessing,
        nested as nested,
        nn as nn,
        onnx as onnx,
        optim as optim,
        overrides as overrides,
        profiler as profiler,
        quasirandom as quasirandom,
        quantization as quantization,
        safetensors as safetensors,
        serialization as serialization,
        signal as signal,
        sparse as sparse,
        special as special,
        storage as storage,
        testing as testing,
        torch_version as torch_version,
        train as train,
        types as types,
        version as version,
        vision as vision,
        xpu as xpu,
    )
    from pyburn._symbols import (
        SymBool as SymBool,
        SymFloat as SymFloat,
        SymInt as SymInt,
        sym_float as sym_float,
        sym_int as sym_int,
        sym_ite as sym_ite,
        sym_max as sym_max,
        sym_min as sym_min,
        sym_not as sym_not,
        sym_sum as sym_sum,
    )
    from pyburn.amp import (
        GradScaler as GradScaler,
        autocast as autocast,
        autocast_decrement_nesting as autocast_decrement_nesting,
        autocast_increment_nesting as autocast_increment_nesting,
        clear_autocast_cache as clear_autocast_cache,
        get_autocast_cpu_dtype as get_autocast_cpu_dtype,
        get_autocast_dtype as get_autocast_dtype,
        get_autocast_gpu_dtype as get_autocast_gpu_dtype,
        is_autocast_available as is_autocast_available,
        is_autocast_cache_enabled as is_autocast_cache_enabled,
        is_autocast_cpu_enabled as is_autocast_cpu_enabled,
        is_autocast_enabled as is_autocast_enabled,
        set_autocast_cache_enabled as set_autocast_cache_enabled,
        set_autocast_cpu_dtype as set_autocast_cpu_dtype,
        set_autocast_cpu_enabled as set_autocast_cpu_enabled,
        set_autocast_dtype as set_autocast_dtype,
        set_autocast_enabled as set_autocast_enabled,
        set_autocast_gpu_dtype as set_autocast_gpu_dtype,
    )
    from pyburn.autograd.engine import (
        is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled,
        is_anomaly_enabled as is_anomaly_enabled,
        set_anomaly_enabled as set_anomaly_enabled,
    )
    from pyburn.compiler import (
        compile as compile,
    )
    from pyburn.cuda import (
        Event as Event,
        OutOfMemoryError as OutOfMemoryError,
        Stream as Stream,
    )
    from pyburn.func import (
        vmap as vmap,
    )
    from pyburn.futures import (
        Future as Future,
    )
    from pyburn.jit import (
        ScriptFunction as ScriptFunction,
        ScriptModule as ScriptModule,
        fork as fork,
        wait as wait,
    )
    from pyburn.nn.functional import (
        cosine_similarity as cosine_similarity,
        pairwise_distance as pairwise_distance,
        pdist as pdist,
    )
    from pyburn.nn.functional.composed import (
        native_channel_shuffle as native_channel_shuffle,
    )
    from pyburn.nn.native import (
        affine_grid_generator as affine_grid_generator,
        alpha_dropout as alpha_dropout,
        alpha_dropout_ as alpha_dropout_,
        binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
        cosine_embedding_loss as cosine_embedding_loss,
        ctc_loss as ctc_loss,
        dropout as dropout,
        dropout_ as dropout_,
        feature_alpha_dropout as feature_alpha_dropout,
        feature_dropout as feature_dropout,
        gru as gru,
        gru_cell as gru_cell,
        hinge_embedding_loss as hinge_embedding_loss,
        kl_div as kl_div,
        lstm as lstm,
        lstm_cell as lstm_cell,
        margin_ranking_loss as margin_ranking_loss,
        poisson_nll_loss as poisson_nll_loss,
        rnn_relu as rnn_relu,
        rnn_relu_cell as rnn_relu_cell,
        rnn_tanh as rnn_tanh,
        rnn_tanh_cell as rnn_tanh_cell,
        triplet_margin_loss as triplet_margin_loss,
    )
    from pyburn.nn.graph import plot as plot
    from pyburn.nn.summary import summary as summary
    from pyburn.nn.utils.weight_norm import (
        norm_except_dim as norm_except_dim,
    )
    from pyburn.serialization import (
        load as load,
        save as save,
    )
    from pyburn.sparse import (
        sparse_coo_tensor as sparse_coo_tensor,
        sparse_csr_tensor as sparse_csr_tensor,
        spmm as spmm,
    )
    from pyburn.special import (
        i0 as i0,
        igamma as igamma,
        igammac as igammac,
        mvlgamma as mvlgamma,
    )
    from pyburn._C import (
        AnyType as AnyType,
        BoolType as BoolType,
        ClassType as ClassType,
        ComplexType as ComplexType,
        DeviceObjType as DeviceObjType,
        DictType as DictType,
        EnumType as EnumType,
        FloatType as FloatType,
        FutureType as FutureType,
        IntType as IntType,
        InterfaceType as InterfaceType,
        ListType as ListType,
        NoneType as NoneType,
        NumberType as NumberType,
        OptionalType as OptionalType,
        PyTorchFileReader as PyTorchFileReader,
        PyTorchFileWriter as PyTorchFileWriter,
        StreamObjType as StreamObjType,
        StringType as StringType,
        TupleType as TupleType,
        Type as Type,
        UnionType as UnionType,
    )
    from pyburn.distributions._gamma_sampling import (
        _sample_dirichlet as _sample_dirichlet,
        _standard_gamma as _standard_gamma,
    )
    from pyburn._aten import (
        convolution as convolution,
    )
    from pyburn._checks import TensorType as TensorType
    from pyburn._utils import _assert as _assert
    from pyburn._checks import _assert_async as _assert_async
    from pyburn._checks import _check as _check
    from pyburn._checks import _check_index as _check_index
    from pyburn._checks import _check_is_size as _check_is_size
    from pyburn._checks import _check_not_implemented as _check_not_implemented
    from pyburn._checks import _check_tensor_all as _check_tensor_all
    from pyburn._checks import _check_type as _check_type
    from pyburn._checks import _check_value as _check_value
    from pyburn._checks import _check_with as _check_with
    from pyburn.sparse.indices import _convert_indices_from_coo_to_csr as _convert_indices_from_coo_to_csr
    from pyburn.sparse.indices import _convert_indices_from_csr_to_coo as _convert_indices_from_csr_to_coo
    from pyburn._checks import _shape_as_tensor as _shape_as_tensor
    from pyburn._checks import _softmax_backward_data as _softmax_backward_data
    from pyburn._checks import get_device_module as get_device_module

# `pyburn.tensor` is a module that can be called: it replaces the function of the same name.
_importlib.import_module("pyburn.tensor")

_os.register_at_fork(before=_core._before_fork, after_in_parent=_core._after_fork, after_in_child=_core._after_fork)
_os.register_at_fork(after_in_child=_core._after_fork_in_child)

__version__ = "0.1.0"

# Loaded when first named, so that a program that only computes does not pay for layers and optimizers; type checkers
# find all of them in the list above.
_LAZY = (
    "_C",
    "_VF",
    "__config__",
    "_custom_ops",
    "_dynamo",
    "_inductor",
    "_jit_internal",
    "_ops",
    "_prims_common",
    "_six",
    "_utils",
    "accelerator",
    "amp",
    "ao",
    "backends",
    "compat",
    "compiler",
    "cpu",
    "data",
    "distributed",
    "distributions",
    "export",
    "fft",
    "func",
    "functional",
    "futures",
    "fx",
    "hub",
    "jit",
    "keras",
    "library",
    "linalg",
    "masked",
    "mps",
    "multiprocessing",
    "nested",
    "nn",
    "onnx",
    "optim",
    "overrides",
    "profiler",
    "quantization",
    "quasirandom",
    "safetensors",
    "serialization",
    "signal",
    "sparse",
    "special",
    "storage",
    "testing",
    "torch_version",
    "train",
    "types",
    "version",
    "vision",
    "xpu",
)
_LAZY_NAMES = {
    "AnyType": "_C",
    "BoolType": "_C",
    "ClassType": "_C",
    "ComplexType": "_C",
    "DeviceObjType": "_C",
    "DictType": "_C",
    "EnumType": "_C",
    "FloatType": "_C",
    "FutureType": "_C",
    "IntType": "_C",
    "InterfaceType": "_C",
    "ListType": "_C",
    "NoneType": "_C",
    "NumberType": "_C",
    "OptionalType": "_C",
    "PyTorchFileReader": "_C",
    "PyTorchFileWriter": "_C",
    "StreamObjType": "_C",
    "StringType": "_C",
    "TupleType": "_C",
    "Type": "_C",
    "UnionType": "_C",
    "Event": "cuda",
    "Future": "futures",
    "GradScaler": "amp",
    "OutOfMemoryError": "cuda",
    "ScriptFunction": "jit",
    "ScriptModule": "jit",
    "Stream": "cuda",
    "SymBool": "_symbols",
    "SymFloat": "_symbols",
    "SymInt": "_symbols",
    "TensorType": "_checks",
    "_assert": "_utils",
    "_sample_dirichlet": "distributions._gamma_sampling",
    "_standard_gamma": "distributions._gamma_sampling",
    "convolution": "_aten",
    "_assert_async": "_checks",
    "_check": "_checks",
    "_check_index": "_checks",
    "_check_is_size": "_checks",
    "_check_not_implemented": "_checks",
    "_check_tensor_all": "_checks",
    "_check_type": "_checks",
    "_check_value": "_checks",
    "_check_with": "_checks",
    "_convert_indices_from_coo_to_csr": "sparse.indices",
    "_convert_indices_from_csr_to_coo": "sparse.indices",
    "_shape_as_tensor": "_checks",
    "_softmax_backward_data": "_checks",
    "affine_grid_generator": "nn.native",
    "alpha_dropout": "nn.native",
    "alpha_dropout_": "nn.native",
    "autocast": "amp",
    "autocast_decrement_nesting": "amp",
    "autocast_increment_nesting": "amp",
    "binary_cross_entropy_with_logits": "nn.native",
    "clear_autocast_cache": "amp",
    "compile": "compiler",
    "cosine_embedding_loss": "nn.native",
    "cosine_similarity": "nn.functional",
    "ctc_loss": "nn.native",
    "dropout": "nn.native",
    "dropout_": "nn.native",
    "feature_alpha_dropout": "nn.native",
    "feature_dropout": "nn.native",
    "fork": "jit",
    "get_autocast_cpu_dtype": "amp",
    "get_autocast_dtype": "amp",
    "get_autocast_gpu_dtype": "amp",
    "get_device_module": "_checks",
    "gru": "nn.native",
    "gru_cell": "nn.native",
    "hinge_embedding_loss": "nn.native",
    "i0": "special",
    "igamma": "special",
    "igammac": "special",
    "is_anomaly_check_nan_enabled": "autograd.engine",
    "is_anomaly_enabled": "autograd.engine",
    "is_autocast_available": "amp",
    "is_autocast_cache_enabled": "amp",
    "is_autocast_cpu_enabled": "amp",
    "is_autocast_enabled": "amp",
    "kl_div": "nn.native",
    "load": "serialization",
    "lstm": "nn.native",
    "lstm_cell": "nn.native",
    "margin_ranking_loss": "nn.native",
    "mvlgamma": "special",
    "native_channel_shuffle": "nn.functional.composed",
    "norm_except_dim": "nn.utils.weight_norm",
    "pairwise_distance": "nn.functional",
    "pdist": "nn.functional",
    "plot": "nn.graph",
    "poisson_nll_loss": "nn.native",
    "rnn_relu": "nn.native",
    "rnn_relu_cell": "nn.native",
    "rnn_tanh": "nn.native",
    "rnn_tanh_cell": "nn.native",
    "save": "serialization",
    "set_anomaly_enabled": "autograd.engine",
    "set_autocast_cache_enabled": "amp",
    "set_autocast_cpu_dtype": "amp",
    "set_autocast_cpu_enabled": "amp",
    "set_autocast_dtype": "amp",
    "set_autocast_enabled": "amp",
    "set_autocast_gpu_dtype": "amp",
    "sparse_coo_tensor": "sparse",
    "sparse_csr_tensor": "sparse",
    "spmm": "sparse",
    "summary": "nn.summary",
    "sym_float": "_symbols",
    "sym_int": "_symbols",
    "sym_ite": "_symbols",
    "sym_max": "_symbols",
    "sym_min": "_symbols",
    "sym_not": "_symbols",
    "sym_sum": "_symbols",
    "triplet_margin_loss": "nn.native",
    "vmap": "func",
    "wait": "jit",
}

if not _typing.TYPE_CHECKING:
    __all__ = [name for name in list(globals()) if not name.startswith("_")]
    __all__ += [*_LAZY, *_LAZY_NAMES]

    def __getattr__(name: str) -> object:
        if name in _LAZY:
            return _importlib.import_module(f"pyburn.{name}")
        if name in _LAZY_NAMES:
            found: object = getattr(_importlib.import_module(f"pyburn.{_LAZY_NAMES[name]}"), name)
            globals()[name] = found
            return found
        if name.startswith("_foreach_"):
            return getattr(_importlib.import_module("pyburn.ops.foreach"), name)
        if name == "_addmm_activation":
            return getattr(_importlib.import_module("pyburn.ops.linalg"), name)
        if name in ("_int_mm", "_weight_int8pack_mm"):
            return getattr(_importlib.import_module("pyburn.ops.int8"), name)
        raise AttributeError(f"module 'pyburn' has no attribute '{name}'")
