"""TensorBoard itself reads our event files, and finds in them what it finds in torch's."""

import io

import numpy as np
import pyburn
import pytest
import torch
import torch.utils.tensorboard
from google.protobuf import text_format
from PIL import Image
from pyburn import nn, train
from pyburn.utils.tensorboard import SummaryWriter
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.plugins.hparams import plugin_data_pb2
from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig
from train import runs

EVERYTHING = dict.fromkeys(("scalars", "histograms", "images", "tensors", "compressedHistograms"), 0)


def read(folder):
    found = EventAccumulator(str(folder), size_guidance=EVERYTHING)
    found.Reload()
    return found


@pytest.fixture
def pair(tmp_path):
    """Both libraries' writers after the same calls, as TensorBoard reads them."""

    def write(calls):
        for name, library, writer in (
            ("ours", pyburn, SummaryWriter),
            ("theirs", torch, torch.utils.tensorboard.SummaryWriter),
        ):
            with writer(str(tmp_path / name)) as made:
                calls(made, library)
        return read(tmp_path / "ours"), read(tmp_path / "theirs")

    return write


def test_scalars(pair):
    def calls(writer, lib):
        for step in range(5):
            writer.add_scalar("a/b", lib.tensor(step / 3), step, walltime=100.0 + step)
            writer.add_scalar("c", float("nan") if step == 2 else -step, step, walltime=5.0)

    ours, theirs = pair(calls)
    assert ours.Tags()["scalars"] == theirs.Tags()["scalars"] == ["a/b", "c"]
    assert ours.Scalars("a/b") == theirs.Scalars("a/b")
    assert str(ours.Scalars("c")) == str(theirs.Scalars("c"))


@pytest.mark.parametrize("kind", ["normal", "one value", "negative", "spread"])
def test_histograms(pair, kind):
    values = {
        "normal": np.random.default_rng(0).normal(size=500),
        "one value": np.full(7, 0.25),
        "negative": -np.arange(1.0, 50.0),
        "spread": np.logspace(-9, 9, 100),
    }[kind].astype(np.float32)
    ours, theirs = pair(lambda writer, lib: writer.add_histogram("h", lib.tensor(values), 3, walltime=1.0))
    one, other = (found.Histograms("h")[0] for found in (ours, theirs))
    assert one.step == other.step == 3
    for name in ("min", "max", "num", "sum", "sum_squares"):
        assert getattr(one.histogram_value, name) == pytest.approx(getattr(other.histogram_value, name), rel=1e-6)
    assert one.histogram_value.bucket == other.histogram_value.bucket
    assert np.allclose(one.histogram_value.bucket_limit, other.histogram_value.bucket_limit)


def test_images(pair):
    pixels = np.random.default_rng(0).random((5, 3, 6, 4)).astype(np.float32)

    def calls(writer, lib):
        writer.add_image("one", lib.tensor(pixels[0]), 1)
        writer.add_images("many", lib.tensor(pixels), 1)

    found = pair(calls)
    for tag in ("one", "many"):
        one, other = (each.Images(tag)[0] for each in found)
        assert (one.width, one.height) == (other.width, other.height)
        pictures = [np.asarray(Image.open(io.BytesIO(each.encoded_image_string)), int) for each in (one, other)]
        assert np.abs(pictures[0] - pictures[1]).max() <= 1


def test_texts(pair):
    ours, theirs = pair(lambda writer, lib: writer.add_text("note", "**bold** ä", 2))
    assert ours.Tags()["tensors"] == theirs.Tags()["tensors"]
    tag = ours.Tags()["tensors"][0]
    one, other = (each.Tensors(tag)[0].tensor_proto for each in (ours, theirs))
    assert one.string_val == other.string_val
    assert one.dtype == other.dtype
    assert ours.SummaryMetadata(tag).plugin_data.plugin_name == "text"


def test_hyperparameters(tmp_path):
    parts = []
    for name, writer in (("ours", SummaryWriter), ("theirs", torch.utils.tensorboard.SummaryWriter)):
        with writer(str(tmp_path / name)) as made:
            made.add_hparams({"lr": 0.1, "kind": "adam", "n": 3}, {"hparam/loss": 0.5}, run_name="run")
        found = read(tmp_path / name / "run")
        assert found.Scalars("hparam/loss")[0].value == 0.5
        contents = found.PluginTagToContent("hparams")
        data = plugin_data_pb2.HParamsPluginData.FromString(contents["_hparams_/session_start_info"])
        experiment = plugin_data_pb2.HParamsPluginData.FromString(contents["_hparams_/experiment"])
        parts.append(
            (
                {key: str(value) for key, value in data.session_start_info.hparams.items()},
                sorted((info.name, info.type) for info in experiment.experiment.hparam_infos),
                [info.name.tag for info in experiment.experiment.metric_infos],
            )
        )
    assert parts[0] == parts[1]


