"""Distances of images in the features of a network that the user gives: FID, LPIPS and DISTS."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from pyburn._core import ShapeError, Tensor, float32, float64
from pyburn.linalg import eigh, eigvalsh
from pyburn.nn import Module
from pyburn.ops import as_tensor, ones_like, zeros_like
from pyburn.train.metrics.base import Accumulated, Mean, State, to_tensor

__all__ = ["DISTS", "FID", "LPIPS"]

Network = Callable[[Tensor], Any]


def _run(network: Network, images: Tensor) -> Any:
    """The features of images, as in evaluation: dropout and batch statistics would make the distance random."""
    if not isinstance(network, Module) or not network.training:
        return network(images)
    network.eval()
    try:
        return network(images)
    finally:
        network.train()


class FID(Accumulated):
    """The Fréchet distance between the features of generated images (outputs) and of real ones (targets).

    Args:
        network: A module or function from images to features (N, D); published numbers need Inception v3's pool
            features, and are comparable only among the same network.

    Example:
        >>> import pyburn
        >>> _ = pyburn.manual_seed(0)
        >>> fid = FID(lambda images: images.flatten(1))
        >>> real = pyburn.rand(64, 1, 2, 2)
        >>> fid.update(real + 1, real)
        >>> round(fid.compute(), 4)
        4.0
    """

    name = "fid"
    higher_is_better = False

    def __init__(self, network: Network, name: str | None = None) -> None:
        self.network = network
        self.name = name or self.name
        super().__init__()

    def _statistics(self, output: Any, target: Any) -> State:
        found: State = {}
        for role, value in (("output", output), ("target", target)):
            if value is None:
                raise TypeError(
                    f"{self.name}: {role} is None; give generated images as output and real ones as target."
                )
            features = _run(self.network, to_tensor(self.name, role, value))
            if not isinstance(features, Tensor) or features.ndim != 2:
                shape = list(features.shape) if isinstance(features, Tensor) else type(features).__name__
                raise ShapeError(
                    f"{self.name}: the network gave {shape}; expected features (N, D): pool or flatten them."
                )
            features = features.to(float64 if features.device.type == "cpu" else float32)
            mean = features.sum(0) / max(len(features), 1)
            rest = features - mean
            found |= {f"{role}_count": len(features), f"{role}_mean": mean, f"{role}_spread": rest.T @ rest}
        return found

    def _merge(self, old: State, new: State) -> State:
        # Products of features lose their digits where the mean is large: spreads are merged around their means.
        merged = super()._merge(old, new)
        for role in ("output", "target"):
            share = new[f"{role}_count"] / max(merged[f"{role}_count"], 1)
            step = new[f"{role}_mean"] - old[f"{role}_mean"]
            merged[f"{role}_mean"] = old[f"{role}_mean"] + step * share
            between = step.unsqueeze(1) * step.unsqueeze(0) * old[f"{role}_count"] * share
            merged[f"{role}_spread"] = merged[f"{role}_spread"] + between
        return merged

    def _value(self, state: State) -> float | Tensor:
        if min(state["output_count"], state["target_count"]) < 2:
            return math.nan
        shift = ((state["output_mean"] - state["target_mean"]) ** 2).sum()
        first = state["output_spread"] / (state["output_count"] - 1)
        second = state["target_spread"] / (state["target_count"] - 1)
        # The trace of the root of first @ second, which is not symmetric, is that of root(first) second root(first).
        values, vectors = eigh(first)
        root = (vectors * values.clamp(min=0).sqrt()) @ vectors.T
        shared = eigvalsh(root @ second @ root).clamp(min=0).sqrt().sum()
        return float(shift + first.trace() + second.trace() - 2 * shared)


class _LayerDistance(Mean):
    """The mean over images of a distance between the maps that a network gives."""

    higher_is_better = False

    def __init__(self, network: Network, name: str | None = None) -> None:
        self.network = network
        self.name = name or self.name
        super().__init__()

    def _maps(self, role: str, images: Any) -> list[Tensor]:
        found = _run(self.network, to_tensor(self.name, role, images))
        layers = [found] if isinstance(found, Tensor) else list(found.values() if isinstance(found, dict) else found)
        if not layers or not all(isinstance(layer, Tensor) and layer.ndim == 4 for layer in layers):
            given = [list(layer.shape) if isinstance(layer, Tensor) else type(layer).__name__ for layer in layers]
            raise ShapeError(f"{self.name}: the network gave {given}; expected a list of maps (N, C, H, W).")
        return layers

    def _pairs(self, output: Any, target: Any) -> list[tuple[Tensor, Tensor]]:
        ours, theirs = self._maps("output", output), self._maps("target", target)
        if [layer.shape for layer in ours] != [layer.shape for layer in theirs]:
            shapes = [list(layer.shape) for layer in (ours[0], theirs[0])]
            raise ShapeError(f"{self.name}: the maps of output and target are {shapes}; give images of one shape.")
        return list(zip(ours, theirs, strict=True))

    def _weights(self, given: Sequence[Any], index: int, like: Tensor) -> Tensor:
        """The weights of a layer's channels, of shape (1, C)."""
        weights = as_tensor(given[index]).detach().to(like.dtype).to(like.device).reshape([1, -1])
        if weights.shape[1] != like.shape[1]:
            raise ShapeError(
                f"{self.name}: layer {index} has {like.shape[1]} channels but {weights.shape[1]} weights; give one per "
                "channel."
            )
        return weights


