"""Embedding, EmbeddingBag and scaled_dot_product_attention in all of their forms against torch's."""

import pyburn
import pytest
import torch

from nn.compare import ours, same
from oracle import check_op

TABLE = torch.randn(7, 3, generator=torch.Generator().manual_seed(0))
BAGS = [
    ([[1, 2, 4], [6, 0, 1]], None, False),
    ([1, 2, 4, 6, 0, 1], [0, 2, 2, 5], False),
    ([1, 2, 4, 6, 0, 1], [0, 3, 6], True),
    ([], [0, 0], False),
]


def bag(lib, table, weights, indices, offsets, last, **settings):
    made = lib.tensor(indices, dtype=lib.int64)
    cuts = None if offsets is None else lib.tensor(offsets)
    if weights is not None:
        weights = weights[: made.numel()].reshape(tuple(made.shape))
    return lib.nn.functional.embedding_bag(
        made, table, cuts, include_last_offset=last, per_sample_weights=weights, **settings
    )


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("bags", BAGS, ids=str)
@pytest.mark.parametrize("padding", [None, 1, -1])
def test_bags(mode, bags, padding):
    check_op(lambda lib, table: bag(lib, table, None, *bags, mode=mode, padding_idx=padding), TABLE)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding", [None, 1])
def test_bags_of_wide_rows(mode, padding):
    table = torch.randn(7, 3000, generator=torch.Generator().manual_seed(1)).requires_grad_()
    mine = ours(table)
    results = []
    for lib, rows in ((pyburn, mine), (torch, table)):
        bags = bag(lib, rows, None, *BAGS[1], mode=mode, padding_idx=padding)
        bags.square().sum().backward()
        results.append((bags, rows.grad))
    same(*results)


@pytest.mark.parametrize("bags", BAGS[:3], ids=str)
def test_weighted_bags(bags):
    weights = torch.tensor([0.5, -1.0, 2.0, 3.0, 0.1, 0.7])
    check_op(lambda lib, table, w: bag(lib, table, w, *bags, mode="sum"), TABLE, weights)
    check_op(lambda lib, table, w: bag(lib, table, w, *bags, mode="sum", padding_idx=2), TABLE, weights)


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_bags_with_gradients_by_frequency(mode):
    indices = ([1, 1, 4, 6, 1, 4], [0, 2], False)
    check_op(lambda lib, table: bag(lib, table, None, *indices, mode=mode, scale_grad_by_freq=True), TABLE)


@pytest.mark.parametrize("norm_type", [1.0, 2.0])
def test_long_rows_are_shortened(norm_type):
    results = []
    for lib in (pyburn, torch):
        table = lib.nn.Embedding(7, 3, max_norm=1.0, norm_type=norm_type)
        table.weight.data = ours(TABLE) if lib is pyburn else TABLE.clone()
        output = table(lib.tensor([[1, 2], [2, 5]]))
        output.square().sum().backward()
        results.append((output, table.weight, table.weight.grad))
    same(*results)


@pytest.mark.parametrize("settings", [{"padding_idx": 2}, {"scale_grad_by_freq": True}, {"padding_idx": -1}], ids=str)
def test_rows(settings):
    def rows(lib, table):
        return lib.nn.functional.embedding(lib.tensor([[1, 2, 2], [6, 0, 2]]), table, **settings)

    check_op(rows, TABLE)


def test_given_tables():
    for cls in ("Embedding", "EmbeddingBag"):
        frozen = getattr(pyburn.nn, cls).from_pretrained(ours(TABLE))
        trained = getattr(pyburn.nn, cls).from_pretrained(ours(TABLE), freeze=False)
        assert (frozen.weight.requires_grad, trained.weight.requires_grad) == (False, True)
        assert repr(frozen) == repr(getattr(torch.nn, cls).from_pretrained(TABLE))


MISTAKES = {
    "offsets": lambda lib: bag(lib, lib.zeros(3, 2), None, [1, 2], None, False),
    "first offset": lambda lib: bag(lib, lib.zeros(3, 2), None, [1, 2], [1], False),
    "mode": lambda lib: bag(lib, lib.zeros(3, 2), None, [1, 2], [0], False, mode="median"),
    "weights": lambda lib: bag(lib, lib.zeros(3, 2), lib.ones(2), [1, 2], [0], False, mode="max"),
    "index": lambda lib: bag(lib, lib.zeros(3, 2), None, [1, 3], [0], False),
    "row": lambda lib: lib.nn.functional.embedding(lib.tensor([3]), lib.zeros(3, 2)),
    "negative": lambda lib: lib.nn.functional.embedding(lib.tensor([-1]), lib.zeros(3, 2)),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_raise_what_torch_raises(name):
    with pytest.raises(Exception) as theirs:  # noqa: PT011 - torch decides which
        MISTAKES[name](torch)
    with pytest.raises(Exception) as mine:  # noqa: PT011
        MISTAKES[name](pyburn)
    assert isinstance(mine.value, type(theirs.value))
    assert "the engine failed" not in str(mine.value)


def x(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


FORMS = [
    {},
    {"is_causal": True},
    {"scale": 0.3},
    {"attn_mask": "bool"},
    {"attn_mask": "float"},
    {"attn_mask": "hidden row"},
]


def mask_of(kind):
    seen = torch.rand(4, 5, generator=torch.Generator().manual_seed(1)) > 0.3
    seen[:, 0] = True
    if kind == "hidden row":
        seen[1] = False
    return x(4, 5) if kind == "float" else seen


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("shape", [(), (2,), (2, 3)], ids=str)
def test_attention(form, shape):
    settings = {key: value for key, value in form.items() if key != "attn_mask"}
    mask = [mask_of(form["attn_mask"])] if "attn_mask" in form else []

    def attend(lib, q, k, v, *masks):
        return lib.nn.functional.scaled_dot_product_attention(q, k, v, *masks, **settings)

    check_op(attend, x(*shape, 4, 6), x(*shape, 5, 6), x(*shape, 5, 3), *mask, rtol=1e-5)


def test_heads_that_share_keys():
    def attend(lib, q, k, v):
        return lib.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)

    check_op(attend, x(2, 4, 3, 6), x(2, 2, 5, 6), x(2, 2, 5, 6), rtol=1e-5)


def test_dropped_weights_keep_their_mean():
    pyburn.manual_seed(0)
    q, v = pyburn.zeros(1, 400, 2), pyburn.ones(1, 50, 1)
    output = pyburn.nn.functional.scaled_dot_product_attention(q, pyburn.zeros(1, 50, 2), v, dropout_p=0.5)
    assert output.mean().item() == pytest.approx(1.0, abs=0.02)
    assert output.std().item() > 0.05


@pytest.mark.parametrize("mean", [True, False])
@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("hidden", ["bool", "float", None])
def test_attention_layer_in_every_form(mean, need_weights, hidden):
    mine, theirs = (lib.nn.MultiheadAttention(6, 2, kdim=5, vdim=4, add_bias_kv=True) for lib in (pyburn, torch))
    mine.load_state_dict({key: ours(value) for key, value in theirs.state_dict().items()})
    given = (x(4, 3, 6), x(5, 3, 5), x(5, 3, 4))
    mask = None if hidden is None else mask_of("bool").logical_not() if hidden == "bool" else x(4, 5)
    settings = {"average_attn_weights": mean, "need_weights": need_weights}
    expected = theirs(*given, attn_mask=mask, **settings)
    found = mine(*(ours(value) for value in given), attn_mask=None if mask is None else ours(mask), **settings)
    same([t for t in found if t is not None], [t for t in expected if t is not None])
    assert (found[1] is None) == (expected[1] is None)
