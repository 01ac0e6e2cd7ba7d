"""Rows of tables as samples: in memory, from CSV files, JSON lines, data frames and Hugging Face's datasets."""

from __future__ import annotations

import csv
import importlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from pyburn._core import Tensor, dtype, float32
from pyburn.data.dataset import Dataset
from pyburn.ops import stack, tensor

__all__ = ["CSVDataset", "DataframeDataset", "HuggingFaceDataset", "InMemDataset", "JSONLinesDataset", "TableDataset"]

T_co = TypeVar("T_co", covariant=True)
Path = str | os.PathLike[str]
Columns = Sequence[str]


class InMemDataset(Dataset[T_co]):
    """The items of a list.

    Args:
        items: Any iterable; it is read once.

    Example:
        >>> import pyburn
        >>> pyburn.data.InMemDataset("abc")[1]
        'b'
    """

    def __init__(self, items: Iterable[T_co]) -> None:
        self.items = list(items)

    @classmethod
    def from_csv(cls, path: Path, **kwargs: Any) -> InMemDataset[dict[str, Any]]:
        """The rows of a CSV file; see `CSVDataset` for the options."""
        return InMemDataset(CSVDataset(path, **kwargs).rows())

    @classmethod
    def from_json_rows(cls, path: Path) -> InMemDataset[Any]:
        """The values of a file with one JSON value in each line."""
        return InMemDataset(_json_lines(path))

    def __getitem__(self, index: int) -> T_co:
        """The item at `index`."""
        return self.items[index]

    def __len__(self) -> int:
        """How many items there are."""
        return len(self.items)


class TableDataset(Dataset[Any]):
    """Rows of named columns.

    A sample is the row as a dict. With `features` it is a float tensor of those columns instead, and with `target` a
    pair of that tensor and the target as a tensor: whole numbers stay whole, which is what losses of classes take.

    Args:
        columns: The values of each column by its name.
        features: The columns of numbers that are the input.
        target: The column, or columns, to predict.
        dtype: The dtype of the features, and of a target that is not whole numbers.
        transform: A function of a sample.

    Raises:
        ValueError: Columns differ in length.
        KeyError: There is no such column.

    Example:
        >>> import pyburn
        >>> table = pyburn.data.TableDataset({"x": [1.0, 2.0], "y": [0, 1]}, features=["x"], target="y")
        >>> table[1]
        (tensor([2.]), tensor(1))
    """

    def __init__(
        self,
        columns: Mapping[str, Sequence[Any]],
        *,
        features: Columns | None = None,
        target: str | Columns | None = None,
        dtype: dtype = float32,
        transform: Callable[[Any], Any] | None = None,
    ) -> None:
        self.columns = dict(columns)
        lengths = {name: len(values) for name, values in self.columns.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"{type(self).__name__}: the columns differ in length: {lengths}")
        if target is not None and features is None:
            features = [name for name in self.columns if name not in ([target] if isinstance(target, str) else target)]
        self.features, self.target, self.dtype, self.transform = features, target, dtype, transform
        self._inputs = None if features is None else self.tensor(features, dtype)
        self._targets = None if target is None else self._target_tensor(target)

    def _target_tensor(self, target: str | Columns) -> Tensor:
        names = [target] if isinstance(target, str) else list(target)
        whole = all(isinstance(value, int) for name in names for value in self._column(name))
        values = self.tensor(names, None if whole else self.dtype)
        return values[:, 0] if isinstance(target, str) else values

    def _column(self, name: str) -> Sequence[Any]:
        if name not in self.columns:
            raise KeyError(f"{type(self).__name__}: there is no column {name!r}, only {', '.join(self.columns)}")
        return self.columns[name]

    def tensor(self, columns: Columns | None = None, dtype: dtype | None = float32) -> Tensor:
        """The columns of these names, or all, as one tensor (rows, columns).

        Raises:
            ValueError: A value is no number; the text says where.
        """
        names = list(self.columns if columns is None else columns)
        parts = []
        for name in names:
            values = self._column(name)
            for row, value in enumerate(values):
                if not isinstance(value, int | float):
                    raise ValueError(
                        f"{type(self).__name__}: column {name!r} has {value!r} in row {row}, which is no number; "
                        "leave the column out, or map its values to numbers first."
                    )
            parts.append(tensor(list(values), dtype=dtype))
        return stack(parts, 1)

    def row(self, index: int) -> dict[str, Any]:
        """The row at `index` as a dict."""
        return {name: values[index] for name, values in self.columns.items()}

    def rows(self) -> Iterator[dict[str, Any]]:
        """All rows as dicts."""
        return (self.row(index) for index in range(len(self)))

    def __getitem__(self, index: int) -> Any:
        """The sample at `index`."""
        if not -len(self) <= index < len(self):
            raise IndexError(f"{type(self).__name__}: row {index} of {len(self)}")
        sample: Any = self.row(index) if self._inputs is None else self._inputs[index]
        if self._targets is not None:
            sample = (sample, self._targets[index])
        return sample if self.transform is None else self.transform(sample)

    def __len__(self) -> int:
        """How many rows there are."""
        return len(next(iter(self.columns.values()), ()))


