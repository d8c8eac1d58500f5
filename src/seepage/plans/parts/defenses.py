"""Defences by name."""

from __future__ import annotations

from seepage.defenses import (
    DPSGD,
    Balanced,
    Epochs,
    FakeGradients,
    GaussianNoise,
    HiddenIds,
    Quantisation,
    RemappedIds,
    TopK,
    Undefended,
    WeightNoise,
)
from seepage.plans.part import Part

_UPDATES = ("rows", "vertical")
_CAFE = "Jin et al., CAFE: Catastrophic Data Leakage in Vertical Federated Learning, NeurIPS 2021"

DEFENSES = (
    Part(name="none", make=Undefended, works_on=("rows", "vertical", "property"), about="Everything is sent as it is."),
    Part(
        name="gaussian_noise",
        make=GaussianNoise,
        works_on=_UPDATES,
        about="Noise of this deviation on every entry of the update; no guarantee by itself.",
        paper="Vero et al., Data Leakage in Tabular Federated Learning, 2022 (TabLeak)",
        main="deviation",
    ),
    Part(
        name="dp_sgd",
        make=DPSGD,
        works_on=("rows", "vertical", "property"),
        about="Every row's gradient is clipped and noise is added, in each local step; states epsilon per client.",
        paper="Abadi et al., Deep Learning with Differential Privacy, CCS 2016",
        main="noise",
    ),
    Part(
        name="top_k",
        make=TopK,
        works_on=_UPDATES,
        about="Only this share of the entries is sent, the largest ones.",
        paper="Lin et al., Deep Gradient Compression, ICLR 2018",
        main="share",
    ),
    Part(
        name="quantisation",
        make=Quantisation,
        works_on=_UPDATES,
        about="Every entry is sent with this many bits; 1 is the sign with the tensor's mean magnitude.",
        paper="Alistarh et al., QSGD, NeurIPS 2017; Bernstein et al., signSGD, ICML 2018",
        main="bits",
    ),
    Part(
        name="fake_gradients",
        make=FakeGradients,
        works_on=("vertical",),
        about="Sorted normal numbers in the order of the true gradient.",
        paper=_CAFE,
        main="deviation",
    ),
    Part(
        name="hidden_ids",
        make=HiddenIds,
        works_on=("vertical",),
        about="The server does not learn which rows are in a batch.",
        paper=_CAFE,
    ),
    Part(
        name="remapped_ids",
        make=RemappedIds,
        works_on=("vertical",),
        about="The workers renumber people once, in secret.",
        paper=_CAFE,
    ),
    Part(
        name="epochs",
        make=Epochs,
        works_on=("property",),
        about="The owner of a model trains for so many epochs.",
        main="epochs",
    ),
    Part(
        name="weight_noise",
        make=WeightNoise,
        works_on=("property",),
        about="Normal noise of this deviation, in deviations of each layer's weights, is added to a model.",
        main="deviation",
    ),
    Part(
        name="balanced",
        make=Balanced,
        works_on=("property",),
        about="The owner trains on a part of its rows, drawn so that the property's share in it is always the same.",
        main="share",
    ),
)
