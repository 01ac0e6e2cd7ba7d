"""LoRA: a trained network is saved, loaded, frozen, and adapted through low-rank matrices alone."""

import io
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class LoRALinear(nn.Module):
    def __init__(self, base, r=2, alpha=4):
        super().__init__()
        self.base = base
        for parameter in self.base.parameters():
            parameter.requires_grad = False
        self.lora_A = nn.Parameter(torch.empty(r, base.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, r))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
        self.scaling = alpha / r

    def forward(self, x):
        return self.base(x) + (x @ self.lora_A.T @ self.lora_B.T) * self.scaling


def network():
    return nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 3))


def train(model, x, y, steps, lr):
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=lr)
    losses = []
    for _ in range(steps):
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main():
    torch.manual_seed(13)
    x = torch.randn(64, 6)
    first, second = torch.randn(6, 3), torch.randn(6, 3)
    base = network()
    losses = train(base, x, torch.tanh(x @ first), 15, 1e-2)
    file = io.BytesIO()
    torch.save({"model": base.state_dict(), "steps": len(losses)}, file)
    file.seek(0)
    checkpoint = torch.load(file, map_location="cpu", weights_only=True)
    model = network()
    model.load_state_dict(checkpoint["model"])
    for index in (0, 2, 4):
        model[index] = LoRALinear(model[index])
    frozen = {name for name, parameter in model.named_parameters() if not parameter.requires_grad}
    assert frozen == {f"{index}.base.{kind}" for index in (0, 2, 4) for kind in ("weight", "bias")}
    losses += train(model, x, torch.tanh(x @ (first + 0.5 * second)), 25, 2e-2)
    assert torch.equal(model[0].base.weight, checkpoint["model"]["0.weight"])
    return losses
