"""`seepage capture`: from files to a capture, and what it says about one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from typer.testing import CliRunner

from seepage._core import InputError
from seepage.captures import read
from seepage.cli.main import app


def said(*words: object) -> str:
    done = CliRunner().invoke(app, ["capture", *map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, value in {"before": 0.0, "after": 0.5, "later": 0.75}.items():
        save_file({"w": np.full((2, 3), value, np.float32)}, tmp_path / f"{name}.safetensors")
    return tmp_path


def test_updates_are_captured_and_shown(files: Path) -> None:
    words = ["make", "--before", files / "before.safetensors", "--out", files / "one", "--rows", 64]
    words += ["--batch-size", 16, "--local-epochs", 2, "--optimiser", "adam", "--client", "hospital-a"]
    told = said(*words, "--after", files / "after.safetensors", "--learning-rate", 0.01)
    client = read(files / "one").clients[0]
    assert f"To add more of this client, name it --client {client}" in told
    words[-1] = client
    told = said(*words, "--after", files / "later.safetensors", "--round", 2, "--add")
    assert "Missing: --learning-rate." in told
    shown = said("show", files / "one")
    assert "2 updates of 1 client in 2 rounds, all files whole" in shown
    assert "batches of 16, 2 local epochs, adam (with options) at a rate of 0.01; 6 weights in 1 tensor" in shown
    facts = json.loads(said("show", files / "one", "--json"))
    assert [entry["missing"] for entry in facts["entries"]] == [[], ["learning_rate"]]


def test_a_salt_of_ones_own_gives_a_client_one_name(files: Path) -> None:
    (files / "salt").write_bytes(b"0123456789")
    words = ["make", "--before", files / "before.safetensors", "--gradient", files / "after.safetensors", "--rows", 4]
    words += ["--client", "a", "--salt-file", files / "salt"]
    said(*words, "--out", files / "one")
    said(*words, "--out", files / "two")
    assert read(files / "one").clients == read(files / "two").clients
    (files / "salt").write_bytes(b"0")
    with pytest.raises(InputError, match="must have 8 to"):
        said(*words, "--out", files / "three")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "needs --before FILE"),
        (("--before", "before.safetensors", "--out", "x", "--rows", "4"), "What did the client send"),
        (("--before", "none.safetensors", "--after", "a.npz", "--out", "x", "--rows", "4"), "There is no file"),
        (("--before", "before.safetensors", "--after", "after.safetensors", "--out", "x"), "How many rows"),
        (("--before", ".", "--after", "after.safetensors", "--out", "x", "--rows", "4"), "is a folder"),
    ],
)
def test_what_is_wrong_is_one_sentence(
    files: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], sentence: str
) -> None:
    monkeypatch.chdir(files)
    with pytest.raises(InputError, match=sentence):
        said("make", *words)
    assert not (files / "x").exists()
