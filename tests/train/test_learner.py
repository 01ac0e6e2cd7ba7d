"""The Learner: what it computes is what a plain loop computes, in every form in which people hand it things."""

import math

import pyburn
import pytest
from pyburn import nn, train
from pyburn.train import Learner

from train import runs


def plain_loop(model, optimizer, epochs, accumulate=1, clip=None):
    inputs, classes, _ = runs.problem()
    loader = pyburn.utils.data.DataLoader(pyburn.utils.data.TensorDataset(inputs[:64], classes[:64]), 8, shuffle=True)
    losses = []
    for _ in range(epochs):
        for number, (x, y) in enumerate(loader):
            loss = nn.functional.cross_entropy(model(x), y)
            losses.append(loss.item())
            (loss / accumulate).backward()
            if (number + 1) % accumulate == 0 or number + 1 == len(loader):
                if clip is not None:
                    nn.utils.clip_grad_norm_(model.parameters(), clip)
                optimizer.step()
                optimizer.zero_grad()
    return losses


@pytest.mark.parametrize(("accumulate", "clip"), [(1, None), (3, 0.1)])
def test_the_losses_are_those_of_a_plain_loop(accumulate, clip):
    seen = []
    made = runs.learner(False, accumulate=accumulate, clip_norm=clip)
    made.on("after_batch", lambda learner: learner.training and seen.append(learner.batch.loss.item()))
    inputs, classes, _ = runs.problem()
    made.fit((inputs[:64], classes[:64]), epochs=2, batch_size=8)
    model = runs.model()
    optimizer = pyburn.optim.Adam(model.parameters(), lr=0.01)
    pyburn.manual_seed(5)
    assert seen == plain_loop(model, optimizer, 2, accumulate, clip)
    for name, weight in made.model.state_dict().items():
        assert pyburn.equal(weight, model.state_dict()[name])


def test_the_history_says_each_epoch():
    made = runs.learner(False, metrics=["accuracy", train_bias])
    history = runs.fit(made, 3)
    assert [line["epoch"] for line in history] == [1, 2, 3]
    assert history[-1].keys() >= {
        "train_loss",
        "train_accuracy",
        "train_train_bias",
        "valid_loss",
        "valid_accuracy",
        "lr",
    }
    assert history[-1]["train_loss"] < history[0]["train_loss"]
    assert made.evaluate(runs.problem()[2], batch_size=8)["loss"] == history[-1]["valid_loss"]


def train_bias(output, target):
    return output.mean()


def test_fit_again_goes_on():
    made = runs.learner(False)
    runs.fit(made, 1)
    assert [line["epoch"] for line in runs.fit(made, 2)] == [1, 2, 3]


def test_evaluate_several_and_predict():
    made = runs.learner(False, metrics=["accuracy"])
    inputs, classes, valid = runs.problem()
    results = made.evaluate({"seen": (inputs[:64], classes[:64]), "new": valid})
    assert results.keys() == {"seen", "new"}
    assert results["new"] == made.evaluate(valid)
    made.model.eval()
    expected = made.model(inputs)
    made.model.train()
    for data in (inputs, (inputs, classes), pyburn.utils.data.TensorDataset(inputs, classes)):
        assert pyburn.allclose(made.predict(data, batch_size=10), expected)
    assert made.model.training


