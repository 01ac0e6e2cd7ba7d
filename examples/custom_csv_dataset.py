"""Predicts how diabetes progresses from a table of patients in a CSV file (burn's custom-csv-dataset).

The 442 patients come with scikit-learn, which writes the file here; ten columns of measurements, and the progression
after a year. `CSVDataset` reads any such file; a dataset of your own is a class with `__len__` and `__getitem__`, as
`Patients` below.

    python examples/custom_csv_dataset.py
"""

import argparse
import csv
from pathlib import Path

import pyburn as torch
from pyburn import nn, train
from pyburn.data import CSVDataset, Dataset, random_split
from sklearn.datasets import load_diabetes


def write_table(path):
    """Nothing; the file at `path` has a line for each patient, under the names of the columns."""
    data = load_diabetes(scaled=False)
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*data.feature_names, "progression"])
        writer.writerows([*patient, progression] for patient, progression in zip(data.data, data.target))


class Patients(Dataset):
    """The patients of a CSV file: their measurements, and the progression in hundreds.

    Args:
        path: The file.
    """

    def __init__(self, path):
        table = CSVDataset(path, target="progression")
        rows = [table[i] for i in range(len(table))]
        self.measurements = torch.stack([torch.as_tensor(features) for features, _ in rows])  # (N, 10)
        self.progression = torch.tensor([[float(target)] for _, target in rows]) / 100.0  # (N, 1)

    def __len__(self):
        return len(self.progression)

    def __getitem__(self, index):
        return self.measurements[index], self.progression[index]


def draw(learner, patients, path):
    """Nothing; a picture at `path` shows each patient's progression against the prediction."""
    import matplotlib

    matplotlib.use("Agg")  # before pyplot: there may be no screen
    import matplotlib.pyplot as plt

    found, real = learner.predict(patients), torch.stack([progression for _, progression in patients])
    figure, axes = plt.subplots(figsize=(4.5, 4))
    axes.scatter((100 * real[:, 0]).tolist(), (100 * found[:, 0]).tolist(), s=14, alpha=0.7)
    axes.axline((150, 150), slope=1, color="gray", linewidth=1)
    axes.set(xlabel="progression after a year", ylabel="prediction", title="patients that it never saw")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu", help="cpu or wgpu")
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--quick", action="store_true", help="a few epochs, to see that it runs")
    parser.add_argument("--out", type=Path, default=Path("runs/diabetes"), help="where the table and pictures go")
    args = parser.parse_args()
    epochs = 3 if args.quick else args.epochs

    torch.manual_seed(0)
    args.out.mkdir(parents=True, exist_ok=True)
    write_table(args.out / "diabetes.csv")
    patients = Patients(args.out / "diabetes.csv")
    train_data, test_data = random_split(patients, [0.8, 0.2])
    print(f"{len(patients)} patients with 10 measurements each, {len(test_data)} of them for the test")

    # The first layer learns the mean and deviation of each column, from the patients it trains on alone.
    columns = nn.BatchNorm1d(10, affine=False)
    learner = train.Learner(
        nn.Sequential(columns, nn.Linear(10, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 1)),
        nn.MSELoss(),
        "adamw",
        lr=5e-3,
        metrics=["r2", "mae"],
        device=args.device,
        folder=False,
    )
    history = learner.fit(train_data, test_data, epochs)
    result = learner.evaluate(test_data)
    draw(learner, test_data, args.out / "progression.png")
    print(f"loss {history[0]['train_loss']:.3f} to {history[-1]['train_loss']:.3f}; of the test: r2 {result['r2']:.2f}")
    print(f"wrote {args.out}/progression.png")
    if not args.quick and result["r2"] < 0.3:
        raise SystemExit("r2 is below 0.3: something is wrong")


if __name__ == "__main__":
    main()
