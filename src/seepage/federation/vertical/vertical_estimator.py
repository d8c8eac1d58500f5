"""What the classifier and the regressor have in common: settings, tables in, latents out, a form on disk."""

from __future__ import annotations

import json
import secrets
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
import torch
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from seepage._core import InputError, Progress, Streams, unknown_name
from seepage._core.names import HOST, party_name
from seepage.defenses import Defense
from seepage.federation.vertical.channel import Traffic
from seepage.federation.vertical.columns import Columns
from seepage.federation.vertical.failures import METHODS, Cache, Failures, Method
from seepage.federation.vertical.frames import (
    Parties,
    Tables,
    check_rows,
    check_same_people,
    is_one_table,
    named_frames,
    prefixed,
)
from seepage.federation.vertical.labels import Labels, weighing
from seepage.federation.vertical.named_designs import make_design
from seepage.federation.vertical.one_table import dealt_frames
from seepage.federation.vertical.refusals import value_errors
from seepage.federation.vertical.rows import AlignedRows
from seepage.federation.vertical.saved import (
    SavedKind,
    SavedModel,
    columns_of,
    party_files,
    plain_json,
    read_host,
    read_party,
    take_weights,
    weights_of,
    write_party,
)
from seepage.federation.vertical.schedule import History, Training
from seepage.federation.vertical.state import Checkpoint
from seepage.federation.vertical.training import Federation
from seepage.models.tabnet_split import TabNetParts

Rows = Sequence[int] | np.ndarray
Split = tuple[np.ndarray, np.ndarray]  # rows to train on, rows to validate on


