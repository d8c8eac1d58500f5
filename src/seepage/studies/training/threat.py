"""Who reads of whom in vertical training, read off what really crosses between the parties."""

from __future__ import annotations

from seepage._core.names import HOST
from seepage.federation.vertical import TabVFLClassifier
from seepage.results.facts import ThreatModel
from seepage.studies.training.settings import TrainingSettings
from seepage.studies.training.tables import Parties

FEW = 64  # rows that are trained on to see which messages cross


def crossing(model: TabVFLClassifier, parties: Parties) -> dict[str, tuple[str, ...]]:
    """What the host and the guests receive, from one epoch over a few rows."""
    model.fit(parties.frames, parties.labels, train_rows=parties.train[:FEW], validation_rows=parties.validation[:FEW])
    received: dict[str, set[str]] = {"host": set(), "guest": set()}
    for _, training, _, receiver, kind in model.traffic_.bytes:
        if training:
            received["host" if receiver == HOST else "guest"].add(kind.value)
    return {party: tuple(sorted(kinds)) for party, kinds in received.items()}


def threat_model(settings: TrainingSettings, received: dict[str, tuple[str, ...]]) -> ThreatModel:
    """The threat model of a training in which these kinds of tensors cross."""
    said = {"host": "The host, of every guest", "guest": "A guest, of the host"}
    sees = tuple(f"{said[party]}: {', '.join(kinds)}." for party, kinds in received.items() if kinds)
    if not sees:
        return ThreatModel(adversary=("Nobody: no message crosses between parties.",))
    if not settings.privacy:
        nobody = "Nobody: what parties read of each other was not measured (--privacy measures it)."
        return ThreatModel(adversary=(nobody,), sees=sees)
    return ThreatModel(
        adversary=("An honest-but-curious host, which wants the guests' columns; and guests, which want the labels.",),
        sees=sees,
        knows=(
            "The design, and the columns of all guests: names, types and categories.",
            "For one of the two ways to read: as many rows of a guest as the guest has columns.",
        ),
        does_not_know=("The host: the guests' rows and weights.", "A guest: the labels and the host's weights."),
    )
