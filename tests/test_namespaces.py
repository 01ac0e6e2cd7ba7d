"""torch's small namespaces: what they answer, what they keep, and what raises when it is really used."""

from __future__ import annotations

import importlib
import json
import os
from collections import OrderedDict, namedtuple

import pyburn
import pytest
import torch

MODULES = [
    *("_inductor", "_jit_internal", "_utils", "accelerator", "ao.quantization", "distributed.elastic"),
    *("distributed.fsdp", "distributed.optim", "nn.common_types", "quantization", "utils._python_dispatch"),
    *("utils.collect_env", "utils.hooks"),
    *("__config__", "_dynamo", "amp", "autograd.profiler", "backends.cuda", "backends.cudnn", "backends.mkl"),
    *("backends.mkldnn", "backends.mps", "backends.openmp", "backends.opt_einsum", "compiler", "cpu", "cpu.amp"),
    *("cuda.amp", "cuda.memory", "cuda.nvtx", "cuda.random", "distributed.rpc", "distributed.tensor", "export", "func"),
    *("futures", "fx", "fx.node", "hub", "jit", "jit.annotations", "library", "mps", "multiprocessing", "nested"),
    *("onnx", "overrides", "profiler", "random", "serialization", "storage", "testing", "types", "utils._pytree"),
    *("utils.benchmark", "utils.cpp_extension", "utils.dlpack", "utils.model_zoo", "version", "xpu"),
]


@pytest.mark.parametrize("name", MODULES)
def test_modules_are_found_by_name_and_by_attribute(name):
    module = importlib.import_module(f"pyburn.{name}")
    found = pyburn
    for part in name.split("."):
        found = getattr(found, part)
    assert found is module


def test_the_names_of_the_mission():
    """M15: six modules under these names, of which `tensor` is torch's function too."""
    for name in ("module", "nn", "lr_scheduler", "optim", "tensor", "train"):
        assert importlib.import_module(f"pyburn.{name}") is getattr(pyburn, name)
    assert pyburn.module.Module is pyburn.nn.Module
    assert pyburn.lr_scheduler.StepLR is pyburn.optim.lr_scheduler.StepLR
    assert pyburn.tensor([1, 2]).tolist() == [1, 2]
    assert pyburn.tensor.Tensor is pyburn.tensor.TensorPy is pyburn.Tensor
    assert pyburn.tensor.Distribution is pyburn.Distribution
    assert pyburn.train.Learner.__module__ == "pyburn.train.learner"


