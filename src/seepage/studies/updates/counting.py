"""A captured update as counting sees it: how many rows and steps stand behind it, and how they were taken."""

from __future__ import annotations

from seepage.attacks.applicability import Optimiser, Setup
from seepage.captures import CaptureFacts
from seepage.data import Encoder
from seepage.models import Learner
from seepage.studies.updates.observing import in_training_mode, knowledge_of
from seepage.studies.updates.settings import UpdatesSettings
from seepage.studies.updates.source import CapturedUpdates, Case


def setup_of(
    source: CapturedUpdates, settings: UpdatesSettings, case: Case, encoder: Encoder, learner: Learner
) -> Setup:
    """What is set up, as far as algebra is concerned."""
    facts = case.facts
    return Setup(
        learner=in_training_mode(learner, case) or learner,
        layout=encoder.layout,
        rows=facts.rows,
        steps=steps_of(case),
        optimiser=_kind(facts),
        weight_decay=facts.weight_decay,
        clip=facts.clip,
        hidden_scales=encoder.standardise_onehot and not knowledge_of(source, settings).statistics,
    )


def steps_of(case: Case) -> int:
    """Local steps behind one update."""
    if case.protocol == "fedsgd":
        return 1
    return -(-case.facts.rows // case.batch_size) * case.facts.local_epochs


def _kind(facts: CaptureFacts) -> Optimiser:
    if facts.optimiser != "sgd":
        return "adam"
    return "momentum" if facts.momentum else "sgd"
