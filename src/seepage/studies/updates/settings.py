"""Everything that can change a number of the study of captured updates."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from seepage._core import InputError
from seepage._core.option import MAIN, Option
from seepage.plans import registry
from seepage.plans.options import MOST, MOST_ROWS, EachOnce, Settings
from seepage.results import MatchingName
from seepage.studies.common import (
    ATTACKS,
    LEARNING,
    MOST_WATCHED,
    AttackOptions,
    Attacks,
    ModelOptions,
    Numbers,
    PositiveWeight,
    Seed,
)


class UpdatesSettings(Settings):
    """The settings of an audit of updates that a real federation sent.

    The capture says what was sent, and by which rules; the columns are those of a schema file (``--schema``) or of a
    table (``--data``). Nothing is trained. The rows are not known, unless a client that audits itself gives them.
    """

    capture: Annotated[
        str,
        Option(help="The folder of the capture (see `seepage capture make`).", group=MAIN, positional=True),
    ] = ""
    model: Annotated[
        str,
        Option(
            help="The federation's model: a name (see `seepage models list`), or package.module:build for your own.",
            group=MAIN,
            part="model",
        ),
    ] = "mlp"
    attacks: Attacks = ("exact", "presence", "counts")
    truth: Annotated[
        Path | None,
        Option(help="The rows behind the updates, for a client that audits itself: a table.", group=MAIN),
    ] = None
    client: Annotated[
        str | None, Option(help="Attack the updates of one client only: its hash in the capture.", group=MAIN)
    ] = None
    rounds: Annotated[
        tuple[Annotated[int, Field(ge=0, le=MOST_ROWS)], ...],
        Option(help="Attack these rounds only, separated by commas; all if not given.", group=MAIN),
    ] = ()
    each_round: Annotated[
        bool,
        Option(
            help="Every round of a client is a case of its own, with its own simulation: what --follow does.",
            group=ATTACKS,
        ),
    ] = False
    join: Annotated[
        tuple[Annotated[int, Field(ge=1, le=MOST_WATCHED)], ...],
        Field(min_length=1),
        EachOnce,
        Option(
            help="How many rounds of a client are read as one, each update with those before it: 1,3. Attacks on one "
            "update are made on one.",
            group=ATTACKS,
        ),
    ] = (1,)
    seed: Seed = 0
    reveal: Annotated[
        bool, Option(help="Show the rows that were read (and the true ones) in the report. They are private.")
    ] = False
    client_rows: Annotated[
        Path | None,
        Option(
            help="With --truth: all rows of the client, with whose statistics it scales; the truth if not given.",
            group=ATTACKS,
        ),
    ] = None
    statistics: Annotated[
        Literal["own", "table"],
        Option(
            help="Clients scale numbers with statistics of their own, which the attacker does not know, or with those "
            "of the table (--data), which it knows.",
            group=ATTACKS,
        ),
    ] = "own"
    labels_known: Annotated[
        bool, Option(help="The attacker knows the labels, which are those of --truth.", group=ATTACKS)
    ] = False
    ranges_known: Annotated[
        bool, Option(help="The attacker knows the range of every number, as the schema has it.", group=ATTACKS)
    ] = False
    whole_known: Annotated[
        bool, Option(help="The attacker knows which numbers are whole, but no ranges.", group=ATTACKS)
    ] = False
    simulations: Annotated[
        int,
        Field(ge=0, le=MOST),
        Option(
            help="Without --truth: simulated updates of the same shape, from which it is told how often the attack is "
            "right; 0 for none.",
            group=ATTACKS,
        ),
    ] = 4
    matching: Annotated[
        MatchingName, Option(help="With a truth: how read rows are paired with true ones, as in rows.", group=ATTACKS)
    ] = "l1"
    attack_options: AttackOptions = Field(default_factory=dict)
    model_options: ModelOptions = Field(default_factory=dict)
    positive_weight: PositiveWeight = 1.0
    numbers: Numbers = "standard"
    standardise_onehot: Annotated[
        bool, Option(help="The clients standardise one-hot inputs too, as TabLeak does.", group=LEARNING)
    ] = False

    def belongs(self) -> None:
        """Options that would have no effect are mistakes."""
        if not self.capture:
            raise InputError(
                "Which capture is to be attacked? seepage audit updates CAPTURE --schema FILE --model NAME"
            )
        if self.truth is None:
            for name in ("client_rows", "labels_known"):
                if getattr(self, name):
                    raise InputError(f"The setting {name!r} needs the rows behind the updates (--truth).")
        if self.ranges_known and self.whole_known:
            raise InputError("Who knows the ranges knows which numbers are whole: leave --whole-known out.")
        if self.join != (1,) and not any(registry.joins_rounds(name, "updates") for name in self.attacks):
            raise InputError(f"None of the attacks ({', '.join(self.attacks)}) joins rounds; exact does.")
        if len(set(self.rounds)) != len(self.rounds):
            raise InputError("A round is named twice; name each once.")

    @property
    def tried(self) -> list[tuple[str, int]]:
        """Attacks with the rounds that each of them joins; those on one update are made on one."""
        return [
            (name, many)
            for name in self.attacks
            for many in (self.join if self.join == (1,) or registry.joins_rounds(name, "updates") else (1,))
        ]

    @property
    def models(self) -> tuple[str, ...]:
        """As other studies have them: one."""
        return (self.model,)
