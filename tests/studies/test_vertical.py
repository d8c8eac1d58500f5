"""The study of vertical gradients: people's rows from gradients of batches that the server chose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import seepage
from seepage._core import InputError
from seepage.observation.vertical import IN_A_BATCH
from seepage.results import Run, read_summary
from seepage.results.gate import Limits, asked_attacks, breaches
from seepage.results.vertical import VerticalSummary
from seepage.runs import make_plan

SMALL: dict[str, Any] = {
    "study": "vertical", "data": "clinic", "model": "mlp_tableak", "people": 60, "batch_size": 6, "trials": 1,
    "attack": "cafe_closed_form",
}  # fmt: skip


def audited(**changes: Any) -> VerticalSummary:
    own = SMALL if "attacks" not in changes else {key: value for key, value in SMALL.items() if key != "attack"}
    summary = seepage.audit(**(own | changes))
    assert isinstance(summary, VerticalSummary)
    return summary


def test_the_closed_form_reads_everybody_and_the_report_says_so(tmp_path: Path) -> None:
    summary = audited(out=tmp_path / "run")
    (cell,) = summary.cells
    assert (cell.attack, cell.rows_exact, cell.rows, cell.batches) == ("cafe_closed_form", 60, 60, 66)
    assert read_summary(Run.open(tmp_path / "run")) == summary
    page = (tmp_path / "run" / "report.html").read_text()
    assert "which rows it chose for the batch" in page or "which rows" in page


def test_the_threat_model_is_read_off_what_is_handed_out() -> None:
    """FINDINGS: the page said that the attacker knows the labels; it is given none."""
    threat = audited().threat_model
    told = " ".join((*threat.sees, *threat.knows)).lower()
    assert "label" not in told
    assert any("label" in sentence.lower() for sentence in threat.does_not_know)
    assert IN_A_BATCH in threat.knows
    defended = audited(defense="hidden_ids").threat_model
    assert "Which defence is used, and its settings." in defended.knows
    assert IN_A_BATCH not in defended.knows
    assert "Which rows are in a batch." in defended.does_not_know


def test_a_grid_over_people_tells_each_variant_its_own_numbers() -> None:
    """FINDINGS: a grid over people printed the first variant's facts for all."""
    summary = audited(grid={"people": [40, 60]})
    assert [(cell.people, cell.batches, cell.rows) for cell in summary.cells] == [(40, 44, 40), (60, 66, 60)]


def test_a_default_run_has_enough_trials_for_an_interval() -> None:
    """FINDINGS: a default vertical run made one record and could never pass a gate."""
    summary = seepage.audit(**{key: value for key, value in SMALL.items() if key not in ("trials", "attack")})
    assert [cell.attack for cell in summary.cells] == ["spans", "cafe_closed_form"]
    for cell in summary.cells:
        assert cell.trials > 1
        assert cell.judged["emr"] is not None
        assert cell.judged["emr"].high is not None


def test_training_while_it_watches_protects_nobody() -> None:
    """FINDINGS C1: it was recommended. Half a batch for each person, and the model trains."""
    moving = {"moving": True, "batches": 40, "optimiser": "adam", "learning_rate": 1e-3}
    spans, closed = audited(attacks=("spans", "cafe_closed_form"), **moving).cells
    assert closed.rows_exact == 0
    assert spans.rows_exact > 45
    assert spans.rows_certified == spans.rows_exact
    assert spans.metrics["certified_wrong"].mean == 0  # type: ignore[union-attr]


def test_batches_that_span_nobody_are_not_passed_before_slopes_were_looked_at() -> None:
    """Batches with more rows than a row has inputs, while the model trains: `slopes` reads those of Adult."""
    moving = {"moving": True, "optimiser": "adam", "learning_rate": 1e-3, "trials": 2}
    spans, descent = (usual := audited(attacks=("spans", "cafe"), batch_size=50, batches=20, **moving)).cells
    assert not spans.measured
    assert descent.measured
    said = [str(breach) for breach in breaches(usual, Limits(exact=0.9))]
    assert any("slopes, was not run" in sentence for sentence in said)


