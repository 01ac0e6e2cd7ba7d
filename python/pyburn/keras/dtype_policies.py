"""`keras.dtype_policies`: which dtype weights are kept in, and which one layers compute in."""

from typing import Any

from pyburn.keras.config import DTypePolicy, policy_of

FloatDTypePolicy = DTypePolicy

__all__ = ["DTypePolicy", "FloatDTypePolicy", "get"]


def get(identifier: Any) -> DTypePolicy:
    """The policy of this name; a policy is given back.

    Example:
        >>> get("mixed_float16").compute_dtype
        'float16'
    """
    return policy_of(identifier)
