"""The result of a run: what ``summary.json`` holds, and what gate, compare, export, serve and report read.

One envelope for all studies (:class:`Summary`, :class:`Result`); the numbers differ, and each study's are in a file of
their own (``rows.py``, ``vertical.py``, ``property.py``, ``training.py``, ``parties.py``, ``servers.py``). The page
``docs/reference/summary.md`` is generated from these classes. ``SCHEMA_VERSION`` rises when a field changes its
meaning.
"""

from __future__ import annotations

from typing import Annotated, Literal

import polars as pl
from pydantic import Field, JsonValue

from seepage._core.text_table import aligned
from seepage.results.facts import Dataset, Facts, NotRun, ThreatModel, Unfinished, VariantSettings
from seepage.results.interval import Interval
from seepage.results.result import Result

SCHEMA_VERSION: Literal[3] = 3  # 2: near rows were counted as exact ones
AND = " and "  # between several versions of one package, or several machines
KERNELS = ("processor", "kernels", "threads")  # what may change a number by itself; a compiler only where it was used
# The numbers that each study is about: what frames show first, and what is compared between runs.
HEADLINE = {
    "rows": ("accuracy", "exact", "emr"),
    "vertical": ("accuracy", "exact", "emr"),
    "property": ("accuracy", "mse"),
    "training": ("f1", "f1_published", "roc_auc", "gain"),
    "parties": ("read", "alone", "gain", "f1"),
    "updates": ("accuracy", "exact", "emr", "certified", "expected"),
    "cohorts": ("read", "guess", "gain", "certified"),
    "servers": ("exact", "emr", "certified", "noticed"),
}


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

    schema_version: Literal[3] = SCHEMA_VERSION
    study: str
    name: str
    path: Annotated[str | None, Field(description="the run folder; null if nothing was written")] = None
    created: Annotated[str, Field(description="when the run was begun, UTC")] = ""
    seed: Annotated[int, Field(description="that of the first variant")]
    versions: dict[str, str]
    machine: Annotated[
        dict[str, str],
        Field(
            description="what computed it: processor, kernels, threads, compiler, and whether steps were compiled; "
            "several are joined by `and`"
        ),
    ] = Field(default_factory=dict)
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
        return self.mixed

    @property
    def mixed(self) -> tuple[str, ...]:
        """Whether tasks of one run were computed by several versions or machines, as sentences."""
        several = {
            "versions": [f"{name} {value}" for name, value in self.versions.items() if AND in value],
            "machines": [f"{name} {value}" for name, value in self.machine.items() if AND in value and name in KERNELS],
        }
        return tuple(
            f"Tasks of this run were computed on different {what} ({'; '.join(found)}): their numbers may differ in "
            "more than chance."
            for what, found in several.items()
            if found
        )

    def lines(self) -> tuple[list[str], list[list[str]]]:
        """Headings, and one line per cell: the table people see first."""
        raise NotImplementedError

    def __str__(self) -> str:
        headings, lines = self.lines()
        return "\n".join([*aligned([headings, *lines]), *self.warnings])

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
        """For notebooks: the view that the report made known, or the table alone."""
        from seepage.results.showing import shown

        return shown(self)


def show(interval: Interval | None) -> str:
    """An interval for people: ``0.91 [0.88, 0.94]``."""
    if interval is None:
        return "-"
    if interval.low is None:
        return f"{interval.mean:.2f}"
    return f"{interval.mean:.2f} [{interval.low:.2f}, {interval.high:.2f}]"
