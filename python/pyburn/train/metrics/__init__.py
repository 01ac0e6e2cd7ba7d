"""Metrics with state: batches go in, one value over all of them comes out."""

from __future__ import annotations

from pyburn.train.metrics.base import Accumulated, Batch, FunctionMetric, Mean, Metric
from pyburn.train.metrics.classification import (
    F1,
    Accuracy,
    ClassScore,
    CohenKappa,
    ConfusionMatrix,
    FBeta,
    Hamming,
    Precision,
    Recall,
    TopK,
)
from pyburn.train.metrics.features import DISTS, FID, LPIPS
from pyburn.train.metrics.image import MSSSIM, PSNR, SSIM, Dice, IoU, MaskScore
from pyburn.train.metrics.ranking import AUCPR, AUROC, CurveArea
from pyburn.train.metrics.registry import metric, names
from pyburn.train.metrics.regression import MAE, MSE, R2, RMSE, Loss, Perplexity
from pyburn.train.metrics.reinforcement import EpisodeLength, EpisodeReturn, ExplorationRate
from pyburn.train.metrics.system import CPUMemory, CPUTemperature, CPUUse, IterationSpeed, LearningRate
from pyburn.train.metrics.text import BLEU, CER, WER, RougeL, TextMetric

__all__ = [
    "AUCPR",
    "AUROC",
    "BLEU",
    "CER",
    "DISTS",
    "F1",
    "FID",
    "LPIPS",
    "MAE",
    "MSE",
    "MSSSIM",
    "PSNR",
    "R2",
    "RMSE",
    "SSIM",
    "WER",
    "Accumulated",
    "Accuracy",
    "Batch",
    "CPUMemory",
    "CPUTemperature",
    "CPUUse",
    "ClassScore",
    "CohenKappa",
    "ConfusionMatrix",
    "CurveArea",
    "Dice",
    "EpisodeLength",
    "EpisodeReturn",
    "ExplorationRate",
    "FBeta",
    "FunctionMetric",
    "Hamming",
    "IoU",
    "IterationSpeed",
    "LearningRate",
    "Loss",
    "MaskScore",
    "Mean",
    "Metric",
    "Perplexity",
    "Precision",
    "Recall",
    "RougeL",
    "TextMetric",
    "TopK",
    "metric",
    "names",
]
