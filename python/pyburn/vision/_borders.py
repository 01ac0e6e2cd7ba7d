"""Which pixels of a line stand beyond its ends, for each kind of border."""

from __future__ import annotations

__all__ = ["places"]


def places(length: int, before: int, after: int, border: str) -> list[int]:
    """The places of a line of pixels with more at both ends, as often around as it takes.

    Args:
        length: How many pixels there are, at least one.
        before: How many are added before them.
        after: How many are added after them.
        border: Beyond a b c: "replicate" c c, "reflect" b a, "symmetric" c b, "circular" a b.
    """
    found = []
    period = {"replicate": 1, "reflect": max(2 * length - 2, 1), "symmetric": 2 * length, "circular": length}[border]
    for place in range(-before, length + after):
        if border == "replicate":
            found.append(min(max(place, 0), length - 1))
            continue
        inside = place % period
        mirrored = period - 1 - inside if border == "symmetric" else period - inside
        found.append(inside if inside < length else mirrored)
    return found
