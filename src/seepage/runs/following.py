"""An audit that follows a capture while it grows: every update is attacked once, in one run that grows with it.

A round is a task of its own (``each_round``), so what is finished is not attacked again. Before a longer plan is run,
``run.json`` is written anew: it says which updates the run has seen, and a capture that lost or changed one of them is
refused. A run that is killed goes on with the same command, and ends with the numbers of an audit of the whole capture
with ``--each-round``.
"""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from seepage._core import InputError, Progress, silent
from seepage._core.files import remove
from seepage._core.paths import user_path
from seepage.captures.reading import read_index
from seepage.report import write_report
from seepage.results import Run, Summary, read_summary
from seepage.results.folder import is_run
from seepage.results.store import FOLLOW, STORE_VERSION, Head
from seepage.runs.api import head_of, open_sources, run
from seepage.runs.plan import Plan, make_plan
from seepage.runs.words import command_line
from seepage.studies.study import Opened

Seen = dict[str, list[str]]  # digests of updates, by round
Updates = tuple[tuple[int, str], ...]  # round and client of each, in the order in which they came
Begin = Callable[[Plan, list[Opened]], None]


@dataclass(frozen=True, kw_only=True)
class Patience:
    """When following ends.

    Args:
        quiet: seconds without a new update.
        rounds: so many rounds are enough; the last one is complete when it has as many updates as the one before it,
            or when a later one begins.
        look: seconds between looks at the capture.
    """

    quiet: float = 600.0
    rounds: int | None = None
    look: float = 1.0


def follow(
    values: Mapping[str, Any],
    out: Path,
    *,
    patience: Patience,
    begin: Begin = lambda plan, sources: None,
    progress: Progress = silent,
    wait: Callable[[float], None] = time.sleep,
) -> Generator[Summary]:
    """Audit a capture as it grows; gives the summary of all rounds so far whenever there is more of it.

    Args:
        values: settings of the study ``updates``, as :func:`make_plan` takes them, without ``rounds``.
        out: the run folder; one of the same audit is gone on with.
        begin: called before the first attack, with what is to be run.
        wait: called between looks; an interrupt in it ends the following.
    """
    values = {**values, "study": "updates", "each_round": True}
    place = user_path(str(values.get("capture") or ""))
    known: Updates = ()
    idle = 0.0
    with ExitStack() as held:
        while True:
            updates = _updates(place, values.get("client"))
            chosen = _chosen(updates, patience.rounds)
            if chosen and updates != known:
                plan, sources = _planned(values, chosen)
                if not known:
                    begin(plan, sources)
                    _begin(plan, sources, out, held)
                yield _step(plan, sources, out, progress)
                known, idle = updates, 0.0
            if idle >= patience.quiet or _enough(updates, patience.rounds):
                return
            try:
                wait(patience.look)
            except KeyboardInterrupt:
                return
            idle += patience.look


def _updates(place: Path, client: str | None) -> Updates:
    """Rounds and clients that the capture holds now; none if it is not begun."""
    index = read_index(place)
    if index is None:
        return ()
    return tuple((each.round, each.client) for each in index.entries if client in (None, each.client))


def _chosen(updates: Updates, most: int | None) -> tuple[int, ...]:
    """The rounds that are attacked."""
    return tuple(sorted({number for number, _ in updates})[:most])


def _enough(updates: Updates, most: int | None) -> bool:
    """Whether all rounds that were asked for are there, and complete."""
    numbers = sorted({number for number, _ in updates})
    if most is None or len(numbers) < most:
        return False
    sizes = [sum(number == each for each, _ in updates) for number in numbers]
    return len(numbers) > most or (most > 1 and sizes[-1] >= sizes[-2])


def _planned(values: Mapping[str, Any], rounds: tuple[int, ...]) -> tuple[Plan, list[Opened]]:
    plan = make_plan(dict(values) | {"rounds": rounds})
    return plan, open_sources(plan)


def _begin(plan: Plan, sources: list[Opened], out: Path, held: ExitStack) -> None:
    """Take the run folder: a mistake is told before anything is written, and nobody else follows into it."""
    for task in plan.tasks:
        plan.study.check(sources[task.place], task.variant.settings, task.choice)
    if not is_run(out):
        Run.create(out, _head(plan, sources, out, command_line(plan)))
    _claim(out, held)
    _grow(plan, sources, out, command_line(plan))
    held.callback(_ended, out)


