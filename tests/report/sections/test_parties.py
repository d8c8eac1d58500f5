"""The sections of the study of parties."""

from __future__ import annotations

from seepage.report import render
from seepage.report.level import Level
from seepage.report.sections.parties_verdict import verdict
from seepage.report.sections.party_attacks import party_attacks
from seepage.report.sections.party_defences import party_defences
from seepage.results import Record
from tests.report.example import Reader, a_parties_cell, a_parties_summary, parties_records, plain

LABELS: dict[str, object] = {"reads": "labels", "attack": "gradient_norm"}


def test_the_verdict_is_about_what_messages_add_to_what_the_attacker_has() -> None:
    nothing = a_parties_summary(parties_records(a_parties_cell(), 0.9, 0.9, 0.6))
    assert verdict(nothing).level is not Level.LEAKS
    much = a_parties_summary(parties_records(a_parties_cell(), 0.9, 0.5, 0.6))
    assert verdict(much).level is Level.LEAKS
    assert "90 % of a guest's cells (known_rows, tabvfl, without a defence)" in plain(verdict(much).headline)
    assert "without messages the same attacker gets 50 %, a guess 60 %" in plain(verdict(much).headline)


def test_an_auc_of_labels_counts_twice_its_way() -> None:
    labels = a_parties_summary(parties_records(a_parties_cell(**LABELS), 0.62, 0.5, 0.5))
    assert verdict(labels).level is Level.LEAKS
    assert "the labels with a ROC AUC of 0.624" in verdict(labels).headline
    little = a_parties_summary(parties_records(a_parties_cell(**LABELS), 0.54, 0.5, 0.5))
    assert verdict(little).level is Level.SOME


def test_both_sides_are_told_and_the_worse_one_first() -> None:
    found = verdict(a_parties_summary())
    assert found.headline.startswith("A guest read the labels")
    assert any(sentence.startswith("The host read") for sentence in found.sentences)
    assert len(found.tiles) == 4


def test_attacks_on_columns_and_labels_stand_apart_with_a_figure_each() -> None:
    view = party_attacks(a_parties_summary())
    assert view is not None
    assert [target.title for target in view.targets] == [
        "The host, of a guest's columns",
        "A guest, of the host's labels",
    ]
    assert len(view.figures) == 2
    assert all(len(target.lines) == 2 for target in view.targets)


def test_an_attack_that_could_not_be_mounted_says_why() -> None:
    records = [*parties_records(a_parties_cell(), 0.9, 0.5, 0.6), *_not_mounted()]
    text = Reader(render(a_parties_summary(records))).text
    assert "There are 3 classes" in text
    assert "1 setting could not be measured; that does not mean safe." in plain(text)


def _not_mounted() -> list[Record]:
    said = "There are 3 classes; this attack tells two apart."
    return [Record(cell=a_parties_cell(**LABELS), outcome="not_applicable", note=said, values={})]


def test_prices_are_told_where_there_is_something_to_compare() -> None:
    prices = party_defences(a_parties_summary())
    assert prices is not None
    assert [price.epsilon for price in prices.every] == ["none promised", "42"]
    assert "known_rows" in prices.every[0].columns
    assert "gradient_completion" in prices.every[0].labels
    assert party_defences(a_parties_summary(parties_records(a_parties_cell(), 0.9, 0.5, 0.6))) is None
