"""The page of a capture that may still be growing: its rounds, and what audits of it have certified so far."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from seepage._core import InputError
from seepage.captures.reading import SAID, StoredEntry
from seepage.report.capture_state import CaptureState, capture_state, missing_of
from seepage.report.run_state import RunState, run_states
from seepage.report.several_rounds import several_rounds
from seepage.report.verdict import Tile
from seepage.report.words import NOTHING, count, plural, size, span
from seepage.results import Run, read_summary
from seepage.results.captured_rounds import CapturedRound, RoundTotal, round_totals
from seepage.results.updates import UpdatesSummary

LINES = 200  # rounds that the page lists, the newest
SENDERS = 100  # clients


@dataclass(frozen=True, kw_only=True)
class RoundLine:
    """One round of the capture, and what an audit has read of it."""

    number: int
    updates: int
    rows: int
    total: RoundTotal | None

    @property
    def waits(self) -> bool:
        """Whether updates of it are still to be attacked."""
        return self.total is None or self.total.updates < self.updates

    @property
    def width(self) -> str:
        """The share of its rows that were certified, as a width."""
        found = self.total.certified if self.total else None
        return f"{100 * (found or 0) / max(self.rows, 1):.1f}%"


@dataclass(frozen=True, kw_only=True)
class SenderLine:
    """One client of the capture."""

    name: str
    rounds: int
    rows: str
    sent: str
    missing: tuple[str, ...]
    certified: str


@dataclass(frozen=True, kw_only=True)
class CapturePage:
    """All that the page shows.

    Args:
        audits: runs that attack this capture, the newest first.
        audited: the one whose numbers are shown; empty if there is none to read.
        adds: what several rounds add, in sentences.
        command: what would follow it.
    """

    state: CaptureState
    audits: tuple[RunState, ...]
    audited: str
    tiles: tuple[Tile, ...]
    adds: tuple[str, ...]
    lines: tuple[RoundLine, ...]
    senders: tuple[SenderLine, ...]
    command: str

    @property
    def left_out(self) -> tuple[int, int]:
        """Rounds and clients that are not listed."""
        return max(len(self.state.rounds) - LINES, 0), max(len(self.state.clients) - SENDERS, 0)


def capture_page(path: Path, folder: Path) -> CapturePage:
    """The page of one capture of the served folder."""
    state = capture_state(path)
    audits = tuple(run for run in run_states(folder) if run.study == "updates" and run.dataset == state.name)
    audited, rounds = _read_by(folder, audits, state)
    totals = round_totals(rounds)
    known = {total.round: total for total in totals}
    return CapturePage(
        state=state,
        audits=audits,
        audited=audited,
        tiles=_tiles(state, totals),
        adds=_adds(state, totals),
        lines=tuple(_round(state, number, known.get(number)) for number in reversed(state.rounds[-LINES:])),
        senders=tuple(_sender(state, client, rounds) for client in state.clients[:SENDERS]),
        command=_command(path, folder / f"{path.name}-audit"),
    )


def _command(capture: Path, out: Path) -> str:
    """What would follow it."""
    begin = ["seepage", "audit", "updates", str(capture), "--schema", "SCHEMA", "--model", "MODEL"]
    return shlex.join([*begin, "--follow", "--out", str(out)])


def _read_by(folder: Path, audits: Sequence[RunState], state: CaptureState) -> tuple[str, tuple[CapturedRound, ...]]:
    """The newest audit that can be read, and what it has of each round; nothing of a capture of the same name."""
    own = {(entry.client, entry.round) for entry in state.entries}
    for run in audits:
        if not run.readable:
            continue
        try:
            rounds = _rounds(folder / run.name, run)
        except (InputError, OSError):  # being written, or damaged: its own page says which
            continue
        if all((each.sender, each.round) in own for each in rounds):
            return run.name, rounds
    return "", ()


@lru_cache(maxsize=16)
def _rounds(path: Path, run: RunState) -> tuple[CapturedRound, ...]:
    """What a run has of each round; read again when its state has changed."""
    summary = read_summary(Run(path))
    return summary.rounds if isinstance(summary, UpdatesSummary) else ()


def _tiles(state: CaptureState, totals: Sequence[RoundTotal]) -> tuple[Tile, ...]:
    if not state.rounds:
        return ()
    span_of = f"from {state.rounds[0]} to {state.rounds[-1]}" if len(state.rounds) > 1 else ""
    tiles = [
        Tile(title="rounds so far", value=count(len(state.rounds)), note=span_of),
        Tile(
            title="updates",
            value=count(len(state.entries)),
            note=f"of {plural(len(state.clients), 'client')}, {size(state.stored)}",
        ),
    ]
    last = totals[-1] if totals else None
    if last is not None and last.certified_best is not None and last.certified_sum is not None:
        least, most = last.certified_best, last.certified_sum
        note = "" if least == most else "different ones: at least each client's best round, at most all rounds added up"
        tiles.append(Tile(title="rows certified so far", value=span((least, most)), note=note))
    if last is not None and last.present_so_far is not None:
        note = "behind some update, added up over clients"
        tiles.append(Tile(title="categories known to occur", value=count(last.present_so_far), note=note))
    return tuple(tiles)


def _adds(state: CaptureState, totals: Sequence[RoundTotal]) -> tuple[str, ...]:
    """What several rounds add, and what is still to come."""
    waiting = len(state.entries) - sum(total.updates for total in totals)
    if not totals or waiting <= 0:
        return several_rounds(totals)
    left = f"{plural(waiting, 'update')} {'is' if waiting == 1 else 'are'} still to be attacked."
    return (left, *several_rounds(totals))


def _round(state: CaptureState, number: int, total: RoundTotal | None) -> RoundLine:
    own = [entry for entry in state.entries if entry.round == number]
    return RoundLine(number=number, updates=len(own), rows=sum(entry.facts.rows for entry in own), total=total)


def _sender(state: CaptureState, client: str, rounds: Sequence[CapturedRound]) -> SenderLine:
    own = [entry for entry in state.entries if entry.client == client]
    proven = [each.certified for each in rounds if each.sender == client and each.certified is not None]
    return SenderLine(
        name=client,
        rounds=len(own),
        rows=span([entry.facts.rows for entry in own]),
        sent=", ".join(dict.fromkeys(_sent(entry) for entry in own)),
        missing=tuple(dict.fromkeys(name.replace("_", " ") for entry in own for name in missing_of(entry))),
        certified=count(max(proven)) if proven else NOTHING,
    )


def _sent(entry: StoredEntry) -> str:
    changed = ", changed before it was sent" if entry.facts.covered else ""
    return f"{SAID[entry.kind]}{changed}"
