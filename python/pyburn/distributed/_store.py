"""Stores of keys and values that processes share to meet; with one process they are dictionaries."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

__all__ = [
    "DistBackendError",
    "DistError",
    "DistNetworkError",
    "DistStoreError",
    "FileStore",
    "HashStore",
    "PrefixStore",
    "Store",
    "TCPStore",
]

_DEFAULT_TIMEOUT = timedelta(seconds=300)


class DistError(RuntimeError):
    """What goes wrong between processes."""


class DistBackendError(DistError):
    """What goes wrong in the library that moves tensors."""


class DistNetworkError(DistError):
    """What goes wrong on the way."""


class DistStoreError(DistError):
    """What goes wrong in a store: a key that nobody sets in time."""


class Store:
    """Keys and the bytes that stand for them.

    Example:
        >>> import pyburn
        >>> store = pyburn.distributed.HashStore()
        >>> store.set("name", "value")
        >>> store.get("name"), store.add("count", 2), store.add("count", 3)
        (b'value', 2, 5)
    """

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}
        self._changed = threading.Condition(threading.RLock())
        self._timeout = _DEFAULT_TIMEOUT

    @property
    def timeout(self) -> timedelta:
        """How long `get` and `wait` wait for a key."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Nothing; `get` and `wait` wait that long from now on."""
        self._timeout = timeout

    def set(self, key: str, value: str | bytes) -> None:
        """Nothing; the key stands for the value now."""
        with self._changed:
            self._values[key] = value.encode() if isinstance(value, str) else bytes(value)
            self._changed.notify_all()

    def get(self, key: str) -> bytes:
        """The value of a key; waits until another thread sets it.

        Raises:
            DistStoreError: If nobody does in time.
        """
        self.wait([key])
        return self._values[key]

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Nothing; returns when all of the keys are there.

        Raises:
            DistStoreError: If one is not in time.
        """
        limit = (timeout or self._timeout).total_seconds()
        with self._changed:
            if not self._changed.wait_for(lambda: self.check(keys), limit):
                absent = [key for key in keys if key not in self._values]
                raise DistStoreError(f"wait timeout after {limit * 1000:.0f}ms, keys: {', '.join(absent)}")

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all of the keys are there."""
        return all(key in self._values for key in keys)

    def add(self, key: str, amount: int) -> int:
        """The number of a key, 0 before the first call, with the amount added to it."""
        with self._changed:
            total = int(self._values.get(key, b"0")) + amount
            self.set(key, str(total))
            return total

    def append(self, key: str, value: str | bytes) -> None:
        """Nothing; the value stands behind what the key had."""
        with self._changed:
            more = value.encode() if isinstance(value, str) else bytes(value)
            self.set(key, self._values.get(key, b"") + more)

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """The values of the keys; waits as `get` does."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Nothing; each key stands for its value now."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def barrier(self, key: str, world_size: int, timeout: timedelta | None = None) -> None:
        """Nothing; returns when so many threads have called it with this key.

        Raises:
            DistStoreError: If they have not in time.
        """
        if self.add(f"{key}/num_members", 1) == world_size:
            self.set(f"{key}/last_member", "1")
        self.wait([f"{key}/last_member"], timeout)

    def has_extended_api(self) -> bool:
        """True: `append`, `multi_get` and `multi_set` are there."""
        return True

    def compare_set(self, key: str, expected_value: str, desired_value: str) -> bytes:
        """The value of the key afterwards: the desired one if it was the expected one before."""
        with self._changed:
            found = self._values.get(key)
            if found == expected_value.encode() or (found is None and not expected_value):
                self.set(key, desired_value)
            return self._values.get(key, expected_value.encode())

    def delete_key(self, key: str) -> bool:
        """Whether the key was there; it is not any more."""
        with self._changed:
            return self._values.pop(key, None) is not None

    def num_keys(self) -> int:
        """The number of keys."""
        return len(self._values)


class HashStore(Store):
    """A store of one process."""


class FileStore(Store):
    """A store for a world of one process: nothing is written to the file.

    Args:
        file_name: Kept as `path`.
        world_size: The number of processes that share it, 1 or not said.
    """

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        _one_process("FileStore", world_size)
        self.path = file_name


class TCPStore(Store):
    """A store for a world of one process: no port is opened.

    Args:
        host_name: Kept as `host`.
        port: Kept.
        world_size: The number of processes that share it, 1 or not said.
        is_master: Accepted.
        timeout: How long `get` and `wait` wait for a key.
        wait_for_workers: Accepted; there are none.
        **options: Accepted.
    """

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = _DEFAULT_TIMEOUT,
        wait_for_workers: bool = True,
        **options: Any,
    ) -> None:
        super().__init__()
        _one_process("TCPStore", world_size or -1)
        self.host, self.port, self._timeout = host_name, port, timeout


class PrefixStore(Store):
    """Another store, with a prefix before each key.

    Args:
        prefix: What stands before each key, with a slash between.
        store: The other store.
    """

    def __init__(self, prefix: str, store: Store) -> None:
        self.prefix, self.underlying_store = prefix, store

    @property
    def timeout(self) -> timedelta:
        """How long `get` and `wait` wait for a key."""
        return self.underlying_store.timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Nothing; `get` and `wait` wait that long from now on."""
        self.underlying_store.set_timeout(timeout)

    def _name(self, key: str) -> str:
        return f"{self.prefix}/{key}"

    def set(self, key: str, value: str | bytes) -> None:
        """Nothing; the key stands for the value now."""
        self.underlying_store.set(self._name(key), value)

    def get(self, key: str) -> bytes:
        """The value of a key."""
        return self.underlying_store.get(self._name(key))

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Nothing; returns when all of the keys are there."""
        self.underlying_store.wait([self._name(key) for key in keys], timeout)

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all of the keys are there."""
        return self.underlying_store.check([self._name(key) for key in keys])

    def add(self, key: str, amount: int) -> int:
        """The number of a key with the amount added to it."""
        return self.underlying_store.add(self._name(key), amount)

    def append(self, key: str, value: str | bytes) -> None:
        """Nothing; the value stands behind what the key had."""
        self.underlying_store.append(self._name(key), value)

    def compare_set(self, key: str, expected_value: str, desired_value: str) -> bytes:
        """The value of the key afterwards."""
        return self.underlying_store.compare_set(self._name(key), expected_value, desired_value)

    def delete_key(self, key: str) -> bool:
        """Whether the key was there; it is not any more."""
        return self.underlying_store.delete_key(self._name(key))

    def num_keys(self) -> int:
        """The number of keys of the other store."""
        return self.underlying_store.num_keys()


def _one_process(name: str, world_size: int) -> None:
    if world_size > 1:
        raise NotImplementedError(
            f"{name}: {world_size} processes would share it, and pyburn computes in one; take world_size=1."
        )
