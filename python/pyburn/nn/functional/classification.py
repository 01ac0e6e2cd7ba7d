"""Losses between scores and classes."""

from __future__ import annotations

from pyburn._core import DTypeError, ShapeError, Tensor, _stand_for, float32, float64, int64, uint8
from pyburn._core import bool as _bool
from pyburn.nn.functional._reduce import reduced, reduction_of
from pyburn.ops._methods import need_float, need_real, scalar_type
from pyburn.ops.activation import logsigmoid


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """The negative log-probability that the scores `input` give to the classes `target`, reduced.

    Args:
        input: Scores before softmax, of shape (C), (N, C) or (N, C, ...).
        target: The classes as int64, of `input`'s shape without C, or probabilities of `input`'s shape.
        weight: A factor for each class.
        size_average: torch's older way of saying `reduction`.
        ignore_index: Targets of this class count for nothing.
        reduce: torch's older way of saying `reduction`.
        reduction: "none", "mean" (over the weight that counted) or "sum".
        label_smoothing: How much of the truth is spread over all classes, from 0 to 1.

    Raises:
        ValueError: The batch sizes or shapes do not fit.
        IndexError: A target is no class.

    Example:
        >>> import pyburn
        >>> pyburn.nn.functional.cross_entropy(pyburn.zeros(3, 2), pyburn.tensor([0, 1, 1]))
        tensor(0.6931)
    """
    how = reduction_of(reduction, size_average, reduce)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    class_dim = 0 if input.dim() == 1 else 1
    if label_smoothing == 0.0 and _takes_classes(input, target, weight, how):
        return _class_losses(input, target, weight, ignore_index, how, class_dim)
    log_probs = input.log_softmax(class_dim)
    if target.is_floating_point():
        if ignore_index >= 0:
            raise RuntimeError("cross_entropy: ignore_index is not supported for floating point target")
        return _soft_cross_entropy(log_probs, target, weight, how, label_smoothing, class_dim)
    if target.shape == input.shape and input.dim() > 1:
        raise DTypeError(
            f"cross_entropy: Expected floating point type for target with class probabilities, got {target.dtype}"
        )
    loss = nll_loss(log_probs, target, weight, ignore_index=ignore_index, reduction=how)
    if label_smoothing == 0.0:
        return loss
    smooth = _smoothing_loss(log_probs, target, weight, ignore_index, how, class_dim)
    return (1 - label_smoothing) * loss + label_smoothing / input.shape[class_dim] * smooth


def _takes_classes(input: Tensor, target: Tensor, weight: Tensor | None, how: str) -> bool:
    """Whether the CPU's kernel takes these scores and classes."""
    if weight is not None and (weight.requires_grad or not weight.is_cpu):
        return False
    if how not in ("none", "mean", "sum"):
        raise ValueError(f"{how} is not a valid value for reduction; give 'none', 'mean' or 'sum'.")
    fits = input.dtype in (float32, float64) and target.dtype == int64 and input.dim() > 0 and input.numel() > 0
    return fits and input.is_cpu and target.is_cpu


def _class_losses(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, how: str, class_dim: int
) -> Tensor:
    """The losses by one pass over the scores, without the matrix of log-probabilities."""
    _check_shapes(input, target, weight, class_dim)
    loss = input._class_losses(target, class_dim, weight, ignore_index, how)
    return _stand_for(loss, "NllLoss2DBackward0" if input.dim() > 2 else "NllLossBackward0", (input,), (target, weight))


