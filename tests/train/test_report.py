"""The page of a run, opened in a browser: its numbers and curves are those of the run."""

import base64
import io
import json
import re
import shutil
import signal
import subprocess
from html.parser import HTMLParser

import numpy as np
import pyburn
import pytest
import sklearn.metrics
from PIL import Image
from pyburn import nn, train
from pyburn.train.report.charts import confusion, curves, ticks
from pyburn.train.report.samples import Samples
from sklearn.datasets import load_digits

from train import runs


class Page(HTMLParser):
    """The elements of a page with their attributes, and the text of those that have an id."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self._open, self.source = [], {}, None, text
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._open = dict(attrs).get("id", self._open if tag in ("p", "b", "span", "br") else None)

    def handle_data(self, data):
        if self._open:
            self.texts[self._open] = self.texts.get(self._open, "") + data

    def having(self, tag, **wanted):
        found = [attrs for name, attrs in self.elements if name == tag]
        return [each for each in found if all(each.get(key.strip("_")) == value for key, value in wanted.items())]

    @property
    def run(self):
        return json.loads(self.texts["run"])


def opened(path):
    """The page after a browser has laid it out and run its script."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    assert browser, "this test needs a browser: apt-get install chromium"
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", path.resolve().as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return Page(done.stdout)


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """A run on real digits, its data, and its page in a browser."""
    folder = tmp_path_factory.mktemp("digits")
    given = load_digits()
    inputs = pyburn.tensor(given.images / 16.0).float().unsqueeze(1)[:500]
    classes = pyburn.tensor(given.target).long()[:500]
    pyburn.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 10))
    made = train.Learner(
        model,
        nn.CrossEntropyLoss(),
        "adam",
        lr=0.01,
        metrics=["accuracy"],
        folder=folder,
        renderer=None,
        seed=0,
        config=type("Settings", (train.Config,), {"__annotations__": {"width": int}, "width": 4})(),
    )
    made.fit((inputs[:400], classes[:400]), (inputs[400:], classes[400:]), epochs=3)
    return made, inputs[400:], classes[400:], opened(folder / "report.html")


def test_numbers_are_those_of_the_run(digits):
    made, _, _, page = digits
    assert page.run["history"] == made.history
    lines = [json.loads(line) for line in (made.folder.path / "metrics.jsonl").read_text().splitlines()]
    assert page.run["batches"] == [[line["step"], line["loss"]] for line in lines if "batch" in line]
    assert page.run["settings"]["width"] == "4"
    assert page.run["environment"]["pyburn"] == pyburn.__version__
    assert "3 of 3 epochs" in page.source


@pytest.mark.parametrize("name", ["loss", "accuracy"])
def test_curves_are_drawn_where_the_numbers_are(digits, name):
    made, _, _, page = digits
    start = next(i for i, (tag, attrs) in enumerate(page.elements) if attrs.get("data-name") == name)
    drawn = [attrs for tag, attrs in page.elements[start:] if tag == "polyline"][:2]
    heights, values = [], []
    for line, split in zip(drawn, ("train", "valid"), strict=True):
        assert line["data-series"] == split
        points = [tuple(map(float, point.split(","))) for point in line["points"].split()]
        assert len(points) == 3
        assert np.allclose(np.diff([x for x, _ in points]), (480 - 52 - 14) / 2, atol=0.02)
        heights += [y for _, y in points]
        values += [each[f"{split}_{name}"] for each in made.history]
    slope, start = np.polyfit(values, heights, 1)
    assert slope < 0
    assert np.allclose(np.polyval((slope, start), values), heights, atol=0.02)


def test_the_confusion_matrix_is_that_of_the_predictions(digits):
    made, inputs, classes, page = digits
    predicted = made.predict(inputs).argmax(1)
    expected = sklearn.metrics.confusion_matrix(classes.tolist(), predicted.tolist(), labels=range(10))
    assert page.run["confusion"] == expected.tolist()
    cells = [each for each in page.having("rect") if "data-count" in each]
    drawn = np.zeros((10, 10), int)
    for cell in cells:
        drawn[int(cell["data-row"]), int(cell["data-column"])] = int(cell["data-count"])
    assert (drawn == expected).all()


def test_the_worst_predictions_are_shown_with_their_pictures(digits):
    made, inputs, classes, page = digits
    losses = nn.functional.cross_entropy(made.predict(inputs), classes, reduction="none")
    worst = losses.topk(12)
    assert [each["index"] for each in page.run["worst"]] == worst.indices.tolist()
    assert np.allclose([each["loss"] for each in page.run["worst"]], worst.values.tolist(), rtol=1e-5)
    images = page.having("img")
    assert len(images) == 12
    shown = np.asarray(Image.open(io.BytesIO(base64.b64decode(images[0]["src"].partition(",")[2]))))
    assert np.abs(shown / 255 - inputs[worst.indices[0], 0].numpy()).max() < 1 / 255


