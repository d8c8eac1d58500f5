"""From a summary to exactly what the page shows: names, counts and rates, never a private value.

The one exception is ``revealed``, which a summary holds only when its user asked for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from seepage._core import InputError, Outcome
from seepage.report import words
from seepage.report.applicability import Applicability, gather_applicability
from seepage.report.pictures import drawn_picture, is_picture
from seepage.report.privacy import Promise, gather_promises
from seepage.report.recovery import RecoveryView, gather_recovery
from seepage.report.trends import Trend, gather_trends
from seepage.report.trust import TrustView, gather_trust
from seepage.report.utility import UtilityView, gather_utility
from seepage.report.verdict import ColumnReading, Leak, NotRun, Verdict, conclude
from seepage.results import BASELINES, Cell, Interval, Summary
from seepage.results.summary import CRASHED, NOT_RUN

CHOSEN = (
    "dataset",
    "protocol",
    "model",
    "batch_size",
    "defense",
    "variant",
)  # what an engineer chooses; the rest is the attacker's
REVEALED_LIMIT = 100
COLUMNS_LIMIT = 240  # those most at risk: a page with hundreds more is slow to open, and nobody reads them
_CELL = tuple(field.name for field in fields(Cell))
_NEEDED = (
    "name",
    "seed",
    "versions",
    "settings",
    "command",
    "dataset",
    "threat_model",
    "cells",
    "utility",
    "not_tested",
)


@dataclass(frozen=True)
class ColumnView:
    """One column over all settings."""

    name: str
    kind: str
    cardinality: int | None
    sensitive: bool
    gains: tuple[float | None, ...]
    attack: Interval | None
    prior: Interval | None
    where: str
    dataset: str = ""  # only where there are several

    @property
    def label(self) -> str:
        return _of_table(self.name, self.dataset)

    @property
    def gain(self) -> float | None:
        return self.attack.mean - self.prior.mean if self.attack and self.prior else None


@dataclass(frozen=True)
class Choice:
    """A choice an engineer can make, judged by the attack and moment that leak most."""

    label: str
    worst: Leak | None
    tested: int
    unmeasured: int
    not_applicable: int


@dataclass(frozen=True)
class Failure:
    """How often attacks ended in a way that gave nothing to score, or not all."""

    code: str
    amount: int
    reason: str
    advice: str
    scored: bool


@dataclass(frozen=True)
class Listing:
    """A heading and its sentences."""

    heading: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class RevealedRow:
    """A true row beside its reconstruction: private, and shown on request only."""

    label: str
    cells: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class RevealedPicture:
    """A true picture beside what was read of it, as images inside the page."""

    label: str
    truth: str
    reconstruction: str


@dataclass(frozen=True, kw_only=True)
class Page:
    """Everything on the page."""

    title: str
    lead: str
    verdict: Verdict
    leaks: tuple[Leak, ...]
    recovery: RecoveryView | None
    columns: tuple[ColumnView, ...]
    columns_left_out: int
    trust: TrustView | None
    applicability: Applicability | None
    choices: tuple[Choice, ...]
    trends: tuple[Trend, ...]
    promises: tuple[Promise, ...]
    utility: UtilityView
    threat_model: tuple[Listing, ...]
    deviation: str
    trials: int
    failed: int
    failures: tuple[Failure, ...]
    not_tested: tuple[str, ...]
    command: str
    facts: tuple[tuple[str, str], ...]
    settings: tuple[tuple[str, str], ...]
    dropped: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    revealed: tuple[RevealedRow, ...]
    revealed_pictures: tuple[RevealedPicture, ...]
    revealed_left_out: int


def gather(summary: Summary) -> Page:
    """What the report of this summary shows."""
    document = summary.document
    missing = [name for name in _NEEDED if name not in document]
    if missing:
        raise InputError(f"The summary lacks {', '.join(missing)}; run the audit again to write it anew.")
    leaks = _leaks(summary.cells)
    choices = gather_choices(leaks)
    first = choices[0] if len(choices) > 1 and not choices[0].unmeasured else None
    safest = (first.label, first.worst) if first and first.worst else None
    revealed = document.get("revealed") or []
    columns = gather_columns(document["dataset"]["columns"], leaks, summary.cells)
    pictures = [entry for entry in revealed if is_picture(entry["truth"])]
    revealed = [entry for entry in revealed if not is_picture(entry["truth"])]
    return Page(
        title=f"Leakage audit of {document['dataset']['name']}",
        lead=_lead(document["dataset"], leaks),
        verdict=conclude(leaks, _worst_columns(leaks, summary.cells), safest, _not_run(document["not_tested"])),
        leaks=leaks,
        recovery=gather_recovery(document, leaks),
        columns=columns[:COLUMNS_LIMIT],
        columns_left_out=max(len(columns) - COLUMNS_LIMIT, 0),
        trust=gather_trust(leaks, summary.cells, document["settings"]),
        applicability=gather_applicability(document.get("applicability") or []),
        choices=choices,
        trends=gather_trends(leaks, _parameters(summary.utility)),
        promises=gather_promises(document.get("privacy") or []),
        utility=gather_utility(summary.utility, leaks, str(document["dataset"].get("task"))),
        threat_model=_threat_model(document["threat_model"]),
        deviation=_deviation(_values(document, "deviation")),
        trials=sum(leak.trials for leak in leaks),
        failed=sum(leak.failed for leak in leaks),
        failures=_failures(summary.cells),
        not_tested=_sentences(document["not_tested"]),
        command=str(document["command"] or ""),
        facts=_facts(document),
        settings=_settings(document),
        dropped=_dropped(document["dataset"].get("dropped") or ()),
        notes=_sentences(document["dataset"].get("notes")),
        revealed=tuple(_revealed(revealed[:REVEALED_LIMIT], leaks)),
        revealed_pictures=tuple(_pictures(pictures, leaks)),
        revealed_left_out=max(len(revealed) - REVEALED_LIMIT, 0),
    )


def _leaks(cells: Sequence[Mapping[str, Any]]) -> tuple[Leak, ...]:
    keys = [Cell(**{name: entry[name] for name in _CELL if name in entry}) for entry in cells]
    varying = tuple(name for name in words.DIMENSIONS if len({getattr(key, name) for key in keys}) > 1)
    shown = varying or ("batch_size", "attack")
    return tuple(
        _leak(number, key, words.label(key, shown), entry)
        for number, (key, entry) in enumerate(zip(keys, cells, strict=True), start=1)
    )


def _leak(number: int, cell: Cell, label: str, entry: Mapping[str, Any]) -> Leak:
    metrics = {name: words.interval(value) for name, value in entry["metrics"].items()}
    return Leak(
        number=number,
        cell=cell,
        label=label,
        trials=entry["trials"],
        failed=entry["failed"],
        outcome=entry["outcome"],
        exposure=entry["exposure"],
        seconds=entry["seconds"],
        rows=entry["rows"],
        rows_exact=entry["rows_exact"],
        rows_certified=entry.get("rows_certified"),
        rows_guessed=entry["rows_guessed"],
        accuracy=metrics.get("accuracy"),
        accuracy_num=metrics.get("accuracy_num"),
        accuracy_cat=metrics.get("accuracy_cat"),
        exact=metrics.get("emr"),
        baselines={name: words.interval(entry["baselines"].get(name)) for name in BASELINES},
        gain={name: words.interval(entry["gain"].get(name)) for name in BASELINES},
        exact_gain={name: words.interval(entry["emr_gain"].get(name)) for name in BASELINES},
    )


def _lead(dataset: Mapping[str, Any], leaks: Sequence[Leak]) -> str:
    batches = sum(leak.trials for leak in leaks)
    return (
        f"{words.plural(int(dataset['rows']), 'row')}, "
        f"{words.plural(len(dataset['columns']), 'input column')}; "
        f"the model predicts {dataset['target']} ({dataset['task']}). "
        f"{words.plural(batches, 'attack')} in {words.plural(len(leaks), 'setting')}."
    )


def _readings(cell: Mapping[str, Any]) -> dict[str, ColumnReading]:
    return {
        column["name"]: ColumnReading(
            column["name"],
            bool(column["sensitive"]),
            words.interval(column.get("attack")),
            words.interval(column.get("prior")),
        )
        for column in cell["columns"]
    }


def _worst_columns(leaks: Sequence[Leak], cells: Sequence[Mapping[str, Any]]) -> tuple[ColumnReading, ...]:
    measured = [leak for leak in leaks if leak.measured]
    if not measured:
        return ()
    worst = max(measured, key=lambda leak: leak.rank)
    return tuple(_readings(cells[worst.number - 1]).values())


def _not_run(not_tested: Any) -> NotRun:
    missing = [sentence for sentence in _sentences(not_tested) if sentence.startswith(NOT_RUN)]
    crashed = sum(CRASHED in sentence for sentence in missing)
    return NotRun(impossible=len(missing) - crashed, crashed=crashed)


def gather_columns(
    columns: Sequence[Mapping[str, Any]], leaks: Sequence[Leak], cells: Sequence[Mapping[str, Any]]
) -> tuple[ColumnView, ...]:
    """The columns, sensitive ones first, then by how much more than guessing an attack read of them."""
    readings = [(cell["dataset"], _readings(cell)) for cell in cells]
    views = []
    for column in columns:
        table = column.get("dataset")  # two tables may each have a column of this name
        over = [found.get(column["name"]) if table in (None, read) else None for read, found in readings]
        views.append(_column(column, leaks, over))
    return tuple(
        sorted(views, key=lambda view: (not view.sensitive, view.gain is None, -(view.gain or 0.0), view.label))
    )


def _column(column: Mapping[str, Any], leaks: Sequence[Leak], over: Sequence[ColumnReading | None]) -> ColumnView:
    gains = tuple(reading.gain if reading else None for reading in over)
    known = [index for index, value in enumerate(gains) if value is not None]
    top = max(known, key=lambda index: gains[index] or 0.0) if known else None
    reading = over[top] if top is not None else None
    return ColumnView(
        name=str(column["name"]),
        kind=str(column["kind"]),
        cardinality=column.get("cardinality"),
        sensitive=bool(column.get("sensitive")),
        gains=gains,
        attack=reading.attack if reading else None,
        prior=reading.prior if reading else None,
        where=leaks[top].label if top is not None else "",
        dataset=str(column.get("dataset") or ""),
    )


def _of_table(name: str, dataset: str) -> str:
    """A column's name, with its table where there are several."""
    return f"{name} ({dataset})" if dataset else name


