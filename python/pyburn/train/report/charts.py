"""Pictures of a run as SVG: curves over epochs and steps, and the confusion matrix."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Callable, Mapping, Sequence

__all__ = ["confusion", "curves", "ticks"]

Points = Sequence[tuple[float, float]]

WIDTH, HEIGHT = 480, 250
LEFT, RIGHT, TOP, BOTTOM = 52, 14, 12, 30
LABELLED, SHOWN = 24, 120  # classes whose cells have numbers, and whose cells are drawn at all


def ticks(low: float, high: float, wanted: int = 4) -> list[float]:
    """Round numbers from `low` to `high`, about so many as wanted.

    Example:
        >>> ticks(0.0, 1.0)
        [0.0, 0.25, 0.5, 0.75, 1.0]
        >>> ticks(1, 12, 5)
        [2, 4, 6, 8, 10, 12]
    """
    if not high > low:
        return [low]
    rough = (high - low) / max(wanted, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = min((power * size for size in (1, 2, 2.5, 5, 10)), key=lambda size: abs(size - rough))
    whole = isinstance(low, int) and isinstance(high, int)
    step = max(1, round(step)) if whole else step
    first = math.ceil(low / step - 1e-9)
    return [number * step for number in range(first, math.floor(high / step + 1e-9) + 1)]


class _Scale:
    """From the values of a chart to heights: even, or by powers of ten where values span more than three of them."""

    def __init__(self, values: Sequence[float]) -> None:
        low, high = min(values), max(values)
        self.logarithmic = low > 0 and high / low > 1000
        if self.logarithmic:
            low, high = math.log10(low), math.log10(high)
            marks = [10.0**power for power in range(math.ceil(low), math.floor(high) + 1)]
        else:
            room = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
            # Shares end at 1 and losses at 0: room beyond these would promise values that cannot be.
            low = low - room if not 0 <= low <= (high - low) * 0.25 else 0.0
            high = high + room if not (low >= 0 and 0.9 < high <= 1) else 1.0
            marks = ticks(low, high)
        self.low, self.high, self.marks = low, high, marks

    def __call__(self, value: float) -> float:
        place = math.log10(value) if self.logarithmic else value
        share = (place - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return TOP + (1 - share) * (HEIGHT - TOP - BOTTOM)


def curves(name: str, series: Mapping[str, Points], axis: str = "epoch", best: float | None = None) -> str:
    """A figure with a curve for each of `series`, points (x, value); the points also stand in `data-points` as JSON.

    Args:
        name: The title.
        series: The points of each curve by its name ("train", "valid", ...), which is also its CSS class.
        axis: What x counts.
        best: The x whose "valid" point is marked.
    """
    known = {key: [(x, y) for x, y in points if math.isfinite(y)] for key, points in series.items()}
    known = {key: points for key, points in known.items() if points}
    if not known:
        return ""
    scale = _Scale([y for points in known.values() for _, y in points])
    ends = [min(p[0][0] for p in known.values()), max(p[-1][0] for p in known.values())]

    def across(x: float) -> float:
        share = (x - ends[0]) / (ends[1] - ends[0]) if ends[1] > ends[0] else 0.5
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    parts = [_grid(scale, across, ends, axis), *(_curve(key, points, across, scale) for key, points in known.items())]
    mark = next((y for x, y in known.get("valid", []) if x == best), None)
    if best is not None and mark is not None:
        title = f"best: {axis} {best:g}, {mark:.5g}"
        place = f'cx="{across(best):.2f}" cy="{scale(mark):.2f}"'
        parts.append(f'<circle class="best" {place} r="4.5"><title>{title}</title></circle>')
    shown = known if len(known) > 1 or "train" in known or "valid" in known else {}  # one curve needs no name
    legend = "".join(f'<span class="key {html.escape(key)}">{html.escape(key)}</span>' for key in shown)
    data = html.escape(json.dumps({key: [list(point) for point in points] for key, points in known.items()}))
    kind = ' <span class="quiet">log</span>' if scale.logarithmic else ""
    return (
        f'<figure class="chart" data-name="{html.escape(name)}"><figcaption><span>{html.escape(name)}{kind}</span>'
        f'<span class="legend">{legend}</span></figcaption>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(name)}" data-axis="{axis}" '
        f'data-points="{data}">{"".join(parts)}</svg></figure>'
    )


def _grid(scale: _Scale, across: Callable[[float], float], ends: Sequence[float], axis: str) -> str:
    lines = []
    for mark in scale.marks:
        y = scale(mark)
        lines.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.2f}" y2="{y:.2f}"/>')
        lines.append(f'<text class="tick" x="{LEFT - 7}" y="{y + 3.5:.2f}" text-anchor="end">{mark:.4g}</text>')
    for mark in ticks(int(ends[0]), int(ends[1]), 6):
        place = f'x="{across(mark):.2f}" y="{HEIGHT - 14}"'
        lines.append(f'<text class="tick" {place} text-anchor="middle">{mark:g}</text>')
    lines.append(f'<text class="tick" x="{WIDTH - RIGHT}" y="{HEIGHT - 3}" text-anchor="end">{axis}</text>')
    return "".join(lines)


def _curve(key: str, points: Points, across: Callable[[float], float], scale: _Scale) -> str:
    name = html.escape(key)
    places = [(across(x), scale(y)) for x, y in points]
    line = " ".join(f"{x:.2f},{y:.2f}" for x, y in places)
    dots = ""
    if len(points) <= 40:
        dots = "".join(f'<circle class="dot {name}" cx="{x:.2f}" cy="{y:.2f}" r="2.2"/>' for x, y in places)
    return f'<polyline class="line {name}" data-series="{name}" points="{line}"/>{dots}'


def confusion(counts: Sequence[Sequence[int]], names: Sequence[str]) -> str:
    """The matrix as a picture: a row for each true class, a column for each predicted one, darker where more fell."""
    classes = len(counts)
    if classes > SHOWN:
        return ""
    cell = max(5.0, min(44.0, 520 / classes))
    labelled = classes <= LABELLED
    labels = [_short(name) for name in names] if labelled else _every_tenth(names)
    left = 16 + 6.5 * max(map(len, labels))
    turned = max(map(len, labels)) * 6.5 > cell  # they would run into each other
    right, below = (12.0, 16 + 4.2 * max(map(len, labels))) if turned else (6.0, 22.0)
    parts = []
    for row, line in enumerate(counts):
        total, y = sum(line) or 1, 20 + row * cell
        place = f'x="{left - 6}" y="{y + cell / 2 + 4:.1f}" text-anchor="end"'
        parts.append(f'<text class="tick" {place}>{html.escape(labels[row])}</text>' if labels[row] else "")
        for column, count in enumerate(line):
            parts.append(_cell(row, column, count, total, (left + column * cell, y, cell), names, labelled))
    for column, label in enumerate(labels):
        x, y = left + column * cell + cell / 2, 20 + cell * classes + 14
        turn = f' text-anchor="end" transform="rotate(-40 {x:.1f} {y:.1f})"' if turned else ' text-anchor="middle"'
        text = f'<text class="tick" x="{x:.1f}" y="{y:.1f}"{turn}>{html.escape(label)}</text>'
        parts.append(text if label else "")
    parts.append(f'<text class="tick" x="{left}" y="12">predicted →, true ↓</text>')
    width, height = left + cell * classes + right, 20 + cell * classes + below
    return (
        f'<svg class="confusion" viewBox="0 0 {width:.0f} {height:.0f}" style="max-width:{width:.0f}px" role="img" '
        f'aria-label="confusion matrix">{"".join(parts)}</svg>'
    )


def _short(name: str, most: int = 18) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


def _every_tenth(names: Sequence[str]) -> list[str]:
    """Labels for cells that are too small for one each."""
    return [_short(name, 10) if number % 10 == 0 else "" for number, name in enumerate(names)]


def _cell(
    row: int,
    column: int,
    count: int,
    total: int,
    box: tuple[float, float, float],
    names: Sequence[str],
    labelled: bool,
) -> str:
    x, y, size = box
    share = count / total
    kind = "right" if row == column else "wrong"
    strength = 0.06 + 0.9 * math.sqrt(share) if count else 0.03
    title = f"true {html.escape(names[row])}, predicted {html.escape(names[column])}: {count} ({share:.1%})"
    gap = 1 if size > 8 else 0
    text = ""
    if labelled and count:
        shade = "on" if strength > 0.55 else "off"
        place = f'x="{x + size / 2:.1f}" y="{y + size / 2 + 4:.1f}" text-anchor="middle"'
        text = f'<text class="count {shade}" {place}>{count}</text>'
    return (
        f'<rect class="{kind}" data-row="{row}" data-column="{column}" data-count="{count}" x="{x:.1f}" y="{y:.1f}" '
        f'width="{size - gap:.1f}" height="{size - gap:.1f}" rx="2" fill-opacity="{strength:.3f}">'
        f"<title>{title}</title></rect>{text}"
    )
