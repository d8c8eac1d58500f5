"""An audit that follows a capture while it grows: as an audit of the whole, and nothing is attacked twice."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import seepage
from seepage import captures
from seepage._core import InputError
from seepage.captures.reading import read_index
from seepage.data import Encoder, Table, clinic, infer_schema
from seepage.models import MLP, make_learner
from seepage.report.capture_state import capture_state
from seepage.results import Run, read_summary
from seepage.results.captured_rounds import round_totals
from seepage.results.updates import UpdatesSummary
from seepage.runs import following
from seepage.runs.following import Patience, follow

ROWS = 6
SHORT = "exact:restarts=1:starts=1:steps=5:start_steps=5"


class Federation:
    """Writes updates of clients into a capture, as a recorder on a server would."""

    def __init__(self, folder: Path) -> None:
        frame = clinic(rows=200)
        table = Table.from_frame(frame, infer_schema(frame, "died"))
        self.folder, self.schema = folder / "capture", folder / "schema.toml"
        self.schema.write_text(table.schema.to_toml())
        encoder = Encoder(schema=table.schema)
        self.x = torch.from_numpy(encoder.encode(table, encoder.statistics(table)))
        self.y = torch.from_numpy(table.target)
        layout = encoder.layout
        self.learner = make_learner(MLP(width=24), layout.numeric, layout.sizes, "binary", 2, seed=3)

    def send(self, number: int, *clients: str, salt: int = 0) -> None:
        """Updates of one round."""
        for client in clients:
            batch = np.random.default_rng([number, ord(client), salt]).choice(200, ROWS, replace=False)
            weights = self.learner.initial()
            slope = self.learner.gradient(weights, self.x[batch], self.y[batch])
            add = self.folder.exists()
            captures.write(self.folder, before=weights, gradient=slope, rows=ROWS, client=client, round=number, add=add)

    @property
    def values(self) -> dict[str, Any]:
        """The settings of an audit."""
        return {
            "capture": str(self.folder), "schema_file": self.schema, "model": "mlp:width=24", "simulations": 0,
            "attacks": (SHORT, "presence"),
        }  # fmt: skip

    def follow(self, out: Path, *then: Callable[[], None], rounds: int | None = None) -> list[UpdatesSummary]:
        """Follow it; between looks these things happen, and then nothing more."""
        left = list(then)

        def wait(seconds: float) -> None:
            if left:
                left.pop(0)()

        patience = Patience(quiet=2, rounds=rounds)
        found = list(follow(self.values, out, patience=patience, wait=wait))
        assert all(isinstance(each, UpdatesSummary) for each in found)
        return found  # type: ignore[return-value]

    def whole(self, **changes: Any) -> UpdatesSummary:
        """An audit of all that is there."""
        values = self.values
        summary = seepage.audit(None, study="updates", schema=values.pop("schema_file"), **(values | changes))
        assert isinstance(summary, UpdatesSummary)
        return summary


@pytest.fixture
def federation(tmp_path: Path) -> Federation:
    return Federation(tmp_path)


def numbers(summary: UpdatesSummary) -> list[tuple[Any, ...]]:
    """All that was measured, in an order of its own."""
    every = (*summary.cells, *summary.tallies)
    found = [(sorted(each.place.items()), each.rows, each.outcomes, each.metrics, each.judged) for each in every]
    return sorted(found, key=lambda each: str(each[0]))


def test_following_gives_the_numbers_of_an_audit_of_the_whole_capture(federation: Federation, tmp_path: Path) -> None:
    federation.send(1, "a", "b")
    out, stored = tmp_path / "run", {}

    def grow() -> None:
        stored.update({file: file.stat().st_mtime_ns for file in (out / "records").iterdir()})
        federation.send(2, "a", "b")

    first, last = federation.follow(out, grow)
    assert [{each.round for each in summary.rounds} for summary in (first, last)] == [{1}, {1, 2}]
    assert {file: file.stat().st_mtime_ns for file in stored} == stored  # nothing was attacked twice
    whole = federation.whole(each_round=True)
    assert numbers(last) == numbers(whole)
    assert set(last.rounds) == set(whole.rounds)
    usual = federation.whole()  # a case for each client
    assert round_totals(last.rounds) == round_totals(usual.rounds)
    assert sum(cell.rows_certified or 0 for cell in last.cells) == sum(cell.rows_certified or 0 for cell in usual.cells)
    assert numbers(read_summary(Run(out))) == numbers(last)  # type: ignore[arg-type]
    assert "Round by round" in (out / "report.html").read_text()
    head = json.loads((out / "run.json").read_text())
    assert (head["tasks"], head["follows"]["live"]) == (2, False)
    assert "--rounds 1,2 --each-round" in last.command
    assert round_totals(last.rounds)[-1].certified_sum == 4 * ROWS


def test_a_late_update_of_a_round_is_attacked_and_the_others_are_not_again(
    federation: Federation, tmp_path: Path
) -> None:
    federation.send(1, "a")
    out = tmp_path / "run"
    first, last = federation.follow(out, lambda: federation.send(1, "b"))
    assert (len(first.cells), len(last.cells), len(last.updates)) == (1, 2, 2)
    assert numbers(last) == numbers(federation.whole(each_round=True))


def test_it_waits_for_the_first_update_ends_when_told_and_goes_on_later(federation: Federation, tmp_path: Path) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    out = tmp_path / "run"
    assert federation.follow(out) == []
    (one,) = federation.follow(out, lambda: federation.send(1, "a"), stop)
    assert len(one.cells) == 1
    federation.send(2, "a")
    (two,) = federation.follow(out)
    assert numbers(two) == numbers(federation.whole(each_round=True))
    (again,) = federation.follow(out)  # nothing is new
    assert numbers(again) == numbers(two)


def test_a_run_that_was_killed_goes_on(federation: Federation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    federation.send(1, "a")
    out = tmp_path / "run"
    federation.follow(out)
    federation.send(2, "a", "b")

    def killed(*arguments: Any, **named: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(following, "run", killed)  # after the head of the longer plan is there
        with pytest.raises(KeyboardInterrupt):
            federation.follow(out)
    partial = read_summary(Run(out))
    assert isinstance(partial, UpdatesSummary)
    assert {each.round for each in partial.rounds} == {1}  # what is finished can be read
    (last,) = federation.follow(out)
    assert numbers(last) == numbers(federation.whole(each_round=True))


def test_it_ends_after_so_many_rounds(federation: Federation, tmp_path: Path) -> None:
    federation.send(1, "a", "b")
    more = (lambda: federation.send(2, "a"), lambda: federation.send(2, "b"), lambda: federation.send(3, "a"))
    *_, last = federation.follow(tmp_path / "run", *more, rounds=2)
    assert {(each.round, each.sender) for each in last.rounds} == {
        (entry.round, entry.client) for entry in captures.read(federation.folder).entries
    }
    assert len(captures.read(federation.folder).entries) == 4  # the third round was not waited for


def test_a_folder_of_something_else_is_left_as_it_is(federation: Federation, tmp_path: Path) -> None:
    federation.send(1, "a")
    federation.whole(out=tmp_path / "other")
    with pytest.raises(InputError, match="follows no capture"):
        federation.follow(tmp_path / "other")
    out = tmp_path / "run"
    federation.follow(out)
    with pytest.raises(InputError, match="other settings"):
        list(follow(federation.values | {"seed": 1}, out, patience=Patience(quiet=0)))
    with Run(out).claimed("follow"), pytest.raises(InputError, match="Another process follows"):
        federation.follow(out)
    federation.folder.rename(tmp_path / "aside")
    federation.send(1, "a", salt=1)
    with pytest.raises(InputError, match="other updates in round 1"):
        federation.follow(out)
    (tmp_path / "capture").rename(tmp_path / "aside too")
    federation.send(2, "a")
    with pytest.raises(InputError, match="round 1 too, which is not in the capture"):
        federation.follow(out)


def test_a_round_of_another_model_is_noted_and_the_others_go_on(federation: Federation, tmp_path: Path) -> None:
    federation.send(1, "a")
    other = {"weight": np.ones((1, 3), "float32")}

    def odd() -> None:
        captures.write(federation.folder, before=other, gradient=other, rows=2, client="a", round=2, add=True)

    last = federation.follow(tmp_path / "run", odd, lambda: federation.send(3, "a"))[-1]
    assert {each.round for each in last.rounds} == {1, 3}
    (missing,) = last.not_run
    assert "are not those of the model" in missing.reason


def test_a_capture_that_is_being_written_can_always_be_read(federation: Federation) -> None:
    federation.send(0, "a")
    writing = threading.Thread(target=lambda: [federation.send(number, "a") for number in range(1, 25)])
    writing.start()
    seen = []
    while writing.is_alive():
        index, state = read_index(federation.folder), capture_state(federation.folder)
        assert index is not None
        assert not state.problem
        seen += [len(index.entries), len(state.entries)]
        for entry in captures.read(federation.folder).entries[-1:]:
            entry.update()  # its tensors came before it
    writing.join()
    assert seen == sorted(seen)
    assert len(captures.read(federation.folder).entries) == 25
