"""Attention whose scores a function decides, against the same formula written out with torch."""

from __future__ import annotations

import math

import numpy as np
import pyburn
import pyburn.nn.flex_attention as ours
import pytest
import torch
import torch.nn.attention.flex_attention as theirs

MODS = {
    "plain": None,
    "relative": lambda score, b, h, q, kv: score + (kv - q) * 0.1,
    "by head": lambda score, b, h, q, kv: score * (1 + h) - (q < kv) * 5.0,
}
MASKS = {
    "none": None,
    "causal": lambda b, h, q, kv: q >= kv,
    "window": lambda b, h, q, kv: (q - kv).abs() <= 1,
    "some rows see nothing": lambda b, h, q, kv: (q >= kv) & (q > 1),
}


def written_out(query, key, value, mod, mask, scale=None, groups=1):
    key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    places = torch.meshgrid(*(torch.arange(size) for size in scores.shape), indexing="ij")
    scores = scores if mod is None else mod(scores, *places)
    if mask is None:
        return scores.softmax(-1) @ value, scores.logsumexp(-1)
    seen = mask(*places)
    weights = torch.where(seen, scores, -1e30).softmax(-1) * seen
    return weights @ value, torch.where(seen, scores, -math.inf).logsumexp(-1)


def compare(mod, mask, key_heads=2, **options):
    rng = np.random.default_rng(0)
    values = [rng.standard_normal((2, heads, 6, 4)).astype(np.float32) for heads in (2, key_heads, key_heads)]
    mine = [pyburn.tensor(value, requires_grad=True) for value in values]
    known = [torch.tensor(value, requires_grad=True) for value in values]
    block = None if mask is None else ours.create_block_mask(mask, 2, 2, 6, 6)
    grouped = {"enable_gqa": True} if key_heads == 1 else {}
    out, lse = ours.flex_attention(*mine, score_mod=mod, block_mask=block, return_lse=True, **grouped, **options)
    expected, expected_lse = written_out(*known, mod, mask, groups=2 // key_heads, **options)
    (out**2).sum().backward()
    (expected**2).sum().backward()
    pairs = [(out, expected), (lse, expected_lse), *((a.grad, b.grad) for a, b in zip(mine, known))]
    for a, b in pairs:
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("mod", MODS)
@pytest.mark.parametrize("mask", MASKS)
def test_values_and_gradients(mod, mask):
    compare(MODS[mod], MASKS[mask])


@pytest.mark.parametrize("options", [{"scale": 0.3}, {"key_heads": 1}], ids=str)
def test_options(options):
    compare(None, MASKS["causal"], **options)


def test_masks():
    def program(flex):
        near = flex.and_masks(MASKS["causal"], MASKS["window"])
        either = flex.or_masks(MASKS["causal"], MASKS["window"])
        dense = [flex.create_mask(mask, 1, 1, 4, 4, device="cpu").tolist() for mask in (near, either)]
        block = flex.create_block_mask(MASKS["causal"], 1, 1, 256, 256, device="cpu")
        return dense, block.to_dense().tolist(), block.sparsity(), tuple(block.shape)

    assert program(ours) == program(theirs)


def test_options_of_torchs_kernels_have_a_type():
    assert ours.FlexKernelOptions(BLOCK_M=64, PRESCALE_QK=True) == {"BLOCK_M": 64, "PRESCALE_QK": True}
    assert set(ours.FlexKernelOptions.__annotations__) <= set(theirs.FlexKernelOptions.__annotations__)
