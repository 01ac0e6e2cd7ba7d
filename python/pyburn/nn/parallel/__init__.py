"""torch.nn.parallel in one process: wrappers that call the module they hold."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from pyburn.nn.module import Module

__all__ = [
    "DataParallel",
    "DistributedDataParallel",
    "data_parallel",
    "gather",
    "parallel_apply",
    "replicate",
    "scatter",
    "scatter_kwargs",
]


class DataParallel(Module):
    """Calls `module`, which computes the whole batch: there is one device to share it with.

    Args:
        module: The module; its keys in a state dict begin with "module.".
        device_ids: Accepted for torch's sake.
        output_device: Accepted for torch's sake.
        dim: Accepted for torch's sake.

    Example:
        >>> from pyburn import nn
        >>> list(nn.DataParallel(nn.Linear(2, 2)).state_dict())
        ['module.weight', 'module.bias']
    """

    def __init__(
        self, module: Module, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.dim = dim
        self.module = module
        self.device_ids: list[Any] = []
        self.output_device = output_device

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the module gives."""
        return self.module(*inputs, **kwargs)


class DistributedDataParallel(Module):
    """Calls `module`; in the one process there is, its gradients are already those of all processes.

    Args:
        module: The module; its keys in a state dict begin with "module.".
        device_ids: Accepted for torch's sake, as all others.
        output_device: Accepted.
        dim: Accepted.
        broadcast_buffers: Accepted.
        init_sync: Accepted.
        process_group: Kept.
        bucket_cap_mb: Accepted.
        find_unused_parameters: Kept.
        check_reduction: Accepted.
        gradient_as_bucket_view: Accepted.
        static_graph: Accepted.
        delay_all_reduce_named_params: Accepted.
        param_to_hook_all_reduce: Accepted.
        mixed_precision: Accepted.
        device_mesh: Accepted.
        skip_all_reduce_unused_params: Accepted.
        bucket_cap_mb_list: Accepted.
        batched_grad_copy: Accepted.
        forward_sync_buffers: Accepted.
        lazy_bucket_allocation: Accepted.

    Example:
        >>> from pyburn import nn
        >>> nn.parallel.DistributedDataParallel(nn.Linear(2, 3)).module
        Linear(in_features=2, out_features=3, bias=True)
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: list[int] | None = None,
        batched_grad_copy: bool = False,
        forward_sync_buffers: bool | None = None,
        lazy_bucket_allocation: bool = False,
    ) -> None:
        super().__init__()
        if not any(parameter.requires_grad for parameter in module.parameters()):
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a "
                "gradient."
            )
        self.dim = dim
        self.module = module
        self.device_ids = None if device_ids is None else list(device_ids)
        self.output_device = output_device
        self.process_group = process_group
        self.find_unused_parameters = find_unused_parameters
        self.require_backward_grad_sync = True

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the module gives."""
        return self.module(*inputs, **kwargs)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """A block in which gradients are not shared between processes: there is one."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    @contextlib.contextmanager
    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Iterator[None]:
        """A block in which processes may have different numbers of batches: there is one."""
        yield

    def register_comm_hook(self, state: object, hook: Any) -> None:
        """Nothing: there is no communication to hook into."""


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """What `module` gives for the whole batch.

    Example:
        >>> import pyburn
        >>> pyburn.nn.parallel.data_parallel(pyburn.nn.Identity(), pyburn.ones(1))
        tensor([1.])
    """
    given = inputs if isinstance(inputs, tuple) else (inputs,)
    return module(*given, **(module_kwargs or {}))


def _one_device(name: str, devices: Sequence[Any]) -> None:
    if len(devices) > 1:
        raise NotImplementedError(
            f"{name}: pyburn computes on one device at a time; pass one device, not {len(devices)}"
        )


def replicate(network: Module, devices: Sequence[Any], detach: bool = False) -> list[Module]:
    """The module for each device: itself, since there is one.

    Example:
        >>> import pyburn
        >>> pyburn.nn.parallel.replicate(pyburn.nn.Identity(), ["cpu"])
        [Identity()]
    """
    _one_device("replicate", devices)
    return [network]


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> list[Any]:
    """The part of the inputs for each device: all of them, since there is one.

    Example:
        >>> import pyburn
        >>> pyburn.nn.parallel.scatter((pyburn.ones(1), 2), ["cpu"])
        [(tensor([1.]), 2)]
    """
    _one_device("scatter", target_gpus)
    return [inputs]


def scatter_kwargs(
    inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_gpus: Sequence[Any], dim: int = 0
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The part of positional and named inputs for each device: all of them.

    Example:
        >>> scatter_kwargs((1,), {"a": 2}, ["cpu"])
        (((1,),), ({'a': 2},))
    """
    _one_device("scatter_kwargs", target_gpus)
    return (inputs,), (kwargs or {},)


def parallel_apply(
    modules: Sequence[Module], inputs: Sequence[Any], kwargs_tup: Sequence[Any] | None = None, devices: Any = None
) -> list[Any]:
    """What each module gives for its inputs, one after the other.

    Example:
        >>> import pyburn
        >>> pyburn.nn.parallel.parallel_apply([pyburn.nn.Identity()], [(pyburn.ones(1),)])
        [tensor([1.])]
    """
    named = kwargs_tup or [{}] * len(modules)
    given = [each if isinstance(each, list | tuple) else (each,) for each in inputs]
    return [module(*args, **kwargs) for module, args, kwargs in zip(modules, given, named, strict=True)]


def gather(outputs: Sequence[Any], target_device: Any, dim: int = 0) -> Any:
    """The outputs of all devices joined: the one there is.

    Example:
        >>> import pyburn
        >>> pyburn.nn.parallel.gather([pyburn.ones(1)], "cpu")
        tensor([1.])
    """
    _one_device("gather", outputs)
    return outputs[0]
