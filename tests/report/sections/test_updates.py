"""The sections about captured updates."""

from __future__ import annotations

from seepage.report.level import Level
from seepage.report.sections.captured import captured
from seepage.report.sections.sureness import sureness
from seepage.report.sections.untold_verdict import untold_verdict
from seepage.report.sections.verdict import SECTION as VERDICT
from tests.report.example import (
    an_update,
    an_updates_cell,
    an_updates_summary,
    plain,
    records_of,
    untold_record,
)


def test_what_is_proven_is_told_first() -> None:
    verdict = untold_verdict(an_updates_summary())
    assert verdict is not None
    assert verdict.level is Level.LEAKS
    assert plain(verdict.headline) == (
        "4 of the 8 rows behind 1 captured update of client-0123456789abcdef can be read with proof."
    )
    assert [tile.title for tile in verdict.tiles] == [
        "rows read with proof",
        "cells right, estimated",
        "cells right by guessing",
    ]
    assert any("nobody compared" in sentence for sentence in verdict.sentences)


def test_without_proof_a_simulation_says_what_it_may_be_worth() -> None:
    simulated = records_of(an_updates_cell(origin="simulated"), 4, rows=8)
    worth = {0.95: Level.LEAKS, 0.7: Level.SOME, 0.3: Level.INCOMPLETE}
    for expected, level in worth.items():
        verdict = untold_verdict(an_updates_summary([*simulated, untold_record(an_updates_cell(), 0.0, expected)]))
        assert verdict is not None
        assert verdict.level is level
        assert verdict.headline.startswith("None of the 8 rows")


def test_an_update_that_no_attack_can_replay_is_not_measured() -> None:
    record = untold_record(an_updates_cell())
    nothing = type(record)(cell=record.cell, rows=8, outcome="not_applicable", values={})
    verdict = untold_verdict(an_updates_summary([nothing], updates=(an_update(why_not="The rate is not known."),)))
    assert verdict is not None
    assert verdict.level is Level.NOT_MEASURED
    assert verdict.sentences[0] == "The rate is not known."


def test_with_the_truth_the_verdict_is_that_of_any_audit() -> None:
    summary = an_updates_summary(records_of(an_updates_cell(), 4, rows=8))
    assert untold_verdict(summary) is None
    assert sureness(summary) is None
    assert VERDICT.of(summary) is not None
    assert VERDICT.of(an_updates_summary()) is None


def test_columns_are_told_with_what_guessing_gets() -> None:
    view = sureness(an_updates_summary())
    assert view is not None
    assert view.simulated == 4
    (setting,) = view.every
    assert setting.columns[0].sensitive
    assert all(each.gain is not None for each in setting.columns)
    assert setting.figure is not None


def test_updates_are_told_with_their_rules_and_remarks() -> None:
    view = captured(an_updates_summary(updates=(an_update(warnings=("Before and after look swapped.",)),)))
    assert view is not None
    (line,) = view.lines
    assert plain(line.rules) == "8 rows, batches of 4, 2 local epochs, sgd, rate 0.01"
    assert line.remarks == ("Before and after look swapped.",)
