"""Private names of torch that other libraries borrow: they do what torch's do."""

from collections import namedtuple

import pyburn
import pyburn._C
import pyburn._utils
import pyburn.utils._foreach_utils as our_foreach
import pyburn.utils._pytree as ours
import pytest
import torch
import torch.utils._foreach_utils as torch_foreach
import torch.utils._pytree as theirs
from pyburn import _printing
from pyburn.utils._contextlib import _DecoratorContextManager
from pyburn.utils._python_dispatch import is_traceable_wrapper_subclass
from pyburn.utils.data._utils.collate import default_collate, default_collate_fn_map

from oracle import check_op

Point = namedtuple("Point", "x y")


@pytest.mark.parametrize(
    "run",
    [
        lambda lib, x: lib.ops.aten._to_copy.default(x, dtype=lib.float64),
        lambda lib, x: lib.ops.aten.alias.default(x) * 2,
        lambda lib, x: lib.ops.aten.index.Tensor(x, [lib.tensor([1, 0])]),
        lambda lib, x: lib.ops.aten.index.Tensor(x, [None, lib.tensor([1, 0])]),
        lambda lib, x: lib.ops.aten.slice.Tensor(x, 1, 1),
        lambda lib, x: lib.ops.aten.slice.Tensor(x, -2, 0, 2, 2),
        lambda lib, x: lib.ops.aten._unsafe_view.default(x, [3, 2]),
        lambda lib, x: lib.ops.aten._softmax.default(x, -1, False),
        lambda lib, x: lib.ops.aten._log_softmax(x, 0, False),
        lambda lib, x: lib.ops.aten.sym_size.int(x, 1) * x,
        lambda lib, x: lib.convolution(x[None], lib.ones(1, 2, 2), None, [1], [1], [1], False, [0], 1),
        lambda lib, x: lib.ops.aten.convolution.default(x[None], x[:, :, None], None, [2], [0], [1], True, [0], 1),
    ],
)
def test_aten_operators_by_their_own_names(run):
    check_op(run, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def test_aten_copies_and_views():
    x = pyburn.ones(2)
    copy = pyburn.ops.aten._to_copy.default(x)
    copy.add_(1)
    pyburn.ops.aten.alias.default(x).mul_(3)
    assert (x.tolist(), copy.tolist()) == ([3.0, 3.0], [2.0, 2.0])


@pytest.mark.parametrize("rows", [[0, 0, 2], [], [1, 1, 1, 3]])
def test_rows_by_number_and_by_beginning(rows):
    both = [lib.tensor(rows, dtype=lib.int64) for lib in (torch, pyburn)]
    for flag in (False, True):
        expected, found = (
            lib._convert_indices_from_coo_to_csr(x, 4, out_int32=flag)
            for lib, x in zip((torch, pyburn), both, strict=True)
        )
        assert (found.tolist(), str(found.dtype)[-5:]) == (expected.tolist(), str(expected.dtype)[-5:])
        for transpose in (False, True):
            back = [
                lib._convert_indices_from_csr_to_coo(begin, x, out_int32=flag, transpose=transpose).tolist()
                for lib, begin, x in zip((torch, pyburn), (expected, found), both)
            ]
            assert back[0] == back[1]


def test_the_arguments_of_to():
    parse, like = pyburn._C._nn._parse_to, torch._C._nn._parse_to
    assert parse("cpu") == (pyburn.device("cpu"), None, False, None)
    assert parse(pyburn.float64, True) == (None, pyburn.float64, True, None)
    assert parse(device="cpu", dtype=pyburn.float16, non_blocking=True)[1:3] == (pyburn.float16, True)
    assert [part is None for part in parse("cpu")] == [part is None for part in like("cpu")]
    assert pyburn._C._nn.relu is pyburn.nn.functional.relu
    assert pyburn._C._LinAlgError is pyburn.linalg.LinAlgError


def test_containers_are_known_by_class():
    for value in ([1], (1, 2), {"a": 1}, Point(1, 2), 3, "text"):
        assert ours._get_node_type(value) == theirs._get_node_type(value)
        known = ours._get_node_type(value) in ours.SUPPORTED_NODES
        assert known == (theirs._get_node_type(value) in theirs.SUPPORTED_NODES)
        assert ours._is_leaf(value) is not known
    children, context = ours.SUPPORTED_NODES[dict].flatten_fn({"a": 1})
    assert ours.SUPPORTED_NODES[dict].unflatten_fn(children, context) == {"a": 1}
    assert ours.tree_map(lambda x: x + 1, Point(1, [2])) == Point(2, [3])


def test_samples_of_other_classes_are_joined(monkeypatch):
    def join(batch, *, collate_fn_map=None):
        return Point(default_collate([p.x for p in batch]), len(collate_fn_map))

    monkeypatch.setitem(default_collate_fn_map, Point, join)
    joined = default_collate([Point(1, 0), Point(2, 0)])
    assert joined.x.tolist() == [1, 2]
    assert joined.y == len(default_collate_fn_map)


def test_texts_of_tensors():
    values = [[1.5, 2.0], [3.0, 4.25]]
    ours_, theirs_ = pyburn.tensor(values), torch.tensor(values)
    assert _printing._tensor_str(ours_, 3) == torch._tensor_str._tensor_str(theirs_, 3)
    for suffixes in ([], ["a=1"], ["x" * 60, "y" * 40]):
        for newline in (False, True):
            args = ("Index([1, 2]", suffixes, 6, newline)
            assert _printing._add_suffixes(*args) == torch._tensor_str._add_suffixes(*args)
    assert _printing.PRINT_OPTS.threshold == torch._tensor_str.PRINT_OPTS.threshold


def test_small_ones():
    assert issubclass(pyburn.jit.TracerWarning, Warning)
    assert issubclass(pyburn.jit.Error, RuntimeError)
    assert not isinstance(pyburn.nn.Linear(1, 1), pyburn._dynamo.OptimizedModule)
    assert pyburn._utils._element_size(pyburn.float64) == torch._utils._element_size(torch.float64)
    pyburn._assert(True, "fine")
    with pytest.raises(AssertionError, match="broken"):
        pyburn._assert(False, "broken")
    assert pyburn.serialization.DEFAULT_PROTOCOL == torch.serialization.DEFAULT_PROTOCOL


def test_lists_of_tensors_by_dtype():
    for lib, grouped in ((torch, torch_foreach), (pyburn, our_foreach)):
        lists = [[lib.ones(1), lib.ones(2).double(), lib.ones(3)], [None, lib.zeros(2), None], []]
        found = grouped._group_tensors_by_device_and_dtype(lists, with_indices=True)
        named = {str(key[1]).rpartition(".")[2]: value for key, value in found.items()}
        assert sorted(named) == ["float32", "float64"]
        (first, second, third), places = named["float32"]
        assert (
            [part.shape[0] for part in first] == [1, 3] and second == [None, None] and third == [] and places == [0, 2]
        )
        assert grouped._has_foreach_support(lists[0], lib.device("cpu"))
        assert not grouped._has_foreach_support([lib.nn.Parameter(lib.ones(1))], lib.device("cpu"))
    assert (
        our_foreach._group_tensors_by_device_and_dtype([[pyburn.ones(1)]])[pyburn.device("cpu"), pyburn.float32][1]
        == []
    )


def test_names_of_the_binary_that_lightning_and_tensordict_import():
    assert isinstance(pyburn.Tensor, pyburn._C._TensorMeta)
    assert pyburn._C._functorch.is_batchedtensor(pyburn.ones(1)) is False
    assert pyburn._C._functorch.maybe_get_level(pyburn.ones(1)) == torch._C._functorch.maybe_get_level(torch.ones(1))
    operation = pyburn.distributed.ReduceOp
    assert isinstance(operation.SUM, operation.RedOpType) and int(operation.MAX) == int(torch.distributed.ReduceOp.MAX)


def test_switches_can_be_set_in_the_context_that_monai_opens():
    for lib in (torch, pyburn):
        before = lib.backends.cudnn.deterministic
        with lib.backends.__allow_nonbracketed_mutation():
            lib.backends.cudnn.deterministic = not before
            assert lib.backends.cudnn.deterministic is (not before) and lib.backends.flags_frozen() is False
            lib.backends.cudnn.deterministic = before


def test_contexts_that_decorate():
    seen = []

    class Log(_DecoratorContextManager):
        def __enter__(self):
            seen.append("in")

        def __exit__(self, *error):
            seen.append("out")

    @Log()
    def double(x):
        seen.append("run")
        return 2 * x

    @Log()
    def count():
        yield 1
        yield 2

    assert double(4) == 8 and seen == ["in", "run", "out"]
    assert list(count()) == [1, 2] and seen.count("in") == seen.count("out") == 4


def test_small_names_of_torch():
    tree = {"a": [1, (2, 3)], "b": 4}
    assert list(ours.tree_iter(tree)) == list(theirs.tree_iter(tree)) == [1, 2, 3, 4]
    assert pyburn.nn.module._EXTRA_STATE_KEY_SUFFIX == torch.nn.modules.module._EXTRA_STATE_KEY_SUFFIX
    normal = pyburn.distributions.Normal
    assert (normal, normal) in pyburn.distributions.kl._KL_REGISTRY
    assert isinstance(pyburn.nn.UninitializedParameter(), pyburn.nn.parameter.UninitializedTensorMixin)
    assert not is_traceable_wrapper_subclass(pyburn.nn.Parameter(pyburn.ones(1)))
    for lib in (torch, pyburn):
        lib.manual_seed(3)
        filled = lib.nn.init._no_grad_uniform_(lib.nn.Parameter(lib.empty(4)), 1.0, 2.0)
        assert filled.requires_grad and filled.is_leaf and 1.0 <= filled.min().item() < 2.0
        assert lib.nn.init._no_grad_normal_(lib.empty(2), 1.0, 0.0).tolist() == [1.0, 1.0]


def test_joining_samples_of_one_kind():
    for lib, collate in ((torch, torch.utils.data._utils.collate), (pyburn, pyburn.utils.data._utils.collate)):
        joined = collate.collate_tensor_fn([lib.ones(2), lib.zeros(2)])
        assert joined.tolist() == [[1.0, 1.0], [0.0, 0.0]]
        assert collate.collate_float_fn([1.5, 2.5]).dtype == lib.float64
        assert collate.collate_int_fn([1, 2]).tolist() == [1, 2] and collate.collate_str_fn(["a"]) == ["a"]


def test_types_of_compiled_programs_can_be_named():
    for name in ("DeviceObjType", "FloatType", "StringType", "ListType"):
        assert isinstance(getattr(torch, name), type) and isinstance(getattr(pyburn, name), type)
        assert (str | getattr(pyburn, name)) == (getattr(pyburn, name) | str)
