"""torch's functions by family; each family's `METHODS` are attached to Tensor here."""

from pyburn.ops import creation
from pyburn.ops._methods import attach
from pyburn.ops.creation import *  # noqa: F403

# Families append themselves here: import the module, star-import its public names, add it to FAMILIES.

FAMILIES: tuple[object, ...] = (creation,)

for _family in FAMILIES:
    attach(_family)  # type: ignore[arg-type]
