"""How good the global model is, by task."""

from __future__ import annotations

import numpy as np
import torch

from seepage.models import Learner, Parameters

SCORES = {
    "binary": ("accuracy", "f1", "roc_auc", "pr_auc"),
    "multiclass": ("accuracy", "precision_macro", "recall_macro", "f1_macro", "f1_weighted"),
    "regression": ("mse", "mae", "r2"),
}


def utility(
    learner: Learner, parameters: Parameters, x: torch.Tensor, y: torch.Tensor, *, target_scale: float = 1.0
) -> dict[str, float]:
    """Loss and the task's scores of a model on encoded rows.

    Binary: accuracy, F1, ROC-AUC, PR-AUC (threshold 0.5). Multiclass: accuracy, macro precision, recall and F1,
    weighted F1. Regression: MSE, MAE (in the target's own units, through ``target_scale``) and R2. A score that the
    rows do not define (ROC-AUC of one class) is NaN.
    """
    with torch.no_grad():
        outputs = learner.outputs(parameters, x)
        loss = float(learner.loss_of_outputs(outputs, y))
    truth = y.numpy()
    if not outputs.isfinite().all():  # a model that diverged has no quality
        return {"loss": float("nan")} | dict.fromkeys(SCORES[learner.task], float("nan"))
    if learner.task == "regression":
        return {"loss": loss} | _regression(outputs[:, 0].numpy(), truth, target_scale)
    if learner.task == "binary":
        positive = outputs.sigmoid()[:, 0] if outputs.shape[1] == 1 else outputs.softmax(-1)[:, 1]
        return {"loss": loss} | _binary(positive.numpy(), truth)
    return {"loss": loss} | _multiclass(outputs.argmax(-1).numpy(), truth)


# scikit-learn is loaded where it is used: it takes a second, and a mistake in the options should be told at once.
def _binary(positive: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    from sklearn import metrics as scores

    predicted = positive > 0.5
    both = len(np.unique(truth)) == 2
    return {
        "accuracy": float(scores.accuracy_score(truth, predicted)),
        "f1": float(scores.f1_score(truth, predicted, zero_division=0)),
        "roc_auc": float(scores.roc_auc_score(truth, positive)) if both else float("nan"),
        "pr_auc": float(scores.average_precision_score(truth, positive)) if both else float("nan"),
    }


def _multiclass(predicted: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    from sklearn import metrics as scores

    options = {"zero_division": 0}
    return {
        "accuracy": float(scores.accuracy_score(truth, predicted)),
        "precision_macro": float(scores.precision_score(truth, predicted, average="macro", **options)),
        "recall_macro": float(scores.recall_score(truth, predicted, average="macro", **options)),
        "f1_macro": float(scores.f1_score(truth, predicted, average="macro", **options)),
        "f1_weighted": float(scores.f1_score(truth, predicted, average="weighted", **options)),
    }


def _regression(predicted: np.ndarray, truth: np.ndarray, scale: float) -> dict[str, float]:
    from sklearn import metrics as scores

    return {
        "mse": float(scores.mean_squared_error(truth, predicted)) * scale**2,
        "mae": float(scores.mean_absolute_error(truth, predicted)) * scale,
        "r2": float(scores.r2_score(truth, predicted)) if len(truth) > 1 else float("nan"),
    }