class Stepping(nn.Module):
    """A module that knows its own loss."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 3)

    def forward(self, x):
        return self.layer(x)

    def training_step(self, batch, batch_idx):
        return nn.functional.cross_entropy(self(batch[0]), batch[1])

    def validation_step(self, batch):
        output = self(batch[0])
        return {"loss": nn.functional.cross_entropy(output, batch[1]), "output": output, "target": batch[1]}


def test_a_module_may_have_its_own_steps():
    pyburn.manual_seed(0)
    made = Learner(Stepping(), optimizer="adam", lr=0.05, folder=False, renderer=None)
    history = runs.fit(made)
    assert history[-1]["train_loss"] < history[0]["train_loss"]
    assert math.isfinite(history[-1]["valid_loss"])


def test_batches_may_be_mappings():
    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(8, 3)

        def forward(self, values, scale):
            return self.layer(values) * scale.unsqueeze(1)

    inputs, classes, _ = runs.problem()
    data = [{"values": inputs[i], "scale": pyburn.tensor(1.0), "label": classes[i]} for i in range(32)]
    loader = pyburn.utils.data.DataLoader(data, 8)
    made = Learner(Named(), nn.CrossEntropyLoss(), "sgd", lr=0.1, metrics=["accuracy"], folder=False, renderer=None)
    history = made.fit(loader, loader, 5)
    assert history[-1]["valid_loss"] < history[0]["valid_loss"]


def test_groups_and_freezing():
    made = runs.learner(False, groups={"4.*": {"lr": 0.5}}, optimizer="sgd")
    assert [(group["lr"], len(group["params"])) for group in made.optimizer.param_groups] == [(0.01, 4), (0.5, 2)]
    before = made.model[0].weight.clone()
    made.freeze("0.*")
    runs.fit(made, 1)
    assert pyburn.equal(made.model[0].weight, before)
    made.unfreeze()
    runs.fit(made, 1)
    assert not pyburn.equal(made.model[0].weight, before)
    with pytest.raises(ValueError, match=r"no weight of the model matches 'head\.\*'"):
        made.freeze("head.*")


def test_a_schedule_moves_with_its_own_pace():
    schedulers = pyburn.optim.lr_scheduler
    made = runs.learner(False, lr_scheduler=lambda optimizer: schedulers.StepLR(optimizer, 1, 0.5))
    assert [line["lr"] for line in runs.fit(made, 3)] == [0.01, 0.005, 0.0025]
    never = {"patience": 0, "threshold": 1e3, "threshold_mode": "abs"}
    made = runs.learner(False, lr_scheduler=lambda optimizer: schedulers.ReduceLROnPlateau(optimizer, **never))
    assert [line["lr"] for line in runs.fit(made, 3)] == pytest.approx([0.01, 0.01, 0.001])
    rates = []
    made = runs.learner(False, lr_scheduler=lambda optimizer: schedulers.OneCycleLR(optimizer, 0.1, total_steps=16))
    made.on("after_step", lambda learner: rates.append(learner.learning_rate))
    runs.fit(made, 1)
    assert len(set(rates)) == 8


def test_precision_and_recomputing():
    whole = runs.fit(runs.learner(False), 2)
    recomputed = runs.learner(False, recompute=["0", "4"])
    assert runs.fit(recomputed, 2)[-1]["train_loss"] == whole[-1]["train_loss"]
    assert "forward" not in vars(recomputed.model[0])
    half = runs.fit(runs.learner(False, precision="bfloat16"), 2)[-1]["train_loss"]
    assert half != whole[-1]["train_loss"]
    assert half == pytest.approx(whole[-1]["train_loss"], rel=0.05)
    scaled = runs.fit(runs.learner(False, precision="float16"), 2)[-1]["train_loss"]
    assert scaled == pytest.approx(whole[-1]["train_loss"], rel=0.05)


def test_events_come_in_order():
    names = []
    made = runs.learner(False)
    for event in train.EVENTS:
        made.on(event, lambda learner, event=event: names.append(event))
    inputs, classes, _ = runs.problem()
    made.fit((inputs[:8], classes[:8]), (inputs[:8], classes[:8]), 1, batch_size=8)
    assert names == [
        *(
            "before_fit",
            "before_epoch",
            "before_train",
            "before_batch",
            "after_forward",
            "after_loss",
            "after_backward",
        ),
        *("before_step", "after_step", "after_batch", "after_train", "before_validate", "before_batch"),
        *("after_forward", "after_loss", "after_batch", "after_validate", "after_epoch", "after_fit"),
    ]


def test_an_event_may_skip_or_stop():
    made = runs.learner(False)
    made.on("after_loss", lambda learner: learner.training and learner.batches_done % 2 and skip(train.SkipBatch))
    runs.fit(made, 1)
    assert made.step == 4
    made = runs.learner(False)
    made.on("after_batch", lambda learner: learner.training and learner.batches_done == 3 and skip(train.StopEpoch))
    assert len(runs.fit(made, 2)) == 2
    assert made.step == 6
    made = runs.learner(False)
    made.on("after_batch", lambda learner: skip(train.StopFit))
    assert runs.fit(made) == []
    assert made.stopped == "stopped by a callback"
    with pytest.raises(ValueError, match="no event 'after_lunch'"):
        made.on("after_lunch", print)


def skip(kind):
    raise kind


def test_a_strategy_replaces_the_epochs():
    def validate_twice(learner):
        for _ in learner.epochs_left():
            learner.train_epoch()
            learner.first = learner.validate()["loss"]
            learner.validate()

    made = runs.learner(False, strategy=validate_twice)
    assert runs.fit(made, 2)[-1]["valid_loss"] == made.first


def test_a_loss_that_is_no_number_is_explained():
    class Bad(nn.Module):
        def forward(self, x):
            return x / 0.0 * 0.0

    made = runs.learner(False)
    made.model.insert(2, Bad())
    before = made.model[0].weight.clone()
    with pytest.raises(train.NonFiniteLoss, match=r"loss is nan in epoch 1, batch 1: the first layer .* is 2 \(Bad\)"):
        runs.fit(made)
    assert pyburn.equal(made.model[0].weight, before)
    made = runs.learner(False)
    made.model[4].bias.data[0] = math.inf
    with pytest.raises(train.NonFiniteLoss, match=r"the weight 4\.bias holds NaN or inf"):
        runs.fit(made)
    made = runs.learner(False)
    with pytest.raises(train.NonFiniteLoss, match="the data itself holds NaN"):
        made.fit((pyburn.full((8, 8), math.nan), pyburn.zeros(8, dtype=pyburn.long)))
    made = runs.learner(False)
    made.loss = lambda output, target: output.sum() * math.inf
    with pytest.raises(train.NonFiniteLoss, match="the loss function made it"):
        runs.fit(made)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"optimizer": "adamm"}, "no optimizer 'adamm'; the names are"),
        ({"accumulate": 0}, "accumulate is 0"),
        ({"precision": "int4"}, "precision is 'int4', but must be one of"),
        ({"groups": {"head.*": {}}}, r"no weight of the model matches the group 'head\.\*'"),
        ({"schedule_every": "week"}, "must be 'step' or 'epoch'"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        runs.learner(False, **options)


def test_wrong_data_is_named():
    made = runs.learner(False)
    with pytest.raises(TypeError, match="data is a int; give a DataLoader"):
        made.fit(3)
    with pytest.raises(TypeError, match="no target for the loss"):
        made.fit((pyburn.zeros(4, 8),))
    made.loss = None
    with pytest.raises(TypeError, match="give a loss, or a model with training_step"):
        runs.fit(made)


def test_weights_are_saved_and_loaded(tmp_path):
    made = runs.learner(False)
    runs.fit(made, 1)
    other = runs.learner(False)
    for name in ("model.safetensors", "model.pt"):
        made.save(tmp_path / name)
        other.load(tmp_path / name)
        assert pyburn.equal(other.model[0].weight, made.model[0].weight)
        other.model[0].weight.data.zero_()


class Lightning(nn.Module):
    """A module in Lightning's form, which says all that a run needs."""

    def __init__(self, form):
        super().__init__()
        self.layer, self.form = nn.Linear(8, 3), form

    def forward(self, x):
        return self.layer(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        output = self(x)
        return {"loss": nn.functional.cross_entropy(output, y), "output": output}

    def validation_step(self, batch, batch_idx):
        return self.training_step(batch, batch_idx)

    def configure_optimizers(self):
        optimizer = pyburn.optim.SGD(self.parameters(), lr=0.5)
        schedule = pyburn.optim.lr_scheduler.StepLR(optimizer, 1, 0.1)
        return {
            "optimizer": optimizer,
            "lists": ([optimizer], [schedule]),
            "dictionary": {"optimizer": optimizer, "lr_scheduler": schedule},
            "nested": {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}},
            "two": [optimizer, optimizer],
        }[self.form]


