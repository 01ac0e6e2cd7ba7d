"""Rows of tables as samples."""

from __future__ import annotations

import math

import pyburn
import pytest
from pyburn.data import (
    CSVDataset,
    DataframeDataset,
    DataLoader,
    HuggingFaceDataset,
    InMemDataset,
    JSONLinesDataset,
    TableDataset,
)
from sklearn.datasets import load_diabetes

TEXT = 'name,age,"height, m",city\nAda,36,1.65,London\n"Bo ""B""",41,,Oslo\n\nCy,7,1.2,\n'


@pytest.fixture
def people(tmp_path):
    (tmp_path / "people.csv").write_text(TEXT)
    return tmp_path / "people.csv"


def test_rows_of_csv(people):
    rows = list(CSVDataset(people))
    assert rows[0] == {"name": "Ada", "age": 36, "height, m": 1.65, "city": "London"}
    assert rows[1]["name"] == 'Bo "B"' and math.isnan(rows[1]["height, m"])
    assert rows[2]["city"] == "" and len(rows) == 3
    assert CSVDataset(people)[-1]["name"] == "Cy"
    with pytest.raises(IndexError):
        CSVDataset(people)[3]
    assert InMemDataset.from_csv(people)[0] == rows[0]


def test_features_and_target(people):
    data = CSVDataset(people, features=["height, m"], target="age")
    x, y = data[0]
    assert x.tolist() == pytest.approx([1.65]) and y.item() == 36 and y.dtype == pyburn.int64
    x, y = next(iter(DataLoader(data, batch_size=3)))
    assert x.shape == (3, 1) and y.tolist() == [36, 41, 7]
    assert CSVDataset(people, features=["age"], target=["age", "height, m"])[0][1].dtype == pyburn.float32
    with pytest.raises(ValueError, match="column 'name' has 'Ada' in row 0"):
        CSVDataset(people, target="age")
    with pytest.raises(KeyError, match="no column 'size'"):
        CSVDataset(people, features=["size"])


def test_real_numbers_are_read_exactly(tmp_path):
    frame = load_diabetes(as_frame=True, scaled=False).frame
    frame.to_csv(tmp_path / "diabetes.csv", index=False)
    ours = CSVDataset(tmp_path / "diabetes.csv", target="target", dtype=pyburn.float64)
    assert (ours.tensor(dtype=pyburn.float64).numpy() == frame.to_numpy()).all()
    assert (ours[3][0].numpy() == frame.drop(columns="target").to_numpy()[3]).all()


def test_other_forms_of_csv(tmp_path):
    (tmp_path / "plain.csv").write_text("\ufeff1;2\n3;4\n", encoding="utf-8")
    assert CSVDataset(tmp_path / "plain.csv", delimiter=";", header=False)[1] == {"0": 3, "1": 4}
    assert CSVDataset(tmp_path / "plain.csv", delimiter=";", header=["a", "b"])[0] == {"a": 1, "b": 2}
    (tmp_path / "names.csv").write_text("code,size\n1_0,1e3\n2_0,-4\n")
    assert CSVDataset(tmp_path / "names.csv")[0] == {"code": "1_0", "size": 1000.0}


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "is empty"), ("a,b\n1,2\n3\n", "line 3 .* has 1 values instead of 2"), ("a,a\n1,2\n", "twice")],
)
def test_damaged_csv(tmp_path, text, message):
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        CSVDataset(tmp_path / "bad.csv")
    (tmp_path / "bad.csv").write_bytes(b"a,b\n\xff\xfe,1\n")
    with pytest.raises(ValueError, match=r"bad.csv is no CSV"):
        CSVDataset(tmp_path / "bad.csv")


def test_json_lines(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"x": 1, "y": [2, 3]}\n\n{"x": 4}\n')
    assert list(JSONLinesDataset(tmp_path / "rows.jsonl")) == [{"x": 1, "y": [2, 3]}, {"x": 4, "y": None}]
    assert JSONLinesDataset(tmp_path / "rows.jsonl", features=["x"])[1].tolist() == [4.0]
    (tmp_path / "rows.jsonl").write_text("[1]\n2\n")
    assert list(InMemDataset.from_json_rows(tmp_path / "rows.jsonl")) == [[1], 2]
    with pytest.raises(ValueError, match=r"value 0 .* no object"):
        JSONLinesDataset(tmp_path / "rows.jsonl")
    (tmp_path / "rows.jsonl").write_text('{"x": 1}\n{"x": \n')
    with pytest.raises(ValueError, match="line 2"):
        JSONLinesDataset(tmp_path / "rows.jsonl")


def frames():
    import pandas
    import polars
    import pyarrow

    columns = {"x": [1.5, 2.5], "n": [3, 4], "s": ["a", "b"]}
    yield pandas.DataFrame(columns)
    yield polars.DataFrame(columns)
    yield polars.LazyFrame(columns)
    yield pyarrow.table(columns)


@pytest.mark.parametrize("frame", list(frames()), ids=lambda frame: type(frame).__module__ + type(frame).__name__)
def test_data_frames(frame):
    data = DataframeDataset(frame)
    assert list(data) == [{"x": 1.5, "n": 3, "s": "a"}, {"x": 2.5, "n": 4, "s": "b"}]
    x, y = DataframeDataset(frame, features=["x"], target="n")[1]
    assert x.tolist() == [2.5] and y.item() == 4 and y.dtype == pyburn.int64


def test_no_data_frame():
    with pytest.raises(TypeError, match="list is no data frame"):
        DataframeDataset([1])
    with pytest.raises(ValueError, match="differ in length"):
        TableDataset({"a": [1], "b": []})
    assert len(TableDataset({})) == 0


def test_hugging_face(tmp_path):
    import datasets

    made = datasets.Dataset.from_dict({"text": ["a", "b", "c"], "label": [0, 1, 0]})
    assert HuggingFaceDataset(made)[1] == {"text": "b", "label": 1}
    batch = next(iter(DataLoader(HuggingFaceDataset(made), batch_size=2)))
    assert batch["text"] == ["a", "b"] and batch["label"].tolist() == [0, 1]
    made.save_to_disk(str(tmp_path / "saved"))
    assert len(HuggingFaceDataset(tmp_path / "saved")) == 3
    both = datasets.DatasetDict({"train": made, "test": made.select([0])})
    assert len(HuggingFaceDataset(both, split="test", transform=len)) == 1
    assert HuggingFaceDataset(both, split="test", transform=len)[0] == 2
    with pytest.raises(ValueError, match="'train' or 'test'"):
        HuggingFaceDataset(both)
