"""Whole models of the table, in plain PyTorch style, for either library: each takes the library as `lib`."""

from __future__ import annotations

from typing import Any


def mnist_cnn(lib: Any) -> Any:
    nn = lib.nn
    return nn.Sequential(
        nn.Conv2d(1, 32, 3),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(9216, 128),
        nn.ReLU(),
        nn.Linear(128, 10),
    )


def resnet18(lib: Any, classes: int = 1000) -> Any:
    nn = lib.nn

    class Block(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self, entering: int, width: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(entering, width, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(width)
            self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(width)
            self.relu = nn.ReLU(inplace=True)
            same = stride == 1 and entering == width
            shortcut = (nn.Conv2d(entering, width, 1, stride, bias=False), nn.BatchNorm2d(width))
            self.downsample = nn.Identity() if same else nn.Sequential(*shortcut)

        def forward(self, x: Any) -> Any:
            y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
            return self.relu(y + self.downsample(x))

    stem = (nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1))
    blocks = []
    for entering, width, stride in ((64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)):
        blocks += [Block(entering, width, stride), Block(width, width, 1)]
    return nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, classes))


# Expansion, channels, repeats and stride of MobileNetV2's stages.
MOBILENET_STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


def mobilenet_v2(lib: Any) -> Any:
    nn = lib.nn

    def convolve(entering: int, leaving: int, kernel: int, stride: int = 1, groups: int = 1) -> list[Any]:
        conv = nn.Conv2d(entering, leaving, kernel, stride, kernel // 2, groups=groups, bias=False)
        return [conv, nn.BatchNorm2d(leaving), nn.ReLU6(inplace=True)]

    class Inverted(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self, entering: int, leaving: int, stride: int, expansion: int) -> None:
            super().__init__()
            hidden = entering * expansion
            layers = convolve(entering, hidden, 1) if expansion > 1 else []
            layers += convolve(hidden, hidden, 3, stride, hidden) + convolve(hidden, leaving, 1)[:2]
            self.layers = nn.Sequential(*layers)
            self.residual = stride == 1 and entering == leaving

        def forward(self, x: Any) -> Any:
            return x + self.layers(x) if self.residual else self.layers(x)

    layers, entering = convolve(3, 32, 3, 2), 32
    for expansion, leaving, repeats, stride in MOBILENET_STAGES:
        for repeat in range(repeats):
            layers.append(Inverted(entering, leaving, stride if repeat == 0 else 1, expansion))
            entering = leaving
    layers += convolve(entering, 1280, 1)
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(1280, 1000))


def gpt(lib: Any, width: int = 256, heads: int = 8, depth: int = 4, vocabulary: int = 1000, context: int = 256) -> Any:
    nn, functional = lib.nn, lib.nn.functional

    class Block(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x: Any, past: Any = None) -> Any:
            batch, tokens, _ = x.shape
            q, k, v = self.qkv(self.norm1(x)).view(batch, tokens, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
            if past is not None:
                k, v = lib.cat((past[0], k), 2), lib.cat((past[1], v), 2)
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=past is None)
            x = x + self.project(y.transpose(1, 2).reshape(batch, tokens, width))
            return x + self.mlp(self.norm2(x))

    class GPT(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
            self.blocks = nn.ModuleList(Block() for _ in range(depth))
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

        def forward(self, tokens: Any, past: Any = None) -> Any:
            start = 0 if past is None else past[0][0].shape[2]
            x = self.words(tokens) + self.places(lib.arange(start, start + tokens.shape[1]))
            for index, block in enumerate(self.blocks):
                x = block(x, None if past is None else past[index])
            return self.head(self.norm(x))

    return GPT()


def lstm_lm(lib: Any, vocabulary: int = 1000, width: int = 128) -> Any:
    nn = lib.nn

    class LanguageModel(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.words, self.lstm = nn.Embedding(vocabulary, width), nn.LSTM(width, width, 2)
            self.head = nn.Linear(width, vocabulary)

        def forward(self, tokens: Any) -> Any:
            return self.head(self.lstm(self.words(tokens))[0])

    return LanguageModel()


def gcn(lib: Any, features: int = 64, hidden: int = 64, classes: int = 7) -> Any:
    nn = lib.nn

    class GCN(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(features, hidden), nn.Linear(hidden, classes)

        def gather(self, x: Any, edges: Any, weights: Any) -> Any:
            return lib.zeros_like(x).index_add(0, edges[1], x.index_select(0, edges[0]) * weights)

        def forward(self, x: Any, edges: Any, weights: Any) -> Any:
            x = self.gather(self.first(x), edges, weights).relu()
            return self.gather(self.second(x), edges, weights)

    return GCN()


def eegnet(lib: Any, channels: int = 64, classes: int = 4) -> Any:
    nn = lib.nn
    return nn.Sequential(
        nn.Conv2d(1, 8, (1, 64), padding=(0, 32), bias=False),
        nn.BatchNorm2d(8),
        nn.Conv2d(8, 16, (channels, 1), groups=8, bias=False),
        nn.BatchNorm2d(16),
        nn.ELU(),
        nn.AvgPool2d((1, 4)),
        nn.Dropout(0.25),
        nn.Conv2d(16, 16, (1, 16), padding=(0, 8), groups=16, bias=False),
        nn.Conv2d(16, 16, 1, bias=False),
        nn.BatchNorm2d(16),
        nn.ELU(),
        nn.AvgPool2d((1, 8)),
        nn.Dropout(0.25),
        nn.Flatten(),
        nn.Linear(128, classes),
    )
