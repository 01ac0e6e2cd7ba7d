"""Pictures of a graph: SVG as text, and the same picture as PNG."""

from __future__ import annotations

import html
import io
import itertools
from collections.abc import Sequence

from pyburn.nn.graph.layout import Layout, layout
from pyburn.nn.graph.trace import Edge, Node

__all__ = ["png", "svg"]

# Fill and border of each family in light; a dark page shows the borders' colours as text on dark boxes.
COLOURS = {
    "input": ("#e9edf4", "#667085"),
    "output": ("#e9edf4", "#667085"),
    "conv": ("#dbe8ff", "#2f6fde"),
    "linear": ("#e4deff", "#6741d9"),
    "norm": ("#e3f4ec", "#12855d"),
    "pool": ("#fdf0d5", "#a86a00"),
    "active": ("#ffe6dc", "#d1521a"),
    "function": ("#ffffff", "#98a2b3"),
    "group": ("#eef1f6", "#344054"),
    "other": ("#f2f4f7", "#475467"),
}
LETTER, LINE = 6.7, 15


def _texts(node: Node) -> list[str]:
    """The lines of a box: what it is, then where it is in the model."""
    if node.family in ("input", "output"):
        return [node.name]
    first = f"{node.kind} {node.detail}".strip()
    return [first, node.name] if node.name and node.family != "function" else [first]


def _arranged(nodes: Sequence[Node], edges: Sequence[Edge]) -> tuple[list[tuple[float, float]], Layout]:
    sizes = []
    for node in nodes:
        lines = _texts(node)
        sizes.append((max(56.0, 20 + LETTER * max(map(len, lines))), 12.0 + LINE * len(lines)))
    place = {node.id: number for number, node in enumerate(nodes)}
    return sizes, layout(sizes, [(place[edge.source], place[edge.target]) for edge in edges])


def svg(nodes: Sequence[Node], edges: Sequence[Edge]) -> str:
    """The picture as one SVG element; nodes and edges have `data-` attributes that say what they are."""
    sizes, made = _arranged(nodes, edges)
    drawn = zip(edges, made.paths, _meeting(edges), strict=True)
    parts = [_edge(edge, path, sizes, _ends(nodes, edge), several) for edge, path, several in drawn]
    parts += [_box(node, made.places[number], sizes[number]) for number, node in enumerate(nodes)]
    # Outside of a page with its own colours the picture follows the reader's choice of light or dark.
    rules = "".join(f".pb-{name} rect{{fill:{fill};stroke:{line}}}" for name, (fill, line) in COLOURS.items())
    dark = "".join(f".pb-{name} rect{{fill:#1f2530;stroke:{line}}}" for name, (_, line) in COLOURS.items())
    style = (
        f"{rules}.pb-node text{{font:12px system-ui,sans-serif;fill:#1d2430;text-anchor:middle}}"
        ".pb-node .where{fill:#667085;font-size:11px}.pb-edge{fill:none;stroke:#98a2b3;stroke-width:1.4}"
        ".pb-shape{font:10px ui-monospace,monospace;fill:#667085}"
        f"@media(prefers-color-scheme:dark){{{dark}.pb-node text{{fill:#e7eaf0}}"
        ".pb-node .where,.pb-shape{fill:#98a2b3}}"
    )
    arrow = (
        '<defs><marker id="pb-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#98a2b3"/></marker></defs>'
    )
    size = f'width="{made.width:.0f}" height="{made.height:.0f}" viewBox="0 0 {made.width:.0f} {made.height:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="graph of the model">'
    return f"{head}<style>{style}</style>{arrow}{''.join(parts)}</svg>"


def _ends(nodes: Sequence[Node], edge: Edge) -> tuple[int, int]:
    place = {node.id: number for number, node in enumerate(nodes)}
    return place[edge.source], place[edge.target]


def _box(node: Node, middle: tuple[float, float], size: tuple[float, float]) -> str:
    (x, y), (width, height) = middle, size
    lines = _texts(node)
    words = []
    for number, line in enumerate(lines):
        kind = ' class="where"' if number else ""
        at = y + (number - (len(lines) - 1) / 2) * LINE + 4
        words.append(f'<text{kind} x="{x:.1f}" y="{at:.1f}">{html.escape(line)}</text>')
    double = ' stroke-width="2.4"' if node.collapsed else ""
    return (
        f'<g class="pb-node pb-{node.family}" data-id="{node.id}" data-kind="{html.escape(node.kind)}" '
        f'data-name="{html.escape(node.name)}"><rect x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" '
        f'width="{width:.1f}" height="{height:.1f}" rx="6"{double}/>{"".join(words)}</g>'
    )


