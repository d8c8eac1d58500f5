"""The encoder and the model of a study, from a table and settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

import torch

from seepage._core import InputError
from seepage.data import Encoder, Preprocessing, Table
from seepage.data.arrangement import arrangement_of, code_columns
from seepage.models import Architecture, Arranged, CodeEntry, Entry, Foreign, Learner, make_learner, spare_rows
from seepage.plans import registry


class Tabled(Protocol):
    """What has columns: a table, or updates of a model that takes them."""

    @property
    def table(self) -> Table: ...

    @property
    def digest(self) -> str: ...


class ModelSettings(Protocol):
    """The settings that make a model."""

    @property
    def model_options(self) -> Mapping[str, str]: ...

    @property
    def numbers(self) -> Any: ...

    @property
    def positive_weight(self) -> float: ...


def make_parts(
    source: Tabled,
    settings: ModelSettings,
    model: str,
    *,
    study: str,
    seed: int,
    standardise_onehot: bool = False,
    batch_statistics: bool = False,
) -> tuple[Encoder, Learner]:
    """The encoder and a freshly drawn model for a table."""
    target = source.table.schema.target
    architecture: Architecture = registry.make("model", model, study, settings.model_options)
    encoder = Encoder(
        schema=source.table.schema,
        categories=architecture.encoding,
        numbers=settings.numbers,
        standardise_onehot=_standardises(source, architecture, asked=standardise_onehot),
        preprocessing=shared_by(source),
    )
    layout, classes = encoder.layout, len(target.classes)
    try:
        learner = make_learner(
            _with_loss(_arranged(architecture, encoder, source), settings, study),
            layout.numeric,
            layout.sizes,
            target.task,
            classes,
            seed=seed,
            positive_weight=settings.positive_weight,
            batch_statistics=batch_statistics,
        )
    except (ValueError, RuntimeError, ZeroDivisionError) as error:
        raise cannot_build(model, settings, error) from None
    _check_codes(learner, encoder, source.table)
    return encoder, learner


def _check_codes(learner: Learner, encoder: Encoder, table: Table) -> None:
    """Stop where a cell has a code that the model's embedding has no row for."""
    entry = learner.entry
    if not isinstance(entry, CodeEntry):
        return
    rows, blocks = spare_rows(learner.module), encoder.layout.blocks
    for column, block in enumerate(entry.blocks):
        place = blocks.index(block)
        known = block.stop - block.start - 1
        if rows.get(column, known) <= known and bool((table.codes[:, place] < 0).any()):
            name = encoder.schema.categorical[place].name
            raise InputError(
                f"The column {name!r} has cells of an unknown category, and the model's embedding has no row for the "
                f"code {known} that stands for them."
            )


def shared_by(source: Tabled) -> Preprocessing | None:
    """What all clients do to their columns, if that was given."""
    shared: Preprocessing | None = getattr(source, "preprocessing", None)
    return shared


def _with_loss(architecture: Architecture, settings: ModelSettings, study: str) -> Architecture:
    """With the user's own loss, if they have one."""
    spec = getattr(settings, "loss", TASK)
    if spec == TASK:
        return architecture
    function = registry.make("criterion", spec, study).function
    if isinstance(architecture, Arranged):
        return replace(architecture, criterion=function)
    return Arranged(architecture, criterion=function)


TASK = "task"  # the loss that belongs to the task


def _arranged(architecture: Architecture, encoder: Encoder, source: Tabled) -> Architecture:
    """Somebody's own module takes rows as their preprocessor lays them out; our models take them as we do."""
    if encoder.preprocessing is None or not isinstance(architecture, Foreign):
        return architecture
    if architecture.inputs == "codes":
        places, blocks = code_columns(encoder.preprocessing, encoder.layout)
        sizes = tuple(block.stop - block.start for block in blocks)
        picked_places = torch.tensor(places, dtype=torch.int64)
        return Arranged(architecture, CodeEntry(picked_places, blocks, numeric=len(places), sizes=sizes))
    made = arrangement_of(encoder.preprocessing, encoder.layout)
    if made is None:
        return architecture
    back, picked = made.back(encoder.layout, encoder.statistics(source.table)), made.picked
    entry = Entry(
        picked=None if picked is None else torch.tensor(picked),
        matrix=torch.from_numpy(made.matrix(encoder.layout.width)) if picked is None else None,
        offsets=torch.tensor(made.offsets) if picked is None else None,
        back=None if back is None else torch.from_numpy(back),
        numeric=made.numeric,
        sizes=made.sizes,
    )
    return Arranged(architecture, entry)


def _standardises(source: Tabled, architecture: Architecture, *, asked: bool) -> bool:
    """Whether one-hot entries are scaled: as the preprocessing does it, if there is one."""
    shared = shared_by(source)
    return architecture.encoding == "onehot" and (asked if shared is None else shared.standardised)


def check_model(
    source: Tabled, settings: ModelSettings, model: str, *, study: str, batch_statistics: bool = False
) -> None:
    """Build a model and try it on a row: options that cannot be are told now.

    A plan asks the same of thousands of cells, so what was tried is remembered; only of our own models, as those of
    others may change under their name.
    """
    key = (
        study,
        source.digest,
        model,
        settings.numbers,
        settings.positive_weight,
        batch_statistics,
        *sorted(settings.model_options.items()),
    )
    if key in _tried:
        return
    _try_model(source, settings, model, study=study, batch_statistics=batch_statistics)
    if not registry.find("model", registry.name_of("model", model), study).origin:
        _tried[key] = None
        if len(_tried) > REMEMBERED:
            del _tried[next(iter(_tried))]


REMEMBERED = 10_000  # models that were tried
_tried: dict[tuple[object, ...], None] = {}


def _try_model(source: Tabled, settings: ModelSettings, model: str, *, study: str, batch_statistics: bool) -> None:
    encoder, learner = make_parts(source, settings, model, study=study, seed=0, batch_statistics=batch_statistics)
    row = torch.zeros(2, encoder.layout.width)
    try:
        learner.gradient(learner.initial(), row, torch.zeros(2))
    except (ValueError, RuntimeError, ZeroDivisionError) as error:
        raise cannot_build(model, settings, error) from None


def cannot_build(model: str, settings: ModelSettings, error: Exception) -> InputError:
    """The sentence for a model whose options cannot be."""
    reason = str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else type(error).__name__
    beside = f" with {dict(settings.model_options)}" if settings.model_options else ""
    return InputError(f"The model {model!r} cannot be built{beside}: {reason}.")
