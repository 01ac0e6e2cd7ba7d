"""Predicts how diabetes advances within a year from ten measurements of a patient (burn's simple-regression).

The 442 patients come with scikit-learn. The network's error stands beside that of a linear fit and of the plain mean.

    python examples/simple_regression.py
"""

import argparse

import pyburn as torch
from pyburn import nn, train
from sklearn.datasets import load_diabetes


class Regression(nn.Module):
    """A hidden layer between ten measurements and one number."""

    def __init__(self, hidden=64):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(10, hidden), nn.ReLU(), nn.Dropout(0.2), nn.Linear(hidden, 1))

    def forward(self, x):
        """(B, 10) measurements to (B, 1) predictions."""
        return self.layers(x)


def load_data():
    """Measurements and outcomes with mean 0 and deviation 1: 292 patients to train, 50 to validate, 100 to test."""
    data = load_diabetes()
    x, y = torch.from_numpy(data.data).float(), torch.from_numpy(data.target).float().unsqueeze(1)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
    x, y = x[order], y[order]
    x = (x - x[:342].mean(0)) / x[:342].std(0)
    mean, scale = y[:342].mean(), y[:342].std()
    y = (y - mean) / scale
    return (x[:292], y[:292]), (x[292:342], y[292:342]), (x[342:], y[342:]), scale.item()


def linear_fit(train_data, test_data):
    """The root mean squared error of the best linear function."""
    ones = [torch.cat([x, torch.ones(len(x), 1)], dim=1) for x, _ in (train_data, test_data)]
    weights = torch.linalg.lstsq(ones[0], train_data[1]).solution
    return (ones[1] @ weights - test_data[1]).square().mean().sqrt().item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu", help="cpu or wgpu")
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--quick", action="store_true", help="few epochs, to see that it runs")
    args = parser.parse_args()

    torch.manual_seed(0)
    train_data, valid_data, test_data, scale = load_data()
    learner = train.Learner(
        Regression(),
        nn.MSELoss(),
        "adamw",
        lr=3e-3,
        metrics=["rmse", "r2"],
        device=args.device,
        callbacks=[train.EarlyStopping("valid_loss", patience=15)],
        folder=False,
    )
    learner.fit(train_data, valid_data, epochs=5 if args.quick else args.epochs)

    result = learner.evaluate(test_data)
    plain = test_data[1].square().mean().sqrt().item()
    print("root mean squared error on the test patients, in points of the disease's progress:")
    for name, error in (("mean", plain), ("linear", linear_fit(train_data, test_data)), ("network", result["rmse"])):
        print(f"  {name:8} {error * scale:5.1f}")
    if not args.quick and result["rmse"] >= plain:
        raise SystemExit("the network is no better than the mean: something is wrong")


if __name__ == "__main__":
    main()
