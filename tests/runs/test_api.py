from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import seepage
from seepage._core import InputError
from seepage.data import clinic
from seepage.data.request import Request
from seepage.data.source import open_source
from seepage.plans.registry import make, parts_of
from seepage.results import Run, read_summary
from seepage.results.rows import RowsSummary
from seepage.runs import command_line, make_plan, open_sources
from seepage.runs.task import run_task

FAST: dict[str, Any] = {
    "batch_sizes": (2,),
    "trials": 3,
    "clients": 3,
    "exposure": 1,
    "attack_points": ("initialized", "final"),
    "attack_options": {"steps": "15"},
}


FEW = "fast:steps=3:restarts=2"  # where no attack is looked at
SHORT = "exact:restarts=3:start_steps=15:starts=2"  # where only the rest of the audit is looked at


def audited(**changes: Any) -> RowsSummary:
    from tests import cases

    result = seepage.audit(changes.pop("data", cases.frame()), **(FAST | {"target": "target"} | changes))
    return result


def comparable(summary: RowsSummary) -> dict[str, Any]:
    """A summary without what a clock wrote."""
    document = json.loads(summary.to_json())
    for cell in document["cells"]:
        del cell["seconds"]
    return {key: value for key, value in document.items() if key not in ("name", "path", "created")}


def test_the_same_seed_gives_the_same_summary(tmp_path: Path) -> None:
    one, other = audited(seed=3, out=tmp_path / "one"), audited(seed=3)
    assert comparable(one) == comparable(other)
    assert comparable(audited(seed=4)) != comparable(one)


def test_a_run_folder_holds_everything(tmp_path: Path) -> None:
    summary = audited(out=tmp_path / "run")
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "digests.txt", "outline.json", "records", "report.html", "run.json", "summary.json", "tasks",
    ]  # fmt: skip
    run = Run.open(tmp_path / "run")
    assert read_summary(run) == summary
    assert run.frame().select(pl.struct("attack_point", "record").n_unique()).collect().item() == sum(
        cell.trials for cell in summary.cells
    )
    written = {path: path.stat().st_mtime_ns for path in (tmp_path / "run" / "records").iterdir()}
    assert audited(out=tmp_path / "run").cells == summary.cells  # finished: nothing is attacked again
    assert written == {path: path.stat().st_mtime_ns for path in (tmp_path / "run" / "records").iterdir()}
    with pytest.raises(InputError, match="holds a run with other settings"):
        audited(out=tmp_path / "run", seed=9)


def test_a_cell_has_its_numbers_and_what_guessing_gets() -> None:
    summary = audited()
    cell = summary.cells[0]
    for name in ("accuracy", "accuracy_cat", "accuracy_num", "emr", "emr_90", "emr_80", "rmse"):
        assert cell.metrics[name] is not None
    assert set(cell.baselines) == {"prior", "uniform", "marginal"}
    assert set(cell.judged) == {"exact", "emr", "gain"}
    assert [column.name for column in cell.columns] == ["age", "colour", "size", "smoker"]
    assert summary.applicability[0].findings
    best = [entry for entry in summary.utility if entry.attack_point == "best"]
    assert best[0].test is not None
    assert "roc_auc" in best[0].test


@pytest.mark.parametrize("model", [part.name for part in parts_of("model", "rows")])
@pytest.mark.parametrize("protocol", ["fedsgd", "fedavg"])
def test_every_model_goes_through_both_protocols(model: str, protocol: str) -> None:
    small = {
        "resnet": {"width": "8", "blocks": "1"},
        "ft_transformer": {"width": "8", "heads": "2", "blocks": "1"},
        "tabnet": {"n_d": "2", "n_a": "2", "steps": "1"},
    }
    options = {"local_rows": 4} if protocol == "fedavg" else {}
    summary = audited(
        model=model, protocol=protocol, model_options=small.get(model, {}), trials=2, clients=2,
        attack_points=("initialized",), exposure=0, attack_options={"steps": "3"}, **options,
    )  # fmt: skip
    assert summary.cells[0].failed == 0


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_the_three_tasks(task: str) -> None:
    from tests import cases

    summary = audited(data=cases.frame(task), task=task)
    assert summary.dataset.task == task
    assert all(cell.failed == 0 for cell in summary.cells)


@pytest.mark.parametrize("attack", [part.name for part in parts_of("attack", "rows")])
def test_every_attack_is_in_the_common_table(attack: str) -> None:
    from tests import cases

    assert attack in cases.ATTACKS
    assert type(make("attack", attack, "rows")) is type(cases.ATTACKS[attack])


