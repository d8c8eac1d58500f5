"""Names to classes: everything a user can ask for by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any

from seepage._core import InputError, unknown_name
from seepage.attacks import Attack, inversion
from seepage.models import Architecture, FTTransformer, Linear, ResNet, TabNet, small_mlp, tableak_mlp


@dataclass(frozen=True)
class Entry:
    """Something in the catalogue: how it is made, one line about it, what it must know, and its paper."""

    make: Callable[[], Any]
    about: str
    needs: str = ""
    paper: str = ""


MODELS: dict[str, Entry] = {
    "mlp": Entry(small_mlp, "2 x 32, LayerNorm, GELU (document 002's small MLP)"),
    "mlp_tableak": Entry(tableak_mlp, "100-100, ReLU, two outputs (document 000)"),
    "resnet": Entry(ResNet, "2 blocks of 192 (document 002)"),
    "ft_transformer": Entry(FTTransformer, "2 blocks of 128, 4 heads (document 002)"),
    "tabnet": Entry(TabNet, "8 + 8 wide, 3 steps"),
    "linear": Entry(Linear, "logistic or linear regression"),
}

_UPDATE = "one client's update and the model; labels if known, else dummies"
_SCALED = _UPDATE + "; with standardised one-hot inputs also the statistics (--global-statistics)"
_TABLEAK = "Vero et al., Data Leakage in Tabular Federated Learning, 2022 (document 000)"

ATTACKS: dict[str, Entry] = {
    "gradient_matching": Entry(
        inversion.gradient_matching,
        "Cosine gradient matching: one run, Adam with linear decay, 10,000 steps.",
        _UPDATE,
        "Nilsson et al., Profiling privacy preservation, 2026 (document 002)",
    ),
    "tableak": Entry(
        inversion.tableak, "Softmax structure of categories, 30 restarts aligned and pooled.", _SCALED, _TABLEAK
    ),
    "tableak_no_pooling": Entry(
        inversion.tableak_no_pooling, "TabLeak's ablation: the restart of the lowest loss.", _SCALED, _TABLEAK
    ),
    "tableak_no_softmax": Entry(
        inversion.tableak_no_softmax, "TabLeak's ablation: categories are free variables.", _UPDATE, _TABLEAK
    ),
    "inverting_gradients": Entry(
        inversion.inverting_gradients,
        "Cosine matching on the signs of the gradient, one run.",
        _UPDATE,
        "Geiping et al., Inverting Gradients, NeurIPS 2020",
    ),
    "dlg": Entry(
        inversion.dlg,
        "Squared distance of the gradients, one run.",
        _UPDATE,
        "Zhu et al., Deep Leakage from Gradients, NeurIPS 2019",
    ),
    "sapag": Entry(
        inversion.sapag,
        "A Gaussian kernel per layer as the distance, one run.",
        _UPDATE,
        "Wang et al., SAPAG: A Self-Adaptive Privacy Attack From Gradients, 2020",
    ),
}


def make_model(name: str, options: Mapping[str, str] | None = None) -> Architecture:
    """The architecture of this name, with options such as ``{"width": "64"}``."""
    if name not in MODELS:
        raise unknown_name("model", name, MODELS)
    architecture: Architecture = with_options(MODELS[name].make(), f"option of model {name!r}", options or {})
    return architecture


def make_attack(name: str, options: Mapping[str, str] | None = None) -> Attack:
    """The attack of this name, with options such as ``{"steps": "1000"}``."""
    if name not in ATTACKS:
        raise unknown_name("attack", name, ATTACKS)
    attack: Attack = with_options(ATTACKS[name].make(), f"option of attack {name!r}", options or {})
    return attack


def with_options(instance: Any, what: str, options: Mapping[str, str]) -> Any:
    """A frozen dataclass with some fields changed; text becomes the type of the field's default."""
    known = {f.name: f.default for f in fields(instance) if f.init and f.default is not MISSING}
    changes = {}
    for name, text in options.items():
        if name not in known:
            raise unknown_name(what, name, known)
        kind = type(known[name])
        try:
            changes[name] = kind(text)
        except ValueError:
            raise InputError(f"The {what} {name!r} is {text!r}; it must be of type {kind.__name__}.") from None
    return replace(instance, **changes)
