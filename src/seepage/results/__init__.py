"""What came out: records, the run folder, the summary. No torch in this room."""

from seepage.results.buckets import BUCKETS, Bucket, Kind, places
from seepage.results.cells import (
    CELLS,
    Cell,
    CohortsCell,
    PartiesCell,
    PropertyCell,
    RowsCell,
    ServersCell,
    TrainingCell,
    UpdatesCell,
    VerticalCell,
    coordinates,
)
from seepage.results.interval import Interval, bootstrap
from seepage.results.reading import parse_summary, read_summary
from seepage.results.record import (
    ALL_COLUMNS,
    ATTACK,
    BASELINES,
    MATCHING_RULES,
    PRIOR,
    TABLEAK_RANDOM,
    MatchingName,
    Measure,
    Record,
    by_rule,
)
from seepage.results.store import Run
from seepage.results.summary import SCHEMA_VERSION, Summary
from seepage.results.tasks import TaskDone
from seepage.results.trials import Trials

__all__ = [
    "ALL_COLUMNS",
    "ATTACK",
    "BASELINES",
    "BUCKETS",
    "CELLS",
    "MATCHING_RULES",
    "PRIOR",
    "SCHEMA_VERSION",
    "TABLEAK_RANDOM",
    "Bucket",
    "Cell",
    "CohortsCell",
    "Interval",
    "Kind",
    "MatchingName",
    "Measure",
    "PartiesCell",
    "PropertyCell",
    "Record",
    "RowsCell",
    "Run",
    "ServersCell",
    "Summary",
    "TaskDone",
    "TrainingCell",
    "Trials",
    "UpdatesCell",
    "VerticalCell",
    "bootstrap",
    "by_rule",
    "coordinates",
    "parse_summary",
    "places",
    "read_summary",
]
