"""Whether a capture and a truth can be what they are said to be: sentences for what looks wrong."""

from __future__ import annotations

import torch
from torch import Tensor

from seepage._core import Streams, silent
from seepage.attacks import RowsAttack
from seepage.captures import Entry
from seepage.captures.reading import points_back
from seepage.data import Encoder
from seepage.federation import Truth
from seepage.observation import Claim, Observation
from seepage.studies.rows.attacking import claims_of
from seepage.studies.rows.cost import cut_short
from seepage.studies.updates.observing import swapped
from seepage.studies.updates.source import CapturedUpdates

APART = 0.1  # of its own length: how far a gradient may be from that of the truth
UPHILL = "Before and after look swapped"


def doubts_about(source: CapturedUpdates, entry: Entry, observation: Observation, truth: Truth | None) -> list[str]:
    """What looks wrong about one update before it is attacked."""
    found = []
    alike = tuple(each for each in source.capture.entries if each.round == entry.round)
    if entry.kind == "after" and points_back(alike):
        found.append(f"{UPHILL}: all clients of round {entry.round} end with the same weights.")
    # Of an update that was changed before it was sent, no row gives the gradient.
    if truth is None or not truth.rows.schema.target.classes or observation.exchange.covered:
        return found
    x, y = _encoded(truth)
    learner = observation.learner
    if observation.exchange.protocol == "fedsgd":
        slope = learner.gradient(observation.parameters, x, y)
        if _apart(slope, observation.update) > APART:
            found.append(
                f"The rows of the truth do not give the gradient of round {entry.round}: they are other rows, or were "
                "scaled with other statistics (--client-rows), or the gradient was changed before sending (--covered)."
            )
        return found
    later = {name: value + observation.update[name] for name, value in observation.parameters.items()}
    begin, end = (float(learner.loss(each, x, y)) for each in (observation.parameters, later))
    if end > begin:
        found.append(
            f"{UPHILL} in round {entry.round}: on the rows of the truth the loss goes up, from {begin:.3g} to "
            f"{end:.3g}. Or these are not the rows behind the update."
        )
    return found


def reads_backwards(attack: RowsAttack, observation: Observation, claim: Claim, streams: Streams) -> str:
    """A sentence if nothing is proven as it is, but rows are if the update is read the other way round."""
    if observation.exchange.protocol == "fedsgd" or claim.certified is None or claim.certified.any():
        return ""
    other = claims_of(cut_short(attack), [swapped(observation)], streams, silent)[0]
    if other.certified is None or not other.certified.any():
        return ""
    return f"{UPHILL}: read the other way round, {int(other.certified.sum())} rows are certified."


def _encoded(truth: Truth) -> tuple[Tensor, Tensor]:
    encoder: Encoder = truth.encoder
    return torch.from_numpy(encoder.encode(truth.rows, truth.statistics)), torch.from_numpy(truth.rows.target)


def _apart(one: dict[str, Tensor], other: dict[str, Tensor]) -> float:
    first, second = (torch.cat([each[name].flatten().double() for name in one]) for each in (one, other))
    return float((first - second).norm() / second.norm())
