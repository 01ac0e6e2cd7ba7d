"""Hogwild: processes train one model in shared memory, here one after the other so that the numbers are the same."""

import sys

import torch
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

SETTINGS = {"batch_size": 16, "epochs": 1, "lr": 0.01, "momentum": 0.5, "seed": 1}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, kernel_size=3)
        self.norm = nn.BatchNorm2d(4)
        self.fc1 = nn.Linear(4 * 3 * 3, 20)
        self.fc2 = nn.Linear(20, 4)

    def forward(self, x):
        x = F.relu(F.max_pool2d(self.norm(self.conv1(x)), 2))
        x = F.relu(self.fc1(x.view(-1, 4 * 3 * 3)))
        return F.log_softmax(self.fc2(x), dim=1)


def make_dataset():
    torch.manual_seed(0)
    target = torch.arange(96) % 4
    images = torch.randn(96, 1, 8, 8)
    for index, label in enumerate(target.tolist()):
        images[index, 0, 2 * label : 2 * label + 2] += 1.5
    return TensorDataset(images, target)


def train(rank, settings, model, device, dataset, dataloader_kwargs):
    torch.set_num_threads(1)
    torch.manual_seed(settings["seed"] + rank)
    train_loader = DataLoader(dataset, **dataloader_kwargs)
    optimizer = optim.SGD(model.parameters(), lr=settings["lr"], momentum=settings["momentum"])
    for _ in range(settings["epochs"]):
        model.train()
        for data, target in train_loader:
            optimizer.zero_grad()
            output = model(data.to(device))
            loss = F.nll_loss(output, target.to(device))
            loss.backward()
            optimizer.step()


def test(model, device, dataset):
    model.eval()
    with torch.no_grad():
        data, target = dataset.tensors
        return F.nll_loss(model(data.to(device)), target.to(device)).item()


def main(start_method="fork", processes=20):
    dataset = make_dataset()
    device = torch.device("cpu")
    torch.manual_seed(SETTINGS["seed"])
    model = Net().to(device)
    model.share_memory()
    kwargs = {"batch_size": SETTINGS["batch_size"], "shuffle": True}
    context = mp.get_context(start_method)
    curve = []
    for rank in range(processes):
        process = context.Process(target=train, args=(rank, SETTINGS, model, device, dataset, kwargs))
        process.start()
        process.join()
        curve.append(test(model, device, dataset))
    return curve


if __name__ == "__main__":
    print(main(*sys.argv[1:2], *map(int, sys.argv[2:3])))
