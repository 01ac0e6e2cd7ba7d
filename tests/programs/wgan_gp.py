"""WGAN with gradient penalty: second-order gradients by autograd.grad(create_graph=True)."""

import torch
import torch.autograd as autograd
import torch.nn as nn


def gradient_penalty(critic, real, fake):
    alpha = torch.rand(real.size(0), 1)
    interpolates = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    d_interpolates = critic(interpolates)
    gradients = autograd.grad(
        outputs=d_interpolates,
        inputs=interpolates,
        grad_outputs=torch.ones_like(d_interpolates),
        create_graph=True,
        retain_graph=True,
        only_inputs=True,
    )[0]
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean()


def main():
    torch.manual_seed(7)
    generator = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
    critic = nn.Sequential(nn.Linear(2, 32), nn.Softplus(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.0, 0.9))
    optimizer_d = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.0, 0.9))
    losses = []
    for _ in range(25):
        for _ in range(2):
            real = torch.randn(64, 2) * 0.1 + torch.tensor([2.0, -1.0])
            fake = generator(torch.randn(64, 4)).detach()
            loss = critic(fake).mean() - critic(real).mean() + 10 * gradient_penalty(critic, real, fake)
            optimizer_d.zero_grad()
            loss.backward()
            optimizer_d.step()
        generator_loss = -critic(generator(torch.randn(64, 4))).mean()
        optimizer_g.zero_grad()
        generator_loss.backward()
        optimizer_g.step()
        losses.append(loss.item())
    return losses