def test_an_attack_point_that_was_not_reached_is_told(tmp_path: Path) -> None:
    summary = audited(exposure=0, attacks=FEW, batch_sizes=(1, 2), out=tmp_path / "run")
    assert {cell.attack_point for cell in summary.cells} == {"initialized"}
    (told,) = [sentence for sentence in summary.not_tested if sentence.startswith("Attack point")]
    assert told.startswith("Attack point final (mlp, batch 1; mlp, batch 2), asked for and not reached")
    (tmp_path / "run" / "summary.json").unlink()
    assert told in read_summary(Run(tmp_path / "run")).not_tested
    assert not any(sentence.startswith("Attack point") for sentence in audited(attacks=FEW).not_tested)


def test_more_trials_than_clients_train_further_federations() -> None:
    summary = audited(trials=5)
    assert all(cell.trials == 5 for cell in summary.cells)
    assert {entry.repeat for entry in summary.utility} == {0, 1}


def test_pandas_polars_and_files_give_the_same_numbers(tmp_path: Path) -> None:
    from tests import cases

    frame = cases.frame()
    frame.write_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet")
    pandas = pd.DataFrame({name: frame[name].to_list() for name in frame.columns})
    results = [audited(data=data) for data in (frame, pandas, tmp_path / "t.csv", str(tmp_path / "t.parquet"))]
    # The training does not depend on what the table is called; the attack's random stream does.
    named = [[entry.model_copy(update={"dataset": ""}) for entry in result.utility] for result in results]
    assert all(utility == named[0] for utility in named)
    timeless = [[cell.model_copy(update={"seconds": 0.0}) for cell in result.cells] for result in results[:2]]
    assert timeless[0] == timeless[1]


def test_private_values_only_with_reveal(tmp_path: Path) -> None:
    frame = clinic(rows=300)
    secret = "Zanzibari"
    frame = frame.with_columns(
        language=pl.when(pl.arange(pl.len()) % 3 == 0).then(pl.lit(secret)).otherwise(pl.lit("English"))
    )
    plain = audited(data=frame, target="died", out=tmp_path / "plain")
    shown = audited(data=frame, target="died", out=tmp_path / "shown", reveal=True)
    for path in (tmp_path / "plain").rglob("*"):
        if path.is_file():
            assert secret.encode() not in path.read_bytes(), path
    assert plain.revealed == ()
    assert shown.revealed
    assert shown.revealed[0].truth.keys() == shown.revealed[0].reconstruction.keys()
    assert secret in (tmp_path / "shown" / "report.html").read_text()


