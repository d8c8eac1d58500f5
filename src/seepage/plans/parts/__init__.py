"""The parts that Seepage brings: one line each. A new attack, defence or model is one file and its line here."""

from seepage.plans.part import Part
from seepage.plans.parts.attacks import ATTACKS
from seepage.plans.parts.cohort_attacks import COHORTS
from seepage.plans.parts.defenses import DEFENSES
from seepage.plans.parts.learning import CRITERIA, OPTIMISERS, SERVERS
from seepage.plans.parts.models import MODELS
from seepage.plans.parts.party_attacks import PARTIES
from seepage.plans.parts.readers import DESIGNS, LOSSES, READERS
from seepage.plans.parts.server_attacks import SERVER_ATTACKS

PARTS: dict[str, tuple[Part, ...]] = {
    "attack": (*ATTACKS, *PARTIES, *COHORTS, *SERVER_ATTACKS),
    "defence": DEFENSES,
    "model": MODELS,
    "criterion": CRITERIA,
    "optimiser": OPTIMISERS,
    "server": SERVERS,
    "reader": READERS,
    "loss": LOSSES,
    "design": DESIGNS,
}
