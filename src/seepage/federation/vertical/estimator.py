"""Vertical training in scikit-learn's way: fit, predict, transform, save, load."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch
from safetensors.torch import save
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from seepage._core import InputError, Progress, Streams, silent, unknown_name
from seepage._core.names import HOST, party_name
from seepage.defenses import Defense
from seepage.federation.vertical.channel import Traffic
from seepage.federation.vertical.columns import Columns
from seepage.federation.vertical.failures import METHODS, Cache, Failures, Method
from seepage.federation.vertical.frames import (
    PartyColumns,
    Tables,
    check_rows,
    check_same_people,
    named_frames,
    prefixed,
)
from seepage.federation.vertical.named_designs import make_design
from seepage.federation.vertical.rows import AlignedRows
from seepage.federation.vertical.saved import (
    SavedModel,
    columns_of,
    facts_of,
    party_files,
    plain,
    read_party,
    set_weights,
    write_party,
)
from seepage.federation.vertical.schedule import History, Training
from seepage.federation.vertical.state import Checkpoint
from seepage.federation.vertical.training import Federation
from seepage.models.tabnet_split import TabNetParts


@dataclass(kw_only=True, eq=False, repr=False)  # scikit-learn shows and compares estimators in its own way
class TabVFLClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
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
        parties: columns of each guest by its name, where all columns come in one frame. Such a frame can be cut by
            rows, as ``cross_val_score`` and ``GridSearchCV`` do.

    Example:
        >>> model = TabVFLClassifier(latent=4, pretraining=0, finetuning=1)
        >>> model.get_params()["design"]
        'tabvfl'
    """

    design: str = "tabvfl"
    aggregation: str | None = None
    latent: int = 5
    steps: int = 3
    pretraining: int = 100
    finetuning: int = 100
    batch_size: int = 512
    rate: float = 0.02
    hidden: float = 0.2
    sparsity: float = 1e-3
    patience: int = 10
    validation: float = 0.15
    failure_probability: float = 0.0
    failure_method: str = "hybrid"
    seed: int | None = None
    parties: PartyColumns | None = None

    def fit(
        self,
        tables: Tables,
        y: Any,
        *,
        validation_rows: Sequence[int] | np.ndarray | None = None,
        train_rows: Sequence[int] | np.ndarray | None = None,
        folder: str | Path | None = None,
        progress: Progress = silent,
        traffic: Traffic | None = None,
        defense: Defense | None = None,
    ) -> TabVFLClassifier:
        """Train.

        Args:
            tables: the guests' frames by name, or in a list; row i is the same person everywhere. Or one frame, with
                ``parties``.
            y: (rows,) labels, at the host.
            train_rows, validation_rows: which rows; drawn at random if not given.
            folder: save the state here after every epoch, and continue what is there.
            traffic: counts what crosses.
            defense: on messages (``seepage defenses list``), for an experiment: a saved model does not keep it.
        """
        if folder is not None and self.seed is None:
            raise InputError("A training that can be continued draws the same again: give it a seed, or no folder.")
        check_same_people(tables, y)
        frames = self._frames(tables)
        labels = np.asarray(y)
        check_rows(frames, len(labels))
        self.n_features_in_ = sum(frame.width for frame in frames.values())
        self.classes_, codes = np.unique(labels, return_inverse=True)
        train, validation = self._rows(len(labels), train_rows, validation_rows)
        self.columns_ = [Columns.fit(name, frame, train) for name, frame in frames.items()]
        encoded = [each.encode(frames[each.name]) for each in self.columns_]
        self.federation_ = self._federation(encoded, torch.from_numpy(codes), traffic, defense)
        checkpoint = None
        if folder is not None:
            checkpoint = Checkpoint(folder=Path(folder), fingerprint=self._fingerprint(encoded, codes))
        self.history_: History = self.federation_.fit(train, validation, checkpoint=checkpoint, progress=progress)
        return self

    @property
    def traffic_(self) -> Traffic:
        """What crossed between the parties."""
        return self.federation_.channel.traffic

    def transform(self, tables: Tables, *, absent: Sequence[str] = ()) -> np.ndarray:
        """(rows, latent) one latent vector for all parties' columns.

        Args:
            absent: guests that do not answer; zeros stand in.
        """
        return self._latent(tables, absent).numpy()

    def predict_proba(self, tables: Tables, *, absent: Sequence[str] = ()) -> np.ndarray:
        """(rows, classes) probabilities."""
        latent = self._latent(tables, absent)
        logits = self.federation_.host.logits(latent)
        probabilities: np.ndarray = torch.softmax(logits, 1).numpy()
        return probabilities

    def predict(self, tables: Tables, *, absent: Sequence[str] = ()) -> np.ndarray:
        """(rows,) the likeliest class."""
        likeliest = self.predict_proba(tables, absent=absent).argmax(1)
        predicted: np.ndarray = self.classes_[likeliest]
        return predicted

    def save(self, folder: str | Path) -> None:
        """One folder for each party: its weights (safetensors) and what it knows (JSON, TOML)."""
        check_is_fitted(self, "federation_")
        place = Path(folder)
        for guest, columns in zip(self.federation_.guests, self.columns_, strict=True):
            write_party(place / guest.name, party_files(columns, guest.learning.modules.state_dict()))
        names = [guest.name for guest in self.federation_.guests]
        # A seed would draw the first weights of every guest again.
        asked = {name: value for name, value in self.get_params().items() if name != "seed"}
        facts = {"parameters": asked, "guests": names, "classes": self.classes_.tolist()}
        weights = save(plain(self.federation_.host.learning.modules.state_dict()))
        write_party(
            place / HOST, {"weights.safetensors": weights, "model.json": json.dumps(facts, indent=1, default=list)}
        )

    @classmethod
    def load(cls, folder: str | Path) -> TabVFLClassifier:
        """A model that was saved."""
        place = Path(folder)
        if not (place / HOST / "model.json").exists():
            raise InputError(f"{place} holds no saved model: there is no {HOST}/model.json.")
        host = read_party(place / HOST)
        facts = facts_of(SavedModel, host, "model.json", place / HOST)
        model = cls(**facts.parameters.model_dump())
        model.classes_ = np.array(facts.classes)
        parties = {name: read_party(place / party_name(name)) for name in facts.guests}
        model.columns_ = [columns_of(name, files, place / name) for name, files in parties.items()]
        # One row of zeros stands for tables that come later.
        empty = [torch.zeros(1, columns.encoder.layout.width) for columns in model.columns_]
        model.federation_ = model._federation(empty, torch.zeros(1, dtype=torch.long), None)
        for guest in model.federation_.guests:
            own = place / guest.name / "weights.safetensors"
            set_weights(guest.learning.modules, parties[guest.name].get("weights.safetensors", b""), own)
        own = place / HOST / "weights.safetensors"
        set_weights(model.federation_.host.learning.modules, host.get("weights.safetensors", b""), own)
        model.history_ = History()
        return model

    def _federation(
        self, encoded: list[Tensor], codes: Tensor, traffic: Traffic | None, defense: Defense | None = None
    ) -> Federation:
        if self.failure_method not in METHODS:
            raise unknown_name("failure method", self.failure_method, METHODS)
        method: Method = self.failure_method
        return Federation(
            AlignedRows([columns.name for columns in self.columns_], encoded, codes, len(self.classes_)),
            design=make_design(self.design, self.aggregation),
            parts=TabNetParts(latent=self.latent, attention=self.latent, steps=self.steps),
            training=Training(
                pretraining=self.pretraining,
                finetuning=self.finetuning,
                batch_size=self.batch_size,
                rate=self.rate,
                hidden=self.hidden,
                sparsity=self.sparsity,
                patience=self.patience,
                defense=defense,
            ),
            failures=Failures(probability=self.failure_probability, method=method),
            streams=Streams(secrets.randbits(63) if self.seed is None else self.seed),
            traffic=traffic,
        )

    def _latent(self, tables: Tables, absent: Sequence[str]) -> Tensor:
        check_is_fitted(self, "federation_")
        frames = self._frames(tables, absent)
        names = [columns.name for columns in self.columns_]
        for name in (*frames, *absent):
            if name not in names:
                raise unknown_name("guest", name, names)
        missing = [name for name in names if name not in frames and name not in absent]
        if missing:
            raise InputError(f"There is no table of guest {', '.join(map(repr, missing))}; name it absent, or give it.")
        rows = next(iter(frames.values())).height
        check_rows(frames, rows)
        for guest, columns in zip(self.federation_.guests, self.columns_, strict=True):
            if guest.name in frames and guest.name not in absent:
                guest.load(columns.encode(frames[guest.name]))
        self.federation_.host.cache = Cache(rows, "zeros")  # rows that were not seen in training have nothing in it
        return self.federation_.host.latent(torch.arange(rows), set(absent))

    def _frames(self, tables: Tables, absent: Sequence[str] = ()) -> dict[str, pl.DataFrame]:
        """The guests' frames; a central design has one party with everybody's columns."""
        frames = named_frames(tables, self.parties, absent)
        if self.design != "central" or not frames:
            return frames
        return {"central": pl.concat([prefixed(name, frame) for name, frame in frames.items()], how="horizontal")}

    def _rows(
        self, count: int, train: Sequence[int] | np.ndarray | None, validation: Sequence[int] | np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        if train is not None and validation is not None:
            return np.asarray(train), np.asarray(validation)
        if not 0 < self.validation < 1:
            raise InputError(f"The validation share is {self.validation}; it must lie between 0 and 1.")
        order = Streams(secrets.randbits(63) if self.seed is None else self.seed).numpy("split").permutation(count)
        cut = max(1, round(self.validation * count))
        return order[cut:], order[:cut]  # drawn once and kept: neighbours in a file are often alike

    def _fingerprint(self, encoded: list[Tensor], codes: np.ndarray) -> str:
        """Changes with every setting and with the data."""
        sums = [float(x.double().sum()) for x in encoded] + [float(codes.sum()), float(len(codes))]
        return json.dumps({"parameters": self.get_params(), "data": sums}, sort_keys=True, default=str)
