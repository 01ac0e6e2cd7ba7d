"""Metrics of texts, against torchmetrics and plain tables."""

from __future__ import annotations

import math

import numpy as np
import pyburn
import pytest
import torchmetrics.functional.text as tm
from hypothesis import given, settings
from hypothesis import strategies as st
from pyburn.train import metrics
from pyburn.train.metrics.text import common_length, edit_distance

from .metric_checks import agree, check_splits

OUTPUTS = [
    "the cat is on the mat",
    "A quick brown fox, jumps over the lazy dog!",
    "hello hello hello there",
    "there is a house in new orleans",
    "completely different words here now",
]
TARGETS = [
    "there is a cat on the mat",
    "The quick brown fox jumped over the lazy dogs",
    "hello there general",
    "there is a house in new orleans they call the rising sun",
    "nothing in common with that",
]
REFERENCES = [[target, "a cat is on the mat there"] for target in TARGETS]
SEQUENCES = st.lists(st.integers(0, 3), max_size=12)


@settings(max_examples=60, deadline=None)
@given(SEQUENCES, SEQUENCES)
def test_distances_against_their_tables(first, second):
    edits = np.zeros((len(first) + 1, len(second) + 1), int)
    edits[:, 0], edits[0] = range(len(first) + 1), range(len(second) + 1)
    common = np.zeros_like(edits)
    for i, a in enumerate(first, 1):
        for j, b in enumerate(second, 1):
            edits[i, j] = min(edits[i - 1, j] + 1, edits[i, j - 1] + 1, edits[i - 1, j - 1] + (a != b))
            common[i, j] = common[i - 1, j - 1] + 1 if a == b else max(common[i - 1, j], common[i, j - 1])
    assert edit_distance(first, second) == edits[-1, -1]
    assert common_length(first, second) == common[-1, -1]


@pytest.mark.parametrize("n_gram", [1, 2, 4])
@pytest.mark.parametrize("smooth", [False, True])
def test_bleu(n_gram, smooth):
    make = lambda: metrics.BLEU(n_gram, smooth)  # noqa: E731
    expected = tm.bleu_score(OUTPUTS, REFERENCES, n_gram=n_gram, smooth=smooth)
    agree(check_splits(make, OUTPUTS, REFERENCES), expected)
    single = tm.bleu_score(OUTPUTS, [[target] for target in TARGETS], n_gram=n_gram, smooth=smooth)
    agree(check_splits(make, OUTPUTS, TARGETS), single)


def test_bleu_with_weights_and_without_matches():
    weights = [0.7, 0.3]
    expected = tm.bleu_score(OUTPUTS, REFERENCES, n_gram=2, weights=weights)
    agree(metrics.BLEU(2, weights=weights)(OUTPUTS, REFERENCES), expected)
    assert metrics.BLEU()(["a b c"], ["d e f"]) == 0.0
    assert metrics.BLEU()([""], ["d e f"]) == 0.0


@pytest.mark.parametrize("statistic", ["fmeasure", "precision", "recall"])
def test_rouge_l(statistic):
    expected = tm.rouge_score(OUTPUTS, TARGETS, rouge_keys="rougeL")[f"rougeL_{statistic}"]
    agree(check_splits(lambda: metrics.RougeL(statistic), OUTPUTS, TARGETS), expected)


def test_rouge_l_takes_the_best_reference():
    expected = tm.rouge_score(OUTPUTS, REFERENCES, rouge_keys="rougeL", accumulate="best")["rougeL_fmeasure"]
    agree(metrics.RougeL()(OUTPUTS, REFERENCES), expected)


def test_error_rates():
    agree(check_splits(metrics.WER, OUTPUTS, TARGETS), tm.word_error_rate(OUTPUTS, TARGETS))
    agree(check_splits(metrics.CER, OUTPUTS, TARGETS), tm.char_error_rate(OUTPUTS, TARGETS))
    assert metrics.WER()("a b", "a c") == 0.5
    assert metrics.WER()(["a"], [""]) == math.inf
    assert math.isnan(metrics.WER()([""], [""]))


def test_token_ids_are_words():
    vocabulary = {word: number for number, word in enumerate(sorted({w for t in OUTPUTS + TARGETS for w in t.split()}))}
    ids = lambda texts: [[vocabulary[word] for word in text.split()] for text in texts]  # noqa: E731
    outputs, targets = ids(OUTPUTS), ids(TARGETS)
    agree(metrics.WER()(outputs, targets), tm.word_error_rate(OUTPUTS, TARGETS))
    words = [text.split() for text in OUTPUTS], [text.split() for text in TARGETS]
    expected = tm.bleu_score(OUTPUTS, [[target] for target in TARGETS], n_gram=2)
    agree(metrics.BLEU(2)(outputs, targets), expected)
    agree(metrics.BLEU(2)(*words), expected)
    agree(metrics.BLEU(2)(outputs, [ids(texts) for texts in [[t] for t in TARGETS]]), expected)
    length = max(map(len, outputs + targets))
    padded = [pyburn.tensor([row + [-1] * (length - len(row)) for row in rows]) for rows in (outputs, targets)]
    agree(check_splits(lambda: metrics.WER(ignore_index=-1), *padded), tm.word_error_rate(OUTPUTS, TARGETS))
    agree(metrics.BLEU(2, ignore_index=-1)(*padded), expected)


def test_scores_of_a_vocabulary_are_their_best_tokens():
    scores = pyburn.tensor([[[0.0, 1.0], [1.0, 0.0]]])
    assert metrics.WER()(scores, pyburn.tensor([[1, 1]])) == 0.5


def test_wrong_inputs_say_what_to_do():
    with pytest.raises(ValueError, match="bleu: 2 outputs but 1 targets"):
        metrics.BLEU().update(["a", "b"], ["a"])
    with pytest.raises(ValueError, match=r"wer: output has shape \[2, 3\] and dtype.*expected token ids"):
        metrics.WER().update(pyburn.rand(2, 3), pyburn.tensor([[1]]))
    with pytest.raises(TypeError, match="cer: output is a int"):
        metrics.CER().update(3, ["a"])
    with pytest.raises(ValueError, match="one weight per length"):
        metrics.BLEU(3, weights=[0.5, 0.5])


@pytest.mark.parametrize("make", [metrics.WER, metrics.CER])
def test_rates_know_no_list_of_references(make):
    with pytest.raises(ValueError, match="an output is a str and its target a list"):
        make().update(["a b"], [["a b", "a c"]])
    assert make()([["a", "b"]], [["a", "c"]]) == 0.5
