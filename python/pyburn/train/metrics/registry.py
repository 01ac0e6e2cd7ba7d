"""Metrics by their name, and functions as metrics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyburn.train.metrics import classification, image, ranking, regression, reinforcement, system, text
from pyburn.train.metrics.base import FunctionMetric, Metric

__all__ = ["metric", "names"]

_BY_NAME: dict[str, Callable[[], Metric]] = {
    "accuracy": classification.Accuracy,
    "auc_pr": ranking.AUCPR,
    "auroc": ranking.AUROC,
    "bleu": text.BLEU,
    "cer": text.CER,
    "cohen_kappa": classification.CohenKappa,
    "confusion_matrix": classification.ConfusionMatrix,
    "cpu_memory": system.CPUMemory,
    "cpu_temperature": system.CPUTemperature,
    "cpu_use": system.CPUUse,
    "dice": image.Dice,
    "episode_length": reinforcement.EpisodeLength,
    "episode_return": reinforcement.EpisodeReturn,
    "exploration_rate": reinforcement.ExplorationRate,
    "f1": classification.F1,
    "hamming": classification.Hamming,
    "iou": image.IoU,
    "iteration_speed": system.IterationSpeed,
    "learning_rate": system.LearningRate,
    "loss": regression.Loss,
    "mae": regression.MAE,
    "ms_ssim": image.MSSSIM,
    "mse": regression.MSE,
    "perplexity": regression.Perplexity,
    "precision": classification.Precision,
    "psnr": image.PSNR,
    "r2": regression.R2,
    "recall": classification.Recall,
    "rmse": regression.RMSE,
    "rouge_l": text.RougeL,
    "ssim": image.SSIM,
    "top_5": classification.TopK,
    "wer": text.WER,
}
_ALIASES = {
    "acc": "accuracy",
    "aucpr": "auc_pr",
    "average_precision": "auc_pr",
    "jaccard": "iou",
    "lr": "learning_rate",
    "mean_absolute_error": "mae",
    "mean_squared_error": "mse",
    "msssim": "ms_ssim",
    "roc_auc": "auroc",
    "rougel": "rouge_l",
    "root_mean_squared_error": "rmse",
    "top5": "top_5",
}


def names() -> list[str]:
    """The names that `metric` knows.

    Example:
        >>> "accuracy" in names()
        True
    """
    return sorted(_BY_NAME)


def metric(spec: str | Metric | Callable[[Any, Any], Any]) -> Metric:
    """A metric from its name, from a function (output, target) -> value, or from a metric, which stays itself.

    The value of a function is averaged over the batches, weighted by their size.

    Example:
        >>> metric("accuracy")
        Accuracy(average='micro')
        >>> metric(lambda output, target: (output - target).abs().max()).name
        '<lambda>'
    """
    if isinstance(spec, Metric):
        return spec
    if isinstance(spec, str):
        key = spec.lower().replace("-", "_").replace(" ", "_")
        key = _ALIASES.get(key, key)
        if key not in _BY_NAME:
            raise ValueError(f"metric: {spec!r} is not known; expected one of {', '.join(names())}.")
        return _BY_NAME[key]()
    if isinstance(spec, type) and issubclass(spec, Metric):
        return spec()
    if callable(spec):
        return FunctionMetric(spec)
    raise TypeError(f"metric: got a {type(spec).__name__}; expected a name, a Metric or a function (output, target).")
