"""torch's functions by family; each family's `METHODS` are attached to Tensor here."""

from pyburn.ops._methods import attach

# Families append themselves here: import the module, star-import its public names, add it to FAMILIES.

FAMILIES: tuple[object, ...] = ()

for _family in FAMILIES:
    attach(_family)  # type: ignore[arg-type]