ANSWERS = [
    "t.cuda.is_available()",
    "t.cuda.device_count()",
    "t.cuda.memory_allocated()",
    "t.cuda.get_rng_state_all()",
    "t.cuda.is_initialized()",
    "t.backends.cudnn.enabled",
    "t.backends.cudnn.benchmark",
    "t.backends.cudnn.deterministic",
    "t.backends.cuda.matmul.allow_tf32",
    "t.backends.mps.is_available()",
    "t.xpu.is_available()",
    "t.mps.is_available()" if hasattr(torch.mps, "is_available") else "0",
    "t.cpu.is_available()",
    "t.jit.is_scripting()",
    "t.jit.is_tracing()",
    "t.compiler.is_compiling()",
    "t.are_deterministic_algorithms_enabled()",
    "t.is_deterministic_algorithms_warn_only_enabled()",
    "t.get_deterministic_debug_mode()",
    "t.get_float32_matmul_precision()",
    "t.is_warn_always_enabled()",
    "(t.pi, t.e, t.inf, t.newaxis)",
    "t.typename(1)",
    "t.typename([])",
    "t.overrides.has_torch_function((1,))",
    "t.onnx.is_in_onnx_export()",
    "t.distributed.is_initialized()",
    "t.ones(1).is_xpu",
    "t.ones(1).name",
    "t.ones(2).new(3).shape[0]",
    "t.ones(2).new([1, 2]).tolist()",
    "t.ones(2).new((2, 3)).tolist()",
    "isinstance(t.ones(1), t.autograd.Variable)",
    "isinstance(3, t.autograd.Variable)",
    "isinstance(t.ones(1), t.cuda.FloatTensor)",
    "t.autograd.Variable(t.ones(2), requires_grad=True).requires_grad",
    "t.autograd.Variable(t.ones(2, requires_grad=True) * 2).is_leaf",
    "type(t.ones(1).as_subclass(t.nn.Parameter)).__name__",
    "t.jit.annotate(int, 3)",
    "f'{t.tensor(3.14159):.2f} {t.tensor(7):>4d}'",
    "[u.tolist() for u in reversed(t.arange(3))]",
    "t.arange(4.0).reshape(2, 2).t().apply_(lambda n: n + 1).tolist()",
    "t.arange(3).map_(t.ones(3, dtype=t.int64), lambda a, b: a - b).tolist()",
    "(t.is_signed(t.ones(1)), t.is_same_size(t.ones(2), t.ones(2)), t.is_inference(t.ones(1)))",
    "t.detach(t.ones(1, requires_grad=True)).requires_grad",
    "t.cosine_similarity(t.ones(1, 2), t.ones(1, 2)).shape[0]",
    "issubclass(t.OutOfMemoryError, RuntimeError)",
    "t.accelerator.is_available()",
    "t.accelerator.device_count()",
    "t._utils._flatten_dense_tensors([t.ones(1, 2), t.zeros(1)]).tolist()",
    "[u.tolist() for u in t._utils._unflatten_dense_tensors(t.arange(3), [t.ones(1, 2), t.zeros(1)])]",
    "t.ao.quantization.QuantStub()(t.ones(2)).tolist()",
    "t.jit.script(max)(1, 2) if t.__name__ == 'pyburn' else 2",
]


@pytest.mark.parametrize("expression", ANSWERS)
def test_answers_are_torchs_without_a_gpu(expression):
    assert eval(expression, {"t": pyburn}) == eval(expression, {"t": torch})


RAISES = [
    "t.cuda.current_device()",
    "t.cuda.get_device_name()",
    "t.cuda.get_device_properties(0)",
    "t.cuda.FloatTensor(2)",
    "t.jit.load('x.pt')",
    "t.jit.save(None, 'x.pt')",
    "t.onnx.export(None, (), 'x.onnx')",
    "t.export.export(None, ())",
    "t.distributed.rpc.init_rpc('a')",
    "t.distributed.tensor.DTensor()",
    "t.utils.cpp_extension.CUDAExtension('a', [])",
    "t.utils.cpp_extension.load('a', [])",
    "t.hub.load('pytorch/vision', 'resnet18')",
    "t.hub.load_state_dict_from_url('https://example.com/no_such_model.pth')",
    "t.hub.download_url_to_file('https://example.com/x', '/tmp/x')",
    "t.distributed.fsdp.FullyShardedDataParallel(None)",
    "t.distributed.optim.ZeroRedundancyOptimizer([])",
    "t.ao.quantization.prepare(None)",
    "t.utils._python_dispatch.TorchDispatchMode()",
]


@pytest.mark.parametrize("expression", RAISES)
def test_absent_parts_say_why_and_what_to_do(expression):
    with pytest.raises(RuntimeError, match="; "):
        eval(expression, {"t": pyburn})


def test_marks_for_compilers_leave_functions_alone():
    def double(x):
        return x * 2

    for mark in (
        pyburn.jit.script,
        pyburn.jit.ignore,
        pyburn.jit.unused,
        pyburn.jit.export,
        pyburn.jit.script_method,
        pyburn.jit._overload_method,
        pyburn.compile,
        pyburn.compile(mode="max-autotune"),
        pyburn.compiler.disable,
        pyburn._dynamo.disable,
        pyburn.jit.ignore(drop=True),
    ):
        assert mark(double) is double
    with pytest.raises(RuntimeError):
        pyburn.compile(double, mode="default", options={"a": 1})


