"""The table of a model: outputs, weights and multiplications that are counted by hand here."""

import pyburn
import pytest
from pyburn import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1, groups=1)
        self.norm = nn.BatchNorm2d(8)
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(8 * 4 * 4, 5, bias=False))

    def forward(self, x):
        return self.head(self.norm(self.conv(x)).relu())


def test_a_table():
    model = Net()
    model.head[1].weight.requires_grad_(False)
    table = pyburn.summary(model, (2, 3, 4, 4))
    assert [(row.name, row.kind, row.depth, row.output, row.parameters, row.macs) for row in table.rows] == [
        ("", "Net", 0, "[2, 5]", 0, 0),
        ("conv", "Conv2d", 1, "[2, 8, 4, 4]", 224, 2 * 8 * 16 * 27),
        ("norm", "BatchNorm2d", 1, "[2, 8, 4, 4]", 16, 0),
        ("head", "Sequential", 1, "[2, 5]", 0, 0),
        ("0", "Flatten", 2, "[2, 128]", 0, 0),
        ("1", "Linear", 2, "[2, 5]", 640, 2 * 640),
    ]
    assert (table.parameters, table.trainable, table.size) == (880, 240, 3520)
    assert "conv (Conv2d)       [2, 8, 4, 4]         224  6,912" in str(table)
    assert "880 (240 trainable), 3.5 kB" in str(table)
    assert table._repr_html_().count("<tr>") == 7


def test_the_model_stays_as_it_is():
    model = Net()
    model.norm.eval()
    before = model.norm.running_mean.clone()
    state = pyburn.get_rng_state()
    model.summary((2, 3, 4, 4))
    assert [module.training for module in model.modules()] == [True, True, False, True, True, True]
    assert pyburn.equal(model.norm.running_mean, before)
    assert pyburn.equal(pyburn.get_rng_state(), state)
    assert not model.conv._forward_hooks
    assert not model.conv._forward_pre_hooks


def test_without_an_input():
    table = Net().summary()
    assert [row.name for row in table.rows] == ["", "conv", "norm", "head", "0", "1"]
    assert [row.depth for row in table.rows] == [0, 1, 1, 1, 2, 2]
    assert table.macs == 0


def test_shared_layers_count_once():
    layer = nn.Linear(4, 4)
    table = pyburn.summary(nn.Sequential(layer, nn.ReLU(), layer), (1, 4))
    assert [row.parameters for row in table.rows] == [0, 20, 0, 0]
    assert table.parameters == 20
    assert table.macs == 32


@pytest.mark.parametrize(
    ("model", "shape", "macs"),
    [
        (lambda: nn.ConvTranspose2d(4, 6, 3, stride=2, groups=2), (1, 4, 5, 5), 4 * 25 * 9 * 3),
        (lambda: nn.Conv1d(4, 8, 3, groups=4), (2, 4, 10), 2 * 8 * 8 * 3),
        (lambda: nn.LSTM(5, 7, num_layers=2, bidirectional=True), (3, 2, 5), 6 * 2 * 4 * 7 * (5 + 7 + 14 + 7)),
        (lambda: nn.GRU(5, 7), (3, 2, 5), 6 * 3 * 7 * (5 + 7)),
    ],
)
def test_multiplications(model, shape, macs):
    assert pyburn.summary(model(), shape).macs == macs


def test_attention():
    query, key = pyburn.zeros(2, 5, 8), pyburn.zeros(2, 3, 8)
    table = pyburn.summary(nn.MultiheadAttention(8, 2, batch_first=True), (query, key, key))
    projections, products = 2 * 10 * 64 + 2 * 6 * 64, 2 * (10 * 3 * 8)
    assert table.macs == projections + products


def test_a_layer_may_be_named_so():
    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            self.summary = nn.Linear(2, 2)

        def forward(self, x):
            return self.summary(x)

    assert Named()(pyburn.zeros(1, 2)).shape == (1, 2)


def test_lazy_layers_have_no_weights_yet():
    assert pyburn.summary(nn.LazyLinear(3)).parameters == 0


class ByName(nn.Module):
    """Layers that are called with names, one that is not called at all."""

    def __init__(self):
        super().__init__()
        self.lstm, self.up = nn.LSTM(6, 4, batch_first=True), nn.ConvTranspose1d(4, 2, 3)
        self.attention, self.cell, self.spare = nn.MultiheadAttention(6, 2), nn.GRUCell(6, 3), nn.Linear(5, 5)

    def forward(self, x, scale=1.0):
        made, _ = self.lstm(input=x)
        self.attention(query=x, key=x, value=x)
        return self.up(input=made.transpose(1, 2)) * scale, self.cell(input=x[:, 0])


def test_layers_that_are_called_by_name():
    table = pyburn.summary(ByName(), (2, 5, 6))
    macs = {row.name: row.macs for row in table.rows}
    assert macs["lstm"] == 2 * 5 * (4 * 4 * 6 + 4 * 4 * 4)
    assert macs["up"] == 2 * 4 * 5 * 2 * 3
    assert macs["cell"] == 2 * 3 * 3 * (6 + 3)
    assert macs["attention"] == pyburn.summary(nn.MultiheadAttention(6, 2), (pyburn.ones(2, 5, 6),) * 3).macs


def test_every_weight_has_a_row():
    table = pyburn.summary(ByName(), (2, 5, 6))
    assert sum(row.parameters for row in table.rows) == table.parameters
    rows = {row.name: row for row in table.rows}
    assert (rows["spare"].parameters, rows["spare"].output, rows["spare"].depth) == (30, "", 1)
    assert (rows["out_proj"].parameters, rows["out_proj"].depth) == (42, 2)


def test_inputs_in_many_forms():
    x = pyburn.zeros(2, 5, 6)
    expected = str(pyburn.summary(ByName(), x))
    for given in ((2, 5, 6), [2, 5, 6], (x,), {"x": x}, {"x": x, "scale": 2.0}, [(2, 5, 6)]):
        assert str(pyburn.summary(ByName(), given)) == expected
    assert pyburn.summary(nn.Bilinear(2, 3, 4), [(1, 2), (1, 3)]).rows[0].output == "[1, 4]"
    assert pyburn.summary(nn.Linear(3, 2).to(pyburn.float64), (1, 3)).macs == 6
