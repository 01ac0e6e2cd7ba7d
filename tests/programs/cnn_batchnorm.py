"""A convolutional network with batch normalisation, momentum and a step schedule."""

import torch
import torch.nn as nn
import torch.optim as optim
from torch.optim.lr_scheduler import MultiStepLR


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1, groups=2),
            nn.BatchNorm2d(16),
            nn.ReLU(inplace=True),
            nn.AdaptiveAvgPool2d(1),
        )
        self.classifier = nn.Linear(16, 4)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x):
        x = self.features(x)
        return self.classifier(x.view(x.size(0), -1))


def bars(count):
    """Images of a bright bar in one of four places."""
    labels = torch.randint(4, (count,))
    images = 0.5 * torch.randn(count, 1, 12, 12)
    for image, label in zip(images, labels):
        if label < 2:
            image[:, 3 + 5 * int(label)] += 2
        else:
            image[:, :, 3 + 5 * (int(label) - 2)] += 2
    return images, labels


def main():
    torch.manual_seed(1)
    images, labels = bars(128)
    model = Net().train()
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-4)
    schedule = MultiStepLR(optimizer, milestones=[15, 25], gamma=0.3)
    losses = []
    for step in range(32):
        batch = slice(32 * (step % 4), 32 * (step % 4) + 32)
        optimizer.zero_grad()
        loss = criterion(model(images[batch]), labels[batch])
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        losses.append(criterion(model(images), labels).item())
    return losses
