"""`keras.mixed_precision`: policies of dtypes under their older names."""

from pyburn.keras.config import DTypePolicy, dtype_policy, set_dtype_policy

Policy = DTypePolicy
global_policy = dtype_policy
set_global_policy = set_dtype_policy

__all__ = [
    "DTypePolicy",
    "Policy",
    "dtype_policy",
    "global_policy",
    "set_dtype_policy",
    "set_global_policy",
]