def test_switches_are_kept():
    for lib in (torch, pyburn):
        with pytest.raises(TypeError):
            lib.use_deterministic_algorithms("yes")
    pyburn.use_deterministic_algorithms(True, warn_only=True)
    assert pyburn.are_deterministic_algorithms_enabled() and pyburn.is_deterministic_algorithms_warn_only_enabled()
    before = dict(os.environ)
    pyburn.set_deterministic_debug_mode("default")
    assert not pyburn.are_deterministic_algorithms_enabled()
    assert set(before) - set(os.environ) == {"BURN_FUSION_MAX_EXPLORATIONS"}  # burn may merge operations again
    pyburn.set_float32_matmul_precision("high")
    assert pyburn.get_float32_matmul_precision() == "high"
    pyburn.set_float32_matmul_precision("highest")
    with pytest.raises(RuntimeError):
        pyburn.set_float32_matmul_precision("low")
    pyburn.backends.cudnn.benchmark = True
    assert pyburn.backends.cudnn.benchmark is True
    pyburn.backends.cudnn.benchmark = False
    with pyburn.backends.cudnn.flags(deterministic=True):
        assert pyburn.backends.cudnn.deterministic
    assert not pyburn.backends.cudnn.deterministic


def test_default_tensor_type():
    pyburn.set_default_tensor_type(pyburn.DoubleTensor)
    assert pyburn.zeros(1).dtype == pyburn.float64
    pyburn.set_default_tensor_type("torch.FloatTensor")
    assert pyburn.zeros(1).dtype == pyburn.float32
    for wrong in ("torch.cuda.FloatTensor", 3, "torch.Nothing"):
        with pytest.raises(TypeError):
            pyburn.set_default_tensor_type(wrong)


def test_streams_and_events_without_cuda():
    stream, start, end = (
        pyburn.cuda.Stream(),
        pyburn.cuda.Event(enable_timing=True),
        pyburn.cuda.Event(enable_timing=True),
    )
    with pyburn.cuda.stream(stream):
        start.record()
        end.record()
    stream.wait_stream(pyburn.cuda.current_stream())
    assert start.elapsed_time(end) >= 0.0 and end.query()
    with pytest.raises(RuntimeError, match="enable_timing"):
        pyburn.cuda.Event().elapsed_time(end)


Point = namedtuple("Point", ["x", "y"])
TREES = [
    [1, (2, {"a": 3})],
    {"b": [1], "a": Point(2, 3)},
    OrderedDict(z=1, a=(2, None)),
    5,
    [],
]


@pytest.mark.parametrize("tree", TREES)
def test_trees_come_apart_as_in_torch(tree):
    ours, theirs = pyburn.utils._pytree, torch.utils._pytree
    leaves, spec = ours.tree_flatten(tree)
    assert leaves == theirs.tree_flatten(tree)[0]
    assert ours.tree_unflatten(leaves, spec) == tree and spec.num_leaves == len(leaves)
    assert ours.tree_map(str, tree) == theirs.tree_map(str, tree)
    with pytest.raises(ValueError, match="leaves"):
        ours.tree_unflatten([*leaves, 1], spec)


def test_a_class_can_become_a_container():
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    tree = pyburn.utils._pytree
    tree.register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda children, _: Pair(*children))
    assert tree.tree_map(lambda x: x + 1, Pair(1, [2])).b == [3]


