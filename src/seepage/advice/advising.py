"""From a question to an answer: open the table, search, and write what came out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seepage._core import Progress, silent
from seepage._core.files import write_atomically
from seepage._core.text_table import aligned
from seepage.advice import frontier_table, lines, shown, words
from seepage.advice.board import Board
from seepage.advice.laboratory import SEEDS, Laboratory
from seepage.advice.limits import Limits
from seepage.advice.search import Found, search
from seepage.advice.space import Candidate, candidates, reference
from seepage.advice.stages import CONFIRM, CONFIRMING
from seepage.advice.state import open_state
from seepage.data.source import Source
from seepage.report import write_report
from seepage.report.advice_page import Remark, render_advice
from seepage.results import Run
from seepage.runs.api import open_sources
from seepage.runs.backends import Backend, asked_backend, cores
from seepage.runs.plan import make_plan


@dataclass(frozen=True, kw_only=True)
class Workers:
    """Who does the work: this process, several, or a Dask cluster, as in ``seepage audit``."""

    jobs: int | None = None
    backend: str | None = None
    scheduler: str | None = None
    plain_tcp: bool = False

    @contextmanager
    def open(self) -> Iterator[Backend | None]:
        """The backend while it is used; None for this process."""
        named = self.backend is not None or self.scheduler is not None
        amount = (self.jobs or cores()) if named or (self.jobs or 1) > 1 else None
        with asked_backend(
            self.backend, jobs=self.jobs, amount=amount, scheduler=self.scheduler, plain_tcp=self.plain_tcp
        ) as backend:
            yield backend


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked.

    Args:
        table: what is said about the table: ``data``, ``target`` and whatever else a plan may say of it.
        keep: what stays as it is, checked by :func:`seepage.advice.space.read_keep`.
        limits: what is allowed.
        budget: seconds.
        exposure: passes over the rows that models are trained for; fitted to the budget if None.
        command: what was typed, for the page.

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
    workers: Workers = Workers()
    command: str = ""

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
        answer: paragraphs for people.
        limits: what was not reached or not tested.
        headings, rows: the frontier as a table.
        plan: TOML that repeats the confirmation of the chosen setting.
        frameworks: lines for Flower, NVFlare and Opacus.
    """

    found: Found
    board: Board
    chosen: Candidate | None
    answer: list[str]
    limits: list[Remark]
    headings: list[str]
    rows: list[list[str]]
    plan: str
    frameworks: dict[str, str]

    def __str__(self) -> str:
        """All of it, in words."""
        rows = aligned([self.headings, *self.rows])
        told = [remark.text for remark in self.limits]
        code = [f"{name}\n{text}\n" for name, text in self.frameworks.items()]
        return "\n".join([*self.answer, "", *rows, "", frontier_table.LEGEND, "", *told, "", *code])


def answered(
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
    with question.workers.open() as backend:
        jobs = 1 if backend is None else max(1, backend.slots)
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
            jobs=jobs,
            backend=backend,
            progress=progress,
            tell=tell,
        )
        every, impossible = laboratory.possible(candidates(keep))
        sample = next((each for each in every if not each.plain), every[-1])
        laboratory.settle_exposure(question.exposure, sample)
        tell(f"{len(every)} settings to look at, beside strengths between them.")
        board = Board(question.limits, plain)
        found = search(board, every, laboratory.measure, task=task, together=jobs)
    return _write(laboratory, board, found, impossible, question.command)


def _write(
    laboratory: Laboratory, board: Board, found: Found, impossible: Mapping[Candidate, str], command: str
) -> Advice:
    """The answer, and its files: the words, the plan and the report of what was confirmed."""
    chosen = found.recommended or found.nearest
    headings, rows = frontier_table.table(board)
    plan = "" if chosen is None else _plan_of(laboratory, chosen)
    advice = Advice(
        found=found,
        board=board,
        chosen=chosen,
        answer=words.answer(
            board,
            found,
            laboratory.task,
            laboratory.state.exposure,
            clients=laboratory.clients,
            plan=str(laboratory.folder / "plan.toml") if plan and laboratory.named else "",
            updates=laboratory.trials(CONFIRM),
        ),
        limits=words.limits_of_advice(board, found, impossible),
        headings=headings,
        rows=rows,
        plan=plan,
        frameworks={} if chosen is None else lines.framework_lines(chosen),
    )
    folder = laboratory.folder
    write_atomically(folder / "advice.txt", str(advice))
    page = shown.page_of(advice, laboratory.task, laboratory.source.name, laboratory.source.digest, command)
    write_atomically(folder / "report.html", render_advice(page))
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
    if not laboratory.named:
        values["data"] = None
    return lines.plan_text(values)