@pytest.mark.parametrize(("moving", "asked"), [(True, "slopes"), (False, "cafe_closed_form")])
def test_what_spans_leave_is_asked_of_the_next_attack(moving: bool, asked: str) -> None:
    """Spans that read a part of the people are no answer for the others."""
    training = {"optimiser": "adam", "learning_rate": 1e-3} if moving else {}
    few = {"moving": moving, "batches": 3, "trials": 2, **training}
    spans = audited(attacks=("spans",), **few)
    (cell,) = spans.cells
    assert cell.measured
    assert cell.metrics["determined"].mean < 1  # type: ignore[union-attr]
    assert asked_attacks(spans) == {"spans": 1}  # the strongest that can be mounted, whoever is asked for beside it
    (said,) = [breach for breach in breaches(spans, Limits(exact=0.9)) if breach.weak]
    assert f"spans left rows undetermined, and {asked}, which may read them, was not run" in said.what
    every = audited(attacks=("spans", "slopes", "cafe_closed_form", "exact"), **few)
    assert not [breach for breach in breaches(every, Limits(exact=0.9)) if "undetermined" in breach.what]


def test_fake_gradients_are_a_defence_that_can_be_named() -> None:
    (cell,) = audited(defense="fake_gradients:drawn=20", batches=90).cells
    assert cell.rows_exact < 10


def test_an_attack_that_noise_keeps_away_is_not_one_that_read_nothing() -> None:
    """The page says which attacks were mounted on noisy gradients, and which were not."""
    attacks = ("spans", "slopes", "cafe_closed_form", "exact")
    cells = {cell.attack: cell for cell in audited(attacks=attacks, defense="dp_sgd:clip=1:noise=1").cells}
    assert not cells["spans"].measured
    assert not cells["slopes"].measured
    assert [(cells[name].rows, cells[name].rows_exact) for name in attacks[2:]] == [(60, 0), (60, 0)]


def test_noise_on_every_row_hides_people_and_its_price_is_told(tmp_path: Path) -> None:
    summary = audited(defenses=("dp_sgd:clip=1:noise=1", "gaussian_noise:0.1"), out=tmp_path / "run")
    assert [cell.rows_exact for cell in summary.cells] == [0, 0]
    noisy, _ = summary.losses
    assert noisy.defense.startswith("dp_sgd")
    assert (noisy.points[0][0], noisy.points[-1][0]) == (0, 66)


def test_hidden_ids_do_not_hide_rows_from_single_gradients() -> None:
    (cell,) = audited(defense="hidden_ids", attack="exact").cells
    assert cell.rows_exact > 25
    assert cell.metrics["certified_wrong"].mean == 0  # type: ignore[union-attr]


def test_ids_can_be_hidden_or_renumbered_by_name() -> None:
    summary = audited(defenses=("hidden_ids", "remapped_ids"))
    read = {cell.defense: cell.rows_exact for cell in summary.cells}
    assert read["remapped_ids"] == 60 > 6 > read["hidden_ids"]  # renumbered rows are all there, and not whose they are
    assert summary.revealed == ()


def test_the_bn_regulariser_gets_its_statistics_and_rows_are_revealed_on_request_only() -> None:
    summary = audited(attack="gradinversion_bn", batches=20, reveal=True)
    assert summary.cells[0].rows_exact < 10
    assert len(summary.revealed) == 15


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"attack": "caffe"}, "Did you mean 'cafe'"),
        ({"attack": "fast"}, "The attack 'fast' works in the study rows; this is the study vertical"),
        ({"defense": "fake_gradient"}, "Did you mean 'fake_gradients'"),
        ({"people": 0}, "at least 2"),
        ({"clients": 3}, "'clients' in the settings belongs to the studies rows and cohorts"),
        ({"partition": "iid"}, "belongs to the study rows"),
        ({"attack_points": ["final"]}, "belongs to the study rows"),
        ({"learning_rate": 0.5}, "belongs to a model that trains"),
        ({"moving": True, "optimiser": "adm"}, "Did you mean 'adam'"),
    ],
)
def test_bad_settings_are_one_sentence(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        make_plan(SMALL | settings)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [({"batch_size": 60}, "all batches are the same"), ({"people": 10**7}, "people asked for; the table has")],
)
def test_what_cannot_be_is_told_before_anything_is_written(
    settings: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=sentence):
        audited(out=tmp_path / "run", **settings)
    assert not (tmp_path / "run").exists()
