"""Which attacks can work on the settings of an audit, and why others cannot. Of the table only its sizes are used."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from seepage._core import InputError
from seepage.attacks.applicability import Optimiser, Setup, findings, what_stops
from seepage.data.source import Source
from seepage.plans.registry import make_defense
from seepage.results import Record
from seepage.studies.parts import make_parts
from seepage.studies.rows.settings import Settings


def explain(
    source: Source,
    settings: Settings,
    records: Iterable[Record] = (),
    *,
    clients: int = 1,
    optimiser: Optimiser = "sgd",
    weight_decay: float = 0.0,
) -> list[dict[str, Any]]:
    """One entry per model, defence and batch size, as in ``summary.json``.

    Args:
        records: of a finished audit: how many rows really stood behind the updates.
        clients: whose updates the server only sees added up.
        optimiser, weight_decay: of the clients; audits simulate plain SGD.
    """
    if settings.protocol == "fedsgd" and optimiser != "sgd":
        raise InputError(
            f"The clients' optimiser {optimiser!r} belongs to the protocol fedavg; in fedsgd they send plain gradients."
        )
    seen: dict[tuple[str, str, int], int] = {}
    for record in records:
        key = (record.cell.model, record.cell.defense, record.cell.batch_size)
        seen[key] = min(record.rows, seen.get(key, record.rows))  # the fewest rows are read best
    entries = []
    for model in settings.models:
        encoder, learner = make_parts(source, settings, model, seed=0)
        for defense, batch_size in itertools.product(settings.defenses, settings.batch_sizes):
            make_defense(defense)
            rows = seen.get((model, defense, batch_size)) or _rows(settings, batch_size)
            setup = Setup(
                learner=learner,
                layout=encoder.layout,
                rows=rows,
                steps=rows // batch_size * settings.local_epochs if settings.protocol == "fedavg" else 1,
                clients=clients,
                defense=defense,
                optimiser=optimiser,
                weight_decay=weight_decay,
                hidden_scales=encoder.standardise_onehot and settings.local_statistics,
            )
            entries.append(
                {"protocol": settings.protocol, "model": model, "defense": defense, "batch_size": batch_size}
                | {"rows": setup.total, "steps": setup.steps, "stops": what_stops(setup)}
                | {"findings": [asdict(finding) for finding in findings(setup)]}
            )
    return entries


def _rows(settings: Settings, batch_size: int) -> int:
    """Rows behind one client's update."""
    if batch_size < 1:
        raise InputError(f"The batch size is {batch_size}; it must be at least 1.")
    settings.make_protocol(batch_size)  # tells what does not fit together
    if settings.protocol == "fedsgd":
        return batch_size
    if settings.local_rows is None:
        raise InputError("How many rows has a client? Say it with --local-rows.")
    whole = settings.local_rows // batch_size * batch_size
    return whole if settings.local_batches is None else min(whole, settings.local_batches * batch_size)
