"""torch._six: names for Python 2 and 3 that torch had until 1.13, for programs that still import them."""

import collections.abc as container_abcs
import queue
from math import inf, nan

__all__ = [
    "PY3",
    "PY37",
    "container_abcs",
    "inf",
    "int_classes",
    "nan",
    "queue",
    "string_classes",
]

PY3 = True
PY37 = True
string_classes = (str, bytes)
int_classes = int
