"""A multi-layer perceptron on two spirals, with Adam, weight decay and a cosine schedule."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def spirals(points):
    angle = torch.rand(points) * 2 * math.pi
    label = torch.randint(0, 2, (points,))
    radius = angle / 3 + 0.05 * torch.randn(points)
    turn = angle + math.pi * label
    return torch.stack([radius * torch.cos(turn), radius * torch.sin(turn)], dim=1), label


class MLP(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(2, hidden), nn.GELU(), nn.LayerNorm(hidden), nn.Linear(hidden, hidden), nn.Tanh()
        )
        self.head = nn.Linear(hidden, 2)

    def forward(self, x):
        return self.head(self.layers(x))


def main():
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(*spirals(256)), batch_size=64, shuffle=True, drop_last=True)
    model = MLP()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-2, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=40)
    losses = []
    for _ in range(10):
        for x, y in loader:
            loss = F.cross_entropy(model(x), y, label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
    return losses
