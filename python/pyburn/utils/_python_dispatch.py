"""torch.utils._python_dispatch: pyburn has no dispatcher; its modes can be named and raise when they are used."""

from typing import Any

from pyburn._absent import absent_class

TorchDispatchMode: Any = absent_class(
    "utils._python_dispatch.TorchDispatchMode", "pyburn has no dispatcher", "use module hooks to see operations"
)
