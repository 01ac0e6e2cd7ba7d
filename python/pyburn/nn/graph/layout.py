"""Places for the nodes of a graph, from top to bottom: layers, few crossings, straight lines (Sugiyama's way)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["Layout", "layout"]

GAP, DUMMY = 26.0, 16.0
SWEEPS, MOVES = 12, 24


@dataclass
class Layout:
    """The middle of each node, the places that each edge passes, and the size of the whole."""

    places: dict[int, tuple[float, float]]
    paths: list[list[tuple[float, float]]]
    width: float
    height: float


@dataclass
class _Graph:
    """Layers of numbers, where a long edge has a number of its own in each layer that it passes."""

    layers: list[list[int]]
    widths: list[float]
    above: list[list[int]]
    below: list[list[int]]
    chains: list[list[int]] = field(default_factory=list)
    real: int = 0


def layout(
    sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]], space: float = 40.0, margin: float = 16.0
) -> Layout:
    """Where nodes of these sizes stand, so that every edge points down.

    Args:
        sizes: Width and height of each node.
        edges: Pairs of node numbers without cycles.
        space: The room between layers.
        margin: The room around all.

    Example:
        >>> made = layout([(40, 20), (40, 20), (40, 20)], [(0, 1), (1, 2), (0, 2)])
        >>> made.places[0][1] < made.places[1][1] < made.places[2][1]
        True
        >>> [len(path) for path in made.paths]
        [2, 2, 3]
    """
    graph = _layered([width for width, _ in sizes], edges)
    _order(graph)
    across = _across(graph)
    heights = [max((sizes[n][1] for n in layer if n < graph.real), default=0.0) for layer in graph.layers]
    down, y = [], margin
    for height in heights:
        down.append(y + height / 2)
        y += height + space
    left = min((across[n] - graph.widths[n] / 2 for layer in graph.layers for n in layer), default=0.0) - margin
    right = max((across[n] + graph.widths[n] / 2 for layer in graph.layers for n in layer), default=0.0) + margin
    level = {number: place for place, layer in enumerate(graph.layers) for number in layer}
    at = {number: (across[number] - left, down[level[number]]) for number in level}
    places = {number: at[number] for number in range(graph.real)}
    return Layout(places, [[at[n] for n in chain] for chain in graph.chains], right - left, y - space + margin)


def _levels(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """The layer of each node: below all that it needs; a source right above the first that needs it."""
    after: list[list[int]] = [[] for _ in range(count)]
    needs = [0] * count
    for source, target in edges:
        after[source].append(target)
        needs[target] += 1
    sources = [number for number in range(count) if not needs[number]]
    level, waiting = [0] * count, list(sources)
    while waiting:
        number = waiting.pop()
        for target in after[number]:
            level[target] = max(level[target], level[number] + 1)
            needs[target] -= 1
            if not needs[target]:
                waiting.append(target)
    for number in sources:
        if after[number]:
            level[number] = min(level[target] for target in after[number]) - 1
    return level


def _layered(widths: list[float], edges: Sequence[tuple[int, int]]) -> _Graph:
    level = _levels(len(widths), edges)
    graph = _Graph([[] for _ in range(max(level, default=-1) + 1)], list(widths), [], [], real=len(widths))
    graph.above = [[] for _ in widths]
    graph.below = [[] for _ in widths]
    for number, place in enumerate(level):
        graph.layers[place].append(number)
    for source, target in edges:
        chain = [source]
        for place in range(level[source] + 1, level[target]):
            graph.widths.append(DUMMY)
            graph.above.append([])
            graph.below.append([])
            chain.append(len(graph.widths) - 1)
            graph.layers[place].append(chain[-1])
        chain.append(target)
        for one, other in itertools.pairwise(chain):
            graph.below[one].append(other)
            graph.above[other].append(one)
        graph.chains.append(chain)
    return graph


def _order(graph: _Graph) -> None:
    """Nothing; each layer stands in an order with few crossings."""
    best, fewest = [list(layer) for layer in graph.layers], _crossings(graph)
    for sweep in range(SWEEPS):
        if not fewest:
            break
        downwards = sweep % 2 == 0
        neighbours = graph.above if downwards else graph.below
        for layer in graph.layers if downwards else reversed(graph.layers):
            place = {n: i for each in graph.layers for i, n in enumerate(each)}
            mean = {
                n: sum(place[m] for m in neighbours[n]) / len(neighbours[n]) if neighbours[n] else place[n]
                for n in layer
            }
            layer.sort(key=lambda n: mean[n])
        now = _crossings(graph)
        if now < fewest:
            best, fewest = [list(layer) for layer in graph.layers], now
    graph.layers = best


def _crossings(graph: _Graph) -> int:
    place = {number: i for layer in graph.layers for i, number in enumerate(layer)}
    total = 0
    for layer in graph.layers:
        ends = [place[target] for number in layer for target in sorted(graph.below[number], key=lambda n: place[n])]
        total += sum(one > other for i, one in enumerate(ends) for other in ends[i + 1 :])
    return total


def _across(graph: _Graph) -> dict[int, float]:
    """How far right each number stands: near its neighbours, long edges straight, none on another."""
    x: dict[int, float] = {}
    real = graph.real
    for layer in graph.layers:
        right = 0.0
        for number in layer:
            x[number] = right + graph.widths[number] / 2
            right += graph.widths[number] + GAP
        for number in layer:
            x[number] -= (right - GAP) / 2
    for move in range(MOVES):
        for layer in graph.layers if move % 2 == 0 else reversed(graph.layers):
            wanted, weights = [], []
            for number in layer:
                near = [*graph.above[number], *graph.below[number]]
                alike = [(n < real) == (number < real) for n in near]  # an edge bends where it leaves a box, if at all
                strength = [0.5 if not same else 2.0 if number < real else 4.0 for same in alike]
                total = sum(strength)
                pulled = sum(x[n] * s for n, s in zip(near, strength, strict=True))
                wanted.append(pulled / total if near else x[number])
                weights.append(total or 0.1)
            for number, value in zip(layer, _apart([graph.widths[n] for n in layer], wanted, weights), strict=True):
                x[number] = value
    return x


def _apart(widths: list[float], wanted: list[float], weights: list[float]) -> list[float]:
    """The places nearest to `wanted`, in the same order, that leave room for all (pooled neighbours)."""
    offsets, right = [], 0.0
    for index, width in enumerate(widths):
        right += width / 2 + (widths[index - 1] / 2 + GAP if index else 0.0)
        offsets.append(right)
    blocks: list[list[float]] = []  # the mean, the weight and the length of each pool
    for want, weight, offset in zip(wanted, weights, offsets, strict=True):
        blocks.append([want - offset, weight, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            mean, heavy, long = blocks.pop()
            before = blocks[-1]
            before[0] = (before[0] * before[1] + mean * heavy) / (before[1] + heavy)
            before[1] += heavy
            before[2] += long
    means = [mean for mean, _, length in blocks for _ in range(int(length))]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]
