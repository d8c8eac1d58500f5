"""The study of parties: what crosses is recorded, attacked, and stands beside the attacker alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import seepage
from seepage._core import InputError
from seepage.data import clinic
from seepage.report import render
from seepage.results import Run, read_summary
from seepage.results.parties import PartiesResult, PartiesSummary
from tests.report.example import Reader

SHORT: dict[str, Any] = {
    "study": "parties", "data": "clinic", "guests": 2, "rows": 400, "pretraining": 1, "finetuning": 4, "batch_size": 64,
    "latent": 3, "runs": 1, "predictions": 2, "known_labels": 5,
}  # fmt: skip
EVERY = [
    "as_sent", "known_rows", "zeros_and_ones", "equality_solving", "generative_regression:steps=20", "gradient_norm",
    "gradient_direction", "gradient_clusters", "model_completion", "gradient_completion",
]  # fmt: skip


def audited(**changes: Any) -> PartiesSummary:
    summary = seepage.audit(**SHORT | changes)
    assert isinstance(summary, PartiesSummary)
    return summary


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every attack, without a defence."""
    place = tmp_path_factory.mktemp("parties") / "run"
    audited(attacks=EVERY, out=place)
    return place


@pytest.fixture(scope="module")
def summary(folder: Path) -> PartiesSummary:
    found = read_summary(Run.open(folder))
    assert isinstance(found, PartiesSummary)
    return found


@pytest.fixture(scope="module")
def defended() -> PartiesSummary:
    """One attack behind two defences."""
    private = ["dp_intermediates:noise=2", "dp_gradients:noise=4"]
    return audited(attacks=["equality_solving"], defenses=private, finetuning=2)


def cell(summary: PartiesSummary, attack: str, defense: str = "none") -> PartiesResult:
    return next(c for c in summary.cells if c.attack.startswith(attack) and c.defense.startswith(defense))


def value(result: PartiesResult, name: str) -> float:
    found = result.metrics[name]
    assert found is not None
    return found.mean


def test_every_attack_stands_beside_the_attacker_alone_a_guess_and_the_model(summary: PartiesSummary) -> None:
    assert len(summary.cells) == len(EVERY)
    for each in summary.cells:
        assert each.measured, (each.attack, each.notes)
        for name in ("read", "alone", "guess", "f1", "macro_f1", "roc_auc"):
            assert 0 <= value(each, name) <= 1
        full = 1 if each.reads == "columns" else 2
        beyond = full * (value(each, "read") - max(value(each, "alone"), value(each, "guess")))
        assert value(each, "gain") == pytest.approx(beyond)
        assert each.judged["gain"] == each.metrics["gain"]


def test_a_square_layer_does_not_hide_columns_from_a_host_that_calculates(summary: PartiesSummary) -> None:
    assert value(cell(summary, "as_sent"), "gain") < 0
    assert value(cell(summary, "known_rows"), "read") > 0.95
    assert value(cell(summary, "equality_solving"), "read") > 0.999
    assert value(cell(summary, "zeros_and_ones"), "read") > 0.5


def test_each_defence_is_felt_where_it_works(defended: PartiesSummary) -> None:
    assert value(cell(defended, "equality_solving", "dp_intermediates"), "read") < 0.95
    assert value(cell(defended, "equality_solving", "dp_gradients"), "read") > 0.999


def test_epsilon_is_told_where_a_defence_has_one_and_grows_with_messages(
    summary: PartiesSummary, defended: PartiesSummary
) -> None:
    assert cell(summary, "known_rows").epsilon is None
    columns, labels = (
        cell(defended, "equality_solving", name).epsilon for name in ("dp_intermediates", "dp_gradients")
    )
    assert columns is not None
    assert labels is not None
    assert columns > labels  # less noise, and messages of both phases and of predictions


def test_the_threat_model_is_read_off_what_crossed(summary: PartiesSummary) -> None:
    host, guest = summary.threat_model.sees
    assert "intermediate results" in host
    assert "gradients" in guest
    assert "intermediate" not in guest
    assert any("weights of the guest" in sentence for sentence in summary.threat_model.knows)
    local = audited(design="local", attacks=["known_rows"], rows=200, finetuning=1)
    assert "masks" not in " ".join(local.threat_model.sees)
    assert not any("weights of the guest" in sentence for sentence in local.threat_model.knows)


def test_the_report_says_what_was_read_alone_and_at_which_price(
    summary: PartiesSummary, defended: PartiesSummary
) -> None:
    text = Reader(render(summary)).text
    assert "without messages the same attacker gets" in text
    assert "It is no guarantee for a person" in Reader(render(defended)).text
    assert "A host that is handed the guests' weights" not in text  # it was tested


def test_a_finished_run_is_not_made_again(folder: Path) -> None:
    before = read_summary(Run.open(folder))
    audited(attacks=EVERY, out=folder)
    assert read_summary(Run.open(folder)).cells == before.cells


def test_the_party_that_has_the_target_is_the_host(tmp_path: Path) -> None:
    frame = clinic(200).with_row_index("person")
    frame.select("person", *frame.columns[1:5]).write_csv(tmp_path / "shop.csv")
    frame.select("person", *frame.columns[5:9], "died").write_csv(tmp_path / "bank.csv")
    tables = {name: str(tmp_path / f"{name}.csv") for name in ("shop", "bank")}
    found = audited(
        data=None, guests=None, tables=tables, key="person", target="died", attacks=["known_rows"], known_rows=4,
        finetuning=1,
    )  # fmt: skip
    assert found.cells[0].guests == 2
    assert found.cells[0].measured


def test_an_attack_that_does_not_apply_is_counted_and_says_why() -> None:
    found = audited(design="local_encoders", attacks=["as_sent", "model_completion"], finetuning=1)
    assert not cell(found, "as_sent").measured
    assert "no columns that could be read" in cell(found, "as_sent").notes[0]
    assert cell(found, "model_completion").measured


@dataclass(frozen=True)
class Foreign:
    """Somebody's attack that was made for another study."""

    def start(self, scene: object, streams: object) -> object:
        return self


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"guests": 1}, "at least 2"),
        ({"design": "central"}, "works in the study training"),
        ({"attacks": ["exact"]}, "works in the study"),
        ({"defenses": ["top_k"]}, "works in the study"),
        ({"attacks": [Foreign()]}, "does not say what it reads"),
        ({"finetuning": 0}, "gradients of fine-tuning"),
        ({"key": "person"}, "The key belongs to"),
        ({"latent": 1}, "latent dimension is 1"),
    ],
)
def test_mistakes_are_one_sentence(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        audited(**changes)