def test_the_model_stands_there(digits):
    page = digits[3]
    assert "1,450" in page.source  # the weights of the last layer
    assert "parameters: 1,490 (1,490 trainable)" in page.source
    assert "[1, 4, 6, 6]" in page.source
    drawn = [each["data-kind"] for each in page.having("g")]
    assert drawn == ["input", "Conv2d", "ReLU", "Flatten", "Linear", "output"]


def test_the_page_needs_nothing_else_and_its_script_runs(digits):
    made, _, _, page = digits
    text = (made.folder.path / "report.html").read_text()
    assert not re.findall(r"(?:src|href)\s*=\s*['\"](?!data:)", text)
    assert not re.findall(r"url\((?!#)|@import", text)
    assert "prefers-color-scheme: dark" in text
    assert len(page.having("div", class_="tip")) == len(page.having("figure", class_="chart")) == 3


def read(folder):
    return Page((folder / "report.html").read_text())


def test_an_interrupted_run_has_its_page(tmp_path, capfd):
    made = runs.learner(tmp_path)
    runs.stop_at(made, 18, signal.SIGINT)  # in the second epoch
    runs.fit(made)
    page = read(tmp_path)
    assert "interrupted" in page.texts["stopped"]
    assert len(page.run["history"]) == 1
    assert len(page.run["batches"]) == 14
    capfd.readouterr()


def test_a_run_that_fails_has_its_page(tmp_path):
    made = runs.learner(tmp_path)
    made.on("after_loss", lambda learner: setattr(learner.batch, "loss", learner.batch.loss * float("nan")))
    with pytest.raises(train.NonFiniteLoss):
        runs.fit(made)
    assert "NonFiniteLoss: the loss is nan in epoch 1, batch 1" in read(tmp_path).texts["stopped"]


def test_a_page_changes_no_numbers(tmp_path):
    plain, shown = runs.learner(False), runs.learner(tmp_path, accumulate=1)
    for one, other in zip(runs.fit(plain), runs.fit(shown), strict=True):
        assert {**one, "seconds": 0} == {**other, "seconds": 0}


def test_a_resumed_run_has_all_its_curves(tmp_path):
    runs.fit(runs.learner(tmp_path), 2)
    made = runs.learner(tmp_path)
    runs.fit(made, 4, resume=True)
    page = read(tmp_path)
    assert page.run["history"] == made.history
    assert [step for step, _ in page.run["batches"]] == list(range(1, 33))


def test_numbers_instead_of_classes(tmp_path):
    inputs = pyburn.arange(40.0).reshape(20, 2)
    target = inputs.sum(1, keepdim=True)
    target[7] += 1000
    made = train.Learner(nn.Linear(2, 1), nn.MSELoss(), "sgd", lr=1e-5, folder=tmp_path, renderer=None)
    made.fit((inputs, target), epochs=1)  # no validation: the training data is judged
    page = read(tmp_path)
    assert page.run["confusion"] is None
    assert not page.having("section", id="confusion")
    samples = Samples(nn.MSELoss(), worst=1)
    samples.add(train.metrics.Batch(inputs, target, inputs.sum(1, keepdim=True), None, 20))
    assert [(each.index, each.loss) for each in samples.worst()] == [(7, 1e6)]


def test_one_logit_makes_two_classes():
    samples = Samples(nn.BCEWithLogitsLoss(), worst=2)
    output, target = pyburn.tensor([[3.0], [-2.0], [0.5], [-4.0]]), pyburn.tensor([[1.0], [1.0], [0.0], [0.0]])
    for part in (slice(0, 3), slice(3, 4)):
        samples.add(train.metrics.Batch(None, target[part], output[part], None, len(target[part])))
    assert samples.confusion() == [[1, 1], [1, 1]]
    assert [each.index for each in samples.worst()] == [1, 2]


def test_losses_of_the_user_are_not_asked_twice(tmp_path):
    calls = []

    def noisy(output, target, reduction="mean"):
        calls.append(reduction)
        return nn.functional.cross_entropy(output + pyburn.randn_like(output), target)

    made = runs.learner(tmp_path)
    made.loss = noisy
    runs.fit(made, 1)
    assert calls == ["mean"] * 12
    assert len(read(tmp_path).run["worst"]) == 12


def test_functions_are_asked_for_each_sample():
    samples = Samples(nn.functional.cross_entropy, worst=1)
    scores = pyburn.tensor([[2.0, 0.0], [0.0, 1.0]])
    samples.add(train.metrics.Batch(None, pyburn.tensor([0, 0]), scores, None, 2))
    assert [(each.index, round(each.loss, 4)) for each in samples.worst()] == [(1, 1.3133)]


