"""Who reads of whom, read off messages of a short training of the same kind."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from seepage._core import Streams
from seepage.defenses import Defense
from seepage.results.facts import ThreatModel
from seepage.studies.parties.settings import PartiesSettings
from seepage.studies.parties.watching import guest_scene, host_scene, watched
from seepage.studies.training.running import make_model
from seepage.studies.training.tables import Parties

if TYPE_CHECKING:
    from seepage.studies.parties.running import PartiesChoice

FEW = 64  # rows that are trained on to see which messages cross


def threat_model(
    settings: PartiesSettings, choice: PartiesChoice, parties: Parties, host: str, defense: Defense
) -> ThreatModel:
    """What host and guests are sent, know and do not know; a stored run has the same as one that is made now."""
    short = settings.model_copy(
        update={
            "pretraining": min(1, settings.pretraining),
            "finetuning": min(1, settings.finetuning),
            "batch_size": 32,
            "predictions": 1,
        }
    )
    few = replace(parties, train=parties.train[:FEW], validation=parties.validation[:FEW])
    seen = watched(make_model(short.training, choice.training), few, host, defense, 1)
    guest, streams = seen.others[0], Streams(settings.seed)
    own = host_scene(seen, guest, defense, settings, streams).describe(seen.host_received(guest))
    other = guest_scene(seen, guest, settings, streams).describe(seen.guest_received(guest))
    together = ThreatModel(
        adversary=(*own.adversary, *other.adversary),
        sees=(*own.sees, *other.sees),
        knows=(*own.knows, *other.knows),
        does_not_know=(*own.does_not_know, *other.does_not_know),
    )
    return together if choice.defense == "none" else defense.amend(together)
