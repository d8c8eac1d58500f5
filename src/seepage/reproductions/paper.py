"""A paper, as data: its tables, the plans that run them, and how it calls what we have.

One file a paper, ``papers/<name>.toml``. Nothing in it is code: a table is a part of a plan, a way to read its cells,
and the words by which a published number finds its place beside one of ours.
"""

from __future__ import annotations

import tomllib
from functools import lru_cache
from importlib import resources
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from seepage._core import unknown_name
from seepage.results import MatchingName

NAMES = ("tableak", "cafe", "profiling", "property", "tabvfl")
ReadingName = Literal[
    "cells",
    "best",
    "baselines",
    "means",
    "factors",
    "modules",
    "utility",
    "doubt",
    "curve",
    "until",
    "losses",
    "failures",
    "changes",
    "costs",
    "epochs",
]


class Declared(BaseModel):
    """What a paper's file holds: checked when it is read, and never changed."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Word(Declared):
    """How the paper says something of ours.

    Args:
        of: what of ours: a coordinate of a cell, a setting, or an option of a part (``attack.steps``).
        words: the paper's words by our values; a spec is looked up as it is, then by its name.
        stand_ins: values of ours that are not the paper's, and only stand in for what it has.
        format: how a value without a word is written, such as ``.1f``.
        constant: the paper's word, whatever we have.
    """

    of: str = ""
    words: dict[str, str] = Field(default_factory=dict)
    stand_ins: tuple[str, ...] = ()
    format: str = ""
    constant: str = ""

    def spoken(self, ours: str | None) -> str | None:
        """The paper's word for a value of ours; None where there is nothing to say."""
        if self.constant or ours is None:
            return self.constant or None
        word = self.words.get(ours, self.words.get(ours.partition(":")[0]))
        if word is not None:
            return word
        return format(float(ours), self.format) if self.format else ours


class Share(Declared):
    """A setting that gets smaller when less than the published work is done.

    Args:
        setting: its name; ``attacks.steps`` is an option of every attack.
        least: never below this.
        root: 2 where two settings multiply: each takes the square root of the share.
        words: what it counts, for the sentence about what is less.
    """

    setting: str
    least: float = 0
    root: Annotated[int, Field(ge=1)] = 1
    words: str = ""


class Scaling(Declared):
    """How less work is done: the ``first`` settings shrink down to their least, then the others, too."""

    first: tuple[Share, ...] = ()
    then: tuple[Share, ...] = ()


class PlanPart(Declared):
    """A plan of a table, or a part of it.

    Args:
        plan: the file in ``plans/<paper>/``.
        part: values in place of those in the plan: the models or attack points that the table shows.
        shows: what the table shows of what was run, by coordinates of cells. Tables that run the same share its run.
        scaled: whether ``--scale`` makes it smaller.
    """

    plan: str
    part: dict[str, JsonValue] = Field(default_factory=dict)
    shows: dict[str, tuple[JsonValue, ...]] = Field(default_factory=dict)
    scaled: bool = True


class PaperTable(Declared):
    """A table of a paper.

    Args:
        number: as the paper numbers it.
        title: what it shows, in a few words.
        plans: what is run for it.
        metrics: the paper's metrics by ours.
        reading: how the cells of the plans become the cells of the table.
        stands_in: where its published numbers stand, if it is not this table.
        method, dataset, model, settings: words of this table that differ from the paper's others.
        guesses: its baselines by ours; ``rule:baseline`` for one that is matched by a rule of its own.
        matchings: rules by which the same rows are told too, beside the run's own.
        factors: what the nets of a grid are grouped by.
        until: the quality that has to be reached, and the one for less than the published work.
        scaling: if it differs from that of the paper's other tables.
        own: data sets of this table that the user's own copy of another one replaces.
        differs: what is not as in the paper.
        describes: its numbers are no measure of an attack, so none is weaker or stronger.
    """

    number: str
    title: str
    plans: tuple[PlanPart, ...]
    metrics: dict[str, str] = Field(default_factory=dict)
    reading: ReadingName = "cells"
    stands_in: str = ""
    method: Word | None = None
    dataset: Word | None = None
    model: Word | None = None
    settings: dict[str, Word] = Field(default_factory=dict)
    guesses: dict[str, str] = Field(default_factory=dict)
    matchings: tuple[MatchingName, ...] = ()
    factors: tuple[str, ...] = ()
    until: tuple[float, float] = (0.0, 0.0)
    scaling: Scaling | None = None
    own: dict[str, str] = Field(default_factory=dict)
    differs: tuple[str, ...] = ()
    describes: bool = False


class Paper(Declared):
    """A paper.

    Args:
        name: on the command line.
        short: its name in a sentence.
        title: with authors and year.
        numbers: the file of its published numbers, ``published/<numbers>.csv``.
        quick: share of the published work that finishes the main table in minutes.
        tables: the first is the one that the paper is known for.
        method, dataset, model, settings: how it calls what we have.
        ignored: settings of published numbers that do not choose a cell.
        own: data sets that stand in for one that only the user's own copy can give.
        differs: what is not as in the paper, by plan.
        data_differs: the same, by data set.
    """

    name: str
    short: str
    title: str
    numbers: str
    quick: Annotated[float, Field(gt=0, le=1)]
    tables: Annotated[tuple[PaperTable, ...], Field(min_length=1)]
    method: Word
    dataset: Word
    model: Word = Word()
    settings: dict[str, Word] = Field(default_factory=dict)
    ignored: tuple[str, ...] = ()
    scaling: Scaling = Scaling()
    own: dict[str, str] = Field(default_factory=dict)
    differs: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    data_differs: dict[str, str] = Field(default_factory=dict)

    def table(self, number: str | None = None) -> PaperTable:
        """The table of this number; the main one if none is given."""
        by_number = {table.number: table for table in self.tables}
        if number is None:
            return self.tables[0]
        if number not in by_number:
            raise unknown_name(f"table of {self.name}", number, by_number)
        return by_number[number]


@lru_cache
def find_paper(name: str) -> Paper:
    """The paper of this name."""
    if name not in NAMES:
        raise unknown_name("paper", name, NAMES)
    text = resources.files(__package__).joinpath("papers", f"{name}.toml").read_text(encoding="utf-8")
    return Paper.model_validate({"name": name, **tomllib.loads(text)})
