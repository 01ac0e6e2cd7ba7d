"""What modules log by themselves, as Lightning's do, stands in the epoch's line."""

import json

import pyburn
import pytest
from pyburn import nn, train
from pyburn.train import metrics

from train import runs


class Module(nn.Module):
    """Written as for Lightning, but for its base."""

    def __init__(self):
        super().__init__()
        self.layers = runs.model()
        self.accuracy = metrics.Accuracy()

    def forward(self, x):
        return self.layers(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = nn.functional.cross_entropy(self(x), y)
        self.log("own_loss", loss, prog_bar=True, on_step=True, on_epoch=True, logger=True, sync_dist=True)
        self.log("steps", 1, reduce_fx="sum")
        self.log_dict({"low": loss, "last": float(batch_idx)}, reduce_fx=min)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        output = self(x)
        self.accuracy.update(output, y)
        self.log("val_acc", self.accuracy)
        self.log("val_size", float(len(x)))
        self.log("val_weighted", float(len(x)), batch_size=1)

    def configure_optimizers(self):
        return pyburn.optim.Adam(self.parameters(), lr=0.01)


def made(folder=False, **options):
    return train.Learner(Module(), folder=folder, renderer=None, seed=5, **options)


def fit(learner, epochs=3, **options):
    inputs, classes, valid = runs.problem()
    return learner.fit((inputs[:64], classes[:64]), valid, epochs, batch_size=10, **options)


def test_entries_of_a_line(tmp_path):
    learner = made(tmp_path)
    history = fit(learner)
    line = history[-1]
    assert line["own_loss"] == pytest.approx(line["train_loss"], rel=1e-6)
    assert line["steps"] == 7
    assert line["last"] == 0
    assert line["low"] < line["own_loss"]
    assert "valid_loss" not in line  # its step gives none
    assert line["val_size"] == pytest.approx((3 * 10 * 10 + 2 * 2) / 32)
    assert line["val_weighted"] == pytest.approx((3 * 10 + 2) / 4)
    inputs, classes = runs.problem()[2]
    right = (learner.predict(inputs).argmax(1) == classes).float().mean().item()
    assert line["val_acc"] == pytest.approx(right)
    assert history[0]["val_acc"] != line["val_acc"]  # each epoch by itself
    assert learner.evaluate((inputs, classes))["val_acc"] == pytest.approx(right)
    assert not hasattr(learner.model, "log")
    written = [json.loads(text) for text in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [each["val_acc"] for each in written if "val_acc" in each] == [each["val_acc"] for each in history]
    assert "val_acc" in (tmp_path / "metrics.csv").read_text().splitlines()[0]


def test_logged_numbers_are_watched(tmp_path):
    learner = made(tmp_path, callbacks=[train.EarlyStopping("steps", patience=2, mode="max")])
    assert len(fit(learner, 9)) == 3
    assert "steps has not become better" in learner.stopped


def test_a_run_that_stopped_within_an_epoch_has_the_same_means(tmp_path):
    def run(folder, stop):
        learner = made(folder, checkpoints=None, callbacks=[train.Checkpoints(train.KeepLast(), every=2)])
        if stop:
            learner.on("after_step", lambda learner: learner.step == 12 and 1 / 0)
            with pytest.raises(ZeroDivisionError):
                fit(learner)
            learner = made(folder, checkpoints=None, callbacks=[train.Checkpoints(train.KeepLast(), every=2)])
        return [{k: v for k, v in line.items() if k != "seconds"} for line in fit(learner, resume=True)]

    assert run(tmp_path / "part", True) == run(tmp_path / "whole", False)


def test_a_log_of_its_own_stays():
    class Own(nn.Linear):
        said = ()

        def log(self, *words):
            self.said += words

        def training_step(self, batch):
            self.log("batch")
            return self(batch[0]).sum()

    model = Own(3, 1)
    learner = train.Learner(model, optimizer="sgd", lr=0.1, folder=False, renderer=None)
    learner.fit((pyburn.ones(4, 3), pyburn.ones(4, 1)), epochs=2)
    assert model.said == ("batch", "batch")


def test_what_is_no_number_says_so():
    logged = train.logged.Logged()
    with pytest.raises(ValueError, match="'map' has 4 elements"):
        logged.log("map", pyburn.ones(4))
    with pytest.raises(ValueError, match="must be one of mean, sum, min, max"):
        logged.log("a", 1.0, reduce_fx="median")


class Hooked(Module):
    """A module that counts on Lightning's hooks and properties."""

    def __init__(self):
        super().__init__()
        self.calls, self.outputs = [], []

    def training_step(self, batch, batch_idx):
        assert self.device == batch[0].device
        self.calls.append(("step", self.current_epoch, self.global_step))
        return super().training_step(batch, batch_idx)

    def on_validation_epoch_end(self):
        self.log("val_best", float(len(self.outputs)))
        self.outputs.clear()

    def on_validation_batch_start(self, batch, batch_idx):
        self.outputs.append(batch_idx)

    def on_validation_batch_end(self, outputs, batch, batch_idx):
        assert self.outputs[-1] == batch_idx == len(self.outputs) - 1

    def on_before_optimizer_step(self, optimizer):
        self.calls.append(type(optimizer).__name__)

    def on_train_epoch_end(self):
        self.log("seen", self.current_epoch)

    def on_train_start(self):
        self.calls.append("start")

    def on_train_end(self):
        self.calls.append("end")

    def on_test_epoch_end(self):
        self.log("test_end", self.global_step)


def test_hooks_of_lightning():
    learner = train.Learner(Hooked(), folder=False, renderer=None, seed=5)
    history = fit(learner, 2)
    calls = learner.model.calls
    assert calls[:4] == ["start", ("step", 0, 0), "Adam", ("step", 0, 1)]
    assert (calls[-3], calls[-1]) == (("step", 1, 13), "end")
    assert [(line["val_best"], line["seen"]) for line in history] == [(4, 0), (4, 1)]
    assert not hasattr(learner.model, "current_epoch")
    assert learner.evaluate(runs.problem()[2])["test_end"] == 14
    assert not hasattr(learner.model, "global_step")


def test_what_a_module_has_itself_stays():
    learner = train.Learner(Hooked(), folder=False, renderer=None)
    learner.model.global_step = -1
    fit(learner, 1)
    assert learner.model.global_step == -1
    assert learner.model.calls[1] == ("step", 0, -1)
