"""The study of properties: a share read from models, updates or gradients, resumed, and one sentence for bad input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

import seepage
from seepage._core import InputError
from seepage.attacks.properties import unpacked
from seepage.attacks.properties.readers import Joined, Paths
from seepage.data.request import Request
from seepage.data.source import open_source
from seepage.results import Run, read_summary
from seepage.results.property import PropertySummary
from seepage.studies.property.making import pools_of
from seepage.studies.property.running import with_rows
from seepage.studies.property.settings import PropertySettings
from seepage.studies.property.study import STUDY

ASKED = "sex == 'female'"
SMALL: dict[str, Any] = {"study": "property", "data": "clinic", "rows_per_model": 60}


def audited(**changes: Any) -> PropertySummary:
    summary = seepage.audit(**changes)
    assert isinstance(summary, PropertySummary)
    return summary


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny audit with its report."""
    folder = tmp_path_factory.mktemp("property") / "run"
    audited(**SMALL, property=ASKED, classes=(2, 4), loss="share", models_per_class=12, hierarchy="2x2", out=folder)
    return folder


def test_every_cut_is_scored_beside_guessing(made: Path) -> None:
    summary = read_summary(Run.open(made))
    assert isinstance(summary, PropertySummary)
    assert [(cell.classes, cell.hierarchy) for cell in summary.cells] == [(2, ""), (4, ""), (4, "2x2")]
    for cell in summary.cells:
        assert np.array(cell.confusion).sum() == cell.trials == summary.models[0].targets
        assert cell.chance == 1 / cell.classes
        assert 0 <= cell.accuracy.mean <= 1
        assert (cell.share is None) == bool(cell.hierarchy)  # two steps have no interval
    assert summary.models[0].shadows == 44
    assert summary.versions["torch"]


def test_the_report_explains_itself_and_holds_no_row(made: Path) -> None:
    page = (made / "report.html").read_text()
    assert "sex == &#39;female&#39;" in page


def test_poor_models_are_used_and_named(made: Path) -> None:
    """Sixty rows of the clinic make models below the thesis' gate of 90 %."""
    summary = read_summary(Run.open(made))
    assert isinstance(summary, PropertySummary)
    (models,) = summary.models
    assert models.rejected == 0
    assert models.failing_shadows > 0
    assert set(models.failing_targets) <= set(range(models.targets))
    failing = models.failing_shadows + len(models.failing_targets)
    assert f"Quality gate: {failing} of {models.shadows + models.targets} models" in str(summary)
    assert summary.warnings[0] in (made / "report.html").read_text()


def test_an_audit_has_pools_that_share_no_row() -> None:
    assert PropertySettings(property_text=ASKED).pools == "disjoint"
    told = STUDY.not_tested([PropertySettings(property_text=ASKED)])
    assert any("--pools shared" in sentence for sentence in told)


def test_the_attack_on_shadows_is_told_beside_that_on_targets(made: Path) -> None:
    cells = read_summary(Run.open(made)).cells
    assert all(0 <= cell.metrics["shadow_accuracy"].mean <= 1 for cell in cells)  # type: ignore[union-attr]
    assert all(cell.metrics["shadow_mse"] is not None for cell in cells)


def test_no_row_is_left_in_the_folder(made: Path) -> None:
    """Models are kept for the tasks that read them; rows never are."""
    kept = {file.suffix for file in (made / "files").iterdir()}
    assert kept == {".safetensors"}
    assert not list(made.rglob("rows*"))


def test_updates_of_clients_are_read_as_differences_from_one_model(tmp_path: Path) -> None:
    tiny = SMALL | {"rows_per_model": 40, "property": ASKED, "classes": 2, "loss": "nll", "models_per_class": 10}
    summary = audited(**tiny, observed="update", out=tmp_path / "run")
    assert summary.cells[0].trials == 2
    assert summary.cells[0].reader == "flat"  # a federation does not shuffle neurons
    assert "update" in " ".join(summary.threat_model.sees)
    trained = [unpacked(file.read_bytes()).stack for file in (tmp_path / "run" / "files").iterdir()]
    weights = max((stack.weights[0] for stack in trained), key=len)
    assert weights.std(0).mean() < 0.5 * weights.std()  # trained from the same weights, models stay close to each other


