"""torch.distributed.rpc: calls in other processes, of which there are none; using it raises."""

import functools
from collections.abc import Callable
from typing import Any, NoReturn

from pyburn._absent import absent_class, absent_function

_WHY = ("pyburn computes in one process", "call the function directly, or use the standard library's multiprocessing")

init_rpc = absent_function("distributed.rpc.init_rpc", *_WHY)
shutdown = absent_function("distributed.rpc.shutdown", *_WHY)
rpc_sync = absent_function("distributed.rpc.rpc_sync", *_WHY)
rpc_async = absent_function("distributed.rpc.rpc_async", *_WHY)
remote = absent_function("distributed.rpc.remote", *_WHY)
get_worker_info = absent_function("distributed.rpc.get_worker_info", *_WHY)
RRef = absent_class("distributed.rpc.RRef", *_WHY)
TensorPipeRpcBackendOptions = absent_class("distributed.rpc.TensorPipeRpcBackendOptions", *_WHY)
WorkerInfo = absent_class("distributed.rpc.WorkerInfo", *_WHY)


def is_available() -> bool:
    """False: there are no other processes to call.

    Example:
        >>> is_available()
        False
    """
    return False


def _is_current_rpc_agent_set() -> bool:
    """False: nothing was initialized."""
    return False


def _require_initialized(func: Callable[..., Any]) -> Callable[..., NoReturn]:
    """A function that says that nothing was initialized, since that cannot be.

    Raises:
        RuntimeError: When it is called.
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(
            "RPC has not been initialized. Call torch.distributed.rpc.init_rpc first. (pyburn has none: it computes in "
            "one process; call the function directly.)"
        )

    return wrapper