PAIRS = [
    ("t.tensor([1.0])", "t.tensor([1.0 + 1e-7])"),
    ("t.tensor([1.0])", "t.tensor([1.1])"),
    ("t.tensor([1.0])", "t.tensor([1.0], dtype=t.float64)"),
    ("t.tensor([1, 2])", "t.tensor([1, 2])"),
    ("t.tensor([1, 2])", "t.tensor([1, 3])"),
    ("t.zeros(2)", "t.zeros(3)"),
    ("[t.zeros(2), 1.0]", "[t.zeros(2), 1.0]"),
    ("[t.zeros(2)]", "[t.zeros(2), t.zeros(2)]"),
    ("{'a': t.zeros(2)}", "{'a': t.ones(2)}"),
    ("{'a': t.zeros(2)}", "{'b': t.zeros(2)}"),
    ("t.tensor(float('nan'))", "t.tensor(float('nan'))"),
    ("t.ones(2, dtype=t.float16)", "t.ones(2, dtype=t.float16) * 1.0005"),
    ("1.0", "1.0 + 1e-9"),
    ("3", "4"),
]


@pytest.mark.parametrize(("actual", "expected"), PAIRS)
def test_assert_close_decides_as_torch(actual, expected):
    def outcome(library):
        values = (eval(actual, {"t": library}), eval(expected, {"t": library}))
        try:
            library.testing.assert_close(*values)
        except AssertionError as error:
            return str(error).partition("\n")[0].replace("torch.", "pyburn.")
        return None

    ours, theirs = outcome(pyburn), outcome(torch)
    assert (ours is None) == (theirs is None), (ours, theirs)


def test_assert_close_takes_tolerances_and_messages():
    with pytest.raises(AssertionError, match="own words"):
        pyburn.testing.assert_close(pyburn.zeros(1), pyburn.ones(1), msg="own words")
    pyburn.testing.assert_close(pyburn.zeros(1), pyburn.ones(1), rtol=0, atol=2)
    pyburn.testing.assert_allclose([1.0], pyburn.ones(1, dtype=pyburn.float64))
    with pytest.raises(ValueError, match="both"):
        pyburn.testing.assert_close(pyburn.zeros(1), pyburn.ones(1), rtol=1)


def test_hub_loads_from_a_folder(tmp_path, monkeypatch):
    (tmp_path / "hubconf.py").write_text(
        "import helper\ndef tiny(width=1):\n    '''A tiny model.'''\n    return helper.build(width)\n"
        "def _private():\n    pass\n"
    )
    (tmp_path / "helper.py").write_text("def build(width):\n    return ('model', width)\n")
    assert pyburn.hub.load(str(tmp_path), "tiny", source="local", width=3) == ("model", 3)
    assert "tiny" in pyburn.hub.list(str(tmp_path)) and "_private" not in pyburn.hub.list(str(tmp_path))
    assert pyburn.hub.help(str(tmp_path), "tiny") == "A tiny model."
    with pytest.raises(RuntimeError, match="Cannot find callable"):
        pyburn.hub.load(str(tmp_path), "huge", source="local")
    with pytest.raises(FileNotFoundError):
        pyburn.hub.load(str(tmp_path / "none"), "tiny", source="local")
    with pytest.raises(ValueError, match="Unknown source"):
        pyburn.hub.load(str(tmp_path), "tiny", source="moon")


def test_hub_finds_files_that_were_downloaded(tmp_path):
    torch.save({"w": torch.ones(2)}, tmp_path / "model-1234.pth")
    found = pyburn.hub.load_state_dict_from_url("https://example.com/model-1234.pth", model_dir=str(tmp_path))
    assert found["w"].tolist() == [1.0, 1.0]
    pyburn.hub.download_url_to_file(f"file://{tmp_path}/model-1234.pth", str(tmp_path / "copy.pth"))
    assert (tmp_path / "copy.pth").read_bytes() == (tmp_path / "model-1234.pth").read_bytes()
    with pytest.raises(RuntimeError, match="invalid hash"):
        pyburn.hub.download_url_to_file(f"file://{tmp_path}/copy.pth", str(tmp_path / "other.pth"), hash_prefix="zz")
    assert not (tmp_path / "other.pth").exists()