def _soft_cross_entropy(
    log_probs: Tensor, target: Tensor, weight: Tensor | None, how: str, smoothing: float, class_dim: int
) -> Tensor:
    if target.shape != log_probs.shape:
        raise RuntimeError(
            f"expected target dtype to be Long or Byte, but got {scalar_type(target.dtype)}: floats are probabilities, "
            f"and the target has shape {list(target.shape)} but input has {list(log_probs.shape)}; give both the same "
            "shape, or classes as int64."
        )
    classes = log_probs.shape[class_dim]
    if smoothing > 0.0:
        target = target * (1 - smoothing) + smoothing / classes
    losses = -log_probs * target
    if weight is not None:
        losses = losses * _per_class(weight, log_probs, class_dim)
    if how == "mean":
        return losses.sum() / (log_probs.numel() // classes)
    return losses.sum() if how == "sum" else reduced(losses.sum(class_dim), how)


def _smoothing_loss(
    log_probs: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, how: str, class_dim: int
) -> Tensor:
    """The loss against all classes at once, ignoring what is to be ignored."""
    spread = -log_probs if weight is None else -log_probs * _per_class(weight, log_probs, class_dim)
    losses = spread.sum(class_dim)
    ignored = target == ignore_index
    losses = losses.masked_fill(ignored, 0.0)
    if how != "mean":
        return reduced(losses, how)
    if weight is None:
        return losses.sum() / ignored.logical_not().sum()
    chosen = weight[target.masked_fill(ignored, 0)].masked_fill(ignored, 0.0)
    return losses.sum() / chosen.sum()


def _per_class(weight: Tensor, scores: Tensor, class_dim: int) -> Tensor:
    return weight.reshape([-1 if d == class_dim else 1 for d in range(scores.dim())])


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """`-input` at the class `target`, reduced; the arguments are those of `cross_entropy`.

    Example:
        >>> import pyburn
        >>> pyburn.nn.functional.nll_loss(pyburn.tensor([[-1.0, -3.0]]), pyburn.tensor([1]))
        tensor(3.)
    """
    need_real("nll_loss", input)
    need_float("nll_loss", input)
    if target.dtype not in (int64, uint8):
        found = scalar_type(target.dtype)
        raise DTypeError(f"nll_loss: expected target dtype to be Long or Byte, but got {found}; use .long()")
    target = target.long()
    how = reduction_of(reduction, size_average, reduce)
    class_dim = 0 if input.dim() == 1 else 1
    if _takes_classes(input, target, weight, how):
        _check_shapes(input, target, weight, class_dim)
        loss = input._picked_losses(target, class_dim, weight, ignore_index, how)
    else:
        _check_classes(input, target, weight, class_dim, ignore_index)
        loss = _class_loss(input, target, weight, ignore_index, how, class_dim)
    return _stand_for(
        loss, "NllLoss2DBackward0" if input.dim() > 2 else "NllLossBackward0", (input,), (input, target, weight)
    )


def _class_loss(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, how: str, class_dim: int
) -> Tensor:
    """:func:`nll_loss` of checked arguments."""
    ignored = target == ignore_index
    index = target.masked_fill(ignored, 0)
    losses = -input.gather(class_dim, index.unsqueeze(class_dim)).squeeze(class_dim)
    if weight is not None:
        chosen = weight[index].masked_fill(ignored, 0.0)
        losses = losses * chosen
    losses = losses.masked_fill(ignored, 0.0)
    if how != "mean":
        return reduced(losses, how)
    counted = ignored.logical_not().sum() if weight is None else chosen.sum()
    return losses.sum() / counted


def _check_classes(input: Tensor, target: Tensor, weight: Tensor | None, class_dim: int, ignore_index: int) -> None:
    _check_shapes(input, target, weight, class_dim)
    classes = input.shape[class_dim]
    if target.is_meta:
        return
    labels = target.cpu()  # one transfer from a GPU instead of five kernels and the same transfer
    wrong = ((labels < 0) | (labels >= classes)) & (labels != ignore_index)
    if bool(wrong.any()):
        raise IndexError(f"Target {int(labels[wrong].reshape(-1)[0])} is out of bounds.")


def _mismatch(input: list[int], target: list[int], expected: list[int]) -> str:
    """What is wrong with a target: torch's sentence first, which programs and forums know, then ours."""
    if input == target:
        known = "Expected floating point type for target with class probabilities, got integers."
    elif len(input) > 1 and target and target[0] != input[0]:
        known = f"Expected input batch_size ({input[0]}) to match target batch_size ({target[0]})."
    elif len(input) <= 2 and len(target) > 1:
        known = "0D or 1D target tensor expected, multi-target not supported."
    else:
        known = f"Expected target size {expected}, got {target}."
    return (
        f"{known} nll_loss: target has shape {target} but input {input} needs {expected}; give one class index for "
        "each row of scores."
    )


def _check_shapes(input: Tensor, target: Tensor, weight: Tensor | None, class_dim: int) -> None:
    if input.dim() == 0:
        raise ValueError("nll_loss: input has no dimensions but needs one for the classes: (C) or (N, C).")
    sizes = tuple(input.shape)  # a slice of a Size is one again, which takes its time
    if tuple(target.shape) != sizes[:class_dim] + sizes[class_dim + 1 :]:
        expected = [size for d, size in enumerate(sizes) if d != class_dim]
        raise ShapeError(_mismatch(list(sizes), list(target.shape), expected))
    classes = sizes[class_dim]
    if weight is not None and list(weight.shape) != [classes]:
        raise RuntimeError(
            f"nll_loss: weight tensor should be defined either for all {classes} classes or no classes but got weight "
            f"tensor of shape: {list(weight.shape)}"
        )
    if weight is not None and weight.dtype != input.dtype:
        raise RuntimeError(f"nll_loss: expected scalar type {input.dtype} but found {weight.dtype} for weight.")


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log-likelihood of `target` under the probabilities `input`, reduced.

    Args:
        input: Probabilities from 0 to 1.
        target: The truth, from 0 to 1, of the same shape.
        weight: A factor that broadcasts to the shape.
        size_average: torch's older way of saying `reduction`.
        reduce: torch's older way of saying `reduction`.
        reduction: "none", "mean" or "sum".

    Raises:
        ValueError: The shapes differ.
        RuntimeError: An input lies outside of 0 to 1.

    Example:
        >>> import pyburn
        >>> pyburn.nn.functional.binary_cross_entropy(pyburn.tensor([0.5]), pyburn.tensor([1.0]))
        tensor(0.6931)
    """
    if target.shape != input.shape:
        raise ValueError(
            f"Using a target size ({list(target.shape)}) that is different to the input size ({list(input.shape)}) "
            "is deprecated. Please ensure they have the same size."
        )
    need_float("binary_cross_entropy", input)
    if target.dtype != input.dtype:
        found, expected = scalar_type(target.dtype), scalar_type(input.dtype)
        raise DTypeError(f"binary_cross_entropy: Found dtype {found} but expected {expected} for target")
    losses = input._probability_losses(target)
    if weight is not None:
        losses = losses * weight
    loss = reduced(losses, reduction_of(reduction, size_average, reduce))
    return _stand_for(loss, "BinaryCrossEntropyBackward0", (input, target), (input, target))


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """`binary_cross_entropy` of `sigmoid(input)`, without overflow.

    Args:
        input: Scores before the sigmoid.
        target: The truth, from 0 to 1, of the same shape.
        weight: A factor that broadcasts to the shape.
        size_average: torch's older way of saying `reduction`.
        reduce: torch's older way of saying `reduction`.
        reduction: "none", "mean" or "sum".
        pos_weight: A factor for the positive part, that broadcasts to the shape.

    Raises:
        ValueError: The shapes differ.

    Example:
        >>> import pyburn
        >>> pyburn.nn.functional.binary_cross_entropy_with_logits(pyburn.zeros(1), pyburn.ones(1))
        tensor(0.6931)
    """
    if target.shape != input.shape:
        raise ValueError(f"Target size ({list(target.shape)}) must be the same as input size ({list(input.shape)})")
    if not target.is_floating_point() and target.dtype != _bool:
        raise DTypeError(
            f"binary_cross_entropy_with_logits: result type {scalar_type(input.dtype)} can't be cast to the desired "
            f"output type {scalar_type(target.dtype)}; convert the target with .float()"
        )
    negative_log = -logsigmoid(input)
    if pos_weight is None:
        losses = (1 - target) * input + negative_log
    else:
        losses = (1 - target) * input + ((pos_weight - 1) * target + 1) * negative_log
    if weight is not None:
        losses = losses * weight
    loss = reduced(losses, reduction_of(reduction, size_average, reduce))
    return _stand_for(loss, "BinaryCrossEntropyWithLogitsBackward0", (input, target), (input, target))


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """`log(1 + exp(-target * input))` for targets of 1 and -1, reduced.

    Example:
        >>> import pyburn
        >>> pyburn.nn.functional.soft_margin_loss(pyburn.zeros(1), pyburn.ones(1))
        tensor(0.6931)
    """
    product = -target * input
    need_float("soft_margin_loss", product)
    loss = reduced(product.exp().log1p(), reduction_of(reduction, size_average, reduce))
    return _stand_for(loss, "SoftMarginLossBackward0", (input,), (input, target))


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over classes (last dim) of a binary cross entropy for each, reduced.

    Example:
        >>> import pyburn
        >>> pyburn.nn.functional.multilabel_soft_margin_loss(pyburn.zeros(1, 2), pyburn.ones(1, 2))
        tensor(0.6931)
    """
    losses = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    losses = losses if weight is None else losses * weight
    return reduced(losses.mean(-1), reduction_of(reduction, size_average, reduce))


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over wrong classes of `max(0, margin - input[target] + input[i]) ** p`, reduced.

    Example:
        >>> import pyburn
        >>> pyburn.nn.functional.multi_margin_loss(pyburn.zeros(1, 2), pyburn.tensor([0]))
        tensor(0.5000)
    """
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    need_float("multi_margin_loss", input)
    scores = input if input.dim() == 2 else input.reshape(1, -1)
    index = target.reshape(-1, 1)
    _check_classes(scores, index.squeeze(1), weight, 1, -100)
    losses = (margin - scores.gather(1, index) + scores).clamp_min(0.0)
    losses = losses if p == 1 else losses.square()
    if weight is not None:
        losses = losses * weight[index]
    losses = losses.scatter(1, index, 0.0).sum(1) / scores.shape[1]
    losses = losses if input.dim() == 2 else losses.squeeze(0)
    loss = reduced(losses, reduction_of(reduction, size_average, reduce))
    return _stand_for(loss, "MultiMarginLossBackward0", (input,), (input, target, weight))


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over pairs of a right class j and a wrong one i of `max(0, 1 - input[j] + input[i])`.

    Args:
        input: Scores of shape (C) or (N, C).
        target: The right classes of each row, then -1 as an end mark, in the same shape.
        size_average: torch's older way of saying `reduction`.
        reduce: torch's older way of saying `reduction`.
        reduction: "none", "mean" or "sum".

    Example:
        >>> import pyburn
        >>> pyburn.nn.functional.multilabel_margin_loss(pyburn.zeros(2), pyburn.tensor([1, -1]))
        tensor(0.5000)
    """
    if input.shape != target.shape:
        raise RuntimeError(
            f"multilabel_margin_loss: target has shape {list(target.shape)} but input {list(input.shape)}; "
            "list the right classes in input's shape and fill up with -1."
        )
    need_float("multilabel_margin_loss", input)
    scores, labels = (input, target) if input.dim() == 2 else (input.reshape(1, -1), target.reshape(1, -1))
    listed = (labels < 0).long().cumsum(1) == 0
    index = labels.masked_fill(listed.logical_not(), 0)
    counts = scores.detach().new_zeros(scores.shape).scatter_add(1, index, listed.to(scores.dtype))
    wrong = (counts == 0).to(scores.dtype)
    right = scores.gather(1, index)
    pairs = (1 - right.unsqueeze(2) + scores.unsqueeze(1)).clamp_min(0.0)  # (N, right, wrong)
    pairs = pairs * listed.to(scores.dtype).unsqueeze(2) * wrong.unsqueeze(1)
    losses = pairs.sum((1, 2)) / scores.shape[1]
    losses = losses if input.dim() == 2 else losses.squeeze(0)
    loss = reduced(losses, reduction_of(reduction, size_average, reduce))
    return _stand_for(loss, "MultilabelMarginLossBackward0", (input,), (input, target))
