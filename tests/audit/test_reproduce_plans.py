"""Papers' tables from plan files: every published number has its cell, less work is said, and small ones run."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from seepage._core import InputError, silent
from seepage.cli.main import app
from seepage.reproductions import (
    QUICK,
    TABLES,
    Effort,
    main_table,
    profiling,
    published,
    reproduce,
    tableak,
    tabvfl,
)
from seepage.reproductions.factors import MODULES, STRUCTURE, best, factor_table, nets_of, ranking
from seepage.reproductions.from_plan import Outcome, PlanTable, narrowed, scaled, shortened
from seepage.reproductions.line import Line
from seepage.reproductions.plan_file import PLANS
from seepage.results import Summary
from seepage.runs.plan import make_plan, read_plan
from seepage.studies.training.running import VerticalPlan

WHOLE = Effort(1.0, 0, silent, jobs=1)
AUDITS = sorted(path for paper in ("tableak", "profiling") for path in (PLANS / paper).glob("*.toml"))
FROM_PLANS = [
    table for paper in (tableak, profiling) for table in paper.TABLES.values() if isinstance(table, PlanTable)
]


@pytest.mark.parametrize("path", AUDITS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_plan_is_valid_and_used(path: Path) -> None:
    assert make_plan(read_plan(path)).tasks
    figures = {"noise.toml", "network_size.toml"}  # the paper draws these and prints no numbers
    assert path.name in figures | {table.plan for table in FROM_PLANS if table.names.paper == path.parent.name}


def test_the_plans_of_a_clone_are_those_of_the_package() -> None:
    root = Path(__file__).parents[2] / "reproductions"
    assert {path.name: path.resolve() for path in root.iterdir()} == {
        path.name: path.resolve() for path in PLANS.iterdir()
    }


@pytest.mark.parametrize("table", FROM_PLANS, ids=lambda table: f"{table.names.paper}-{table.number}")
def test_every_number_of_a_table_has_its_cell(table: PlanTable) -> None:
    lines = list(table.read(imagined(table)))
    found = [line for line in lines if line.published is not None]
    told = [number for number in published(table.names.paper) if number.table == table.number]
    told = [number for number in told if not (number.method == "Random" and number.metric != "accuracy")]
    told = [number for number in told if number.setting.get("entropy_bucket") != "overall"]
    assert found
    assert len(found) >= len(told)
    assert {line.published for line in found} == {number.value for number in told}


def test_less_work_is_fewer_batches_first_then_shorter_attacks_and_trainings() -> None:
    values = {"trials": 30, "attacks": ["gradient_matching"], "exposure": 25, "attack_points": ["0", "25"]}
    half = scaled(values, replace(WHOLE, scale=0.5))
    assert (half.values["trials"], half.values["attacks"], half.values["exposure"]) == (15, ["gradient_matching"], 25)
    assert half.note == "15 of 30 batches"
    little = scaled(values, replace(WHOLE, scale=0.005))
    assert (little.values["trials"], little.values["exposure"]) == (3, 1.25)
    assert little.attacks == {"gradient_matching:steps=500": "gradient_matching"}
    assert little.values["attack_points"] == ["0", "1.25"]
    assert little.note == "3 of 30 batches, 0.05 of the attack's steps, exposure 1.25 of 25"
    assert shortened("gradient_matching:steps=20000", 0.05) == "gradient_matching:steps=1000"
    assert scaled(values, WHOLE).note == ""


def test_a_part_of_a_plan_is_taken_from_its_grid_where_the_key_stands_there() -> None:
    values = {"models": ["mlp", "resnet"], "grid": {"data": ["adult", "clinic"], "alpha": [0.4, 1.0]}}
    part = narrowed(values, {"data": "clinic", "models": ["mlp"]})
    assert part == {"models": ["mlp"], "grid": {"data": ["clinic"], "alpha": [0.4, 1.0]}}
    assert values["grid"] == {"data": ["adult", "clinic"], "alpha": [0.4, 1.0]}


def test_the_users_own_copy_takes_the_place_of_what_stands_in_for_it() -> None:
    table = profiling.TABLES["4"]
    assert isinstance(table, PlanTable)
    own = table.values(replace(WHOLE, paths={"mimic_iv": Path("mimic")})).values
    assert (own["data"], own["path"]) == ("mimic_iv", Path("mimic"))
    assert table.values(WHOLE).values["data"] == "clinic"


def test_quick_of_document_002_is_small() -> None:
    table = profiling.TABLES["2"]
    assert isinstance(table, PlanTable)
    tasks = make_plan(table.values(replace(WHOLE, scale=QUICK["profiling"])).values).tasks
    assert len(tasks) == 3 * 2 * 9
    assert {task.variant.settings.trials for task in tasks} == {3}
    assert {task.variant.settings.attacks for task in tasks} == {("gradient_matching:steps=500",)}


def test_factors_and_rankings_of_nets() -> None:
    cells, utility = [], []
    for width, norm, activation in itertools.product((32, 64), ("batch", "layer"), ("relu", "gelu")):
        model = f"mlp:width={width}:norm={norm}:activation={activation}"
        head = {"dataset": "d", "model": model, "batch_size": 8, "variant": ""}
        leak = 0.1 + 0.2 * (width == 64) + 0.4 * (activation == "gelu")
        cells.append(head | {"attack_point": "final", "metrics": {"accuracy": {"mean": leak}}})
        cells.append(head | {"attack_point": "25%", "metrics": {"accuracy": {"mean": 1.0}}})
        score = 0.8 + 0.1 * (norm == "layer")
        utility += [head | {"attack_point": "best", "validation": {"roc_auc": score + e}} for e in (-0.01, 0.01)]
        utility.append(head | {"attack_point": "final", "validation": {"roc_auc": 0.0}})
    nets = nets_of(cells, utility)
    assert len(nets) == 8
    table = {next(iter(g.parts.items())): g for g in factor_table(nets, (*STRUCTURE, *MODULES))}
    assert table["hidden_width", "32"].leakage == pytest.approx(0.3)
    assert table["hidden_width", "64"].leakage == pytest.approx(0.5)
    assert table["activation", "GELU"].leakage == pytest.approx(0.6)
    assert table["normalization", "LayerNorm"].utility == pytest.approx(0.9)
    assert len(table["hidden_layers", "2"].nets) == 8
    ranked = ranking(nets)
    assert [group.parts["activation"] for group in ranked] == ["ReLU", "ReLU", "GELU", "GELU"]
    assert [net.facts["normalization"] for net in best(nets)][:4] == ["LayerNorm"] * 4
    assert best(nets_of(cells)) == []


@pytest.mark.parametrize("paper", ["tableak", "profiling"])
def test_a_small_table_runs_and_goes_on(paper: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if paper == "tableak":
        table, part = (
            tableak.TABLES["1"],
            {"batch_sizes": [8], "attacks": ["tableak:restarts=2"], "clients": 3, "labels_known": True},
        )
        names = replace(tableak.NAMES, datasets={"clinic": "Adult"})
    else:
        table, part = profiling.TABLES["2"], {"batch_sizes": [8], "models": ["mlp"], "clients": 3}
        names = replace(profiling.NAMES, datasets={"clinic": "Adult"})
    assert isinstance(table, PlanTable)
    small = replace(table, names=names, part=dict(table.part) | part | {"data": "clinic"})
    effort = replace(WHOLE, scale=0.0002, folder=tmp_path)
    lines = list(small(effort))
    assert len(list(tmp_path.iterdir())) == 1
    told = [line for line in lines if line.published is not None]
    assert told
    assert all(0 <= line.ours <= 100 and line.trials == 3 and line.low is not None for line in told)
    assert all("batches" in line.note and "steps" in line.note for line in told)
    if paper == "tableak":
        assert {(line.published, line.spread) for line in told} >= {(95.1, 9.2), (53.9, 4.4)}
        assert max(line.ours for line in told) > 1
    monkeypatch.setattr("seepage.runs.sweep.run_task", None)  # nothing is run again
    assert list(small(effort)) == lines


def test_a_small_vertical_table_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def tiny(name: str) -> tuple[list[str], dict[str, Any]]:
        values = {"designs": ("tabvfl",), "guests": 2, "pretraining": 2, "finetuning": 2, "batch_size": 64}
        return ["clinic", "airline"], values | {"latent": 3, "rows": 300, "runs": 1}

    monkeypatch.setattr(tabvfl, "read", tiny)
    monkeypatch.setattr(tabvfl, "FEWEST", 200)
    monkeypatch.setitem(tabvfl.DATASETS, "clinic", "Bank Marketing")
    lines = list(tabvfl.table_6_1(replace(WHOLE, scale=0.5, folder=tmp_path)))
    assert [line.published for line in lines] == [89.14, 0.881, 0.863]
    assert lines[0].ours > 1 > lines[1].ours
    assert all("left out, no file was given: Air Passenger Satisfaction" in line.note for line in lines)
    assert "1 of 2 epochs of pretraining" in lines[0].note


def group(**about: Any) -> dict[str, Any]:
    values = about.pop("values")
    return about | {"values": [{"scope": s, "metric": m, "mean": v, "low": None, "high": None} for s, m, v in values]}


def test_absent_guests_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    f1 = {("none", 0.0): 0.9, ("cache", 0.2): 0.89, ("cache", 0.35): 0.88, ("cache", 0.5): 0.87}
    f1 |= {("zeros", 0.2): 0.88, ("zeros", 0.35): 0.85, ("zeros", 0.5): 0.8}
    groups = [
        group(failure_method=m, failure_probability=p, values=[("quality/published/mean", "f1", v)])
        for (m, p), v in f1.items()
    ]
    monkeypatch.setattr(tabvfl, "trained", lambda *_: {"groups": groups})
    lines = list(tabvfl.table_iii(replace(WHOLE, scale=0.01)))
    assert len(lines) == 2 * 4
    bank = lines[:4]
    assert [line.published for line in bank] == [1.51, 2.04, -2.71, -0.65]
    assert [line.ours for line in bank] == pytest.approx([11 / 3, 7.0, -10.0, -3.0])
    assert "1 of 8 runs" in bank[0].note


def test_costs_are_those_of_the_papers_epochs_and_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = [("cost/pretraining", "seconds", 20.0), ("cost/pretraining", "epochs", 10), ("cost", "memory_mb", 512.0)]
    numbers += [("cost/fine-tuning", "seconds", 10.0), ("cost/fine-tuning", "epochs", 10)]
    numbers += [("bytes/pretraining", "intermediate", 7e7)]
    summary = {"groups": [group(design="tabvfl", values=numbers)], "dataset": {"rows": 10_000}}
    monkeypatch.setattr(tabvfl, "trained", lambda *_: summary)
    lines = {line.metric: line for line in tabvfl.table_iv(replace(WHOLE, scale=0.1))}
    assert {name: (line.ours, line.published) for name, line in lines.items()} == {
        "runtime_pretraining": (200.0, 194),
        "network_pretraining": (pytest.approx(4.096), 30.38),
        "runtime_finetuning": (100.0, 138),
        "runtime_total": (300.0, 332),
        "memory": (0.5, 14.73),
    }
    assert "in place of Rice MSC" in lines["memory"].note


@pytest.mark.parametrize("path", sorted((PLANS / "tabvfl").glob("*.toml")), ids=lambda path: path.stem)
def test_a_vertical_plan_is_valid(path: Path) -> None:
    datasets, values = tabvfl.read(path.stem)
    assert set(datasets) <= set(tabvfl.DATASETS)
    for scale in (1.0, QUICK["tabvfl"]):
        assert VerticalPlan(data=datasets[0], **tabvfl.scaled(values, scale).values).cells(datasets[0])


def test_bad_input_is_one_sentence() -> None:
    with pytest.raises(InputError, match="Did you mean 'tableak'"):
        reproduce("tablaek", "1")
    with pytest.raises(InputError, match="Unknown table of profiling '99'"):
        reproduce("profiling", "99")
    with pytest.raises(InputError, match="Did you mean 'III'"):
        reproduce("tabvfl", "IIII")
    with pytest.raises(InputError, match="Did you mean 'rice_msc'"):
        reproduce("tabvfl", "III", paths={"rice_mcs": Path("file")})
    result = CliRunner().invoke(app, ["reproduce", "tabvfl", "--path", "rice.arff"])
    assert "write NAME=VALUE, for instance rice_msc=rice.arff" in str(result.exception)


def test_the_command_tells_what_it_was_given_and_cells_without_a_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(effort: Effort) -> Iterator[Line]:
        yield Line(table="2", cell="a", metric="accuracy", ours=0.5, published=0.4, spread=0.1, note=f"{effort.scale}")
        yield Line(table="2", cell="b", metric="accuracy", ours=math.nan, published=0.4, spread=0.1, trials=effort.jobs)

    monkeypatch.setitem(TABLES["profiling"], "2", told)
    out = tmp_path / "lines.json"
    command = ["reproduce", "profiling", "--table", "2", "--quick", "--jobs", "3", "--out", str(out)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0
    assert "+1.0" in result.output
    first, second = json.loads(out.read_text())
    assert (first["note"], second["ours"], second["trials"]) == (str(QUICK["profiling"]), None, 3)
    wrong = CliRunner().invoke(app, ["reproduce", "profilng", "--table", "2", "--quick"])
    assert "Did you mean 'profiling'" in str(wrong.exception)


def test_papers_have_main_tables() -> None:
    assert {paper: main_table(paper) for paper in TABLES} == {
        "tableak": "1", "cafe": "2", "profiling": "2", "property": "4.2", "tabvfl": "III",
    }  # fmt: skip
    assert set(QUICK) == set(TABLES)


def imagined(table: PlanTable) -> Outcome:
    """What a whole plan would give if every number were a half."""
    whole = table.values(WHOLE)
    plan = make_plan(whole.values)
    half = {"mean": 0.5, "low": 0.4, "high": 0.6}
    metrics = dict.fromkeys((*table.metrics, "accuracy"), half)
    cells, utility = [], []
    for task in plan.tasks:
        settings, choice = task.variant.settings, task.choice
        head = {"dataset": str(task.variant.request.data), "protocol": settings.protocol, "variant": task.variant.name}
        head |= vars(choice)
        score = {"adult": "roc_auc", "clinic": "roc_auc", "california_housing": "r2"}.get(head["dataset"], "f1_macro")
        utility.append(head | {"attack_point": "best", "validation": {score: 0.5}})
        for point, attack in itertools.product(settings.attack_points, settings.attacks):
            name = {"0": "initialized", "1": "exposure 1"}.get(point, f"exposure {point}" if point.isdigit() else point)
            cells.append(
                head
                | {
                    "attack_point": name,
                    "attack": attack,
                    "trials": 3,
                    "failed": 0,
                    "outcome": "ok",
                    "metrics": metrics,
                }
                | {"baselines": dict.fromkeys(("prior", "uniform", "marginal"), half), "doubt": doubts()}
            )
    summary = Summary({"cells": cells, "utility": utility})
    settings_of = {(v.name, str(v.request.data)): v.settings for v in plan.variants}
    return Outcome(table, summary, whole, settings_of)


def doubts() -> list[dict[str, Any]]:
    ranges = [("categorical", i / 5, (i + 1) / 5) for i in range(5)]
    ranges += [("numeric", low, high) for low, high in itertools.pairwise((None, -1.0, 0.72, 1.16, 1.6, 2.04, None))]
    return [{"kind": k, "low": a, "high": b, "cells": 10, "attack": {"mean": 0.5}} for k, a, b in ranges]


def test_a_part_of_a_table_can_be_chosen() -> None:
    table = TABLES["profiling"]["18"]
    assert isinstance(table, PlanTable)
    only = {"models": ["resnet"], "data": ["adult"], "alpha": ["0.4", "1.0"]}
    plan = make_plan(table.values(replace(WHOLE, only=only)).values)
    assert {task.choice.model for task in plan.tasks} == {"resnet"}
    assert sorted(variant.settings.alpha for variant in plan.variants) == [0.4, 1.0]
    for wrong, said in (({"model": ["mlp"]}, "Did you mean 'models'"), ({"models": ["mpl"]}, "Did you mean 'mlp'")):
        with pytest.raises(InputError, match=said):
            table.values(replace(WHOLE, only=wrong))
    with pytest.raises(InputError, match="no parts to choose"):
        reproduce("cafe", "2", only={"models": ["mlp"]})
