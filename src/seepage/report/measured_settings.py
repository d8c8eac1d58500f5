"""What settings of Flower and NVFlare leave to be read, as ``benchmarks/remedies.py --store`` measured it.

Reports and docs say no number about these settings that is not in the stored file, ``remedies.json``.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict

from seepage.report.words import count, plural
from seepage.results import Interval


class MeasuredSetting(BaseModel):
    """One setting.

    Args:
        key: under which it is looked up.
        name: in words.
        updates: attacked ones, of all federations.
        rows: behind them.
        certified: rows that the attack proves.
        near: rows that it reads: every category, and numbers nearly; None where nothing was scored.
        cells: share of cells that are right, with an interval over updates.
        guess: share of cells that the best guess gets right.
        presence: share of categories of which it is told rightly whether they occur.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: str
    name: str
    updates: int
    rows: int
    certified: int
    near: int | None
    cells: Interval | None
    guess: float | None
    presence: Interval | None

    @property
    def read(self) -> str:
        """How many rows are read, in words; how many are certified where nothing was scored."""
        if self.near is None:
            return f"{count(self.certified)} of {plural(self.rows, 'row')} are certified; what was read was not scored"
        return f"{count(self.near)} of {plural(self.rows, 'row')} are read and {count(self.certified)} certified"

    @property
    def right(self) -> str:
        """The share of cells that are right, beside guessing."""
        if self.cells is None or self.guess is None:
            return "the cells were not scored"
        return f"{percent(self.cells)} of the cells are right, where guessing gets {100 * self.guess:.0f} %"

    @property
    def told(self) -> str:
        """Of which categories it is told rightly whether they occur."""
        if self.presence is None:
            return "which categories occur was not scored"
        return f"of {percent(self.presence)} of the categories it is told rightly whether they occur"


class MeasuredSettings(BaseModel):
    """The run that measured them.

    Args:
        hospitals: of each federation.
        owned: rows that a hospital has, by which it scales its numbers.
        rows: behind an update, unless the setting says otherwise.
        weights: entries of an update.
        epsilon: of LocalDpMod, with ``delta``.
        loose_epsilon: at which its noise is as long as the update.
        seeds: of the federations.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    table: str
    hospitals: int
    owned: int
    rows: int
    learning_rate: float
    model: str
    attacks: tuple[str, ...]
    seeds: tuple[int, ...]
    weights: int
    epsilon: float
    delta: float
    loose_epsilon: float
    versions: dict[str, str]
    settings: tuple[MeasuredSetting, ...]

    def of(self, key: str) -> MeasuredSetting:
        """One setting by its key."""
        return next(each for each in self.settings if each.key == key)

    @property
    def where(self) -> str:
        """On what it was measured, in words."""
        return (
            f"the made-up table {self.table} ({plural(len(self.seeds), 'federation')} of {self.hospitals} hospitals, "
            f"{plural(self.rows, 'row')} and one step each; benchmarks/remedies.py)"
        )


@lru_cache(maxsize=1)
def measured_settings() -> MeasuredSettings:
    """The stored run."""
    stored = files("seepage.report") / "remedies.json"
    return MeasuredSettings.model_validate_json(stored.read_text(encoding="utf-8"))


def percent(share: Interval) -> str:
    """A share with its interval, which is left out where both ends are the mean."""
    mean = f"{100 * share.mean:.0f} %"
    if share.low is None or share.high is None:
        return mean
    ends = f"{100 * share.low:.0f}–{100 * share.high:.0f} %"
    return mean if ends == f"{100 * share.mean:.0f}–{mean}" else f"{mean} ({ends})"
