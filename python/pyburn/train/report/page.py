"""A run as one page of HTML that needs nothing else: no network, no other file."""

from __future__ import annotations

import base64
import html
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyburn._core import Tensor
from pyburn.train.renderers import text
from pyburn.train.report import charts
from pyburn.utils.tensorboard import _images

_HERE = Path(__file__).parent

__all__ = ["Content", "Prediction", "page", "picture"]

_SPLITS = {"train": "train", "valid": "valid", "val": "valid"}  # the last as Lightning's modules log it
_VALID = ("valid_", "val_", "val/")


@dataclass
class Prediction:
    """One sample as the page shows it."""

    index: int
    loss: float
    lines: list[str]
    image: str | None = None


@dataclass
class Content:
    """All that a page shows."""

    title: str
    status: str
    history: list[dict[str, Any]]
    batches: list[tuple[int, float]] = field(default_factory=list)
    monitor: str = "valid_loss"
    best: int | None = None
    stopped: str | None = None
    split: str = "valid"
    confusion: list[list[int]] | None = None
    classes: list[str] = field(default_factory=list)
    worst: list[Prediction] = field(default_factory=list)
    layers: list[tuple[str, str, str, str]] = field(default_factory=list)
    sums: list[str] = field(default_factory=list)
    graph: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)


def page(content: Content) -> str:
    """The page; its numbers also stand as JSON in the element `run`."""
    sections = [
        _header(content),
        _tiles(content),
        _section("Curves", _curves(content), "curves"),
        _section(f"Confusion matrix ({html.escape(content.split)})", _confusion(content), "confusion"),
        _section(f"Worst predictions ({html.escape(content.split)})", _worst(content), "worst"),
        _section("Model", _model(content), "model"),
        _section("Settings", _table(content.settings), "settings"),
        _section("Environment", _table(content.environment), "environment"),
    ]
    # No "<" at all: "</script" would end the block, and "<!--<script" would hide its end.
    data = json.dumps(_data(content)).replace("<", "\\u003c")
    style, script = ((_HERE / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    footer = "<footer>Written by pyburn. This page is one file and needs no network.</footer>"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(content.title)}</title><style>{style}</style></head>"
        f"<body><main>{''.join(sections)}{footer}"
        f'</main><script type="application/json" id="run">{data}</script><script>{script}</script></body></html>\n'
    )


def _data(content: Content) -> dict[str, Any]:
    """The numbers of the page; what JSON has no word for is null."""
    history = [{name: _plain(value) for name, value in line.items()} for line in content.history]
    return {
        "history": history,
        "batches": [[step, _plain(loss)] for step, loss in content.batches],
        "best_epoch": content.best,
        "monitor": content.monitor,
        "stopped": content.stopped,
        "confusion": content.confusion,
        "classes": content.classes,
        "worst": [{"index": each.index, "loss": _plain(each.loss)} for each in content.worst],
        "settings": {name: str(value) for name, value in content.settings.items()},
        "environment": content.environment,
    }


def _plain(value: Any) -> Any:
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, (int, float, str)) else str(value)


def _section(title: str, body: str, name: str) -> str:
    return f'<section id="{name}"><h2>{title}</h2>{body}</section>' if body else ""


def _header(content: Content) -> str:
    stopped = ""
    if content.stopped:
        stopped = f'<p class="stopped" id="stopped">Stopped early: {html.escape(content.stopped)}</p>'
    return (
        f"<header><h1>{html.escape(content.title)}</h1><p>{html.escape(content.status)}</p>"
        f"<button>light / dark</button></header>{stopped}"
    )


def _tiles(content: Content) -> str:
    if not content.history:
        return ""
    last, tiles = content.history[-1], []
    chosen = next((line for line in content.history if line.get("epoch") == content.best), last)
    validated = any(key.startswith(_VALID) for key in chosen)
    for name, value in chosen.items():
        shown = name.startswith(_VALID) if validated else name == "train_loss"
        if shown and text.is_number(value):
            tiles.append((text.number(value), f"{name}, epoch {chosen['epoch']}"))
    seconds = sum(line.get("seconds", 0.0) for line in content.history)
    epochs = len(content.history)
    tiles += [(f"{epochs}", "epochs" if epochs > 1 else "epoch"), (f"{last.get('step', 0):,}", "steps")]
    tiles += [(text.duration(seconds), "training and validation")]
    return '<div class="tiles">' + "".join(_tile(*tile) for tile in tiles) + "</div>"


def _tile(value: str, name: str) -> str:
    return f'<div class="tile"><b>{html.escape(value)}</b><span>{html.escape(name)}</span></div>'