def _claim(out: Path, held: ExitStack) -> None:
    """Be the only one who follows; tried again, because a page that looks whether somebody does holds it a moment."""
    for wait in (0.05, 0.2, 0.0):
        if held.enter_context(Run(out).claimed(FOLLOW)):
            return
        time.sleep(wait)
    raise InputError(f"Another process follows a capture into {out}; choose another --out.")


def gathered(out: Path) -> Summary | None:
    """What is there of an audit that was interrupted, with a report of it; None if nothing is finished."""
    try:
        stored = Run.open(out)
        summary = read_summary(stored)
        write_report(stored)
    except InputError:
        return None
    return summary


def _step(plan: Plan, sources: list[Opened], out: Path, progress: Progress) -> Summary:
    """Attack what is new, and write summary and report of all."""
    command = command_line(plan)
    _grow(plan, sources, out, command)
    summary = run(plan, out=out, command=command, sources=sources, strict=False, progress=progress)
    write_report(Run.open(out))
    return summary


def _grow(plan: Plan, sources: list[Opened], out: Path, command: str) -> None:
    """Make the folder of a beginning of this plan one of all of it."""
    head, old, seen = _head(plan, sources, out, command), Run(out).head(), _seen(sources[0])
    begun = _begun(old, head, out)
    for task in plan.tasks:
        number = str(getattr(task.choice, "round", None))
        if number in begun and set(begun[number]) != set(seen.get(number, ())):
            if not set(begun[number]) < set(seen.get(number, ())):
                raise InputError(
                    f"The output folder {out} holds a run on other updates in round {number}; the capture was made "
                    "anew, or is another one. Choose another --out."
                )
            remove(out / "tasks" / f"{task.id}.json")  # more came: what is new of the round is attacked
    if (old.get("plan"), old.get("tables")) != (head["plan"], head["tables"]):
        remove(out / "summary.json")  # it says less than will be there; what is finished is read without it
    Run(out).write("run.json", json.dumps(old | head | {"created": old.get("created")}, indent=2) + "\n")


def _head(plan: Plan, sources: list[Opened], out: Path, command: str) -> Head:
    """What run.json says of a run that follows: also which updates it has seen."""
    source: Any = sources[0]
    columns: str = replace(source, entries=()).digest  # and tables and truth, whatever updates there are
    updates: dict[str, JsonValue] = {number: list(digests) for number, digests in _seen(source).items()}
    follows: dict[str, JsonValue] = {"columns": columns, "updates": updates, "live": True}
    follows["command"] = _command(plan, out)
    return head_of(plan, sources, command) | {"follows": follows}


def _command(plan: Plan, out: Path) -> str:
    """What goes on with the following: other than the command that repeats the rounds so far, it waits for more."""
    (variant,) = plan.variants
    settings = variant.settings.model_copy(update={"rounds": (), "each_round": False})
    own = replace(plan, variants=(replace(variant, settings=settings),))
    return f"{command_line(own)} --follow {shlex.join(['--out', str(out)])}"


def _seen(source: Any) -> Seen:
    seen: Seen = {}
    for entry in source.entries:
        seen.setdefault(str(entry.round), []).append(entry.digest)
    return seen


def _begun(old: Mapping[str, JsonValue], head: Mapping[str, JsonValue], out: Path) -> Seen:
    """The updates that a run has seen, if it is one of the same audit."""
    follows, now = old.get("follows"), head["follows"]
    if not isinstance(follows, dict) or not isinstance(follows.get("updates"), dict):
        raise InputError(f"The output folder {out} holds a run that follows no capture; choose another --out.")
    assert isinstance(now, dict)
    same = _said(old) == _said(head) and follows.get("columns") == now["columns"]
    if not same or old.get("store_version") != STORE_VERSION:
        raise InputError(f"The output folder {out} holds a run with other settings; choose another --out.")
    found: Any = follows["updates"]
    gone = [number for number in found if number not in now["updates"]]  # type: ignore[operator]
    if gone:
        raise InputError(
            f"The output folder {out} holds a run on round {gone[0]} too, which is not in the capture; choose another "
            "--out."
        )
    return {str(number): list(digests) for number, digests in found.items()}


def _said(head: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The settings, without the rounds that are there so far."""
    settings = head.get("settings")
    return {name: value for name, value in settings.items() if name != "rounds"} if isinstance(settings, dict) else {}


def _ended(out: Path) -> None:
    """Note that nobody follows any more."""
    stored = Run(out)
    head = stored.head()
    follows = head.get("follows")
    if isinstance(follows, dict):
        stored.write("run.json", json.dumps(head | {"follows": follows | {"live": False}}, indent=2) + "\n")
