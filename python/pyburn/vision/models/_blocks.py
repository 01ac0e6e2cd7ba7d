"""The building blocks that several architectures share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyburn import nn
from pyburn._core import Tensor
from pyburn.ops import empty

__all__ = [
    "MLP",
    "Conv2dNormActivation",
    "IntermediateLayerGetter",
    "Permute",
    "SqueezeExcitation",
    "StochasticDepth",
    "initialize",
    "initialize_mlp",
    "make_divisible",
    "stochastic_depth",
]

Layer = Callable[..., nn.Module]


def make_divisible(value: float, divisor: int, min_value: int | None = None) -> int:
    """`value` rounded to a multiple of `divisor`, never by more than a tenth down.

    Example:
        >>> make_divisible(35, 8), make_divisible(11, 8)
        (32, 16)
    """
    rounded = max(divisor if min_value is None else min_value, int(value + divisor / 2) // divisor * divisor)
    return rounded if rounded >= 0.9 * value else rounded + divisor


def initialize(
    model: nn.Module,
    conv: Callable[[Tensor], object] | None = None,
    linear: Callable[[Tensor], object] | None = None,
    zero_bias: bool = True,
) -> None:
    """Nothing; each convolution's weights are set by `conv`, each linear layer's by `linear`, in the model's order."""
    for module in model.modules():
        fill = conv if isinstance(module, nn.Conv2d) else linear if isinstance(module, nn.Linear) else None
        if fill is not None:
            fill(module.weight)
            if zero_bias and module.bias is not None:
                nn.init.zeros_(module.bias)


class Conv2dNormActivation(nn.Sequential):
    """A convolution that keeps the size (but for its stride), a normalization and an activation."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int = 3,
        stride: int = 1,
        padding: int | None = None,
        groups: int = 1,
        norm_layer: Layer | None = nn.BatchNorm2d,
        activation_layer: Layer | None = nn.ReLU,
        dilation: int = 1,
        inplace: bool | None = True,
        bias: bool | None = None,
    ) -> None:
        padding = (kernel_size - 1) // 2 * dilation if padding is None else padding
        bias = norm_layer is None if bias is None else bias
        layers: list[nn.Module] = [
            nn.Conv2d(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias)
        ]
        if norm_layer is not None:
            layers.append(norm_layer(out_channels))
        if activation_layer is not None:
            layers.append(activation_layer(**({} if inplace is None else {"inplace": inplace})))
        super().__init__(*layers)
        self.out_channels = out_channels


# torchvision's older name.
ConvNormActivation = Conv2dNormActivation


class SqueezeExcitation(nn.Module):
    """Scales each channel by what the averages of all channels say (https://arxiv.org/abs/1709.01507)."""

    def __init__(
        self,
        input_channels: int,
        squeeze_channels: int,
        activation: Layer = nn.ReLU,
        scale_activation: Layer = nn.Sigmoid,
    ) -> None:
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(input_channels, squeeze_channels, 1)
        self.fc2 = nn.Conv2d(squeeze_channels, input_channels, 1)
        self.activation = activation()
        self.scale_activation = scale_activation()

    def forward(self, input: Tensor) -> Tensor:  # (B, C, H, W)
        """The input, each channel scaled."""
        squeezed = self.activation(self.fc1(self.avgpool(input)))  # (B, squeeze, 1, 1)
        scale: Tensor = self.scale_activation(self.fc2(squeezed))  # (B, C, 1, 1)
        return scale * input


def stochastic_depth(input: Tensor, p: float, mode: str, training: bool = True) -> Tensor:
    """The input with a share `p` of its rows, or with that chance all of it, set to zero and the rest scaled up.

    Args:
        input: The tensor, one sample in each row.
        p: The chance of zero (https://arxiv.org/abs/1603.09382).
        mode: "row" decides for each sample, "batch" for all at once.
        training: Whether anything is dropped at all.

    Example:
        >>> import pyburn
        >>> stochastic_depth(pyburn.ones(2), 0.5, "row", training=False)
        tensor([1., 1.])
    """
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"drop probability has to be between 0 and 1, but got {p}")
    if mode not in ("batch", "row"):
        raise ValueError(f"mode has to be either 'batch' or 'row', but got {mode}")
    if not training or p == 0.0:
        return input
    size = [input.shape[0] if mode == "row" else 1] + [1] * (input.dim() - 1)
    kept = empty(size, dtype=input.dtype, device=input.device).bernoulli_(1.0 - p)
    return input * (kept / (1.0 - p) if p < 1.0 else kept)


class StochasticDepth(nn.Module):
    """`stochastic_depth` as a layer, which does nothing in evaluation mode."""

    def __init__(self, p: float, mode: str) -> None:
        super().__init__()
        self.p, self.mode = p, mode

    def forward(self, input: Tensor) -> Tensor:
        """The input, some of it zero while training."""
        return stochastic_depth(input, self.p, self.mode, self.training)

    def extra_repr(self) -> str:
        """The settings."""
        return f"p={self.p}, mode={self.mode}"


class MLP(nn.Sequential):
    """Linear layers with activations between them and dropout after each."""

    def __init__(
        self,
        in_channels: int,
        hidden_channels: Sequence[int],
        norm_layer: Layer | None = None,
        activation_layer: Layer = nn.ReLU,
        inplace: bool | None = None,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        options: dict[str, Any] = {} if inplace is None else {"inplace": inplace}
        layers: list[nn.Module] = []
        for i, (wide, narrow) in enumerate(zip([in_channels, *hidden_channels], hidden_channels, strict=False)):
            layers.append(nn.Linear(wide, narrow, bias=bias))
            if i < len(hidden_channels) - 1:
                layers += [] if norm_layer is None else [norm_layer(narrow)]
                layers.append(activation_layer(**options))
            layers.append(nn.Dropout(dropout, **options))
        super().__init__(*layers)


def initialize_mlp(model: nn.Module) -> None:
    """Nothing; the weights of each linear layer are drawn by Xavier's rule, its bias very close to zero."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.normal_(module.bias, std=1e-6)


class Permute(nn.Module):
    """`permute` as a layer."""

    def __init__(self, dims: Sequence[int]) -> None:
        super().__init__()
        self.dims = list(dims)

    def forward(self, x: Tensor) -> Tensor:
        """The input with its dimensions in another order."""
        return x.permute(*self.dims)


class IntermediateLayerGetter(nn.ModuleDict):
    """The first layers of a model, which gives the outputs of some of them by new names.

    Args:
        model: A model whose direct children follow one another.
        return_layers: The new name of each child whose output is wanted; children after the last of them are left out.
    """

    def __init__(self, model: nn.Module, return_layers: dict[str, str]) -> None:
        children = dict(model.named_children())
        missing = [name for name in return_layers if name not in children]
        if missing:
            raise ValueError("return_layers are not present in model")
        last = max(list(children).index(name) for name in return_layers)
        super().__init__(dict(list(children.items())[: last + 1]))
        self.return_layers = dict(return_layers)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        """The wanted outputs, by their new names."""
        found: dict[str, Tensor] = {}
        for name, layer in self.items():
            x = layer(x)
            if name in self.return_layers:
                found[self.return_layers[name]] = x
        return found
