"""Devices and backends: names, defaults, errors, threads and forks. Each sentence of docs/backends.md has its test."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pyburn
import pytest


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The code in a fresh process, with a clean choice of devices."""
    clean = {key: value for key, value in os.environ.items() if key not in ("PYBURN_DEVICE", "PYBURN_QUIET")}
    return subprocess.run(
        [sys.executable, "-c", code], env={**clean, **environment}, capture_output=True, text=True, timeout=120
    )


def answer(code: str, **environment: str) -> str:
    done = run(code, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_devices_are_listed_with_their_names() -> None:
    found = pyburn.devices()
    assert [info.kind for info in found][:2] == ["cpu", "wgpu"]
    assert all(info.name for info in found)
    assert str(found[1].device) == "wgpu:0"


@pytest.mark.parametrize("name", ["wgpu", "Wgpu", "WGPU:0", "wgpu:0", "vulkan", "FusionJitBackend"])
def test_names_are_case_insensitive(name: str) -> None:
    assert pyburn.device(name) == pyburn.device("wgpu", 0)
    assert str(pyburn.ones(1, device=name).device) == "wgpu:0"


def test_backends_are_devices() -> None:
    backend = pyburn.Backend
    assert pyburn.ones(1, device=backend.NDARRAY).device == pyburn.device("cpu")
    for member in (backend.WGPUDEVICE, backend.FUSIONJITBACKEND):
        assert pyburn.ones(1).to(member).device == pyburn.device("wgpu")
    with pytest.raises(pyburn.DeviceError, match="libtorch"):
        pyburn.ones(1, device=backend.PYTORCH)


@pytest.mark.parametrize("name", ["tpu", "cpu:x", "", "wgpu:-1"])
def test_unknown_names_are_refused(name: str) -> None:
    with pytest.raises(RuntimeError, match="Invalid device string"):
        pyburn.device(name)


def test_moves_between_devices() -> None:
    x = pyburn.arange(6.0).reshape(2, 3)
    there = x.to("wgpu")
    assert str(there.device) == "wgpu:0" and there.to("wgpu") is there
    assert there.cpu().tolist() == x.tolist() == there.to(pyburn.device("cpu")).tolist()
    assert there.to("cpu", pyburn.int64).tolist() == [[0, 1, 2], [3, 4, 5]]
    leaf = x.clone().requires_grad_()
    (leaf.to("wgpu") * 2).cpu().sum().backward()
    assert leaf.grad is not None and leaf.grad.tolist() == [[2.0] * 3] * 2


def test_an_adapter_that_is_absent() -> None:
    with pytest.raises(pyburn.DeviceError, match="adapter"):
        pyburn.ones(1, device="wgpu:99")


def test_a_machine_without_a_driver_says_what_to_install() -> None:
    code = """
import pyburn
assert [info.kind for info in pyburn.devices()] == ["cpu"]
try:
    pyburn.ones(1).to("wgpu")
except pyburn.DeviceError as error:
    print(error)
"""
    names = ("VK_DRIVER_FILES", "VK_ICD_FILENAMES", "__EGL_VENDOR_LIBRARY_FILENAMES")
    nothing = dict.fromkeys(names, os.devnull)
    assert "install a Vulkan driver" in answer(code, **nothing)


def test_the_default_is_the_cpu_beside_a_software_adapter_and_is_said_once() -> None:
    done = run("import pyburn; pyburn.ones(1); pyburn.ones(1); print(pyburn.get_default_device())")
    assert done.stdout.strip() == "cpu"
    assert done.stderr.strip() == "pyburn: default device: cpu (no real GPU adapter was found)"
    assert run("import pyburn; pyburn.ones(1)", PYBURN_QUIET="1").stderr == ""
    quiet = "import logging, pyburn; logging.getLogger('pyburn').setLevel('WARNING'); pyburn.ones(1)"
    assert run(quiet).stderr == ""


def test_the_environment_chooses_the_default() -> None:
    code = "import pyburn; print(pyburn.ones(1).device)"
    assert answer(code, PYBURN_DEVICE="Wgpu") == "wgpu:0"
    assert answer(code, PYBURN_DEVICE="cpu") == "cpu"
    refused = run(code, PYBURN_DEVICE="wgpu:7")
    assert "DeviceError" in refused.stderr and refused.returncode == 1


def test_the_program_chooses_the_default() -> None:
    before = pyburn.get_default_device()
    try:
        pyburn.set_default_device("wgpu")
        assert str(pyburn.zeros(2).device) == "wgpu:0"
        assert str(pyburn.tensor([1, 2]).device) == "wgpu:0"
        assert str(pyburn.arange(3).device) == "wgpu:0"
        assert pyburn.randperm(4).sort().values.tolist() == [0, 1, 2, 3]
    finally:
        pyburn.set_default_device(before)
    assert str(pyburn.zeros(2).device) == str(before)


def test_cuda_scripts_go_on() -> None:
    assert isinstance(pyburn.cuda.is_available(), bool)
    device = "cuda" if pyburn.cuda.is_available() else "cpu"
    assert pyburn.ones(1).to(device).item() == 1.0
    if not pyburn.cuda.is_available():
        with pytest.raises(RuntimeError, match="GPU"):
            pyburn.ones(1).cuda()


@pytest.mark.parametrize(
    "op",
    [
        lambda a, b: a + b,
        lambda a, b: a @ b,
        lambda a, b: pyburn.cat([a, b]),
        lambda a, b: pyburn.where(a > 0, a, b),
        lambda a, b: pyburn.nn.functional.linear(a, b),
        lambda a, b: a.index_select(0, b[0].long()),
        lambda a, b: pyburn.nn.functional.conv1d(a.unsqueeze(0), b.unsqueeze(0)),
    ],
)
def test_devices_do_not_mix(op: Callable[[Any, Any], Any]) -> None:
    here, there = pyburn.ones(2, 2), pyburn.ones(2, 2).to("wgpu")
    for a, b in ((here, there), (there, here)):
        with pytest.raises(RuntimeError, match="same device"):
            op(a, b)


@pytest.mark.parametrize("device", ["cpu", "wgpu"])
def test_ops_from_many_threads_at_once(device: str) -> None:
    base = pyburn.arange(12.0).reshape(3, 4).to(device)
    wrong: list[Any] = []

    def work(number: int) -> None:
        try:
            for step in range(12):
                leaf = (base + number).detach().requires_grad_()
                out = ((leaf * 2).relu()[:, 1:].sum(1) + step).sum()
                out.backward()
                expected = 2 * sum(v % 4 != 0 and v + number for v in range(12)) + 3 * step
                assert leaf.grad is not None
                if out.item() != expected or leaf.grad.cpu().tolist() != [[0.0, 2.0, 2.0, 2.0]] * 3:
                    wrong.append((number, step, out.item(), expected))
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert wrong == []


@pytest.mark.parametrize("device", ["cpu", "wgpu"])
def test_threads_share_tensors(device: str) -> None:
    made: list[Any] = []
    thread = threading.Thread(target=lambda: made.append(pyburn.ones(4).to(device) * 3))
    thread.start()
    thread.join(60)
    made[0].add_(1)
    assert (made[0] * 2).tolist() == [8.0] * 4


FORK = """
import os, pyburn
x = pyburn.ones(300, 300)
y = x @ x
there = pyburn.ones(3).to("wgpu") + 1
there.cpu()
child = os.fork()
if child == 0:
    try:
        assert (x @ x).sum().item() == y.sum().item()
        assert pyburn.get_num_threads() >= 1
        refused = 0
        for use in (lambda: pyburn.ones(2).to("wgpu"), lambda: there + 1, lambda: there.cpu(), pyburn.synchronize):
            try:
                use() if use is not pyburn.synchronize else use("wgpu")
            except pyburn.DeviceError:
                refused += 1
        os._exit(10 + refused)
    except BaseException:
        os._exit(1)
status = os.waitpid(child, 0)[1]
assert there.tolist() == [2.0, 2.0, 2.0]
print(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_fork_after_use_works_on_the_cpu_and_is_refused_on_wgpu() -> None:
    assert answer(FORK, PYTHONWARNINGS="ignore") == "14"


def test_memory_that_no_device_has() -> None:
    for make in (
        lambda: pyburn.zeros(2**44, device="wgpu"),
        lambda: pyburn.ones(1, device="wgpu").expand(2**44).clone(),
        lambda: pyburn.ones(2, device="wgpu").repeat(2**43),
    ):
        with pytest.raises((MemoryError, RuntimeError)):
            make()
    assert (pyburn.ones(2, device="wgpu") + 1).tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    "make",
    [
        lambda: pyburn.zeros(2**32, device="wgpu"),
        lambda: pyburn.ones(1, device="wgpu").expand(2**32) + 1,
        lambda: pyburn.ones(2**16, 1, device="wgpu") * pyburn.ones(1, 2**16, device="wgpu"),
        lambda: pyburn.ones(2**16, 1, device="wgpu") @ pyburn.ones(1, 2**16, device="wgpu"),
        lambda: pyburn.ones(2**16, device="wgpu").repeat(2**16),
    ],
)
def test_a_value_larger_than_any_buffer_is_refused_at_once(make: Callable[[], Any]) -> None:
    with pytest.raises(MemoryError, match="cannot allocate"):
        make()
    assert (pyburn.ones(2, device="wgpu") + 1).tolist() == [2.0, 2.0]


def test_a_buffer_larger_than_the_device_takes() -> None:
    code = """
import pyburn
try:
    big = pyburn.zeros(2**29, device="wgpu") + 1
    pyburn.synchronize("wgpu")
    print(big[-1].item())
except (MemoryError, RuntimeError) as error:
    print("refused")
print((pyburn.ones(2, device="wgpu") + 1).tolist())
"""
    done = run(code, PYBURN_QUIET="1")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert done.stdout.splitlines() in (["refused", "[2.0, 2.0]"], ["1.0", "[2.0, 2.0]"])


def test_set_num_threads_counts() -> None:
    code = """
import pyburn
pyburn.set_num_threads(2)
assert pyburn.get_num_threads() == 2
there = pyburn.ones(3).to("wgpu")
print((there * 2).sum().item(), (pyburn.ones(400, 400) @ pyburn.ones(400, 400)).sum().item())
"""
    assert answer(code, PYBURN_QUIET="1") == "6.0 64000000.0"


def test_one_thread_is_the_callers() -> None:
    """Work that leaves the thread it is asked from leaves its cache too."""
    code = """
import resource
import pyburn
pyburn.set_num_threads(1)
x = pyburn.randn(700, 700)
def used():
    return [sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_THREAD, resource.RUSAGE_SELF)]
