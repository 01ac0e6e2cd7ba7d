"""torch._dynamo.config: switches of torch's compiler, which are kept and change nothing."""

__all__ = ["accumulated_cache_size_limit", "cache_size_limit", "optimize_ddp", "suppress_errors", "verbose"]

accumulated_cache_size_limit = 256
automatic_dynamic_shapes = True
cache_size_limit = 8
capture_scalar_outputs = False
dynamic_shapes = True
optimize_ddp = False
recompile_limit = 8
suppress_errors = False
verbose = False
