"""The verdict on rows."""

from __future__ import annotations

import re

import pytest

from seepage.report.level import Level
from seepage.report.sections.verdict import MEANINGS, headline_of, verdict
from seepage.results import Interval
from seepage.results.facts import NotRun
from tests.report.example import a_cell, a_summary, a_vertical_summary, plain, records_of
from tests.report.leak import a_leak


def test_headline() -> None:
    assert plain(headline_of(a_leak())) == (
        "With batches of 8, an honest-but-curious server read 54 of 80 rows exactly, and 90 % of all cells. "
        "Guessing from the clients' own averages gets 56 %."
    )


def test_headline_without_a_row_and_for_another_adversary() -> None:
    leak = a_leak(rows_exact=0, protocol="sequential", batch_size=1)
    assert plain(headline_of(leak)).startswith(
        "With batches of one row, the attacker read no row of 80, but 90 % of all cells."
    )


def test_the_best_guess_is_named() -> None:
    leak = a_leak(baselines={"prior": Interval(0.5, 0.4, 0.6), "marginal": Interval(0.8, 0.7, 0.9), "uniform": None})
    assert "Guessing from the columns of the whole data set gets 80" in plain(headline_of(leak))


def test_verdict_of_a_usual_run() -> None:
    found = verdict(a_summary())
    assert found.level is Level.LEAKS
    assert plain(found.headline).startswith("With batches of one row")
    worst, means, sensitive, safest, failed, unmeasured = map(plain, found.sentences)
    assert means.startswith("The attacker is a server that follows the protocol; this was read from one update of a")
    assert means.endswith(
        "Several rounds joined (--rounds 1,2,5), or a server that cheats (seepage audit servers), can read more."
    )
    assert worst.startswith("This is the worst of 10 measured settings: table clinic, ")
    assert "model mlp, protocol fedsgd, attack tableak, attack point untrained, no defence." in worst
    assert sensitive.startswith("Of the 2 columns marked sensitive, diagnosis gained most over guessing")
    assert safest.startswith("The least leaking choice tested was batch 32")
    assert failed == "28 of 120 attacks gave nothing to score; they are counted and never averaged."
    assert unmeasured == "2 settings could not be measured; that does not mean safe."
    assert found.tiles[0].value == "10"


def test_what_the_attacker_was_allowed_is_said_with_the_number() -> None:
    cell = a_cell(watched=5)
    text = plain(" ".join(verdict(a_summary(records_of(cell, 3))).sentences))
    assert "this was read from 5 rounds of a client joined. A server that cheats (seepage audit servers) can" in text


def test_vertical_learning_is_judged_alike() -> None:
    found = verdict(a_vertical_summary())
    assert found.level is Level.LEAKS
    assert plain(found.headline).startswith("With batches of 5, an honest-but-curious server read all 180 rows exactly")
    assert "60 aligned rows, 66 batches, attack cafe_closed_form" in found.sentences[0]
    assert "client" not in found.headline


def test_a_table_and_a_variant_are_named() -> None:
    records = [r for name in ("one", "two") for r in records_of(a_cell(dataset=name, variant=f"seed={name}"), 3)]
    text = " ".join(verdict(a_summary(records)).sentences)
    assert re.search(r"worst of 2 measured settings: table (one|two), .*, seed=\1\.", text)


@pytest.mark.parametrize(("certified", "said"), [(8, "all of them with a proof"), (3, "3 with a proof"), (0, "cannot")])
def test_proven_rows_are_told(certified: int, said: str) -> None:
    summary = a_summary(records_of(a_cell(), 1, exact=1))
    cell = summary.cells[0].model_copy(update={"rows_certified": certified})
    (first, *_) = verdict(summary.model_copy(update={"cells": (cell,)})).sentences
    assert first.startswith("All 8 rows in the attacked batches were read exactly; ")
    assert said in first


@pytest.mark.parametrize(
    ("exact", "certified", "said"),
    [
        (7, 8, "7 were read exactly; 8 have a proof from the update itself (certified)"),
        (7, 0, "7 were read exactly; which these are, the attacker cannot tell: none is certified."),
        (0, 0, "Which rows are right, the attacker cannot tell: none is certified."),
    ],
)
def test_proofs_are_no_more_than_they_are(exact: int, certified: int, said: str) -> None:
    summary = a_summary(records_of(a_cell(), 1, exact=1))
    cell = summary.cells[0].model_copy(update={"rows_exact": exact, "rows_near": 8, "rows_certified": certified})
    (first, *_) = verdict(summary.model_copy(update={"cells": (cell,)})).sentences
    assert said in plain(first)


NOTHING_READ = records_of(a_cell(), accuracy=0.5, exact=0.0)


def not_run(*states: str) -> list[NotRun]:
    return [NotRun(what="mlp, batch 9", reason="x", state=state) for state in states]  # type: ignore[arg-type]


def test_what_was_not_run_is_told_and_a_crash_is_never_called_no_leak() -> None:
    found = verdict(a_summary(NOTHING_READ, not_run=not_run("impossible")))
    assert found.level is Level.NOT_FOUND
    assert plain(found.sentences[-1]) == "1 part of the plan could not be run; see what was not tested."
    found = verdict(a_summary(NOTHING_READ, not_run=not_run("crashed", "crashed")))
    assert found.level is Level.INCOMPLETE
    assert plain(found.sentences[-1]).startswith("2 parts of the plan were stopped by an internal error")
    found = verdict(a_summary(NOTHING_READ, not_run=not_run("missing")))
    assert found.level is Level.INCOMPLETE
    assert plain(found.sentences[-1]).startswith("1 part of the plan was not reached yet")
    assert verdict(a_summary([], not_run=not_run("crashed"))).level is Level.NOT_MEASURED


def test_nothing_measured() -> None:
    found = verdict(a_summary(records_of(a_cell(), 3, outcome="failed")))
    assert found.level is Level.NOT_MEASURED
    assert found.tiles == ()
    assert "nothing can be said about what leaks" in found.headline


def test_no_leak_found_names_what_it_holds_for() -> None:
    assert "no proof of safety" in MEANINGS[Level.NOT_FOUND]
    assert "threat model" in MEANINGS[Level.NOT_FOUND]
    assert set(MEANINGS) == set(Level)
