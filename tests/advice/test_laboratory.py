"""Measuring within a budget: what is cut off is kept, told as not measured, and gone on with."""

from __future__ import annotations

from pathlib import Path

from seepage.advice.laboratory import Laboratory
from seepage.advice.space import Candidate
from seepage.advice.stages import ARSENAL, SCREEN
from seepage.advice.state import open_state
from seepage.data.source import Source
from seepage.runs import make_plan, open_sources

PLAIN = Candidate(batch_size=2)
TABLE = {"data": "clinic"}


def laboratory(folder: Path, budget: float) -> Laboratory:
    source = open_sources(make_plan({**TABLE, **PLAIN.values()}))[0]
    assert isinstance(source, Source)
    state = open_state(folder, {"rows": source.digest})
    return Laboratory(
        table=TABLE, source=source, task="binary", folder=folder, state=state, plain=PLAIN, budget=budget, clients=2
    )


def test_work_that_the_budget_ends_is_not_measured_and_goes_on_with_a_larger_one(tmp_path: Path) -> None:
    short = laboratory(tmp_path / "search", budget=1e-6)
    assert short.measure(SCREEN, [PLAIN]) is None
    (chunk,) = short.state.chunks
    assert chunk.seconds is None
    assert chunk.spent > 0
    assert short.measure(ARSENAL, [PLAIN]) is None  # nothing is begun when the time is gone

    longer = laboratory(tmp_path / "search", budget=600.0)
    assert longer.clock.used >= chunk.spent  # earlier sessions count
    found = longer.measure(SCREEN, [PLAIN])
    assert found is not None
    assert found[PLAIN].leak is not None
    (again,) = longer.state.chunks
    assert again.folder == chunk.folder
    assert again.rates

    over = laboratory(tmp_path / "search", budget=1e-6)
    assert over.measure(SCREEN, [PLAIN]) == found  # what is stored is read without any time


def test_only_what_waits_for_processes_is_left_out_of_the_cost_of_others(tmp_path: Path) -> None:
    here = laboratory(tmp_path / "search", budget=600.0)
    other = Candidate(batch_size=2, width=8)
    here.measure(SCREEN, [PLAIN])
    here.measure(SCREEN, [other])
    assert [chunk.first for chunk in here.state.chunks] == [True, False]
    again = laboratory(tmp_path / "search", budget=600.0)
    again.measure(SCREEN, [PLAIN])  # stored: nothing is started for it
    again.measure(SCREEN, [Candidate(batch_size=3)])
    assert [chunk.first for chunk in again.state.chunks] == [True, False, True]


def test_what_was_measured_together_is_found_again_one_by_one_and_the_other_way_round(tmp_path: Path) -> None:
    narrow, larger = Candidate(batch_size=2, width=8), Candidate(batch_size=3)
    here = laboratory(tmp_path / "search", budget=600.0)
    together = here.measure(SCREEN, [PLAIN, narrow])
    alone = here.measure(SCREEN, [larger])
    assert together is not None
    assert alone is not None

    over = laboratory(tmp_path / "search", budget=1e-6)  # as with another --jobs: settings are grouped anew
    assert over.measure(SCREEN, [narrow]) == {narrow: together[narrow]}
    assert over.measure(SCREEN, [larger, PLAIN]) == {PLAIN: together[PLAIN], **alone}
    untried = Candidate(batch_size=4)
    assert over.measure(SCREEN, [larger, untried]) == alone  # some of it is better than nothing
    assert over.measure(SCREEN, [untried]) is None
    assert len(over.state.chunks) == 2


def test_what_a_batch_tells_of_its_categories_is_counted_beside_every_attack(tmp_path: Path) -> None:
    here = laboratory(tmp_path / "search", budget=600.0)
    found = here.measure(SCREEN, [PLAIN, Candidate(batch_size=2, defense="gaussian_noise:10")])
    assert found is not None
    plain, noisy = (each.leak for each in found.values())
    assert plain is not None
    assert noisy is not None
    assert plain.presence is not None
    assert plain.presence.mean > 0  # every category of an undefended update
    assert noisy.presence is None or noisy.presence.mean < plain.presence.mean
