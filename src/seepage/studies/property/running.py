"""Runs the choices of the study of properties: shards of models, then meta-models that read them."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace

import numpy as np
import torch

from seepage._core import Progress, Streams, under
from seepage.attacks.properties import Shadows, good_ones, packed, train_shard, unpacked
from seepage.attacks.properties.hierarchy import FittedHierarchy, Hierarchy
from seepage.attacks.properties.losses import classes_of
from seepage.attacks.properties.meta import FittedMeta, MetaModel
from seepage.attacks.properties.readers import PROBES, Joined, Paths, Reader, Rounds
from seepage.defenses import Defense
from seepage.defenses.balanced import repeated
from seepage.models.stack import Stack
from seepage.observation.released import Released
from seepage.plans import registry
from seepage.results import PropertyCell, Record, bootstrap
from seepage.results.property import (
    EPOCHS,
    GATE,
    NAMED,
    SHADOW_ACCURACY,
    SHADOW_MSE,
    SHARE,
    SHARE_HIGH,
    SHARE_LOW,
    SHARE_TRUE,
    SURE,
    TRUE,
    ModelsMade,
)
from seepage.studies.property.making import Pools, Side, noisy_steps, plan_of, pools_of, streams_of, trained_rows
from seepage.studies.property.settings import PropertySettings, steps_of
from seepage.studies.study import Found, Work


@dataclass(frozen=True)
class ShardChoice:
    """Some hundred models of one side."""

    defense: str
    side: Side
    number: int

    @property
    def label(self) -> str:
        defended = "" if self.defense == "none" else f", {self.defense}"
        return f"{self.side} {self.number + 1}{defended}"


@dataclass(frozen=True)
class ReadChoice:
    """One meta-model."""

    defense: str
    classes: int
    loss: str
    reader: str
    hierarchy: str = ""

    @property
    def label(self) -> str:
        parts = [f"{self.classes} classes", f"{self.loss} {self.hierarchy}".strip(), self.reader, self.defense]
        return ", ".join(part for part in parts if part != "none")


def shard_choices(settings: PropertySettings, defense: str) -> list[ShardChoice]:
    """All shards of one defence."""
    sides: tuple[Side, ...] = ("shadows", "targets")
    return [
        ShardChoice(defense, side, number)
        for side in sides
        for number in range(plan_of(settings, defense, side).shards)
    ]


def read_choices(settings: PropertySettings, defense: str) -> list[ReadChoice]:
    """All meta-models of one defence."""
    return [
        ReadChoice(defense, classes, loss, reader, hierarchy)
        for classes in settings.classes
        for loss in settings.losses
        for reader in settings.read_by
        for hierarchy in ("", *(text for text in settings.hierarchies if math.prod(steps_of(text)) == classes))
    ]


def file_of(task: str) -> str:
    """Where the models of a shard are kept."""
    return f"{task}.safetensors"


def make_models(work: Work) -> Found:
    """Train the models of one shard and keep them; rows stay in memory."""
    settings, choice = work.settings, work.choice
    pools = pools_of(work.source, settings)
    plan = plan_of(settings, choice.defense, choice.side, pools.held(settings))
    work.progress("shadow models", 0, 1, choice.label)
    made = train_shard(plan, choice.number, *pools.of(choice.side), pools.evaluation, pools.course)
    work.sink.keep(file_of(work.task), packed(made))
    work.progress("shadow models", 1, 1, choice.label)
    return Found()


@dataclass(frozen=True, eq=False)
class Both:
    """All models of one defence as the attacker gets them, and how many were too poor to be used."""

    shadows: Shadows
    targets: Shadows
    rejected: int


_kept: dict[tuple[object, ...], Both] = {}  # the last ones: a process fits several meta-models on them


def both_sides(work: Work, pools: Pools) -> Both:
    """The models of the choice's defence, from the shards that were made before."""
    settings, defense = work.settings, work.choice.defense
    shards = shard_choices(settings, defense)
    names = [file_of(work.needs[shard.label]) for shard in shards]
    key = (work.source.digest, work.scratch and work.scratch.parent, *names)
    if key in _kept:
        return _kept[key]
    guard: Defense = registry.make("defence", defense, "property")
    found, rejected = {}, 0
    for side in ("shadows", "targets"):
        own = [name for name, shard in zip(names, shards, strict=True) if shard.side == side]
        made = Shadows.cat([unpacked(work.sink.kept(name)) for name in own])
        good = good_ones(made, plan_of(settings, defense, side, pools.held(settings)))
        rejected += len(made) - len(good)
        sent = guard.release(good.stack, streams_of(settings, defense).child(side))
        if settings.observed == "update":
            assert pools.course is not None
            sent = _moved(sent, pools.course)
        found[side] = replace(good, stack=sent)
    _kept.clear()
    _kept[key] = Both(found["shadows"], found["targets"], rejected)
    return _kept[key]


