"""What each tested setting gave away."""

from __future__ import annotations

from seepage.report.leaks import amount_read, guessed_from, leaks_of, worst_of
from seepage.report.sections.verdict import headline_of
from seepage.results import Interval
from tests.report.example import a_cell, a_summary, a_vertical_summary, plain, records_of
from tests.report.leak import a_leak


def test_labels_hold_only_what_differs() -> None:
    assert plain(leaks_of(a_summary())[0].label) == "batch 1 · untrained · tableak"
    (alone,) = leaks_of(a_summary(records_of(a_cell())))
    assert plain(alone.label) == "batch 8 · tableak"
    assert [plain(leak.label) for leak in leaks_of(a_vertical_summary())] == ["no defence", "fake_gradients"]


def test_the_guess_to_beat_is_the_best_one() -> None:
    leak = a_leak(
        baselines={"prior": Interval(0.5, 0.4, 0.6), "marginal": Interval(0.8, 0.7, 0.9), "uniform": None},
        gain={"prior": Interval(0.4, 0.3, 0.5), "marginal": Interval(0.1, -0.1, 0.2), "uniform": None},
    )
    assert leak.guess == "marginal"
    assert leak.best_gain == Interval(0.1, -0.1, 0.2)


def test_amounts_in_words() -> None:
    assert plain(amount_read(a_leak())) == "54 of 80 rows exactly, and 90 % of all cells"
    assert plain(amount_read(a_leak(rows_exact=0))) == "no row of 80, but 90 % of all cells"
    assert plain(amount_read(a_leak(rows_exact=80))) == "all 80 rows exactly, and 90 % of all cells"
    assert plain(amount_read(a_leak(rows_exact=1, rows=1))) == "the one attacked row exactly, and 90 % of all cells"
    nearly = a_leak(rows_exact=0, rows_near=7)
    assert plain(amount_read(nearly)) == "no row of 80 exactly but 7 nearly, and 90 % of all cells"
    assert plain(amount_read(a_leak(rows_near=60))) == "54 of 80 rows exactly (60 nearly), and 90 % of all cells"


def test_no_share_of_cells_is_said_to_be_read_where_guessing_gets_more() -> None:
    poor = a_leak(
        rows_exact=0,
        metrics={"accuracy": Interval(0.46, 0.4, 0.5), "exact": Interval(0, 0, 0), "emr": Interval(0, 0, 0)},
        baselines={"prior": Interval(0.64, 0.6, 0.7), "uniform": None, "marginal": None},
        gain={"prior": Interval(-0.18, -0.2, -0.1), "uniform": None, "marginal": None},
    )
    assert plain(amount_read(poor)) == "no row of 80, and no more cells than guessing gets"
    assert "46" not in headline_of(poor)
    assert "64" in headline_of(poor)


def test_the_worst_is_measured() -> None:
    records = [*records_of(a_cell(), outcome="diverged"), *records_of(a_cell(batch_size=1), accuracy=0.6, exact=0)]
    worst = worst_of(leaks_of(a_summary(records)))
    assert worst is not None
    assert worst.result.batch_size == 1
    assert worst_of(leaks_of(a_summary(records[:10]))) is None


def test_in_vertical_learning_there_are_no_clients_to_guess_from() -> None:
    assert "client" in guessed_from("rows", "prior")
    assert "client" not in guessed_from("vertical", "prior")
    assert guessed_from("rows", "uniform") == guessed_from("vertical", "uniform")
