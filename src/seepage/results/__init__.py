"""What came out: records, the run folder, the summary. No torch in this room."""

from seepage.results.interval import Interval, bootstrap
from seepage.results.record import ATTACK, BASELINES, WHOLE, Cell, Measure, Record
from seepage.results.store import Run
from seepage.results.summary import SCHEMA_VERSION, Summary, summarise_cells

__all__ = [
    "ATTACK",
    "BASELINES",
    "SCHEMA_VERSION",
    "WHOLE",
    "Cell",
    "Interval",
    "Measure",
    "Record",
    "Run",
    "Summary",
    "bootstrap",
    "summarise_cells",
]
