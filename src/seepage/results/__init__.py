"""What came out: records, the run folder, the summary. No torch in this room."""

from seepage.results.buckets import BUCKETS, Bucket, Kind, places
from seepage.results.interval import Interval, bootstrap
from seepage.results.record import ATTACK, BASELINES, PRIOR, WHOLE, Cell, Measure, Record
from seepage.results.store import Run
from seepage.results.summary import SCHEMA_VERSION, Summary, summarise_cells

__all__ = [
    "ATTACK",
    "BASELINES",
    "BUCKETS",
    "PRIOR",
    "SCHEMA_VERSION",
    "WHOLE",
    "Bucket",
    "Cell",
    "Interval",
    "Kind",
    "Measure",
    "Record",
    "Run",
    "Summary",
    "bootstrap",
    "places",
    "summarise_cells",
]
