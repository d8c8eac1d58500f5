"""Updates are attacked, many at once, and the claims measured."""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from pydantic import JsonValue

from seepage._core import Progress, Streams
from seepage.attacks import RowsAttack, attacked
from seepage.attacks.inversion import Inversion
from seepage.data import Table
from seepage.federation import AttackPoint, Truth
from seepage.metrics import Evaluator, aligned
from seepage.models import activations
from seepage.observation import Claim, Observation
from seepage.results import Record, RowsCell
from seepage.studies.failing import ended
from seepage.studies.rows.making import knowledge_of
from seepage.studies.rows.settings import RowsSettings

# Numbers that a step of one cell touches, up to which cells are attacked together. Measured with five attack points,
# one thread: 24,000 numbers 4.5 times as fast, 80,000 2.3, 300,000 1.1 to 1.5, 1,000,000 1.5, 3,400,000 0.9.
SMALL = 2_000_000


@dataclass(frozen=True)
class AttackedUpdate:
    """One attacked update with where it came from. Only the runner holds both sides."""

    repeat: int
    client: int
    point: AttackPoint
    observation: Observation
    truth: Truth


def joined(points: Mapping[str, Sequence[AttackedUpdate]], attack: RowsAttack) -> list[list[str]]:
    """Which attack points are attacked in one call: all, where a step is mostly the cost of starting operations.

    An attack that works on one update after the other gains nothing by it.
    """
    targets = next(iter(points.values()))
    observation = targets[0].observation
    rows = observation.exchange.batch_size * activations(observation.learner, observation.layout.width)
    small = len(targets) * (rows + observation.learner.size) <= SMALL
    return [list(points)] if small and isinstance(attack, Inversion) else [[name] for name in points]


def attack_cells(
    cells: Mapping[RowsCell, Sequence[AttackedUpdate]],
    attack: RowsAttack,
    evaluators: Sequence[Evaluator],
    settings: RowsSettings,
    progress: Progress,
) -> dict[RowsCell, tuple[list[Record], list[dict[str, JsonValue]]]]:
    """Attack all targets of some cells at once and score every claim; row pairs too if they may be shown."""
    # Variants and attack points of one plan share the attacker's randomness, as they share clients: what differs is
    # the setting.
    streams = Streams(settings.seed).child(
        "attack", replace(next(iter(cells)), variant="", attack_point="", watched=1).id
    )
    everyone = [target for targets in cells.values() for target in targets]
    began = time.perf_counter()
    claims = claims_of(attack, [target.observation for target in everyone], streams, progress)
    seconds = (time.perf_counter() - began) / len(everyone)
    found, rest = {}, iter(claims)
    for cell, targets in cells.items():
        own = [next(rest) for _ in targets]
        records = _scored(cell, targets, own, evaluators, settings, seconds)
        found[cell] = records, _row_pairs(cell, targets[0], own[0], settings) if settings.reveal else []
    return found


def _scored(
    cell: RowsCell,
    targets: Sequence[AttackedUpdate],
    claims: Sequence[Claim],
    evaluators: Sequence[Evaluator],
    settings: RowsSettings,
    seconds: float,
) -> list[Record]:
    streams = Streams(settings.seed).child("attack", replace(cell, variant="").id)
    return [
        Record(
            cell=cell,
            repeat=target.repeat,
            client=target.client,
            round=target.point.moment.round,
            exposure=target.point.moment.exposures[target.client],
            rows=len(target.truth.rows),
            outcome=claim.outcome.code,
            seconds=seconds,
            note=claim.note,
            values=evaluators[target.repeat](
                claim, target.truth, knowledge_of(settings), streams.numpy("baselines", index)
            ),
        )
        for index, (target, claim) in enumerate(zip(targets, claims, strict=True))
    ]


def claims_of(
    attack: RowsAttack, observations: Sequence[Observation], streams: Streams, progress: Progress
) -> list[Claim]:
    """One claim per observation. Equal shapes are attacked together, unless the clients scale with other statistics."""
    groups: dict[tuple[Hashable, ...], list[int]] = {}
    for index, observation in enumerate(observations):
        groups.setdefault((observation.exchange, *observation.space.known), []).append(index)
    claims: dict[int, Claim] = {}
    for number, group in enumerate(groups.values()):
        members = [observations[index] for index in group]
        try:
            found = attacked(attack, members, streams.child(number) if number else streams, progress=progress)
        except Exception as error:  # noqa: BLE001  # an attack that breaks is a failed cell, whoever wrote it
            found = [ended(error, attack)] * len(members)
        claims |= dict(zip(group, found, strict=True))
    return [claims[index] for index in range(len(observations))]


def _row_pairs(
    cell: RowsCell, target: AttackedUpdate, claim: Claim, settings: RowsSettings
) -> list[dict[str, JsonValue]]:
    """True and claimed rows of the first attacked client side by side, matched. Only with ``--reveal``."""
    if claim.rows is None:
        return []
    truth, knowledge = target.truth, knowledge_of(settings)
    numbers, codes = aligned(claim, truth, knowledge, settings.matching)
    if not knowledge.ranges:
        numbers = np.round(numbers, 2)
    schema = truth.rows.schema
    claimed = Table(schema, numbers, codes, truth.rows.target).to_frame().drop(schema.target.name)
    true = truth.rows.to_frame().drop(schema.target.name)
    return [
        {"cell": cell.id, "client": target.client, "truth": t, "reconstruction": c}
        for t, c in zip(true.iter_rows(named=True), claimed.iter_rows(named=True), strict=True)
    ]
