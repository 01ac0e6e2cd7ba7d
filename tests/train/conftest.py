"""What every test of training has around it."""

import signal

import pytest


@pytest.fixture(autouse=True)
def ctrl_c_is_heard():
    # A shell starts its background jobs with this signal ignored, and tests may run in one.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
