"""MultiheadAttention against torch's, with every kind of mask."""

import pyburn
import pytest
import torch
import torch.nn.attention.bias as torch_bias
from pyburn.nn import attention_bias

from nn.compare import _load, check_module, ours, same


def x(*shape):
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(*shape, generator=generator).requires_grad_()


@pytest.mark.parametrize(
    "kwargs",
    [{}, {"bias": False}, {"batch_first": True}, {"add_bias_kv": True}, {"add_zero_attn": True}],
    ids=str,
)
def test_self_attention(kwargs):
    check_module("MultiheadAttention", 8, 2, inputs=(x(5, 3, 8), x(5, 3, 8), x(5, 3, 8)), **kwargs)


def test_keys_and_values_of_other_sizes():
    check_module("MultiheadAttention", 8, 4, kdim=5, vdim=6, inputs=(x(4, 2, 8), x(3, 2, 5), x(3, 2, 6)))


def test_without_a_batch():
    check_module("MultiheadAttention", 8, 2, inputs=(x(5, 8), x(4, 8), x(4, 8)))


@pytest.mark.parametrize("need_weights", [True, False])
def test_one_seed_drops_the_same(need_weights):
    mine = pyburn.nn.MultiheadAttention(8, 2, dropout=0.4, add_zero_attn=True)
    theirs = torch.nn.MultiheadAttention(8, 2, dropout=0.4, add_zero_attn=True)
    _load(mine, theirs)
    q, k = x(70, 3, 8), x(40, 3, 8)
    p, j = ours(q), ours(k)
    pyburn.manual_seed(1), torch.manual_seed(1)
    result, expected = mine(p, j, j, need_weights=need_weights), theirs(q, k, k, need_weights=need_weights)
    same(result[0], expected[0], atol=1e-5)
    assert result[1] is None if expected[1] is None else same(result[1], expected[1], atol=1e-5) is None
    result[0].square().sum().backward(), expected[0].square().sum().backward()
    same(p.grad, q.grad, atol=1e-4), same(j.grad, k.grad, atol=1e-4)


PADDING = torch.tensor([[False, False, True, True], [False, False, False, False], [False, True, True, True]])
CAUSAL = torch.triu(torch.ones(4, 4, dtype=torch.bool), 1)


@pytest.mark.parametrize(
    "masks",
    [
        {"key_padding_mask": PADDING},
        {"attn_mask": CAUSAL},
        {"attn_mask": torch.zeros(4, 4).masked_fill(CAUSAL, -torch.inf)},
        {"attn_mask": CAUSAL.expand(6, 4, 4)},
        {"attn_mask": CAUSAL, "key_padding_mask": PADDING},
        {"attn_mask": CAUSAL, "is_causal": True, "need_weights": False},
        {"average_attn_weights": False},
    ],
    ids=["padding", "causal", "additive", "per-head", "both", "hint", "weights-of-heads"],
)
@pytest.mark.parametrize("extra", [False, True])
def test_masks(masks, extra):
    if extra and "is_causal" in masks:
        pytest.skip("torch drops the mask for the hint and then lets late queries see none of the added keys")
    settings = {"batch_first": True, "add_zero_attn": extra, "add_bias_kv": extra}
    mine, theirs = pyburn.nn.MultiheadAttention(8, 2, **settings), torch.nn.MultiheadAttention(8, 2, **settings)
    _load(mine, theirs)
    tokens = x(3, 4, 8)
    output, weights = mine(*[ours(tokens)] * 3, **{name: ours(mask) for name, mask in masks.items()})
    expected, expected_weights = theirs(tokens, tokens, tokens, **masks)
    same(output, expected)
    if expected_weights is None:
        assert weights is None
    else:
        same(weights, expected_weights)


def test_mistakes_are_named():
    with pytest.raises(AssertionError, match="must be divisible"):
        pyburn.nn.MultiheadAttention(8, 3)
    attention, tokens = pyburn.nn.MultiheadAttention(8, 2), pyburn.zeros(4, 3, 8)
    with pytest.raises(RuntimeError, match="Need attn_mask"):
        attention(tokens, tokens, tokens, is_causal=True)
    with pytest.raises(RuntimeError, match=r"should be \(6, 4, 4\)"):
        attention(tokens, tokens, tokens, attn_mask=pyburn.zeros(2, 4, 4))
    with pytest.raises(AssertionError, match="was expecting embedding dimension of 8, but got 5"):
        attention(pyburn.zeros(4, 3, 5), tokens, tokens)


@pytest.mark.parametrize("name", ["causal_lower_right", "causal_upper_left"])
@pytest.mark.parametrize("size", [(3, 5), (4, 4), (5, 3)])
@pytest.mark.filterwarnings("ignore:Lower right causal bias:UserWarning")
def test_causal_masks_of_two_lengths(name, size):
    mine, theirs = getattr(attention_bias, name)(*size), getattr(torch_bias, name)(*size)
    assert isinstance(mine, attention_bias.CausalBias) and int(mine.variant) == int(theirs.variant)
    assert (mine.seq_len_q, mine.seq_len_kv) == size
    assert mine._materialize().tolist() == theirs._materialize().tolist()
    if size[0] <= size[1]:
        q, k = x(2, 1, size[0], 4), x(2, 1, size[1], 4)
        expected = torch.nn.functional.scaled_dot_product_attention(q, k, k, attn_mask=theirs)
        same(pyburn.nn.functional.scaled_dot_product_attention(ours(q), ours(k), ours(k), attn_mask=mine), expected)


def test_a_causal_mask_needs_a_variant():
    with pytest.raises(TypeError, match="must be a CausalVariant"):
        attention_bias.CausalBias(1, 2, 3)
