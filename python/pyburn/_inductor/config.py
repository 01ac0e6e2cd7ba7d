"""torch._inductor.config: switches of torch's compiler, which are kept and change nothing."""

from types import SimpleNamespace

__all__ = ["coordinate_descent_tuning", "cpp", "fx_graph_cache", "triton"]

conv_1x1_as_mm = False
coordinate_descent_tuning = False
cpp = SimpleNamespace()
epilogue_fusion = True
fx_graph_cache = False
triton = SimpleNamespace()