def _moved(stack: Stack, start: Stack) -> Stack:
    """What clients send back: how far their models moved."""
    return Stack(
        tuple(after - before for after, before in zip(stack.weights, start.weights, strict=True)),
        tuple(after - before for after, before in zip(stack.biases, start.biases, strict=True)),
    )


def cell_of(table: str, settings: PropertySettings, choice: ReadChoice, variant: str) -> PropertyCell:
    """The coordinates of one meta-model."""
    return PropertyCell(
        dataset=table,
        property_text=settings.property_text,
        observed=settings.observed,
        variant=variant,
        **asdict(choice),
    )


def read_models(work: Work) -> Found:
    """Fit one meta-model on the shadows, and let it name the targets' ranges."""
    settings, choice = work.settings, work.choice
    cell = cell_of(work.source.name, settings, choice, work.variant)
    pools = pools_of(work.source, settings)
    both = both_sides(work, pools)
    seen = Released(
        models=both.targets.stack,
        kind=settings.observed,
        rounds=settings.rounds,
        own_rows=settings.pools == "disjoint",
        same_epochs=settings.shadow_epochs is None,
    )
    guard: Defense = registry.make("defence", choice.defense, "property")
    found = Found(cells=[(cell, "")], threat_model=guard.amend(seen.describe()))
    found.note("models", _made(work, pools, both))
    if not work.sink.has(cell):
        fitted = _fitted(cell, settings, both.shadows, pools, work.progress)
        work.sink.add(_records(cell, settings, fitted, both, pools.held(settings)))
    return found


def _fitted(
    cell: PropertyCell, settings: PropertySettings, shadows: Shadows, pools: Pools, progress: Progress
) -> FittedMeta | FittedHierarchy:
    streams = Streams(settings.seed).child("meta", _stream_name(cell))
    reader: Reader = registry.make("reader", cell.reader, "property")
    if isinstance(reader, Paths | Joined):  # the attacker has rows of its own to try models with
        some = torch.from_numpy(streams.numpy("probes").permutation(len(pools.shadow))[:PROBES])
        reader = with_rows(reader, pools.shadow.take(some).dense())
    if settings.rounds > 1:
        reader = Rounds(reader=reader, rounds=settings.rounds)
    meta = MetaModel(reader=reader, loss=cell.loss)
    labelled = under(f"{cell.classes} classes, {cell.loss} {cell.hierarchy}".strip(), progress)

    if cell.hierarchy:
        rough, fine = steps_of(cell.hierarchy)
        both = Hierarchy(rough=meta, fine=meta, rough_classes=rough, fine_classes=fine)
        return both.fit(shadows.stack, shadows.shares.float(), streams=streams, progress=labelled)
    return meta.fit(shadows.stack, shadows.shares.float(), classes=cell.classes, streams=streams, progress=labelled)


