"""From trials and facts to a summary, study by study: for whole runs, and for what is there of one that was stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from pydantic import JsonValue

from seepage.results.captured_rounds import captured_rounds
from seepage.results.cohorts import CohortsSummary, cohorts_result
from seepage.results.facts import ColumnFacts
from seepage.results.parties import PartiesSummary, parties_result
from seepage.results.property import PropertySummary, property_result
from seepage.results.rows import RowsSummary, rows_results, tally_results
from seepage.results.servers import ServersSummary, servers_result
from seepage.results.summary import Summary
from seepage.results.training import TrainingSummary, training_result
from seepage.results.trials import Trials
from seepage.results.updates import UpdatesSummary, totals_results, updates_results
from seepage.results.vertical import VerticalSummary, vertical_results

S = TypeVar("S", bound=Summary)
TrialsOf = tuple[Sequence[Trials], Sequence[ColumnFacts]]  # of one variant of a plan, with the columns of its table
FactsByKind = Mapping[str, list[dict[str, JsonValue]]]
Revealed = Sequence[dict[str, JsonValue]]
_MODELS = ("dataset", "variant", "property_text", "observed", "defense")  # what tells models apart


def assemble(
    kind: type[S], head: Mapping[str, object], parts: Sequence[TrialsOf], facts: FactsByKind, revealed: Revealed = ()
) -> S:
    """The summary.

    Args:
        kind: the study's class of it.
        head: the fields that every summary has, and what else is known already.
        parts: trials, variant by variant.
        facts: what choices noted, by kind.
        revealed: rows that may be shown.
    """
    return kind.model_validate({**head, **_FIELDS[kind](parts, facts, revealed)})


def _rows(parts: Sequence[TrialsOf], facts: FactsByKind, revealed: Revealed) -> dict[str, object]:
    return {
        "cells": [cell for trials, columns in parts for cell in rows_results(trials, columns)],
        "tallies": [cell for trials, columns in parts for cell in tally_results(trials, columns)],
        "utility": facts.get("utility", ()),
        "privacy": facts.get("privacy", ()),
        "revealed": revealed,
    }


def _vertical(parts: Sequence[TrialsOf], facts: FactsByKind, revealed: Revealed) -> dict[str, object]:
    return {
        "cells": [cell for trials, columns in parts for cell in vertical_results(trials, columns)],
        "losses": facts.get("losses", ()),
        "revealed": revealed,
    }


def _updates(parts: Sequence[TrialsOf], facts: FactsByKind, revealed: Revealed) -> dict[str, object]:
    return {
        "cells": [cell for trials, columns in parts for cell in updates_results(trials, columns)],
        "tallies": [cell for trials, columns in parts for cell in totals_results(trials, columns)],
        "rounds": captured_rounds([each for trials, _ in parts for each in trials]),
        "updates": facts.get("updates", ()),
        "framework": next(iter(facts.get("framework", ())), None),
        "revealed": revealed,
    }


def _property(parts: Sequence[TrialsOf], facts: FactsByKind, revealed: Revealed) -> dict[str, object]:
    models = {tuple(str(entry.get(name, "")) for name in _MODELS): entry for entry in facts.get("models", ())}
    return {
        "cells": [property_result(trials) for every, _ in parts for trials in every],
        "models": list(models.values()),
    }


def _training(parts: Sequence[TrialsOf], facts: FactsByKind, revealed: Revealed) -> dict[str, object]:
    return {"cells": [training_result(trials) for trials in _repeats_together(parts)]}


def _parties(parts: Sequence[TrialsOf], facts: FactsByKind, revealed: Revealed) -> dict[str, object]:
    return {"cells": [parties_result(trials) for trials in _repeats_together(parts)]}


def _cohorts(parts: Sequence[TrialsOf], facts: FactsByKind, revealed: Revealed) -> dict[str, object]:
    counted = {str(sorted(entry.items())): entry for entry in facts.get("counted", ())}  # each trial counts the same
    return {
        "cells": [cohorts_result(trials) for trials in _repeats_together(parts)],
        "counted": list(counted.values()),
    }


def _servers(parts: Sequence[TrialsOf], facts: FactsByKind, revealed: Revealed) -> dict[str, object]:
    return {"cells": [servers_result(trials) for every, _ in parts for trials in every]}


def _repeats_together(parts: Sequence[TrialsOf]) -> Iterator[Trials]:
    """The trials of each cell; repeats are stored apart."""
    for every, _ in parts:
        cells: dict[str, list[Trials]] = {}
        for trials in every:
            cells.setdefault(trials.cell.id, []).append(trials)
        yield from (Trials.together(group) for group in cells.values())


_FIELDS: dict[type[Summary], Callable[[Sequence[TrialsOf], FactsByKind, Revealed], dict[str, object]]] = {
    RowsSummary: _rows,
    VerticalSummary: _vertical,
    PropertySummary: _property,
    TrainingSummary: _training,
    PartiesSummary: _parties,
    UpdatesSummary: _updates,
    CohortsSummary: _cohorts,
    ServersSummary: _servers,
}
