"""The verdict on vertical training."""

from __future__ import annotations

from seepage.report.level import Level
from seepage.report.sections.training_verdict import MEANINGS, verdict
from seepage.results import Measure, Record
from seepage.results.training import MODEL
from tests.report.example import a_training_cell, a_training_summary, plain, trainings


def with_values(records: list[Record], **changes: float) -> list[Record]:
    """The same trainings, with other numbers of what the parties read."""
    scopes = {"as sent": "cells read by the host", "with as many known rows as columns": "cells read by the host"}
    scopes |= {"AUC by norm": "labels from gradients"}
    new = {Measure(MODEL, f"privacy/{scopes[name]}", name): value for name, value in changes.items()}
    return [
        Record(cell=r.cell, repeat=r.repeat, rows=r.rows, outcome=r.outcome, values={**r.values, **new})
        for r in records
    ]


def test_verdict_of_a_usual_run() -> None:
    found = verdict(a_training_summary())
    assert found.level is Level.LEAKS
    assert plain(found.headline) == (
        "An honest-but-curious host read 38 % of the guests' cells from what it is sent, and 98 % of the guests' cells "
        "when it knows as many rows as a guest has columns. Guessing gets 60 %."
    )
    labels, worst, worth, dealt = map(plain, found.sentences)
    assert labels.startswith("A guest tells the labels from the gradients it gets with an AUC of 0.774")
    assert worst == "This is the worst of 3 measured settings: TabVFL."
    assert worth.endswith("TabVFL 0.854, central TabNet (CT) 0.904.")
    assert dealt == "6 columns lie at 2 guests, the labels at the host."


def test_what_was_not_measured_is_not_called_safe() -> None:
    found = verdict(a_training_summary(trainings(a_training_cell(), 0.8, privacy=False)))
    assert found.level is Level.NOT_MEASURED
    assert "was not measured" in found.headline
    assert "--privacy" in MEANINGS[found.level]
    assert [tile.title for tile in found.tiles] == ["best F1, rows the encoder never saw"]


def test_a_central_model_has_no_parties_to_read() -> None:
    found = verdict(a_training_summary(trainings(a_training_cell(design="central"), 0.8)))
    assert found.level is Level.NOT_MEASURED


def test_labels_alone_are_a_leak_too() -> None:
    nothing = {"as sent": 0.3, "with as many known rows as columns": 0.5}
    records = with_values(trainings(a_training_cell(), 0.8), **nothing, **{"AUC by norm": 0.5})
    assert verdict(a_training_summary(records)).level is Level.NOT_FOUND
    records = with_values(records, **{"AUC by norm": 0.8})
    assert verdict(a_training_summary(records)).level is Level.LEAKS
    records = with_values(records, **{"AUC by norm": 0.6})
    assert verdict(a_training_summary(records)).level is Level.SOME