def test_graphs(tmp_path):
    class Skip(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Sequential(nn.Linear(3, 3), nn.ReLU())

        def forward(self, x):
            return self.inner(x) + x

    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_graph(Skip(), pyburn.zeros(2, 3))
        with pytest.raises(ValueError, match="give input_to_model"):
            writer.add_graph(Skip())
    graph = read(tmp_path).Graph()
    assert isinstance(graph, GraphDef)
    nodes = {node.name: node for node in graph.node}
    assert list(nodes["add"].input) == ["inner/1/ReLU", "input"]
    assert list(nodes["inner/1/ReLU"].input) == ["inner/0/Linear"]
    assert nodes["inner/0/Linear"].op == "Linear"
    shape = nodes["input"].attr["_output_shapes"].list.shape[0]
    assert [size.size for size in shape.dim] == [2, 3]


def test_a_restart_forgets_what_came_after(tmp_path):
    with SummaryWriter(str(tmp_path)) as writer:
        for step in range(6):
            writer.add_scalar("x", step, step)
    with SummaryWriter(str(tmp_path), purge_step=3, filename_suffix=".again") as writer:
        for step in range(3, 5):
            writer.add_scalar("x", step * 10, step)
    assert [(each.step, each.value) for each in read(tmp_path).Scalars("x")] == [
        (0, 0),
        (1, 1),
        (2, 2),
        (3, 30),
        (4, 40),
    ]


def test_runs_of_a_learner(tmp_path):
    class Settings(train.Config):
        width: int = 3

    made = runs.learner(tmp_path, metrics=["accuracy"], config=Settings())
    runs.fit(made, 2)
    again = runs.learner(tmp_path, metrics=["accuracy"], config=Settings())
    runs.fit(again, 3, resume=True)
    found = read(tmp_path)
    for name in ("train_loss", "valid_loss", "valid_accuracy"):
        points = found.Scalars(name.replace("_", "/", 1))
        assert [point.step for point in points] == [line["step"] for line in again.history]
        assert np.allclose([point.value for point in points], [line[name] for line in again.history])
    assert found.Scalars("lr")[0].value == pytest.approx(0.01)
    assert b"width" in found.Tensors("config/text_summary")[0].tensor_proto.string_val[0]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("thresholds", [127, 10, 500])
def test_curves_of_precision(pair, weighted, thresholds):
    rng = np.random.default_rng(0)
    labels, chances = rng.integers(0, 2, 300), rng.random(300)
    chances[:2] = 0.0, 1.0
    weights = rng.random(300) if weighted else None

    def calls(writer, lib):
        options = {"global_step": 3, "num_thresholds": thresholds, "weights": weights, "walltime": 9.0}
        writer.add_pr_curve("p/r", lib.tensor(labels), lib.tensor(chances), **options)
        rows = [[4, 2], [3, 1], [0, 2], [0, 2], [4 / 7, 2 / 3], [1.0, 0.5]]
        writer.add_pr_curve_raw("raw", *[lib.tensor(row) for row in rows], num_thresholds=2)

    ours, theirs = pair(calls)
    assert ours.Tags()["tensors"] == theirs.Tags()["tensors"] == ["p/r", "raw"]
    for tag in ("p/r", "raw"):
        (mine,), (other,) = ours.Tensors(tag), theirs.Tensors(tag)
        assert mine.step == other.step
        assert mine.tensor_proto.tensor_shape == other.tensor_proto.tensor_shape
        np.testing.assert_allclose(mine.tensor_proto.float_val, other.tensor_proto.float_val, rtol=1e-6, atol=1e-7)
        assert ours.SummaryMetadata(tag) == theirs.SummaryMetadata(tag)


@pytest.mark.parametrize("channels", [1, 3])
def test_embeddings(tmp_path, channels):
    rng = np.random.default_rng(0)
    points, images = rng.random((5, 4), np.float32), rng.random((5, channels, 6, 6), np.float32)
    for name, library, writer in (
        ("ours", pyburn, SummaryWriter),
        ("theirs", torch, torch.utils.tensorboard.SummaryWriter),
    ):
        with writer(str(tmp_path / name)) as made:
            made.add_embedding(library.tensor(points), list("abcde"), library.tensor(images), 7, "a/b")
            table = [[letter, number] for number, letter in enumerate("abcde")]
            made.add_embedding(library.tensor(points), table, metadata_header=["letter", "number"])
    configs = [(tmp_path / name / "projector_config.pbtxt").read_text() for name in ("ours", "theirs")]
    assert text_format.Parse(configs[0], ProjectorConfig()) == text_format.Parse(configs[1], ProjectorConfig())
    for entry in text_format.Parse(configs[0], ProjectorConfig()).embeddings:
        ours, theirs = (np.loadtxt(tmp_path / name / entry.tensor_path) for name in ("ours", "theirs"))
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
        tables = [(tmp_path / name / entry.metadata_path).read_text() for name in ("ours", "theirs")]
        assert tables[0] == tables[1]
    sprites = [np.asarray(Image.open(tmp_path / name / "00007/a%2fb/sprite.png")) for name in ("ours", "theirs")]
    np.testing.assert_array_equal(*sprites)
    with SummaryWriter(str(tmp_path)) as writer, pytest.raises(AssertionError, match="4 labels, but 5 data points"):
        writer.add_embedding(pyburn.tensor(points), list("abcd"))
