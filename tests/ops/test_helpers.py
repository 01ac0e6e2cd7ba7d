"""The threads that help kernels: many callers at once, other numbers of threads, forked children."""

import os
import threading

import numpy as np
import pyburn
import pytest


def operands() -> tuple[pyburn.Tensor, pyburn.Tensor]:
    rng = np.random.default_rng(7)
    x = rng.standard_normal((2, 32, 28, 28), dtype=np.float32)
    return pyburn.tensor(x), pyburn.tensor(rng.standard_normal((64, 32, 3, 3), dtype=np.float32))


def convolved(x: pyburn.Tensor, weight: pyburn.Tensor) -> np.ndarray:
    return pyburn.nn.functional.conv2d(x, weight, padding=1).numpy()


def test_many_callers_at_once() -> None:
    x, weight = operands()
    expected, found = convolved(x, weight), []
    callers = [threading.Thread(target=lambda: found.extend(convolved(x, weight) for _ in range(20))) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert len(found) == 80
    assert all(np.array_equal(expected, one) for one in found)


def test_other_numbers_of_threads() -> None:
    x, weight = operands()
    expected, threads = convolved(x, weight), pyburn.get_num_threads()
    try:
        for count in (1, 3, threads, 1):
            pyburn.set_num_threads(count)
            assert np.array_equal(expected, convolved(x, weight))
    finally:
        pyburn.set_num_threads(threads)
    assert np.array_equal(expected, convolved(x, weight))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process")
def test_a_forked_child_computes() -> None:
    x, weight = operands()
    expected = convolved(x, weight)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(expected, convolved(x, weight)) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert np.array_equal(expected, convolved(x, weight))