def gather_choices(leaks: Sequence[Leak]) -> tuple[Choice, ...]:
    """Every choice an engineer can make, the least leaking first; where an attack broke down, last."""
    groups: dict[tuple[Any, ...], list[Leak]] = {}
    for leak in leaks:
        groups.setdefault(tuple(getattr(leak.cell, name) for name in CHOSEN), []).append(leak)
    varying = tuple(name for i, name in enumerate(CHOSEN) if len({key[i] for key in groups}) > 1)
    choices = [_choice(group, varying or ("batch_size",)) for group in groups.values()]
    return tuple(sorted(choices, key=lambda c: (c.worst is None or c.unmeasured > 0, c.worst.rank if c.worst else ())))


def _choice(leaks: Sequence[Leak], shown: tuple[str, ...]) -> Choice:
    worst = max((leak for leak in leaks if leak.measured), key=lambda leak: leak.rank, default=None)
    missing = [leak for leak in leaks if not leak.measured]
    # An attack that cannot be mounted here is no gap; one that broke down might have read more.
    unmeasured = sum(leak.outcome != Outcome.NOT_APPLICABLE.code for leak in missing)
    return Choice(words.label(leaks[0].cell, shown), worst, len(leaks), unmeasured, len(missing) - unmeasured)


def _parameters(utility: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """How many parameters each model has."""
    return {entry["model"]: entry["parameters"] for entry in utility if entry.get("parameters")}


def _failures(cells: Sequence[Mapping[str, Any]]) -> tuple[Failure, ...]:
    outcomes = {outcome.code: outcome for outcome in Outcome}
    amounts: dict[str, int] = {}
    for cell in cells:
        for code, amount in cell["outcomes"].items():
            amounts[code] = amounts.get(code, 0) + amount
    return tuple(
        Failure(code, amount, *(
            (outcomes[code].reason, outcomes[code].advice, outcomes[code].scored)
            if code in outcomes else ("An ending this version does not know.", "", False)
        ))
        for code, amount in sorted(amounts.items())
    )  # fmt: skip


_DEVIATIONS = {
    "client": "of the client's own standard deviations",
    "global": "of the whole data set's standard deviations",
}


def _deviation(chosen: Sequence[Any]) -> str:
    """What numeric cells are measured against; a plan may try several."""
    first, *others = [_DEVIATIONS.get(str(name), "standard deviations") for name in chosen] or ["standard deviations"]
    return f"{first} (in some settings: {' or '.join(others)})" if others else first


_THREATS = {
    "adversary": "Who attacks",
    "sees": "What they see",
    "knows": "What they know already",
    "does_not_know": "What they do not know",
}


def _threat_model(entry: Mapping[str, Any]) -> tuple[Listing, ...]:
    return tuple(Listing(heading, _sentences(entry.get(name))) for name, heading in _THREATS.items())


def _sentences(value: Any) -> tuple[str, ...]:
    """A list of sentences; a lone sentence counts as a list of one."""
    if not value:
        return ()
    return (value,) if isinstance(value, str) else tuple(str(sentence) for sentence in value)


def _facts(document: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    dataset = document["dataset"]
    kinds: dict[str, int] = {}
    for column in dataset["columns"]:
        kinds[column["kind"]] = kinds.get(column["kind"], 0) + 1
    versions = ", ".join(f"{name} {version}" for name, version in document["versions"].items())
    return (
        ("Run", str(document["name"])),
        ("Seed", ", ".join(str(seed) for seed in _values(document, "seed")) or str(document["seed"])),
        ("Versions", versions),
        ("Data set", f"{dataset['name']}, {words.plural(int(dataset['rows']), 'row')}"),
        ("Input columns", ", ".join(f"{amount} {kind}" for kind, amount in kinds.items()) or "none"),
        ("Target", f"{dataset['target']} ({dataset['task']})"),
    )


def _dropped(entries: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (_of_table(str(each["name"]), str(each.get("dataset") or "")), str(each["reason"])) for each in entries
    )


def _values(document: Mapping[str, Any], name: str) -> list[Any]:
    """The values of a setting in all variants of the plan, each once; nothing if it is not stated."""
    settings = document["settings"]
    over = [settings, *(settings | variant["settings"] for variant in document.get("variants") or ())]
    found: list[Any] = []
    for each in over:
        if name in each and each[name] not in found:
            found.append(each[name])
    return found


def _settings(document: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Plain settings only: deeper ones may hold a schema with categories and ranges."""
    found = []
    for name in document["settings"]:
        texts = [_setting(value) for value in _values(document, name)]
        if None not in texts:
            found.append((str(name), " or ".join(str(text) for text in texts)))
    return tuple(found)


def _setting(value: Any) -> str | None:
    """A setting as text; None if it is a deep one."""
    options = value if isinstance(value, dict) else {}
    items = list(options.values()) if options else value if isinstance(value, list | tuple) else [value]
    if not all(item is None or isinstance(item, str | int | float | bool) for item in items):
        return None
    texts = ["none" if item is None else str(item) for item in items]
    shown = [f"{key}={text}" for key, text in zip(options, texts, strict=True)] if options else texts
    return ", ".join(shown) or "none"


def _pictures(entries: Sequence[Mapping[str, Any]], leaks: Sequence[Leak]) -> Iterable[RevealedPicture]:
    labels = {leak.cell.id: leak.label for leak in leaks}
    for entry in entries:
        label = labels.get(str(entry["cell"]), str(entry["cell"]))
        yield RevealedPicture(label, drawn_picture(entry["truth"]), drawn_picture(entry["reconstruction"]))


def _revealed(entries: Sequence[Mapping[str, Any]], leaks: Sequence[Leak]) -> Iterable[RevealedRow]:
    labels = {leak.cell.id: leak.label for leak in leaks}
    for entry in entries:
        truth, guess = entry["truth"], entry["reconstruction"]
        names = list(dict.fromkeys([*truth, *guess]))
        cells = tuple(
            (str(name), str(truth.get(name, words.NOTHING)), str(guess.get(name, words.NOTHING))) for name in names
        )
        yield RevealedRow(f"client {entry['client']}, {labels.get(str(entry['cell']), str(entry['cell']))}", cells)
