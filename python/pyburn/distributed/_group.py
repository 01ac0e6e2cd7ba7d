"""Process groups of one process: who is in them, and that they were made."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any, NoReturn

__all__ = [
    "Backend",
    "GroupMember",
    "ProcessGroup",
    "destroy_process_group",
    "get_backend",
    "get_global_rank",
    "get_group_rank",
    "get_node_local_rank",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "init_process_group",
    "is_available",
    "is_backend_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
    "new_group",
]


class Backend(str):
    """The name of a way to communicate; with one process none is needed."""

    GLOO = "gloo"
    NCCL = "nccl"
    MPI = "mpi"
    UCC = "ucc"
    UNDEFINED = "undefined"

    __slots__ = ()

    def __new__(cls, name: str) -> Backend:
        """The name in small letters."""
        return super().__new__(cls, name.lower())


class ProcessGroup:
    """A group; this process is its only member."""

    def __init__(self, backend: str) -> None:
        self._backend = backend

    def rank(self) -> int:
        """0, the number of this process."""
        return 0

    def size(self) -> int:
        """1, the number of processes."""
        return 1

    def name(self) -> str:
        """The name of the way to communicate."""
        return self._backend


class GroupMember:
    """Marks for the group of all processes and for none."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = object()


class _GroupNames:
    """What `group` offers: `group.WORLD`."""

    @property
    def WORLD(self) -> ProcessGroup | None:
        """The group of all processes, once it is made."""
        return GroupMember.WORLD

    @WORLD.setter
    def WORLD(self, value: ProcessGroup | None) -> None:
        GroupMember.WORLD = value


group = _GroupNames()


def _refuse_world(size: int) -> NoReturn:
    raise NotImplementedError(
        f"init_process_group: a world of {size} processes was asked for, and pyburn computes in one; start the program "
        "with world_size=1 (torchrun --nproc_per_node=1), or take the distributed part out."
    )


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Nothing; the group of all processes, which is this one, is made.

    Args:
        backend: Kept and given back by `get_backend`; nothing is sent anywhere.
        init_method: Accepted; there is nobody to meet.
        timeout: Accepted.
        world_size: 1; left out, the environment's WORLD_SIZE or 1.
        rank: 0; left out, the environment's RANK or 0.
        store: Accepted.
        group_name: Accepted.
        pg_options: Accepted.
        device_id: Accepted.

    Raises:
        NotImplementedError: The world has more than one process.
        ValueError: The group exists already, or the rank is not 0.

    Example:
        >>> import pyburn
        >>> pyburn.distributed.init_process_group("gloo", rank=0, world_size=1)
        >>> pyburn.distributed.get_rank(), pyburn.distributed.get_world_size()
        (0, 1)
        >>> pyburn.distributed.destroy_process_group()
    """
    if GroupMember.WORLD is not None:
        raise ValueError("trying to initialize the default process group twice!")
    size = world_size if world_size != -1 else int(os.environ.get("WORLD_SIZE", "1"))
    own = rank if rank != -1 else int(os.environ.get("RANK", "0"))
    if size != 1:
        _refuse_world(size)
    if own != 0:
        raise ValueError(f"init_process_group: rank {own} does not exist in a world of 1 process.")
    GroupMember.WORLD = ProcessGroup(Backend(backend or "gloo"))


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Nothing; the group, or the group of all processes, is no more."""
    _world()
    if group is None or group is GroupMember.WORLD:
        GroupMember.WORLD = None


def _world() -> ProcessGroup:
    if GroupMember.WORLD is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return GroupMember.WORLD


def is_initialized() -> bool:
    """Whether the group of all processes was made.

    Example:
        >>> is_initialized()
        False
    """
    return GroupMember.WORLD is not None


def is_available() -> bool:
    """True: the functions are here, for one process."""
    return True


def is_nccl_available() -> bool:
    """False: there is no CUDA."""
    return False


def is_gloo_available() -> bool:
    """True: a world of one needs no more."""
    return True


def is_mpi_available() -> bool:
    """False: there is no such library here."""
    return False


def is_ucc_available() -> bool:
    """False: there is no such library here."""
    return False


def is_xccl_available() -> bool:
    """False: there is no such library here."""
    return False


def is_backend_available(backend: str) -> bool:
    """Whether it is gloo."""
    return backend.lower() == "gloo"


def is_torchelastic_launched() -> bool:
    """Whether torchrun started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def get_rank(group: Any = None) -> int:
    """0, the number of this process; -1 outside the group.

    Raises:
        ValueError: `init_process_group` was not called.
    """
    _world()
    return -1 if group is GroupMember.NON_GROUP_MEMBER else 0


def get_world_size(group: Any = None) -> int:
    """1, the number of processes; -1 outside the group.

    Raises:
        ValueError: `init_process_group` was not called.
    """
    _world()
    return -1 if group is GroupMember.NON_GROUP_MEMBER else 1


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """0, the number of this process on its machine."""
    return int(os.environ.get("LOCAL_RANK", fallback_rank or 0))


def get_backend(group: Any = None) -> Backend:
    """The name that `init_process_group` was given."""
    return Backend((group or _world()).name())


def get_process_group_ranks(group: Any) -> list[int]:
    """The numbers of the members: that of this process."""
    return [0]


def get_global_rank(group: Any, group_rank: int) -> int:
    """The number of a member among all processes."""
    if group_rank != 0:
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return 0


def get_group_rank(group: Any, global_rank: int) -> int:
    """The number of a process in the group."""
    if global_rank != 0:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return 0


def new_group(
    ranks: list[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    **kwargs: Any,
) -> Any:
    """A group of these processes; one without this process is `GroupMember.NON_GROUP_MEMBER`."""
    world = _world()
    if ranks is not None and any(rank != 0 for rank in ranks):
        raise ValueError("the new group's rank should be within the world_size set by init_process_group")
    if ranks is not None and not ranks:
        return GroupMember.NON_GROUP_MEMBER
    return ProcessGroup(Backend(backend or world.name()))
