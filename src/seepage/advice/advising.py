"""From a question to an answer: open the table, search, and write what came out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seepage._core import Progress, silent
from seepage._core.files import write_atomically
from seepage.advice import lines, words
from seepage.advice.board import Board
from seepage.advice.laboratory import SEEDS, Laboratory
from seepage.advice.limits import Limits
from seepage.advice.search import Found, search
from seepage.advice.space import Candidate, candidates, reference
from seepage.advice.stages import CONFIRM, CONFIRMING
from seepage.advice.state import open_state
from seepage.data.source import Source
from seepage.report import write_report
from seepage.results import Run
from seepage.runs.api import open_sources
from seepage.runs.backends import open_backend
from seepage.runs.plan import make_plan


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked.

    Args:
        table: what is said about the table: ``data``, ``target`` and whatever else a plan may say of it.
        keep: what stays as it is, checked by :func:`seepage.advice.space.read_keep`.
        limits: what is allowed.
        budget: seconds.
        exposure: passes over the rows that models are trained for; fitted to the budget if None.

    Example:
        >>> Question(table={"data": "clinic"}, limits=Limits()).clients
        10
    """

    table: Mapping[str, Any]
    limits: Limits
    keep: Mapping[str, Any] | None = None
    budget: float = 1800.0
    clients: int = 10
    exposure: float | None = None
    seed: int = 0
    jobs: int = 1

    @property
    def facts(self) -> dict[str, Any]:
        """What changes numbers or decisions: a search goes on only for the same. A budget may grow."""
        return {
            "table": {name: str(value) for name, value in self.table.items()},
            "keep": dict(self.keep or {}),
            "limits": vars(self.limits),
            "clients": self.clients,
            "exposure": self.exposure,
            "seed": self.seed,
        }


@dataclass(frozen=True, kw_only=True)
class Advice:
    """The answer.

    Args:
        chosen: the recommended setting, or the nearest if nothing meets the limits; None if nothing was measured.
        answer, limits: paragraphs for people.
        headings, rows: the frontier as a table.
        plan: TOML that repeats the confirmation of the chosen setting.
        frameworks: lines for Flower, NVFlare and Opacus.
    """

    found: Found
    board: Board
    chosen: Candidate | None
    answer: list[str]
    limits: list[str]
    headings: list[str]
    rows: list[list[str]]
    plan: str
    frameworks: dict[str, str]


def advise(
    question: Question,
    folder: Path,
    *,
    tell: Callable[[str], None] = lambda line: None,
    progress: Progress = silent,
) -> Advice:
    """Search for the setting that leaks within the limits and costs least; runs and answer are in ``folder``."""
    keep = question.keep or {}
    plain = reference(keep)
    source = open_sources(make_plan({**question.table, **plain.values()}))[0]
    assert isinstance(source, Source)
    task = source.describe().task
    question.limits.check_task(task)
    state = open_state(folder, {**question.facts, "rows": source.digest})
    pool = open_backend("local", jobs=question.jobs) if question.jobs > 1 else nullcontext(None)
    with pool as backend:
        laboratory = Laboratory(
            table=question.table,
            source=source,
            task=task,
            folder=folder,
            state=state,
            plain=plain,
            budget=question.budget,
            seed=question.seed,
            clients=question.clients,
            jobs=question.jobs,
            backend=backend,
            progress=progress,
            tell=tell,
        )
        every, impossible = laboratory.possible(candidates(keep))
        sample = next((each for each in every if not each.plain), every[-1])
        laboratory.settle_exposure(question.exposure, sample)
        tell(f"{len(every)} settings to look at, beside strengths between them.")
        board = Board(question.limits, plain)
        found = search(board, every, laboratory.measure, task=task, together=question.jobs)
    return _write(laboratory, board, found, impossible)


def _write(laboratory: Laboratory, board: Board, found: Found, impossible: Mapping[Candidate, str]) -> Advice:
    """The answer, and its files: the words, the plan and the report of what was confirmed."""
    chosen = found.recommended or found.nearest
    headings, rows = words.table(board)
    plan = "" if chosen is None else _plan_of(laboratory, chosen)
    advice = Advice(
        found=found,
        board=board,
        chosen=chosen,
        answer=words.answer(board, found, laboratory.task, laboratory.state.exposure),
        limits=words.limits_of_advice(board, found, impossible),
        headings=headings,
        rows=rows,
        plan=plan,
        frameworks={} if chosen is None else lines.framework_lines(chosen),
    )
    folder = laboratory.folder
    write_atomically(folder / "advice.txt", as_text(advice))
    if plan:
        write_atomically(folder / "plan.toml", plan)
    for chunk in laboratory.state.chunks:
        if chunk.stage in CONFIRMING and (folder / chunk.folder / "summary.json").exists():
            write_report(Run.open(folder / chunk.folder))
    return advice


def _plan_of(laboratory: Laboratory, chosen: Candidate) -> str:
    """What repeats the confirmation of a setting, with seeds that no stage used."""
    values = {
        **laboratory.table,
        **chosen.values(),
        "attacks": list(CONFIRM.attacks(chosen)),
        "attack_points": ["initialized", "final"],
        "trials": laboratory.trials(CONFIRM),
        "clients": laboratory.clients,
        "exposure": laboratory.state.exposure,
        "seed": laboratory.seed + SEEDS * (CONFIRM.place + 1),
    }
    return lines.plan_text(values)


def as_text(advice: Advice) -> str:
    """All of it, for a file."""
    rows = ["\t".join(row) for row in (advice.headings, *advice.rows)]
    code = [f"{name}\n{text}\n" for name, text in advice.frameworks.items()]
    return "\n".join([*advice.answer, "", *rows, "", *advice.limits, "", *code])
