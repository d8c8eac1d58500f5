"""The workers of vertical learning: everyone's rows, the model, and the batches that the server is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from seepage._core import InputError, Progress, Streams, silent
from seepage.attacks.vertical.cafe import Cafe
from seepage.data import Encoder, Table
from seepage.data.source import Source
from seepage.data.splitting import stratified_order
from seepage.defenses import Defense
from seepage.federation import Truth
from seepage.federation.vertical.losses import training_losses
from seepage.federation.vertical.shared import SharedLayers
from seepage.models import Learner, Parameters
from seepage.observation import Space
from seepage.observation.vertical import VerticalScene, VerticalUpdate
from seepage.plans import registry
from seepage.studies.parts import make_parts
from seepage.studies.vertical.settings import VerticalSettings

POINTS = 10  # of a curve of training losses, where no batches are to be watched
TESTED = 1_000  # rows of other people at most, on which a model is tried


@dataclass(frozen=True)
class VerticalChoice:
    """What one stream of batches is made with."""

    model: str
    defense: str
    batch_size: int

    @property
    def label(self) -> str:
        parts = [self.model, f"batches of {self.batch_size}", self.defense]
        return ", ".join(part for part in parts if part != "none")


@dataclass(frozen=True, kw_only=True, eq=False)
class Workers:
    """Everyone's rows, and what the workers do with them.

    Args:
        test: rows of other people, encoded, and their classes; None where there are none.
        tiles: parts of a picture, one for each worker; 0 for tables.
        looks: batches after which it is looked how far the model is.
    """

    truth: Truth
    x: Tensor
    y: Tensor
    test: tuple[Tensor, Tensor] | None
    learner: Learner
    defense: Defense
    streams: Streams
    batch_size: int
    batches: int
    tiles: int
    looks: tuple[int, ...]

    @classmethod
    def make(cls, source: Source, settings: VerticalSettings, choice: VerticalChoice, repeat: int) -> Workers:
        """Draw the people of one trial, and the first weights."""
        streams = Streams(settings.seed).child("vertical", repeat)
        people, others = drawn_apart(source.table, settings.people, streams.numpy("people"))
        encoder, learner = model_of(source, settings, choice.model, streams.integer("parameters"))
        statistics = encoder.statistics(people)
        tried = len(others) > 0 and source.table.schema.target.task != "regression"
        return cls(
            truth=Truth(rows=people, encoder=encoder, statistics=statistics, client_rows=people),
            x=torch.from_numpy(encoder.encode(people, statistics)),
            y=torch.from_numpy(people.target),
            test=(torch.from_numpy(encoder.encode(others, statistics)), torch.from_numpy(others.target))
            if tried
            else None,
            learner=learner,
            defense=registry.make("defence", choice.defense, "vertical"),
            streams=streams,
            batch_size=choice.batch_size,
            batches=settings.batches_seen,
            tiles=getattr(registry.make("model", choice.model, "vertical", settings.model_options), "workers", 0),
            looks=settings.watch or _evenly(settings.batches_seen),
        )

    def loss(self, parameters: Parameters) -> float:
        """The mean loss on everyone's rows."""
        return float(self.learner.loss(parameters, self.x, self.y))

    def test_accuracy(self, parameters: Parameters) -> float | None:
        """The share of other people's rows whose class the model names; None where it cannot be tried."""
        if self.test is None:
            return None
        x, y = self.test
        outputs = self.learner.outputs(parameters, x)
        named = outputs.argmax(1) if outputs.shape[1] > 1 else (outputs[:, 0] > 0).long()
        return float((named == y).double().mean())

    def losses(self, protocol: SharedLayers, progress: Progress = silent) -> list[tuple[int, float]]:
        """The loss while the model trains with what the workers send."""
        return training_losses(
            protocol,
            self.learner,
            (self.x, self.y),
            self.batches,
            self.streams,
            defense=self.defense,
            at=self.looks,
            progress=progress,
        )

    def stream(
        self, protocol: SharedLayers, look: Callable[[int, Parameters], None]
    ) -> Iterable[tuple[int, VerticalUpdate]]:
        """All batches with their numbers; ``look`` is called with the weights after those that are watched."""

        def watch(number: int, parameters: Parameters) -> None:
            if number in self.looks:
                look(number, parameters)

        updates = protocol.stream(
            self.learner, self.x, self.y, self.batches, self.streams, defense=self.defense, watch=watch
        )
        return enumerate(updates, start=1)


def _evenly(batches: int) -> tuple[int, ...]:
    every = max(1, batches // POINTS)
    return tuple(sorted({*range(every, batches + 1, every), batches}))


def make_protocol(settings: VerticalSettings, batch_size: int, *, trains: bool, moments: bool = False) -> SharedLayers:
    """The protocol, with weights that stay as they are or with a model that trains."""
    return SharedLayers(
        batch_size=batch_size,
        rate=settings.learning_rate if trains else 0.0,
        adam=settings.optimiser == "adam",
        moments=moments,
    )


def make_scene(workers: Workers, settings: VerticalSettings, attacks: Iterable[object]) -> VerticalScene:
    """What the server knows before the first batch. A BatchNorm's statistics are told where an attack asks for them."""
    return VerticalScene(
        learner=workers.learner,
        rows=len(workers.x),
        batch_size=workers.batch_size,
        space=Space(layout=workers.truth.encoder.layout),
        fixed=not settings.moving,
        moments=any(isinstance(attack, Cafe) and attack.norms > 0 for attack in attacks),
        batches=workers.batches,
        workers=workers.tiles,
    )


def model_of(source: Source, settings: VerticalSettings, model: str, seed: int) -> tuple[Encoder, Learner]:
    """The encoder and a freshly drawn model."""
    return make_parts(source, settings, model, study="vertical", seed=seed)


def drawn(table: Table, count: int, generator: np.random.Generator) -> Table:
    """So many people, with the classes in proportion."""
    return drawn_apart(table, count, generator)[0]


def drawn_apart(table: Table, count: int, generator: np.random.Generator) -> tuple[Table, Table]:
    """So many people, with the classes in proportion, and some of the others."""
    if count > len(table):
        raise InputError(f"There are {count} people asked for; the table has {len(table)} rows.")
    order = stratified_order(table, generator)
    return table.take(np.sort(order[:count])), table.take(np.sort(order[count : count + TESTED]))
