"""Vertical training in scikit-learn's way, for a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.base import RegressorMixin

from seepage._core import Progress, silent
from seepage.federation.vertical.channel import Traffic
from seepage.federation.vertical.frames import Tables, check_same_people
from seepage.federation.vertical.labels import Labels, Standard, read_numbers, read_weights, scaled
from seepage.federation.vertical.objective import SquaredError
from seepage.federation.vertical.refusals import value_errors
from seepage.federation.vertical.saved import SavedModel
from seepage.federation.vertical.vertical_estimator import Rows, VerticalEstimator


@dataclass(kw_only=True, eq=False, repr=False)  # scikit-learn shows and compares estimators in its own way
class TabVFLRegressor(RegressorMixin, VerticalEstimator):  # type: ignore[misc]
    """A regressor whose columns live at several parties: the host learns the target's mean with squared error.

    The host standardises the target by the rows it trains on; ``predict`` answers in the target's own units, and
    ``score`` is R². Everything else is as in :class:`TabVFLClassifier`, the settings too.

    Attributes:
        standard_: mean and deviation of the target.
        n_features_in_, feature_names_in_, history_, columns_: see :class:`TabVFLClassifier`.

    Example:
        >>> import numpy as np
        >>> x = np.random.default_rng(0).normal(size=(40, 4))
        >>> model = TabVFLRegressor(parties=2, latent=2, pretraining=0, finetuning=1, batch_size=16)
        >>> model.fit(x, x[:, 0] + 100).predict(x).shape
        (40,)
    """

    kind = "regressor"

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
    ) -> TabVFLRegressor:
        """Train; ``y`` is (rows,) numbers, at the host. See :meth:`TabVFLClassifier.fit`."""
        self._check_folder(folder)
        check_same_people(tables, y, sample_weight)
        target = read_numbers(y, type(self).__name__)
        weights = read_weights(sample_weight, len(target))
        split = train, _ = self._split(weights, len(target), train_rows, validation_rows)
        self.standard_ = Standard.of(target[train], None if weights is None else weights[train])
        values = self.standard_.encode(target)
        labels = Labels(values=values, outputs=1, objective=SquaredError(weights=scaled(weights, train)))
        self._gather(tables, labels, split, traffic)
        return self._train(split, folder=folder, progress=progress)

    @value_errors()
    def predict(self, tables: Tables, *, absent: Sequence[str] = ()) -> np.ndarray:
        """(rows,) in the target's own units."""
        outputs = self._outputs(tables, absent)
        return self.standard_.decode(outputs)

    def _saved_target(self) -> dict[str, Any]:
        return {"kind": self.kind, "target": {"mean": self.standard_.mean, "scale": self.standard_.scale}}

    def _take_target(self, saved: SavedModel) -> None:
        assert saved.target is not None
        self.standard_ = Standard(mean=saved.target.mean, scale=saved.target.scale)

    def _no_labels(self) -> Labels:
        return Labels(values=torch.zeros(1), outputs=1, objective=SquaredError())
