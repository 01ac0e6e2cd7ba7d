"""Processes that run one function each, and the errors that say which of them failed."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from typing import Any

# Seconds that processes have to end by themselves after they were told to, before they are killed.
_PATIENCE = 30.0


class ProcessException(Exception):
    """A process failed; says which one."""

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.error_pid = msg, error_index, error_pid

    def __reduce__(self) -> tuple[Any, ...]:
        """The class and all arguments: pickle would call it with the text alone."""
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """A process ended with an error; the text has its traceback."""


class ProcessExitedException(ProcessException):
    """A process ended without a word, by a signal or with a code other than 0."""

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> tuple[Any, ...]:
        """The class and all arguments."""
        return type(self), (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)


def _work(function: Callable[..., Any], index: int, args: tuple[Any, ...], errors: str) -> None:
    """What a process runs; a file takes its traceback, since a pipe that nobody reads may be full."""
    parent = os.getppid()
    _end_with_parent()
    code = 1
    try:
        function(index, *args)
        return
    except KeyboardInterrupt:
        if os.getppid() != parent:
            return
        code = 128 + signal.SIGINT
        text = traceback.format_exc()
    except Exception:
        text = traceback.format_exc()
    with open(errors, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
    sys.exit(code)


def _end_with_parent() -> None:
    """Asks Linux to interrupt this process when its parent ends, even where that was killed."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, int(signal.SIGINT))  # PR_SET_PDEATHSIG


class ProcessContext:
    """The processes that `spawn(..., join=False)` started."""

    def __init__(self, processes: list[BaseProcess], error_files: list[str]) -> None:
        self.processes = processes
        self.error_files = error_files
        self.sentinels = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self) -> list[int | None]:
        """The numbers of the processes."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Whether all have ended well; the others are ended and an error is raised when one has failed.

        Args:
            timeout: Seconds to wait for the next of them to end; without end when left out.
            grace_period: Seconds that the others have to end by themselves when one has failed.

        Raises:
            ProcessRaisedException: A process raised; the text has its traceback.
            ProcessExitedException: A process was ended.
        """
        if not self.sentinels:
            return True
        ready: list[Any] = multiprocessing.connection.wait(list(self.sentinels), timeout)
        for sentinel in ready:
            index = self.sentinels.pop(sentinel)
            self.processes[index].join()
            if self.processes[index].exitcode != 0:
                self._end_all(grace_period)
                self._fail(index, self.processes[index])
        return not self.sentinels

    def _end_all(self, grace_period: float | None) -> None:
        if grace_period is not None:
            self._wait(grace_period)
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        self._wait(_PATIENCE if grace_period is None else grace_period)
        for process in self.processes:
            if process.is_alive():
                process.kill()
            process.join()

    def _wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        for process in self.processes:
            process.join(max(0.0, end - time.monotonic()))

    def _fail(self, index: int, failed: BaseProcess) -> None:
        pid, code = failed.pid or 0, failed.exitcode or 0
        if os.path.exists(self.error_files[index]):
            with open(self.error_files[index], encoding="utf-8") as file:
                text = f"\n\n-- Process {index} terminated with the following error:\n{file.read()}"
            os.unlink(self.error_files[index])
            raise ProcessRaisedException(text, index, pid)
        if code >= 0:
            raise ProcessExitedException(f"process {index} terminated with exit code {code}", index, pid, code)
        known = -code in list(signal.Signals)
        name = signal.Signals(-code).name if known else f"<Unknown signal {-code}>"
        raise ProcessExitedException(f"process {index} terminated with signal {name}", index, pid, code, name)


class SpawnContext(ProcessContext):
    """The name of `ProcessContext` before torch 1.4."""

    def __init__(self, processes: list[BaseProcess], error_files: list[str]) -> None:
        warnings.warn("SpawnContext is renamed to ProcessContext since 1.4 release.", stacklevel=2)
        super().__init__(processes, error_files)


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """None when all of them have ended, or with `join=False` what they are waited for by.

    Args:
        fn: Called as ``fn(index, *args)`` in each process.
        args: The arguments after the index.
        nprocs: How many.
        join: Whether to wait for them.
        daemon: Whether they end with this process.
        start_method: How they are started; "spawn" is the safe one beside threads.
    """
    context: Any = multiprocessing.get_context(start_method)
    files, processes = [], []
    for index in range(nprocs):
        with tempfile.NamedTemporaryFile(prefix="pyburn-errors-", suffix=".txt") as file:
            files.append(file.name)  # the process makes it again, if it has something to say
        process = context.Process(target=_work, args=(fn, index, args, files[-1]), daemon=daemon)
        process.start()
        processes.append(process)
    started = ProcessContext(processes, files)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """None when `nprocs` processes have run ``fn(index, *args)``; raises when one of them has failed.

    Raises:
        ProcessRaisedException: A process raised; the text has its traceback.
        ProcessExitedException: A process was ended.
    """
    return start_processes(fn, args, nprocs, join, daemon, start_method)
