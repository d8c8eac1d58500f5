"""Cuts: several rounds on the same rows, each with directions of its own, read as one puzzle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from seepage._core import Streams
from seepage.attacks.malicious.codes import Codes, crafted, room_for_cuts
from seepage.attacks.malicious.reading import read_rows
from seepage.attacks.malicious.trap import Trap
from seepage.observation import Claim
from seepage.observation.servers import Answer, ServerScene

DEGREE = 3  # bins that a row is in, over all rounds: the number for which peeling goes furthest
ROOMY = 0.6  # rows a bin below which every round may cover all rows


@dataclass(frozen=True, kw_only=True)
class Cuts:
    """As many rounds as there are; where bins are scarce each row is in about three over all.

    Rows that are read in one round are taken out of the bins of the others, so rounds add up: five rounds at width
    1,000 read what one round at width 5,000 would.

    Guarantees:
        As of :class:`Codes`; bins of different rounds count as different chains.

    References:
        Several rounds of weights for one client: Pasquini et al., Eluding Secure Aggregation, CCS 2022; Wen et al.,
        Fishing for User Data, ICML 2022. Peeling over rounds is Seepage's own.

    Example:
        >>> len(Cuts().notices)
        4
    """

    several_rounds = True
    notices = (*Codes.notices, "From round to round the weights jump, where training moves them a little.")

    def prepare(self, scene: ServerScene, streams: Streams) -> list[Trap]:
        """One model for each round."""
        chains = math.ceil(DEGREE / scene.rounds)
        crowded = scene.exchange.rows > ROOMY * scene.rounds * room_for_cuts(scene)
        covered = min(1.0, DEGREE / (scene.rounds * chains)) if crowded else 1.0
        return [crafted(scene, streams, chains, covered, number) for number in range(scene.rounds)]

    def read(self, scene: ServerScene, traps: Sequence[Trap], answers: Sequence[Answer]) -> Claim:
        """Peel over all rounds."""
        return read_rows(scene, traps, answers)