def _numbers(values: list[str]) -> list[Any]:
    """Whole numbers if all values are, else numbers with NaN where there is nothing, else the texts."""
    if any("_" in value for value in values):  # Python reads 1_000 as a number, CSV files do not mean one
        return values
    try:
        return [int(value) for value in values]
    except ValueError:
        pass
    try:
        return [float(value) if value.strip() else float("nan") for value in values]
    except ValueError:
        return values


class CSVDataset(TableDataset):
    """The rows of a CSV file; a column whose values are all numbers has numbers.

    Args:
        path: The file.
        features: The columns of numbers that are the input; see `TableDataset`.
        target: The column, or columns, to predict.
        delimiter: What stands between values.
        header: Whether the first line names the columns, or their names; without names they are "0", "1", ...
        dtype: The dtype of the features.
        transform: A function of a sample.
        encoding: How the file's text is written.

    Raises:
        ValueError: A line has more or fewer values than the first; the text says which.
    """

    def __init__(
        self,
        path: Path,
        *,
        features: Columns | None = None,
        target: str | Columns | None = None,
        delimiter: str = ",",
        header: bool | Columns = True,
        dtype: dtype = float32,
        transform: Callable[[Any], Any] | None = None,
        encoding: str = "utf-8-sig",
    ) -> None:
        self.path = os.fspath(path)
        with open(path, newline="", encoding=encoding) as file:
            columns = _csv_columns(self.path, csv.reader(file, delimiter=delimiter), header)
        super().__init__(columns, features=features, target=target, dtype=dtype, transform=transform)


def _csv_columns(path: str, lines: Any, header: bool | Columns) -> dict[str, list[Any]]:
    try:
        rows = [(lines.line_num, row) for row in lines if row]
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"CSVDataset: {path} is no CSV file, near line {lines.line_num}: {error}") from error
    if isinstance(header, bool):
        if header and not rows:
            raise ValueError(f"CSVDataset: {path} is empty; its first line should name the columns.")
        names = rows.pop(0)[1] if header else [str(i) for i in range(len(rows[0][1]) if rows else 0)]
    else:
        names = list(header)
    if len(set(names)) < len(names):
        raise ValueError(f"CSVDataset: {path} names a column twice: {', '.join(names)}")
    for number, row in rows:
        if len(row) != len(names):
            raise ValueError(f"CSVDataset: line {number} of {path} has {len(row)} values instead of {len(names)}.")
    return {name: _numbers([row[i] for _, row in rows]) for i, name in enumerate(names)}


def _json_lines(path: Path) -> list[Any]:
    values = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                try:
                    values.append(json.loads(line))
                except (ValueError, RecursionError) as error:
                    raise ValueError(f"line {number} of {os.fspath(path)} is no JSON value: {error}") from error
    return values


