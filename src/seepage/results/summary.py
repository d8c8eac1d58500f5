"""The result of a run: what ``summary.json`` holds, and what gate, compare, export, serve and report read.

One envelope for all studies (:class:`Summary`, :class:`Result`); the numbers differ, and each study's are in a file of
their own (``rows.py``, ``vertical.py``, ``property.py``, ``training.py``). ``docs/reference/summary.md`` is generated
from these classes. ``SCHEMA_VERSION`` rises when a field changes its meaning.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from typing import Annotated, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from seepage._core import Outcome
from seepage.results.cells import Coordinate
from seepage.results.interval import Interval
from seepage.results.trials import Trials

SCHEMA_VERSION: Literal[2] = 2  # 1: one kind of document for each kind of run
# The numbers that each study is about: what frames show first, and what is compared between runs.
HEADLINE = {
    "rows": ("accuracy", "exact", "emr"),
    "vertical": ("accuracy", "exact", "emr"),
    "property": ("accuracy", "mse"),
    "training": ("f1", "f1_published", "roc_auc", "gain"),
}
ATTACKERS = ("attack", "reader", "loss", "hierarchy")  # coordinates that the attacker chooses; the first names it
_SCORED = {outcome.code for outcome in Outcome if outcome.scored}


class Facts(BaseModel):
    """Facts of a summary: checked when they are read, and never changed."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ColumnFacts(Facts):
    """An input column: its name and size, never a value."""

    name: str
    kind: str
    cardinality: Annotated[int | None, Field(description="how many categories; null for numbers")] = None
    sensitive: bool = False
    dataset: Annotated[str, Field(description="its table, where a plan has several")] = ""


class LeftOut(Facts):
    """A column that is not used, and why."""

    name: str
    reason: str
    dataset: str = ""


class Dataset(Facts):
    """The table or tables that were audited."""

    name: str
    rows: int
    target: str
    task: str
    columns: tuple[ColumnFacts, ...] = ()
    dropped: tuple[LeftOut, ...] = ()
    notes: Annotated[tuple[str, ...], Field(description="how the table came, if there is something to say")] = ()
    digest: Annotated[str, Field(description="equal for equal rows with an equal schema")] = ""


class ThreatModel(Facts):
    """Who attacks, and what was really handed to the attack. Over all settings of a plan: what holds in some of them
    only begins with ``In some settings:``."""

    adversary: tuple[str, ...] = ()
    sees: tuple[str, ...] = ()
    knows: tuple[str, ...] = ()
    does_not_know: tuple[str, ...] = ()

    @staticmethod
    def over(each: Sequence[ThreatModel]) -> ThreatModel:
        """The one of several settings together."""
        parts = {name: [getattr(one, name) for one in each] for name in ThreatModel.model_fields}
        return ThreatModel(**{name: _over_settings(lists) for name, lists in parts.items()})


def _over_settings(lists: Sequence[Sequence[str]]) -> tuple[str, ...]:
    sentences = dict.fromkeys(sentence for each in lists for sentence in each)
    everywhere = [sentence for sentence in sentences if all(sentence in each for each in lists)]
    some = [sentence for sentence in sentences if sentence not in everywhere]
    return (*everywhere, *(f"In some settings: {sentence[0].lower()}{sentence[1:]}" for sentence in some))


class VariantSettings(Facts):
    """One setting of everything that is not a coordinate of a cell."""

    name: str
    dataset: str
    settings: Annotated[dict[str, JsonValue], Field(description="those that differ from the first variant's")]


class NotRun(Facts):
    """A task of the plan that gave no number."""

    what: str
    reason: str
    state: Annotated[
        Literal["impossible", "crashed", "missing"],
        Field(description="it cannot be; an internal error stopped it; or it was not reached yet"),
    ]


class Unfinished(Facts):
    """How much of a run that was stopped, or still goes on, is there."""

    tasks: int
    tasks_done: int
    cells: Annotated[int, Field(description="that were asked for")]
    cells_done: int

    @property
    def sentence(self) -> str:
        """In words."""
        return (
            f"The run is not finished: {self.cells_done} of {self.cells} settings and {self.tasks_done} of "
            f"{self.tasks} tasks are there."
        )


class Result(Facts):
    """What every cell of every study has."""

    id: Annotated[str, Field(description="stable short name")]
    dataset: str
    variant: Annotated[str, Field(description="what else differs within a plan (`labels_known=false`)")] = ""
    trials: Annotated[int, Field(description="repetitions: attacked batches, recoveries, target models, trainings")]
    failed: Annotated[
        int, Field(description="trials that gave nothing to score; they are counted here and never averaged")
    ] = 0
    outcome: Annotated[str, Field(description="how most of the scored trials ended")]
    outcomes: Annotated[dict[str, int], Field(description="how many trials ended how")]
    seconds: Annotated[float, Field(description="compute time")] = 0.0
    notes: Annotated[tuple[str, ...], Field(description="what the attack had to say")] = ()
    metrics: Annotated[dict[str, Interval | None], Field(description="means with 95 % intervals over trials")]
    judged: Annotated[
        dict[str, Interval | None],
        Field(
            description="what a gate looks at: `exact` and `emr`, rows read exactly and nearly; `gain`, what is read "
            "beyond the best guess"
        ),
    ] = Field(default_factory=dict)
    strongest: Annotated[
        tuple[tuple[str, ...], ...] | None,
        Field(
            description="attacks that must have been run before a gate passes, the strongest first, equals together; "
            "the next ones count where those before them do not apply. Null: not known"
        ),
    ] = None
    weaker: Annotated[
        str, Field(description="how this attack was run with less than it ships with; empty if it was not")
    ] = ""

    @property
    def attacker(self) -> str:
        """The name of what attacked, without its options; empty if nothing has a name here."""
        return next((str(self.place[name]).partition(":")[0] for name in ATTACKERS if name in self.place), "")

    @property
    def guess(self) -> float:
        """What guessing gets, as a share: the rest is the most that can be read beyond it."""
        return 0.0

    @property
    def may_hide(self) -> bool:
        """Whether leakage may show in few of the trials only, so that it takes many to see it."""
        return True

    @property
    def place(self) -> dict[str, Coordinate]:
        """The coordinates, by name: what was tested."""
        raise NotImplementedError

    @property
    def measured(self) -> bool:
        """Whether any trial gave a number."""
        return self.trials > self.failed