def test_a_person_is_never_in_two_parts() -> None:
    frame = clinic(rows=300).with_columns(person=pl.arange(pl.len()) // 3)
    source = open_source(Request(data=frame, target="died", group="person"))
    assert "person" not in source.table.schema.names
    from seepage._core import Streams

    splits = source.split(Streams(0).numpy("split"))
    assert len(splits.train) + len(splits.validation) + len(splits.test) == 300
    assert source.groups is not None


def test_sensitive_columns_are_marked() -> None:
    summary = audited(sensitive=("smoker",))
    assert [c.name for c in summary.dataset.columns if c.sensitive] == ["smoker"]


def test_the_command_repeats_the_audit() -> None:
    changed = {"protocol": "fedavg", "local_rows": "all", "model_options": {"width": 64}}
    changed |= {"models": ("mlp", "mlp:depth=3"), "defense": "dp_sgd:0.5"}
    about = {"data": "my file.csv", "target": "y", "drop": ("a", "b")}
    words = shlex.split(command_line(make_plan(about | {"batch_sizes": (1, 8), "labels_known": False} | changed)))
    assert words[:6] == ["seepage", "audit", "--data", "my file.csv", "--target", "y"]
    for option, value in (
        ("--batch-size", "1,8"),
        ("--model-option", "width=64"),
        ("--model", "mlp,mlp:depth=3"),
        ("--defense", "dp_sgd:noise=0.5"),
        ("--drop", "a,b"),
        ("--local-rows", "all"),
    ):
        assert words[words.index(option) + 1] == value
    assert "--labels-unknown" in words


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "resnt"}, "Unknown model 'resnt'.*Did you mean 'resnet'"),
        ({"models": ("mlp", "mlp")}, "each once"),
        ({"model": "mlp", "models": "mlp"}, "'model' and 'models' in the settings; say one"),
        ({"model": "mlp:widht=3"}, "Did you mean 'width'"),
        ({"model": "mlp:width=-1"}, "width and depth are at least 1"),
        ({"model": "mlp:64"}, "has no name; write option=value"),
        ({"defenses": "gausian_noise"}, "Unknown defence 'gausian_noise'.*Did you mean 'gaussian_noise'"),
        ({"defenses": "gaussian_noise:devation=1"}, "Did you mean 'deviation'"),
        ({"defenses": "gaussian_noise:-0.1"}, "0 or above"),
        ({"defenses": "gaussian_noise:nan"}, "finite number"),
        ({"defenses": "gaussian_noise:much"}, "must be of type float"),
        ({"defenses": "top_k:2"}, "above 0 and at most 1"),
        ({"defenses": "quantisation:bits=1.5"}, "must be of type int"),
        ({"defenses": "none:1"}, "has no name"),
        ({"defenses": "none:noise=1"}, "it has none"),
        ({"defenses": ("top_k:0.1", "top_k:share=0.10")}, "each once"),
        ({"attacks": "tableak:stepz=3"}, "Did you mean 'steps'"),
        ({"attacks": "tableak:steps=0"}, "at least 1"),
        ({"attacks": ("gradient_maching",)}, "Did you mean 'gradient_matching'"),
        ({"protocol": "fedsdg"}, "Did you mean 'fedsgd'"),
        ({"partition": "iidd"}, "Did you mean 'iid'"),
        ({"batchsizes": (1,)}, "Did you mean 'batch_sizes'"),
        ({"batch_sizes": (1000,)}, "larger than the smallest client"),
        ({"batch_sizes": ()}, "at least one entry"),
        ({"trials": 0}, "must be at least 1"),
        ({"learning_rate": -1}, "must be above 0"),
        ({"clients": 1000}, "use fewer clients"),
        ({"model_options": {"widht": "3"}}, "Did you mean 'width'"),
        ({"model_options": {"width": "wide"}}, "must be of type int"),
        ({"attack_points": ("finale",)}, "Did you mean 'final'"),
        ({"numbers": "standart"}, "numbers"),
        ({"target": "targt"}, "Did you mean 'target'"),
        ({"drop": ("agee",)}, "Did you mean 'age'"),
        ({"sensitive": ("agee",)}, "Did you mean 'age'"),
        ({"group": "persn"}, "group column"),
        ({"partition": "column", "clients": None}, "needs the column's name"),
        ({"partition": "column", "partition_column": "age", "clients": None}, "categorical column to partition by"),
        ({"data": "adlut"}, "Did you mean 'adult'"),
        ({"data": 3}, "found int"),
        ({"exposure": float("nan")}, "finite number"),
        ({"exposure": -1}, "must be at least 0"),
        ({"learning_rate": float("inf")}, "finite number"),
        ({"attack_points": ("0", "final")}, "mix names and exposures"),
        ({"local_epochs": 3}, "belongs to the protocol fedavg"),
        ({"partition_column": "colour"}, "--partition column"),
        ({"partition": "column", "partition_column": "colour", "clients": 3}, "leave their number out"),
        ({"model": "ft_transformer", "model_options": {"heads": 3}}, "cannot be built"),
        ({"model": "resnet", "model_options": {"dropout": 2}}, "cannot be built"),
        ({"model": "tabnet", "model_options": {"steps": 0}}, "cannot be built"),
        ({"model_options": {"binary_outputs": 3}}, "1 or 2 outputs"),
        ({"task": "bin"}, "Did you mean 'binary'"),
        ({"fallback": "nonsense"}, "fallback data set"),
        ({"path": "x.csv"}, "--path is your own copy"),
    ],
)
def test_bad_input_is_one_clear_sentence(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        audited(**options)
    assert "\n" not in str(caught.value)


def test_every_combination_is_tested_and_a_federation_is_trained_once_for_all_attacks() -> None:
    summary = audited(
        models=("mlp", "mlp:width=8"), defenses=("none", "gaussian_noise:0.1"), batch_sizes=(2,),
        attacks=("gradient_matching", "dlg:steps=5"), exposure=0, attack_points="initialized",
        attack_options={"steps": 2},
    )  # fmt: skip
    tested = {(c.model, c.defense, c.batch_size, c.attack) for c in summary.cells}
    assert len(tested) == len(summary.cells) == 8
    assert ("mlp:width=8", "gaussian_noise:deviation=0.1", 2, "dlg:steps=5") in tested
    trained = [(u.model, u.defense, u.batch_size) for u in summary.utility if u.attack_point == "best"]
    assert len(trained) == len(set(trained)) == 4
    sizes = {u.model: u.parameters for u in summary.utility}
    assert sizes["mlp:width=8"] < sizes["mlp"]


def test_adding_a_defence_changes_nothing_else() -> None:
    alone, beside = audited(attacks=FEW), audited(attacks=FEW, defenses=("none", "quantisation:4"))
    plain = [cell for cell in beside.cells if cell.defense == "none"]
    assert [cell.metrics for cell in plain] == [cell.metrics for cell in alone.cells]
    assert tuple(entry for entry in beside.utility if entry.defense == "none") == alone.utility


@pytest.mark.slow
def test_noise_hides_rows_and_costs_utility() -> None:
    summary = audited(
        attacks="fast:restarts=2:steps=100", defenses=("none", "gaussian_noise:10"), batch_sizes=1, exposure=1.5,
        learning_rate=0.05, attack_points=("initialized", "final"), trials=2,
    )  # fmt: skip
    read = {cell.defense: cell.metrics["accuracy"].mean for cell in summary.cells[::2]}
    assert read["none"] > read["gaussian_noise:deviation=10"] + 0.2
    final = {u.defense: u.validation["loss"] for u in summary.utility if u.attack_point == "final"}
    assert final["gaussian_noise:deviation=10"] > final["none"]


@pytest.mark.slow
def test_dp_sgd_states_epsilon_for_every_client() -> None:
    document = audited(attacks=FEW, defenses=("none", "dp_sgd:clip=1:noise=1", "dp_sgd:noise=0"))
    promised = [entry for entry in document.privacy if entry.defense == "dp_sgd:clip=1:noise=1"]
    assert [entry.client for entry in promised] == [0, 1, 2]
    assert all(0 < entry.epsilon < 100 and entry.delta == 1e-5 for entry in promised)
    assert all(entry.steps == entry.rounds for entry in promised)
    assert [entry.epsilon for entry in document.privacy if entry.defense == "dp_sgd:noise=0"] == [None] * 3
    assert audited(attacks=FEW).privacy == ()


def test_the_threat_model_says_what_is_known_of_a_defence() -> None:
    plain, defended = audited(attacks=FEW), audited(attacks=FEW, defenses="top_k:0.5")
    assert "Which defence is used, and its settings." in defended.threat_model.knows
    assert "The random numbers of the defence." in defended.threat_model.does_not_know
    assert not any("defence" in sentence for sentence in plain.threat_model.knows)
    assert any("none was in place" in sentence for sentence in plain.not_tested)
    assert any("Other defences than top_k:share=0.5" in sentence for sentence in defended.not_tested)


def test_names_are_those_of_the_issue() -> None:
    named = {part.name for part in parts_of("model", "rows")}
    assert named == {"mlp", "mlp_tableak", "resnet", "ft_transformer", "tabnet", "linear"}
    made = make("model", "mlp", "rows", {"width": "64", "dropout": "0.1"})
    assert made.build(3, (2,), 1)[0].out_features == 64


def test_clients_of_unequal_size_are_attacked_in_groups() -> None:
    """FedAvg over all rows: every client's update has its own number of rows."""
    more = {"protocol": "fedavg", "local_rows": "all", "partition": "quantity", "alpha": 2.0, "seed": 1}
    summary = audited(attacks=FEW, batch_sizes=(4,), **more)
    assert all(cell.trials == 3 and cell.failed == 0 for cell in summary.cells)


def test_single_values_and_numbers_are_accepted_where_several_are() -> None:
    summary = audited(
        batch_sizes=2, attacks="gradient_matching", attack_points="initialized", attack_options={"steps": 5}
    )
    assert len(summary.cells) == 1


def test_attacked_clients_are_drawn_not_the_first_ones() -> None:
    chosen = [tuple(record.client for record in _records(seed)) for seed in range(4)]
    assert all(len(set(each)) == 2 and set(each) <= set(range(6)) for each in chosen)
    assert any(set(each) != {0, 1} for each in chosen)
    assert chosen[0] == tuple(record.client for record in _records(0))  # the seed decides


def _records(seed: int) -> list[Any]:
    from tests import cases

    changes = {"clients": 6, "trials": 2, "seed": seed, "exposure": 0, "attack_options": {"steps": 2}}
    plan = make_plan({"data": cases.frame(), "target": "target"} | FAST | changes)
    (task,) = plan.tasks
    memory = run_task(task, None, open_sources(plan)[0]).memory
    assert memory is not None
    return next(iter(memory.records.values()))


def test_dropping_a_column_keeps_what_is_known_about_the_others(tmp_path: Path) -> None:
    from tests import cases

    source = open_source(Request(data=cases.frame(), target="target"))
    path = tmp_path / "schema.toml"
    source.table.schema.write(path)
    path.write_text(path.read_text().replace('kind = "binary"', 'kind = "categorical"'))
    dropped = open_source(Request(data=cases.frame(), schema_file=path, drop=("age",), group="colour"))
    assert dropped.table.schema.names == ("size", "smoker")
    assert dropped.table.schema.column("smoker").kind == "categorical"
    assert {d.name for d in dropped.table.schema.dropped} == {"age", "colour"}


def test_an_attack_that_cannot_is_counted_with_its_reason() -> None:
    summary = audited(attacks="tableak", standardise_onehot=True, attack_options={"steps": 2, "restarts": 2})
    cell = summary.cells[0]
    assert cell.outcome == "not_applicable"
    assert cell.failed == cell.trials
    assert "--global-statistics" in cell.notes[0]