class JSONLinesDataset(TableDataset):
    """The rows of a file with one JSON object in each line; a key that a row has not is None there.

    Args:
        path: The file.
        **kwargs: `features`, `target`, `dtype` and `transform` of `TableDataset`.

    Raises:
        ValueError: A line is no JSON object; the text says which.
    """

    def __init__(self, path: Path, **kwargs: Any) -> None:
        rows = _json_lines(path)
        for number, row in enumerate(rows):
            if not isinstance(row, dict):
                raise ValueError(
                    f"JSONLinesDataset: value {number} of {os.fspath(path)} is no object; "
                    "InMemDataset.from_json_rows takes any values."
                )
        names = list(dict.fromkeys(name for row in rows for name in row))
        super().__init__({name: [row.get(name) for row in rows] for name in names}, **kwargs)


class DataframeDataset(TableDataset):
    """The rows of a data frame of pandas or polars, or of a table or record batch of Arrow.

    Args:
        dataframe: The frame.
        **kwargs: `features`, `target`, `dtype` and `transform` of `TableDataset`.

    Raises:
        TypeError: It is none of these.
    """

    def __init__(self, dataframe: Any, **kwargs: Any) -> None:
        root = type(dataframe).__module__.partition(".")[0]
        if root == "pandas":
            columns = {str(name): dataframe[name].tolist() for name in dataframe.columns}
        elif root == "polars":
            frame = dataframe.collect() if hasattr(dataframe, "collect") else dataframe
            columns = frame.to_dict(as_series=False)
        elif hasattr(dataframe, "to_pydict"):
            columns = dataframe.to_pydict()
        else:
            raise TypeError(
                f"DataframeDataset: {type(dataframe).__name__} is no data frame of pandas or polars and no Arrow table."
            )
        super().__init__(columns, **kwargs)


class HuggingFaceDataset(Dataset[Any]):
    """A split of Hugging Face's `datasets`, each row read when it is asked for.

    Args:
        dataset: A `datasets.Dataset`, or the path of one that `save_to_disk` wrote, or the name of one to load; a name
            needs the network or a filled cache.
        split: Which part, where there are several.
        transform: A function of a row, a dict.
        **kwargs: More arguments of `datasets.load_dataset`, for a name.

    Raises:
        ImportError: `datasets` is not installed, and a path or a name was given.
        ValueError: There are several splits and none was chosen.
    """

    def __init__(
        self,
        dataset: Any,
        split: str | None = None,
        transform: Callable[[Any], Any] | None = None,
        **kwargs: Any,
    ) -> None:
        if isinstance(dataset, str | os.PathLike):
            dataset = _load_hugging_face(dataset, kwargs)
        if isinstance(dataset, dict):
            if split is None and len(dataset) == 1:
                split = next(iter(dataset))
            if split not in dataset:
                raise ValueError(
                    f"HuggingFaceDataset: choose one of its splits: split={' or '.join(map(repr, dataset))}."
                )
            dataset = dataset[split]
        self.dataset, self.transform = dataset, transform

    def __getitem__(self, index: int) -> Any:
        """The row at `index`."""
        row = self.dataset[int(index)]
        return row if self.transform is None else self.transform(row)

    def __getitems__(self, indices: list[int]) -> list[Any]:
        """Rows, read in one go."""
        columns = self.dataset[[int(index) for index in indices]]
        rows = [{name: values[i] for name, values in columns.items()} for i in range(len(indices))]
        return rows if self.transform is None else [self.transform(row) for row in rows]

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.dataset)


def _load_hugging_face(name: str | os.PathLike[str], options: dict[str, Any]) -> Any:
    try:
        datasets = importlib.import_module("datasets")
    except ImportError as error:
        raise ImportError("HuggingFaceDataset needs Hugging Face's datasets: pip install datasets") from error
    if os.path.isdir(name) and not options:
        return datasets.load_from_disk(os.fspath(name))
    return datasets.load_dataset(os.fspath(name), **options)
