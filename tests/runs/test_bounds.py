"""Bounds before work: a run that would be too much says so before anything is done or written."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import seepage
from seepage._core import InputError
from seepage.cli.main import app
from seepage.cli.running import Where, ask
from seepage.data import clinic
from seepage.runs import bounds, make_plan, open_sources

TABLE = clinic(rows=300)
ROWS: dict[str, Any] = {"data": TABLE, "target": "died"}
PROPERTY = ROWS | {"study": "property", "property": "sex == 'female'"}
VERTICAL = ROWS | {"study": "vertical", "people": 100}
TRAINING = ROWS | {"study": "training", "guests": 2}
MILLION = 1_000_000


@pytest.mark.parametrize(
    "values",
    [
        ROWS | {"trials": MILLION},
        ROWS | {"exposure": MILLION},
        ROWS | {"models": "mlp:depth=1000"},
        ROWS | {"models": "mlp:width=1000000"},
        ROWS | {"models": "ft_transformer:width=800000"},
        ROWS | {"protocol": "fedavg", "local_epochs": MILLION},
        ROWS | {"attacks": "inverting_gradients:restarts=1000000"},
        ROWS | {"attacks": "tableak", "attack_options": {"steps": MILLION, "restarts": 1000}},
        PROPERTY | {"models": MILLION},
        PROPERTY | {"epochs": MILLION},
        PROPERTY | {"observed": "update", "rounds": MILLION},
        VERTICAL | {"batches": MILLION, "trials": 1000},
        VERTICAL | {"trials": MILLION},
        TRAINING | {"latent": MILLION},
        TRAINING | {"pretraining": MILLION},
        TRAINING | {"runs": 1000, "finetuning": 10_000},
    ],
)
def test_what_multiplies_work_is_counted_before_it(values: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "TRIAL", 0.0)  # nothing is tried: the count alone must tell
    with pytest.raises(InputError, match=r"^This would .*(more than an hour|GB of memory).* say yes=True"):
        seepage.audit(**values)


@pytest.mark.parametrize(
    "values", [ROWS, PROPERTY, VERTICAL, TRAINING], ids=["rows", "property", "vertical", "training"]
)
def test_small_runs_are_not_tried(values: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "estimate", lambda *_, **__: pytest.fail("a small run was tried first"))
    plan = make_plan(values)
    assert bounds.too_much(plan, open_sources(plan)) is None


def test_a_trial_decides_where_the_count_is_not_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "SMALL", 0.0)
    plan = make_plan(ROWS | {"trials": 2, "exposure": 0, "attack_options": {"steps": 2, "restarts": 1}})
    assert bounds.too_much(plan, open_sources(plan)) is None
    monkeypatch.setattr(bounds, "HOUR", 1e-6)
    assert "This would take about" in (bounds.Bill(10, 0, 0).sentence(bounds.HOUR) or "")


def test_memory_is_told() -> None:
    assert "GB of memory, more than half of this machine's" in (bounds.Bill(0, 2.0**60, 0).sentence() or "")


@pytest.mark.parametrize(
    "values",
    [
        ROWS | {"trials": 10**9},
        ROWS | {"exposure": 1e12},
        ROWS | {"learning_rate": 1e308},
        ROWS | {"seed": 10**4000},
        ROWS | {"seed": "9" * 5000},
        ROWS | {"models": "mlp:depth=100000"},
        ROWS | {"models": "tabnet:steps=100000"},
        ROWS | {"attacks": "exact:restarts=100000000"},
        ROWS | {"defenses": "gaussian_noise:1e308"},
        PROPERTY | {"readers": "paths:hidden=1000000"},
    ],
)
def test_no_setting_is_absurd(values: dict[str, Any]) -> None:
    with pytest.raises(InputError) as told:
        make_plan(values)
    assert len(str(told.value)) < 400


def test_yes_accepts_and_a_run_that_goes_on_was_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = ROWS | {"trials": 1, "clients": 2, "exposure": 0, "batch_size": 2, "attack_options": {"steps": 2}}
    monkeypatch.setattr(bounds, "too_much", lambda *_: "This would take about 5 h, more than an hour.")
    with pytest.raises(InputError, match="say yes=True"):
        seepage.audit(**small, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    first = seepage.audit(**small, out=tmp_path / "run", yes=True)
    assert seepage.audit(**small, out=tmp_path / "run").cells == first.cells


def test_a_pipe_stops_and_a_terminal_asks(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match=r"Too much\. Ask for less, or run it all the same with --yes."):
        ask("Too much.", Where())
    ask("Too much.", Where(yes=True))
    assert "note: Too much." in capsys.readouterr().err
    for stream in (sys.stdin, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    asked: list[str] = []
    monkeypatch.setattr("typer.confirm", lambda text, **_: bool(asked.append(text)))
    with pytest.raises(InputError, match="Nothing was run"):
        ask("Too much.", Where())
    assert asked == ["Too much. Run it all the same?"]
    monkeypatch.setattr("typer.confirm", lambda text, **_: True)
    ask("Too much.", Where())
    ask(None, Where())


@pytest.mark.parametrize("text", ["sexx == 'female'", "sex == 'femal'", "sex =="])
@pytest.mark.parametrize("planned", [True, False])
def test_a_mistyped_property_leaves_no_folder(tmp_path: Path, text: str, planned: bool) -> None:
    out = ["--out", str(tmp_path / "run")]
    said = ["audit", "property", "--data", "clinic", "--property", text, "--models-per-class", "9", *out]
    if planned:
        (tmp_path / "plan.toml").write_text(f'study = "property"\ndata = "clinic"\nproperty = "{text}"\nmodels = 9')
        said = ["audit", "--plan", str(tmp_path / "plan.toml"), *out]
    with pytest.raises(InputError):
        app(said, standalone_mode=False)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "flags", [["--model", "mlp:width=1000000"], ["--local-epochs", "1000000", "--protocol", "fedavg"]]
)
def test_a_bare_audit_is_not_tried_where_that_would_take_long(tmp_path: Path, flags: list[str]) -> None:
    with pytest.raises(InputError, match=r"This would .* with --yes"):
        app(["audit", "--data", "clinic", *flags, "--out", str(tmp_path / "run")], standalone_mode=False)
    assert not (tmp_path / "run").exists()
