"""The demo's training step on wgpu: forward, loss, backward, SGD and Adam against the CPU's numbers."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pyburn
import pytest
from pyburn import nn, optim
from pyburn.nn import functional as F


@pytest.fixture(scope="module")
def demo() -> ModuleType:
    path = Path(__file__).parents[1] / "examples" / "digits_cnn.py"
    spec = importlib.util.spec_from_file_location("digits_cnn", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def build(demo: ModuleType, state: dict[str, Any], device: str) -> nn.Module:
    model: nn.Module = demo.DigitsCNN()
    model.load_state_dict(state)
    for layer in model.modules():
        if isinstance(layer, nn.Dropout):
            layer.p = 0.0  # two devices draw different numbers
    return model.to(device).train()


def losses(model: nn.Module, optimizer: optim.Optimizer, data: tuple[Any, Any], device: str) -> list[float]:
    found = []
    for _ in range(3):
        images, labels = (part.to(device) for part in data)
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


@pytest.mark.parametrize(
    "make",
    [
        lambda parameters: optim.SGD(parameters, lr=0.05, momentum=0.9),
        lambda parameters: optim.Adam(parameters, lr=1e-2),
    ],
    ids=["SGD", "Adam"],
)
def test_the_demo_trains_as_on_the_cpu(demo: ModuleType, make: Any, capfd: pytest.CaptureFixture[str]) -> None:
    pyburn.manual_seed(0)
    state = demo.DigitsCNN().state_dict()
    train, _ = demo.load_data()
    data = train.tensors[0][:16], train.tensors[1][:16]
    models = {device: build(demo, state, device) for device in ("cpu", "wgpu")}
    found = {device: losses(model, make(model.parameters()), data, device) for device, model in models.items()}
    assert capfd.readouterr() == ("", "")  # candidates that fail while burn tunes must not show
    assert found["cpu"][-1] < found["cpu"][0]
    assert found["wgpu"] == pytest.approx(found["cpu"], rel=2e-4)
    there = models["wgpu"].state_dict()
    for name, here in models["cpu"].state_dict().items():
        assert str(there[name].device) == "wgpu:0"
        if name in ("features.0.bias", "features.4.bias") or name.endswith("running_mean"):
            continue  # batch norm takes a bias away again: its gradient is rounding, which Adam makes large
        assert pyburn.allclose(there[name].cpu(), here, rtol=2e-3, atol=2e-3), name


def test_gradients_of_the_demo(demo: ModuleType) -> None:
    pyburn.manual_seed(0)
    state = demo.DigitsCNN().state_dict()
    train, _ = demo.load_data()
    grads: dict[str, dict[str, Any]] = {}
    for device in ("cpu", "wgpu"):
        model = build(demo, state, device)
        images, labels = (part[:16].to(device) for part in train.tensors)
        F.cross_entropy(model(images), labels).backward()
        grads[device] = {name: p.grad.cpu() for name, p in model.named_parameters() if p.grad is not None}
    assert list(grads["wgpu"]) == list(grads["cpu"]) and len(grads["cpu"]) == 12
    for name, here in grads["cpu"].items():
        assert pyburn.allclose(grads["wgpu"][name], here, rtol=1e-3, atol=1e-5), name
