"""Layers, losses and optimizers on wgpu against the CPU: results, gradients of inputs and parameters, and state."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pyburn
import pytest
from pyburn import Tensor, nn, optim


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return pyburn.randn(*shape, generator=pyburn.Generator().manual_seed(seed))


def tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, (tuple, list)):
        return [found for part in value for found in tensors(part)]
    return []


class Outcome:
    """What one training and one evaluation call of a layer leave behind, on the CPU."""

    def __init__(self, layer: nn.Module, inputs: list[Tensor], device: str, call: Callable[..., Any] | None) -> None:
        layer = copy.deepcopy(layer).to(device).train()
        given = [
            x.to(device).requires_grad_() if x.is_floating_point() and not x.requires_grad else x.to(device)
            for x in (x.detach().clone() for x in inputs)
        ]
        run = call or (lambda layer, *inputs: layer(*inputs))
        found = tensors(run(layer, *given))
        total = sum((out * pyburn.linspace(0.5, 1.5, out.numel()).reshape(out.shape).to(device)).sum() for out in found)
        assert isinstance(total, Tensor)
        wanted = [x for x in [*given, *layer.parameters()] if x.requires_grad]
        grads = pyburn.autograd.grad(total, wanted, allow_unused=True)
        self.values = [out.detach().cpu() for out in found]
        self.grads = [None if grad is None else grad.cpu() for grad in grads]
        self.state = {name: value.cpu() for name, value in layer.state_dict().items()}
        with pyburn.no_grad():
            self.evaluated = [out.cpu() for out in tensors(run(layer.eval(), *given))]
        assert all(str(out.device) == ("cpu" if device == "cpu" else "wgpu:0") for out in found)


def close(here: Tensor, there: Tensor, what: str) -> None:
    assert there.dtype is here.dtype and there.shape == here.shape, what
    assert pyburn.allclose(there, here, rtol=1e-4, atol=2e-5), f"{what}: {here} on the CPU, {there} on wgpu"


def check(make: Callable[[], nn.Module], inputs: list[Tensor], call: Callable[..., Any] | None = None) -> None:
    pyburn.manual_seed(0)
    layer = make()
    here, there = (Outcome(layer, inputs, device, call) for device in ("cpu", "wgpu"))
    for name in ("values", "evaluated"):
        pairs = zip(getattr(here, name), getattr(there, name), strict=True)
        for index, (one, other) in enumerate(pairs):
            close(one, other, f"{name} {index}")
    for index, (grad, found) in enumerate(zip(here.grads, there.grads, strict=True)):
        assert (grad is None) == (found is None), f"gradient {index}"
        if grad is not None and found is not None:
            close(grad, found, f"gradient {index}")
    for name, value in here.state.items():
        close(value, there.state[name], name)


Case = tuple[Callable[[], nn.Module], list[Tensor]]
IMAGE, VOLUME, SIGNAL = numbers(2, 4, 6, 6), numbers(2, 4, 4, 5, 3), numbers(2, 4, 9)
WORDS = pyburn.tensor([[1, 2, 4, 5], [4, 3, 2, 9]])
CLASSES = pyburn.tensor([1, 0, 2])
MASKED = nn.Transformer.generate_square_subsequent_mask(5)

# No products and no convolutions: their kernels need no tuning.
PLAIN: dict[str, Case] = {
    "BatchNorm1d": (lambda: nn.BatchNorm1d(4), [SIGNAL]),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(4), [IMAGE]),
    "LayerNorm": (lambda: nn.LayerNorm(9), [SIGNAL]),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), [IMAGE]),
    "Embedding": (lambda: nn.Embedding(10, 3, padding_idx=2), [WORDS]),
    "EmbeddingBag": (lambda: nn.EmbeddingBag(10, 3, mode="mean"), [WORDS]),
    "MaxPool2d": (lambda: nn.MaxPool2d(2), [IMAGE]),
    "CrossEntropyLoss": (lambda: nn.CrossEntropyLoss(label_smoothing=0.1), [numbers(3, 5), CLASSES]),
}
MORE: dict[str, Case] = {
    "BatchNorm3d": (lambda: nn.BatchNorm3d(4), [VOLUME]),
    "InstanceNorm2d": (lambda: nn.InstanceNorm2d(4, affine=True, track_running_stats=True), [IMAGE]),
    "RMSNorm": (lambda: nn.RMSNorm(9), [SIGNAL]),
    "LocalResponseNorm": (lambda: nn.LocalResponseNorm(2), [IMAGE]),
    "EmbeddingBag max": (lambda: nn.EmbeddingBag(10, 3, mode="max"), [WORDS]),
    "MaxPool1d": (lambda: nn.MaxPool1d(3, stride=2, padding=1), [SIGNAL]),
    "MaxPool3d": (lambda: nn.MaxPool3d(2), [VOLUME]),
    "AvgPool1d": (lambda: nn.AvgPool1d(3), [SIGNAL]),
    "AvgPool2d": (lambda: nn.AvgPool2d(3, stride=2, padding=1), [IMAGE]),
    "AvgPool3d": (lambda: nn.AvgPool3d(2), [VOLUME]),
    "AdaptiveAvgPool2d": (lambda: nn.AdaptiveAvgPool2d((2, 3)), [IMAGE]),
    "AdaptiveMaxPool2d": (lambda: nn.AdaptiveMaxPool2d(3), [IMAGE]),
    "LPPool2d": (lambda: nn.LPPool2d(2, 2), [IMAGE.abs() + 0.1]),
    "Upsample": (lambda: nn.Upsample(scale_factor=2, mode="bilinear"), [IMAGE]),
    "PixelShuffle": (lambda: nn.PixelShuffle(2), [IMAGE]),
    "ReflectionPad2d": (lambda: nn.ReflectionPad2d(1), [IMAGE]),
    "PReLU": (lambda: nn.PReLU(4), [IMAGE]),
    "GELU": (lambda: nn.GELU(), [SIGNAL]),
    "SiLU": (lambda: nn.SiLU(), [SIGNAL]),
    "Softmax": (lambda: nn.Softmax(dim=1), [SIGNAL]),
    "Dropout": (lambda: nn.Dropout(0.0), [SIGNAL]),
    "NLLLoss": (lambda: nn.NLLLoss(weight=pyburn.tensor([1.0, 2.0, 0.5])), [numbers(3, 3), CLASSES]),
    "MSELoss": (lambda: nn.MSELoss(), [numbers(3, 5), numbers(3, 5, seed=1)]),
    "L1Loss": (lambda: nn.L1Loss(), [numbers(3, 5), numbers(3, 5, seed=1)]),
    "SmoothL1Loss": (lambda: nn.SmoothL1Loss(), [numbers(3, 5), numbers(3, 5, seed=1)]),
    "HuberLoss": (lambda: nn.HuberLoss(), [numbers(3, 5), numbers(3, 5, seed=1)]),
    "BCEWithLogitsLoss": (lambda: nn.BCEWithLogitsLoss(), [numbers(3, 5), numbers(3, 5, seed=1).sigmoid()]),
    "KLDivLoss": (lambda: nn.KLDivLoss(reduction="batchmean"), [numbers(3, 5), numbers(3, 5, seed=1).softmax(1)]),
    "MarginRankingLoss": (
        lambda: nn.MarginRankingLoss(0.3),
        [numbers(5), numbers(5, seed=1), numbers(5, seed=2).sign()],
    ),
    "TripletMarginLoss": (lambda: nn.TripletMarginLoss(), [numbers(3, 5, seed=seed) for seed in range(3)]),
    "CosineEmbeddingLoss": (
        lambda: nn.CosineEmbeddingLoss(0.1),
        [numbers(3, 5), numbers(3, 5, seed=1), pyburn.tensor([1, -1, 1])],
    ),
    "CTCLoss": (
        lambda: nn.CTCLoss(),
        [
            numbers(6, 2, 5).log_softmax(2),
            pyburn.tensor([[1, 2], [3, 4]]),
            pyburn.tensor([6, 5]),
            pyburn.tensor([2, 1]),
        ],
    ),
    "Linear": (lambda: nn.Linear(9, 3), [SIGNAL]),
    "Bilinear": (lambda: nn.Bilinear(3, 4, 2), [numbers(5, 3), numbers(5, 4)]),
    "Conv1d": (lambda: nn.Conv1d(4, 6, 3, padding=1), [SIGNAL]),
    "Conv2d": (lambda: nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2), [IMAGE]),
    "Conv3d": (lambda: nn.Conv3d(4, 2, 2), [VOLUME]),
    "ConvTranspose1d": (lambda: nn.ConvTranspose1d(4, 2, 3, stride=2), [SIGNAL]),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(4, 2, 3, stride=2, padding=1, output_padding=1), [IMAGE]),
    "ConvTranspose3d": (lambda: nn.ConvTranspose3d(4, 2, 2), [VOLUME]),
    "RNN": (lambda: nn.RNN(9, 5, batch_first=True), [SIGNAL]),
    "LSTM": (lambda: nn.LSTM(9, 5, num_layers=2, bidirectional=True, batch_first=True), [SIGNAL]),
    "GRU": (lambda: nn.GRU(9, 5), [SIGNAL]),
    "LSTMCell": (lambda: nn.LSTMCell(5, 4), [numbers(3, 5)]),
    "MultiheadAttention": (lambda: nn.MultiheadAttention(8, 2, batch_first=True), [numbers(2, 5, 8)] * 3),
    "TransformerEncoderLayer": (
        lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True),
        [numbers(2, 5, 8)],
    ),
    "TransformerDecoderLayer": (
        lambda: nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0, batch_first=True),
        [numbers(2, 5, 8), numbers(2, 4, 8, seed=1)],
    ),
    "Transformer": (
        lambda: nn.Transformer(8, 2, 1, 1, 16, dropout=0.0, batch_first=True),
        [numbers(2, 5, 8), numbers(2, 4, 8, seed=1)],
    ),
}


@pytest.mark.parametrize("name", PLAIN)
def test_layers(name: str) -> None:
    check(*PLAIN[name])


@pytest.mark.gpu
@pytest.mark.parametrize("name", MORE)
def test_more_layers(name: str) -> None:
    check(*MORE[name])


@pytest.mark.gpu
def test_attention_with_masks() -> None:
    def call(layer: nn.Module, x: Tensor) -> Any:
        padding = pyburn.tensor([[False] * 5, [False] * 3 + [True] * 2]).to(x.device)
        return layer(x, x, x, attn_mask=MASKED.to(x.device) == float("-inf"), key_padding_mask=padding)

    check(lambda: nn.MultiheadAttention(8, 2, batch_first=True), [numbers(2, 5, 8)], call)


# The others of torch: tests/optim/test_optim_db.py.
OPTIMIZERS: dict[str, Callable[[Any], optim.Optimizer]] = {
    "AdamW": lambda p: optim.AdamW(p, lr=0.1),
    "RMSprop": lambda p: optim.RMSprop(p, lr=0.1, centered=True, momentum=0.5),
    "Muon": lambda p: optim.Muon(p, lr=0.1),
    "Lion": lambda p: optim.Lion(p, lr=0.1),
    "Lamb": lambda p: optim.Lamb(p, lr=0.1),
    "Adan": lambda p: optim.Adan(p, lr=0.1),
}
QUICK_OPTIMIZERS = ("AdamW", "RMSprop")


def trained(name: str, device: str) -> tuple[Tensor, dict[str, Any]]:
    w = numbers(3, 4).to(device).requires_grad_()
    target = numbers(3, 4, seed=1).to(device)
    optimizer = OPTIMIZERS[name]([w])

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = ((w - target) ** 2).sum()
        loss.backward()
        return loss

    for _ in range(3):
        optimizer.step(closure)
    return w.detach(), optimizer.state_dict()


def check_optimizer(name: str) -> None:
    (here, state), (there, moved) = trained(name, "cpu"), trained(name, "wgpu")
    assert str(there.device) == "wgpu:0" and not pyburn.equal(here, numbers(3, 4))
    assert pyburn.allclose(there.cpu(), here, rtol=1e-4, atol=1e-5), (here, there)
    assert moved["state"].keys() == state["state"].keys()


@pytest.mark.parametrize("name", QUICK_OPTIMIZERS)
def test_optimizers(name: str) -> None:
    check_optimizer(name)


@pytest.mark.gpu
@pytest.mark.parametrize("name", [name for name in OPTIMIZERS if name not in QUICK_OPTIMIZERS])
def test_more_optimizers(name: str) -> None:
    check_optimizer(name)
