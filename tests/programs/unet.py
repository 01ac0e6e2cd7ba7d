"""A U-Net that segments discs: skip connections, bilinear upsampling, cross entropy and a Dice loss."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class DoubleConv(nn.Sequential):
    def __init__(self, in_channels, out_channels):
        super().__init__(
            nn.Conv2d(in_channels, out_channels, 3, padding=1),
            nn.GroupNorm(2, out_channels),
            nn.SiLU(inplace=True),
            nn.Conv2d(out_channels, out_channels, 3, padding=1),
            nn.InstanceNorm2d(out_channels, affine=True),
            nn.SiLU(inplace=True),
        )


class UNet(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.inc = DoubleConv(1, width)
        self.down = nn.Sequential(nn.MaxPool2d(2), DoubleConv(width, 2 * width))
        self.bottom = nn.Sequential(nn.MaxPool2d(2), DoubleConv(2 * width, 4 * width))
        self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
        self.conv1 = DoubleConv(6 * width, 2 * width)
        self.up2 = nn.ConvTranspose2d(2 * width, width, kernel_size=2, stride=2)
        self.conv2 = DoubleConv(2 * width, width)
        self.outc = nn.Conv2d(width, 2, kernel_size=1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down(x1)
        x3 = self.up(self.bottom(x2))
        dy, dx = x2.size(2) - x3.size(2), x2.size(3) - x3.size(3)
        x3 = F.pad(x3, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
        x2 = self.conv1(torch.cat([x2, x3], dim=1))
        return self.outc(self.conv2(torch.cat([x1, self.up2(x2)], dim=1)))


def dice_loss(logits, mask):
    probability = logits.softmax(dim=1)[:, 1]
    overlap = 2 * (probability * mask).sum(dim=(1, 2))
    return (1 - (overlap + 1) / (probability.sum(dim=(1, 2)) + mask.sum(dim=(1, 2)) + 1)).mean()


def discs(count, size=20):
    y, x = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    centre = torch.randint(5, size - 5, (count, 2, 1, 1))
    mask = ((y - centre[:, 0]) ** 2 + (x - centre[:, 1]) ** 2 < 16).long()
    return mask.unsqueeze(1) + 0.5 * torch.randn(count, 1, size, size), mask


def main():
    torch.manual_seed(9)
    images, mask = discs(6)
    model = UNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    for _ in range(20):
        logits = model(images)
        loss = F.cross_entropy(logits, mask) + dice_loss(logits, mask.float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
