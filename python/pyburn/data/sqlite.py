"""Rows of SQLite databases as samples, and the writer of such databases."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import urllib.parse
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from pyburn.data.dataset import Dataset

__all__ = ["SqliteDataset", "SqliteDatasetWriter"]

Path = str | os.PathLike[str]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class SqliteDataset(Dataset[Any]):
    """The rows of one table, each read from the file when it is asked for; threads may ask at the same time.

    Args:
        path: The database, which is opened for reading only.
        table: The table; may be left out where there is one only.
        transform: A function of a row, a dict.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The file is no database, or has not this table.
    """

    def __init__(self, path: Path, table: str | None = None, transform: Callable[[Any], Any] | None = None) -> None:
        if not os.path.isfile(path):
            raise FileNotFoundError(f"SqliteDataset: there is no file {os.fspath(path)}.")
        self.path, self.transform = os.path.abspath(path), transform
        self._local = threading.local()
        try:
            tables = self.tables()
            self.table = self._chosen(table, tables)
            self._rowids = [row[0] for row in self._ask(f"SELECT rowid FROM {_quoted(self.table)} ORDER BY rowid")]
            self.columns = [row[1] for row in self._ask(f"PRAGMA table_info({_quoted(self.table)})")]
        except sqlite3.DatabaseError as error:
            raise ValueError(f"SqliteDataset: {self.path} cannot be read: {error}") from error

    def _chosen(self, table: str | None, tables: list[str]) -> str:
        if table is None and len(tables) == 1:
            return tables[0]
        if table not in tables:
            raise ValueError(
                f"SqliteDataset: {self.path} has no table {table!r}; it has {', '.join(tables) or 'none'}."
            )
        return table

    def _ask(self, statement: str, *values: Any) -> list[Any]:
        # A connection belongs to the thread that made it.
        connection = getattr(self._local, "connection", None)
        if connection is None:
            address = f"file:{urllib.parse.quote(self.path)}?mode=ro"
            connection = self._local.connection = _Closing(address)
        found: list[Any] = connection.connection.execute(statement, values).fetchall()
        return found

    def tables(self) -> list[str]:
        """The names of the tables."""
        wanted = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
        return [row[0] for row in self._ask(wanted)]

    def __getitem__(self, index: int) -> Any:
        """The row at `index`, as a dict."""
        if not -len(self) <= index < len(self):
            raise IndexError(f"SqliteDataset: row {index} of {len(self)}")
        found = self._ask(f"SELECT * FROM {_quoted(self.table)} WHERE rowid = ?", self._rowids[index])
        if not found:
            raise RuntimeError(f"SqliteDataset: row {index} was deleted from {self.path} after it was opened.")
        row = dict(zip(self.columns, found[0], strict=True))
        return row if self.transform is None else self.transform(row)

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self._rowids)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_local"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _local=threading.local())


class _Closing:
    """A connection that is closed when nobody has it any more."""

    def __init__(self, address: str) -> None:
        # Only one thread uses it, but another one may be the last to drop it.
        self.connection = sqlite3.connect(address, uri=True, check_same_thread=False)

    def __del__(self) -> None:
        with suppress(Exception):
            self.connection.close()


class SqliteDatasetWriter:
    """Writes dicts as rows of tables, one table for each split; use it in a `with` block.

    Lists and dicts in a row are written as JSON text, bytes as they are. All is written, or nothing.

    Args:
        path: The database.
        overwrite: Whether a file that is there is replaced.

    Raises:
        FileExistsError: The file is there.

    Example:
        >>> import os, tempfile
        >>> from pyburn.data import SqliteDataset, SqliteDatasetWriter
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "numbers.db")
        >>> with SqliteDatasetWriter(path) as writer:
        ...     writer.write("train", {"x": 1.5, "y": 2})
        >>> SqliteDataset(path)[0]
        {'x': 1.5, 'y': 2}
        >>> folder.cleanup()
    """

    def __init__(self, path: Path, overwrite: bool = False) -> None:
        self.path = os.path.abspath(path)
        if os.path.exists(self.path) and not overwrite:
            raise FileExistsError(
                f"SqliteDatasetWriter: {self.path} is there already; pass overwrite=True to replace it."
            )
        self._temporary = f"{self.path}.{os.getpid()}.part"
        self._connection = sqlite3.connect(self._temporary)
        self._columns: dict[str, list[str]] = {}

    def write(self, split: str, item: Mapping[str, Any]) -> None:
        """Nothing; `item` becomes the next row of the table `split`.

        Raises:
            ValueError: It has other columns than the first row.
        """
        names = list(item)
        if split not in self._columns:
            columns = ", ".join(map(_quoted, names))
            self._connection.execute(f"CREATE TABLE {_quoted(split)} ({columns})")
            self._columns[split] = names
        if names != self._columns[split]:
            raise ValueError(
                f"SqliteDatasetWriter: the rows of {split!r} have {self._columns[split]}, this one {names}."
            )
        values = [json.dumps(value) if isinstance(value, list | tuple | dict) else value for value in item.values()]
        self._connection.execute(f"INSERT INTO {_quoted(split)} VALUES ({', '.join('?' * len(values))})", values)

    def __enter__(self) -> SqliteDatasetWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is None:
            self._connection.commit()
        self._connection.close()
        if kind is None:
            os.replace(self._temporary, self.path)
        else:
            os.unlink(self._temporary)
