"""A graph convolutional network on two communities, with a sparse normalised adjacency matrix."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parameter import Parameter


class GraphConvolution(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = Parameter(torch.FloatTensor(in_features, out_features))
        self.bias = Parameter(torch.FloatTensor(out_features))
        stdv = 1.0 / math.sqrt(self.weight.size(1))
        self.weight.data.uniform_(-stdv, stdv)
        self.bias.data.uniform_(-stdv, stdv)

    def forward(self, input, adj):
        support = torch.mm(input, self.weight)
        return torch.spmm(adj, support) + self.bias


class GCN(nn.Module):
    def __init__(self, nfeat, nhid, nclass):
        super().__init__()
        self.gc1 = GraphConvolution(nfeat, nhid)
        self.gc2 = GraphConvolution(nhid, nclass)

    def forward(self, x, adj):
        x = F.relu(self.gc1(x, adj))
        return F.log_softmax(self.gc2(x, adj), dim=1)


def communities(nodes):
    label = torch.arange(nodes) % 2
    chance = torch.where(label[:, None] == label[None, :], 0.3, 0.03)
    edges = (torch.rand(nodes, nodes) < chance).float().triu(1)
    dense = edges + edges.t() + torch.eye(nodes)
    degree = dense.sum(1).pow(-0.5)
    dense = degree[:, None] * dense * degree[None, :]
    index = dense.nonzero().t()
    adjacency = torch.sparse_coo_tensor(index, dense[index[0], index[1]], (nodes, nodes), check_invariants=True)
    return torch.randn(nodes, 8) + 0.5 * label[:, None], adjacency, label


def main():
    torch.manual_seed(8)
    x, adjacency, label = communities(40)
    train = torch.arange(0, 20)
    model = GCN(8, 16, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02, weight_decay=5e-4)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = F.nll_loss(model(x, adjacency)[train], label[train])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
