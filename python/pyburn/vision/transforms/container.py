"""Transforms of transforms: one after another, by chance, in any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyburn.nn import ModuleList
from pyburn.ops import multinomial, rand, randperm, tensor
from pyburn.vision.transforms.base import Transform

__all__ = ["Compose", "RandomApply", "RandomChoice", "RandomOrder"]

Steps = Sequence[Callable[..., Any]]


def _checked(transforms: Any, kinds: tuple[type, ...] = (Sequence,)) -> Any:
    if not isinstance(transforms, kinds):
        raise TypeError("Argument transforms should be a sequence of callables")
    if not transforms:
        raise ValueError("Pass at least one transform")
    return transforms


def _run(steps: Any, inputs: tuple[Any, ...]) -> Any:
    several = len(inputs) > 1
    output: Any = inputs if several else inputs[0]
    for step in steps:
        output = step(*output) if several else step(output)
    return output


class _Steps(Transform):
    transforms: Any

    def extra_repr(self) -> str:
        """The transforms, one in each line."""
        return "\n".join(f"    {step}" for step in self.transforms)


class Compose(_Steps):
    """Transforms one after another.

    Args:
        transforms: Any functions.

    Example:
        >>> import pyburn
        >>> from pyburn.vision import transforms
        >>> steps = transforms.Compose([transforms.Resize(4), transforms.CenterCrop(2)])
        >>> steps(pyburn.zeros(3, 8, 8)).shape
        pyburn.Size([3, 2, 2])
    """

    def __init__(self, transforms: Steps) -> None:
        super().__init__()
        self.transforms = _checked(transforms)

    def forward(self, *inputs: Any) -> Any:
        """The inputs, transformed."""
        return _run(self.transforms, inputs)


class RandomApply(_Steps):
    """Transforms one after another, with a probability, or none of them.

    Args:
        transforms: Any functions.
        p: The probability.
    """

    def __init__(self, transforms: Steps | ModuleList, p: float = 0.5) -> None:
        super().__init__()
        self.transforms = _checked(transforms, (Sequence, ModuleList))
        if not 0.0 <= p <= 1.0:
            raise ValueError("`p` should be a floating point value in the interval [0.0, 1.0].")
        self.p = p

    def forward(self, *inputs: Any) -> Any:
        """The inputs, transformed or not."""
        return _run([] if rand(1).item() >= self.p else self.transforms, inputs)


class RandomChoice(_Steps):
    """One of several transforms.

    Args:
        transforms: Any functions.
        p: How probable each of them is; equally when left out.
    """

    def __init__(self, transforms: Steps, p: Sequence[float] | None = None) -> None:
        super().__init__()
        self.transforms = _checked(transforms)
        weights = [1] * len(transforms) if p is None else list(p)
        if len(weights) != len(transforms):
            raise ValueError(f"Length of p doesn't match the number of transforms: {len(weights)} != {len(transforms)}")
        self.p = [weight / sum(weights) for weight in weights]

    def forward(self, *inputs: Any) -> Any:
        """The inputs, transformed."""
        return _run([self.transforms[int(multinomial(tensor(self.p), 1))]], inputs)


class RandomOrder(_Steps):
    """All of several transforms, in a random order.

    Args:
        transforms: Any functions.
    """

    def __init__(self, transforms: Steps) -> None:
        super().__init__()
        self.transforms = _checked(transforms)

    def forward(self, *inputs: Any) -> Any:
        """The inputs, transformed."""
        return _run([self.transforms[place] for place in randperm(len(self.transforms)).tolist()], inputs)
