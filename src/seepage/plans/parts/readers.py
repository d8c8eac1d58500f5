"""Readers of models, losses of meta-models, and designs of vertical training, by name."""

from __future__ import annotations

from functools import partial

from seepage.attacks.properties.losses import LOSSES as LOSS_CLASSES
from seepage.attacks.properties.readers import READERS as READER_CLASSES
from seepage.federation.vertical import DESIGNS as DESIGN_MAKERS
from seepage.plans.part import Part

_THESIS = "the property-inference thesis"
_READERS = {
    "deepsets": ("Each layer is a set of neurons; each weight stays with its neuron.", "Ganju et al., CCS 2018"),
    "deepsets_thesis": (
        "Deep Sets as published: sums, and the neurons of the layer before in a list.",
        "Ganju et al., CCS 2018; " + _THESIS,
    ),
    "paths": ("How the model's outputs answer to its inputs.", "Seepage"),
    "joined": ("`deepsets` and `paths` side by side.", "Seepage"),
    "sorted": ("All weights in a row, neurons sorted first.", "Ganju et al., CCS 2018"),
    "flat": ("All weights in a row; for models whose neurons nobody shuffled.", ""),
}
_LOSSES = {
    "nll": ("Classes without an order.", _THESIS),
    "interval": ("The middle of a range, as a number.", _THESIS),
    "sor": ("Simple ordinal regression.", _THESIS),
    "coral": ("Ordered thresholds with one set of weights.", "Cao et al., 2020; " + _THESIS),
    "corn": ("Ordered thresholds, each on those above the last.", "Shi et al., 2023; " + _THESIS),
    "share": ("The share itself, with an interval.", "Seepage"),
}
_DESIGNS = {
    "central": ("One TabNet that sees all columns.", "Arik and Pfister, AAAI 2021"),
    "local": ("A TabNet at every guest, without the others' columns.", "TabVFL"),
    "local_encoders": ("Encoders at the guests, one latent at the host.", "TabVFL-LE"),
    "tabvfl": ("Square layers at the guests, TabNet at the host.", "TabVFL"),
    "tabvfl_without_fc": ("TabVFL without the square layers.", "TabVFL, ablation"),
    "guest_decoders": ("TabVFL with decoders at the guests.", "TabVFL, ablation"),
}

READERS = tuple(
    Part(name=name, make=made, works_on=("property",), about=_READERS[name][0], paper=_READERS[name][1])
    for name, made in READER_CLASSES.items()
)
LOSSES = tuple(
    Part(name=name, make=partial(str, name), works_on=("property",), about=_LOSSES[name][0], paper=_LOSSES[name][1])
    for name in LOSS_CLASSES
)
DESIGNS = tuple(
    Part(
        name=name,
        make=partial(str, name),
        works_on=("training",) if name == "central" else ("training", "parties"),
        about=_DESIGNS[name][0],
        paper=_DESIGNS[name][1],
    )
    for name in DESIGN_MAKERS
)
