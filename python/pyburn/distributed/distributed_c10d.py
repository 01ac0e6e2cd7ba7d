"""torch.distributed.distributed_c10d: the same functions under the name of the file that has them in torch."""

from pyburn.distributed._collectives import *  # noqa: F403
from pyburn.distributed._group import *  # noqa: F403