before = used()
for _ in range(30):
    y = x.exp().softmax(1) @ x
    y.sum(0), y.amax(1), y.t().contiguous(), y[pyburn.arange(700)]
own, every = (after - start for after, start in zip(used(), before))
print(own > 0.9 * every)
"""
    assert answer(code, PYBURN_QUIET="1") == "True"


def test_the_log_line_reaches_a_program_s_own_handler(caplog: pytest.LogCaptureFixture) -> None:
    from pyburn import _log

    with caplog.at_level(logging.INFO, logger="pyburn"):
        quiet = os.environ.pop("PYBURN_QUIET", None)
        try:
            _log.announce("default device: cpu")
        finally:
            if quiet is not None:
                os.environ["PYBURN_QUIET"] = quiet
    assert "default device: cpu" in caplog.text


NAMES = ["cuda", "cuda:1", "mps", "hpu", "xpu:0"]


@pytest.mark.parametrize("name", NAMES)
def test_devices_that_are_not_here_can_be_named(name):
    import torch

    ours, theirs = pyburn.device(name), torch.device(name)
    if ours.type == "wgpu":
        pytest.skip("a real GPU answers to this name")
    assert (ours.type, ours.index, str(ours), repr(ours)) == (theirs.type, theirs.index, str(theirs), repr(theirs))
    assert ours == pyburn.device(name) != pyburn.device("cpu") and hash(ours) == hash(pyburn.device(name))
    assert pyburn.device(theirs.type, 2).index == 2
    with pytest.raises(RuntimeError):
        pyburn.ones(1, device=ours)
    with pytest.raises(RuntimeError):
        pyburn.ones(1).to(ours)


def test_names_of_no_device():
    with pytest.raises(RuntimeError):
        pyburn.device("nothing")
    with pytest.raises(RuntimeError):
        pyburn.device("cuda:x")


def test_a_block_chooses_the_device_of_what_its_thread_creates():
    with pyburn.device("wgpu") as device:
        assert device.type == "wgpu" and pyburn.get_default_device().type == "wgpu"
        assert pyburn.ones(2).device.type == pyburn.nn.Linear(2, 2).weight.device.type == "wgpu"
        with pyburn.device("cpu"):
            assert pyburn.ones(2).device.type == "cpu"
        elsewhere: list[str] = []
        thread = threading.Thread(target=lambda: elsewhere.append(pyburn.ones(2).device.type))
        thread.start()
        thread.join()
        assert elsewhere == ["cpu"]
        assert pyburn.ones(2).device.type == "wgpu"
    with pytest.raises(KeyError), pyburn.device("wgpu"):
        raise KeyError
    assert pyburn.ones(2).device.type == "cpu"
    with pytest.raises(pyburn.DeviceError, match="cuda"), pyburn.device("cuda"):
        pass


def test_the_accelerator_is_the_real_gpu(monkeypatch):
    gpu = [("wgpu:0", "llvmpipe", True), ("wgpu:1", "Radeon", False)]
    monkeypatch.setattr(pyburn._core, "_adapters", lambda: gpu)
    assert pyburn.accelerator.is_available() and pyburn.accelerator.device_count() == 1
    assert pyburn.accelerator.current_accelerator().type == "wgpu"
    assert pyburn.accelerator.current_device_index() == 0
    monkeypatch.setattr(pyburn._core, "_adapters", lambda: gpu[:1])
    assert not pyburn.accelerator.is_available() and pyburn.accelerator.current_accelerator() is None
    with pytest.raises(RuntimeError, match="no GPU"):
        pyburn.accelerator.current_device_index()
