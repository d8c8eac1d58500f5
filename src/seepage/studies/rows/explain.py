"""Which attacks can work on a set-up, and why others cannot. Of the table only its sizes are used."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import asdict

from seepage._core import Streams
from seepage.attacks import applicability
from seepage.attacks.applicability import Setup, findings, what_stops
from seepage.data.source import Source
from seepage.models.optimisers import Optimiser
from seepage.plans import registry
from seepage.results import RowsCell, Trials
from seepage.results.rows import Applicability, PartVerdict
from seepage.studies.rows.making import make_partition, make_protocol, make_training, model_of
from seepage.studies.rows.settings import RowsSettings


def explain(
    source: Source,
    settings: RowsSettings,
    trials: Iterable[Trials] = (),
    *,
    variant: str = "",
    clients: int = 1,
    only_attacked: bool = False,
) -> list[Applicability]:
    """One entry per model, defence and batch size, as in ``summary.json``.

    Args:
        trials: of a finished audit: how many rows really stood behind the updates.
        variant: of the plan.
        clients: whose updates the server only sees added up.
        only_attacked: leave out what has no trials: it could not be run.
    """
    training = make_training(settings)
    seen = _fewest_rows(trials)
    entries = []
    for model in settings.models:
        chosen = [
            (defense, batch_size)
            for defense, batch_size in itertools.product(settings.defenses, settings.batch_sizes)
            if not only_attacked or (model, defense, batch_size) in seen
        ]
        if not chosen:
            continue
        encoder, learner = model_of(source, settings, model, seed=0)
        for defense, batch_size in chosen:
            trained = registry.make("defence", defense, "rows").model(learner, seed=0)
            rows = seen.get((model, defense, batch_size)) or _rows(source, settings, batch_size)
            setup = Setup(
                learner=trained,
                layout=encoder.layout,
                rows=rows,
                steps=rows // batch_size * settings.local_epochs if settings.protocol == "fedavg" else 1,
                clients=clients,
                defense=defense,
                optimiser=_kind(training.optimiser),
                weight_decay=training.optimiser.weight_decay,
                clip=training.clip,
                watched=max(settings.rounds),
                hidden_scales=encoder.standardise_onehot and settings.local_statistics and source.preprocessing is None,
            )
            where = {"dataset": source.name, "variant": variant, "protocol": settings.protocol}
            entries.append(_entry(setup, where | {"model": model, "defense": defense}, batch_size))
    return entries


def _kind(optimiser: Optimiser) -> applicability.Optimiser:
    """What an optimiser is to algebra."""
    if not optimiser.linear:
        return "adam"
    return "momentum" if optimiser.memory else "sgd"


def ranks_of(entry: Applicability) -> tuple[tuple[str, ...], ...]:
    """The strongest attacks on a set-up, by counting.

    ``exact`` ends as ``fast`` does, so where algebra gives nothing they are equals. What needs no statistics of the
    clients comes last: it is what remains where those cannot be mounted.
    """
    algebra = any(finding.verdict != "cannot" for finding in entry.findings[:-1])  # the last one is optimisation
    first: tuple[tuple[str, ...], ...] = (("exact",), ("fast",)) if algebra else (("exact", "fast"),)
    return (*first, ("gradient_matching",))


def _fewest_rows(trials: Iterable[Trials]) -> dict[tuple[str, str, int], int]:
    """Rows behind the updates of a model, defence and batch size; the fewest are read best."""
    seen: dict[tuple[str, str, int], int] = {}
    for each in trials:
        assert isinstance(each.cell, RowsCell)
        key, rows = (each.cell.model, each.cell.defense, each.cell.batch_size), int(each.heads["rows"].min())  # type: ignore[arg-type]
        seen[key] = min(rows, seen.get(key, rows))
    return seen


def _entry(setup: Setup, where: dict[str, str], batch_size: int) -> Applicability:
    return Applicability(
        **where,
        batch_size=batch_size,
        rows=setup.total,
        steps=setup.steps,
        stops=what_stops(setup),
        findings=tuple(PartVerdict(**asdict(finding)) for finding in findings(setup)),
    )


def _rows(source: Source, settings: RowsSettings, batch_size: int) -> int:
    """Rows behind one client's update."""
    make_protocol(settings, batch_size)  # tells what does not fit together
    if settings.protocol == "fedsgd":
        return batch_size
    whole = _local_rows(source, settings) // batch_size * batch_size
    return whole if settings.local_batches is None else min(whole, settings.local_batches * batch_size)


def _local_rows(source: Source, settings: RowsSettings) -> int:
    """Rows that a client works on: of all its rows, those of the client with the fewest."""
    if settings.local_rows != "all":
        return settings.local_rows
    streams = Streams(settings.seed).child("repeat", 0)
    train_part = source.split(streams.numpy("split")).train
    return min(len(rows) for rows in make_partition(settings)(train_part, streams.numpy("partition")))
