"""Audits of property inference: what share of the training rows has a property, read from a model's weights alone."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from seepage._core import InputError, Progress, Streams, silent, unknown_name
from seepage.attacks.properties import ShadowPlan, Shadows, encode_rows, load_shadows, run_factory
from seepage.attacks.properties.hierarchy import FittedHierarchy, Hierarchy
from seepage.attacks.properties.losses import LOSSES, classes_of
from seepage.attacks.properties.meta import FittedMeta, MetaModel
from seepage.attacks.properties.readers import PROBES, Paths, Reader, Rounds, make_reader
from seepage.data import Encoder
from seepage.data.properties import Property, draw
from seepage.data.source import Source
from seepage.data.split import stratified_order
from seepage.federation.course import server_course
from seepage.metrics.properties import calibration_error, property_score, share_score
from seepage.models.stack import Stack
from seepage.models.stacked_training import Encoded, Recipe
from seepage.results import bootstrap
from seepage.results.property import PropertyCell, PropertyRun
from seepage.studies.property.owner import Owner, owner_of

OBSERVED = ("weights", "update", "gradient")
TARGETS = 1 / 9  # of all models: document 003 has 256 of 2,304
EVALUATED = 10_000  # rows at most on which a model must be good


@dataclass(frozen=True, kw_only=True)
class PropertySettings:
    """What is asked, and with how much work.

    Args:
        property_text: such as ``sex == 'Female'``.
        classes: into how many ranges the share is cut; several are audited one after the other with the same models.
        losses: of the meta-models, see ``attacks/properties/losses.py``.
        hierarchies: such as ``4x5``: also attack in two steps, 4 rough ranges and then 5 finer ones in each. The
            product must be one of the classes.
        reader: what a meta-model sees of a model.
        observed: ``weights`` of a trained model; the ``update`` of a client that started from the server's model (a
            FedAvg client's difference after its local epochs); or its ``gradient`` of all its rows at that model
            (FedSGD).
        rounds: of the federation in which a client's update or gradient is seen; the server's model moves on between.
        models: shadow and target models for each class of the finest cut.
        rows: each model is trained on; a fifth of the attacker's pool if not said.
        pools: ``shared``: targets train on rows of the same pool as shadows (document 003, first splitting);
            ``disjoint``: on other rows (second splitting, sequential learning).
        shadow_pool: share of all rows that is the attacker's, where pools are disjoint.
        shadow_share: of the property in the attacker's pool, where pools are disjoint; as it comes if not said.
        epochs: of every model.
        shadow_epochs: of shadow models, where the attacker does not know how long the owner trained.
        defenses: ``none``, ``epochs:10``, ``weight_noise:0.1``, ``dp_sgd:clip=1:noise=1``, ``balanced:0.5``.
        seed: of all randomness.
    """

    property_text: str
    classes: tuple[int, ...] = (4,)
    losses: tuple[str, ...] = ("sor",)
    hierarchies: tuple[str, ...] = ()
    reader: str = "paths"
    observed: str = "weights"
    rounds: int = 1
    models: int = 256
    rows: int | None = None
    pools: str = "shared"
    shadow_pool: float = 0.3
    shadow_share: float | None = None
    epochs: int = 1
    shadow_epochs: int | None = None
    defenses: tuple[str, ...] = ("none",)
    seed: int = 0

    def __post_init__(self) -> None:
        for loss in self.losses:
            if loss not in LOSSES:
                raise unknown_name("loss", loss, LOSSES)
        make_reader(self.reader)
        if min(self.classes) < 2 or self.models < 9:
            raise InputError(
                f"There are {min(self.classes)} classes and {self.models} models for each; at least 2 and 9 are needed."
            )
        for text in self.hierarchies:
            made = math.prod(Hierarchy.read(text))
            if made not in self.classes:
                allowed = " or ".join(map(str, self.classes))
                raise InputError(f"The hierarchy {text!r} makes {made} classes; it must make {allowed}, as --classes.")
        if self.observed not in OBSERVED:
            raise unknown_name("thing to observe", self.observed, OBSERVED)
        if self.rounds < 1 or (self.rounds > 1 and self.observed == "weights"):
            raise InputError(
                f"There are {self.rounds} rounds of {self.observed}; 1 or more can be seen of an update or a gradient, "
                "1 of weights."
            )
        if self.pools not in ("shared", "disjoint"):
            raise unknown_name("kind of pools", self.pools, ("shared", "disjoint"))
        if not 0 < self.shadow_pool < 0.8:
            raise InputError(f"The attacker's pool is {self.shadow_pool} of the rows; it must lie between 0 and 0.8.")
        for defense in self.defenses:
            if owner_of(defense, Recipe()).recipe.epochs > 1 and self.observed == "gradient":
                raise InputError(f"The defence {defense!r} trains longer, but a gradient is sent before any training.")

    @property
    def finest(self) -> int:
        """Ranges that all cuts are made of."""
        return math.lcm(*self.classes)


@dataclass(frozen=True, eq=False)
class Pools:
    """Rows of the attacker, of the owners of target models, and those on which models must be good."""

    shadow: Encoded
    shadow_values: np.ndarray
    target: Encoded
    target_values: np.ndarray
    evaluation: Encoded


def make_pools(source: Source, settings: PropertySettings) -> Pools:
    """Cut the table. Numbers are standardised. NOTE[DIFF] document 003 leaves them as they are."""
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
    statistics = Encoder(schema=table.schema).statistics(shadow)
    return Pools(
        encode_rows(shadow, statistics),
        asked.values(shadow),
        encode_rows(target, statistics),
        asked.values(target),
        encode_rows(evaluation, statistics),
    )


def _attackers(holds: np.ndarray, everybody: int, settings: PropertySettings) -> np.ndarray:
    """Which rows are the attacker's."""
    count = round(settings.shadow_pool * everybody)
    if settings.shadow_share is None:
        return np.arange(count)
    return np.sort(draw(holds, settings.shadow_share, count, Streams(settings.seed).numpy("attacker's rows")))


