"""An LSTM language model over characters, with packed sequences of different lengths."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

TEXT = "the quick brown fox jumps over the lazy dog and then it sleeps in the warm sun all day long"


class LanguageModel(nn.Module):
    def __init__(self, symbols, width=24):
        super().__init__()
        self.embedding = nn.Embedding(symbols, width, padding_idx=0)
        self.rnn = nn.LSTM(width, width, num_layers=2, batch_first=True)
        self.out = nn.Linear(width, symbols)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(self.embedding(x), lengths, batch_first=True, enforce_sorted=False)
        out, (h, c) = self.rnn(packed)
        out, _ = pad_packed_sequence(out, batch_first=True)
        return self.out(out), h, c


def main():
    torch.manual_seed(4)
    letters = sorted(set(TEXT))
    code = {letter: number + 1 for number, letter in enumerate(letters)}
    words = [torch.tensor([code[letter] for letter in word + " "]) for word in TEXT.split() if " " in code]
    x = pad_sequence([word[:-1] for word in words], batch_first=True)
    y = pad_sequence([word[1:] for word in words], batch_first=True, padding_value=0)
    lengths = torch.tensor([len(word) - 1 for word in words])
    model = LanguageModel(len(letters) + 1)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(25):
        optimizer.zero_grad()
        logits, h, _ = model(x, lengths)
        loss = F.cross_entropy(logits.transpose(1, 2), y, ignore_index=0) + 1e-3 * h.pow(2).mean()
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), 0.5)
        optimizer.step()
        losses.append(loss.item())
    return losses