def _curves(content: Content) -> str:
    figures = []
    for name, entries in _charted(content.history).items():
        series = {split: _points(content.history, key) for split, key in entries.items()}
        figures.append(charts.curves(name, series, best=content.best))
    rates = _points(content.history, "lr")
    if len({rate for _, rate in rates}) > 1:
        figures.append(charts.curves("learning rate", {"lr": rates}))
    if content.batches:
        figures.append(charts.curves("loss of each batch", {"loss": content.batches}, axis="step"))
    return f'<div class="charts">{"".join(figures)}</div>' if any(figures) else ""


def _charted(history: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """For each chart its curves by split, and the entry of an epoch's line that each shows.

    Example:
        >>> _charted([{"epoch": 1, "train_loss": 0.5, "val_loss": 0.6, "norm": 2.0}])
        {'loss': {'train': 'train_loss', 'valid': 'val_loss'}, 'norm': {'value': 'norm'}}
    """
    found: dict[str, dict[str, str]] = {}
    for key in dict.fromkeys(key for line in history for key in line if text.is_number(line[key])):
        split, _, name = key.replace("/", "_", 1).partition("_")
        if split in _SPLITS and name:
            found.setdefault(name, {}).setdefault(_SPLITS[split], key)
        elif key not in ("epoch", "step", "lr", "seconds"):
            found.setdefault(key, {}).setdefault("value", key)
    return found


def _points(history: Sequence[Mapping[str, Any]], name: str) -> list[tuple[float, float]]:
    return [(line["epoch"], float(line[name])) for line in history if name in line and text.is_number(line[name])]


def _confusion(content: Content) -> str:
    counts = content.confusion
    if not counts or not any(map(any, counts)):
        return ""
    names = content.classes
    matrix = charts.confusion(counts, names)
    rows = []
    for index, row in enumerate(counts):
        found, given, right = sum(row), sum(line[index] for line in counts), row[index]
        precision, recall = right / given if given else math.nan, right / found if found else math.nan
        cells = "".join(f'<td class="number">{cell}</td>' for cell in (_share(precision), _share(recall), found))
        rows.append(f"<tr><td>{html.escape(names[index])}</td>{cells}</tr>")
    columns = "".join(f'<th class="number">{name}</th>' for name in ("precision", "recall", "samples"))
    head = f"<tr><th>class</th>{columns}</tr>"
    table = f'<div class="card"><table>{head}{"".join(rows)}</table></div>'
    return f'<div class="pair">{f"""<div class="card">{matrix}</div>""" if matrix else ""}{table}</div>'


def _share(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.1%}"


def _worst(content: Content) -> str:
    cards = []
    for each in content.worst:
        image = "" if each.image is None else f'<img alt="sample {each.index}" src="{each.image}">'
        lines = "<br>".join(html.escape(line) for line in each.lines)
        cards.append(
            f'<div class="card" data-index="{each.index}">{image}<b>loss {text.number(each.loss)}</b>'
            f'<br>{lines}<br><span class="quiet">sample {each.index}</span></div>'
        )
    return f'<div class="worst">{"".join(cards)}</div>' if cards else ""


def _model(content: Content) -> str:
    head = '<tr><th>layer</th><th>output</th><th class="number">parameters</th><th class="number">MACs</th></tr>'
    rows = "".join(
        f'<tr><td class="layer">{html.escape(layer)}</td><td>{html.escape(output)}</td>'
        f'<td class="number">{weights}</td><td class="number">{macs}</td></tr>'
        for layer, output, weights, macs in content.layers
    )
    if not rows:
        return ""
    sums = "<br>".join(html.escape(line) for line in content.sums)
    graph = f'<div class="card model">{content.graph}</div>' if content.graph else ""
    return f'<div class="card"><table>{head}{rows}</table><p class="quiet">{sums}</p></div>{graph}'


def _table(values: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<tr><th>{html.escape(name)}</th><td><code>{html.escape(str(value))}</code></td></tr>"
        for name, value in values.items()
    )
    return f'<div class="card"><table>{rows}</table></div>' if rows else ""


def picture(values: Tensor) -> str | None:
    """One input as a PNG within the page, where it looks like a picture: (H, W), (C, H, W) with 1, 3 or 4 channels."""
    if values.dim() == 2 and min(values.shape) >= 6:
        values = values.unsqueeze(0)
    if values.dim() != 3 or values.shape[0] not in (1, 3, 4) or min(values.shape[1:]) < 2 or values.numel() > 4_000_000:
        return None
    if values.is_floating_point():
        low, high = float(values.min()), float(values.max())
        if not math.isfinite(low) or not math.isfinite(high):
            return None
        if low < 0 or high > 1:  # normalised: darkest and brightest are unknown
            values = (values - low) / max(high - low, 1e-12)
    data = base64.b64encode(_images.png(_images.as_picture(values, "CHW"))).decode()
    return f"data:image/png;base64,{data}"
