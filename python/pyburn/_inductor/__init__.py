"""torch._inductor: the back end of torch's compiler, of which nothing is needed; its switches are kept."""

from types import SimpleNamespace

__all__ = ["config"]

config = SimpleNamespace(
    coordinate_descent_tuning=False, fx_graph_cache=False, triton=SimpleNamespace(), cpp=SimpleNamespace()
)