def run_property_audit(
    source: Source,
    settings: PropertySettings,
    run: PropertyRun,
    *,
    jobs: int = 1,
    command: str = "",
    progress: Progress = silent,
) -> dict[str, Any]:
    """Shadow and target models, then one meta-model for every cut and loss; what is there already is not made again."""
    begin = time.perf_counter()
    pools = make_pools(source, settings)
    held = settings.rows or round(0.2 * len(pools.shadow))
    course = None
    if settings.observed != "weights":
        streams = Streams(settings.seed).child("federation")
        course = server_course(Recipe(epochs=settings.epochs), pools.shadow, held, settings.rounds, streams)
    cells: list[dict[str, Any]] = []
    gates: list[dict[str, Any]] = []
    for defense in settings.defenses:
        owner = owner_of(defense, Recipe(epochs=settings.epochs))
        shadows, targets = _models(settings, defense, owner, pools, course, run.run.path, jobs, progress)
        gates.append({"defense": defense, **_gate(shadows, targets), **_cost(settings, owner, held, targets)})
        for cell in _cells(source.name, settings, defense):
            numbers = run.found(cell)
            if numbers is None:
                fitted = _fitted(cell, settings, shadows, pools.shadow, progress)
                run.add(cell, _numbers(cell, fitted, targets))
                numbers = run.found(cell)
            assert numbers is not None
            cells.append(numbers)
    facts = {
        "name": run.run.path.name,
        "settings": asdict(settings),
        "command": command,
        "dataset": {"name": source.name, "rows": len(source.table), "columns": len(source.table.schema.names)},
        "rows_per_model": held,
        "models": gates,
        "seconds": time.perf_counter() - begin,
    }
    return run.summarise(facts, cells)


def _cells(dataset: str, settings: PropertySettings, defense: str) -> Iterator[PropertyCell]:
    for classes in settings.classes:
        steps = ["", *(text for text in settings.hierarchies if math.prod(Hierarchy.read(text)) == classes)]
        for loss in settings.losses:
            for hierarchy in steps:
                yield PropertyCell(
                    dataset=dataset,
                    property_text=settings.property_text,
                    defense=defense,
                    classes=classes,
                    loss=loss,
                    reader=settings.reader,
                    hierarchy=hierarchy,
                )


def _models(
    settings: PropertySettings,
    defense: str,
    owner: Owner,
    pools: Pools,
    course: Stack | None,
    folder: Path,
    jobs: int,
    progress: Progress,
) -> tuple[Shadows, Shadows]:
    """Shadows and targets that are good enough. The attacker knows the defence, and trains shadows the same way."""
    streams = Streams(settings.seed).child("property", defense)
    aimed = max(1, round(settings.models * TARGETS))
    base = ShadowPlan(
        property_text=settings.property_text,
        classes=settings.finest,
        per_class=max(1, round((settings.models - aimed) * max(settings.classes) / settings.finest)),
        rows=settings.rows or round(0.2 * len(pools.shadow)),
        recipe=owner.recipe,
        least_accuracy=0.0,
        balanced=owner.balanced.share if owner.balanced else None,
        keep=owner.balanced.keep if owner.balanced else 1.0,
        rounds=settings.rounds,
        gradient=settings.observed == "gradient",
        seed=streams.integer("shadows"),
    )
    longer = settings.shadow_epochs or owner.recipe.epochs
    plans = {
        "shadows": (
            replace(base, recipe=replace(owner.recipe, epochs=longer)),
            pools.shadow,
            pools.shadow_values,
        ),
        "targets": (
            replace(
                base,
                per_class=max(1, round(aimed * max(settings.classes) / settings.finest)),
                seed=streams.integer("targets"),
            ),
            pools.target,
            pools.target_values,
        ),
    }
    made = []
    for name, (plan, pool, values) in plans.items():
        place = folder / name / defense.replace(":", "-")
        run_factory(plan, pool, values, pools.evaluation, place, start=course, jobs=jobs, progress=progress)
        found = load_shadows(place)
        released = owner.released(found.stack, streams.child(name))
        if course is not None and not plan.gradient:
            released = _updates(released, course)
        made.append(replace(found, stack=released))
    return made[0], made[1]


