"""Transformers against torch's: weights from one seed, masks, gradients, copies."""

import copy
import pickle
import warnings

import numpy as np
import pyburn
import pytest
import torch

from nn.compare import _load, ours, same


def x(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape))).requires_grad_()


def build(make):
    pyburn.manual_seed(5), torch.manual_seed(5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says why it does not use nested tensors
        mine, theirs = make(pyburn), make(torch)
    assert repr(mine).replace("pyburn", "torch") == repr(theirs).replace("pyburn", "torch")
    for (key, a), (other, b) in zip(mine.named_parameters(), theirs.named_parameters(), strict=True):
        assert key == other
        np.testing.assert_allclose(a.tolist(), b.tolist(), rtol=1e-6, atol=1e-7)
    _load(mine, theirs)
    return mine, theirs


def check(mine, theirs, *inputs, **masks):
    given = [ours(value) for value in inputs]
    result = mine(*given, **{name: ours(mask) for name, mask in masks.items()})
    expected = theirs(*inputs, **masks)
    same(result, expected, atol=1e-4)
    weights = torch.linspace(0.5, 1.5, expected.numel()).reshape(expected.shape)
    (result * ours(weights)).sum().backward(), (expected * weights).sum().backward()
    for (name, a), (_, b) in zip(mine.named_parameters(), theirs.named_parameters(), strict=True):
        np.testing.assert_allclose(a.grad.tolist(), b.grad.tolist(), rtol=1e-3, atol=1e-4, err_msg=name)
    for a, b in zip(given, inputs, strict=True):
        same(a.grad, b.grad, atol=1e-4)


CAUSAL = torch.triu(torch.full((5, 5), -torch.inf), 1)
PADDING = torch.tensor([[False] * 3 + [True] * 2, [False] * 5, [False] * 4 + [True]])
SETTINGS = [
    {},
    {"norm_first": True},
    {"batch_first": True, "activation": "gelu"},
    {"bias": False, "layer_norm_eps": 0.1},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_encoder_layer(settings):
    mine, theirs = build(lambda lib: lib.nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0, **settings))
    tokens = (3, 5, 8) if settings.get("batch_first") else (5, 3, 8)
    check(mine, theirs, x(*tokens))
    check(mine, theirs, x(5, 8))
    check(mine, theirs, x(*tokens), src_mask=CAUSAL, is_causal=True)
    check(mine, theirs, x(*tokens), src_mask=-torch.inf == CAUSAL, src_key_padding_mask=PADDING)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_decoder_layer(settings):
    mine, theirs = build(lambda lib: lib.nn.TransformerDecoderLayer(8, 2, 12, dropout=0.0, **settings))
    first = settings.get("batch_first")
    tokens, memory = ((3, 4, 8), (3, 5, 8)) if first else ((4, 3, 8), (5, 3, 8))
    check(mine, theirs, x(*tokens), x(*memory))
    check(
        mine,
        theirs,
        x(*tokens),
        x(*memory),
        tgt_mask=CAUSAL[:4, :4],
        tgt_is_causal=True,
        memory_key_padding_mask=PADDING,
    )


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_one_seed_drops_the_same(settings):
    first = settings.get("batch_first")
    tokens, memory = ((3, 4, 8), (3, 5, 8)) if first else ((4, 3, 8), (5, 3, 8))
    mine, theirs = build(lambda lib: lib.nn.TransformerEncoderLayer(8, 2, 12, dropout=0.3, **settings))
    pyburn.manual_seed(6), torch.manual_seed(6)
    check(mine, theirs, x(*memory), src_key_padding_mask=PADDING)
    check(mine, theirs, x(*memory), src_mask=CAUSAL, is_causal=True)
    mine, theirs = build(lambda lib: lib.nn.TransformerDecoderLayer(8, 2, 12, dropout=0.3, **settings))
    pyburn.manual_seed(7), torch.manual_seed(7)
    check(mine, theirs, x(*tokens), x(*memory), memory_key_padding_mask=PADDING)


def test_activations_that_are_functions_or_modules():
    mine, theirs = build(lambda lib: lib.nn.TransformerEncoderLayer(8, 2, 12, 0.0, lib.nn.functional.silu))
    check(mine, theirs, x(5, 3, 8))
    mine, theirs = build(lambda lib: lib.nn.TransformerDecoderLayer(8, 2, 12, 0.0, lib.nn.Tanh()))
    check(mine, theirs, x(5, 3, 8), x(4, 3, 8))


def test_encoder_stack():
    def make(lib):
        layer = lib.nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0, batch_first=True)
        return lib.nn.TransformerEncoder(layer, 2, lib.nn.LayerNorm(8))

    mine, theirs = build(make)
    check(mine, theirs, x(3, 5, 8), src_key_padding_mask=PADDING)
    check(mine, theirs, x(3, 5, 8), mask=CAUSAL)


