"""A program of torch 0.4's time: Variable, .data, typed constructors, and an optimizer that says `add_(-lr, grad)`."""

import math
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Variable
from torch.optim.optimizer import Optimizer, required


class RAdam(Optimizer):
    """Rectified Adam as its first repositories wrote it."""

    def __init__(self, params, lr=required, betas=(0.9, 0.999), eps=1e-8, weight_decay=0):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    def step(self, closure=None):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                grad, state = p.grad.data, self.state[p]
                if len(state) == 0:
                    state["step"] = 0
                    state["exp_avg"] = p.data.new(p.data.size()).zero_()
                    state["exp_avg_sq"] = torch.zeros_like(p.data)
                state["step"] += 1
                step, exp_avg, exp_avg_sq = state["step"], state["exp_avg"], state["exp_avg_sq"]
                exp_avg.mul_(beta1).add_(1 - beta1, grad)
                exp_avg_sq.mul_(beta2).addcmul_(1 - beta2, grad, grad)
                longest = 2 / (1 - beta2) - 1
                length = longest - 2 * step * beta2**step / (1 - beta2**step)
                p.data.add_(-group["weight_decay"] * group["lr"], p.data)
                if length >= 5:
                    terms = (1 - beta2**step) * (length - 4) * (length - 2) * longest
                    size = math.sqrt(terms / ((longest - 4) * (longest - 2) * length)) / (1 - beta1**step)
                    p.data.addcdiv_(-size * group["lr"], exp_avg, exp_avg_sq.sqrt().add_(group["eps"]))
                else:
                    p.data.add_(-group["lr"] / (1 - beta1**step), exp_avg)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(6, 24)
        self.fc2 = nn.Linear(24, 3)
        self.gate = nn.Parameter(torch.Tensor(24).fill_(0.5))
        for m in self.modules():
            if isinstance(m, nn.Linear):
                m.weight.data.normal_(0, math.sqrt(2.0 / m.in_features))
                m.bias.data.zero_()

    def forward(self, x):
        h = F.relu(torch.addmm(1, self.fc1.bias, 1, x, self.fc1.weight.t()), inplace=True)
        return F.log_softmax(self.fc2(h * F.sigmoid(self.gate).expand_as(h)), dim=1)


def main():
    torch.manual_seed(4)
    inputs = torch.FloatTensor(60, 6).normal_()
    labels = torch.max(inputs.mm(torch.randn(6, 3)), 1)[1].type(torch.LongTensor)
    model = Net()
    optimizer = RAdam(model.parameters(), lr=3e-2, weight_decay=1e-3)
    losses = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(30):
            x, y = Variable(inputs), Variable(labels)
            optimizer.zero_grad()
            loss = nn.NLLLoss(size_average=True)(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.data.item())
    return losses
