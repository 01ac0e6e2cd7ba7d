"""Settings survive JSON, and a mistake in them is named."""

import argparse
import enum
import json
import pathlib
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pytest
from pyburn.train import Config

from train import runs


class Kind(enum.Enum):
    SMALL = 1
    LARGE = 2


class Inner(Config):
    depth: int = 3


class Settings(Config):
    name: str
    lr: float = 1e-3
    inner: Inner = field(default_factory=Inner)
    kind: Kind = Kind.SMALL
    mode: Literal["fast", "exact"] = "fast"
    sizes: tuple[int, ...] = (1, 2)
    pair: tuple[int, str] = (1, "a")
    rates: dict[str, float] = field(default_factory=dict)
    limit: int | None = None
    folder: pathlib.Path = pathlib.Path("here")


def test_what_is_saved_is_loaded(tmp_path):
    settings = Settings("x", 1, Inner(7), Kind.LARGE, "exact", (3,), (2, "b"), {"a": 0.5}, 4, pathlib.Path("there"))
    settings.save(tmp_path / "config.json")
    assert Settings.load(tmp_path / "config.json") == settings
    assert [each.name for each in tmp_path.iterdir()] == ["config.json"]


class Derived(Config):
    rates: dict[int, float] = field(default_factory=dict)
    kinds: dict[Kind, int] = field(default_factory=dict)
    width: int = 2
    double: int = field(init=False)

    def __post_init__(self):
        self.double = 2 * self.width


def test_keys_and_fields_that_others_determine(tmp_path):
    settings = Derived({3: 0.5}, {Kind.LARGE: 1}, 4)
    settings.save(tmp_path / "config.json")
    assert Derived.load(tmp_path / "config.json") == settings
    with pytest.raises(TypeError, match="rates: the key is 'x', but must be int"):
        Derived.from_dict({"rates": {"x": 1.0}})


def test_defaults_fill_what_is_left_out():
    assert Settings.from_dict({"name": "x"}) == Settings("x")


def test_a_config_prints_its_fields():
    assert str(Inner(5)) == "Inner\n  depth  5"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "Settings needs a value for name"),
        ({"name": 1}, "Settings: name is 1, but must be str"),
        ({"name": "x", "lrr": 1}, "no field 'lrr'; did you mean 'lr'"),
        ({"name": "x", "lr": True}, "lr is True, but must be float"),
        ({"name": "x", "inner": {"depth": 1.5}}, "inner: depth is 1.5, but must be int"),
        ({"name": "x", "inner": 3}, "inner is 3, but must be an object"),
        ({"name": "x", "kind": "HUGE"}, "one of SMALL, LARGE"),
        ({"name": "x", "mode": "slow"}, "one of 'fast', 'exact'"),
        ({"name": "x", "sizes": [1, "2"]}, r"sizes\[1\] is '2', but must be int"),
        ({"name": "x", "pair": [1]}, "must have 2 values"),
        ({"name": "x", "rates": {"a": "b"}}, r"rates\['a'\] is 'b', but must be float"),
        ({"name": "x", "limit": "4"}, r"limit is '4', but must be int \| None"),
    ],
)
def test_a_wrong_field_is_named(values, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Settings.from_dict(values)


def test_a_file_that_is_not_json_is_named(tmp_path):
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ValueError, match=r"config\.json is not JSON"):
        Inner.load(tmp_path / "config.json")


@dataclass
class Plain:
    width: int = 3
    kind: object = object


@pytest.mark.parametrize(
    "given", [{"width": 3, "kind": object}, Plain(), argparse.Namespace(width=3, kind=object), Inner(np.int64(3))]
)
def test_settings_of_a_run_in_the_forms_that_people_have(tmp_path, given):
    made = runs.learner(tmp_path, config=given)
    runs.fit(made, 1)
    written = json.loads((tmp_path / "config.json").read_text())
    assert written == ({"depth": 3} if isinstance(given, Inner) else {"width": 3, "kind": "<class 'object'>"})
    assert "width  3" in str(made.config) or "depth  3" in str(made.config)
    assert "<code>3</code>" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("given", [3, Plain, "fast"])
def test_what_no_settings_are(given):
    with pytest.raises(TypeError, match=r"config is .*; give a Config, a dictionary"):
        runs.learner(False, config=given)
