"""A table of a paper, run again: its plans go the way of all plans, and what they give is laid beside the paper."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path

from seepage._core import InputError, Progress, silent, unknown_name
from seepage.data.registry import DATASETS
from seepage.plans.spec import written
from seepage.reproductions.joining import split_common
from seepage.reproductions.narrowing import Shown, Values, narrowed, with_part
from seepage.reproductions.own_data import check_used, with_own_data
from seepage.reproductions.paper import Paper, PaperTable, find_paper
from seepage.reproductions.plan_result import PlanResult, VariantSettings
from seepage.reproductions.readings import READINGS
from seepage.reproductions.scaling import Scaled, scaled
from seepage.reproductions.stored import Comparison, PlanRun, ReproducedTable
from seepage.runs import make_plan, open_sources, read_plan, run
from seepage.runs.backends import Backend, open_backend


def file_of(number: str) -> str:
    """The name of a table's file, in the run folder of its first plan: tables of the same plan share that folder."""
    return f"reproduced-{number}.json"


@dataclass(frozen=True, kw_only=True)
class Workload:
    """How much of a table is run, and how.

    Args:
        scale: share of the published work.
        seed: of all randomness.
        jobs: processes.
        paths: the user's own copies of data sets, by name.
        only: texts of the plans' values that are run, by key.
        folder: where run folders are kept; a run that is there is continued.
        progress: is told how far it is.
    """

    scale: float = 1.0
    seed: int = 0
    jobs: int = 1
    paths: Mapping[str, Path] = field(default_factory=dict)
    only: Mapping[str, Sequence[str]] = field(default_factory=dict)
    folder: Path = Path("runs")
    progress: Progress = silent

    def __post_init__(self) -> None:
        if not 0 < self.scale <= 1:
            raise InputError(f"The scale is {self.scale}; it is a share of the published work, above 0 and at most 1.")
        if self.jobs < 1:
            raise InputError(f"The number of jobs is {self.jobs}; it must be at least 1.")
        for name in self.paths:
            if name not in DATASETS:
                raise unknown_name("data set", name, DATASETS)


@dataclass(frozen=True, kw_only=True)
class TablePlan:
    """A plan of a table, ready to be run.

    Args:
        name: of its file.
        published: its values for all of the published work.
        scaled: its values for the work that was asked for.
        left_out: data sets of which no file was given.
        shows: what the table shows of it, by coordinates of cells.
    """

    name: str
    published: Values
    scaled: Scaled
    left_out: tuple[str, ...] = ()
    shows: Shown = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """A table that was run again, and the run folders of its plans."""

    table: ReproducedTable
    folders: tuple[Path, ...]


def reproduce(paper: str, table: str | None = None, work: Workload | None = None) -> Reproduction:
    """Run a table of a paper, or go on with it, and lay our numbers beside the published ones.

    Args:
        paper: its name, such as ``tableak``.
        table: as the paper numbers it; the one it is known for if not given.
        work: how much of it is run, and how.
    """
    work = work or Workload()
    whose = find_paper(paper)
    shown = whose.table(table)
    plans = plans_of(whose, shown, work)
    command = command_line(whose, shown, work)
    cells: list[Comparison] = []
    runs: list[PlanRun] = []
    folders: list[Path] = []
    with ExitStack() as stack:
        backend = stack.enter_context(open_backend("local", jobs=work.jobs)) if work.jobs > 1 else None
        for plan in plans:
            result, about, folder = _run(whose, shown, plan, work, command, backend)
            cells += READINGS[shown.reading](result)
            runs.append(about)
            folders.append(folder)
    common, apart = split_common(cells)
    made = ReproducedTable(
        paper=whose.name,
        table=shown.number,
        title=shown.title,
        command=command,
        scale=work.scale,
        created=runs[0].created,
        runs=tuple(runs),
        differs=_differs(whose, shown, plans),
        common=common,
        cells=tuple(apart),
    )
    made.write(folders[0] / file_of(shown.number))
    return Reproduction(table=made, folders=tuple(folders))


