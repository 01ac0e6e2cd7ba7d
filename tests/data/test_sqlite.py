"""Rows of databases as samples."""

from __future__ import annotations

import copy
import pickle
import sqlite3

import pytest
from pyburn.data import DataLoader, SqliteDataset, SqliteDatasetWriter


@pytest.fixture
def path(tmp_path):
    with SqliteDatasetWriter(tmp_path / "made.db") as writer:
        for number in range(20):
            writer.write("train", {"x": number / 2, "name": f"n{number}", "blob": bytes([number]), "list": [number]})
        writer.write('te"st; DROP TABLE train', {"x": 1})
    return tmp_path / "made.db"


def test_rows(path):
    data = SqliteDataset(path, "train")
    assert data[3] == {"x": 1.5, "name": "n3", "blob": b"\x03", "list": "[3]"}
    assert len(data) == 20 and data[-1]["name"] == "n19" and data.columns == ["x", "name", "blob", "list"]
    assert SqliteDataset(path, 'te"st; DROP TABLE train')[0] == {"x": 1}
    with pytest.raises(IndexError):
        data[20]
    for other in (copy.copy(data), pickle.loads(pickle.dumps(data))):
        assert other[3] == data[3]


def test_threads(path):
    data = SqliteDataset(path, "train", transform=lambda row: row["x"])
    loader = DataLoader(data, 4, num_workers=3)
    assert [x for batch in loader for x in batch.tolist()] == [number / 2 for number in range(20)]


def test_rows_that_were_deleted(path):
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM train WHERE x = 0.5")
    connection.close()
    assert [row["x"] for row in SqliteDataset(path, "train")][:3] == [0.0, 1.0, 1.5]


def test_refused(path, tmp_path):
    with pytest.raises(ValueError, match="no table None; it has"):
        SqliteDataset(path)
    with pytest.raises(FileNotFoundError):
        SqliteDataset(tmp_path / "absent.db")
    (tmp_path / "bad.db").write_bytes(b"no database " * 100)
    with pytest.raises(ValueError, match="cannot be read"):
        SqliteDataset(tmp_path / "bad.db")
    with pytest.raises(FileExistsError):
        SqliteDatasetWriter(path)


def test_all_or_nothing(path, tmp_path):
    before = path.read_bytes()

    def write_half():
        with SqliteDatasetWriter(path, overwrite=True) as writer:
            writer.write("a", {"x": 1})
            writer.write("a", {"y": 1})

    with pytest.raises(ValueError, match="this one"):
        write_half()
    assert path.read_bytes() == before and [file.name for file in tmp_path.iterdir()] == ["made.db"]
