"""torch's functions by family; each family's `METHODS` are attached to Tensor here."""

import importlib.util as _importlib_util
import typing as _typing

from pyburn._core import Tensor as _Tensor
from pyburn.ops import activation as _activation
from pyburn.ops import arithmetic as _arithmetic
from pyburn.ops import bitwise as _bitwise
from pyburn.ops import compare as _compare
from pyburn.ops import complex as _complex
from pyburn.ops import conv as _conv
from pyburn.ops import copies as _copies
from pyburn.ops import creation as _creation
from pyburn.ops import cumulative as _cumulative
from pyburn.ops import differences as _differences
from pyburn.ops import decompositions as _decompositions
from pyburn.ops import distance as _distance
from pyburn.ops import eigenpairs as _eigenpairs
from pyburn.ops import einsum as _einsum
from pyburn.ops import grid as _grid
from pyburn.ops import indexing as _indexing
from pyburn.ops import inplace as _inplace
from pyburn.ops import interop as _interop
from pyburn.ops import joining as _joining
from pyburn.ops import linalg as _linalg
from pyburn.ops import lowrank as _lowrank
from pyburn.ops import moments as _moments
from pyburn.ops import movement as _movement
from pyburn.ops import norm as _norm
from pyburn.ops import padding as _padding
from pyburn.ops import pool as _pool
from pyburn.ops import query as _query
from pyburn.ops import random as _random
from pyburn.ops import ranges as _ranges
from pyburn.ops import reduce as _reduce
from pyburn.ops import resize as _resize
from pyburn.ops import search as _search
from pyburn.ops import segments as _segments
from pyburn.ops import sorting as _sorting
from pyburn.ops import spectral as _spectral
from pyburn.ops import trigonometry as _trigonometry
from pyburn.ops import unary as _unary
from pyburn.ops import windows as _windows
from pyburn.ops._arguments import publish as _publish
from pyburn.ops._methods import attach as _attach
from pyburn.ops._methods import numpy_names as _numpy_names
from pyburn.ops.activation import *
from pyburn.ops.arithmetic import *
from pyburn.ops.bitwise import *
from pyburn.ops.compare import *
from pyburn.ops.complex import *
from pyburn.ops.conv import *
from pyburn.ops.copies import *
from pyburn.ops.creation import *
from pyburn.ops.cumulative import *
from pyburn.ops.differences import *
from pyburn.ops.decompositions import *
from pyburn.ops.distance import *
from pyburn.ops.eigenpairs import *
from pyburn.ops.einsum import *
from pyburn.ops.grid import *
from pyburn.ops.indexing import *
from pyburn.ops.inplace import *
from pyburn.ops.interop import *
from pyburn.ops.joining import *
from pyburn.ops.linalg import *
from pyburn.ops.lowrank import *
from pyburn.ops.moments import *
from pyburn.ops.movement import *
from pyburn.ops.norm import *
from pyburn.ops.padding import *
from pyburn.ops.pool import *
from pyburn.ops.query import *
from pyburn.ops.random import *
from pyburn.ops.ranges import *
from pyburn.ops.reduce import *
from pyburn.ops.resize import *
from pyburn.ops.search import *
from pyburn.ops.segments import *
from pyburn.ops.sorting import *
from pyburn.ops.spectral import *
from pyburn.ops.trigonometry import *
from pyburn.ops.unary import *
from pyburn.ops.windows import *

# A family adds itself here: its import above, its names and its methods below.
_FAMILIES = (
    _activation,
    _arithmetic,
    _bitwise,
    _compare,
    _complex,
    _conv,
    _copies,
    _creation,
    _cumulative,
    _differences,
    _decompositions,
    _distance,
    _eigenpairs,
    _einsum,
    _grid,
    _indexing,
    _inplace,
    _interop,
    _joining,
    _linalg,
    _lowrank,
    _moments,
    _movement,
    _norm,
    _padding,
    _pool,
    _query,
    _random,
    _ranges,
    _reduce,
    _resize,
    _search,
    _segments,
    _sorting,
    _spectral,
    _trigonometry,
    _unary,
    _windows,
)

if not _typing.TYPE_CHECKING:  # which takes a star import for a list of names
    __all__ = [name for family in _FAMILIES for name in family.__all__]

for _family in _FAMILIES:
    _attach(_family)

# numpy's `axis`, `keepdims` and `x`, for the functions with which programs say them; linalg and fft have own lists.
_NUMPY = (
    "all amax amin aminmax any argmax argmin argsort cat chunk count_nonzero cross cummax cummin "
    "cumprod cumprod_ cumsum cumsum_ cumulative_trapezoid diff gather gradient index_add index_fill index_select "
    "kthvalue log_softmax logcumsumexp logsumexp max mean median min mode nanmean nanmedian nanquantile nansum prod "
    "quantile renorm repeat_interleave scatter slice_scatter softmax sort squeeze squeeze_ stack std std_mean sum "
    "take_along_dim tensor_split topk trapezoid trapz unbind unique_consecutive unsqueeze unsqueeze_ var var_mean"
)
for _name in _NUMPY.split():
    if _name in globals():
        globals()[_name] = _numpy_names(globals()[_name])
    # These three methods are called too often to pay for a name that hardly anyone uses.
    if hasattr(_Tensor, _name) and _name not in ("gather", "index_select", "unsqueeze"):
        setattr(_Tensor, _name, _numpy_names(getattr(_Tensor, _name)))

# Programs call these by the thousand, and they do less than the call of another function costs.
_HOT = ("add", "bmm", "clamp", "div", "matmul", "mm", "mul", "permute", "pow", "reshape", "sub", "transpose")
_publish(globals(), [name for family in _FAMILIES for name in family.__all__], but=_HOT)

if not _typing.TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        # torch's own `torch.ops`: operators by namespace, each there as soon as it is asked for.
        # Test runners ask every module for their hooks, which are no namespaces.
        hook = name.lower().startswith(("setup", "teardown", "pytest"))
        if name.startswith("__") or hook or _importlib_util.find_spec(f"pyburn.ops.{name}") is not None:
            raise AttributeError(f"module 'pyburn.ops' has no attribute '{name}'")
        from pyburn import _ops

        return getattr(_ops, name) if name in ("load_library", "loaded_libraries") else _ops.namespace(name)
