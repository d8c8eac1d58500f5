"""`seepage audit --attacks property`: a share read from weights, resumed, reported, and one sentence for bad input."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from seepage._core import InputError
from seepage.attacks.properties import load_shadows
from seepage.cli.main import app
from seepage.data.source import Request, Source, open_source
from seepage.models.stacked_training import Recipe
from seepage.report import write_report
from seepage.results.property import PropertyRun
from seepage.studies.property.owner import owner_of
from seepage.studies.property.running import PropertySettings, make_pools, run_property_audit

SMALL = ["audit", "--data", "clinic", "--attacks", "property", "--jobs", "1", "--rows-per-model", "60"]
ASKED = "sex == 'female'"


def clinic() -> Source:
    return open_source(Request(data="clinic"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny audit with its report."""
    folder = tmp_path_factory.mktemp("property") / "run"
    words = [
        "--property",
        ASKED,
        "--classes",
        "2,4",
        "--loss",
        "share",
        "--models-per-class",
        "12",
        "--hierarchy",
        "2x2",
    ]
    result = CliRunner().invoke(app, [*SMALL, *words, "--out", str(folder)], catch_exceptions=False)
    assert result.exit_code == 0
    assert "read from the weights of" in " ".join(result.output.split())
    return folder


def test_every_cut_is_scored_beside_guessing(made: Path) -> None:
    summary = json.loads((made / "summary.json").read_text())
    assert [(cell["classes"], cell["hierarchy"]) for cell in summary["cells"]] == [(2, ""), (4, ""), (4, "2x2")]
    for cell in summary["cells"]:
        assert np.array(cell["confusion"]).sum() == cell["targets"] == summary["models"][0]["targets"]
        assert cell["chance"] == 1 / cell["classes"]
        assert 0 <= cell["accuracy"]["mean"] <= 1
        assert cell["hierarchy"] or 0 <= cell["share"]["coverage"]["mean"] <= 1  # two steps have no interval
    assert summary["models"][0]["shadows"] == 44


def test_the_report_explains_itself_and_holds_no_row(made: Path) -> None:
    page = (made / "report.html").read_text()
    assert "the share of rows with sex == &#39;female&#39; is named rightly" in page
    assert page.count('class="plot"') == 3  # the curve, and a matrix for each cut
    assert "Nobody's row is read here" in page


def test_a_finished_cell_is_not_made_again_and_a_damaged_one_is(made: Path) -> None:
    settings = json.loads((made / "run.json").read_text())["settings"]
    kept = {name: value for name, value in settings.items() if name not in ("data", "table")}
    kept |= {name: tuple(kept[name]) for name in ("classes", "losses", "defenses", "hierarchies")}
    asked = PropertySettings(**kept)
    run = PropertyRun.open_or_create(made, asdict(asked) | {"data": "clinic", "table": settings["table"]})
    names = [path.name for path in sorted((made / "records").glob("*.json"))]
    assert names == ["none-02-share-paths.json", "none-04-share-paths-2x2.json", "none-04-share-paths.json"]
    first, second = made / "records" / names[0], made / "records" / names[2]
    before, told = first.read_text(), second.read_text()
    second.write_text(told[:50])
    seen: list[str] = []
    run_property_audit(clinic(), asked, run, progress=lambda label, *_: seen.append(label))
    assert first.read_text() == before
    assert json.loads(second.read_text()) == json.loads(told)
    assert all("4 classes" in label for label in seen if "meta" in label)
    write_report(run.run)


def test_updates_of_clients_are_read_as_differences_from_one_model(tmp_path: Path) -> None:
    asked = PropertySettings(
        property_text=ASKED, classes=(2,), losses=("nll",), reader="flat", observed="update", models=10, rows=40
    )
    run = PropertyRun.open_or_create(tmp_path / "run", asdict(asked))
    summary = run_property_audit(clinic(), asked, run)
    assert summary["cells"][0]["targets"] == 2
    sent = load_shadows(tmp_path / "run" / "shadows" / "none").stack
    spread = sent.weights[0].std(0).mean()  # trained from the same weights, models stay close to each other
    assert spread < 0.5 * sent.weights[0].std()


def rounds_of(observed: str, *defenses: str) -> PropertySettings:
    return PropertySettings(
        property_text="risk == 'high'",
        classes=(2,),
        losses=("nll",),
        reader="flat",
        observed=observed,
        rounds=2,
        models=60,
        rows=100,
        defenses=("none", *defenses),
    )


@pytest.mark.parametrize("observed", ["update", "gradient"])
def test_several_rounds_of_a_client_are_read_together(risky: Source, tmp_path: Path, observed: str) -> None:
    asked = rounds_of(observed)
    run = PropertyRun.open_or_create(tmp_path / "run", asdict(asked))
    summary = run_property_audit(risky, asked, run)
    assert summary["cells"][0]["accuracy"]["low"] > 0.75
    page = write_report(run.run).read_text()
    assert f"From the {observed}s alone" in page
    assert "It sees 2 rounds" in page


