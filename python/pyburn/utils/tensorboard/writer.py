"""SummaryWriter: numbers, texts, pictures and histograms for TensorBoard."""

from __future__ import annotations

import bisect
import importlib
import math
import os
import socket
import threading
import time
from collections.abc import Mapping
from typing import Any

from pyburn import _core, ops
from pyburn._core import Tensor
from pyburn.utils.tensorboard import _images, _projector, _records

__all__ = ["FileWriter", "SummaryWriter"]

_count = 0


class FileWriter:
    """One event file; its name is unique on this machine."""

    def __init__(self, log_dir: str, max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = "") -> None:
        global _count
        os.makedirs(log_dir, exist_ok=True)
        _count += 1
        where = f"{socket.gethostname()}.{os.getpid()}.{_count}"
        name = f"events.out.tfevents.{int(time.time()):010d}.{where}{filename_suffix}"
        self._log_dir = log_dir
        self._lock = threading.Lock()
        self._waiting = 0
        self._max_queue, self._flush_secs = max_queue, flush_secs
        self._flushed = time.monotonic()
        self._file = open(os.path.join(log_dir, name), "ab")  # noqa: SIM115
        self._file.write(_records.record(_records.event(time.time(), None, version="brain.Event:2")))
        self._file.flush()

    def restart(self, step: int) -> None:
        """Nothing; what earlier files of the folder say of `step` and of later steps is forgotten."""
        with self._lock:
            self._file.write(_records.record(_records.event(time.time(), step, restart=True)))
            self._flush()

    def add_graph(self, graph: bytes) -> None:
        """Nothing; the graph is in the file."""
        with self._lock:
            self._file.write(_records.record(_records.event(time.time(), None, graph=graph)))
            self._flush()

    def get_logdir(self) -> str:
        """The folder."""
        return self._log_dir

    def add(self, values: list[bytes], step: int | None, walltime: float | None) -> None:
        """Nothing; the values are in the file, on disk after a while or after `flush`."""
        moment = time.time() if walltime is None else walltime
        with self._lock:
            self._file.write(_records.record(_records.event(moment, step, values=values)))
            self._waiting += 1
            if self._waiting >= self._max_queue or time.monotonic() - self._flushed > self._flush_secs:
                self._flush()

    def _flush(self) -> None:
        self._file.flush()
        self._waiting, self._flushed = 0, time.monotonic()

    def flush(self) -> None:
        """Nothing; all values are on disk."""
        with self._lock:
            self._flush()

    def close(self) -> None:
        """Nothing; the file is complete."""
        with self._lock:
            self._file.close()

    @property
    def closed(self) -> bool:
        """Whether the file is complete."""
        return self._file.closed


def _number(value: Any) -> float:
    return float(value.item()) if hasattr(value, "item") else float(value)


def _step(value: Any) -> int | None:
    return None if value is None else int(_number(value))


