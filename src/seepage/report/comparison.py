"""Two runs side by side, in words."""

from __future__ import annotations

from dataclasses import dataclass

from seepage.report.words import percent, points, score
from seepage.results.compare import Difference, compare
from seepage.results.summary import Summary

LIMIT = 200  # lines; `seepage compare --json` has all
_READ = {"accuracy": "cells read", "exact": "rows read exactly", "emr": "rows read nearly"}
_NAMES = {
    "rows": _READ,
    "vertical": _READ,
    "updates": _READ | {"certified": "rows proven", "expected": "cells right, by the simulation"},
    "property": {"accuracy": "ranges named rightly", "mse": "squared error, in ranges"},
    "training": {
        "f1": "F1, rows the encoder never saw",
        "f1_published": "F1, as published",
        "roc_auc": "ROC AUC, rows the encoder never saw",
        "gain": "cells read by the host beyond guessing",
    },
}
_NAMES["parties"] = {
    "read": "what the attack reads",
    "alone": "the attacker alone",
    "gain": "read beyond the attacker alone and guessing",
    "f1": "F1 of the model",
}
_NAMES["cohorts"] = {
    "read": "what the attack reads",
    "guess": "by chance",
    "gain": "read beyond chance",
    "certified": "rows proven",
}
_NAMES["servers"] = {
    "exact": "rows read exactly",
    "emr": "rows read nearly",
    "certified": "rows proven",
    "noticed": "clients whose checks raise an alarm",
}
_SHARES = {"accuracy", "exact", "emr", "gain"}


@dataclass(frozen=True, kw_only=True)
class Line:
    """One number of one setting in both runs."""

    setting: str
    differs: str
    what: str
    first: str
    second: str
    change: str
    clear: bool


@dataclass(frozen=True, kw_only=True)
class ComparedRuns:
    """What is equal, what differs, the largest change first, and how much only one run has."""

    equal: str
    settings: tuple[str, ...]
    computed: tuple[str, ...]
    lines: tuple[Line, ...]
    left_out: int
    only_first: int
    only_second: int


def compared(first: Summary, second: Summary) -> ComparedRuns:
    """Two runs of one study; other pairs are refused with a sentence."""
    both = compare(first, second)
    return ComparedRuns(
        equal=both.equal,
        settings=both.settings,
        computed=both.computed,
        lines=tuple(_line(first.study, each) for each in both.differences[:LIMIT]),
        left_out=max(len(both.differences) - LIMIT, 0),
        only_first=len(both.only_first),
        only_second=len(both.only_second),
    )


def _line(study: str, each: Difference) -> Line:
    share = each.metric in _SHARES
    shown = percent if share and each.metric != "gain" else points if share else score
    return Line(
        setting=each.cell,
        differs=each.differs,
        what=_NAMES.get(study, {}).get(each.metric, each.metric),
        first=shown(each.first),
        second=shown(each.second),
        change=f"{points(each.change)} points" if share else f"{each.change:+.3f}".replace("-", "−"),
        clear=each.clear,
    )