def test_a_private_client_counts_every_round_it_is_seen_in(risky: Source, tmp_path: Path) -> None:
    asked = rounds_of("gradient", "dp_sgd:clip=1:noise=30")
    summary = run_property_audit(risky, asked, PropertyRun.open_or_create(tmp_path / "run", asdict(asked)))
    owner = owner_of("dp_sgd:clip=1:noise=30", Recipe())
    sent, trained = owner.privacy(100, gradient=True, rounds=2), owner.privacy(100, rounds=2)
    assert sent is not None
    assert trained is not None
    assert (sent.steps, sent.sampling_rate, trained.steps) == (2, 1.0, 4)
    assert summary["models"][1]["epsilon"] == sent.epsilon
    free, private = summary["cells"]
    assert private["accuracy"]["mean"] < free["accuracy"]["mean"] - 0.2


def test_disjoint_pools_share_no_row_and_have_the_share_asked_for() -> None:
    source = clinic()
    asked = PropertySettings(property_text=ASKED, pools="disjoint", shadow_pool=0.3, shadow_share=0.7)
    pools = make_pools(source, asked)
    assert len(pools.shadow) == round(0.3 * len(source.table))
    assert pools.shadow_values.mean() == pytest.approx(0.7, abs=0.01)
    together = len(pools.shadow) + len(pools.target) + len(pools.evaluation)
    assert together == len(source.table)


@pytest.fixture(scope="module")
def risky(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """A small table in which half of the rows are risky, so that any share of them can be drawn."""
    generator = np.random.default_rng(0)
    score = generator.normal(size=(3000, 3))
    frame = pl.DataFrame({f"x{column}": score[:, column] for column in range(3)})
    frame = frame.with_columns(risk=np.where(score.sum(1) + generator.normal(size=3000) > 0, "high", "low"))
    path = tmp_path_factory.mktemp("risky") / "risky.csv"
    frame.write_csv(path)
    return open_source(Request(data=str(path), target="risk"))


def test_balancing_takes_the_attack_back_to_guessing_and_states_its_cost(risky: Source, tmp_path: Path) -> None:
    asked = PropertySettings(
        property_text="risk == 'high'",
        classes=(2,),
        losses=("nll",),
        models=150,
        rows=320,
        epochs=8,
        defenses=("none", "balanced:keep=0.1", "dp_sgd:clip=1:noise=2"),
    )
    run = PropertyRun.open_or_create(tmp_path / "run", asdict(asked))
    summary = run_property_audit(risky, asked, run)
    free, balanced, private = summary["cells"]
    assert free["accuracy"]["low"] > 0.75
    assert balanced["accuracy"]["low"] <= 0.5 <= balanced["accuracy"]["high"]  # guessing
    assert balanced["accuracy"]["mean"] < free["accuracy"]["mean"] - 0.2
    none, kept, noisy = summary["models"]
    assert (none["rows_held"], none["rows_trained"], none["rows_repeated"]) == (320, 320, 0.0)
    assert (kept["rows_held"], kept["rows_trained"]) == (320, 32)
    assert 0 < kept["rows_repeated"] < 0.1  # owners with less than 5 % of a kind
    assert none["epsilon"] is kept["epsilon"] is None
    assert noisy["epsilon"] == pytest.approx(owner_of("dp_sgd:clip=1:noise=2", Recipe(epochs=8)).privacy(320).epsilon)
    assert 0.5 < none["target_balanced_accuracy"]["mean"] <= 1
    assert none["target_accuracy"]["low"] <= none["target_accuracy"]["mean"] <= none["target_accuracy"]["high"]
    assert private["defense"] == "dp_sgd:clip=1:noise=2"
    page = write_report(run.run).read_text()
    assert "32 of 320" in page
    assert f"{noisy['epsilon']:.2g}" in page


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "Whose share is asked"),
        (["--property", "sexx == 'female'"], "Did you mean 'sex'"),
        (["--property", "sex == 'femal'"], "female"),
        (["--property", ASKED, "--loss", "sorr"], "Did you mean 'sor'"),
        (["--property", ASKED, "--classes", "1"], "at least 2"),
        (["--property", ASKED, "--defense", "epochs"], "needs a number"),
        (["--property", ASKED, "--defense", "epoch:2"], "Did you mean 'epochs'"),
        (["--property", ASKED, "--defense", "balanced:1.5"], "must lie between 0 and 1"),
        (["--property", ASKED, "--defense", "dp_sgd:nois=1"], "Did you mean 'noise'"),
        (["--property", ASKED, "--rows-per-model", "100000"], "pool has"),
        (
            ["--property", ASKED, "--classes", "4,20", "--hierarchy", "4x6"],
            "'4x6' makes 24 classes; it must make 4 or 20",
        ),
        (["--property", ASKED, "--observed", "gradients"], "Did you mean 'gradient'"),
        (["--property", ASKED, "--rounds", "2"], "1 of weights"),
        (["--property", ASKED, "--observed", "gradient", "--defense", "epochs:3"], "before any training"),
        (["--property", ASKED, "--hierarchy", "4"], "'4' is not of the form 4x5"),
        (["--property", ASKED, "--hierarchy", "4x1"], "each must be at least 2"),
        (["--property", "mean(age)"], "ask with a condition"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path: Path, words: list[str], sentence: str) -> None:
    result = CliRunner().invoke(app, [*SMALL, *words, "--out", str(tmp_path / "run")])
    assert isinstance(result.exception, InputError)
    assert sentence in str(result.exception)


def test_a_property_belongs_to_its_attack(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["audit", "--data", "clinic", "--property", ASKED, "--out", str(tmp_path / "run")])
    assert "say --attacks property" in str(result.exception)