def test_profiles_measure_blocks_and_steps(tmp_path):
    ready = []
    plan = pyburn.profiler.schedule(wait=1, warmup=0, active=1, repeat=1)
    with pyburn.profiler.profile(schedule=plan, on_trace_ready=ready.append) as measured:
        for _ in range(3):
            with pyburn.profiler.record_function("work"):
                pyburn.ones(10).sum()
            measured.step()
    names = [event.name for event in measured.events()]
    assert names == ["work", "work", "ProfilerStep#1", "work", "profile"] and ready == [measured]
    assert "work" in measured.key_averages().table(sort_by="cpu_time_total")
    measured.export_chrome_trace(str(tmp_path / "trace.json"))
    assert len(json.loads((tmp_path / "trace.json").read_text())["traceEvents"]) == 5
    theirs = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    ours = pyburn.profiler.schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    assert [ours(step).name for step in range(12)] == [theirs(step).name for step in range(12)]


def test_a_profile_is_ready_after_its_step_and_timers_know_torch():
    for lib in (torch, pyburn):
        steps = []
        plan = lib.profiler.schedule(wait=1, warmup=1, active=2)
        ready = steps.append
        with lib.profiler.profile(
            activities=[lib.profiler.ProfilerActivity.CPU],
            schedule=plan,
            on_trace_ready=lambda p, r=ready: r(p.step_num),
        ) as measured:
            for _ in range(4):
                measured.step()
        assert steps[0] == 4
    assert pyburn.utils.benchmark.Timer("torch.ones(2) + x", globals={"x": 1}).timeit(2).number_per_run == 2


def test_timers_count_runs():
    measured = pyburn.utils.benchmark.Timer("x + 1", globals={"x": pyburn.ones(1)}).blocked_autorange(min_run_time=0.01)
    assert measured.median > 0 and measured.mean > 0 and measured.iqr >= 0


def test_custom_operators_with_a_gradient():
    @pyburn.library.custom_op("my::cube", mutates_args=())
    def cube(x: pyburn.Tensor) -> pyburn.Tensor:
        return x**3

    def setup(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    cube.register_autograd(lambda ctx, grad: grad * 3 * ctx.saved_tensors[0] ** 2, setup_context=setup)
    x = pyburn.tensor(2.0, requires_grad=True)
    cube(x).backward()
    assert x.grad.item() == 12.0


def test_futures():
    future = pyburn.futures.Future()
    after = future.then(lambda done: done.wait() * 2)
    broken = future.then(lambda done: 1 / 0)
    assert not future.done()
    future.set_result(4)
    assert after.wait() == 8 and pyburn.futures.wait_all([future, after]) == [4, 8]
    with pytest.raises(ZeroDivisionError):
        broken.wait()
    with pytest.raises(RuntimeError, match="once"):
        future.set_result(1)


def test_memory_is_shared_by_dlpack():
    x = pyburn.arange(3.0)
    y = pyburn.utils.dlpack.from_dlpack(pyburn.utils.dlpack.to_dlpack(x))
    y[0] = 7.0
    assert x[0].item() == 7.0


def work(index: int, queue: object) -> None:
    if index == 1:
        raise ValueError("from the process")
    queue.put(float(index))


def test_spawned_processes_send_numbers_and_errors():
    processes = pyburn.multiprocessing
    queue = processes.get_context("spawn").SimpleQueue()
    processes.spawn(work, args=(queue,), nprocs=1)
    assert queue.get() == 0.0
    with pytest.raises(processes.ProcessRaisedException, match="from the process"):
        processes.spawn(work, args=(queue,), nprocs=2)


def test_joining_processes_that_have_ended_returns():
    queue = pyburn.multiprocessing.get_context("spawn").SimpleQueue()
    context = pyburn.multiprocessing.spawn(work, args=(queue,), nprocs=1, join=False)
    for process in context.processes:
        process.join()
    assert context.join() is True
