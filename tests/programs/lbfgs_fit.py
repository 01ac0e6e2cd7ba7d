"""A curve fitted by L-BFGS with a strong-Wolfe line search in float64."""

import torch


def main():
    torch.manual_seed(12)
    torch.set_default_dtype(torch.float64)
    try:
        x = torch.linspace(-3, 3, 80)
        y = 1.5 * torch.exp(-((x - 0.4) ** 2) / 0.8) + 0.3 * torch.sin(2 * x) + 0.02 * torch.randn(80)
        p = torch.tensor([1.0, 0.0, 1.0, 0.1, 1.5], requires_grad=True)
        optimizer = torch.optim.LBFGS([p], lr=0.5, max_iter=1, history_size=10, line_search_fn="strong_wolfe")
        losses = []

        def closure():
            optimizer.zero_grad()
            model = p[0] * torch.exp(-((x - p[1]) ** 2) / p[2].abs()) + p[3] * torch.sin(p[4] * x)
            loss = ((model - y) ** 2).sum()
            loss.backward()
            return loss

        for _ in range(25):
            losses.append(optimizer.step(closure).item())
        return losses
    finally:
        torch.set_default_dtype(torch.float32)