class Summary(Facts):
    """A run's numbers. It prints as a table, in a terminal and in a notebook.

    Every study's summary has these fields; its ``cells`` and what stands beside them are its own
    (``docs/reference/summary.md``).

    Example:
        >>> import seepage
        >>> from seepage.data import clinic
        >>> summary = seepage.audit(clinic(rows=300), target="died", batch_sizes=1, trials=2, clients=2, exposure=0)
        >>> summary.cells[0].metrics["emr"].mean
        1.0
    """

    schema_version: Literal[2] = SCHEMA_VERSION
    study: str
    name: str
    path: Annotated[str | None, Field(description="the run folder; null if nothing was written")] = None
    created: Annotated[str, Field(description="when the run was begun, UTC")] = ""
    seed: Annotated[int, Field(description="that of the first variant")]
    versions: dict[str, str]
    settings: Annotated[dict[str, JsonValue], Field(description="those of the first variant, see `variants`")]
    command: Annotated[str, Field(description="the command line that repeats it")]
    dataset: Dataset
    threat_model: ThreatModel
    variants: Annotated[tuple[VariantSettings, ...], Field(description="only of a plan with a grid or cases")] = ()
    not_tested: Annotated[tuple[str, ...], Field(description="what this run says nothing about")] = ()
    not_run: Annotated[tuple[NotRun, ...], Field(description="tasks of the plan that gave no number")] = ()
    unfinished: Annotated[
        Unfinished | None, Field(description="how much is there, where a run was read before it was finished")
    ] = None
    cells: tuple[Result, ...]

    def to_json(self) -> str:
        """The document as it is stored."""
        return self.model_dump_json(indent=2) + "\n"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader must know before trusting the table, as sentences."""
        return ()

    def lines(self) -> tuple[list[str], list[list[str]]]:
        """Headings, and one line per cell: the table people see first."""
        raise NotImplementedError

    def __str__(self) -> str:
        headings, lines = self.lines()
        every = [headings, *lines]
        widths = [max(len(line[i]) for line in every) for i in range(len(headings))]
        table = ["  ".join(text.ljust(w) for text, w in zip(line, widths, strict=True)) for line in every]
        return "\n".join([*table, *self.warnings])

    def __repr__(self) -> str:
        return str(self)

    def to_frame(self) -> pl.DataFrame:
        """What was tested and what came out, one line for each cell: the numbers that the study is about."""
        from seepage.results import frames

        return frames.headline_frame(self)

    def cells_frame(self) -> pl.DataFrame:
        """Every cell with all its numbers and the ends of their intervals, as ``seepage export`` writes them."""
        from seepage.results import frames

        return frames.cells_frame(self)

    def columns_frame(self) -> pl.DataFrame:
        """Every column of every cell: what was read of it. The studies ``property`` and ``training`` have none, and
        say so (:class:`InputError`)."""
        from seepage.results import frames

        return frames.columns_frame(self)

    def revealed_frame(self) -> pl.DataFrame:
        """Rows as they are (``true.age``) and as they were read (``read.age``), if the run was made with ``reveal``;
        one sentence (:class:`InputError`) if not. They are private."""
        from seepage.results import frames

        return frames.revealed_frame(self)

    def _repr_html_(self) -> str:
        """For notebooks: the view that the report made known (:func:`show_with`), or the table alone."""
        return _VIEWS[-1](self) if _VIEWS else table_html(self)


_VIEWS: list[Callable[[Summary], str]] = []


def show_with(view: Callable[[Summary], str]) -> None:
    """Let notebooks show summaries by this view. The report is above this room, so it cannot be named here."""
    _VIEWS.append(view)


def table_html(summary: Summary) -> str:
    """The table that people see first, as HTML."""
    headings, lines = summary.lines()
    head = "".join(f"<th>{html.escape(text)}</th>" for text in headings)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in line) + "</tr>" for line in lines)
    return (
        f"<table><caption>Seepage: {html.escape(summary.study)} of {html.escape(summary.dataset.name)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def envelope(trials: Trials) -> dict[str, object]:
    """What a result says of its trials, whatever was measured."""
    outcomes, scored = trials.outcomes, int(trials.scored.sum())
    pool = {code: n for code, n in outcomes.items() if (code in _SCORED) == bool(scored)} or outcomes
    return {
        "id": trials.cell.id,
        "trials": len(trials.scored),
        "failed": len(trials.scored) - scored,
        "outcome": max(sorted(pool), key=lambda code: pool[code]),
        "outcomes": outcomes,
        "seconds": round(float(trials.heads["seconds"].sum()), 3),
        "notes": tuple(dict.fromkeys(note for note in trials.heads["note"].to_list() if note)),
    }


def show(interval: Interval | None) -> str:
    """An interval for people: ``0.91 [0.88, 0.94]``."""
    if interval is None:
        return "-"
    if interval.low is None:
        return f"{interval.mean:.2f}"
    return f"{interval.mean:.2f} [{interval.low:.2f}, {interval.high:.2f}]"