def plans_of(paper: Paper, table: PaperTable, work: Workload) -> list[TablePlan]:
    """The plans of a table: what it shows of them, what was asked for of that, and this share of the work."""
    parts, known = list(table.plans), {**paper.own, **table.own}
    values: list[Values] = [with_part(read_plan(plan_file(paper, part.plan)), part.part) for part in parts]
    check_used(values, known, work.paths)
    shown = [{name: tuple(written(each) for each in values) for name, values in part.shows.items()} for part in parts]
    plans = []
    for part, left, shows in zip(parts, narrowed(values, work.only, shown), shown, strict=True):
        if left is None:
            continue
        own, left_out = with_own_data(left, known, work.paths)
        full: Values = own | {"seed": work.seed}
        share = work.scale if part.scaled else 1.0
        less = scaled(full, table.scaling or paper.scaling, share)
        plans.append(TablePlan(name=part.plan, published=full, scaled=less, left_out=left_out, shows=shows))
    if not plans:
        raise InputError(f"Nothing is left of table {table.number} of {paper.name}; ask for less with --only.")
    return plans


def plan_file(paper: Paper, name: str) -> Path:
    """The file of a plan."""
    return Path(str(resources.files(__package__).joinpath("plans", paper.name, f"{name}.toml")))


def command_line(paper: Paper, table: PaperTable, work: Workload) -> str:
    """The command that repeats it; the user's own files are not named."""
    words = ["seepage", "reproduce", paper.name, "--table", table.number]
    words += ["--scale", f"{work.scale:g}"] if work.scale < 1 else []
    words += ["--seed", str(work.seed)] if work.seed else []
    words += [word for key, texts in work.only.items() for word in ("--only", f"{key}={','.join(texts)}")]
    words += [word for name in work.paths for word in ("--path", f"{name}=FILE")]
    return shlex.join(words)


def _run(
    paper: Paper, table: PaperTable, plan: TablePlan, work: Workload, command: str, backend: Backend | None
) -> tuple[PlanResult, PlanRun, Path]:
    """Run a plan by the one path of all plans."""
    made, published = make_plan(plan.scaled.values), make_plan(plan.published)
    sources = open_sources(made)
    # The table is not in the name: several tables show the same plan, and what one has run the next one reads.
    folder = work.folder / f"reproduce-{paper.name}-{plan.name}-{made.fingerprint}"
    summary = run(
        made, out=folder, command=command, sources=sources, backend=backend, strict=False, progress=work.progress
    )
    pairs = zip(made.variants, published.variants, sources, strict=True)
    result = PlanResult(
        paper=paper,
        table=table,
        summary=summary,
        variants=tuple(
            VariantSettings(name=ours.name, dataset=source.name, published=theirs.settings, run=ours.settings)
            for ours, theirs, source in pairs
        ),
        less=plan.scaled.less,
        shows=plan.shows,
    )
    about = PlanRun(
        plan=plan.name,
        study=summary.study,
        settings=_without_paths(plan.scaled.values),
        seed=work.seed,
        tables={source.name: source.digest for source in sources},
        created=summary.created,
        versions=summary.versions,
        not_run=tuple(f"{missing.what}: {missing.reason}" for missing in summary.not_run),
    )
    return result, about, folder


def _without_paths(values: Values) -> Values:
    """The values of a plan, except for where the user's files are."""
    cases = values.get("cases")
    kept: Values = {key: value for key, value in values.items() if key not in ("path", "cases")}
    if isinstance(cases, list):
        kept["cases"] = [_without_paths(case) for case in cases if isinstance(case, dict)]
    return kept


def _differs(paper: Paper, table: PaperTable, plans: Iterable[TablePlan]) -> tuple[str, ...]:
    """What is not as in the paper, in all cells."""
    sentences = [sentence for plan in plans for sentence in paper.differs.get(plan.name, ())]
    names = dict.fromkeys(name for plan in plans for name in plan.left_out)
    if names:
        titles = ", ".join(paper.dataset.spoken(name) or name for name in names)
        sentences.append(f"Left out, because no file was given (--path NAME=FILE): {titles}.")
    return tuple(dict.fromkeys([*sentences, *table.differs]))
