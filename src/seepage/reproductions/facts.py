"""What stands behind a cell, in the words that the published numbers use for their settings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from seepage.models import MLP, FTTransformer
from seepage.plans.registry import make_attack, make_model
from seepage.plans.spec import Spec, options_of
from seepage.studies.rows.settings import Settings

_NORMS = {"batch": "BatchNorm", "layer": "LayerNorm", "none": "none"}
_ACTIVATIONS = {"relu": "ReLU", "gelu": "GELU"}


def facts_of(cell: dict[str, Any], settings: Settings, attack: str, unknown: str) -> dict[str, str]:
    """All settings of a cell that a paper may name.

    Args:
        attack: its spec in the whole plan, before any step was left out.
        unknown: the paper's word for labels that are not known.
    """
    facts = {
        "batch_size": str(cell["batch_size"]),
        "labels": "true" if settings.labels_known else unknown,
        "attack_point": _point(cell["attack_point"], settings),
        "partition": settings.partition,
        "alpha": str(settings.alpha),
        "attack_iterations": str(_steps(attack)),
        "batch_mode": "fixed" if settings.fixed_batch else "resampled",
        "parameterization": "probability_simplex"
        if Spec.read(attack).name.endswith("simplex")
        else "categorical_logits",
    }
    if settings.protocol == "fedavg" and settings.local_rows is not None:
        facts |= {
            "local_dataset_size": str(settings.local_rows),
            "n_batches": str(settings.local_rows // cell["batch_size"]),
            "local_epochs": str(settings.local_epochs),
        }
    return facts | dict(net_facts(cell["model"]))


@lru_cache
def net_facts(spec: str) -> Mapping[str, str]:
    """What a model is made of."""
    model: Any = make_model(spec)
    if isinstance(model, MLP):
        return {
            "hidden_width": str(model.width),
            "hidden_layers": str(model.depth),
            "normalization": _NORMS[model.norm],
            "activation": _ACTIVATIONS.get(model.activation, model.activation),
            "dropout": f"{model.dropout:.1f}",
        }
    if isinstance(model, FTTransformer):
        return {"target_dropout": "on" if model.attention_dropout or model.ffn_dropout else "off"}
    return {}


@lru_cache
def _steps(attack: str) -> int:
    steps: int = options_of(make_attack(attack))["steps"]
    return steps


def is_exposure(point: str) -> bool:
    """Whether an attack point is an exposure and not the name of an automatic one."""
    return point.replace(".", "", 1).isdigit()


def _point(name: str, settings: Settings) -> str:
    """The last of several exposures is the final point."""
    last = max((float(point) for point in settings.attack_points if is_exposure(point)), default=0.0)
    return "final" if name == f"exposure {last:g}" else name