def test_probabilities_are_told_from_scores():
    samples = Samples(None, worst=1)
    chances = pyburn.tensor([[0.25, 0.75], [0.5, 0.5]])
    samples.add(train.metrics.Batch(None, pyburn.tensor([0, 1]), chances, None, 2))
    assert samples.shares(chances[0]).tolist() == [0.25, 0.75]


def test_names_of_classes(tmp_path):
    made = runs.learner(tmp_path, callbacks=[train.Report(classes=["none", "<some>", "all"], worst=2)])
    runs.fit(made, 1)
    assert read(tmp_path).run["classes"] == ["none", "<some>", "all"]
    assert "&lt;some&gt;" in (tmp_path / "report.html").read_text()
    assert len(read(tmp_path).run["worst"]) == 2


def test_names_that_look_like_a_page_do_not_break_it(tmp_path):
    """A block of data that holds "<!--<script" has no end in a browser, and the rest of the page is part of it."""
    names = ["<!--<script>", "</script><b id='broken'>", 'a"b&c</td>']
    runs.fit(runs.learner(tmp_path, callbacks=[train.Report(classes=names)]), 1)
    page = opened(tmp_path / "report.html")
    assert page.run["classes"] == names
    assert not page.having("b", id="broken")
    assert len(page.having("div", class_="tip")) == len(page.having("figure", class_="chart")) > 0


def test_odd_curves():
    assert curves("empty", {"train": [(1, float("nan"))]}) == ""
    assert "log" in curves("wide", {"train": [(1, 1e-6), (2, 10.0)]})
    assert curves("flat", {"train": [(1, 0.0), (2, 0.0)]}).count("nan") == 0
    assert ticks(5.0, 5.0) == [5.0]
    assert ticks(1, 2, 6) == [1, 2]


class Logging(nn.Module):
    """Numbers under the names that Lightning's users give them."""

    def __init__(self):
        super().__init__()
        self.layers = runs.model()

    def training_step(self, batch):
        self.log("weight_norm", 1.0)
        return nn.functional.cross_entropy(self.layers(batch[0]), batch[1])

    def validation_step(self, batch):
        self.log_dict({"val_loss": 0.5, "val/gap": 0.25})


def test_what_a_module_logs_is_drawn(tmp_path):
    runs.fit(train.Learner(Logging(), folder=tmp_path, renderer=None), 2)
    page = Page((tmp_path / "report.html").read_text())
    drawn = {each["data-name"]: None for each in page.having("figure")}
    assert list(drawn) == ["loss", "weight_norm", "gap", "loss of each batch"]
    series = json.loads(next(each for each in page.having("svg") if "data-points" in each)["data-points"])
    assert series["valid"] == [[1, 0.5], [2, 0.5]]
    assert "val/gap, epoch 2" in page.source


def test_numbers_of_a_page_are_json_whatever_they_are(tmp_path):
    class Nothing(train.metrics.Metric):
        name = "nothing"

        def reset(self):
            pass

        def update(self, output, target):
            pass

        def compute(self):
            return pyburn.tensor([float("nan"), 1.0])

    runs.fit(runs.learner(tmp_path, metrics=[Nothing()]), 1)
    text = (tmp_path / "report.html").read_text()
    data = text.partition('id="run">')[2].partition("</script>")[0]
    assert json.loads(data, parse_constant=None)["history"][0]["valid_nothing"] == [None, 1.0]


def test_names_of_classes_have_room():
    short = confusion([[1, 0], [0, 1]], ["a very long name of a class", "cat"])
    assert ">a very long name …<" in short
    assert short.count("rotate(") == 2
    assert "rotate(" not in confusion([[1, 0], [0, 1]], ["dog", "cat"])
    many = confusion([[1] * 30] * 30, [str(number) for number in range(30)])
    assert [many.count(f">{number}<") for number in (0, 10, 20, 21)] == [2, 2, 2, 0]


def test_maps_of_classes(tmp_path):
    """Segmentation: pixels are counted, and a prediction is not a list of numbers."""
    pyburn.manual_seed(0)
    images = pyburn.rand(8, 3, 8, 8)
    classes = (images.mean(1) > 0.5).long()
    made = train.Learner(nn.Conv2d(3, 2, 1), nn.CrossEntropyLoss(), folder=tmp_path, renderer=None)
    made.fit((images, classes), (images, classes), 2)
    page = Page((tmp_path / "report.html").read_text())
    found = made.predict(images).argmax(1)
    expected = sklearn.metrics.confusion_matrix(classes.flatten().tolist(), found.flatten().tolist())
    assert page.run["confusion"] == expected.tolist()
    worst = page.run["worst"][0]["index"]
    right = (found[worst] == classes[worst]).float().mean().item()
    assert f"right in {right:.1%} of its places" in page.source
