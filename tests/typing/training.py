"""A typical training script, which `mypy --strict` must accept (tests/test_typing.py)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyburn as torch
import pyburn.distributed as dist
from pyburn import Tensor, nn, optim
from pyburn.autograd import Function
from pyburn.distributions import Categorical, Normal, kl_divergence
from pyburn.nn import functional as F
from pyburn.nn.parallel import DistributedDataParallel
from pyburn.nn.utils import clip_grad_norm_
from pyburn.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from pyburn.optim.lr_scheduler import CosineAnnealingLR, LambdaLR, LRScheduler
from pyburn.utils.data import DataLoader, Dataset, IterableDataset, WeightedRandomSampler, random_split
from pyburn.utils.tensorboard import SummaryWriter


class Points(Dataset[tuple[Tensor, Tensor]]):
    def __init__(self, count: int = 64) -> None:
        self.inputs = torch.randn(count, 8)
        self.labels = torch.randint(0, 3, (count,))

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.inputs[index], self.labels[index]


class Stream(IterableDataset[Tensor]):
    def __iter__(self) -> Iterator[Tensor]:
        for number in range(3):
            yield torch.full((2,), float(number))


class Square(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        result: Tensor = 2 * x * grad_output
        return result


class Block(nn.Module):
    scale: Tensor

    def __init__(self, width: int, heads: int = 2, dropout: float = 0.1) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, dropout=dropout, batch_first=True)
        self.norm = nn.LayerNorm(width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(2)])
        self.table = nn.ModuleDict({"a": nn.Identity()})
        self.weight = nn.Parameter(torch.ones(width))
        self.register_buffer("scale", torch.ones(1))
        self.apply(self._init)

    @staticmethod
    def _init(module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            nn.init.trunc_normal_(module.weight, std=0.02)
            if module.bias is not None:
                nn.init.zeros_(module.bias)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        y, _ = self.attention(x, x, x, attn_mask=mask, need_weights=False)
        x = self.norm(x + y)
        for layer in self.layers:
            x = x + layer(x)
        result: Tensor = x + self.feed(x) * self.weight * self.scale
        return result


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(10, 8, padding_idx=0)
        self.lstm = nn.LSTM(8, 16, num_layers=2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(32, 3)

    def forward(self, tokens: list[Tensor]) -> Tensor:
        lengths = torch.tensor([len(sequence) for sequence in tokens])
        padded = pad_sequence(tokens, batch_first=True)
        packed = pack_padded_sequence(self.embedding(padded), lengths, batch_first=True, enforce_sorted=False)
        output, (hidden, _cell) = self.lstm(packed)
        unpacked, _ = pad_packed_sequence(output, batch_first=True)
        logits: Tensor = self.head(unpacked.mean(dim=1)) + hidden.sum()
        return logits


def evaluate(model: nn.Module, loader: DataLoader[tuple[Tensor, Tensor]], device: torch.device) -> float:
    model.eval()
    correct, total = 0, 0
    with torch.no_grad():
        for inputs, labels in loader:
            logits = model(inputs.to(device))
            correct += int((logits.argmax(dim=-1) == labels.to(device)).sum().item())
            total += labels.size(0)
    return correct / max(total, 1)


def train(folder: Path) -> dict[str, float]:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(0)
    train_set, test_set = random_split(Points(), [48, 16], generator=torch.Generator().manual_seed(1))
    sampler = WeightedRandomSampler([1.0] * 48, num_samples=48)
    loader = DataLoader(train_set, batch_size=8, sampler=sampler, num_workers=0, drop_last=True)
    model = nn.Sequential(
        nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(inplace=True), nn.Dropout(0.1), nn.Linear(16, 3)
    )
    model = model.to(device)
    optimizer = optim.AdamW(
        [{"params": model[0].parameters(), "lr": 1e-4}, {"params": model[4].parameters()}], lr=1e-3, weight_decay=0.01
    )
    scheduler: LRScheduler = CosineAnnealingLR(optimizer, T_max=10, eta_min=1e-6)
    warmup = LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 10))
    scaler = torch.amp.GradScaler("cpu")
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    writer = SummaryWriter(str(folder))
    losses: list[float] = []
    for epoch in range(2):
        model.train()
        for inputs, labels in loader:
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = criterion(model(inputs.to(device)), labels.to(device))
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            norm = clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.item() + 0.0 * float(norm))
        scheduler.step()
        warmup.step()
        writer.add_scalar("loss", losses[-1], epoch)
    writer.close()
    rate: float = optimizer.param_groups[0]["lr"]
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 2}
    torch.save(state, folder / "state.pt")
    loaded = torch.load(folder / "state.pt", map_location="cpu")
    model.load_state_dict(loaded["model"], strict=True)
    accuracy = evaluate(model, DataLoader(test_set, batch_size=4), device)
    count = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    return {"loss": math.fsum(losses), "accuracy": accuracy, "parameters": float(count), "rate": rate}


def sample(logits: Tensor) -> Tensor:
    chosen = Categorical(logits=logits)
    action = chosen.sample()
    prior, posterior = Normal(torch.zeros(2), torch.ones(2)), Normal(torch.zeros(2), torch.full((2,), 2.0))
    return chosen.log_prob(action).mean() + kl_divergence(posterior, prior).sum() + chosen.entropy().mean()


def shapes(x: Tensor) -> tuple[int, ...]:
    batch, channels, height, width = x.shape
    y = F.conv2d(x, torch.randn(4, channels, 3, 3), padding=1)
    y = F.max_pool2d(F.relu(y), kernel_size=2).flatten(1)
    y = F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False).view(batch, -1)
    y[0, 0] = 1.0
    y = torch.where(y > 0, y, torch.zeros_like(y)).clamp(min=0.0, max=1.0)
    value, index = y.topk(3, dim=1)
    u, s, vh = torch.linalg.svd(torch.eye(3))
    spectrum = torch.fft.rfft(y, dim=-1).abs()
    merged = torch.einsum("bi,bj->bij", value, index.float()).sum(dim=(1, 2), keepdim=True)
    y = y.detach().requires_grad_()
    (gradient,) = torch.autograd.grad((y * y).sum(), [y], allow_unused=True)
    array: Any = y.detach().cpu().numpy()
    counts = (int(u.numel() + s.numel() + vh.numel()), len(array), spectrum.dim(), gradient.dim())
    return (*merged.shape, height, width, *counts)


def hooks(model: nn.Module) -> list[str]:
    seen: list[str] = []

    def hook(module: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
        seen.append(type(module).__name__)

    handles = [module.register_forward_hook(hook) for module in model.modules()]
    model(torch.zeros(1, 8))
    for handle in handles:
        handle.remove()
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda grad: grad * 2)
    Square.apply(x).sum().backward()
    wrapped = DistributedDataParallel(model) if dist.is_initialized() else model
    for name, parameter in wrapped.named_parameters():
        seen.append(f"{name} {tuple(parameter.shape)} {parameter.grad is None}")
    return seen