def rounds_of(observed: str, *defenses: str) -> dict[str, Any]:
    return {
        "study": "property", "target": "risk", "property": "risk == 'high'", "classes": 2, "loss": "nll",
        "reader": "flat", "observed": observed, "rounds": 2, "models_per_class": 60, "rows_per_model": 100,
        "defenses": ("none", *defenses),
    }  # fmt: skip


@pytest.mark.parametrize("observed", ["update", "gradient"])
def test_several_rounds_of_a_client_are_read_together(risky: Path, observed: str) -> None:
    summary = audited(data=risky, **rounds_of(observed))
    assert summary.cells[0].accuracy.low is not None
    assert summary.cells[0].accuracy.low > 0.75
    assert any("2 rounds" in sentence for sentence in summary.threat_model.sees)


def test_a_private_client_counts_every_round_it_is_seen_in(risky: Path) -> None:
    summary = audited(data=risky, **rounds_of("gradient", "dp_sgd:clip=1:noise=30"))
    free, private = summary.cells
    assert private.accuracy.mean < free.accuracy.mean - 0.2
    assert summary.models[0].epsilon is None
    assert summary.models[1].epsilon is not None
    assert 0 < summary.models[1].epsilon < 2


def test_disjoint_pools_share_no_row_and_have_the_share_asked_for() -> None:
    source = open_source(Request(data="clinic"))
    asked = PropertySettings(property_text=ASKED, pools="disjoint", shadow_pool=0.3, shadow_share=0.7)
    pools = pools_of(source, asked)
    assert len(pools.shadow) == round(0.3 * len(source.table))
    assert pools.shadow_values.mean() == pytest.approx(0.7, abs=0.01)
    together = len(pools.shadow) + len(pools.target) + len(pools.evaluation)
    assert together == len(source.table)


