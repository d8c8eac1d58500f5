"""Cuts: several rounds on the same rows, each with directions of its own, read as one puzzle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from seepage._core import Streams
from seepage.attacks.malicious.codes import Codes, crafted
from seepage.attacks.malicious.reading import read_rows
from seepage.attacks.malicious.trap import Trap
from seepage.observation import Claim
from seepage.observation.servers import Answer, ServerScene

DEGREE = 3  # bins that a row is in, over all rounds: the number for which peeling goes furthest


@dataclass(frozen=True, kw_only=True)
class Cuts:
    """As many rounds as there are; each row is in about three bins over all of them.

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
        covered = min(1.0, DEGREE / (scene.rounds * chains))
        return [crafted(scene, streams, chains, covered, number) for number in range(scene.rounds)]

    def read(self, scene: ServerScene, traps: Sequence[Trap], answers: Sequence[Answer]) -> Claim:
        """Peel over all rounds."""
        return read_rows(scene, traps, answers)
