"""Early stopping by metrics of scores, for those who train trees with xgboost itself.

`XGBModel` needs none of it: its trees are ours. xgboost is imported when a callback is made.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tvm.error import message

from .metric import make_metric_sorter

_LOG = logging.getLogger(__name__)
Metric = Callable[[Any, Any], tuple[str, float]]


def _get_custom_call_back(
    early_stopping_rounds: int,
    verbose_eval: int,
    fevals: Sequence[Metric],
    evals: Sequence[tuple[Any, str]],
    focused_metric: str = "tr-p-rmse",
    cvfolds: Sequence[Any] | None = None,
) -> Any:
    """An `xgboost.callback.TrainingCallback` that stops when the focused metric gets no smaller.

    `evals` are matrices with their names, `fevals` functions of the predictions and the matrix
    that give a name and a value; the metric `p-rmse` of the matrix `tr` is called `tr-p-rmse`.
    With `cvfolds` the metrics are means over the folds.
    """
    try:
        base = importlib.import_module("xgboost.callback").TrainingCallback
    except ImportError as err:
        raise ImportError(
            message(
                "_get_custom_call_back: a callback of xgboost",
                found="no xgboost",
                legal="pip install xgboost, or XGBModel, which needs none",
            )
        ) from err

    def measured(model: Any) -> list[tuple[str, float]]:
        if cvfolds is None:
            found = _metrics(model, evals, fevals)
        else:
            folds = [
                _metrics(fold.bst, ((fold.dtrain, "train"), (fold.dtest, "test")), fevals)
                for fold in cvfolds
            ]
            found = {name: float(np.mean([f[name] for f in folds])) for name in folds[0]}
        if focused_metric not in found:
            raise ValueError(
                message(
                    "_get_custom_call_back: an unknown metric is in focus",
                    found=focused_metric,
                    legal=", ".join(sorted(found)) or "a metric of fevals on a matrix of evals",
                )
            )
        return sorted(found.items(), key=make_metric_sorter(focused_metric))

    class EarlyStopping(base):  # type: ignore[misc, valid-type]
        """Remembers the best round, and ends the training when none has been better for long."""

        def __init__(self) -> None:
            super().__init__()
            self.best_score = float("inf")
            self.best_iteration = 0

        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            metrics = measured(model)
            if verbose_eval and epoch % verbose_eval == 0:
                _LOG.debug(
                    "XGB iter: %3d\t%s", epoch, "\t".join(f"{k}: {v:.6f}" for k, v in metrics)
                )
            if metrics[0][1] < self.best_score:
                self.best_score, self.best_iteration = metrics[0][1], epoch
                return False
            return epoch - self.best_iteration >= early_stopping_rounds

        def after_training(self, model: Any) -> Any:
            if cvfolds is None:
                model.set_attr(
                    best_score=str(self.best_score), best_iteration=str(self.best_iteration)
                )
            return model

    return EarlyStopping()


def _metrics(
    booster: Any, evals: Sequence[tuple[Any, str]], fevals: Sequence[Metric]
) -> dict[str, float]:
    found: dict[str, float] = {}
    for matrix, name in evals:
        predicted = booster.predict(matrix)
        for metric in fevals:
            key, value = metric(predicted, matrix)
            found[f"{name}-{key}"] = float(value)
    return found
