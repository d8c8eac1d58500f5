"""Vertical training in scikit-learn's way: a classifier with fit, predict, transform, save, load."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.base import ClassifierMixin

from seepage._core import InputError, Progress, silent
from seepage.federation.vertical.channel import Traffic
from seepage.federation.vertical.frames import Tables, check_same_people
from seepage.federation.vertical.labels import Labels, read_classes, read_weights, scaled
from seepage.federation.vertical.objective import CrossEntropy
from seepage.federation.vertical.refusals import value_errors
from seepage.federation.vertical.saved import SavedModel
from seepage.federation.vertical.state import Checkpoint
from seepage.federation.vertical.together import shape_of, train_together
from seepage.federation.vertical.vertical_estimator import Rows, Split, VerticalEstimator


@dataclass(kw_only=True, eq=False, repr=False)  # scikit-learn shows and compares estimators in its own way
class TabVFLClassifier(ClassifierMixin, VerticalEstimator):  # type: ignore[misc]
    """A classifier whose columns live at several parties.

    Rows must be aligned first (see :func:`align`). All parties run in this process; what crosses between them is
    counted in ``traffic_``.

    Args:
        design: ``tabvfl``, ``local_encoders``, ``local``, ``guest_decoders``, ``central`` (all columns at one party) or
            ``tabvfl_without_fc``.
        aggregation: for ``local`` and ``local_encoders``.
        latent: columns of the latent vector.
        steps: decision steps.
        pretraining, finetuning, batch_size, rate, hidden, sparsity, patience: see :class:`Training`.
        validation: share of the rows that decides when to stop.
        failure_probability, failure_method: see :class:`Failures`.
        seed: None draws every party's weights and masks anew. A number makes a simulation repeatable, and whoever
            knows it can draw the first weights of every party: for experiments. It is not saved with a model.
        parties: where all columns come in one table, which can be cut by rows as ``cross_val_score`` and
            ``GridSearchCV`` do: the columns of each guest, by name (``{"bank": ["age"], "shop": ["visits"]}``) or by
            position, or a number of guests among whom the columns are dealt evenly, in order. An array has no names, so
            only the last two take one.

    Attributes:
        classes_: in the order of ``predict_proba``.
        n_features_in_: columns of all guests.
        feature_names_in_: their names, where they have some; ``bank.age`` where each guest came with its own frame.
        history_: the losses of every epoch.
        columns_: what each guest knows about its columns.

    Example:
        >>> model = TabVFLClassifier(latent=4, pretraining=0, finetuning=1)
        >>> model.get_params()["design"]
        'tabvfl'
    """

    kind = "classifier"

    @value_errors()
    def fit(
        self,
        tables: Tables,
        y: Any,
        sample_weight: Any = None,
        *,
        validation_rows: Rows | None = None,
        train_rows: Rows | None = None,
        folder: str | Path | None = None,
        progress: Progress = silent,
        traffic: Traffic | None = None,
    ) -> TabVFLClassifier:
        """Train.

        Args:
            tables: the guests' frames by name, or in a list; row i is the same person everywhere. Or one frame or array
                of all columns, with ``parties``.
            y: (rows,) labels, at the host.
            sample_weight: (rows,) how much each row counts in the host's loss. Weights stay at the host, so they do not
                count in pretraining; a row of weight 0 is neither trained on nor validated on.
            train_rows, validation_rows: which rows; drawn at random if not given.
            folder: save the state here after every epoch, and continue what is there.
        """
        self._check_folder(folder)
        split = self._prepare(tables, y, sample_weight, train_rows, validation_rows, traffic)
        return self._train(split, folder=folder, progress=progress)

    def _prepare(
        self,
        tables: Tables,
        y: Any,
        sample_weight: Any,
        train_rows: Rows | None,
        validation_rows: Rows | None,
        traffic: Traffic | None = None,
    ) -> Split:
        """All parties with their rows, before anything is learned; which rows train and which validate."""
        check_same_people(tables, y, sample_weight)
        self.classes_, codes = read_classes(y, type(self).__name__)
        weights = read_weights(sample_weight, len(codes))
        split = self._split(weights, len(codes), train_rows, validation_rows)
        if weights is not None and len(self.classes_) > 1 and len(np.unique(codes[weights > 0])) < 2:
            raise InputError("Rows of only one class have a weight above 0; at least two classes are needed.")
        smoothing = self._defense.smoothing if self._defense else 0.0
        objective = CrossEntropy(weights=scaled(weights, split[0]), smoothing=smoothing)
        labels = Labels(values=torch.from_numpy(codes), outputs=len(self.classes_), objective=objective)
        self._gather(tables, labels, split, traffic)
        return split

    @value_errors()
    def predict_proba(self, tables: Tables, *, absent: Sequence[str] = ()) -> np.ndarray:
        """(rows, classes) probabilities."""
        probabilities: np.ndarray = torch.softmax(self._outputs(tables, absent), 1).numpy()
        return probabilities

    def predict(self, tables: Tables, *, absent: Sequence[str] = ()) -> np.ndarray:
        """(rows,) the likeliest class."""
        likeliest = self.predict_proba(tables, absent=absent).argmax(1)
        predicted: np.ndarray = self.classes_[likeliest]
        return predicted

    def _saved_target(self) -> dict[str, Any]:
        return {"kind": self.kind, "classes": self.classes_.tolist()}

    def _take_target(self, saved: SavedModel) -> None:
        self.classes_ = np.array(saved.classes)

    def _no_labels(self) -> Labels:
        return Labels(values=torch.zeros(1, dtype=torch.long), outputs=len(self.classes_), objective=CrossEntropy())


@value_errors()
def fit_together(
    models: Sequence[TabVFLClassifier],
    given: Sequence[tuple[Tables, Any, Rows, Rows]],
    *,
    folder: str | Path | None = None,
    progress: Progress = silent,
) -> None:
    """Fit many classifiers, those of one shape at once: about nine times as fast as one after the other.

    Each is, to within float32's rounding, what ``fit`` makes of it alone. What crosses is not counted.

    Args:
        given: the tables of each, its labels, the rows it trains on, and those that decide when it stops.
        folder: save the state of all here once in a while, and continue what is there.

    Example:
        >>> fit_together([], [])
    """
    for model in models:
        model._check_folder(folder)
    splits = [
        model._prepare(tables, labels, None, train, validation)
        for model, (tables, labels, train, validation) in zip(models, given, strict=True)
    ]
    alike: dict[tuple[object, ...], list[int]] = {}
    for place, (model, split) in enumerate(zip(models, splits, strict=True)):
        alike.setdefault(shape_of(model.federation_, split), []).append(place)
    for number, places in enumerate(alike.values()):
        checkpoint = None
        if folder is not None:
            fingerprint = json.dumps([models[place]._fingerprint() for place in places])
            checkpoint = Checkpoint(folder=Path(folder) / f"together{number}", fingerprint=fingerprint)
        federations, own = [models[k].federation_ for k in places], [splits[k] for k in places]
        train_together(federations, own, checkpoint=checkpoint, progress=progress)
    for model in models:
        model.history_ = model.federation_.history
