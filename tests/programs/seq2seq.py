"""A GRU encoder and decoder with additive attention that learns to reverse sequences; teacher forcing by chance."""

import random

import torch
import torch.nn as nn
import torch.nn.functional as F

SYMBOLS, LENGTH, START = 8, 5, 0


class Encoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embedding = nn.Embedding(SYMBOLS, width)
        self.gru = nn.GRU(width, width, bidirectional=True, batch_first=True)
        self.bridge = nn.Linear(2 * width, width)

    def forward(self, x):
        outputs, hidden = self.gru(self.embedding(x))
        return outputs, torch.tanh(self.bridge(torch.cat([hidden[0], hidden[1]], dim=1)))


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.Wa = nn.Linear(width, width)
        self.Ua = nn.Linear(2 * width, width)
        self.Va = nn.Linear(width, 1)

    def forward(self, query, keys):
        scores = self.Va(torch.tanh(self.Wa(query).unsqueeze(1) + self.Ua(keys))).squeeze(2)
        weights = F.softmax(scores, dim=-1)
        return torch.bmm(weights.unsqueeze(1), keys).squeeze(1)


class Decoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embedding = nn.Embedding(SYMBOLS, width)
        self.attention = Attention(width)
        self.cell = nn.GRUCell(3 * width, width)
        self.out = nn.Linear(width, SYMBOLS)

    def forward(self, outputs, hidden, target, forcing):
        symbol = torch.full((outputs.size(0),), START, dtype=torch.long)
        logits = []
        for step in range(LENGTH):
            context = self.attention(hidden, outputs)
            hidden = self.cell(torch.cat([self.embedding(symbol), context], dim=1), hidden)
            logits.append(self.out(hidden))
            symbol = target[:, step] if forcing else logits[-1].argmax(dim=1).detach()
        return torch.stack(logits, dim=1)


def main():
    torch.manual_seed(10)
    random.seed(10)
    encoder, decoder = Encoder(24), Decoder(24)
    parameters = [*encoder.parameters(), *decoder.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=1e-2)
    losses = []
    for _ in range(25):
        source = torch.randint(1, SYMBOLS, (32, LENGTH))
        target = source.flip(1)
        outputs, hidden = encoder(source)
        logits = decoder(outputs, hidden, target, forcing=random.random() < 0.8)
        loss = F.cross_entropy(logits.reshape(-1, SYMBOLS), target.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
