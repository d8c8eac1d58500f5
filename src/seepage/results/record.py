"""One attacked batch, as numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass

ATTACK = "attack"
PRIOR = "prior"
BASELINES = (PRIOR, "uniform", "marginal")
WHOLE = ""  # the scope of a number about all columns together


@dataclass(frozen=True, kw_only=True, order=True)
class Cell:
    """What was tested. Two records of equal cells are repetitions of one experiment.

    ``variant`` names what else differs between the settings of one plan (``labels_known=false``); empty if nothing.
    """

    dataset: str
    protocol: str
    model: str
    batch_size: int
    attack_point: str
    attack: str
    defense: str = "none"
    variant: str = ""

    @property
    def id(self) -> str:
        """A short stable name, the same on every machine."""
        said = {key: value for key, value in asdict(self).items() if key != "variant" or value}
        text = "\x1f".join(f"{key}={value}" for key, value in sorted(said.items()))
        return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


@dataclass(frozen=True)
class Measure:
    """The name of a number: whose (``attack`` or a baseline), about what, and which metric.

    ``scope`` is a column's name, ``WHOLE`` for all columns together, or a bucket of doubt (``Bucket.scope``).
    """

    source: str
    scope: str
    metric: str


@dataclass(frozen=True, kw_only=True)
class Record:
    """One attack on one client's update.

    A record whose outcome is not scored has no values: it is counted as failed and never averaged.
    """

    cell: Cell
    repeat: int
    client: int
    round: int
    exposure: float
    rows: int
    outcome: str
    seconds: float
    note: str = ""
    values: Mapping[Measure, float]

    @property
    def scored(self) -> bool:
        return bool(self.values)
