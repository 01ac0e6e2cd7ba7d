"""A whole training run is torch's: the same seed gives the same first values, batches and losses."""

import pyburn
import pytest
import torch


def losses_of(lib, data, functional, optimizer, settings):
    """Ten epochs of a small network on noise, shuffled; the loss of each step."""
    lib.manual_seed(3)
    nn = lib.nn
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(16, 8),
        nn.GELU(),
        nn.LayerNorm(8),
        nn.Linear(8, 3),
    )
    images = lib.randn(24, 1, 4, 4)
    labels = (images.sum((1, 2, 3)).abs().long()) % 3
    loader = data.DataLoader(data.TensorDataset(images, labels), batch_size=8, shuffle=True)
    steps = getattr(lib.optim, optimizer)(model.parameters(), **settings)
    schedule = lib.optim.lr_scheduler.CosineAnnealingLR(steps, 10)
    losses = []
    for _ in range(10):
        for inputs, targets in loader:
            steps.zero_grad()
            loss = functional.cross_entropy(model(inputs), targets, label_smoothing=0.1)
            loss.backward()
            steps.step()
            losses.append(loss.item())
        schedule.step()
    model.eval()
    with lib.no_grad():
        losses.append(functional.cross_entropy(model(images), labels).item())
    return losses


@pytest.mark.parametrize(
    ("optimizer", "settings"), [("SGD", {"lr": 0.1, "momentum": 0.9}), ("AdamW", {"lr": 0.01})], ids=["sgd", "adamw"]
)
def test_the_losses_of_a_run_are_torchs(optimizer, settings):
    mine = losses_of(pyburn, pyburn.data, pyburn.nn.functional, optimizer, settings)
    theirs = losses_of(torch, torch.utils.data, torch.nn.functional, optimizer, settings)
    # Rounding differs from op to op and grows with each step, so the tolerance is wider than one op's.
    assert mine == pytest.approx(theirs, rel=2e-3, abs=2e-4)
    assert theirs[-1] < theirs[0]