@pytest.mark.parametrize(
    ("form", "rates"),
    [("optimizer", [0.5, 0.5]), ("lists", [0.5, 0.05]), ("dictionary", [0.5, 0.05]), ("nested", [5e-9, 5e-17])],
)
def test_a_module_in_the_form_of_lightning(form, rates):
    made = train.Learner(Lightning(form), metrics=["accuracy"], folder=False, renderer=None)
    history = runs.fit(made, 2)
    assert [line["lr"] for line in history] == pytest.approx(rates, rel=1e-6)
    assert 0 < history[-1]["valid_accuracy"] <= 1
    assert isinstance(made.optimizer, pyburn.optim.SGD)


def test_what_a_learner_cannot_step():
    with pytest.raises(TypeError, match="gave 2 optimizers"):
        train.Learner(Lightning("two"), folder=False)
    with pytest.raises(TypeError, match=r"optimizer\.step\(closure\)"):
        train.Learner(nn.Linear(1, 1), nn.MSELoss(), "lbfgs", folder=False)
    assert isinstance(
        train.Learner(Lightning("optimizer"), optimizer="adam", folder=False).optimizer, pyburn.optim.Adam
    )


def test_recomputed_layers_see_a_batch_once():
    """Running means and counts of batches are those of a run that keeps its activations."""
    plain, again = runs.learner(False), runs.learner(False, recompute=["1", "*"])
    one, other = runs.fit(plain, 2), runs.fit(again, 2)
    assert [line["valid_loss"] for line in one] == [line["valid_loss"] for line in other]
    for name, value in plain.model.state_dict().items():
        assert pyburn.equal(value, again.model.state_dict()[name]), name


def test_the_outermost_layer_is_recomputed():
    calls = []
    model = nn.Sequential(nn.Sequential(nn.Linear(8, 8), nn.Tanh()), nn.Linear(8, 3))
    model[0][0].register_forward_hook(lambda *_: calls.append(1))
    made = train.Learner(model, nn.CrossEntropyLoss(), recompute=["0*"], folder=False, renderer=None)
    inputs, classes, _ = runs.problem()
    made.fit((inputs[:8], classes[:8]), epochs=1, batch_size=8)
    assert len(calls) == 2
