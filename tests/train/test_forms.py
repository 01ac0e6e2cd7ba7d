"""What people hand to a Learner: data of every form, and the forms of Lightning's configure_optimizers."""

import functools
import math

import numpy as np
import pandas as pd
import pyburn
import pytest
from pyburn import nn, train
from pyburn.optim import lr_scheduler
from pyburn.train.schedule import Schedule

from train import runs

SILENT = {"folder": False, "renderer": None}


def seen_by(data, epochs=1, **options):
    """The shapes of the inputs of each batch of a run over `data`."""
    made = runs.learner(False, **options)
    shapes = []
    made.on("after_batch", lambda learner: shapes.append(tuple(learner.batch.input.shape)))
    made.fit(data, epochs=epochs, batch_size=24)
    return shapes


def test_frames_of_numbers():
    inputs, classes, _ = runs.problem()
    frame, series = pd.DataFrame(inputs.numpy()), pd.Series(classes.numpy())
    assert seen_by((frame, series)) == [(24, 8)] * 4
    assert seen_by((frame.astype(object), series.astype(object))) == [(24, 8)] * 4
    assert seen_by((frame.astype("Float64"), series.astype("Int64"))) == [(24, 8)] * 4
    with pytest.raises(TypeError, match="a DataFrame holds what is no number"):
        seen_by((pd.DataFrame({"a": ["x"] * 96}), series))
    with pytest.raises(TypeError, match="a Series holds what is no number, or nothing at all"):
        seen_by((frame, series.astype(object).replace(0, pd.NA)))


class Alone(nn.Linear):
    """A model of inputs without targets."""

    def training_step(self, batch):
        return nn.functional.mse_loss(self(batch[0]), batch[0])


@pytest.mark.parametrize("form", [lambda x: x, lambda x: x.numpy(), lambda x: (x,), lambda x: pd.DataFrame(x.numpy())])
def test_inputs_alone_come_in_batches(form):
    made = train.Learner(Alone(8, 8), **SILENT)
    sizes = []
    made.on("after_batch", lambda learner: sizes.append(len(learner.data[0])))
    made.fit(form(runs.problem()[0]), epochs=1, batch_size=40)
    assert sizes == [40, 40, 16]


def test_columns_by_name():
    class Named(nn.Linear):
        def forward(self, x, scale):
            return super().forward(x) * scale

    inputs, classes, _ = runs.problem()
    data = {"x": inputs, "scale": np.ones((96, 1)), "label": classes}
    made = train.Learner(Named(8, 3), nn.CrossEntropyLoss(), metrics=["accuracy"], **SILENT)
    made.fit(data, data, 2)
    assert made.evaluate(data)["accuracy"] == made.history[-1]["valid_accuracy"]
    assert made.evaluate({"one": data, "two": data}).keys() == {"one", "two"}
    assert made.predict({"x": inputs, "scale": np.ones((96, 1))}).shape == (96, 3)
    with pytest.raises(TypeError, match="data is a dict; give"):
        made.fit({"x": [1, 2], "label": [0, 1]})


def test_whatever_has_a_length_and_indices_is_a_dataset():
    class Plain:
        def __len__(self):
            return 48

        def __getitem__(self, index):
            inputs, classes, _ = runs.problem()
            return inputs[index], classes[index]

    assert seen_by(Plain()) == [(24, 8)] * 2


def test_a_generator_function_starts_anew_for_each_epoch():
    inputs, classes, _ = runs.problem()

    def batches():
        for start in range(0, 96, 32):
            yield inputs[start : start + 32], classes[start : start + 32]

    assert seen_by(batches, epochs=2) == [(32, 8)] * 6
    with pytest.raises(TypeError, match=r"data is a generator; give .* a generator function"):
        seen_by(batches())


class Module(nn.Module):
    """Written as for Lightning: `form(optimizer)` is what its configure_optimizers gives."""

    def __init__(self, form):
        super().__init__()
        self.layer, self.form = nn.Linear(8, 3), form

    def training_step(self, batch, batch_idx):
        return nn.functional.cross_entropy(self.layer(batch[0]), batch[1])

    def validation_step(self, batch, batch_idx):
        self.log("val_loss", nn.functional.cross_entropy(self.layer(batch[0]), batch[1]))
        self.log("val_acc", 0.5)
        self.log("val_oddity", 0.5)

    def configure_optimizers(self):
        return self.form(pyburn.optim.SGD(self.parameters(), lr=1.0))


def halving(optimizer):
    return lr_scheduler.StepLR(optimizer, 1, 0.5)


def plateau(optimizer, **options):
    return lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=0, **options)


