"""The style of an image as its features see it: Gatys and others, 2016."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyburn import nn
from pyburn._core import Tensor
from pyburn.nn.functional import mse_loss

__all__ = ["GramMatrixLoss", "gram_matrix"]


def gram_matrix(features: Tensor) -> Tensor:
    """How much each pair of channels (N, C, H, W) goes together: (N, C, C), divided by C * H * W.

    Example:
        >>> import pyburn
        >>> gram_matrix(pyburn.ones(1, 2, 2, 2)).tolist()
        [[[0.5, 0.5], [0.5, 0.5]]]
    """
    flat = features.flatten(2)
    return flat @ flat.transpose(1, 2) / (flat.shape[1] * flat.shape[2])


class GramMatrixLoss(nn.Module):
    """How far the styles of two batches of images are apart.

    Args:
        features: A network, or any function, from images to a feature map or several, such as the first layers of a
            trained VGG; it is not trained here.
        weights: How much each feature map counts; all the same when left out.

    Example:
        >>> import pyburn
        >>> style = GramMatrixLoss(lambda images: [images, images[:, :1]])
        >>> style(pyburn.ones(1, 3, 4, 4), pyburn.ones(1, 3, 4, 4)).item()
        0.0
    """

    def __init__(
        self, features: Callable[[Tensor], Tensor | Sequence[Tensor]], weights: Sequence[float] | None = None
    ) -> None:
        super().__init__()
        self.features, self.weights = features, weights

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The mean squared difference of the Gram matrices, summed over the feature maps."""
        pairs = []
        for images in (input, target):
            made = self.features(images)
            pairs.append([made] if isinstance(made, Tensor) else list(made))
        weights = [1.0] * len(pairs[0]) if self.weights is None else self.weights
        losses = [
            weight * mse_loss(gram_matrix(one), gram_matrix(two))
            for weight, one, two in zip(weights, *pairs, strict=True)
        ]
        total: Tensor = sum(losses[1:], losses[0])
        return total