def test_whole_transformer():
    mine, theirs = build(lambda lib: lib.nn.Transformer(8, 2, 2, 1, 12, 0.0))
    masks = {"tgt_mask": torch.nn.Transformer.generate_square_subsequent_mask(4)}
    same(pyburn.nn.Transformer.generate_square_subsequent_mask(4), masks["tgt_mask"])
    check(mine, theirs, x(5, 3, 8), x(4, 3, 8), **masks, src_key_padding_mask=PADDING, memory_key_padding_mask=PADDING)
    mine.eval(), theirs.eval()
    expected = theirs(x(5, 3, 8), x(4, 3, 8))
    for twin in (copy.deepcopy(mine), pickle.loads(pickle.dumps(mine))):
        same(twin(ours(x(5, 3, 8)), ours(x(4, 3, 8))), expected, atol=1e-4)


def test_other_parts():
    class Doubling(pyburn.nn.Module):
        def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
            return src * 2

    model = pyburn.nn.Transformer(8, 2, 1, 1, 12, custom_encoder=Doubling())
    assert tuple(model(pyburn.zeros(5, 3, 8), pyburn.zeros(4, 3, 8)).shape) == (4, 3, 8)


MISTAKES = {
    "batch": lambda lib: lib.nn.Transformer(8, 2, 1, 1, 12)(lib.zeros(5, 3, 8), lib.zeros(4, 2, 8)),
    "features": lambda lib: lib.nn.Transformer(8, 2, 1, 1, 12)(lib.zeros(5, 3, 8), lib.zeros(4, 3, 6)),
    "activation": lambda lib: lib.nn.TransformerEncoderLayer(8, 2, activation="swish"),
    "mask": lambda lib: lib.nn.TransformerEncoderLayer(8, 2)(lib.zeros(5, 3, 8), lib.zeros(4, 4)),
    "hint": lambda lib: lib.nn.TransformerEncoderLayer(8, 2)(lib.zeros(5, 3, 8), is_causal=True),
    "rank": lambda lib: lib.nn.MultiheadAttention(8, 2)(*[lib.zeros(1, 1, 1, 8)] * 3),
    "keys": lambda lib: lib.nn.MultiheadAttention(8, 2)(lib.zeros(2, 1, 8), lib.zeros(3, 1, 8), lib.zeros(4, 1, 8)),
    "padding": lambda lib: lib.nn.MultiheadAttention(8, 2)(
        *[lib.zeros(2, 1, 8)] * 3, key_padding_mask=lib.zeros(1, 3).bool()
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_mistakes_raise_what_torch_raises(name):
    with pytest.raises(Exception) as theirs:  # noqa: PT011 - torch decides which
        MISTAKES[name](torch)
    with pytest.raises(type(theirs.value)) as mine:
        MISTAKES[name](pyburn)
    assert "the engine failed" not in str(mine.value)


def test_attention_weights_given_by_hand():
    torch.manual_seed(0)
    q, k, v = x(4, 3, 8), x(5, 3, 6), x(5, 3, 7)
    weights = [torch.randn(8, n) for n in (8, 6, 7)]
    out, bias = torch.randn(8, 8), torch.randn(24)
    rest = (out, None, True, PADDING, True, None, True, *weights)

    def call(lib, convert):
        given = [convert(value) for value in (q, k, v)]
        options = [convert(value) for value in rest]
        return lib.nn.functional.multi_head_attention_forward(
            *given, 8, 2, None, convert(bias), None, None, False, 0.0, *options
        )

    same(call(pyburn, ours), call(torch, lambda value: value), atol=1e-4)