def _points(
    path: Sequence[tuple[float, float]], sizes: Sequence[tuple[float, float]], ends: tuple[int, int]
) -> list[tuple[float, float]]:
    """The places of an edge from the lower side of one box to the upper side of another."""
    points = list(path)
    points[0] = (points[0][0], points[0][1] + sizes[ends[0]][1] / 2)
    points[-1] = (points[-1][0], points[-1][1] - sizes[ends[1]][1] / 2 - 1)
    return points


def _edge(
    edge: Edge,
    path: Sequence[tuple[float, float]],
    sizes: Sequence[tuple[float, float]],
    ends: tuple[int, int],
    several: bool,
) -> str:
    points = _points(path, sizes, ends)
    parts = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for (x, y), (to_x, to_y) in itertools.pairwise(points):
        half = (y + to_y) / 2
        parts.append(f"C{x:.1f} {half:.1f} {to_x:.1f} {half:.1f} {to_x:.1f} {to_y:.1f}")
    shape = "x".join(map(str, edge.shape))
    x, y, right = _label(points, several)
    anchor = "" if right else ' text-anchor="end"'
    return (
        f'<path class="pb-edge" data-from="{edge.source}" data-to="{edge.target}" data-shape="{shape}" '
        f'd="{"".join(parts)}" marker-end="url(#pb-arrow)"/>'
        f'<text class="pb-shape" x="{x:.1f}" y="{y:.1f}"{anchor}>{shape}</text>'
    )


def _label(points: Sequence[tuple[float, float]], several: bool) -> tuple[float, float, bool]:
    """A place beside the middle of the last part, and whether the text begins there: on the side without neighbours."""
    (x, y), (to_x, to_y) = points[-2:]
    lean = x - to_x if several else to_x - x
    right = lean > -4
    return (x + to_x) / 2 + (5 if right else -5), (y + to_y) / 2 + 3, right


def _meeting(edges: Sequence[Edge]) -> list[bool]:
    """For each edge whether it meets others where it ends, and so comes from its own side."""
    ends = [edge.target for edge in edges]
    return [ends.count(edge.target) > 1 for edge in edges]


def png(nodes: Sequence[Node], edges: Sequence[Edge], scale: float = 2.0) -> bytes:
    """The picture as the bytes of a PNG file."""
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ModuleNotFoundError:
        raise ModuleNotFoundError("plot: a PNG needs the package Pillow: pip install pillow; or save an .svg") from None
    sizes, made = _arranged(nodes, edges)
    image = Image.new("RGB", (round(made.width * scale), round(made.height * scale)), "white")
    pen = ImageDraw.Draw(image)
    fonts = [ImageFont.load_default(size * scale) for size in (12, 11, 10)]
    for edge, path, several in zip(edges, made.paths, _meeting(edges), strict=True):
        points = _points(path, sizes, _ends(nodes, edge))
        pen.line([(x * scale, y * scale) for x, y in _smooth(points)], fill="#98a2b3", width=round(1.4 * scale))
        x, y = (points[-1][0] * scale, points[-1][1] * scale)
        pen.polygon([(x - 3 * scale, y - 6 * scale), (x + 3 * scale, y - 6 * scale), (x, y)], fill="#98a2b3")
        x, y, right = _label(points, several)
        anchor = "lm" if right else "rm"
        pen.text((x * scale, y * scale), "x".join(map(str, edge.shape)), fill="#667085", font=fonts[2], anchor=anchor)
    for number, node in enumerate(nodes):
        (x, y), (width, height) = made.places[number], sizes[number]
        corners = [each * scale for each in (x - width / 2, y - height / 2, x + width / 2, y + height / 2)]
        fill, line = COLOURS[node.family]
        wide = round((2.4 if node.collapsed else 1) * scale)
        pen.rounded_rectangle(corners, 6 * scale, fill=fill, outline=line, width=wide)
        lines = _texts(node)
        for place, text in enumerate(lines):
            at = (x * scale, (y + (place - (len(lines) - 1) / 2) * LINE) * scale)
            text = text.replace("→", ">")  # which Pillow's own font does not have
            pen.text(at, text, fill="#667085" if place else "#1d2430", font=fonts[min(place, 1)], anchor="mm")
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def _smooth(points: Sequence[tuple[float, float]], steps: int = 12) -> list[tuple[float, float]]:
    """Places along the curves of an edge."""
    found = [points[0]]
    for (x, y), (to_x, to_y) in itertools.pairwise(points):
        half = (y + to_y) / 2
        for step in range(1, steps + 1):
            t = step / steps
            a, b, c, d = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3
            found.append(((a + b) * x + (c + d) * to_x, a * y + (b + c) * half + d * to_y))
    return found
