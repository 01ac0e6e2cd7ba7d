"""torch's functions by family; each family's `METHODS` are attached to Tensor here."""

from pyburn.ops import (
    creation,
    cumulative,
    indexing,
    joining,
    moments,
    movement,
    padding,
    reduce,
    search,
    sorting,
)
from pyburn.ops._methods import attach
from pyburn.ops.creation import *  # noqa: F403
from pyburn.ops.cumulative import *  # noqa: F403
from pyburn.ops.indexing import *  # noqa: F403
from pyburn.ops.joining import *  # noqa: F403
from pyburn.ops.moments import *  # noqa: F403
from pyburn.ops.movement import *  # noqa: F403
from pyburn.ops.padding import pad  # noqa: F401
from pyburn.ops.reduce import *  # noqa: F403
from pyburn.ops.search import *  # noqa: F403
from pyburn.ops.sorting import *  # noqa: F403

# Families append themselves here: import the module, star-import its public names, add it to FAMILIES.

FAMILIES: tuple[object, ...] = (
    creation,
    cumulative,
    indexing,
    joining,
    moments,
    movement,
    padding,
    reduce,
    search,
    sorting,
)

for _family in FAMILIES:
    attach(_family)  # type: ignore[arg-type]
