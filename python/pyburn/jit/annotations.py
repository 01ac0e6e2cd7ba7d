"""torch.jit.annotations: the types that its readers of annotations know."""

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: UP035

from pyburn._core import Tensor

__all__ = ["Any", "BroadcastingList1", "BroadcastingList2", "Dict", "List", "Optional", "Tensor", "Tuple", "Union"]

BroadcastingList1 = List  # noqa: UP006
BroadcastingList2 = List  # noqa: UP006
BroadcastingList3 = List  # noqa: UP006
