"""Curves drawn with braille signs: two by four dots in each place of a terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

__all__ = ["Canvas", "curve_lines"]

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))


class Canvas:
    """A field of dots, each of the colour that was drawn last in its place.

    Example:
        >>> canvas = Canvas(3, 1)
        >>> canvas.line((0, 3), (5, 0), "blue")
        >>> canvas.rows()
        [[('⡠', 'blue'), ('⠔', 'blue'), ('⠊', 'blue')]]
    """

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = max(1, width), max(1, height)
        self._bits = [[0] * self.width for _ in range(self.height)]
        self._colours = [[""] * self.width for _ in range(self.height)]

    def dot(self, x: int, y: int, colour: str) -> None:
        """Nothing; the dot x from the left and y from the top is set."""
        if 0 <= x < self.width * 2 and 0 <= y < self.height * 4:
            self._bits[y // 4][x // 2] |= _DOTS[y % 4][x % 2]
            self._colours[y // 4][x // 2] = colour

    def line(self, start: tuple[int, int], end: tuple[int, int], colour: str) -> None:
        """Nothing; the dots between two places are set."""
        (x, y), (to_x, to_y) = start, end
        steps = max(abs(to_x - x), abs(to_y - y), 1)
        for step in range(steps + 1):
            self.dot(round(x + (to_x - x) * step / steps), round(y + (to_y - y) * step / steps), colour)

    def rows(self) -> list[list[tuple[str, str]]]:
        """The signs and their colours, row by row; empty places are blanks."""
        return [
            [(chr(0x2800 + bits) if bits else " ", colour) for bits, colour in zip(line, colours, strict=True)]
            for line, colours in zip(self._bits, self._colours, strict=True)
        ]


def curve_lines(
    series: Sequence[tuple[str, Sequence[tuple[float, float]]]], width: int, height: int
) -> list[list[tuple[str, str]]]:
    """Rows of signs and colours: curves with the numbers of both axes; nothing where there are no points.

    Args:
        series: The colour and the points (x, y) of each curve.
        width: Places across.
        height: Rows.

    Example:
        >>> for row in curve_lines([("blue", [(1, 0.0), (2, 1.0)])], 12, 4):
        ...     print("".join(sign for sign, _ in row).rstrip())
           1│    ⢀⡠⠊
            │  ⢀⠔⠁
           0│⡠⠊⠁
             1     2
    """
    known = [(colour, [(x, y) for x, y in points if math.isfinite(y)]) for colour, points in series]
    known = [(colour, points) for colour, points in known if points]
    if not known or width < 10 or height < 3:
        return []
    xs = [x for _, points in known for x, _ in points]
    ys = [y for _, points in known for _, y in points]
    labels = [f"{max(ys):.3g}", f"{min(ys):.3g}"]
    margin = max(4, *map(len, labels))
    canvas = Canvas(width - margin - 1, height - 1)
    across = _scale(min(xs), max(xs), canvas.width * 2 - 1)
    down = _scale(max(ys), min(ys), canvas.height * 4 - 1)
    for colour, points in known:
        places = [(across(x), down(y)) for x, y in points]
        for start, end in zip(places, places[1:] or places, strict=False):
            canvas.line(start, end, colour)
    rows = []
    for number, row in enumerate(canvas.rows()):
        label = labels[0] if number == 0 else labels[1] if number == canvas.height - 1 else ""
        rows.append([(f"{label:>{margin}}│", "dim"), *row])
    first, last = f"{min(xs):g}", f"{max(xs):g}"
    gap = max(1, canvas.width - len(first) - len(last))
    return [*rows, [(" " * (margin + 1) + first + " " * gap + last, "dim")]]


def _scale(low: float, high: float, length: int) -> Callable[[float], int]:
    if low == high:
        return lambda value: length // 2
    return lambda value: round((value - low) / (high - low) * length)
