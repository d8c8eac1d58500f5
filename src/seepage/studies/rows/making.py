"""From the settings of the study of rows to the objects that simulate a federation."""

from __future__ import annotations

from seepage._core import InputError, Progress, Streams
from seepage.data import IID, ByColumn, Dirichlet, Encoder, Partition, QuantitySkew
from seepage.data.source import Source
from seepage.federation import (
    Automatic,
    FedAvg,
    FederatedProtocol,
    FedSGD,
    Milestones,
    Schedule,
    Trace,
    make_population,
    simulate,
)
from seepage.metrics import Reference
from seepage.models import Learner, LocalTraining
from seepage.observation import Knowledge
from seepage.plans import registry
from seepage.studies.parts import make_parts
from seepage.studies.rows.settings import RowsSettings

EXPOSURE = {"fedsgd": 25.0, "fedavg": 24.0}  # as in the profiling study


def make_partition(settings: RowsSettings) -> Partition:
    """How rows are divided over clients."""
    if settings.partition == "dirichlet":
        return Dirichlet(clients=settings.client_count, alpha=settings.alpha)
    if settings.partition == "quantity":
        return QuantitySkew(clients=settings.client_count, alpha=settings.alpha)
    if settings.partition == "column":
        assert settings.partition_column is not None
        return ByColumn(column=settings.partition_column)
    return IID(clients=settings.client_count)


def make_schedule(settings: RowsSettings) -> Schedule:
    """When updates are attacked: names of the automatic points, ``auto`` for all five, or exposures."""
    points = settings.attack_points
    if points == ("auto",):
        return Automatic()
    numbers = [point for point in points if is_exposure(point)]
    if not numbers:
        return Automatic(keep=points)
    if len(numbers) < len(points):
        raise InputError(f"Attack points {', '.join(points)} mix names and exposures; use one kind.")
    return Milestones(exposures=tuple(float(point) for point in numbers))


def is_exposure(text: str) -> bool:
    """Whether an attack point is an exposure and not a name."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def make_protocol(settings: RowsSettings, batch_size: int) -> FederatedProtocol:
    """The protocol at one batch size."""
    exposure = EXPOSURE[settings.protocol] if settings.exposure is None else settings.exposure
    if settings.protocol == "fedsgd":
        return FedSGD(
            batch_size=batch_size,
            learning_rate=settings.learning_rate,
            exposure=exposure,
            schedule=make_schedule(settings),
            fixed_batch=settings.fixed_batch,
            participation=settings.participation,
            server=registry.make("server", settings.server, "rows"),
            share_statistics=settings.batch_norm != "local",
        )
    return FedAvg(
        batch_size=batch_size,
        local_rows=None if settings.local_rows == "all" else settings.local_rows,
        local_batches=settings.local_batches,
        local_epochs=settings.local_epochs,
        learning_rate=settings.learning_rate,
        same_order=settings.local_order == "kept",
        exposure=exposure,
        schedule=make_schedule(settings),
        fixed_batch=settings.fixed_batch,
        training=make_training(settings),
        participation=settings.participation,
        server=registry.make("server", settings.server, "rows"),
        share_statistics=settings.batch_norm != "local",
    )


def make_training(settings: RowsSettings) -> LocalTraining:
    """How clients take their local steps."""
    return LocalTraining(
        optimiser=registry.make("optimiser", settings.optimiser, "rows"),
        schedule=settings.rate_schedule,
        clip=settings.clip_norm,
        proximal=settings.proximal,
    )


def knowledge_of(settings: RowsSettings, *, shared: bool = False) -> Knowledge:
    """What the attacker is given.

    Args:
        shared: all clients preprocess in one way, which the server handed out and so knows.
    """
    return Knowledge(
        labels=settings.labels_known,
        ranges=settings.ranges_known,
        whole=settings.whole_known,
        statistics=shared or not settings.local_statistics,
    )


def model_of(source: Source, settings: RowsSettings, model: str, seed: int) -> tuple[Encoder, Learner]:
    """The encoder and a freshly drawn model."""
    return make_parts(
        source,
        settings,
        model,
        study="rows",
        seed=seed,
        standardise_onehot=settings.standardise_onehot,
        batch_statistics=settings.batch_norm != "stored",
    )


def check_defense(source: Source, settings: RowsSettings, model: str, defense: str) -> None:
    """A sentence if a defence cannot be, or not beside this model."""
    made = registry.make("defence", defense, "rows")
    made.gradients(made.model(model_of(source, settings, model, seed=0)[1], seed=0))


def train(
    source: Source,
    settings: RowsSettings,
    model: str,
    defense: str,
    batch_size: int,
    streams: Streams,
    progress: Progress,
) -> tuple[Trace, Reference]:
    """One federation, from the split of the rows to the trace; and the marginals of its training part."""
    splits = source.split(streams.numpy("split"))
    encoder, learner = model_of(source, settings, model, streams.integer("parameters"))
    population = make_population(
        splits,
        make_partition(settings),
        encoder,
        learner,
        streams.numpy("partition"),
        local_statistics=settings.local_statistics and source.preprocessing is None,
        largest=settings.largest_client,
        scale_target=settings.targets == "standard",
    )
    trace = simulate(
        make_protocol(settings, batch_size),
        population,
        knowledge_of(settings, shared=source.preprocessing is not None),
        streams,
        defense=registry.make("defence", defense, "rows"),
        watched=settings.rounds,
        progress=progress,
    )
    return trace, Reference.of(splits.train)
