"""The rows, models and server's models of the study of properties, from a table and settings."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from seepage._core import InputError, Streams
from seepage.attacks.properties import ShadowPlan, encode_rows
from seepage.data import Encoder
from seepage.data.drawing import draw
from seepage.data.properties import Property
from seepage.data.source import Source
from seepage.data.splitting import stratified_order
from seepage.defenses import Defense
from seepage.federation.course import server_course
from seepage.models.encoded import Encoded
from seepage.models.recipe import Recipe
from seepage.models.stack import Stack
from seepage.plans import registry
from seepage.studies.property.settings import PropertySettings

TARGETS = 1 / 9  # of all models: the thesis has 256 of 2,304
EVALUATED = 10_000  # rows at most on which a model must be good
Side = Literal["shadows", "targets"]


@dataclass(frozen=True, eq=False)
class Pools:
    """Rows of the attacker, of the owners of target models, and those on which models must be good.

    ``course`` are the models that a server sends, where clients are seen.
    """

    shadow: Encoded
    shadow_values: np.ndarray
    target: Encoded
    target_values: np.ndarray
    evaluation: Encoded
    course: Stack | None = None

    def of(self, side: Side) -> tuple[Encoded, np.ndarray]:
        """The rows of one side, and what the property says of them."""
        if side == "shadows":
            return self.shadow, self.shadow_values
        return self.target, self.target_values

    def held(self, settings: PropertySettings) -> int:
        """Rows each owner has."""
        return settings.rows or round(0.2 * len(self.shadow))


_kept: dict[tuple[object, ...], Pools] = {}  # the last ones: a process makes many shards of the same rows


def pools_of(source: Source, settings: PropertySettings) -> Pools:
    """The rows of a run; a worker that makes several shards cuts the table once."""
    names = (
        "seed",
        "property_text",
        "pools",
        "shadow_pool",
        "shadow_share",
        "observed",
        "rounds",
        "epochs",
        "rows",
        "numbers",
    )
    key = (source.digest, *(getattr(settings, name) for name in names))
    if key not in _kept:
        _kept.clear()
        _kept[key] = _make_pools(source, settings)
    return _kept[key]


def _make_pools(source: Source, settings: PropertySettings) -> Pools:
    """Cut the table. NOTE[DIFF] numbers are standardised by default; the thesis leaves them as they are (``none``)."""
    table = source.table
    asked = Property.parse(settings.property_text, table.schema)
    if not asked.is_share:
        raise InputError(f"{settings.property_text!r} is a mean; classes are cut from shares, so ask with a condition.")
    order = stratified_order(table, Streams(settings.seed).numpy("pools"))
    held_out = min(EVALUATED, max(2, round(0.1 * len(table))))
    evaluation, rest = table.take(order[:held_out]), order[held_out:]
    shadow = target = table.take(rest)
    if settings.pools == "disjoint":
        own = _attackers(asked.holds(shadow), len(table), settings)
        target, shadow = shadow.take(np.setdiff1d(np.arange(len(shadow)), own)), shadow.take(own)
    statistics = Encoder(schema=table.schema, numbers=settings.numbers).statistics(shadow)
    pools = Pools(
        encode_rows(shadow, statistics),
        asked.values(shadow),
        encode_rows(target, statistics),
        asked.values(target),
        encode_rows(evaluation, statistics),
    )
    if settings.observed == "weights":
        return pools
    recipe, streams = Recipe(epochs=settings.epochs), Streams(settings.seed).child("federation")
    course = server_course(recipe, pools.shadow, pools.held(settings), settings.rounds, streams)
    return replace(pools, course=course)


def _attackers(holds: np.ndarray, everybody: int, settings: PropertySettings) -> np.ndarray:
    """Which rows are the attacker's."""
    count = round(settings.shadow_pool * everybody)
    if settings.shadow_share is None:
        return np.arange(count)
    return np.sort(draw(holds, settings.shadow_share, count, Streams(settings.seed).numpy("attacker's rows")))


def streams_of(settings: PropertySettings, defense: str) -> Streams:
    """Randomness of one defence."""
    return Streams(settings.seed).child("property", defense)


def plan_of(settings: PropertySettings, defense: str, side: Side, held: int | None = None) -> ShadowPlan:
    """Which models are made. The attacker knows the defence, and trains shadows the same way."""
    guard: Defense = registry.make("defence", defense, "property")
    recipe, balance = guard.recipe(Recipe(epochs=settings.epochs)), guard.balance()
    aimed = max(1, round(settings.models * TARGETS))
    amount = aimed if side == "targets" else settings.models - aimed
    if side == "shadows" and settings.shadow_epochs is not None:
        recipe = replace(recipe, epochs=settings.shadow_epochs)
    return ShadowPlan(
        property_text=settings.property_text,
        classes=settings.finest,
        per_class=max(1, round(amount * max(settings.classes) / settings.finest)),
        rows=settings.rows if held is None else held,
        recipe=recipe,
        least_accuracy=settings.least_accuracy,
        balanced=balance[0] if balance else None,
        keep=balance[1] if balance else 1.0,
        rounds=settings.rounds,
        gradient=settings.observed == "gradient",
        seed=streams_of(settings, defense).integer(side),
    )


def trained_rows(defense: Defense, held: int) -> int:
    """Rows an owner of so many trains on."""
    balance = defense.balance()
    return held if balance is None else max(1, round(balance[1] * held))


def noisy_steps(settings: PropertySettings, recipe: Recipe, rows: int) -> tuple[float, int]:
    """Share of an owner's rows behind each noisy gradient, and how many of those an attacker sees the work of."""
    if settings.observed == "gradient":
        return 1.0, settings.rounds
    steps = recipe.epochs * math.ceil(rows / recipe.batch_size)
    return min(1.0, recipe.batch_size / rows), steps * settings.rounds
