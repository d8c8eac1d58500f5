"""Defences by name."""

from __future__ import annotations

from functools import partial

from seepage.defenses import (
    DPSGD,
    Balanced,
    Epochs,
    FakeGradients,
    GaussianNoise,
    GradientClipping,
    GradientNoise,
    HiddenIds,
    IntermediateNoise,
    LabelSmoothing,
    PrivateMessages,
    Quantisation,
    RemappedIds,
    TopK,
    Undefended,
    WeightNoise,
)
from seepage.plans.part import Part

_UPDATES = ("rows", "vertical")
_CAFE = "Jin et al., CAFE: Catastrophic Data Leakage in Vertical Federated Learning, NeurIPS 2021"
_LI = "Li et al., Label leakage and protection in two-party split learning, ICLR 2022"
_BALLE = "Dwork and Roth, 2014; Balle and Wang, Improving the Gaussian Mechanism, ICML 2018"

DEFENSES = (
    Part(
        name="none",
        make=Undefended,
        works_on=("rows", "vertical", "property", "parties"),
        about="Everything is sent as it is.",
    ),
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
    Part(
        name="intermediate_noise",
        make=IntermediateNoise,
        works_on=("parties",),
        about="Guests add noise of this deviation to their intermediate results; no guarantee by itself.",
        main="deviation",
    ),
    Part(
        name="gradient_noise",
        make=GradientNoise,
        works_on=("parties",),
        about="The host adds noise to gradients, in units of their root mean square; no guarantee by itself.",
        paper=_LI,
        main="deviation",
    ),
    Part(
        name="gradient_clipping",
        make=GradientClipping,
        works_on=("parties",),
        about="The host shortens the gradient of every row to this norm; no guarantee.",
        main="norm",
    ),
    Part(
        name="label_smoothing",
        make=LabelSmoothing,
        works_on=("parties",),
        about="The host's loss spreads this share of every label over all classes; no guarantee.",
        main="share",
    ),
    Part(
        name="dp_intermediates",
        make=PrivateMessages,
        works_on=("parties",),
        about="Guests clip every row's intermediate results and add noise; epsilon of a row's own lines only.",
        paper=_BALLE,
        main="noise",
    ),
    Part(
        name="dp_gradients",
        make=partial(PrivateMessages, kind="gradients", clip=0.05),
        works_on=("parties",),
        about="The host clips every row's gradient and adds noise; epsilon of a row's own lines only.",
        paper=_BALLE,
        main="noise",
    ),
)
