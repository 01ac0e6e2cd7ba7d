"""What a person gives a Learner on the first day: arrays, frames, odd losses, wrong folders."""

import errno
import json
import os

import numpy as np
import pandas
import pyburn
import pytest
from pyburn import data, nn, train

X = pyburn.randn(50, 4, generator=pyburn.Generator().manual_seed(0))
Y = (X.sum(1) > 0).long()


def learner(**settings):
    pyburn.manual_seed(0)
    model = settings.pop("model", None) or nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    loss = settings.pop("loss", nn.functional.cross_entropy)
    return train.Learner(model, loss, "sgd", **({"folder": False, "renderer": None, "lr": 0.1} | settings))


@pytest.mark.parametrize("precision", ["f16", "16-mixed", "bf16-mixed", pyburn.bfloat16, pyburn.float16])
def test_precision_has_the_names_that_people_write(precision):
    kind = {"f16": "float16", "16-mixed": "float16", "bf16-mixed": "bfloat16"}.get(precision, str(precision)[7:])
    expected = learner(precision=kind).fit((X, Y))[-1]["train_loss"]
    assert learner(precision=precision).fit((X, Y))[-1]["train_loss"] == expected
    assert learner(precision=pyburn.float32).fit((X, Y)) != expected


def test_arrays_and_frames_take_the_dtype_of_the_weights():
    expected = learner().fit((X, Y))[-1]["train_loss"]
    wide = X.numpy().astype("float64")
    made = learner()
    assert made.fit((wide, Y.numpy()), (wide, Y.numpy()))[-1]["train_loss"] == expected
    assert made.predict(wide).dtype == pyburn.float32
    frame = pandas.DataFrame(wide)
    assert learner().fit((frame, pandas.Series(Y.numpy())))[-1]["train_loss"] == expected
    double = learner(model=nn.Linear(4, 2).double())
    double.fit((X.numpy(), Y.numpy()))
    assert double.predict(X.numpy()).dtype == pyburn.float64
    # A tensor is what its owner made it.
    with pytest.raises(RuntimeError, match="same dtype"):
        learner().fit((X.double(), Y))


@pytest.mark.parametrize(
    ("loss", "kind", "text"),
    [
        (nn.CrossEntropyLoss(reduction="none"), ValueError, r"shape \(32,\).*\.mean\(\)"),
        (lambda output, target: 1.0, TypeError, "is a float"),
        (lambda output, target: np.float32(1.0), TypeError, "is a float32"),
        (lambda output, target: output.detach().sum(), RuntimeError, "nothing to learn"),
    ],
)
def test_a_loss_that_cannot_teach_is_refused(loss, kind, text):
    with pytest.raises(kind, match=text):
        learner(loss=loss).fit((X, Y))


def test_a_frozen_model_says_what_to_do():
    made = learner()
    made.freeze()
    with pytest.raises(RuntimeError, match="unfreeze"):
        made.fit((X, Y))


def test_data_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"same number of samples.*\(50, 4\), \(10,\)"):
        learner().fit((X, Y[:10]))
    for nothing in ((X[:0], Y[:0]), data.DataLoader(data.TensorDataset(X, Y), batch_size=64, drop_last=True)):
        with pytest.raises(ValueError, match="gave no batch"):
            learner().fit(nothing)


def test_a_folder_that_cannot_be_made_says_so(tmp_path):
    (tmp_path / "file").write_text("in the way")
    for place in (tmp_path / "file", tmp_path / "file" / "run"):
        with pytest.raises(OSError, match="give folder= a place where you may write") as caught:
            learner(folder=place).fit((X, Y))
        assert caught.value.filename == str(place)


def test_a_full_disk_names_the_file(tmp_path, monkeypatch):
    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*epoch-0001\.pt'"):
        learner(folder=tmp_path).fit((X, Y))
    assert not list((tmp_path / "checkpoints").glob("*.pt"))
    assert [json.loads(line)["epoch"] for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
