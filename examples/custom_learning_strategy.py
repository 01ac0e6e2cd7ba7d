"""Replaces the loop over epochs by one of your own, cross-validation (burn's custom-learning-strategy).

A strategy is a function of the learner. This one trains a fresh model on each part of the digits that come with
scikit-learn and tests it on the rest.

    python examples/custom_learning_strategy.py --folds 5
"""

import argparse
import copy

import pyburn as torch
from pyburn import nn, train
from pyburn.data import DataLoader, Subset, TensorDataset
from sklearn.datasets import load_digits


class CrossValidation:
    """Each fold starts from the first weights, trains on the other folds and validates on its own."""

    def __init__(self, data, folds, epochs):
        self.data, self.epochs, self.scores = data, epochs, []
        self.parts = torch.randperm(len(data)).chunk(folds)

    def __call__(self, learner):
        """Nothing; `scores` holds the accuracy of each fold."""
        weights = copy.deepcopy(learner.model.state_dict())
        optimizer = copy.deepcopy(learner.optimizer.state_dict())
        for number, _ in enumerate(learner.epochs_left()):
            fold, epoch = divmod(number, self.epochs)
            if epoch == 0:
                learner.model.load_state_dict(weights)
                learner.optimizer.load_state_dict(optimizer)
                rest = torch.cat([part for i, part in enumerate(self.parts) if i != fold])
                learner.train_data = DataLoader(Subset(self.data, rest.tolist()), 64, shuffle=True)
                learner.valid_data = DataLoader(Subset(self.data, self.parts[fold].tolist()), 256)
            learner.train_epoch()
            values = learner.validate()
            if epoch == self.epochs - 1:
                self.scores.append(values["accuracy"])
                print(f"fold {fold + 1}/{len(self.parts)}: accuracy {values['accuracy']:.1%}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu", help="cpu or wgpu")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=15, help="epochs of each fold")
    parser.add_argument("--quick", action="store_true", help="two folds of two epochs, to see that it runs")
    args = parser.parse_args()
    folds, epochs = (2, 2) if args.quick else (args.folds, args.epochs)

    torch.manual_seed(0)
    digits = load_digits()
    data = TensorDataset(torch.from_numpy(digits.data).float() / 16.0, torch.from_numpy(digits.target).long())
    strategy = CrossValidation(data, folds, epochs)
    learner = train.Learner(
        nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Dropout(0.3), nn.Linear(128, 10)),
        nn.CrossEntropyLoss(),
        "adam",
        lr=3e-3,
        metrics=["accuracy"],
        device=args.device,
        strategy=strategy,
        renderer=None,
        folder=False,
    )
    learner.fit(data, epochs=folds * epochs)
    scores = torch.tensor(strategy.scores)
    print(f"accuracy over {folds} folds: {scores.mean():.1%} ± {scores.std():.1%}")
    if not args.quick and scores.mean() < 0.95:
        raise SystemExit("the accuracy is below 95 %: something is wrong")


if __name__ == "__main__":
    main()
