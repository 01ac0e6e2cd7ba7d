"""Whole models that train on wgpu as on the CPU, with their state, optimizers and data moving between the two."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from typing import Any

import pyburn
import pytest
from pyburn import Tensor, nn, optim
from pyburn.data import DataLoader, TensorDataset
from pyburn.nn import functional as F


class Recurrent(nn.Module):
    """Words to a class by an LSTM: longer than a kernel binds buffers, so that its steps are joined in groups."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.lstm = nn.LSTM(8, 12, batch_first=True, bidirectional=True)
        self.head = nn.Linear(24, 5)

    def forward(self, words: Tensor) -> Tensor:
        states, _ = self.lstm(self.embed(words))  # (B, T, 2 * 12)
        return self.head(states.mean(1))


class Block(nn.Module):
    """One causal block of a GPT over token and place embeddings."""

    def __init__(self, width: int = 16, heads: int = 2, length: int = 12) -> None:
        super().__init__()
        self.heads = heads
        self.tokens, self.places = nn.Embedding(11, width), nn.Embedding(length, width)
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.project, self.join = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.head = nn.Linear(width, 5, bias=False)

    def forward(self, words: Tensor) -> Tensor:
        B, T = words.shape
        x = self.tokens(words) + self.places(pyburn.arange(T, device=words.device))  # (B, T, C)
        parts = self.project(self.before(x)).view(B, T, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=True)  # (B, H, T, C / H)
        x = x + self.join(mixed.transpose(1, 2).reshape(B, T, -1))
        return self.head(self.after(x + self.mlp(x)))[:, -1]


class Segments(nn.Module):
    """Images to one channel of the same size: a small U-Net with a skip."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.GroupNorm(2, 4), nn.ReLU())
        self.deep = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(4, 8, 3, padding=1), nn.ReLU())
        self.up = nn.ConvTranspose2d(8, 4, 2, stride=2)
        self.head = nn.Conv2d(8, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        shallow = self.down(x)
        return self.head(pyburn.cat([shallow, self.up(self.deep(shallow))], 1))


WORDS = (pyburn.arange(6 * 12) * 7 % 11).reshape(6, 12)
CLASSES = pyburn.arange(6) % 5
IMAGES = ((pyburn.arange(3 * 64) * 7 % 31) / 16 - 1).reshape(3, 1, 8, 8)
MASKS = (IMAGES > 0).float()

Make = Callable[[Any], optim.Optimizer]
MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[..., Tensor], tuple[Tensor, Tensor], Make]] = {
    "LSTM with Adam": (Recurrent, F.cross_entropy, (WORDS, CLASSES), lambda p: optim.Adam(p, lr=1e-2)),
    "GPT with AdamW": (Block, F.cross_entropy, (WORDS, CLASSES), lambda p: optim.AdamW(p, lr=1e-2)),
    "U-Net with SGD": (
        Segments,
        F.binary_cross_entropy_with_logits,
        (IMAGES, MASKS),
        lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-3),
    ),
}


def train(model: nn.Module, loss: Callable[..., Tensor], data: tuple[Tensor, Tensor], make: Make) -> list[float]:
    device = next(model.parameters()).device
    optimizer, found = make(model.parameters()), []
    x, y = (part.to(device) for part in data)
    for _ in range(4):
        optimizer.zero_grad()
        value = loss(model(x), y)
        value.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        found.append(value.item())
    return found


@pytest.mark.gpu
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", MODELS)
def test_models_train_as_on_the_cpu(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    build, loss, data, make = MODELS[name]
    pyburn.manual_seed(0)
    here = build()
    there = copy.deepcopy(here).to("wgpu")
    expected, found = (train(model, loss, data, make) for model in (here, there))
    assert capfd.readouterr() == ("", "")
    assert expected[-1] < expected[0] and found == pytest.approx(expected, rel=1e-3)
    for key, value in here.state_dict().items():
        if key == "project.bias":
            continue  # that of the keys has no gradient but rounding, which Adam makes large
        assert pyburn.allclose(there.state_dict()[key].cpu(), value, rtol=5e-3, atol=5e-3), key


def small() -> nn.Module:
    pyburn.manual_seed(0)
    return nn.Sequential(nn.BatchNorm1d(3), nn.Flatten(), nn.PReLU(3))


def test_a_state_goes_to_the_gpu_and_back() -> None:
    here = small()
    here.train()(pyburn.randn(5, 3))
    there = small().to("wgpu")
    there.load_state_dict(here.state_dict())
    assert {str(value.device) for value in there.state_dict().values()} == {"wgpu:0"}
    file = io.BytesIO()
    pyburn.save(there.state_dict(), file)
    file.seek(0)
    back = small()
    back.load_state_dict(pyburn.load(file))
    for key, value in here.state_dict().items():
        assert back.state_dict()[key].equal(value) and back.state_dict()[key].is_cpu, key
    wide = {key: value.double() if value.is_floating_point() else value for key, value in here.state_dict().items()}
    there.load_state_dict(wide)
    assert there.state_dict()["0.running_mean"].dtype is pyburn.float32


@pytest.mark.parametrize("make", [lambda p: optim.Adam(p, lr=0.1), lambda p: optim.SGD(p, lr=0.1, momentum=0.9)])
def test_an_optimizer_follows_its_model(make: Make) -> None:
    weights = []
    for device in ("cpu", "wgpu"):
        model = small()
        optimizer = make(model.parameters())
        model.to(device)
        for step in range(3):
            optimizer.zero_grad()
            (model((pyburn.arange(12.0).reshape(4, 3).to(device) * (step + 1)).sin()) ** 2).sum().backward()
            optimizer.step()
        assert all(str(p.device).startswith(device) for p in model.parameters())
        weights.append([p.tolist() for p in model.parameters()])
        again = make(model.parameters())
        again.load_state_dict(optimizer.state_dict())
        assert [str(t.device) for s in again.state.values() for t in s.values() if isinstance(t, Tensor) and t.dim()]
    for here, there in zip(*weights, strict=True):
        assert there == pytest.approx(here, rel=1e-4, abs=1e-5)


def test_batches_of_a_loader_train_a_model() -> None:
    x = (pyburn.arange(30) * 7 % 13 / 6 - 1).reshape(10, 3)
    losses = []
    for device in ("cpu", "wgpu"):
        model = small().to(device)
        optimizer = optim.SGD(model.parameters(), lr=0.05)
        for a, b in DataLoader(TensorDataset(x, x.flip(1)), batch_size=4, drop_last=True):
            value = F.mse_loss(model(a.to(device)), b.to(device, non_blocking=True))
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
            losses.append(value.item())
    assert losses[2:] == pytest.approx(losses[:2], rel=1e-4)