FORMS = {
    "alone": (lambda o: o, [1, 1, 1, 1]),
    "a list": (lambda o: [o], [1, 1, 1, 1]),
    "two lists": (lambda o: ([o], [halving(o)]), [1, 0.5, 0.25, 0.125]),
    "a list and a schedule": (lambda o: ([o], halving(o)), [1, 0.5, 0.25, 0.125]),
    "two lists, no schedule": (lambda o: ([o], []), [1, 1, 1, 1]),
    "a tuple of a dictionary": (lambda o: ({"optimizer": o, "lr_scheduler": halving(o)},), [1, 0.5, 0.25, 0.125]),
    "a frequency of epochs": (
        lambda o: {"optimizer": o, "lr_scheduler": {"scheduler": halving(o), "frequency": 2}},
        [1, 1, 0.5, 0.5],
    ),
    "a frequency of steps": (
        lambda o: ([o], [{"scheduler": halving(o), "interval": "step", "frequency": 4}]),
        [0.25, 0.0625, 2**-6, 2**-8],
    ),
    "a monitor beside": (
        lambda o: {"optimizer": o, "lr_scheduler": plateau(o, mode="max"), "monitor": "val_acc"},
        [1, 1, 0.5, 0.25],
    ),
    "a monitor within": (
        lambda o: {"optimizer": o, "lr_scheduler": {"scheduler": plateau(o, mode="max"), "monitor": "val_oddity"}},
        [1, 1, 0.5, 0.25],
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_configure_optimizers(tmp_path, form):
    make, rates = FORMS[form]
    made = train.Learner(Module(make), folder=tmp_path, renderer=None)
    assert [line["lr"] for line in runs.fit(made, 4)] == rates


def test_what_a_schedule_watches_must_be_there():
    def form(optimizer):
        return {"optimizer": optimizer, "lr_scheduler": plateau(optimizer), "monitor": "val_los"}

    with pytest.raises(ValueError, match="watches 'val_los', but an epoch has lr, train_loss, val_loss, val_acc"):
        runs.fit(train.Learner(Module(form), **SILENT), 1)
    with pytest.raises(TypeError, match=r"gave 1 optimizers \(NoneType\)"):
        train.Learner(Module(lambda optimizer: None), **SILENT)
    with pytest.raises(ValueError, match="a number of whole epochs"):
        Schedule(plateau(pyburn.optim.SGD([nn.Parameter(pyburn.ones(1))])), "step")


def test_what_is_watched_may_have_lightnings_name():
    stopping = train.EarlyStopping("val_acc", patience=2)
    made = train.Learner(Module(lambda o: o), callbacks=[stopping], **SILENT)
    assert len(runs.fit(made, 9)) == 3
    made = runs.learner(False, callbacks=[train.EarlyStopping("val_loss", patience=1, min_delta=9.0)])
    assert len(runs.fit(made, 9)) == 2


def test_the_best_by_a_number_that_is_not_there(tmp_path):
    made = runs.learner(tmp_path, checkpoints=train.KeepBest("valid_accuracy", mode="max"))
    with pytest.raises(ValueError, match="KeepBest: an epoch has no 'valid_accuracy'; it has epoch"):
        runs.fit(made, 2)
    made = runs.learner(tmp_path, monitor="val_loss")
    history = runs.fit(made, 3)
    kept = pyburn.load(made.events.callbacks[-1].best())["finished"]
    assert kept == min(history, key=lambda line: line["valid_loss"])["epoch"]


def test_a_seed_begins_a_run_once():
    made = runs.learner(False, lr=0.0, optimizer="sgd")
    sums = []
    made.on("after_batch", lambda learner: learner.training and sums.append(learner.batch.input.sum().item()))
    for _ in range(2):
        runs.fit(made, 1)
    assert sums[:8] != sums[8:]


def test_nan_and_inf_are_explained_through_the_models_own_step():
    class Bad(nn.Module):
        def forward(self, x):
            return (x - 100).log()

    class Steps(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.bad, self.last = nn.Linear(8, 8), Bad(), nn.Linear(8, 3)

        def training_step(self, batch):
            loss = nn.functional.cross_entropy(self.last(self.bad(self.first(batch[0]))), batch[1])
            self.log("own", loss)
            return loss

    with pytest.raises(train.NonFiniteLoss, match=r"the first layer whose output is not finite is bad \(Bad\)"):
        runs.fit(train.Learner(Steps(), **SILENT))


def test_what_overflows_in_half_precision_is_named():
    made = runs.learner(False, precision="float16")
    made.model[4].weight.data.mul_(1e6)
    made.loss = lambda output, target: (output * 1e3).mean()
    with pytest.raises(train.NonFiniteLoss, match=r"is 4 \(Linear\); numbers above 65504 are inf in float16"):
        runs.fit(made)


def test_lines_are_json_whatever_the_numbers(tmp_path):
    made = runs.learner(tmp_path, metrics=[lambda output, target: math.nan])
    runs.fit(made, 1)
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert '"valid_<lambda>": null' in lines[-1]


def test_metrics_and_callbacks_in_the_forms_that_people_write():
    made = runs.learner(False, metrics="accuracy", callbacks=train.EarlyStopping())
    assert [each.name for each in made.metrics] == ["loss", "accuracy"]
    made = runs.learner(False, metrics=["loss", train.metrics.F1], callbacks=[train.EarlyStopping])
    assert [each.name for each in made.metrics] == ["loss", "f1"]
    assert isinstance(made.events.callbacks[0], train.EarlyStopping)
    with pytest.raises(TypeError, match="'early_stopping' is no callback; give an object such as"):
        runs.learner(False, callbacks=["early_stopping"])
    with pytest.raises(ValueError, match=r"two metrics are named 'f1'.*F1\(name='other_f1'\)"):
        runs.learner(False, metrics=["f1", train.metrics.F1(average="micro")])


@pytest.mark.parametrize("loss", ["cross_entropy", nn.CrossEntropyLoss])
def test_losses_by_name_and_class(loss):
    losses = [
        runs.fit(train.Learner(runs.model(), each, seed=5, **SILENT), 1) for each in (loss, nn.CrossEntropyLoss())
    ]
    assert losses[0][-1]["valid_loss"] == losses[1][-1]["valid_loss"]
    with pytest.raises(ValueError, match="there is no loss 'crossentropy'"):
        train.Learner(runs.model(), "crossentropy", **SILENT)


def test_inputs_within_a_pair():
    class Two(nn.Linear):
        def forward(self, x, scale, shift=0.0):
            return super().forward(x) * scale + shift

    class Listed(nn.Linear):
        def forward(self, both):
            return super().forward(both[0]) * both[1]

    inputs, classes, _ = runs.problem()
    samples = [((inputs[i], pyburn.ones(1)), classes[i]) for i in range(32)]
    for kind in (Two, Listed):
        made = train.Learner(kind(8, 3), nn.CrossEntropyLoss(), **SILENT)
        made.fit(pyburn.utils.data.DataLoader(samples, 8), epochs=1)
        assert made.predict(pyburn.utils.data.DataLoader(samples, 8)).shape == (32, 3)


@pytest.mark.parametrize(
    ("given", "dtype"), [(32, None), ("32-true", None), (16, pyburn.float16), ("16", pyburn.float16)]
)
def test_precisions_by_lightnings_numbers(given, dtype):
    assert runs.learner(False, precision=given).gradients.dtype is dtype


@pytest.mark.parametrize("share", [1.0, 0.8])
def test_targets_with_a_share_for_each_class(share):
    """Under cross entropy these are classes, though they look like labels that stand beside each other."""
    inputs, classes, _ = runs.problem()
    shares = nn.functional.one_hot(classes, 3) * (share - (1 - share) / 2) + (1 - share) / 2
    made = runs.learner(False, metrics=["accuracy", "f1", "auroc"])
    made.fit((inputs, shares), epochs=1)
    plain = runs.learner(False, metrics=["accuracy", "f1", "auroc"])
    plain.model = made.model
    expected = plain.evaluate((inputs, classes))
    found = made.evaluate((inputs, shares))
    assert {name: found[name] for name in ("accuracy", "f1", "auroc")} == {
        name: expected[name] for name in ("accuracy", "f1", "auroc")
    }


def test_a_batch_of_texts_is_one_input():
    class Lengths(nn.Linear):
        def forward(self, texts):
            return super().forward(pyburn.tensor([[float(len(text))] for text in texts]))

    samples = [("good", 1), ("awful", 0)] * 8
    made = train.Learner(Lengths(1, 2), nn.CrossEntropyLoss(), metrics=["accuracy"], **SILENT)
    made.fit(pyburn.utils.data.DataLoader(samples, 4), epochs=1)
    assert made.predict(pyburn.utils.data.DataLoader(samples, 4)).shape == (16, 2)


def test_what_a_step_leaves_out_is_named():
    class Steps(nn.Linear):
        def training_step(self, batch):
            return nn.functional.cross_entropy(self(batch[0]), batch[1])

    with pytest.raises(TypeError, match=r'no output to judge; where the model .* let it return {"loss"'):
        runs.fit(train.Learner(Steps(8, 3), metrics=["accuracy"], **SILENT))
    with pytest.raises(ValueError, match="no loss; give the Learner a loss, the model a validation_step"):
        runs.fit(train.Learner(Steps(8, 3), **SILENT))


def test_weights_of_a_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    made = runs.learner("~/run")
    runs.fit(made, 2)
    other = runs.learner(False)
    other.load(tmp_path / "run" / "checkpoints" / "epoch-0002.pt")
    assert pyburn.equal(other.model[0].weight, made.model[0].weight)


def test_losses_in_wraps_are_known():
    """So that metrics know the outputs to be logits."""
    inputs, classes, _ = runs.problem()
    smooth = functools.partial(nn.functional.cross_entropy, label_smoothing=0.1)
    made = train.Learner(runs.model(), smooth, metrics=["auroc"], **SILENT)
    assert 0 < made.fit((inputs, classes), epochs=1)[-1]["train_auroc"] < 1
    options = {"loss": "binary_cross_entropy_with_logits", "metrics": ["accuracy", "auroc"], **SILENT}
    history = train.train_model(nn.Linear(8, 1), (inputs, (classes > 0).float().unsqueeze(1)), options)
    assert 0 < history[-1]["train_auroc"] < 1
