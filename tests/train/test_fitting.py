"""`model.train(train_data, config)`: the mission's spelling of training, beside torch's `train(mode)`."""

import dataclasses
from collections import namedtuple

import pyburn
import pytest
from pyburn import nn, train

QUIET = {"folder": False, "renderer": None}


class Model(train.Trainable):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x):
        return self.linear(x)


def data(classes=True):
    pyburn.manual_seed(0)
    x = pyburn.randn(48, 3)
    return x, ((x[:, 0] > 0).long() if classes else x[:, :2])


def by_hand(loss, targets, epochs):
    """The losses of the same run, written as a loop."""
    pyburn.manual_seed(1)
    model = Model()
    optimizer = pyburn.optim.SGD(model.parameters(), lr=0.5)
    found = []
    for _ in range(epochs):
        optimizer.zero_grad()
        value = loss(model(targets[0]), targets[1])
        value.backward()
        optimizer.step()
        found.append(value.item())
    return found


@pytest.mark.parametrize(
    ("classes", "given", "loss"),
    [
        (True, {}, nn.functional.cross_entropy),
        (False, {}, nn.functional.mse_loss),
        (False, {"loss": "l1"}, nn.functional.l1_loss),
        (False, {"loss": nn.functional.huber_loss}, nn.functional.huber_loss),
    ],
)
def test_a_run_is_that_of_a_loop(classes, given, loss):
    pairs = data(classes)
    expected = by_hand(loss, pairs, 3)
    pyburn.manual_seed(1)
    model = Model()
    config = {"epochs": 3, "batch_size": 48, "optimizer": "sgd", "lr": 0.5, **QUIET, **given}
    history = model.train(pairs, config, valid_data=pairs)
    assert [line["train_loss"] for line in history] == pytest.approx(expected, rel=1e-5)
    assert "valid_loss" in history[-1]


def test_mode_keeps_its_meaning():
    model = Model()
    assert model.train(False) is model and not model.dropout.training
    assert model.train() is model and model.dropout.training
    assert not model.eval().training
    for wrong in (1, None, "yes"):
        with pytest.raises(ValueError, match="boolean"):
            model.train(wrong)
    with pytest.raises(TypeError, match="data"):
        model.train(config={"epochs": 3})


def test_settings_go_before_config_and_config_before_defaults():
    class Slow(Model):
        def train_defaults(self):
            return {"optimizer": "sgd", "lr": 0.25, "epochs": 4, **QUIET}

    assert [line["lr"] for line in Slow().train(data())] == [0.25] * 4
    assert [line["lr"] for line in Slow().train(data(), {"lr": 0.5})] == [0.5] * 4
    assert [line["lr"] for line in Slow().train(data(), {"lr": 0.5}, epochs=1, lr=1.0)] == [1.0]


def test_config_may_be_of_your_own(tmp_path):
    class Mine(train.Config):
        width: int = 64
        epochs: int = 2
        lr: float | None = None

    folder = tmp_path / "run"
    assert len(Model().train(data(), Mine(), folder=folder, renderer=None)) == 2
    assert Mine.load(folder / "config.json") == Mine()

    @dataclasses.dataclass
    class Plain:
        epochs: int = 3

    assert len(Model().train(data(), Plain(), **QUIET)) == 3
    assert len(Model().train(data(), train.TrainConfig(epochs=2, metrics=["accuracy"], device="cpu"), **QUIET)) == 2


def test_mistakes_are_named():
    with pytest.raises(TypeError, match="no setting 'epoch'"):
        Model().train(data(), {"epoch": 3})
    with pytest.raises(TypeError, match="no setting 'rate'"):
        Model().train(data(), rate=3)
    with pytest.raises(TypeError, match="config is a list"):
        Model().train(data(), [3])
    with pytest.raises(ValueError, match="no loss 'crossentropy'"):
        Model().train(data(), loss="crossentropy")


def test_auxiliary_outputs_count_with_their_weight():
    Outputs = namedtuple("Outputs", ["logits", "aux2", "aux1"])

    class Several(Model):
        aux_weight = 0.5

        def forward(self, x):
            y = super().forward(x)
            return Outputs(y, y, None) if self.training else y

    class Mapped(Several):
        def forward(self, x):
            y = super(Several, self).forward(x)
            return {"out": y, "aux": y} if self.training else {"out": y}

    expected = by_hand(lambda y, t: 1.5 * nn.functional.cross_entropy(y, t), data(), 2)
    for kind in (Several, Mapped):
        pairs = data()
        pyburn.manual_seed(1)
        model = kind()
        settings = {"epochs": 2, "batch_size": 48, "optimizer": "sgd", "lr": 0.5, "metrics": ["accuracy"], **QUIET}
        history = model.train(pairs, settings, valid_data=pairs)
        assert [line["train_loss"] for line in history] == pytest.approx(expected, rel=1e-5)
        assert 0 < history[-1]["train_accuracy"] <= 1 and 0 < history[-1]["valid_accuracy"] <= 1
