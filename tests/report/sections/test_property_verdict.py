"""The verdict on a property."""

from __future__ import annotations

from seepage.report.level import Level
from seepage.report.sections.property_verdict import MEANINGS, verdict
from seepage.results import Interval
from seepage.results.facts import NotRun
from tests.report.example import a_property_cell, a_property_summary, models_made, plain, property_records


def test_verdict_of_a_usual_run() -> None:
    found = verdict(a_property_summary())
    assert found.level is Level.LEAKS
    assert plain(found.headline) == (
        "From the weights of a model alone, the share of rows with sex == 'female' is named rightly in 2 ranges for "
        "95 % of the models (guessing: 50 %), in 4 ranges for 80 % of the models (guessing: 25 %)."
    )
    nobody, number, worst, least = map(plain, found.sentences)
    assert nobody.startswith("Nobody's row is read here.")
    assert number.startswith("As a number, the share is told to within 2.0 points on average (a constant guess: 25.0)")
    assert worst == "This is the worst of 2 settings measured: no defence."
    assert least.startswith("The least leaking one was weight_noise 0.1: there the share is named rightly in 4 ranges")
    assert [plain(tile.value) for tile in found.tiles] == ["80 %", "25 %"]


def test_guessing_as_well_is_no_leak_found_and_few_models_are_not_enough() -> None:
    many = verdict(a_property_summary(property_records(a_property_cell(), 0.25, targets=400)))
    assert many.level is Level.NOT_FOUND
    few = verdict(a_property_summary(property_records(a_property_cell(), 0.25, targets=8)))
    assert few.level is Level.INCOMPLETE


def test_a_part_that_broke_down_might_have_leaked() -> None:
    records = property_records(a_property_cell(), 0.25, targets=400)
    broken = [NotRun(what="4 ranges", reason="x", state="crashed")]
    found = verdict(a_property_summary(records, not_run=broken))
    assert found.level is Level.INCOMPLETE
    assert "stopped by an internal error" in found.sentences[-1]


def test_one_of_many_above_guessing_may_be_chance() -> None:
    losses = ("sor", "coral", "corn", "ce", "mse")
    records = [
        record
        for loss in losses
        for record in property_records(a_property_cell(loss=loss), 0.4 if loss == "sor" else 0.25, targets=400)
    ]
    found = verdict(a_property_summary(records))
    assert found.level is Level.SOME
    assert found.sentences[-1].startswith("Only 1 of 5 settings is above guessing. With so many, that may be chance")
    alone = verdict(a_property_summary(records[:400]))
    assert not any("chance" in sentence for sentence in alone.sentences)


def test_models_that_learned_nothing_are_no_comfort() -> None:
    records = property_records(a_property_cell(), 0.25, targets=400)
    idle = models_made(target_balanced_accuracy=Interval(0.5, 0.49, 0.51))
    (*_, last) = verdict(a_property_summary(records, models=[idle])).sentences
    assert "learned next to nothing (balanced accuracy 0.50" in last
    assert not any("next to nothing" in each for each in verdict(a_property_summary(records)).sentences)


def test_two_properties_are_two_questions() -> None:
    records = [
        *property_records(a_property_cell(property_text="age > 60"), 0.3),
        *property_records(a_property_cell(observed="gradient"), 0.9),
    ]
    found = verdict(a_property_summary(records))
    assert found.headline.startswith("From the gradients of a model alone, the share of rows with sex == 'female'")
    assert "rows with age > 60" in found.sentences[-1]


def test_no_leak_found_names_what_it_holds_for() -> None:
    assert "no proof of safety" in MEANINGS[Level.NOT_FOUND]
    assert "threat model" in MEANINGS[Level.NOT_FOUND]
