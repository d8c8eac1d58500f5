"""The sections on sums: the verdict names its threat model, and the smallest cohort that hides comes with a caveat."""

from __future__ import annotations

from seepage.report import render
from seepage.report.level import Level
from seepage.report.sections.cohort_sums import cohort_sums
from seepage.report.sections.cohorts_verdict import ONE_SUM, sentence, verdict
from seepage.report.sections.next_steps import next_steps
from seepage.results import Record
from tests.report.cohorts_example import a_cohorts_cell, a_cohorts_summary, cohorts_records, counted
from tests.report.example import Reader, plain


def test_rows_read_from_sums_are_a_leak_and_the_threat_model_is_named() -> None:
    found = verdict(a_cohorts_summary())
    assert found.level is Level.LEAKS
    assert found.headline.startswith("From a sum over a cohort of clients the server read 100")
    assert ONE_SUM in found.sentences
    assert len(found.tiles) == 3


def test_where_nothing_is_read_no_safety_is_said() -> None:
    summary = a_cohorts_summary(cohorts_records(a_cohorts_cell(cohort_size=8), 0.0, 0.0, trials=12))
    found = verdict(summary)
    assert found.level is Level.NOT_FOUND
    assert "no proof of safety" in found.meaning
    assert "honest server" in found.meaning


def test_predicted_and_measured_stand_side_by_side() -> None:
    (hiding,) = a_cohorts_summary().hiding
    assert (hiding.predicted, hiding.leaking, hiding.measured) == (8, 4, 8)
    said = plain(sentence(hiding))
    assert "predicted by counting 8; measured: 8 is the smallest tested that does" in said
    (open_,) = a_cohorts_summary(cohorts_records(a_cohorts_cell(), 1.0, 0.0)).hiding
    assert "none of those tested hides" in sentence(open_)
    (none,) = a_cohorts_summary([], counted=(counted(rows=None, cohort=None),)).hiding
    assert "no row can be read by algebra" in sentence(none)


def test_every_attack_has_its_line_and_sizes_a_figure() -> None:
    view = cohort_sums(a_cohorts_summary())
    assert view is not None
    assert [len(target.lines) for target in view.targets] == [2, 1, 1]
    assert [figure.name for figure in view.figures] == ["plot-cohorts-rows"]
    assert cohort_sums(a_cohorts_summary([])) is None


def test_an_attack_that_could_not_be_mounted_says_why() -> None:
    said = "No category is one client's alone, so there is none to give to it."
    failed = Record(
        cell=a_cohorts_cell(reads="entries", attack="lone_entries"), outcome="not_applicable", note=said, values={}
    )
    text = Reader(render(a_cohorts_summary([failed]))).text
    assert "is one client" in text


def test_what_to_do_names_the_cohort_and_what_undoes_it() -> None:
    said = " ".join(step.sentence for step in next_steps(a_cohorts_summary()).steps)
    assert "by counting, 8 clients or more" in said
    assert "Never run a round again" in said