@dataclass(kw_only=True, eq=False, repr=False)  # scikit-learn shows and compares estimators in its own way
class VerticalEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """Settings and plumbing of the two estimators; they differ in what they make of the labels.

    The settings are explained in :class:`TabVFLClassifier`.
    """

    kind: ClassVar[SavedKind]

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
    parties: Parties | None = None

    _defense: ClassVar[Defense | None] = None  # of an estimator that was `defended`

    @abstractmethod
    def _saved_target(self) -> dict[str, Any]:
        """What of the labels is saved with a model."""

    @abstractmethod
    def _take_target(self, saved: SavedModel) -> None:
        """What was saved of the labels."""

    @abstractmethod
    def _no_labels(self) -> Labels:
        """For a federation of which only the weights are wanted: one row that says nothing."""

    def defended(self, defense: Defense | None) -> Self:
        """The same estimator; when it is fitted, parties do this to messages. Saved models do not keep it."""
        self._defense = defense  # type: ignore[misc]  # no parameter of scikit-learn's: it is not in an estimator's JSON
        return self

    @property
    def traffic_(self) -> Traffic:
        """What crossed between the parties."""
        return self.federation_.channel.traffic

    @value_errors()
    def transform(self, tables: Tables, *, absent: Sequence[str] = ()) -> np.ndarray:
        """(rows, latent) one latent vector for all parties' columns.

        Args:
            absent: guests that do not answer; zeros stand in.
        """
        return self._latent(tables, absent).numpy()

    def save(self, folder: str | Path) -> None:
        """One folder for each party: its weights (safetensors) and what it knows (JSON, TOML)."""
        check_is_fitted(self, "federation_")
        place = Path(folder)
        for guest, columns in zip(self.federation_.guests, self.columns_, strict=True):
            write_party(place / guest.name, party_files(columns, guest.learning.modules.state_dict()))
        # A seed would draw the first weights of every guest again.
        asked = {name: value for name, value in self.get_params().items() if name != "seed"}
        facts = {"parameters": asked, "guests": [columns.name for columns in self.columns_], **self._saved_target()}
        facts["features"] = getattr(self, "n_features_in_", None)  # models of earlier versions do not say
        if self._one_table and hasattr(self, "feature_names_in_"):  # else no party knows everybody's names
            facts["names"] = self.feature_names_in_.tolist()
        host: dict[str, str | bytes] = {
            "weights.safetensors": weights_of(self.federation_)[HOST],
            "model.json": json.dumps(facts, indent=1, default=plain_json),
        }
        write_party(place / HOST, host)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """A model that was saved."""
        place = Path(folder)
        host, facts = read_host(place, cls.kind)
        model = cls(**facts.parameters.model_dump())
        model._take_target(facts)
        parties = {name: read_party(place / party_name(name)) for name in facts.guests}
        model.columns_ = [columns_of(name, files, place / name) for name, files in parties.items()]
        model._one_table, model.history_ = facts.names is not None, History()
        if facts.features is not None:
            model.n_features_in_ = facts.features
        if facts.names is not None:
            model.feature_names_in_ = np.array(facts.names, dtype=object)
        files = {name: each.get("weights.safetensors", b"") for name, each in {**parties, HOST: host}.items()}
        model._federate(files, place)
        return model

    def __getstate__(self) -> dict[str, Any]:
        """For pickles and copies: weights, but nobody's rows or labels, which a fitted model still has at hand."""
        state = dict(super().__getstate__())
        if "federation_" in state:
            state["federation_"] = weights_of(self.federation_)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        weights = state.pop("federation_", None)
        super().__setstate__(state)
        if weights is not None:
            self._federate(weights, Path("the pickle"))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.seed is None
        tags.transformer_tags.preserves_dtype = []  # networks compute in float32
        taken = tags.input_tags
        taken.allow_nan = taken.categorical = taken.string = taken.dict = True  # each guest reads its own columns
        return tags

    @property
    def _n_features_out(self) -> int:
        """For ``get_feature_names_out``: columns of the latent."""
        check_is_fitted(self, "federation_")
        return self.latent

    def _gather(self, tables: Tables, labels: Labels, split: Split, traffic: Traffic | None) -> None:
        """All parties with their rows, before anything is learned."""
        frames = self._frames(tables, fitting=True)
        check_rows(frames, len(labels.values))
        self.columns_ = [Columns.fit(name, frame, split[0]) for name, frame in frames.items()]
        encoded = [each.encode(frames[each.name]) for each in self.columns_]
        self.federation_ = self._federation(encoded, labels, traffic)

    def _check_folder(self, folder: str | Path | None) -> None:
        """Whether a state that is saved there could be continued."""
        if folder is not None and self.seed is None:
            raise InputError("A training that can be continued draws the same again: give it a seed, or no folder.")
        if folder is not None and self._defense is not None:
            raise InputError("A training behind a defence cannot be continued, so it takes no folder.")

    def _train(self, split: Split, *, folder: str | Path | None, progress: Progress) -> Self:
        checkpoint = None
        if folder is not None:
            checkpoint = Checkpoint(folder=Path(folder), fingerprint=self._fingerprint())
        self.history_: History = self.federation_.fit(*split, checkpoint=checkpoint, progress=progress)
        return self

    def _federation(self, encoded: list[Tensor], labels: Labels, traffic: Traffic | None) -> Federation:
        if self.failure_method not in METHODS:
            raise unknown_name("failure method", self.failure_method, METHODS)
        method: Method = self.failure_method
        names = [columns.name for columns in self.columns_]
        return Federation(
            AlignedRows(names, encoded, labels.values, labels.outputs, labels.objective),
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
                defense=self._defense,
            ),
            failures=Failures(probability=self.failure_probability, method=method),
            streams=self._streams(),
            traffic=traffic,
        )

    def _federate(self, weights: Mapping[str, bytes], where: Path) -> None:
        """Parties with these weights; one row of zeros stands for tables that come later."""
        empty = [torch.zeros(1, columns.encoder.layout.width) for columns in self.columns_]
        self.federation_ = self._federation(empty, self._no_labels(), None)
        take_weights(self.federation_, weights, where)

    def _outputs(self, tables: Tables, absent: Sequence[str]) -> Tensor:
        """(rows, outputs) of the host's last layer."""
        latent = self._latent(tables, absent)
        return self.federation_.host.logits(latent)

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

    def _frames(self, tables: Tables, absent: Sequence[str] = (), *, fitting: bool = False) -> dict[str, pl.DataFrame]:
        """The guests' frames; a central design has one party with everybody's columns."""
        one = is_one_table(tables)
        if one:
            frames = dealt_frames(tables, self.parties, absent, self, fitting=fitting)
        else:
            check_same_people(tables)
            frames = named_frames(tables)
        own = {name: prefixed(name, frame) for name, frame in frames.items()}
        if fitting:
            self._one_table = one
        if fitting and not one:
            names = [column for frame in own.values() for column in frame.columns]
            self.n_features_in_, self.feature_names_in_ = len(names), np.array(names, dtype=object)
        if self.design != "central" or not frames:
            return frames
        return {"central": pl.concat(own.values(), how="horizontal")}

    def _split(self, weights: np.ndarray | None, count: int, train: Rows | None, validation: Rows | None) -> Split:
        """Rows to train on, and rows that decide when to stop; drawn if they are not given."""
        if train is not None and validation is not None:
            return weighing(weights, np.asarray(train)), weighing(weights, np.asarray(validation))
        if not 0 < self.validation < 1:
            raise InputError(f"The validation share is {self.validation}; it must lie between 0 and 1.")
        order = weighing(weights, self._streams().numpy("split").permutation(count))
        cut = max(1, round(self.validation * len(order)))
        return order[cut:], order[:cut]  # drawn once and kept: neighbours in a file are often alike

    def _streams(self) -> Streams:
        return Streams(secrets.randbits(63) if self.seed is None else self.seed)

    def _fingerprint(self) -> str:
        """Changes with every setting and with the data."""
        rows = self.federation_.rows
        sums = [float(x.double().sum()) for x in rows.columns]
        sums += [float(rows.labels.sum()), float(len(rows.labels))]
        weights = rows.objective.weights
        if weights is not None:
            sums.append(float((weights.double() * torch.arange(len(weights))).sum()))
        return json.dumps({"parameters": self.get_params(), "data": sums}, sort_keys=True, default=str)
