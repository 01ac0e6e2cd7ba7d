"""Warnings are errors here too, but for those that real Keras raises about itself."""

import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/keras" in str(item.path):
            item.add_marker(pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"))