class LPIPS(_LayerDistance):
    """The learned perceptual distance of Zhang et al. (2018): squared differences of normalised features.

    Args:
        network: A module or function from images to a list of maps (N, C, H, W), e.g. the five of AlexNet or VGG; the
            images must already be scaled as it needs them.
        weights: For each map the weight of each channel (the "linear layers" of the paper); ones if None.

    Example:
        >>> import pyburn
        >>> distance = LPIPS(lambda images: [images, images[:, :, ::2]])
        >>> distance.update(pyburn.ones(2, 3, 4, 4), pyburn.ones(2, 3, 4, 4))
        >>> distance.compute()
        0.0
    """

    name = "lpips"

    def __init__(self, network: Network, weights: Sequence[Any] | None = None, name: str | None = None) -> None:
        self.weights = weights
        super().__init__(network, name)

    def _sums(self, output: Any, target: Any) -> tuple[Tensor | float, Tensor | int]:
        pairs = self._pairs(output, target)
        if self.weights is not None and len(self.weights) != len(pairs):
            raise ValueError(f"{self.name}: {len(pairs)} maps but {len(self.weights)} weights; give one per map.")
        total: Tensor | float = 0.0
        for index, (ours, theirs) in enumerate(pairs):
            gap = ((_unit(ours) - _unit(theirs)) ** 2).mean([2, 3])  # (N, C)
            if self.weights is not None:
                gap = gap * self._weights(self.weights, index, gap)
            total = total + gap.sum()
        return total, len(pairs[0][0])


def _unit(maps: Tensor) -> Tensor:
    """Maps whose channels have length 1 at every place."""
    return maps / ((maps**2).sum(1, keepdim=True).sqrt() + 1e-10)


class DISTS(_LayerDistance):
    """The distance of structure and texture of Ding et al. (2020): 0 where images are equal.

    Args:
        network: A module or function from images to a list of maps (N, C, H, W); the paper's first map is the image.
        alpha: For each map the weight of each channel's texture (its mean); equal ones if None.
        beta: The same for structure (its correlation). All weights are divided by their sum.

    Example:
        >>> import pyburn
        >>> _ = pyburn.manual_seed(0)
        >>> image = pyburn.rand(2, 3, 8, 8)
        >>> distance = DISTS(lambda images: [images])
        >>> distance.update(image, image)
        >>> abs(round(distance.compute(), 4))
        0.0
    """

    name = "dists"

    def __init__(
        self,
        network: Network,
        alpha: Sequence[Any] | None = None,
        beta: Sequence[Any] | None = None,
        name: str | None = None,
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        super().__init__(network, name)

    def _sums(self, output: Any, target: Any) -> tuple[Tensor | float, Tensor | int]:
        pairs = self._pairs(output, target)
        similar = zeros_like(pairs[0][0][:, 0, 0, 0])
        weight = similar.sum()
        for index, (ours, theirs) in enumerate(pairs):
            for given, values in zip((self.alpha, self.beta), _likeness(ours, theirs), strict=True):
                if given is not None and len(given) != len(pairs):
                    raise ValueError(f"{self.name}: {len(pairs)} maps but {len(given)} weights; give one per map.")
                own = ones_like(values[:1]) if given is None else self._weights(given, index, values)
                similar = similar + (own * values).sum(1)
                weight = weight + own.sum()
        return len(pairs[0][0]) - (similar / weight).sum(), len(pairs[0][0])


def _likeness(ours: Tensor, theirs: Tensor) -> tuple[Tensor, Tensor]:
    """How far the means and the variations of two maps agree in each channel, of shape (N, C)."""
    mean_o, mean_t = ours.mean([2, 3]), theirs.mean([2, 3])
    rest_o, rest_t = ours - mean_o[:, :, None, None], theirs - mean_t[:, :, None, None]
    shared = (rest_o * rest_t).mean([2, 3])
    spread = (rest_o**2).mean([2, 3]) + (rest_t**2).mean([2, 3])
    small = 1e-6
    return (2 * mean_o * mean_t + small) / (mean_o**2 + mean_t**2 + small), (2 * shared + small) / (spread + small)
