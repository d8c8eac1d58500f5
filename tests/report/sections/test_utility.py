"""What the model is worth."""

from __future__ import annotations

from seepage.report import render
from seepage.report.sections.utility import utility
from tests.report.example import Reader, a_cell, a_dataset, a_summary, a_utility, plain, records_of


def test_utility_is_averaged_over_repeats() -> None:
    view = utility(a_summary())
    assert len(view.points) == 6
    assert view.points[0].repeats == 2
    assert view.score == "roc_auc"
    assert view.points[1].test
    assert not view.points[0].test
    assert view.points[1].round == "260–261"
    assert view.figure is not None


def test_regression() -> None:
    dataset = a_dataset(task="regression")
    for scores, chosen in (({"loss": 2.0, "rmse": 14.51, "r2": None}, "r2"), ({"loss": 2.0, "rmse": 14.51}, "rmse")):
        entries = [a_utility(8, "untrained", 0, dict(scores))]
        summary = a_summary(records_of(a_cell()), dataset=dataset, utility=entries)
        assert utility(summary).score == chosen
    assert utility(summary).score_title == "validation RMSE (lower is better)"
    assert "14.5" in Reader(render(summary)).text


def test_each_defence_has_the_leakage_of_its_own() -> None:
    noise = "gaussian_noise:deviation=0.1"
    entries = [
        a_utility(8, point, 0, {"loss": 0.7, "roc_auc": score}, defense=defense)
        for defense, score in (("none", 0.9), (noise, 0.6))
        for point in ("untrained", "best")
    ]
    records = [*records_of(a_cell(), 3, accuracy=0.9), *records_of(a_cell(defense=noise), 3, accuracy=0.3)]
    view = utility(a_summary(records, utility=entries))
    assert [plain(point.group) for point in view.points] == ["no defence"] * 2 + ["gaussian_noise 0.1"] * 2
    first, second, third, _ = view.points
    assert first.leak is not None
    assert third.leak is not None
    assert first.leak.mean > third.leak.mean + 0.4
    assert second.leak is None  # nobody attacked there


def test_a_run_that_did_not_measure_it_says_so() -> None:
    assert "The run did not measure the model's quality." in Reader(render(a_summary(records_of(a_cell())))).text


def test_only_a_trained_model_is_called_no_better_than_a_constant() -> None:
    scores: dict[str, float | None] = {"loss": 0.7, "roc_auc": 0.4}
    entries = [a_utility(8, "initialized", 0, dict(scores)), a_utility(8, "final", 5, dict(scores))]
    entries[0] = entries[0].model_copy(update={"round": 0})
    entries[1] = entries[1].model_copy(update={"round": 50})
    untrained, trained = utility(a_summary(records_of(a_cell()), utility=entries)).points
    assert untrained.remark == "not trained yet"
    assert trained.remark == "no better than a constant: ROC AUC 0.400; chance gets 0.500 (validation rows)"
