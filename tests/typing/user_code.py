"""A program as users write it, which `mypy --strict` must accept (tests/test_typing.py)."""

import pyburn as torch
import pyburn.nn as nn
import pyburn.nn.functional as F
from pyburn.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.fc(x))


def main() -> None:
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    x = torch.randn(8, 4, dtype=torch.float32)
    y = torch.tensor([0, 1] * 4)
    loss = nn.CrossEntropyLoss()(net(x), y)
    loss.backward()
    opt.step()
    opt.zero_grad()
    with torch.no_grad():
        z = net(x).argmax(dim=1)
    print(z.tolist(), torch.cat([x, x], dim=0).shape, (x @ x.T).sum().item(), torch.float32, x[:, None, 0])
    for a, b in DataLoader(TensorDataset(x, y), batch_size=2, shuffle=True):
        print(a.mean().item() + 1.0, b.shape)
    x.normal_().requires_grad_()
    torch.nn.functional.softmax(x, dim=-1)
    torch.manual_seed(0)
    torch.nn.init.xavier_uniform_(net.fc.weight)
    net.to("cpu").eval()
    net.load_state_dict(net.state_dict())


def several_results(x: torch.Tensor) -> torch.Tensor:
    """Functions whose result depends on their arguments have the type that fits."""
    pooled = torch.nn.functional.max_pool2d(x, 2)
    places = torch.nn.functional.max_pool2d(x, 2, return_indices=True)[1]
    values, indices = x.max(1)
    middle = x.median() + torch.max(x, 1).values + x.min(dim=0).indices
    distinct, counts = torch.unique(x, return_counts=True)
    rows = torch.where(x > 0)[0]
    return torch.where(x > 0, x, 0.0) + pooled + places + values + indices + middle + distinct + counts + rows


if __name__ == "__main__":
    main()
