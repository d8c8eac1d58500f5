"""A training whose messages are recorded, and what each party holds of it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from seepage._core import Progress, Streams, silent
from seepage._core.names import HOST
from seepage.data import Table
from seepage.defenses import Defense
from seepage.federation.vertical import Phase, TabVFLClassifier, Traffic
from seepage.federation.vertical.columns import table_of
from seepage.federation.vertical.recording import Recorder
from seepage.observation.parties import INTERMEDIATE, GuestScene, HostScene, Received, Released, averaged
from seepage.studies.parties.settings import PartiesSettings
from seepage.studies.training.tables import Parties


@dataclass(frozen=True, eq=False)
class Watched:
    """A trained federation. It holds both what was sent and what is true; scenes and messages hold no truth.

    Args:
        model: trained.
        parties: the rows.
        host: the party that has the labels.
        recorder: everything that crossed.
        probabilities: (rows, classes) what the host predicts.
        codes: (rows,) the labels.
    """

    model: TabVFLClassifier
    parties: Parties
    host: str
    recorder: Recorder
    probabilities: np.ndarray
    codes: np.ndarray

    @property
    def others(self) -> list[str]:
        """The parties that are not the host."""
        return [columns.name for columns in self.model.columns_ if columns.name != self.host]

    def encoded(self, name: str) -> np.ndarray:
        """(rows, width) a party's columns as its model takes them."""
        place = [columns.name for columns in self.model.columns_].index(name)
        return self.model.columns_[place].encode(self.parties.frames[name]).double().numpy()

    def table(self, name: str, rows: np.ndarray) -> Table:
        """A party's true rows, for scoring."""
        columns = next(columns for columns in self.model.columns_ if columns.name == name)
        return table_of(self.parties.frames[name][rows], columns.schema)

    def host_received(self, guest: str) -> list[Received]:
        """What the host got of a guest."""
        return self.recorder.received(HOST, guest)

    def guest_received(self, guest: str) -> list[Received]:
        """What a guest got of the host."""
        return self.recorder.received(guest, HOST)


def watched(
    model: TabVFLClassifier,
    parties: Parties,
    host: str,
    defense: Defense,
    predictions: int,
    *,
    progress: Progress = silent,
) -> Watched:
    """Train with every message recorded, then predict all rows so many times."""
    recorder = Recorder()
    model.defended(defense).fit(
        parties.frames,
        parties.labels,
        train_rows=parties.train,
        validation_rows=parties.validation,
        traffic=Traffic(listener=recorder),
        progress=progress,
    )
    recorder.trained()
    probabilities = [model.predict_proba(parties.frames) for _ in range(predictions)]
    codes = np.searchsorted(model.classes_, parties.labels)
    return Watched(model, parties, host, recorder, probabilities[0], codes)


def host_scene(seen: Watched, guest: str, defense: Defense, settings: PartiesSettings, streams: Streams) -> HostScene:
    """What the host knows before it reads a guest's columns."""
    place = [columns.name for columns in seen.model.columns_].index(guest)
    x = seen.encoded(guest)
    wanted = settings.known_rows or x.shape[1] + 1
    known = np.sort(streams.numpy("known rows").permutation(len(x))[: min(wanted, len(x) // 2)])
    return HostScene(
        guest=guest,
        layout=seen.model.columns_[place].encoder.layout,
        own=seen.encoded(seen.host),
        labels=seen.codes,
        known_rows=known,
        known_x=x[known],
        noise=defense.noise_on(INTERMEDIATE),
        released=_released(seen, guest) if settings.handed_over else None,
    )


def guest_scene(seen: Watched, guest: str, settings: PartiesSettings, streams: Streams) -> GuestScene:
    """What a guest knows before it reads the host's labels; the labels it knows are of rows that were trained on."""
    order = seen.parties.train[streams.numpy("known labels").permutation(len(seen.parties.train))]
    classes = len(seen.model.classes_)
    known = np.concatenate([order[seen.codes[order] == code][: settings.known_labels] for code in range(classes)])
    bottom = _bottom(seen, guest)
    x = seen.encoded(guest)
    with torch.no_grad():
        own = bottom(torch.from_numpy(x.astype(np.float32))).double().numpy()
    return GuestScene(
        guest=guest,
        own=x,
        bottom=own,
        shares=np.bincount(seen.codes, minlength=classes) / len(seen.codes),
        known_rows=np.sort(known),
        known_labels=seen.codes[np.sort(known)],
    )


class _Bottom:
    """A guest's trained part, a copy without its columns."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._module = copy.deepcopy(module).eval().requires_grad_(False)

    def __call__(self, x: Tensor) -> Tensor:
        values: Tensor = self._module(x, None, Phase.FINETUNING)[0]
        return values


def _bottom(seen: Watched, guest: str) -> _Bottom:
    party = next(each for each in seen.model.federation_.guests if each.name == guest)
    return _Bottom(party.learning.modules["bottom"])


def _released(seen: Watched, guest: str) -> Released:
    """The trained model, as a host that it is handed over to has it; what other guests sent is put in."""
    host = seen.model.federation_.host
    host.learning.train(False)
    names = list(host.guests)
    sent = [torch.from_numpy(averaged(seen.host_received(name), len(seen.codes)).astype(np.float32)) for name in names]
    place = names.index(guest)

    def predict(values: Tensor, rows: np.ndarray) -> Tensor:
        every: Sequence[Tensor] = [values if at == place else each[rows] for at, each in enumerate(sent)]
        return host.predict(every)

    with torch.no_grad():
        logits = host.predict(sent).double().numpy()
    return Released(bottom=_bottom(seen, guest), predict=predict, logits=logits)
