"""Names to classes: everything a user can ask for by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from seepage._core import unknown_name
from seepage.attacks import Attack, Exact, inversion
from seepage.attacks.vertical.cafe import Cafe
from seepage.attacks.vertical.closed_form import ClosedForm
from seepage.defenses import DPSGD, Defense, GaussianNoise, Quantisation, TopK, Undefended
from seepage.defenses.defense import Gradients
from seepage.defenses.fake_gradients import FakeGradients
from seepage.federation.vertical.indices import HiddenIds, Ids, RemappedIds
from seepage.models import (
    Architecture,
    FTTransformer,
    Learner,
    Linear,
    Parameters,
    ResNet,
    TabNet,
    small_mlp,
    tableak_mlp,
)
from seepage.plans.spec import Spec, options_of, with_options


@dataclass(frozen=True)
class Entry:
    """Something in the catalogue.

    Args:
        make: how it is made.
        about: one line about it.
        needs: what an attack must know.
        paper: where it comes from.
        main: the option that a bare value of a spec sets: ``top_k:0.1``.
    """

    make: Callable[[], Any]
    about: str
    needs: str = ""
    paper: str = ""
    main: str = ""


MODELS: dict[str, Entry] = {
    "mlp": Entry(small_mlp, "2 x 32, LayerNorm, GELU (document 002's small MLP)"),
    "mlp_tableak": Entry(tableak_mlp, "100-100, ReLU, two outputs (document 000)"),
    "resnet": Entry(ResNet, "2 blocks of 192 (document 002)"),
    "ft_transformer": Entry(FTTransformer, "2 blocks of 128, 4 heads (document 002)"),
    "tabnet": Entry(TabNet, "8 + 8 wide, 3 steps"),
    "linear": Entry(Linear, "logistic or linear regression"),
}

_UPDATE = "one client's update and the model; labels if known, else dummies"
_JOINT = "one client's update and the model; labels if known, else they are variables"
_SCALED = _UPDATE + "; with standardised one-hot inputs also the statistics (--global-statistics)"
_TABLEAK = "Vero et al., Data Leakage in Tabular Federated Learning, 2022 (document 000)"

ATTACKS: dict[str, Entry] = {
    "exact": Entry(
        Exact,
        "Reads rows by algebra, proves which are right, and optimises the rest as `fast` does. The default.",
        "one client's update and the model; with standardised one-hot inputs also the statistics (--global-statistics)",
        "Seepage (docs/explanation/exact-inversion.md)",
    ),
    "fast": Entry(
        inversion.fast,
        "TabLeak's ensemble with a start from marginals and L-BFGS: its accuracy in a third of the steps.",
        _SCALED,
        "Seepage, after " + _TABLEAK,
    ),
    "gradient_matching": Entry(
        inversion.gradient_matching,
        "Cosine gradient matching: one run, Adam with linear decay, 10,000 steps.",
        _UPDATE,
        "Nilsson et al., Profiling privacy preservation, 2026 (document 002)",
    ),
    "gradient_matching_simplex": Entry(
        inversion.gradient_matching_simplex,
        "The same with embedded categories on the probability simplex instead of logits.",
        _UPDATE,
        "Nilsson et al., Profiling privacy preservation, 2026 (document 002)",
    ),
    "tableak": Entry(
        inversion.tableak, "Softmax structure of categories, 30 restarts aligned and pooled.", _SCALED, _TABLEAK
    ),
    "tableak_bounded": Entry(
        inversion.tableak_bounded,
        "TabLeak with numbers bounded by a sigmoid.",
        _SCALED + "; ranges and statistics (--ranges-known --global-statistics)",
        "Vero et al., TabLeak, ICML 2023 (the later version of document 000)",
    ),
    "tableak_no_pooling": Entry(inversion.tableak_no_pooling, "TabLeak's ablation: a single run.", _SCALED, _TABLEAK),
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
        "Squared distance of the gradients, one run; unknown labels are variables too.",
        _JOINT,
        "Zhu et al., Deep Leakage from Gradients, NeurIPS 2019",
    ),
    "dlg_lbfgs": Entry(
        inversion.dlg_lbfgs,
        "DLG with the paper's optimiser, L-BFGS, 300 steps.",
        _JOINT,
        "Zhu et al., Deep Leakage from Gradients, NeurIPS 2019",
    ),
    "idlg": Entry(
        inversion.idlg,
        "DLG that reads the label of a single row from the last layer first.",
        _JOINT,
        "Zhao et al., iDLG: Improved Deep Leakage from Gradients, 2020",
    ),
    "gradinversion_bn": Entry(
        inversion.gradinversion_bn,
        "Cosine matching with GradInversion's BatchNorm prior.",
        _UPDATE + "; a model with BatchNorm",
        "Yin et al., See Through Gradients, CVPR 2021",
    ),
    "gradinversion_gc": Entry(
        inversion.gradinversion_gc,
        "Cosine matching of 8 restarts with GradInversion's group consistency.",
        _UPDATE,
        "Yin et al., See Through Gradients, CVPR 2021",
    ),
    "sapag": Entry(
        inversion.sapag,
        "A Gaussian kernel per layer as the distance, one run.",
        _UPDATE,
        "Wang et al., SAPAG: A Self-Adaptive Privacy Attack From Gradients, 2020",
    ),
}


DEFENSES: dict[str, Entry] = {
    "none": Entry(Undefended, "Updates are sent as they are."),
    "gaussian_noise": Entry(
        GaussianNoise,
        "Noise of this deviation on every entry of the update; no guarantee by itself.",
        paper="Vero et al., Data Leakage in Tabular Federated Learning, 2022 (document 000)",
        main="deviation",
    ),
    "dp_sgd": Entry(
        DPSGD,
        "Every row's gradient is clipped and noise is added, in each local step; states epsilon per client.",
        paper="Abadi et al., Deep Learning with Differential Privacy, CCS 2016",
        main="noise",
    ),
    "top_k": Entry(
        TopK,
        "Only this share of the entries is sent, the largest ones.",
        paper="Lin et al., Deep Gradient Compression, ICLR 2018",
        main="share",
    ),
    "quantisation": Entry(
        Quantisation,
        "Every entry is sent with this many bits; 1 is the sign with the tensor's mean magnitude.",
        paper="Alistarh et al., QSGD, NeurIPS 2017; Bernstein et al., signSGD, ICML 2018",
        main="bits",
    ),
}


_CAFE = "Jin et al., CAFE: Catastrophic Data Leakage in Vertical Federated Learning, NeurIPS 2021 (document 001)"
_BATCHES = "batch indices, weights and aggregated gradients of many batches"

VERTICAL_ATTACKS: dict[str, Entry] = {
    "cafe_closed_form": Entry(
        ClosedForm, "CAFE's first two steps as linear systems, solved exactly.", _BATCHES, "Seepage, after " + _CAFE
    ),
    "cafe": Entry(Cafe, "CAFE's three steps by descent, in a single loop.", _BATCHES, _CAFE),
    "cafe_nested": Entry(
        lambda: Cafe(mode="nested"), "CAFE in nested loops, one step after the other.", _BATCHES, _CAFE
    ),
    "dlg": Entry(
        lambda: Cafe(steps=False, rate=1e-2, alpha=1.0, beta=0.0, gamma=0.0),
        "Squared distance of the gradients, without CAFE's steps.",
        _BATCHES,
        "Zhu et al., Deep Leakage from Gradients, NeurIPS 2019",
    ),
    "cosine": Entry(
        lambda: Cafe(steps=False, rate=1e-2, alpha=1.0, gamma=0.0, match="cosine"),
        "Cosine of the gradients and total variation.",
        _BATCHES,
        "Geiping et al., Inverting Gradients, NeurIPS 2020",
    ),
    "sapag": Entry(
        lambda: Cafe(steps=False, rate=1e-2, alpha=1.0, beta=0.0, gamma=0.0, match="gaussian"),
        "A Gaussian kernel as the distance of gradients.",
        _BATCHES,
        "Wang et al., SAPAG: A Self-Adaptive Privacy Attack From Gradients, 2020",
    ),
    "gradinversion_bn": Entry(
        lambda: Cafe(steps=False, rate=1e-2, alpha=1.0, beta=0.0, gamma=0.0, norms=1e-2),
        "Squared distance, and the batch's mean and variance before the first layer.",
        _BATCHES + ", and the statistics of a BatchNorm",
        "Yin et al., See Through Gradients, CVPR 2021",
    ),
    "gradinversion_gc": Entry(
        lambda: Cafe(steps=False, rate=1e-2, alpha=1.0, beta=0.0, gamma=0.0, consistency=1e-3, seeds=3),
        "Squared distance with the consistency of three recoveries.",
        _BATCHES,
        "Yin et al., See Through Gradients, CVPR 2021",
    ),
}

VERTICAL_DEFENSES: dict[str, Entry] = {
    **DEFENSES,
    "fake_gradients": Entry(
        FakeGradients, "Sorted normal numbers in the order of the true gradient.", paper=_CAFE, main="deviation"
    ),
    "hidden_ids": Entry(HiddenIds, "The server does not learn which rows are in a batch.", paper=_CAFE),
    "remapped_ids": Entry(RemappedIds, "The workers renumber people once, in secret.", paper=_CAFE),
}


@dataclass(frozen=True, kw_only=True)
class VerticalDefense:
    """What the workers do.

    Args:
        gradients: how they compute the gradient of a batch; None for the plain one.
        defend: what they do to it before they send it; None for nothing.
        ids: what they do to the ids of batches; None for nothing.
    """

    gradients: Gradients | None = None
    defend: Callable[[Parameters, torch.Generator], Parameters] | None = None
    ids: Ids | None = None


def make_vertical_attack(spec: str, options: Mapping[str, str] | None = None) -> ClosedForm | Cafe:
    """An attack on vertical gradients by its spec."""
    attack: ClosedForm | Cafe = _made("vertical attack", VERTICAL_ATTACKS, spec, options)[0]
    return attack


def make_vertical_defense(spec: str, learner: Learner) -> VerticalDefense:
    """A defence of vertical learning by its spec."""
    defense = _made("vertical defence", VERTICAL_DEFENSES, spec)[0]
    if isinstance(defense, HiddenIds | RemappedIds):
        return VerticalDefense(ids=defense)
    if isinstance(defense, FakeGradients):
        return VerticalDefense(defend=defense)

    def protect(gradient: Parameters, random: torch.Generator) -> Parameters:
        sent = defense.protect({name: value[None] for name, value in gradient.items()}, random)
        return {name: value[0] for name, value in sent.items()}

    return VerticalDefense(gradients=defense.gradients(learner), defend=protect)


def make_model(spec: str, options: Mapping[str, str] | None = None) -> Architecture:
    """The architecture of a spec such as ``mlp:width=64``; ``options`` are for those that the spec leaves open."""
    architecture: Architecture = _made("model", MODELS, spec, options)[0]
    return architecture


def make_attack(spec: str, options: Mapping[str, str] | None = None) -> Attack:
    """The attack of a spec such as ``tableak:steps=500``; ``options`` are for those that the spec leaves open."""
    attack: Attack = _made("attack", ATTACKS, spec, options)[0]
    return attack


def make_defense(spec: str) -> Defense:
    """The defence of a spec such as ``dp_sgd:clip=1:noise=0.5``, or ``gaussian_noise:0.01``."""
    defense: Defense = _made("defence", DEFENSES, spec)[0]
    return defense


def written_out(kind: str, text: str) -> str:
    """A spec as it stands in a cell: every option named, numbers in one way of writing, mistakes told."""
    catalogues = {
        "model": MODELS,
        "attack": ATTACKS,
        "defence": DEFENSES,
        "vertical attack": VERTICAL_ATTACKS,
        "vertical defence": VERTICAL_DEFENSES,
    }
    return _made(kind, catalogues[kind], text)[1]


def listed(catalogue: Mapping[str, Entry]) -> list[dict[str, Any]]:
    """The entries of a catalogue as facts, with their options."""
    return [
        {"name": name, "about": entry.about, "needs": entry.needs, "paper": entry.paper}
        | {"options": options_of(entry.make())}
        for name, entry in catalogue.items()
    ]


def _made(
    kind: str, catalogue: Mapping[str, Entry], text: str, options: Mapping[str, str] | None = None
) -> tuple[Any, str]:
    """What a spec names, and the spec written out."""
    spec = Spec.read(text)
    if spec.name not in catalogue:
        raise unknown_name(kind, spec.name, catalogue)
    entry = catalogue[spec.name]
    what = f"option of {kind} {spec.name!r}"
    own = spec.named(entry.main, kind)
    made = with_options(entry.make(), what, {**(options or {}), **own})
    return made, spec.written_out(made, own)
