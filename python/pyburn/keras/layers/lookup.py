"""Words and whole numbers as places in a vocabulary: `StringLookup`, `IntegerLookup`, `TextVectorization`, `Hashing`.

Texts are lists of strings, or numpy arrays of them: a tensor holds no strings. So these layers stand before a model (in
a dataset's `map`, or on arrays before `fit`); only `IntegerLookup` can also be a part of one.
"""

from __future__ import annotations

import collections
import hashlib
import math
import re
import string
from collections.abc import Callable, Iterable
from typing import Any

from pyburn import ops
from pyburn._core import Tensor
from pyburn.keras import config as settings
from pyburn.keras.layer import Layer
from pyburn.keras.symbolic import any_symbolic
from pyburn.nn import functional

__all__ = ["HashedCrossing", "Hashing", "IntegerLookup", "StringLookup", "TextVectorization"]

_MODES = ("int", "one_hot", "multi_hot", "count", "tf_idf")


def nested(value: Any) -> Any:
    """An array, tensor or nest of tuples as a nest of lists; one value as it is."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return [nested(each) for each in value] if isinstance(value, (list, tuple)) else value


def _leaves(tree: Any) -> list[Any]:
    return [leaf for each in tree for leaf in _leaves(each)] if isinstance(tree, list) else [tree]


def _mapped(function: Callable[[Any], Any], tree: Any) -> Any:
    return [_mapped(function, each) for each in tree] if isinstance(tree, list) else function(tree)


def _text(value: Any) -> str:
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)


def _of_hash(text: str, bins: int) -> int:
    """A number below `bins` that is the same in every process."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") % bins


def encoded(places: Tensor, size: int, mode: str, weights: Tensor | None, kind: Any) -> Tensor:
    """Places as rows of `size` numbers: ones where a place is, or how often it is there."""
    rows = functional.one_hot(places, size).to(kind)  # (..., size)
    if mode == "one_hot":
        return rows.squeeze(-2) if places.dim() > 1 and places.shape[-1] == 1 else rows
    if places.dim() == 0:
        return rows if weights is None else rows * weights
    summed = rows.amax(-2) if mode == "multi_hot" else rows.sum(-2)
    return summed if weights is None else summed * weights


class _OnLists(Layer):
    """A layer that takes lists and arrays of anything, as they are."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What calling the layer gives."""
        if any_symbolic(args, kwargs) or isinstance(args[0], Tensor):
            return super().forward(*args, **kwargs)
        return self.call(*args, **kwargs)