def with_rows(reader: Paths | Joined, rows: torch.Tensor) -> Reader:
    """A reader that tries models with these rows."""
    if isinstance(reader, Paths):
        return replace(reader, rows=rows)
    return replace(reader, paths=replace(reader.paths, rows=rows))


def _stream_name(cell: PropertyCell) -> str:
    """Variants of one plan share the meta-models' randomness: what differs is the setting."""
    return f"{cell.defense.replace(':', '-')}-{cell.classes:02d}-{cell.loss}-{cell.reader}" + (
        f"-{cell.hierarchy}" if cell.hierarchy else ""
    )


def _records(
    cell: PropertyCell,
    settings: PropertySettings,
    fitted: FittedMeta | FittedHierarchy,
    both: Both,
    held: int,
) -> list[Record]:
    """One record for each target model: its true range and the one that was named."""
    targets, guess = both.targets, fitted.predict(both.targets.stack)
    learned = classes_of(both.shadows.shares.float(), cell.classes)
    missed = (fitted.predict(both.shadows.stack).classes - learned).double()
    columns = {
        SHADOW_ACCURACY: np.full(len(targets), float((missed == 0).double().mean())),
        SHADOW_MSE: np.full(len(targets), float(missed.square().mean())),
        TRUE: classes_of(targets.shares.float(), cell.classes).numpy(),
        NAMED: guess.classes.numpy(),
        SURE: guess.probabilities.double().max(1).values.clamp(max=1.0).numpy(),
        SHARE_TRUE: targets.shares.double().numpy(),
        EPOCHS: np.full(len(targets), float(len(fitted.course))),
    }
    if guess.shares is not None and guess.low is not None and guess.high is not None:
        columns |= {SHARE: guess.shares.double().numpy(), SHARE_LOW: guess.low.double().numpy()}
        columns[SHARE_HIGH] = guess.high.double().numpy()
    return [
        Record(
            cell=cell,
            client=number,
            round=settings.rounds,
            exposure=float(settings.epochs),
            rows=held,
            outcome="ok",
            values={measure: float(values[number]) for measure, values in columns.items()},
        )
        for number in range(len(targets))
    ]


def _made(work: Work, pools: Pools, both: Both) -> ModelsMade:
    """What the models are worth, what a defence costs the owners of target models, and what it promises them."""
    settings, defense = work.settings, work.choice.defense
    guard: Defense = registry.make("defence", defense, "property")
    held = pools.held(settings)
    rows, balance = trained_rows(guard, held), guard.balance()
    recipe = plan_of(settings, defense, "targets", held).recipe
    promised = guard.privacy(*noisy_steps(settings, recipe, rows))
    every, targets = Shadows.cat([both.shadows, both.targets]), both.targets
    means = {name: bootstrap(values.tolist()) for name, values in (("a", targets.accuracy), ("b", targets.balanced))}
    assert means["a"] is not None
    assert means["b"] is not None
    return ModelsMade(
        dataset=work.source.name,
        variant=work.variant,
        property_text=settings.property_text,
        observed=settings.observed,
        defense=defense,
        shadows=len(both.shadows),
        targets=len(targets),
        rejected=both.rejected,
        failing_shadows=int((both.shadows.accuracy < GATE).sum()),
        failing_targets=tuple((targets.accuracy < GATE).nonzero().flatten().tolist()),
        learned_nothing=int((every.balanced <= 1 / pools.evaluation.classes).sum()),
        accuracy=float(every.accuracy.mean()),
        balanced_accuracy=float(every.balanced.mean()),
        above_90_percent=float((every.accuracy >= 0.9).double().mean()),
        target_accuracy=means["a"],
        target_balanced_accuracy=means["b"],
        rows_held=held,
        rows_trained=rows,
        rows_repeated=float(repeated(balance, targets.shares, held).mean()) if balance else 0.0,
        epsilon=promised.epsilon if promised and math.isfinite(promised.epsilon) else None,
        delta=promised.delta if promised else None,
    )