class SummaryWriter:
    """Writes what TensorBoard shows into files of a folder.

    Args:
        log_dir: The folder; left out, ``runs/<date>_<machine>`` followed by `comment`.
        comment: The end of that name.
        purge_step: What earlier files of the folder say of this step and of later ones is not shown.
        max_queue: After how many values the file is brought to disk.
        flush_secs: After how many seconds.
        filename_suffix: The end of the file's name.

    Example:
        >>> import os, tempfile
        >>> from pyburn.utils.tensorboard import SummaryWriter
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with SummaryWriter(folder) as writer:
        ...         writer.add_scalar("loss", 0.5, 1)
        ...     len(os.listdir(folder))
        1
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            now = time.strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = str(log_dir)
        self.purge_step = purge_step
        self._options = (max_queue, flush_secs, filename_suffix)
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] = {}
        self._limits = _images.default_limits()
        self._projector: _projector.Projector | None = None
        self._get_file_writer()

    def _get_file_writer(self) -> FileWriter:
        if self.file_writer is None or self.file_writer.closed:
            self.file_writer = self._open(self.log_dir)
        return self.file_writer

    def _open(self, folder: str) -> FileWriter:
        if folder not in self.all_writers or self.all_writers[folder].closed:
            self.all_writers[folder] = FileWriter(folder, *self._options)
            if self.purge_step is not None:
                self.all_writers[folder].restart(self.purge_step)
                self.purge_step = None
        return self.all_writers[folder]

    def get_logdir(self) -> str:
        """The folder."""
        return self.log_dir

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Nothing; the curve `tag` has one more point."""
        value = _records.scalar_value(tag, _number(scalar_value))
        self._get_file_writer().add([value], _step(global_step), walltime)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: Mapping[str, Any], global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Nothing; several curves of one picture have one more point each, in a folder for each of them."""
        for tag, value in tag_scalar_dict.items():
            folder = os.path.join(self.log_dir, f"{main_tag.replace('/', '_')}_{tag}")
            record = _records.scalar_value(main_tag, _number(value))
            self._open(folder).add([record], _step(global_step), walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: str | Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Nothing; the histogram `tag` has one more row.

        Raises:
            ValueError: There are no values.
        """
        numbers = ops.as_tensor(values).detach().cpu().to(_core.float64).reshape(-1)
        if numbers.numel() == 0:
            raise ValueError("The input has no element.")
        low, *limits = [-math.inf, *self._limits] if isinstance(bins, str) else [float(edge) for edge in bins]
        facts, edges, counts = _count_values(numbers, low, limits)
        value = _records.histogram_value(tag, facts, edges, counts)
        self._get_file_writer().add([value], _step(global_step), walltime)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Nothing; the picture `tag` has one more version."""
        self._add_picture(tag, _images.as_picture(img_tensor, dataformats), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Nothing; the pictures are shown as one, in rows of at most eight."""
        self._add_picture(tag, _images.grid_of(img_tensor, dataformats), global_step, walltime)

    def _add_picture(self, tag: str, picture: Tensor, global_step: Any, walltime: float | None) -> None:
        height, width, channels = picture.shape
        value = _records.image_value(tag, height, width, channels, _images.png(picture))
        self._get_file_writer().add([value], _step(global_step), walltime)

    def add_figure(
        self, tag: str, figure: Any, global_step: Any = None, close: bool = True, walltime: float | None = None
    ) -> None:
        """Nothing; matplotlib's figure, or a list of them, is shown as a picture."""
        for one in figure if isinstance(figure, list) else [figure]:
            one.canvas.draw()
            pixels = ops.frombuffer(bytearray(one.canvas.buffer_rgba()), dtype=_core.uint8)
            width, height = one.canvas.get_width_height()
            self._add_picture(tag, pixels.reshape(height, width, 4)[..., :3], global_step, walltime)
            if close:
                import matplotlib.pyplot

                matplotlib.pyplot.close(one)

    def add_text(self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None) -> None:
        """Nothing; the text, which may be Markdown, is shown under `tag`."""
        value = _records.tensor_text_value(f"{tag}/text_summary", text_string)
        self._get_file_writer().add([value], _step(global_step), walltime)

    def add_hparams(
        self,
        hparam_dict: Mapping[str, Any],
        metric_dict: Mapping[str, Any],
        hparam_domain_discrete: Any = None,
        run_name: str | None = None,
        global_step: Any = None,
    ) -> None:
        """Nothing; a run with these hyperparameters and results is in the table of runs."""
        now = time.time()
        plain = {
            name: value if isinstance(value, bool | int | float | str) else _plain(name, value)
            for name, value in hparam_dict.items()
        }
        writer = self._open(os.path.join(self.log_dir, run_name or str(now)))
        messages = {
            "_hparams_/experiment": _records.hparams_experiment(plain, list(metric_dict), now),
            "_hparams_/session_start_info": _records.hparams_session_start(plain, now),
            "_hparams_/session_end_info": _records.hparams_session_end(now),
        }
        for tag, content in messages.items():
            writer.add([_records.hparams_value(tag, content)], None, now)
        for name, value in metric_dict.items():
            writer.add([_records.scalar_value(name, _number(value))], _step(global_step), now)

    def add_graph(
        self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True
    ) -> None:
        """Nothing; the graph of the model is shown: its layers and functions, with the shapes between them.

        Args:
            model: A module.
            input_to_model: A tensor, or a tuple of the model's arguments.
            verbose: Print the graph as well.
            use_strict_trace: Has no meaning here: the graph is what one run does.
        """
        if input_to_model is None:
            raise ValueError("add_graph: give input_to_model, an input that the model is run with once")
        plot = importlib.import_module("pyburn.nn.graph").plot  # a layer above: only who draws a graph needs it
        drawn = plot(model, input_to_model)
        if verbose:
            print(drawn)
        self._get_file_writer().add_graph(_records.graph(_graph_nodes(drawn)))

    def add_embedding(
        self,
        mat: Any,
        metadata: Any = None,
        label_img: Any = None,
        global_step: Any = None,
        tag: str = "default",
        metadata_header: Any = None,
    ) -> None:
        """Nothing; the projector shows the rows of `mat` as points.

        Args:
            mat: The points, of shape (N, D).
            metadata: A label for each point, or with `metadata_header` a list of labels.
            label_img: A picture for each point, of shape (N, C, H, W).
            global_step: The step of the run.
            tag: The name of this set of points.
            metadata_header: The names of the columns of labels.
        """
        if self._projector is None:
            self._projector = _projector.Projector(self.log_dir)
        self._projector.add(mat, metadata, label_img, global_step, tag, metadata_header)

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Nothing; the curve of precision over recall of these predictions is shown under `tag`.

        Args:
            tag: The name of the curve.
            labels: What is true, 0 or 1.
            predictions: How likely each was found to be, from 0 to 1.
            global_step: The step of the run.
            num_thresholds: How many points the curve has, at most 127.
            weights: How much each counts.
            walltime: The time of the event.
        """
        value = _records.curve_value(tag, *_projector.curve(labels, predictions, num_thresholds, weights))
        self._get_file_writer().add([value], _step(global_step), walltime)

    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: Any,
        false_positive_counts: Any,
        true_negative_counts: Any,
        false_negative_counts: Any,
        precision: Any,
        recall: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Nothing; the curve of precision over recall with these numbers at its thresholds is shown under `tag`."""
        counts = (true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts)
        rows = _projector.raw_curve((*counts, precision, recall), num_thresholds)
        self._get_file_writer().add([_records.curve_value(tag, *rows)], _step(global_step), walltime)

    def flush(self) -> None:
        """Nothing; all values are on disk."""
        for writer in self.all_writers.values():
            if not writer.closed:
                writer.flush()

    def close(self) -> None:
        """Nothing; the files are complete."""
        for writer in self.all_writers.values():
            writer.close()
        self.all_writers.clear()
        self.file_writer = None

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _graph_nodes(drawn: Any) -> list[tuple[str, str, list[str], list[tuple[int, ...]]]]:
    """Nodes as TensorBoard knows them: names are paths, so that it can fold what belongs together."""
    names: dict[int, str] = {}
    for node in drawn.nodes:
        place = node.name.replace(".", "/").replace(" ", "_")
        name = f"{place}/{node.kind}" if place and node.family not in ("input", "output") else place or node.kind
        names[node.id] = name if name not in names.values() else f"{name}_{node.id}"
    made = []
    for node in drawn.nodes:
        inputs = [names[edge.source] for edge in drawn.edges if edge.target == node.id]
        shape = next((edge.shape for edge in drawn.edges if edge.source == node.id), None)
        made.append((names[node.id], node.kind, inputs, [] if shape is None else [shape]))
    return made


def _plain(name: str, value: Any) -> bool | int | float | str:
    if isinstance(value, Tensor) and value.numel() == 1:
        number: int | float = value.item()
        return number
    raise ValueError(f"add_hparams: value of {name!r} should be one of int, float, str, bool, or a one-element tensor")


def _count_values(
    numbers: Tensor, low: float, limits: list[float]
) -> tuple[tuple[float, float, float, float, float], list[float], list[float]]:
    """Minimum, maximum, count, sum and sum of squares, and the edges and counts without the empty ends."""
    values = numbers.tolist()
    counts = [0.0] * len(limits)
    for value in values:
        # A value belongs to the first edge above it; one outside all edges is left out, as numpy does.
        place = bisect.bisect_right(limits, value)
        place = place - 1 if place == len(limits) and value == limits[-1] else place
        if place < len(limits) and value >= low:
            counts[place] += 1.0
    used = [number for number, count in enumerate(counts) if count]
    facts = (min(values), max(values), float(len(values)), sum(values), sum(value * value for value in values))
    if not used:
        return facts, [limits[-1]], [0.0]
    first, last = max(used[0] - 1, 0), used[-1] + 1
    return facts, limits[first:last], counts[first:last]
