"""The encoder and the model of an audit, from a table and settings."""

from __future__ import annotations

from seepage._core import InputError
from seepage.data import Encoder
from seepage.data.source import Source
from seepage.models import Learner, make_learner
from seepage.plans.registry import make_model
from seepage.studies.rows.settings import Settings


def make_parts(source: Source, settings: Settings, model: str, *, seed: int) -> tuple[Encoder, Learner]:
    """The encoder and a freshly drawn model for a table."""
    target = source.table.schema.target
    architecture = make_model(model, settings.model_options)
    encoder = Encoder(
        schema=source.table.schema,
        categories=architecture.encoding,
        numbers=settings.numbers,
        standardise_onehot=settings.standardise_onehot and architecture.encoding == "onehot",
    )
    layout, classes = encoder.layout, len(target.classes)
    try:
        learner = make_learner(
            architecture,
            layout.numeric,
            layout.sizes,
            target.task,
            classes,
            seed=seed,
            positive_weight=settings.positive_weight,
        )
    except (ValueError, RuntimeError, ZeroDivisionError) as error:
        raise cannot_build(model, settings, error) from None
    return encoder, learner


def cannot_build(model: str, settings: Settings, error: Exception) -> InputError:
    """The sentence for a model whose options cannot be."""
    reason = str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else type(error).__name__
    beside = f" with {settings.model_options}" if settings.model_options else ""
    return InputError(f"The model {model!r} cannot be built{beside}: {reason}.")
