"""`seepage audit updates --follow`: what is told as rounds come, and what it does not go with."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from seepage._core import InputError
from seepage.cli.main import app
from seepage.report.run_state import run_state
from seepage.runs import following
from tests.runs.test_following import SHORT, Federation

LONG = 120.0  # seconds after which a test ends its process


def command(federation: Federation) -> list[str]:
    fixed = ["--schema", str(federation.schema), "--model", "mlp:width=24", "--simulations", "0", "--follow"]
    return ["audit", "updates", str(federation.folder), *fixed]


def follow(federation: Federation, *words: str) -> tuple[str, str]:
    """What is printed, and what is told beside it."""
    done = CliRunner().invoke(app, [*command(federation), "--follow-quiet", "0.001", *words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout, done.stderr


def test_each_round_is_told_and_the_report_is_named(tmp_path: Path) -> None:
    federation = Federation(tmp_path)
    federation.send(1, "a")
    federation.send(2, "a", "b")
    out = tmp_path / "run"
    shown, told = follow(federation, "--attacks", f"{SHORT},presence", "--out", str(out))
    assert "round 1: 1 update, 6 of 6 rows certified, 6 in all rounds" in told
    assert "round 2: 2 updates, 12 of 12 rows certified, 18 in all rounds" in told
    assert "more known to occur" in told
    assert str(out / "report.html") in shown
    document = json.loads(follow(federation, "--attacks", f"{SHORT},presence", "--out", str(out), "--json")[0])
    assert [each["certified"] for each in document["rounds"] if each["attack"] == SHORT] == [6, 6, 6]


@contextmanager
def follower(federation: Federation, out: Path) -> Iterator[subprocess.Popen[str]]:
    """A process of its own that follows, as soon as it has told the first round."""
    words = [*command(federation), "--attacks", SHORT, "--out", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-m", "seepage", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    late = threading.Timer(LONG, process.kill)
    late.start()
    try:
        assert process.stderr is not None
        told = []
        for line in process.stderr:
            told.append(line)
            if line.startswith("round 1:"):
                break
        assert process.poll() is None, "".join(told)
        yield process
    finally:
        late.cancel()
        process.kill()
        process.communicate()


@pytest.mark.slow
def test_a_killed_follower_is_told_from_one_that_follows_and_ctrl_c_ends_with_a_report(tmp_path: Path) -> None:
    federation, out = Federation(tmp_path), tmp_path / "run"
    federation.send(1, "a")
    with follower(federation, out) as process:
        assert run_state(out).progress.startswith("follows its capture: 1 of 1")
        process.kill()
        process.wait()
    state = run_state(out)
    assert (state.follows, state.stopped, state.finished, state.readable) == (False, True, False, True)
    assert state.progress.startswith(
        "was stopped while it followed its capture: 1 of 1\u00a0round attacked; run the same"
    )
    again = ["seepage", *command(federation), "--attacks", SHORT, "--out", str(out)]
    assert sorted(shlex.split(state.command)) == sorted(again)  # in another order
    with follower(federation, out) as process:
        assert run_state(out).follows
        process.send_signal(signal.SIGINT)
        shown, told = process.communicate()
    assert process.returncode == 0, told
    assert str(out / "report.html") in shown
    assert run_state(out).progress == "finished"


def test_ctrl_c_in_the_middle_of_an_attack_ends_with_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    federation, out = Federation(tmp_path), tmp_path / "run"
    federation.send(1, "a")
    follow(federation, "--attacks", SHORT, "--out", str(out))
    (out / "report.html").unlink()
    federation.send(2, "a")

    def interrupted(*arguments: object, **named: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(following, "run", interrupted)
    shown, told = follow(federation, "--attacks", SHORT, "--out", str(out))
    assert str(out / "report.html") in shown
    assert (out / "report.html").exists()
    assert "The run is not finished" in told
    assert f"To continue: the same command with --out {out}" in told
    assert run_state(out).progress == "1 of 2\u00a0tasks finished"


def test_ctrl_c_before_anything_is_finished_has_nothing_to_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: object, **named: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(following, "run", interrupted)
    federation, out = Federation(tmp_path), tmp_path / "run"
    federation.send(1, "a")
    done = CliRunner().invoke(app, [*command(federation), "--attacks", SHORT, "--out", str(out)])
    assert done.exit_code == 130
    assert "To continue: the same command" in done.stderr
    assert not (out / "report.html").exists()


def test_a_capture_that_never_comes_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There was no update"):
        follow(Federation(tmp_path), "--out", str(tmp_path / "run"))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--follow-rounds", "3"), "--follow-rounds would have no effect without --follow"),
        (("--follow", "--rounds", "1"), "leave --rounds out"),
        (("--follow", "--jobs", "2"), "followed by one process"),
        (("--follow", "--plan", "plan.toml"), "cannot follow what comes"),
        (("--follow", "--follow-quiet", "0"), "follow_quiet|follow-quiet"),
    ],
)
def test_what_does_not_go_together_is_one_sentence(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(InputError, match=said):
        CliRunner().invoke(app, ["audit", "updates", "capture", *words], catch_exceptions=False)
