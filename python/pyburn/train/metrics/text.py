"""Metrics of texts and token sequences: BLEU, ROUGE-L, and the error rates of characters and words."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Literal

from pyburn._core import Tensor
from pyburn.train.metrics.base import Accumulated, State, divide

__all__ = ["BLEU", "CER", "WER", "RougeL", "TextMetric"]

Tokens = Sequence[Hashable]


class TextMetric(Accumulated):
    """A metric of sequences: strings, lists of tokens, or tensors of token ids, one per sample.

    A single string is one sample. Scores of a vocabulary (B, T, V) count as their best tokens.

    Args:
        ignore_index: Token ids of this value (padding) are left out of outputs and targets.
    """

    def __init__(self, ignore_index: int | None = None, name: str | None = None) -> None:
        self.ignore_index = ignore_index
        self.name = name or self.name
        super().__init__()

    def _split(self, text: str) -> Tokens:
        return text.split()

    def _tokens(self, value: Any) -> Tokens:
        if isinstance(value, str):
            return self._split(value)
        items = value.tolist() if isinstance(value, Tensor) else list(value)
        return [item for item in items if item != self.ignore_index] if self.ignore_index is not None else items

    def _rows(self, role: str, value: Any) -> list[Any]:
        if isinstance(value, str):
            return [value]
        if isinstance(value, Tensor):
            value = value.detach()
            if role == "output" and value.is_floating_point() and value.ndim == 3:
                value = value.argmax(-1)
            if value.is_floating_point() or value.ndim > 2:
                raise ValueError(
                    f"{self.name}: {role} has shape {list(value.shape)} and dtype {value.dtype}; expected token ids of "
                    "shape (B, T), scores (B, T, V), or a list of strings."
                )
            rows: list[Any] = value.tolist()
            return rows if value.ndim == 2 else [rows]
        if not isinstance(value, Iterable):
            raise TypeError(f"{self.name}: {role} is a {type(value).__name__}; expected strings or token sequences.")
        return list(value)

    def _pairs(self, output: Any, target: Any) -> list[tuple[Any, Any]]:
        outputs, targets = self._rows("output", output), self._rows("target", target)
        if len(outputs) != len(targets):
            raise ValueError(
                f"{self.name}: {len(outputs)} outputs but {len(targets)} targets; every output needs its target (or "
                "its list of references)."
            )
        return list(zip(outputs, targets, strict=True))

    def _references(self, guess: Any, target: Any) -> list[Tokens]:
        """The references of one sample: one of the kind of the output, or a list of such."""
        nested = isinstance(target, (list, tuple)) and bool(target) and not isinstance(target[0], int)
        # For an output of words a list of words is one reference; for a text it is several.
        several = nested and (isinstance(guess, str) or not isinstance(target[0], str))
        return [self._tokens(item) for item in target] if several else [self._tokens(target)]


class BLEU(TextMetric):
    """The share of word sequences of the outputs that the references have too, over the whole corpus, from 0 to 1.

    A target is one reference or a list of them. Words are what white space separates. Without a match of some length
    the score is 0, unless it is smoothed.

    Args:
        n_gram: The longest sequences that count.
        smooth: Whether one is added to the counts of sequences of two and more.
        weights: The weight of each length; equal ones by default.
        ignore_index: Token ids of this value (padding) are left out.

    Example:
        >>> bleu = BLEU(n_gram=2)
        >>> bleu.update(["the cat is on the mat"], [["there is a cat on the mat", "a cat is on the mat"]])
        >>> round(bleu.compute(), 4)
        0.8165
    """

    name = "bleu"
    higher_is_better = True

    def __init__(
        self,
        n_gram: int = 4,
        smooth: bool = False,
        weights: Sequence[float] | None = None,
        ignore_index: int | None = None,
        name: str | None = None,
    ) -> None:
        if n_gram < 1 or (weights is not None and len(weights) != n_gram):
            raise ValueError(f"bleu: n_gram is {n_gram} and weights {weights}; expected one weight per length.")
        self.n_gram = n_gram
        self.smooth = smooth
        self.weights = list(weights) if weights is not None else [1 / n_gram] * n_gram
        super().__init__(ignore_index, name)

    def _statistics(self, output: Any, target: Any) -> State:
        matched, possible = [0] * self.n_gram, [0] * self.n_gram
        length = reference_length = 0
        for guess, references in self._pairs(output, target):
            tokens, known = self._tokens(guess), self._references(guess, references)
            length += len(tokens)
            reference_length += min((abs(len(own) - len(tokens)), place, len(own)) for place, own in enumerate(known))[
                2
            ]
            for size in range(1, self.n_gram + 1):
                grams = _grams(tokens, size)
                allowed: Counter[tuple[Hashable, ...]] = Counter()
                for own in known:
                    allowed |= _grams(own, size)
                matched[size - 1] += sum((grams & allowed).values())
                possible[size - 1] += sum(grams.values())
        found = {f"matched_{size + 1}": number for size, number in enumerate(matched)}
        found |= {f"possible_{size + 1}": number for size, number in enumerate(possible)}
        return found | {"length": length, "reference_length": reference_length}

    def _value(self, state: State) -> float | Tensor:
        if not state["length"] and not state["reference_length"]:
            return math.nan
        total = 0.0
        for size, weight in enumerate(self.weights, 1):
            more = 1 if self.smooth and size > 1 else 0
            above, below = state[f"matched_{size}"] + more, state[f"possible_{size}"] + more
            if above == 0:
                return 0.0
            total += weight * math.log(above / below)
        short = state["length"] <= state["reference_length"]
        return math.exp(total + (1 - state["reference_length"] / state["length"] if short else 0.0))


def _grams(tokens: Tokens, size: int) -> Counter[tuple[Hashable, ...]]:
    return Counter(tuple(tokens[start : start + size]) for start in range(len(tokens) - size + 1))


class RougeL(TextMetric):
    """The longest common subsequence of output and target, as a share of both; the mean over the samples.

    Strings are compared in lower case, without signs between words, as rouge-score does. Of several references the best
    counts.

    Args:
        statistic: "fmeasure", "precision" or "recall".
        ignore_index: Token ids of this value (padding) are left out.

    Example:
        >>> rouge = RougeL()
        >>> rouge.update(["My name is John"], ["Is your name John?"])
        >>> rouge.compute()
        0.5
    """

    name = "rouge_l"
    higher_is_better = True

    def __init__(
        self,
        statistic: Literal["fmeasure", "precision", "recall"] = "fmeasure",
        ignore_index: int | None = None,
        name: str | None = None,
    ) -> None:
        if statistic not in ("fmeasure", "precision", "recall"):
            raise ValueError(f"rouge_l: statistic is {statistic!r}; expected 'fmeasure', 'precision' or 'recall'.")
        self.statistic = statistic
        super().__init__(ignore_index, name)

    def _split(self, text: str) -> Tokens:
        return re.sub(r"[^a-z0-9]+", " ", text.lower()).split()

    def _statistics(self, output: Any, target: Any) -> State:
        pairs = self._pairs(output, target)
        total = 0.0
        for guess, references in pairs:
            tokens = self._tokens(guess)
            best = max(
                (self._scores(tokens, own) for own in self._references(guess, references)), key=lambda found: found[0]
            )
            total += best[("fmeasure", "precision", "recall").index(self.statistic)]
        return {"total": total, "count": len(pairs)}

    def _scores(self, tokens: Tokens, own: Tokens) -> tuple[float, float, float]:
        common = common_length(tokens, own)
        if not common:
            return 0.0, 0.0, 0.0
        return 2 * common / (len(tokens) + len(own)), common / len(tokens), common / len(own)

    def _value(self, state: State) -> float | Tensor:
        return divide(state["total"], state["count"])


class WER(TextMetric):
    """The word error rate: how many words to insert, delete or replace, per word of the targets; can exceed 1.

    Example:
        >>> wer = WER()
        >>> wer.update(["this is the prediction"], ["this is the reference"])
        >>> wer.compute()
        0.25
    """

    name = "wer"
    higher_is_better = False

    def _statistics(self, output: Any, target: Any) -> State:
        errors = length = 0
        for guess, own in self._pairs(output, target):
            if isinstance(guess, str) is not isinstance(own, str):
                raise ValueError(
                    f"{self.name}: an output is a {type(guess).__name__} and its target a {type(own).__name__}; give "
                    "one text, or one sequence of tokens, for each: this rate knows no list of references."
                )
            tokens, reference = self._tokens(guess), self._tokens(own)
            errors += edit_distance(tokens, reference)
            length += len(reference)
        return {"errors": errors, "length": length}

    def _value(self, state: State) -> float | Tensor:
        return divide(state["errors"], state["length"])


class CER(WER):
    """The character error rate: how many characters to insert, delete or replace, per character of the targets.

    Example:
        >>> cer = CER()
        >>> cer.update(["kitten"], ["sitting"])
        >>> round(cer.compute(), 4)
        0.4286
    """

    name = "cer"

    def _split(self, text: str) -> Tokens:
        return text


def _places(tokens: Tokens) -> dict[Hashable, int]:
    """For each token the bits of the places where it stands."""
    found: dict[Hashable, int] = {}
    for place, token in enumerate(tokens):
        found[token] = found.get(token, 0) | 1 << place
    return found


def common_length(first: Tokens, second: Tokens) -> int:
    """The length of the longest common subsequence.

    Hyyrö's bit-parallel form: a row of the table is one integer, in which a zero bit is a step up.

    Example:
        >>> common_length("nematode", "empty")
        3
    """
    places, full = _places(first), (1 << len(first)) - 1
    row = full
    for token in second:
        matches = row & places.get(token, 0)
        row = (row + matches | row - matches) & full
    return len(first) - row.bit_count()


def edit_distance(first: Tokens, second: Tokens) -> int:
    """The least number of insertions, deletions and replacements that turn one sequence into the other.

    Myers' bit-parallel form: the differences along a column of the table are the bits of two integers.

    Example:
        >>> edit_distance("kitten", "sitting")
        3
    """
    size = len(first)
    if not size:
        return len(second)
    places, full, last = _places(first), (1 << size) - 1, 1 << size - 1
    up, down, distance = full, 0, size
    for token in second:
        match = places.get(token, 0)
        diagonal = ((match & up) + up ^ up) | match | down
        right, left = down | ~(diagonal | up) & full, up & diagonal
        distance += bool(right & last) - bool(left & last)
        right, left = right << 1 | 1, left << 1
        up, down = (left | ~(diagonal | right)) & full, right & diagonal & full
    return distance
