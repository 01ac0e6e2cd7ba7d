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
from pyburn.train.metrics.ranking import AUCPR, AUROC, CurveArea
from pyburn.train.metrics.registry import metric, names
from pyburn.train.metrics.regression import MAE, MSE, R2, RMSE, Loss, Perplexity

__all__ = [
    "AUCPR",
    "AUROC",
    "F1",
    "MAE",
    "MSE",
    "R2",
    "RMSE",
    "Accumulated",
    "Accuracy",
    "Batch",
    "ClassScore",
    "CohenKappa",
    "ConfusionMatrix",
    "CurveArea",
    "FBeta",
    "FunctionMetric",
    "Hamming",
    "Loss",
    "Mean",
    "Metric",
    "Perplexity",
    "Precision",
    "Recall",
    "TopK",
    "metric",
    "names",
]
