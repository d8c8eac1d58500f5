"""How much does a latent vector say about the label? Six classic predictors (the TabVFL thesis, section V-B)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from seepage._core import InputError, Streams, unknown_name

Variant = Literal["published", "honest"]
SCORES = ("accuracy", "f1", "roc_auc")
TEST_SHARE = 0.3
_LEAST_ROWS = 10
_MOST_CLASSES = 200
_FOREST_ROWS = 10_000
_BATCH = 200  # of the MLP


@dataclass(frozen=True, kw_only=True)
class Quality:
    """What one predictor, trained on latent vectors, gets right on others.

    Args:
        variant: how the test rows were chosen, see :func:`latent_quality`.
        predictor: its name.
        accuracy: share of test rows whose class is right.
        f1: of each class, weighted by its test rows.
        roc_auc: one class against the rest, weighted by the class's test rows; NaN if the test rows are of one class.
        train_rows: how many latent vectors the predictor was trained on.
        test_rows: how many it was tested on.
    """

    variant: Variant
    predictor: str
    accuracy: float
    f1: float
    roc_auc: float
    train_rows: int
    test_rows: int


def latent_quality(latent: np.ndarray, y: np.ndarray, trained: np.ndarray, streams: Streams) -> list[Quality]:
    """How well six predictors tell the class from the latent vector, in two variants.

    - ``published``: as in the TabVFL thesis, all latent rows are shuffled and cut 70/30. Most test rows are rows on
    which
      the encoder was trained with their labels, so a latent that only memorised them scores high.
    - ``honest``: the test rows are drawn from the rows that the encoder was *not* trained on: 30 % of all rows, or
      all such rows if there are fewer. Every other row trains the predictors. With the thesis's 70/15/15 the
      test rows are exactly the validation and test set. Early stopping has looked at the validation rows; mark them
      as trained to leave them out of the test.

    A class that no training row has is never predicted and counts as wrong, with ROC-AUC 0.5 for that class.

    Args:
        latent: (rows, dimensions) finite numbers.
        y: (rows,) classes: whole numbers, texts or booleans.
        trained: (rows,) booleans: the encoder was trained on this row.
        streams: for the cuts and the predictors.

    Returns:
        Twelve entries: the six predictors ``published``, then ``honest``.
    """
    latent = _checked(latent, y, trained)
    codes = np.unique(y, return_inverse=True)[1]
    if codes.max() == 0:
        raise InputError("All rows are of one class; the quality of a latent needs at least 2.")
    if codes.max() >= _MOST_CLASSES:
        raise InputError(f"y has {codes.max() + 1} classes, more than {_MOST_CLASSES}; is it a number to predict?")
    _xgboost()  # a missing package is told before the work
    cuts: dict[Variant, tuple[np.ndarray, np.ndarray]] = {
        "published": _published(len(y), streams.numpy("latent", "published", "cut")),
        "honest": _honest(trained, streams.numpy("latent", "honest", "cut")),
    }
    for variant, (train, _) in cuts.items():
        if len(np.unique(codes[train])) < 2:
            raise InputError(f"The {len(train)} training rows of the {variant} variant are of one class.")
    return [
        quality
        for variant, (train, test) in cuts.items()
        for quality in _judged(variant, latent, codes, train, test, streams.child("latent", variant))
    ]


def mean_quality(qualities: Iterable[Quality], variant: Variant) -> dict[str, float]:
    """Accuracy, F1 and ROC-AUC averaged over the predictors: what the TabVFL thesis reports of a run."""
    if variant not in get_args(Variant):
        raise unknown_name("variant", variant, get_args(Variant))
    chosen = [quality for quality in qualities if quality.variant == variant]
    if not chosen:
        raise InputError(f"There is no {variant} quality to average.")
    return {score: float(np.mean([getattr(quality, score) for quality in chosen])) for score in SCORES}


def _judged(
    variant: Variant, latent: np.ndarray, codes: np.ndarray, train: np.ndarray, test: np.ndarray, streams: Streams
) -> Iterator[Quality]:
    """Train each predictor on one part and score it on the other."""
    from sklearn.exceptions import ConvergenceWarning

    classes, labels = np.unique(codes[train], return_inverse=True)  # XGBoost wants 0, 1, ... without a gap
    for name, model in _predictors(labels, streams):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # reaching the bound on iterations is meant
            model.fit(latent[train], labels)
        accuracy, f1, roc_auc = _scores(model, latent[test], codes[test], classes)
        yield Quality(
            variant=variant,
            predictor=name,
            accuracy=accuracy,
            f1=f1,
            roc_auc=roc_auc,
            train_rows=len(train),
            test_rows=len(test),
        )


def _published(rows: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    order = generator.permutation(rows)
    test = math.ceil(TEST_SHARE * rows)
    return order[test:], order[:test]


def _honest(trained: np.ndarray, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    unseen = generator.permutation(np.flatnonzero(~trained))
    test = unseen[: math.ceil(TEST_SHARE * len(trained))]
    return np.setdiff1d(np.arange(len(trained)), test), test


# scikit-learn is loaded where it is used: it takes a second.
def _predictors(labels: np.ndarray, streams: Streams) -> Iterator[tuple[str, Any]]:
    """The six, untrained. The thesis gives no settings: the libraries' own, bounded so that they end in time."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC
    from sklearn.tree import DecisionTreeClassifier

    def seed(name: str) -> int:
        return streams.integer(name) % 2**31

    # The MLP holds a tenth out and stops when it gets no better. Of few rows that tenth is too coarse (and would need
    # two rows of either class): it then stops on its training loss.
    steps = math.ceil(len(labels) / _BATCH)
    early = steps >= 25 and int(np.bincount(labels).min()) >= 2
    epochs = min(500, max(50, 5000 // steps))
    # Trees on pure noise grow one leaf per row. Each tree sees 10,000 rows at most, which bounds the time.
    sampled = _FOREST_ROWS if len(labels) > _FOREST_ROWS else None

    yield "logistic regression", make_pipeline(StandardScaler(), LogisticRegression(max_iter=200))
    yield "decision tree", DecisionTreeClassifier(random_state=seed("tree"))
    forest = RandomForestClassifier(100, max_samples=sampled, n_jobs=1, random_state=seed("forest"))
    yield "random forest", forest
    stopping = {"early_stopping": early, "max_iter": epochs, "batch_size": min(_BATCH, len(labels))}
    yield "MLP", make_pipeline(StandardScaler(), MLPClassifier(**stopping, random_state=seed("mlp")))
    boosted = _xgboost().XGBClassifier(n_estimators=100, tree_method="hist", n_jobs=1, random_state=seed("xgboost"))
    yield "XGBoost", boosted
    yield "linear SVM", make_pipeline(StandardScaler(), LinearSVC(random_state=seed("svm")))


def _xgboost() -> Any:
    try:
        import xgboost
    except ModuleNotFoundError:
        raise InputError("Latent quality needs XGBoost; install it with: pip install 'seepage[vertical]'.") from None
    return xgboost


def _scores(model: Any, latent: np.ndarray, truth: np.ndarray, classes: np.ndarray) -> tuple[float, float, float]:
    """Accuracy, F1, ROC-AUC. ``classes`` are the codes of the classes that the model was trained on."""
    from sklearn import metrics

    predicted = classes[model.predict(latent)]
    # Weighted F1: the thesis does not say which, but Table 6.1 has F1 0.881 at accuracy 0.891 on bank, where 12 % are
    # positive. With that many mistakes the F1 of the positive class is at most 0.68, the mean of both classes 0.81.
    f1 = float(metrics.f1_score(truth, predicted, average="weighted", zero_division=0))
    return float(metrics.accuracy_score(truth, predicted)), f1, _roc_auc(_confidence(model, latent), truth, classes)


def _confidence(model: Any, latent: np.ndarray) -> np.ndarray:
    """(rows, classes) a number that grows with the belief in a class: a probability, or the SVM's decision value."""
    if hasattr(model, "predict_proba"):
        probability: np.ndarray = model.predict_proba(latent)
        return probability
    decision: np.ndarray = model.decision_function(latent)
    return decision if decision.ndim == 2 else np.column_stack([-decision, decision])


def _roc_auc(confidence: np.ndarray, truth: np.ndarray, classes: np.ndarray) -> float:
    """ROC-AUC of each class against the rest, weighted by its rows.

    Computed class by class, since only the order of the rows matters: the SVM's decision values are used as they are,
    without the softmax or calibration that scikit-learn's own multiclass score asks for. On probabilities both are the
    same number.
    """
    from sklearn import metrics

    present, counts = np.unique(truth, return_counts=True)
    if len(present) < 2:
        return float("nan")
    areas = np.full(len(present), 0.5)  # of a class the model has never seen
    for place, code in enumerate(present):
        column = np.flatnonzero(classes == code)
        if len(column):
            areas[place] = metrics.roc_auc_score(truth == code, confidence[:, column[0]])
    return float(np.average(areas, weights=counts))


def _checked(latent: np.ndarray, y: np.ndarray, trained: np.ndarray) -> np.ndarray:
    """The latent as numbers, if the three fit together."""
    if latent.ndim != 2 or latent.shape[1] == 0 or latent.dtype.kind not in "fiu":
        raise InputError(f"The latent has shape {latent.shape} and type {latent.dtype}; give rows of numbers.")
    if len(latent) < _LEAST_ROWS:
        raise InputError(f"The latent has {len(latent)} rows; at least {_LEAST_ROWS} are needed.")
    if y.shape != (len(latent),) or trained.shape != (len(latent),):
        raise InputError(f"y {y.shape} and trained {trained.shape} must have one entry for each of {len(latent)} rows.")
    if trained.dtype != bool:
        raise InputError(f"trained is of type {trained.dtype}; give booleans.")
    if trained.all():
        raise InputError("The encoder was trained on every row; an honest test needs rows that it has not seen.")
    if not _classes(y):
        raise InputError("y must hold a class for every row: whole numbers, texts or booleans, none empty.")
    with np.errstate(over="ignore"):
        fine = np.isfinite(latent.astype(np.float32)).all(axis=1)  # trees compute in single precision
    if not fine.all():
        raise InputError(f"{int((~fine).sum())} row(s) of the latent are not finite; the encoder has diverged.")
    return latent.astype(np.float64)


def _classes(y: np.ndarray) -> bool:
    if y.dtype.kind == "O":
        return all(isinstance(value, str) for value in y.tolist())
    if y.dtype.kind == "f":
        return bool((y == np.round(y)).all() and np.isfinite(y).all())
    return y.dtype.kind in "iubUT"