def _updates(stack: Stack, start: Stack) -> Stack:
    """What clients send back: how far their models moved."""
    return Stack(
        tuple(after - before for after, before in zip(stack.weights, start.weights, strict=True)),
        tuple(after - before for after, before in zip(stack.biases, start.biases, strict=True)),
    )


def _gate(shadows: Shadows, targets: Shadows) -> dict[str, Any]:
    """What the models are worth at their own task."""
    both = Shadows.cat([shadows, targets])
    return {
        "shadows": len(shadows),
        "targets": len(targets),
        "accuracy": float(both.accuracy.mean()),
        "balanced_accuracy": float(both.balanced.mean()),
        "above_90_percent": float((both.accuracy >= 0.9).double().mean()),
    }


def _cost(settings: PropertySettings, owner: Owner, held: int, targets: Shadows) -> dict[str, Any]:
    """What a defence costs the owners of target models, and what it promises them."""
    balanced = owner.balanced
    promised = owner.privacy(held, gradient=settings.observed == "gradient", rounds=settings.rounds)
    return {
        "target_accuracy": _mean(targets.accuracy),
        "target_balanced_accuracy": _mean(targets.balanced),
        "rows_held": held,
        "rows_trained": owner.trained_on(held),
        "rows_repeated": float(balanced.repeated(targets.shares, held).mean()) if balanced else 0.0,
        "epsilon": promised.epsilon if promised and math.isfinite(promised.epsilon) else None,
        "delta": promised.delta if promised else None,
    }


def _mean(values: Tensor) -> dict[str, float | None]:
    found = bootstrap(values.tolist())
    assert found is not None
    return found.to_dict()


def _fitted(
    cell: PropertyCell, settings: PropertySettings, shadows: Shadows, pool: Encoded, progress: Progress
) -> FittedMeta | FittedHierarchy:
    streams = Streams(settings.seed).child("meta", cell.id)
    reader: Reader = make_reader(cell.reader)
    if isinstance(reader, Paths):  # the attacker has rows of its own to try models with
        some = torch.from_numpy(streams.numpy("probes").permutation(len(pool))[:PROBES])
        reader = Paths(rows=pool.take(some).dense())
    if settings.rounds > 1:
        reader = Rounds(reader=reader, rounds=settings.rounds)
    meta = MetaModel(reader=reader, loss=cell.loss)

    def labelled(label: str, done: int, total: int, note: str = "") -> None:
        progress(f"{cell.classes} classes, {cell.loss}{cell.steps}: {label}", done, total, note)

    if cell.hierarchy:
        rough, fine = Hierarchy.read(cell.hierarchy)
        both = Hierarchy(rough=meta, fine=meta, rough_classes=rough, fine_classes=fine)
        return both.fit(shadows.stack, shadows.shares.float(), streams=streams, progress=labelled)
    return meta.fit(shadows.stack, shadows.shares.float(), classes=cell.classes, streams=streams, progress=labelled)


def _numbers(cell: PropertyCell, fitted: FittedMeta | FittedHierarchy, targets: Shadows) -> dict[str, Any]:
    """What the meta-model read of the targets, beside guessing."""
    guess = fitted.predict(targets.stack)
    truth = classes_of(targets.shares.float(), cell.classes).numpy()
    score = property_score(truth, guess.classes.numpy(), cell.classes)
    numbers: dict[str, Any] = {
        "accuracy": score.accuracy.to_dict(),
        "mse": score.mse.to_dict(),
        "confusion": score.confusion.tolist(),
        "chance": score.chance,
        "most_frequent": score.most_frequent,
        "guessing_mse": score.middle_mse,
        "calibration_error": calibration_error(guess.probabilities.double().numpy(), truth),
        "targets": len(targets),
        "epochs": len(fitted.course),
    }
    if guess.shares is not None and guess.low is not None and guess.high is not None:
        found = (guess.shares, guess.low, guess.high)
        shares = share_score(targets.shares.numpy(), *(each.double().numpy() for each in found))
        numbers["share"] = {
            "error": shares.error.to_dict(),
            "coverage": shares.coverage.to_dict(),
            "width": shares.width,
            "guessing_error": shares.middle_error,
        }
    return numbers