class _Lookup(_OnLists):
    """What both kinds of vocabulary share; `_key` makes of a value what the vocabulary holds."""

    _kind = "value"

    def __init__(
        self,
        max_tokens: int | None,
        num_oov_indices: int,
        mask_token: Any,
        oov_token: Any,
        vocabulary: Any,
        idf_weights: Any,
        invert: bool,
        output_mode: str,
        pad_to_max_tokens: bool,
        sparse: bool,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("dtype", "int64" if output_mode == "int" else None)
        super().__init__(**kwargs)
        if output_mode not in _MODES:
            self._refuse(f"output_mode is {output_mode!r}, but must be one of {', '.join(_MODES)}")
        if invert and output_mode != "int":
            self._refuse(f"invert=True goes with output_mode='int' only, not with {output_mode!r}")
        if max_tokens is not None and max_tokens <= num_oov_indices + (mask_token is not None):
            self._refuse(f"max_tokens is {max_tokens}, which leaves no room for the vocabulary; raise it")
        self.max_tokens, self.num_oov_indices = max_tokens, num_oov_indices
        self.mask_token, self.oov_token = mask_token, oov_token
        self.invert, self.output_mode = invert, output_mode
        self.pad_to_max_tokens, self.sparse = pad_to_max_tokens, sparse
        self.autocast = False
        self._tokens: list[Any] = []
        self._places: dict[Any, int] = {}
        self._idf: list[float] | None = None
        self.vocabulary: list[Any] | None = None
        self.idf_weights: list[float] | None = None
        if vocabulary is not None:
            self.set_vocabulary(vocabulary, idf_weights)
        elif idf_weights is not None:
            self._refuse("idf_weights was given without a vocabulary")

    def _refuse(self, text: str) -> None:
        raise ValueError(f"{self.name} ({type(self).__name__}): {text}")

    def _key(self, value: Any) -> Any:
        return value

    def _specials(self) -> list[Any]:
        masks = [self.mask_token] if self.mask_token is not None and self.output_mode == "int" else []
        return [*masks, *[self.oov_token] * self.num_oov_indices]

    def set_vocabulary(self, vocabulary: Any, idf_weights: Any = None) -> None:
        """Nothing; these are the tokens, in this order.

        Args:
            vocabulary: A list or array, with the mask and out-of-vocabulary tokens first or without them; or the name
                of a file that has one token in each line.
            idf_weights: What each token counts, for `output_mode="tf_idf"` only.
        """
        if isinstance(vocabulary, str):
            with open(vocabulary, encoding="utf-8") as file:
                vocabulary = file.read().splitlines()
        tokens = [self._key(each) for each in nested(vocabulary)]
        specials = self._specials()
        if specials and tokens[: len(specials)] == specials:
            tokens = tokens[len(specials) :]
        if not tokens:
            self._refuse("the vocabulary is empty")
        twice = [token for token, count in collections.Counter(tokens).items() if count > 1]
        if twice:
            self._refuse(f"the vocabulary has tokens more than once: {twice[:10]}; give each once")
        for reserved, name in ((self.mask_token, "mask_token"), (self.oov_token, "oov_token")):
            if reserved is not None and reserved in tokens:
                self._refuse(f"the vocabulary has the {name} {reserved!r} at a place other than the first ones")
        if (self.output_mode == "tf_idf") != (idf_weights is not None):
            self._refuse("idf_weights must be given for output_mode='tf_idf', and for no other")
        if self.max_tokens is not None and len(tokens) + len(specials) > self.max_tokens:
            self._refuse(
                f"the vocabulary has {len(tokens) + len(specials)} tokens, but max_tokens is {self.max_tokens}"
            )
        self._tokens = tokens
        self._places = {token: place + len(specials) for place, token in enumerate(tokens)}
        self.vocabulary = tokens
        if idf_weights is not None:
            given = [float(each) for each in nested(idf_weights)]
            if len(given) != len(tokens):
                self._refuse(f"idf_weights has {len(given)} numbers, but the vocabulary {len(tokens)} tokens")
            self.idf_weights = given
            self._idf = [sum(given) / len(given)] * len(specials) + given

    def get_vocabulary(self, include_special_tokens: bool = True) -> list[Any]:
        """The tokens in the order of their places.

        Args:
            include_special_tokens: Whether the mask and out-of-vocabulary tokens are among them.
        """
        return [*self._specials(), *self._tokens] if include_special_tokens else list(self._tokens)

    def vocabulary_size(self) -> int:
        """How many tokens there are, the mask and out-of-vocabulary tokens included."""
        return len(self._specials()) + len(self._tokens)

    def _documents(self, data: Any) -> Iterable[list[Any]]:
        """The tokens of each sample."""
        for batch in _batches(data):
            tree = nested(batch)
            for sample in tree if isinstance(tree, list) else [tree]:
                yield [self._key(leaf) for leaf in _leaves(sample)]

    def adapt(self, data: Any, batch_size: int | None = None, steps: int | None = None) -> None:
        """Nothing; the vocabulary is what `data` holds, the most frequent first.

        Args:
            data: A list, an array, or an iterable of batches (of which the first part is taken where they are tuples).
            batch_size: Accepted for Keras's sake.
            steps: Accepted for Keras's sake.
        """
        counts: collections.Counter[Any] = collections.Counter()
        holders: collections.Counter[Any] = collections.Counter()
        documents = 0
        for document in self._documents(data):
            documents += 1
            counts.update(document)
            holders.update(set(document))
        for reserved in (self.mask_token, self.oov_token):
            counts.pop(reserved, None)
        if not counts:
            self._refuse("adapt: the data has no tokens")
        # Among tokens of one frequency Keras takes the later in the order of their letters first.
        tokens = sorted(counts, key=lambda token: (counts[token], token), reverse=True)
        if self.max_tokens is not None:
            tokens = tokens[: self.max_tokens - len(self._specials())]
        idf = [math.log(1 + documents / (1 + holders[token])) for token in tokens]
        self.set_vocabulary(tokens, idf if self.output_mode == "tf_idf" else None)

    def _number_of(self, value: Any) -> int:
        if self.mask_token is not None and value == self.mask_token and self.output_mode == "int":
            return 0
        found = self._places.get(value)
        if found is not None:
            return found
        first = len(self._specials()) - self.num_oov_indices
        if self.num_oov_indices == 0:
            self._refuse(f"the {self._kind} {value!r} is not in the vocabulary; raise num_oov_indices, or remove it")
        return first + (self._beyond(value) if self.num_oov_indices > 1 else 0)

    def _beyond(self, value: Any) -> int:
        return _of_hash(str(value), self.num_oov_indices)

    def call(self, inputs: Any) -> Any:
        """The places of the inputs, or with `invert` the tokens of places."""
        if not self._tokens:
            self._refuse("it has no vocabulary yet; call adapt(data), or give vocabulary=")
        if isinstance(inputs, Tensor) and inputs.is_meta:
            places = ops.zeros(inputs.shape, dtype=settings.as_dtype("int64"), device=inputs.device)
        elif self.invert:
            known = self.get_vocabulary()
            tree = nested(inputs)
            return self._tokens_of(
                _mapped(lambda each: known[each] if 0 <= each < len(known) else self.oov_token, tree)
            )
        else:
            tree = _mapped(lambda each: self._number_of(self._key(each)), nested(inputs))
            device = inputs.device if isinstance(inputs, Tensor) else None
            places = ops.tensor(tree, dtype=settings.as_dtype("int64"), device=device)
        kind = settings.as_dtype(self.compute_dtype)
        if self.output_mode == "int":
            return places.to(kind)
        size = self.max_tokens if self.pad_to_max_tokens and self.max_tokens else self.vocabulary_size()
        idf = None
        if self.output_mode == "tf_idf" and self._idf is not None:
            padded = self._idf + [0.0] * (size - len(self._idf))
            idf = ops.tensor(padded, dtype=kind, device=places.device)
        if places.is_meta:
            rows = places.shape if self.output_mode == "one_hot" or places.dim() == 0 else places.shape[:-1]
            return ops.zeros(*rows, size, dtype=kind, device=places.device)
        return encoded(places, size, self.output_mode, idf, kind)

    def _tokens_of(self, tree: Any) -> Any:
        return tree


def _batches(data: Any) -> Iterable[Any]:
    if isinstance(data, (list, tuple, str)) or hasattr(data, "tolist"):
        return [data]
    return (batch[0] if isinstance(batch, tuple) else batch for batch in data)


class StringLookup(_Lookup):
    """Strings as their places in a vocabulary: 0 or 1 for unknown ones, then the tokens.

    Args:
        max_tokens: The most tokens that `adapt` keeps.
        num_oov_indices: How many places unknown strings have.
        mask_token: The string whose place is 0, if there is one.
        oov_token: What unknown places become with `invert`.
        vocabulary: The tokens, or the name of a file that has one in each line; `adapt` finds them otherwise.
        idf_weights: What each token counts, for `output_mode="tf_idf"`.
        invert: Whether places become strings instead.
        output_mode: "int", "one_hot", "multi_hot", "count" or "tf_idf".
        pad_to_max_tokens: Whether rows have `max_tokens` numbers.
        sparse: Accepted for Keras's sake: rows are always dense.
        encoding: Accepted for Keras's sake.
        name: Its name.
        **kwargs: See `Layer`.

    Differs from Keras:
        Unknown strings are spread over several out-of-vocabulary places by another hash.

    Example:
        >>> StringLookup(vocabulary=["a", "b"])(["b", "z"])
        tensor([2, 0])
    """

    _kind = "string"

    def __init__(
        self,
        max_tokens: int | None = None,
        num_oov_indices: int = 1,
        mask_token: str | None = None,
        oov_token: str = "[UNK]",
        vocabulary: Any = None,
        idf_weights: Any = None,
        invert: bool = False,
        output_mode: str = "int",
        pad_to_max_tokens: bool = False,
        sparse: bool = False,
        encoding: str = "utf-8",
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        rest = (vocabulary, idf_weights, invert, output_mode, pad_to_max_tokens, sparse)
        super().__init__(max_tokens, num_oov_indices, mask_token, oov_token, *rest, name=name, **kwargs)
        self.encoding = encoding

    def _key(self, value: Any) -> str:
        return _text(value)


class IntegerLookup(_Lookup):
    """Whole numbers as their places in a vocabulary: 0 for unknown ones, then the tokens.

    Args:
        max_tokens: The most tokens that `adapt` keeps.
        num_oov_indices: How many places unknown numbers have.
        mask_token: The number whose place is 0, if there is one.
        oov_token: What unknown places become with `invert`.
        vocabulary: The tokens; `adapt` finds them otherwise.
        vocabulary_dtype: Accepted for Keras's sake.
        idf_weights: What each token counts, for `output_mode="tf_idf"`.
        invert: Whether places become numbers instead.
        output_mode: "int", "one_hot", "multi_hot", "count" or "tf_idf".
        sparse: Accepted for Keras's sake: rows are always dense.
        pad_to_max_tokens: Whether rows have `max_tokens` numbers.
        name: Its name.
        **kwargs: See `Layer`.

    Example:
        >>> IntegerLookup(vocabulary=[12, 36])([[36, 7]])
        tensor([[2, 0]])
    """

    _kind = "number"

    def __init__(
        self,
        max_tokens: int | None = None,
        num_oov_indices: int = 1,
        mask_token: int | None = None,
        oov_token: int = -1,
        vocabulary: Any = None,
        vocabulary_dtype: str = "int64",
        idf_weights: Any = None,
        invert: bool = False,
        output_mode: str = "int",
        sparse: bool = False,
        pad_to_max_tokens: bool = False,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        rest = (vocabulary, idf_weights, invert, output_mode, pad_to_max_tokens, sparse)
        super().__init__(max_tokens, num_oov_indices, mask_token, oov_token, *rest, name=name, **kwargs)
        self.vocabulary_dtype = vocabulary_dtype

    def _key(self, value: Any) -> int:
        if int(value) != float(value):
            self._refuse(f"the number {value} is not whole")
        return int(value)

    def _beyond(self, value: Any) -> int:
        return int(value) % self.num_oov_indices

    def _tokens_of(self, tree: Any) -> Tensor:
        return ops.tensor(tree)


_PUNCTUATION = re.compile(f"[{re.escape(string.punctuation)}]")


class TextVectorization(_Lookup):
    """Texts as the places of their words in a vocabulary.

    Args:
        max_tokens: The most words, the place for none and that for unknown ones included.
        standardize: "lower_and_strip_punctuation", "lower", "strip_punctuation", None, or a function of a text.
        split: "whitespace", "character", None, or a function from a text to its words.
        ngrams: Up to how many words in a row are tokens too, or of which lengths.
        output_mode: "int", "multi_hot", "count" or "tf_idf".
        output_sequence_length: How many places each text has, cut off or filled with 0; the longest when left out.
        pad_to_max_tokens: Whether rows have `max_tokens` numbers.
        vocabulary: The words, or the name of a file; `adapt` finds them otherwise.
        idf_weights: What each word counts, for `output_mode="tf_idf"`.
        sparse: Accepted for Keras's sake: rows are always dense.
        ragged: Accepted for Keras's sake if False.
        encoding: Accepted for Keras's sake.
        name: Its name.
        **kwargs: See `Layer`.

    Example:
        >>> layer = TextVectorization(output_sequence_length=4)
        >>> layer.adapt(["The cat sat.", "The dog"])
        >>> layer(["the dog sat!"])
        tensor([[2, 4, 3, 0]])
    """

    _kind = "word"

    def __init__(
        self,
        max_tokens: int | None = None,
        standardize: Any = "lower_and_strip_punctuation",
        split: Any = "whitespace",
        ngrams: Any = None,
        output_mode: str = "int",
        output_sequence_length: int | None = None,
        pad_to_max_tokens: bool = False,
        vocabulary: Any = None,
        idf_weights: Any = None,
        sparse: bool = False,
        ragged: bool = False,
        encoding: str = "utf-8",
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        rules = ("lower_and_strip_punctuation", "lower", "strip_punctuation", None)
        where = f"{name or 'text_vectorization'} (TextVectorization): "
        if not callable(standardize) and standardize not in rules:
            raise ValueError(f"{where}standardize is {standardize!r}, but must be one of {rules} or a function")
        if not callable(split) and split not in ("whitespace", "character", None):
            raise ValueError(f"{where}split is {split!r}, but must be 'whitespace', 'character', None or a function")
        if output_mode == "one_hot" or ragged:
            raise ValueError(
                f"{where}output_mode='one_hot' and ragged=True are not for texts; take 'int' or 'multi_hot'"
            )
        self.standardize, self.split, self.ngrams = standardize, split, ngrams
        self.output_sequence_length, self.ragged, self.encoding = output_sequence_length, ragged, encoding
        rest = (vocabulary, idf_weights, False, output_mode, pad_to_max_tokens, sparse)
        super().__init__(max_tokens, 1, "", "[UNK]", *rest, name=name, **kwargs)

    def _key(self, value: Any) -> str:
        return _text(value)

    def _words(self, text: str) -> list[str]:
        if callable(self.standardize):
            text = self.standardize(text)
        elif self.standardize is not None:
            text = text.lower() if "lower" in self.standardize else text
            text = _PUNCTUATION.sub("", text) if "strip" in self.standardize else text
        if callable(self.split):
            words = list(self.split(text))
        else:
            words = text.split() if self.split == "whitespace" else list(text) if self.split == "character" else [text]
        if self.ngrams is None:
            return words
        sizes = range(1, self.ngrams + 1) if isinstance(self.ngrams, int) else self.ngrams
        return [" ".join(words[place : place + n]) for n in sizes for place in range(len(words) - n + 1)]

    def _texts(self, data: Any) -> list[str]:
        tree = nested(data)
        texts = [_text(leaf) for leaf in _leaves(tree)]
        if isinstance(tree, list) and any(isinstance(each, list) and len(each) != 1 for each in tree):
            self._refuse("the texts must be a list, or have one column; give one string for each sample")
        return texts

    def _documents(self, data: Any) -> Iterable[list[str]]:
        for batch in _batches(data):
            for text in self._texts(batch):
                yield self._words(text)

    def call(self, inputs: Any) -> Any:
        """The places of the words of each text."""
        if isinstance(inputs, Tensor):
            self._refuse(
                "a tensor holds no texts; call the layer on a list or a numpy array of strings, before the model"
            )
        if not self._tokens:
            self._refuse("it has no vocabulary yet; call adapt(data), or give vocabulary=")
        rows = [[self._number_of(word) for word in self._words(text)] for text in self._texts(inputs)]
        single = isinstance(nested(inputs), (str, bytes))
        if self.output_mode == "int":
            size = self.output_sequence_length
            size = max((len(row) for row in rows), default=0) if size is None else size
            made = ops.tensor([[*row[:size], *[0] * (size - len(row))] for row in rows]).reshape(len(rows), size)
            made = made.to(settings.as_dtype(self.compute_dtype))
        else:
            made = self._counted(rows)
        return made[0] if single else made

    def _counted(self, rows: list[list[int]]) -> Tensor:
        size = self.max_tokens if self.pad_to_max_tokens and self.max_tokens else self.vocabulary_size()
        counts = ops.zeros(len(rows), size, dtype=settings.as_dtype(self.compute_dtype))
        for place, row in enumerate(rows):
            for word, count in collections.Counter(row).items():
                counts[place, word] = 1.0 if self.output_mode == "multi_hot" else float(count)
        if self.output_mode == "tf_idf" and self._idf is not None:
            idf = ops.tensor(self._idf + [0.0] * (size - len(self._idf)), dtype=counts.dtype)
            counts = counts * idf
        return counts


class Hashing(_OnLists):
    """Strings or whole numbers as numbers below `num_bins`, the same in every process.

    Args:
        num_bins: How many numbers there are, that of the mask included.
        mask_value: The value whose number is 0, if there is one.
        salt: Another salt gives other numbers.
        output_mode: "int", "one_hot", "multi_hot" or "count".
        sparse: Accepted for Keras's sake: rows are always dense.
        **kwargs: See `Layer`.

    Differs from Keras:
        The numbers are those of another hash (BLAKE2b).

    Example:
        >>> first, _, third = Hashing(num_bins=3)(["a", "b", "a"]).tolist(); first == third
        True
    """

    def __init__(
        self,
        num_bins: int,
        mask_value: Any = None,
        salt: Any = None,
        output_mode: str = "int",
        sparse: bool = False,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("dtype", "int64" if output_mode == "int" else None)
        super().__init__(**kwargs)
        where = f"{self.name} ({type(self).__name__})"
        if num_bins is None or num_bins <= 0:
            raise ValueError(f"{where}: num_bins is {num_bins}, but must be a positive number")
        if output_mode not in _MODES[:4]:
            raise ValueError(f"{where}: output_mode is {output_mode!r}, but must be one of {', '.join(_MODES[:4])}")
        self.num_bins, self.mask_value, self.salt = num_bins, mask_value, salt
        self.output_mode, self.sparse = output_mode, sparse
        self.autocast = False

    def _number(self, value: Any) -> int:
        if self.mask_value is not None and value == self.mask_value:
            return 0
        bins = self.num_bins - (self.mask_value is not None)
        return _of_hash(f"{self.salt}|{_text(value)}" if self.salt else _text(value), bins) + (self.num_bins - bins)

    def call(self, inputs: Any) -> Any:
        """The numbers, or rows of ones at them."""
        kind = settings.as_dtype(self.compute_dtype)
        if isinstance(inputs, Tensor) and inputs.is_meta:
            places = ops.zeros(inputs.shape, dtype=settings.as_dtype("int64"), device=inputs.device)
            if self.output_mode == "int":
                return places.to(kind)
            rows = places.shape if self.output_mode == "one_hot" else places.shape[:-1]
            return ops.zeros(*rows, self.num_bins, dtype=kind, device=inputs.device)
        device = inputs.device if isinstance(inputs, Tensor) else None
        places = ops.tensor(_mapped(self._number, nested(inputs)), dtype=settings.as_dtype("int64"), device=device)
        return (
            places.to(kind)
            if self.output_mode == "int"
            else encoded(places, self.num_bins, self.output_mode, None, kind)
        )


class HashedCrossing(Hashing):
    """Two or more columns as one number below `num_bins` for each row of values; see `Hashing` for the arguments.

    Example:
        >>> HashedCrossing(num_bins=5)((["a", "b"], [1, 1])).shape
        pyburn.Size([2])
    """

    def __init__(self, num_bins: int, output_mode: str = "int", sparse: bool = False, **kwargs: Any) -> None:
        super().__init__(num_bins, None, None, output_mode, sparse, **kwargs)

    def call(self, inputs: Any) -> Any:
        """The numbers of the rows, or rows of ones at them."""
        columns = [_leaves(nested(each)) for each in inputs]
        if len(columns) < 2 or len({len(each) for each in columns}) != 1:
            raise ValueError(
                f"{self.name} (HashedCrossing): needs two or more columns of one length, but got lengths "
                f"{[len(each) for each in columns]}"
            )
        rows = ["_X_".join(_text(value) for value in row) for row in zip(*columns, strict=True)]
        first = nested(inputs[0])
        deep = isinstance(first, list) and bool(first) and isinstance(first[0], list)
        return super().call([[row] for row in rows] if deep else rows)