@pytest.fixture(scope="module")
def risky(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small table in which half of the rows are risky, so that any share of them can be drawn."""
    generator = np.random.default_rng(0)
    score = generator.normal(size=(3000, 3))
    frame = pl.DataFrame({f"x{column}": score[:, column] for column in range(3)})
    frame = frame.with_columns(risk=np.where(score.sum(1) + generator.normal(size=3000) > 0, "high", "low"))
    path = tmp_path_factory.mktemp("risky") / "risky.csv"
    frame.write_csv(path)
    return path


def test_balancing_takes_the_attack_back_to_guessing_and_states_its_cost(risky: Path) -> None:
    summary = audited(
        data=risky, target="risk", study="property", property="risk == 'high'", classes=2, loss="nll",
        models_per_class=150, rows_per_model=320, epochs=8,
        defenses=("none", "balanced:keep=0.1", "dp_sgd:clip=1:noise=2"),
    )  # fmt: skip
    free, balanced, private = (cell.accuracy for cell in summary.cells)
    assert free.low is not None
    assert balanced.low is not None
    assert balanced.high is not None
    assert free.low > 0.75
    assert balanced.low <= 0.5 <= balanced.high  # guessing
    assert balanced.mean < free.mean - 0.2
    none, kept, noisy = summary.models
    assert (none.rows_held, none.rows_trained, none.rows_repeated) == (320, 320, 0.0)
    assert (kept.rows_held, kept.rows_trained) == (320, 32)
    assert 0 < kept.rows_repeated < 0.1  # owners with less than 5 % of a kind
    assert none.epsilon is kept.epsilon is None
    assert noisy.epsilon is not None
    assert 0.5 < none.target_balanced_accuracy.mean <= 1
    assert summary.cells[2].defense == "dp_sgd:clip=1:noise=2"
    assert private.mean <= free.mean + 0.1


def test_readers_and_losses_share_the_models_they_read(tmp_path: Path) -> None:
    tiny = SMALL | {"property": ASKED, "classes": (2,), "models_per_class": 12}
    summary = audited(**tiny, losses=("nll", "sor"), readers=("paths", "flat"), out=tmp_path / "run")
    assert [(cell.loss, cell.reader) for cell in summary.cells] == [
        ("nll", "paths"), ("nll", "flat"), ("sor", "paths"), ("sor", "flat"),
    ]  # fmt: skip
    assert len(list((tmp_path / "run" / "files").iterdir())) == 2  # shadows and targets, once


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, "Which property's share is to be found"),
        ({"property": "sexx == 'female'"}, "Did you mean 'sex'"),
        ({"property": "sex == 'femal'"}, "female"),
        ({"property": ASKED, "loss": "sorr"}, "Did you mean 'sor'"),
        ({"property": ASKED, "reader": "path"}, "Did you mean 'paths'"),
        ({"property": ASKED, "classes": 1}, "at least 2"),
        ({"property": ASKED, "defense": "epochs:x"}, "must be of type int"),
        ({"property": ASKED, "defense": "epoch:2"}, "Did you mean 'epochs'"),
        ({"property": ASKED, "defense": "balanced:1.5"}, "must lie between 0 and 1"),
        ({"property": ASKED, "defense": "dp_sgd:nois=1"}, "Did you mean 'noise'"),
        ({"property": ASKED, "rows_per_model": 100_000}, "pool has"),
        ({"property": ASKED, "classes": (4, 20), "hierarchy": "4x6"}, "'4x6' makes 24 classes; it must make 4 or 20"),
        ({"property": ASKED, "observed": "gradients"}, "Did you mean 'gradient'"),
        ({"property": ASKED, "rounds": 2}, "2 rounds of weights"),
        ({"property": ASKED, "observed": "gradient", "defense": "epochs:3"}, "before any training"),
        ({"property": ASKED, "hierarchy": "4"}, "'4' is not of the form 4x5"),
        ({"property": ASKED, "hierarchy": "4x1"}, "each at least 2"),
        ({"property": ASKED, "shadow_share": 0.7, "pools": "shared"}, "belongs to disjoint pools"),
        ({"property": ASKED, "model": "mlp"}, "belongs to the studies rows and vertical"),
        ({"property": ASKED, "reveal": True}, "belongs to the studies rows and vertical"),
        ({"property": "mean(age)"}, "ask with a condition"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path: Path, changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        seepage.audit(**(SMALL | changes), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_property_belongs_to_its_study() -> None:
    with pytest.raises(InputError, match=r"'property' .*belongs to the study property; this is the study rows"):
        seepage.audit("clinic", property=ASKED)


def test_a_grid_over_properties_keeps_the_models_of_each() -> None:
    summary = audited(
        **SMALL, classes=2, models_per_class=12, grid={"property": ["sex == 'female'", "age > 60"]}, property=ASKED
    )
    assert [made.property_text for made in summary.models] == ["sex == 'female'", "age > 60"]
    assert [cell.property_text for cell in summary.cells] == ["sex == 'female'", "age > 60"]


def test_options_of_a_reader_are_kept_when_it_gets_rows() -> None:
    reader = with_rows(Paths(hidden=32), torch.zeros(2, 5))
    assert isinstance(reader, Paths)
    assert reader.hidden == 32
    joined = with_rows(Joined(paths=Paths(hidden=16)), torch.zeros(2, 5))
    assert isinstance(joined, Joined)
    assert joined.paths.hidden == 16


@pytest.mark.parametrize(("numbers", "least", "most"), [("standard", -50.0, 50.0), ("minmax", 0.0, 1.0)])
def test_models_see_numbers_as_was_asked(numbers: str, least: float, most: float) -> None:
    source = open_source(Request(data="clinic"))
    asked: dict[str, Any] = {"property_text": ASKED, "pools": "shared"}
    plain = pools_of(source, PropertySettings(**asked, numbers="none")).shadow.numbers
    seen = pools_of(source, PropertySettings(**asked, numbers=numbers)).shadow.numbers
    assert float(plain.max()) > 50  # years, weights: as they stand in the table
    assert float(seen.min()) >= least
    assert float(seen.max()) <= most
    straight = np.corrcoef(plain[:, 0], seen[:, 0])[0, 1]
    assert straight == pytest.approx(1.0, abs=1e-4)  # the same numbers in other units
