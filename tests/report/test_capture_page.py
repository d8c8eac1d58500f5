"""The page of a capture: what is there, what was certified so far, and what several rounds add."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from seepage import captures
from seepage.captures import pseudonym
from seepage.report.capture_page import capture_page
from seepage.report.capture_state import capture_state, capture_states
from seepage.report.several_rounds import several_rounds
from seepage.results import Run
from seepage.results.captured_rounds import CapturedRound, RoundTotal, round_totals
from seepage.results.store import FOLLOW, STORE_VERSION
from tests.report.example import an_updates_summary

A, B = pseudonym("a"), pseudonym("b")
BEFORE = {"net.0.weight": np.zeros((2, 3), "float32")}


def send(folder: Path, number: int, client: str, rows: int = 8, **facts: object) -> None:
    slope = {"net.0.weight": np.full((2, 3), float(number), "float32")}
    kind = {"change": slope} if facts else {"gradient": slope}
    own = {"rows": rows, "client": client, "round": number, "add": folder.exists()}
    captures.write(folder, before=BEFORE, **kind, **own, **facts)  # type: ignore[arg-type]


def read(number: int, client: str, certified: int | None, so_far: int | None = None) -> CapturedRound:
    return CapturedRound(
        sender=client, round=number, attack="exact", rows=8, outcome="ok", certified=certified, present_so_far=so_far
    )


def audit(folder: Path, *rounds: CapturedRound, live: bool = False, dataset: str = "capture") -> None:
    follows = {"follows": {"live": live}}
    head = {"store_version": STORE_VERSION, "study": "updates", "dataset": dataset, "tasks": 2, **follows}
    run = Run.create(folder, dict(head))
    run.write("summary.json", an_updates_summary(rounds=rounds).to_json())


def test_rounds_are_added_up_and_the_best_one_is_told() -> None:
    every = (read(1, A, 3, 5), read(1, B, 0, 4), read(2, A, 2, 6), read(2, B, 4, 4), read(3, A, None))
    first, second, third = round_totals(every)
    assert (first.certified, first.certified_sum, first.certified_best, first.present_so_far) == (3, 3, 3, 9)
    assert (second.certified, second.certified_sum, second.certified_best, second.present_new) == (6, 9, 7, 1)
    assert (third.certified, third.certified_sum, third.updates) == (None, 9, 1)
    told = " ".join(several_rounds((first, second)))
    assert "add up to 9. They are at least 7 different ones" in told
    assert "cannot be told from two" in told
    assert "told of 1 more" in told


def test_of_several_attacks_the_one_that_proves_most_counts() -> None:
    weaker = read(1, A, 1).model_copy(update={"attack": "other"})
    (total,) = round_totals((weaker, read(1, A, 3)))
    assert (total.certified, total.rows, total.updates) == (3, 8, 1)


@pytest.mark.parametrize(
    ("certified", "said"),
    [(None, "That says nothing about privacy"), (0, "That is not evidence of privacy"), (2, "certified, in one round")],
)
def test_one_round_gives_no_comfort(certified: int | None, said: str) -> None:
    assert said in several_rounds(round_totals((read(1, A, certified),)))[0]
    assert several_rounds(()) == ()


def test_rows_of_clients_with_one_round_each_are_different_ones() -> None:
    told = several_rounds(round_totals((read(1, A, 3), read(2, B, 2))))
    assert "so they are different ones" in told[0]


def test_a_capture_says_how_far_it_is_and_what_it_does_not_say(tmp_path: Path) -> None:
    folder = tmp_path / "capture"
    send(folder, 1, A)
    send(folder, 2, A)
    send(folder, 2, B, rows=20, learning_rate=0.1)
    (state,) = capture_states(tmp_path)
    assert (state.rounds, state.clients, len(state.entries)) == ((1, 2), (A, B), 3)
    assert state.missing == ("batch size",)
    assert state.stored == sum(file.stat().st_size for file in (folder / "tensors").iterdir())
    view = capture_page(folder, tmp_path)
    assert [(line.number, line.updates, line.rows, line.total) for line in view.lines] == [
        (2, 2, 28, None),
        (1, 1, 8, None),
    ]
    assert [(each.name, each.rounds, each.missing) for each in view.senders] == [(A, 2, ()), (B, 1, ("batch size",))]
    assert not view.audits
    assert "--follow" in view.command


def test_what_an_audit_has_certified_stands_beside_the_rounds(tmp_path: Path) -> None:
    folder = tmp_path / "capture"
    for number in (1, 2, 3):
        send(folder, number, A)
    audit(tmp_path / "run", read(1, A, 4, 5), read(2, A, 6, 7), live=True)
    audit(tmp_path / "elsewhere", read(1, "client-0000000000000000", 8))  # of another capture with the same name
    audit(tmp_path / "other", read(1, A, 8), dataset="another")
    with Run(tmp_path / "run").claimed(FOLLOW):
        view = capture_page(folder, tmp_path)
    assert view.audited == "run"
    assert {run.name for run in view.audits} == {"run", "elsewhere"}
    assert [line.total.certified if line.total else None for line in view.lines] == [None, 6, 4]
    assert view.lines[0].waits
    assert "still to be attacked" in view.adds[0]
    assert [tile.value for tile in view.tiles] == ["3", "3", "6–10", "7"]
    assert view.senders[0].certified == "6"
    assert next(run for run in view.audits if run.name == "run").progress.startswith("follows its capture: 0 of 2")
    left = next(run for run in capture_page(folder, tmp_path).audits if run.name == "run")
    assert (left.follows, left.stopped) == (False, True)


def test_a_capture_of_others_cannot_lead_anywhere(tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "capture.json").write_text("{}")
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "capture.json")
    (tmp_path / "away").mkdir()
    (tmp_path / "away" / "capture.json").symlink_to(tmp_path / "broken" / "capture.json")
    problems = {state.name: state.problem for state in capture_states(tmp_path)}
    assert "is damaged" in problems["broken"]
    assert "neither a file nor a folder" in problems["pipe"]
    assert "neither a file nor a folder" in problems["away"]
    assert capture_page(tmp_path / "broken", tmp_path).tiles == ()
    assert capture_state(tmp_path / "gone").problem


def test_a_total_has_no_number_where_there_is_none() -> None:
    empty = RoundTotal(
        round=1, updates=1, rows=8, certified=None, certified_sum=None, certified_best=None, present_so_far=None,
        present_new=None,
    )  # fmt: skip
    assert round_totals((read(1, A, None),)) == (empty,)
