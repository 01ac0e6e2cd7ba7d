"""Warnings are errors here too, but for those that real Keras raises about itself."""

import numpy
import pyburn
import pytest
import torch


@pytest.fixture(autouse=True)
def _seeds():
    """The same numbers every time, for both libraries."""
    numpy.random.seed(0)
    torch.manual_seed(0)
    pyburn.manual_seed(0)


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/keras" in str(item.path):
            item.add_marker(pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"))
