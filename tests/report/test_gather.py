"""What the page says, before it is a page."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seepage._core import InputError
from seepage.report import words
from seepage.report.gather import Page, gather
from seepage.report.verdict import Leak, Level, headline_of, overall
from seepage.results import Interval, Summary
from tests.report.example import COLUMNS, a_cell, a_dataset, a_summary, a_utility, many_columns, records_of


def plain(text: str) -> str:
    """The text with ordinary spaces, as a person would type it."""
    return text.replace(words.SPACE, " ")


def a_leak(**changes: object) -> Leak:
    """54 of 80 rows, 90 % of cells, where guessing gets 56 %."""
    leak = Leak(
        number=1,
        cell=a_cell(),
        label="batch 8",
        trials=10,
        failed=0,
        outcome="ok",
        exposure=0.0,
        seconds=1.0,
        rows=80,
        rows_exact=54,
        rows_guessed=0,
        accuracy=Interval(0.9, 0.88, 0.92),
        accuracy_num=None,
        accuracy_cat=None,
        exact=Interval(0.675, 0.6, 0.75),
        baselines={"prior": Interval(0.56, 0.5, 0.6), "uniform": Interval(0.2, 0.1, 0.3), "marginal": None},
        gain={"prior": Interval(0.34, 0.3, 0.4), "uniform": Interval(0.7, 0.6, 0.8), "marginal": None},
        exact_gain={"prior": Interval(0.67, 0.6, 0.7), "uniform": Interval(0.67, 0.6, 0.7), "marginal": None},
    )
    return replace(leak, **changes)  # type: ignore[arg-type]


def test_headline() -> None:
    assert plain(headline_of(a_leak())) == (
        "With batches of 8, an honest-but-curious server read 54 of 80 rows exactly, and 90 % of all cells. "
        "Guessing from the clients' own averages gets 56 %."
    )


def test_headline_without_whole_rows_and_for_another_adversary() -> None:
    leak = a_leak(rows_exact=0, cell=a_cell(protocol="sequential", batch_size=1))
    assert plain(headline_of(leak)).startswith(
        "With batches of one row, the attacker read no row of 80 exactly, but 90 % of all cells."
    )


def test_the_guess_to_beat_is_the_best_one() -> None:
    leak = a_leak(
        baselines={"prior": Interval(0.5, 0.4, 0.6), "marginal": Interval(0.8, 0.7, 0.9), "uniform": None},
        gain={"prior": Interval(0.4, 0.3, 0.5), "marginal": Interval(0.1, -0.1, 0.2), "uniform": None},
    )
    assert leak.guess == "marginal"
    assert leak.level is Level.SOME  # whole rows, but guessing does as well
    assert "the columns of the whole data set gets 80" in plain(headline_of(leak))


def gained(mean: float, low: float | None, high: float | None) -> dict[str, Interval | None]:
    return {"prior": Interval(mean, low, high), "uniform": None, "marginal": None}


@pytest.mark.parametrize(
    ("changes", "level"),
    [
        ({}, Level.LEAKS),
        ({"rows_exact": 0}, Level.LEAKS),
        ({"rows_exact": 0, "gain": gained(0.1, 0.05, 0.15)}, Level.SOME),
        ({"rows_exact": 3, "gain": gained(0.0, -0.1, 0.1)}, Level.SOME),
        # rows that a guess reads as well are no evidence
        (
            {"rows_exact": 3, "rows_guessed": 5, "gain": gained(0, -0.1, 0.1), "exact_gain": gained(-0.02, -0.1, 0)},
            Level.NOT_FOUND,
        ),
        # a few rows that nobody guesses are, however wide the interval
        ({"rows_exact": 4, "gain": gained(-0.1, -0.2, 0), "exact_gain": gained(0.01, 0, 0.03)}, Level.SOME),
        ({"rows_exact": 0, "gain": gained(0.02, -0.01, 0.05)}, Level.NOT_FOUND),
        ({"rows_exact": 0, "gain": gained(0.02, -0.01, 0.05), "failed": 1}, Level.INCOMPLETE),
        ({"rows_exact": 0, "gain": gained(0.0, -0.1, 0.1), "outcome": "budget_spent"}, Level.INCOMPLETE),
        ({"rows_exact": 0, "gain": gained(-0.1, None, None)}, Level.INCOMPLETE),  # one batch says little
        ({"rows_exact": 0, "gain": gained(0.1, None, None)}, Level.SOME),
        ({"accuracy": None, "rows_exact": 0, "failed": 10}, Level.NOT_MEASURED),
    ],
)
def test_level_of_a_setting(changes: dict[str, object], level: Level) -> None:
    assert a_leak(**changes).level is level


@pytest.mark.parametrize(
    ("levels", "whole"),
    [
        ([Level.NOT_FOUND, Level.LEAKS, Level.NOT_MEASURED], Level.LEAKS),
        ([Level.NOT_FOUND, Level.SOME], Level.SOME),
        ([Level.NOT_FOUND, Level.NOT_FOUND], Level.NOT_FOUND),
        ([Level.NOT_FOUND, Level.NOT_MEASURED], Level.INCOMPLETE),
        ([Level.NOT_MEASURED], Level.NOT_MEASURED),
        ([], Level.NOT_MEASURED),
    ],
)
def test_a_failed_attack_never_makes_the_whole_better(levels: list[Level], whole: Level) -> None:
    assert overall(levels) is whole


def test_no_level_promises_safety() -> None:
    assert not any("safe" in level.word.lower() for level in Level)


@pytest.fixture(scope="module")
def page() -> Page:
    return gather(a_summary())


def test_verdict_of_a_usual_run(page: Page) -> None:
    assert page.verdict.level is Level.LEAKS
    assert page.verdict.worst is not None
    assert page.verdict.worst.cell == a_cell(batch_size=1)
    worst, sensitive, safest, failed, unmeasured = map(plain, page.verdict.sentences)
    assert worst.startswith("This is the worst of 10 measured settings: table ")
    assert "model mlp, protocol fedsgd, attack tableak" in worst
    assert sensitive.startswith("Of the 2 columns marked sensitive, diagnosis gained most over guessing")
    assert safest.startswith("The least leaking choice tested was batch 32")
    assert failed == "28 of 120 attacks gave nothing to score; they are counted and never averaged."
    assert unmeasured == "2 settings could not be measured; that does not mean safe."


def test_labels_hold_only_what_differs(page: Page) -> None:
    assert plain(page.leaks[0].label) == "batch 1 · untrained · tableak"
    alone = gather(a_summary(records_of(a_cell())))
    assert plain(alone.leaks[0].label) == "batch 8 · tableak"


def test_sensitive_columns_come_first(page: Page) -> None:
    assert [view.sensitive for view in page.columns] == [True, True, False, False, False, False]
    assert page.columns[0].name == "diagnosis"
    assert [len(view.gains) for view in page.columns] == [12] * 6
    assert page.columns[0].gains[9] is None  # that setting failed


def test_columns_of_one_name_in_two_tables_are_two() -> None:
    columns = [COLUMNS[0] | {"dataset": name} for name in ("one", "two")]
    records = records_of(a_cell(dataset="one"), accuracy=0.95) + records_of(a_cell(dataset="two"), accuracy=0.6)
    dataset = a_dataset(columns) | {"dropped": [{"name": "id", "reason": "unique", "dataset": "two"}]}
    page = gather(a_summary(records, COLUMNS[:1], dataset=dataset))
    one, two = page.columns
    assert (one.label, two.label) == ("age (one)", "age (two)")
    assert one.gains[0] is not None
    assert one.gains[1] is two.gains[0] is None
    assert one.gain is not None
    assert two.gain is not None
    assert one.gain > two.gain + 0.2
    assert page.dropped == (("id (two)", "unique"),)


def test_choices_are_judged_by_their_worst_case(page: Page) -> None:
    assert [plain(choice.label) for choice in page.choices] == ["batch 32", "batch 8", "batch 1"]
    assert (page.choices[0].unmeasured, page.choices[0].not_applicable) == (0, 2)


def test_a_choice_whose_attack_broke_down_is_not_called_the_safest() -> None:
    broken = records_of(a_cell(batch_size=32), accuracy=0.5, exact=0.0)
    broken += records_of(a_cell(batch_size=32, attack="exact"), outcome="diverged")
    page = gather(a_summary([*records_of(a_cell()), *broken]))
    assert [plain(choice.label) for choice in page.choices] == ["batch 8", "batch 32"]
    assert not any("batch 32" in plain(sentence) for sentence in page.verdict.sentences)


def test_trends(page: Page) -> None:
    size, moment = page.trends
    assert size.ticks == ("1", "8", "32")
    assert len(size.series) == 4
    assert plain(size.sentence).startswith("From batches of one row to batches of 32, the share of cells read fell")
    assert moment.ticks == ("untrained (0.0)", "best (6.5)")


def test_many_lines_become_their_upper_edge() -> None:
    records = [r for m in range(9) for b in (1, 8) for r in records_of(a_cell(model=f"m{m}", batch_size=b), 2)]
    trend, models = gather(a_summary(records)).trends
    assert [line.name for line in trend.series] == ["worst of 9 settings"]
    assert (models.dimension, len(models.series)) == ("model", 2)


def test_utility_is_averaged_over_repeats(page: Page) -> None:
    assert len(page.utility.points) == 6
    assert page.utility.points[0].repeats == 2
    assert page.utility.score == "roc_auc"
    assert page.utility.points[1].test
    assert not page.utility.points[0].test


def test_utility_of_regression() -> None:
    utility = [a_utility(8, "untrained", 0, {"loss": 2.0, "rmse": 1.4, "r2": None})]
    view = gather(a_summary(records_of(a_cell()), dataset=a_dataset(task="regression"), utility=utility)).utility
    assert view.score == "r2"
    utility = [a_utility(8, "untrained", 0, {"loss": 2.0, "rmse": 1.4})]
    view = gather(a_summary(records_of(a_cell()), dataset=a_dataset(task="regression"), utility=utility)).utility
    assert view.score_title == "validation RMSE (lower is better)"


def test_one_batch_has_no_interval() -> None:
    page = gather(a_summary(records_of(a_cell(), 1)))
    (leak,) = page.leaks
    assert leak.accuracy is not None
    assert leak.accuracy.low is None
    assert page.trends == ()


def test_nothing_measured() -> None:
    page = gather(a_summary(records_of(a_cell(), 3, outcome="failed")))
    assert page.verdict.level is Level.NOT_MEASURED
    assert page.verdict.worst is None
    assert page.failed == page.trials == 3
    assert [(failure.code, failure.scored) for failure in page.failures] == [("failed", False)]


def test_trainings_that_were_not_run_are_told_and_a_crash_is_never_called_no_leak() -> None:
    records = records_of(a_cell(), accuracy=0.5, exact=0.0)
    impossible = "Not run: mlp, batch 500. A client has 40 rows."
    crashed = "Not run: mlp, batch 9. An internal error stopped it: ZeroDivisionError: a bug"
    verdict = gather(a_summary(records, not_tested=[impossible])).verdict
    assert verdict.level is Level.NOT_FOUND
    assert plain(verdict.sentences[-1]) == "1 training of the plan could not be run; see what was not tested."
    verdict = gather(a_summary(records, not_tested=["Defences.", crashed, crashed])).verdict
    assert verdict.level is Level.INCOMPLETE
    assert plain(verdict.sentences[-1]).startswith("2 trainings were stopped by an internal error")
    assert gather(a_summary([], not_tested=[crashed])).verdict.level is Level.NOT_MEASURED


def test_no_setting_at_all() -> None:
    page = gather(a_summary([]))
    assert page.verdict.sentences == ("The run holds no tested setting.",)
    assert len(page.columns) == len(COLUMNS)


def test_of_hundreds_of_columns_those_at_risk_are_shown_and_the_rest_counted() -> None:
    shown = gather(a_summary(records_of(a_cell()), many_columns(784)))
    assert (len(shown.columns), shown.columns_left_out) == (240, 544)
    assert all(column.sensitive for column in shown.columns[:20])


def test_no_numeric_columns() -> None:
    columns = [column for column in many_columns(6) if column["kind"] != "numeric"]
    (leak,) = gather(a_summary(records_of(a_cell(), columns=columns), columns)).leaks
    assert leak.accuracy_num is None
    assert leak.measured


def test_settings_leave_out_what_may_hold_values(page: Page) -> None:
    assert dict(page.settings) == {"batch_sizes": "1, 8, 32", "deviation": "client"}


def test_settings_that_vary_are_all_told() -> None:
    variants = [{"settings": {}}, {"settings": {"deviation": "global", "seed": 8}}]
    settings = {"seed": 7, "deviation": "client", "trials": 3}
    page = gather(a_summary(records_of(a_cell()), settings=settings, variants=variants))
    assert dict(page.settings) == {"seed": "7 or 8", "deviation": "client or global", "trials": "3"}
    assert dict(page.facts)["Seed"] == "7, 8"
    assert "(in some settings: of the whole data set's" in page.deviation


def test_a_lone_sentence_is_a_list_of_one() -> None:
    threats = a_summary().document["threat_model"] | {"adversary": "A server."}
    assert gather(a_summary(threat_model=threats)).threat_model[0].sentences == ("A server.",)


def test_revealed_rows_only_on_request(page: Page) -> None:
    assert page.revealed == ()
    pair = {"cell": a_cell().id, "client": 2, "truth": {"age": 41}, "reconstruction": {"age": 40.8}}
    found = gather(a_summary(records_of(a_cell()), revealed=[pair] * 103))
    assert plain(found.revealed[0].label) == "client 2, batch 8 · tableak"
    assert found.revealed[0].cells == (("age", "41", "40.8"),)
    assert (len(found.revealed), found.revealed_left_out) == (100, 3)


def test_an_incomplete_summary_is_the_users_to_know() -> None:
    document = dict(a_summary().document)
    del document["cells"], document["seed"]
    with pytest.raises(InputError, match="lacks seed, cells"):
        gather(Summary(document))


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0 %"), (1.0, "100 %"), (0.9996, "over 99 %"), (0.0004, "under 1 %"), (0.555, "56 %"), (None, "–")],
)
def test_percent_never_rounds_to_all_or_nothing(share: float | None, text: str) -> None:
    assert plain(words.percent(share)) == text


def test_points_and_long_names() -> None:
    assert (words.points(0.344), words.points(-0.02), words.points(0.001)) == ("+34", "−2", "±0")
    assert words.shortened("a" * 100, 20) == "a" * 13 + "…" + "a" * 6
    assert words.shortened("short  name", 20) == "short name"
