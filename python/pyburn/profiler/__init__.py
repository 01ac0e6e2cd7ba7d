"""torch.profiler: times of blocks and steps."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from pyburn.autograd import profiler as _autograd_profiler
from pyburn.autograd.profiler import record_function

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


class ProfilerActivity(Enum):
    """What is measured; only the CPU is."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4


class ProfilerAction(Enum):
    """What is done in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def kineto_available() -> bool:
    """False: Kineto, the library that torch's profiler records with, is not part of pyburn's.

    Example:
        >>> kineto_available()
        False
    """
    return False


def supported_activities() -> set[ProfilerActivity]:
    """The CPU.

    Example:
        >>> supported_activities()
        {<ProfilerActivity.CPU: 0>}
    """
    return {ProfilerActivity.CPU}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """A function from a step's number to what is done in it: wait, warm up, record, and again.

    Example:
        >>> plan = schedule(wait=1, warmup=0, active=2)
        >>> [plan(step).name for step in range(4)]
        ['NONE', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """

    def action(step: int) -> ProfilerAction:
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        cycle = wait + warmup + active
        if repeat > 0 and step // cycle >= repeat:
            return ProfilerAction.NONE
        place = step % cycle
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[profile], None]:
    """A function that writes a profile into a folder as a Chrome trace."""

    def handler(measured: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        name = f"{worker_name or os.getpid()}.{time.time_ns()}.pt.trace.json"
        measured.export_chrome_trace(os.path.join(dir_name, name))

    return handler


class profile(_autograd_profiler.profile):
    """A block whose steps and `record_function` blocks are measured.

    Args:
        activities: Accepted; the CPU's time is measured.
        schedule: What is done in which step.
        on_trace_ready: Called with this object after each recorded row of steps, or at the end.
        record_shapes: Accepted.
        profile_memory: Accepted.
        with_stack: Accepted.
        **kwargs: Accepted.

    Differs from torch:
        Single operations are not recorded; wrap what is to be seen in `record_function`.

    Example:
        >>> with profile() as measured:
        ...     measured.step()
        >>> measured.step_num
        1
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self.step_num = 0
        self._schedule = schedule
        self._ready = on_trace_ready
        self._step_start = 0.0

    def __enter__(self) -> profile:
        super().__enter__()
        self._step_start = time.perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        if self._ready is not None and self._schedule is None:
            self._ready(self)

    def start(self) -> None:
        """Nothing; as entering the block."""
        self.__enter__()

    def stop(self) -> None:
        """Nothing; as leaving the block."""
        self.__exit__(None, None, None)

    def step(self) -> None:
        """Nothing; one step ends here and the next begins."""
        now = time.perf_counter()
        action = self._schedule(self.step_num) if self._schedule is not None else ProfilerAction.RECORD
        if action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            self._add(f"ProfilerStep#{self.step_num}", self._step_start, now)
        self.step_num += 1
        if action is ProfilerAction.RECORD_AND_SAVE and self._ready is not None:
            self._ready(self)
        self._step_start = now
