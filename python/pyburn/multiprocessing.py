"""torch.multiprocessing: Python's own, with `spawn`; tensors travel as copies of their values."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import traceback
from collections.abc import Callable
from multiprocessing import *  # noqa: F403
from multiprocessing.process import BaseProcess
from typing import Any

__all__ = [
    *(name for name in multiprocessing.__all__),
    "ProcessContext",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]


class ProcessRaisedException(Exception):
    """A process ended with an error; the text has its traceback."""

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg)
        self.error_index, self.error_pid = error_index, error_pid


class ProcessExitedException(Exception):
    """A process ended without a word, by a signal or with a code other than 0."""

    def __init__(self, msg: str, error_index: int, error_pid: int, exit_code: int) -> None:
        super().__init__(msg)
        self.error_index, self.error_pid, self.exit_code = error_index, error_pid, exit_code


def _work(function: Callable[..., Any], index: int, args: tuple[Any, ...], errors: Any) -> None:
    try:
        function(index, *args)
    except KeyboardInterrupt:
        pass
    except BaseException:
        errors.put(traceback.format_exc())
        raise SystemExit(1) from None


class ProcessContext:
    """The processes that `spawn(..., join=False)` started."""

    def __init__(self, processes: list[BaseProcess], errors: list[Any]) -> None:
        self.processes = processes
        self.error_queues = errors

    def pids(self) -> list[int | None]:
        """The numbers of the processes."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None) -> bool:
        """Whether all have ended well; the others are ended and an error is raised when one has failed."""
        alive = [process.sentinel for process in self.processes if process.is_alive()]
        if alive:  # waiting for nothing would never end
            multiprocessing.connection.wait(alive, timeout)
        for index, process in enumerate(self.processes):
            if process.exitcode not in (None, 0):
                self._fail(index, process)
        return all(process.exitcode == 0 for process in self.processes)

    def _fail(self, index: int, failed: BaseProcess) -> None:
        for process in self.processes:
            if process.is_alive():
                process.terminate()
            process.join()
        pid, code = failed.pid or 0, failed.exitcode or 0
        if not self.error_queues[index].empty():
            text = self.error_queues[index].get()
            raise ProcessRaisedException(
                f"\n\n-- Process {index} terminated with the following error:\n{text}", index, pid
            )
        raise ProcessExitedException(f"process {index} terminated with exit code {code}", index, pid, code)


SpawnContext = ProcessContext


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
    context = multiprocessing.get_context(start_method)
    errors = [context.SimpleQueue() for _ in range(nprocs)]
    processes: list[BaseProcess] = []
    for index in range(nprocs):
        process = context.Process(target=_work, args=(fn, index, args, errors[index]), daemon=daemon)  # type: ignore[attr-defined]
        process.start()
        processes.append(process)
    started = ProcessContext(processes, errors)
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


def get_all_sharing_strategies() -> set[str]:
    """The one way in which tensors travel: as copies.

    Example:
        >>> get_all_sharing_strategies()
        {'file_system'}
    """
    return {"file_system"}


def get_sharing_strategy() -> str:
    """The way in which tensors travel."""
    return "file_system"


def set_sharing_strategy(new_strategy: str) -> None:
    """Nothing; tensors travel as copies whatever is asked for."""
