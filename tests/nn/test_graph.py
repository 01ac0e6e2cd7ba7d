"""The picture of a model: its nodes and edges are read back from the SVG."""

import io
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import pyburn
import pytest
from PIL import Image
from pyburn import nn
from pyburn.nn.graph.layout import layout

NAMES = {"svg": "http://www.w3.org/2000/svg"}


class Block(nn.Module):
    def __init__(self, narrow, wide, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(narrow, wide, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(wide)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(wide, wide, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(wide)
        changes = stride != 1 or narrow != wide
        self.downsample = (
            nn.Sequential(nn.Conv2d(narrow, wide, 1, stride, bias=False), nn.BatchNorm2d(wide)) if changes else None
        )

    def forward(self, x):
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class ResNet18(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1, self.relu = nn.BatchNorm2d(width), nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = nn.Sequential(Block(width, width), Block(width, width))
        self.layer2 = nn.Sequential(Block(width, 2 * width, 2), Block(2 * width, 2 * width))
        self.layer3 = nn.Sequential(Block(2 * width, 4 * width, 2), Block(4 * width, 4 * width))
        self.layer4 = nn.Sequential(Block(4 * width, 8 * width, 2), Block(8 * width, 8 * width))
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(8 * width, 1000)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(pyburn.flatten(self.avgpool(x), 1))


def read(graph):
    """Names or kinds of the nodes, and edges between them with their shapes, from the picture."""
    root = ET.fromstring(graph.svg())
    nodes = {}
    for box in root.findall(".//svg:g", NAMES):
        number = box.get("data-id")
        function = "pb-function" in box.get("class")
        nodes[number] = box.get("data-kind") if function else box.get("data-name")
    paths = root.findall(".//svg:path[@data-from]", NAMES)
    edges = [(nodes[path.get("data-from")], nodes[path.get("data-to")], path.get("data-shape")) for path in paths]
    return list(nodes.values()), edges


def test_a_chain():
    graph = pyburn.plot(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)), (5, 4))
    nodes, edges = read(graph)
    assert nodes == ["input", "0", "1", "2", "output"]
    assert edges == [("input", "0", "5x4"), ("0", "1", "5x8"), ("1", "2", "5x8"), ("2", "output", "5x2")]
    assert "Linear 4→8" in graph.svg()
    assert graph._repr_svg_() == graph.svg()


def test_skip_connections():
    _, edges = read(pyburn.plot(Block(4, 4), (1, 4, 8, 8)))
    assert ("input", "conv1", "1x4x8x8") in edges
    assert ("input", "add", "1x4x8x8") in edges
    assert ("bn2", "add", "1x4x8x8") in edges
    assert edges[-1] == ("relu", "output", "1x4x8x8")
    _, edges = read(pyburn.plot(Block(4, 8, 2), (1, 4, 8, 8)))
    assert ("downsample.1", "add", "1x8x4x4") in edges
    assert ("input", "downsample.0", "1x4x8x8") in edges


def test_layers_inside_others_are_one_box():
    model = ResNet18(8)
    nodes, edges = read(pyburn.plot(model, (1, 3, 32, 32), depth=1))
    own = ["conv1", "bn1", "relu", "maxpool", "layer1", "layer2", "layer3", "layer4", "avgpool"]
    assert nodes == ["input", *own, "flatten", "fc", "output"]
    assert len(edges) == 12
    nodes, edges = read(pyburn.plot(model, (1, 3, 32, 32), depth=2))
    assert "layer3.1" in nodes
    assert "layer3.1.conv1" not in nodes
    nodes, edges = read(pyburn.plot(model, (1, 3, 32, 32)))
    assert nodes.count("add") == 8
    assert len(edges) - len(nodes) == 7  # eight blocks, each with one way around


def test_numbers_of_a_known_network():
    """He et al. (2016) and torchvision's page: 11.69 million weights, 1.81 billion multiplications."""
    table = pyburn.summary(ResNet18(), (1, 3, 224, 224))
    assert table.parameters == 11_689_512
    assert round(table.macs / 1e9, 2) == 1.81


class Several(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right, self.same = nn.Linear(3, 4), nn.Linear(5, 4), nn.Identity()
        self.heads = nn.ModuleDict({"a": nn.Linear(8, 2), "b": nn.Linear(8, 6)})

    def forward(self, x, y, scale=None):
        x = self.left(x)
        kept = self.same(x)
        joined = pyburn.cat([kept + x, self.right(y)], 1)
        if scale is not None:
            joined = joined * scale
        return {name: head(joined) for name, head in self.heads.items()}


def test_several_inputs_and_outputs():
    given = (pyburn.zeros(2, 3), pyburn.zeros(2, 5))
    nodes, edges = read(pyburn.plot(Several(), given, scale=pyburn.ones(1, 8)))
    assert {"input 0", "input 1", "scale", "output 0", "output 1"} <= set(nodes)
    for edge in [
        ("input 0", "left", "2x3"),
        ("input 1", "right", "2x5"),
        ("left", "same", "2x4"),
        ("same", "add", "2x4"),  # a layer that does nothing stands beside what it was given
        ("left", "add", "2x4"),
        ("scale", "mul", "1x8"),
        ("mul", "heads.a", "2x8"),
        ("heads.b", "output 1", "2x6"),
    ]:
        assert edge in edges


def test_nothing_but_what_the_outputs_need():
    class Model(nn.Module):
        def forward(self, x):
            x.exp().sum()
            return x.detach() * 2

    nodes, _ = read(pyburn.plot(Model(), (3,)))
    assert nodes == ["input", "mul", "output"]


def test_repeated_layers_are_drawn_for_each_call():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)

        def forward(self, x):
            return self.layer(self.layer(x))

    assert read(pyburn.plot(Twice(), (1, 3)))[0] == ["input", "layer", "layer", "output"]


def test_transformers():
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2)
    nodes, _ = read(pyburn.plot(model, (1, 5, 8), depth=1))
    assert nodes == ["input", "layers.0", "layers.1", "output"]


def test_the_model_stays_as_it_is():
    model = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(0.5))
    model[0].eval()
    state = pyburn.get_rng_state()
    pyburn.plot(model, (4, 3))
    assert [module.training for module in model.modules()] == [True, False, True]
    assert not model[0]._forward_hooks
    assert not model._forward_pre_hooks
    assert pyburn.equal(pyburn.get_rng_state(), state)


