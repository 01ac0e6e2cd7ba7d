"""Checkpoints, early stopping, averaged weights and the files of a run."""

import csv
import json
import struct

import pyburn
import pytest
from pyburn import train
from pyburn.train.checkpoints import Record, better

from train import runs


def record(step, **values):
    return Record(f"{step}.pt", step, step, values)


def test_rules_of_what_is_kept():
    records = [
        record(i, valid_loss=loss, valid_accuracy=gain) for i, (loss, gain) in enumerate([(3, 1), (1, 5), (2, 2)])
    ]
    assert train.KeepLast(1).kept(records) == {"2.pt"}
    assert train.KeepBest("valid_loss", mode="min").kept(records) == {"1.pt"}
    assert train.KeepBest("valid_accuracy", mode="min").kept(records) == {"0.pt"}
    assert (train.KeepLast(1) | train.KeepBest("valid_accuracy", mode="max")).kept(records) == {"1.pt", "2.pt"}
    assert train.KeepAll().kept(records) == {"0.pt", "1.pt", "2.pt"}
    assert train.KeepBest("valid_loss", mode="min").kept([record(0, train_loss=1.0)]) == {"0.pt"}
    assert train.KeepBest("valid_loss", mode="min").kept([record(0)]) == set()
    with pytest.raises(ValueError, match="count is 0"):
        train.KeepLast(0)


def test_metrics_say_what_is_better():
    metrics = [train.metrics.metric(name) for name in ("mae", "accuracy")]
    assert [better(name, "auto", metrics) for name in ("valid_mae", "train_accuracy")] == [-1, 1]
    assert better("valid_mae", "max") == 1
    with pytest.raises(ValueError, match="no metric says whether more or less of 'valid_gain' is better"):
        better("valid_gain", "auto", metrics)


def test_only_what_is_kept_stays(tmp_path):
    runs.fit(runs.learner(tmp_path, checkpoints=train.KeepLast(2)), 4)
    files = sorted(each.name for each in (tmp_path / "checkpoints").iterdir())
    assert files == ["epoch-0003.pt", "epoch-0004.pt", "index.json"]


def test_the_best_is_found_again(tmp_path):
    made = runs.learner(tmp_path, checkpoints=None, callbacks=[train.Checkpoints(train.KeepBest("valid_loss"))])
    history = runs.fit(made, 5)
    best = min(history, key=lambda line: line["valid_loss"])["epoch"]
    checkpoints = made.events.callbacks[0]
    assert checkpoints.best().name == f"epoch-{best:04d}.pt"
    state = pyburn.load(checkpoints.best())
    assert state["finished"] == best


def test_a_run_without_a_config_says_what_it_was_told(tmp_path):
    made = runs.learner(tmp_path, metrics=["accuracy"], clip_norm=1.0, seed=7)
    runs.fit(made, 2)
    settings = json.loads((tmp_path / "config.json").read_text())
    assert settings["model"] == type(made.model).__name__
    assert settings["groups"][0]["lr"] == made.optimizer.param_groups[0]["lr"]
    assert (settings["epochs"], settings["clip_norm"], settings["seed"], settings["device"]) == (2, 1.0, 7, "cpu")
    assert settings["metrics"] == ["loss", "accuracy"]


def test_a_run_leaves_its_files(tmp_path):
    class Settings(train.Config):
        width: int = 16

    made = runs.learner(tmp_path, config=Settings(), metrics=["accuracy"])
    history = runs.fit(made, 2)
    assert json.loads((tmp_path / "config.json").read_text()) == {"width": 16}
    with open(tmp_path / "metrics.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["valid_accuracy"]) for row in rows] == [line["valid_accuracy"] for line in history]
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert len(lines) == 2 * (8 + 1)
    assert lines[0].keys() == {"epoch", "batch", "step", "loss"}
    assert lines[8]["valid_loss"] == history[0]["valid_loss"]
    assert "all epochs done" in (tmp_path / "log.txt").read_text()


def test_a_run_without_a_name_gets_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        runs.fit(runs.learner(None), 1)
    folders = sorted((tmp_path / "runs").iterdir())
    assert len(folders) == 2
    again = runs.learner(None)
    runs.fit(again, 3, resume=True)
    assert again.folder.path.name == folders[-1].name


def test_early_stopping():
    worse = iter([3.0, 2.0, 2.5, 2.5, 1.0])
    stopping = train.EarlyStopping("valid_loss", patience=2)
    made = runs.learner(False, callbacks=[stopping])
    made.on("after_epoch", lambda learner: learner.history[-1].update(valid_loss=next(worse)))
    assert len(runs.fit(made, 5)) == 4
    assert made.stopped == "valid_loss has not become better since epoch 2 (2)"
    made = runs.learner(False, callbacks=[train.EarlyStopping("valid_gain")])
    with pytest.raises(ValueError, match="an epoch has no 'valid_gain'; it has epoch, "):
        runs.fit(made, 1)


def test_the_average_validates_and_the_weights_train():
    trained = runs.learner(False)
    runs.fit(trained, 2)
    average = train.EMA(0.5, warmup=False)
    made = runs.learner(False, callbacks=[average])
    expected = {name: value.clone() for name, value in made.model.state_dict().items()}

    def follow(learner):
        for name, value in learner.model.state_dict().items():
            expected[name] = (expected[name] + value) / 2 if value.is_floating_point() else value.clone()

    seen = []
    made.on("after_step", follow)
    made.on("before_batch", lambda learner: learner.training or seen.append(learner.model[0].weight.clone()))
    runs.fit(made, 2)
    for name, value in made.model.state_dict().items():
        assert pyburn.equal(value, trained.model.state_dict()[name])
        assert pyburn.allclose(average.average[name], expected[name])
    assert pyburn.equal(seen[-1], average.average["0.weight"])
    with pytest.raises(ValueError, match="decay is 1"):
        train.EMA(1.0)


def test_event_files_hold_the_numbers(tmp_path):
    history = runs.fit(runs.learner(tmp_path, callbacks=[train.TensorBoard(every=4)]), 2)
    files = list(tmp_path.glob("events.out.tfevents.*"))
    assert len(files) == 1
    data = files[0].read_bytes()
    assert data.count(b"batch/loss") == 4
    assert data.count(b"valid/loss") == 2
    for line in history:
        assert struct.pack("<f", line["valid_loss"]) in data


def test_lines_of_batches_are_there_when_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(train.folder, "ROWS", 3)
    made = runs.learner(tmp_path)
    counts = []

    def look(learner):
        learner.folder.flush()
        counts.append((learner.step, (tmp_path / "metrics.jsonl").read_text().count('"batch"')))

    made.on("before_epoch", look)
    made.on("after_train", look)
    runs.fit(made, 2)
    assert [lines for _, lines in counts] == [steps for steps, _ in counts]
    assert counts[-1][1] > 3
