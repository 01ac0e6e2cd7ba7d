"""torch.distributed.device_mesh: processes laid out in dimensions, each of size one here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pyburn import _core, ops
from pyburn._core import Tensor
from pyburn.distributed._group import GroupMember, ProcessGroup, init_process_group

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """Processes in a grid; this one is the only one.

    Args:
        device_type: Where the tensors are, as ``"cpu"``.
        mesh: The numbers of the processes, nested as the grid: ``[0]`` or ``[[0]]``.
        mesh_dim_names: A name for each dimension.

    Raises:
        NotImplementedError: If there is another process in it.

    Example:
        >>> import pyburn
        >>> mesh = pyburn.distributed.init_device_mesh("cpu", (1, 1), mesh_dim_names=("dp", "tp"))
        >>> mesh.size(), mesh["tp"].ndim, mesh.get_local_rank("dp")
        (1, 1, 0)
        >>> pyburn.distributed.destroy_process_group()
    """

    def __init__(self, device_type: str, mesh: Any, *, mesh_dim_names: Sequence[str] | None = None) -> None:
        self.mesh: Tensor = ops.as_tensor(mesh, device="cpu")
        if self.mesh.numel() != 1 or self.mesh.item() != 0:
            raise NotImplementedError(
                f"DeviceMesh: it names {self.mesh.numel()} processes, and pyburn computes in one; every size must be 1."
            )
        if mesh_dim_names is not None and len(mesh_dim_names) != self.mesh.ndim:
            raise RuntimeError(f"DeviceMesh: {len(mesh_dim_names)} names for {self.mesh.ndim} dimensions.")
        self.device_type = device_type
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        if GroupMember.WORLD is None:
            init_process_group("gloo", rank=0, world_size=1)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.mesh.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each dimension: all are 1."""
        return tuple(self.mesh.shape)

    def size(self, mesh_dim: int | None = None) -> int:
        """The number of processes, along one dimension or in all."""
        return math.prod(self.shape) if mesh_dim is None else self.shape[mesh_dim]

    def _position(self, dim: int | str) -> int:
        if isinstance(dim, int):
            return dim
        if self.mesh_dim_names is None or dim not in self.mesh_dim_names:
            raise KeyError(f"DeviceMesh: it has no dimension {dim!r}; its names are {self.mesh_dim_names}.")
        return self.mesh_dim_names.index(dim)

    def __getitem__(self, mesh_dim_names: str | tuple[str, ...]) -> DeviceMesh:
        names = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else mesh_dim_names
        for name in names:
            self._position(name)
        return DeviceMesh(self.device_type, self.mesh.reshape([1] * len(names)), mesh_dim_names=names)

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup | None:
        """The group of the processes along a dimension."""
        if mesh_dim is not None:
            self._position(mesh_dim)
        return GroupMember.WORLD

    def get_all_groups(self) -> list[ProcessGroup | None]:
        """The groups of all dimensions."""
        return [GroupMember.WORLD] * self.ndim

    def get_rank(self) -> int:
        """0, the number of this process."""
        return 0

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """0, the place of this process along a dimension."""
        if mesh_dim is not None:
            self._position(mesh_dim)
        return 0

    def get_coordinate(self) -> list[int]:
        """The place of this process in all dimensions."""
        return [0] * self.ndim

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeviceMesh):
            return NotImplemented
        mine, its = ((mesh.device_type, mesh.shape, mesh.mesh_dim_names) for mesh in (self, other))
        return mine == its

    def __hash__(self) -> int:
        return hash((self.device_type, self.shape, self.mesh_dim_names))

    def __repr__(self) -> str:
        sizes = self.shape if self.mesh_dim_names is None else dict(zip(self.mesh_dim_names, self.shape, strict=True))
        return f"DeviceMesh({sizes}, device: {self.device_type!r})"


def init_device_mesh(
    device_type: str,
    mesh_shape: tuple[int, ...],
    *,
    mesh_dim_names: tuple[str, ...] | None = None,
    backend_override: Any = None,
) -> DeviceMesh:
    """A mesh of all processes, which is this one; the group of all processes is made if there is none.

    Args:
        device_type: Where the tensors are.
        mesh_shape: The size of each dimension, all 1.
        mesh_dim_names: A name for each dimension.
        backend_override: Accepted; nothing is sent anywhere.

    Raises:
        NotImplementedError: If the sizes ask for more processes.
    """
    if math.prod(mesh_shape) != 1:
        raise NotImplementedError(
            f"init_device_mesh: {mesh_shape} asks for {math.prod(mesh_shape)} processes, and pyburn computes in one."
        )
    return DeviceMesh(
        device_type, ops.zeros(mesh_shape, dtype=_core.int64, device="cpu"), mesh_dim_names=mesh_dim_names
    )