def test_calls_are_as_fast_as_before():
    """Who watches calls changes the code of every function: it must be the old one afterwards."""
    program = """
import pyburn
from pyburn import nn
functions = (pyburn.relu, nn.functional.softmax, pyburn.cat)
methods = {name: vars(pyburn.Tensor).get(name) for name in dir(pyburn.Tensor)}
before = [(f.__code__, f.__defaults__, f.__kwdefaults__, dict(f.__dict__)) for f in functions]
drawn = pyburn.plot(nn.Sequential(nn.Linear(2, 2), nn.Softmax(1)), (1, 2))
assert [node.kind for node in drawn.nodes] == ["input", "Linear", "Softmax", "output"]
assert before == [(f.__code__, f.__defaults__, f.__kwdefaults__, dict(f.__dict__)) for f in functions]
assert methods == {name: vars(pyburn.Tensor).get(name) for name in dir(pyburn.Tensor)}
x = pyburn.ones(2)
assert (x + x).tolist() == [2, 2] and (1 - x).tolist() == [0, 0] and x[0] == 1 and -x.abs()[1] == -1
class Mine(pyburn.Tensor):
    pass
y = x.as_subclass(Mine)
assert type(pyburn.relu(y)) is Mine and type(y + 1) is Mine
pyburn.plot(nn.Linear(2, 2), (1, 2))
assert type(pyburn.relu(y)) is Mine and type(y * 2) is Mine and type(pyburn.cat([y, y])) is Mine
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_boxes_stand_apart_and_edges_point_down():
    sizes = [(60.0, 30.0), (100.0, 30.0), (80.0, 40.0), (60.0, 30.0), (50.0, 20.0), (60.0, 30.0)]
    edges = [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (0, 4), (4, 5), (3, 5)]
    made = layout(sizes, edges)
    boxes = [
        (x - w / 2, y - h / 2, x + w / 2, y + h / 2)
        for (x, y), (w, h) in zip((made.places[n] for n in range(6)), sizes, strict=True)
    ]
    for number, one in enumerate(boxes):
        assert one[0] >= 0 and one[1] >= 0 and one[2] <= made.width and one[3] <= made.height
        for other in boxes[:number]:
            assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
    for (source, target), path in zip(edges, made.paths, strict=True):
        assert (path[0], path[-1]) == (made.places[source], made.places[target])
        heights = [y for _, y in path]
        assert heights == sorted(heights)


def test_no_line_goes_through_a_box():
    graph = pyburn.plot(Block(4, 4), (1, 4, 8, 8))
    root = ET.fromstring(graph.svg())
    boxes = {}
    for box in root.findall(".//svg:g", NAMES):
        rect = box.find("svg:rect", NAMES)
        boxes[box.get("data-id")] = [float(rect.get(key)) for key in ("x", "y", "width", "height")]
    skip = next(p for p in root.findall(".//svg:path[@data-from]", NAMES) if len(re.findall("C", p.get("d"))) > 2)
    points = [tuple(map(float, pair)) for pair in re.findall(r"(-?[\d.]+) (-?[\d.]+)(?=C|$)", skip.get("d"))]
    assert len(points) >= 5
    for number, (x, y, width, height) in boxes.items():
        if number not in (skip.get("data-from"), skip.get("data-to")):
            assert not any(x < a < x + width and y < b < y + height for a, b in points)


def test_files(tmp_path):
    graph = pyburn.plot(Block(4, 4), (1, 4, 8, 8), tmp_path / "block.svg")
    assert ET.parse(tmp_path / "block.svg").getroot().tag.endswith("svg")
    graph.save(tmp_path / "block.png")
    image = Image.open(tmp_path / "block.png")
    assert image.width > 200
    assert len(image.getcolors(1 << 20)) > 10
    assert Image.open(io.BytesIO(graph.png(1.0))).width == pytest.approx(image.width / 2, abs=1)
    with pytest.raises(ValueError, match=r"must end in \.svg or \.png"):
        graph.save(tmp_path / "block.pdf")
    with pytest.raises(ValueError, match="depth is 0"):
        pyburn.plot(Block(4, 4), (1, 4, 8, 8), depth=0)


@pytest.mark.parametrize(
    ("model", "shape"),
    [
        (nn.Sequential(nn.Flatten(), nn.Linear(784, 10)), (1, 784)),
        (nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 26 * 26, 10)), (1, 1, 28, 28)),
        (nn.Sequential(nn.BatchNorm2d(3), nn.Conv2d(3, 2, 3)), (1, 3, 32, 32)),
        (nn.Sequential(nn.Embedding(5, 3), nn.Flatten(), nn.Linear(24, 2)), (1, 8)),
        (nn.Conv3d(2, 2, 3), (1, 2, 32, 32, 32)),
        (nn.GELU(), (1, 8)),
    ],
)
def test_an_input_is_found(model, shape):
    assert pyburn.plot(model).edges[0].shape == shape


def test_an_input_that_is_not_found():
    with pytest.raises(
        ValueError, match=r"none was found that Bilinear takes; give .* plot\(model, \(1, 3, 224, 224\)\)"
    ):
        pyburn.plot(nn.Bilinear(2, 3, 4))
    lazy = nn.LazyLinear(3)
    with pytest.raises(ValueError, match="none was found that LazyLinear takes"):
        pyburn.plot(lazy)
    assert lazy.has_uninitialized_params()
    assert len(pyburn.plot(nn.Bilinear(2, 3, 4), [(1, 2), (1, 3)]).edges) == 3


def test_one_layer_is_a_box():
    graph = pyburn.plot(nn.LSTM(4, 5))
    assert [node.kind for node in graph.nodes].count("LSTM") == 1
    assert len(graph.edges) == 4  # the input, and three outputs
