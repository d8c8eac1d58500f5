"""Attacks of the parties of vertical training on each other, by name."""

from __future__ import annotations

from functools import partial

from seepage.attacks import parties
from seepage.plans.part import Part

_part = partial(Part, works_on=("parties",))
_SENT = "what a guest sent after training"
_GRADIENTS = "the gradients that a guest got while fine-tuning"
_LUO = "Luo et al., Feature Inference Attack on Model Predictions in Vertical Federated Learning, ICDE 2021"
_LI = "Li et al., Label leakage and protection in two-party split learning, ICLR 2022"
_FU = "Fu et al., Label Inference Attacks Against Vertical Federated Learning, USENIX Security 2022"

PARTIES = (
    _part(
        name="as_sent",
        make=parties.AsSent,
        about="The host takes a guest's intermediate results for its columns. A default.",
        needs=_SENT,
        paper="TabVFL",
    ),
    _part(
        name="known_rows",
        make=parties.KnownRows,
        about="The host fits the way back from intermediate results to columns to rows that it knows. A default.",
        needs=f"{_SENT}; some of the guest's rows",
        paper="Seepage",
    ),
    _part(
        name="zeros_and_ones",
        make=parties.ZerosAndOnes,
        about="The host finds a guest's categories as vectors of zeros and ones, without a known row. A default.",
        needs=_SENT,
        paper="Seepage",
    ),
    _part(
        name="equality_solving",
        make=parties.EqualitySolving,
        about="The host solves a guest's own equations for its columns.",
        needs=f"{_SENT}; the guest's weights",
        paper="after " + _LUO,
    ),
    _part(
        name="generative_regression",
        make=parties.GenerativeRegression,
        about="The host trains a network to make up a guest's columns until the model answers as it did.",
        needs="predictions, or what a guest sent; the weights of all parties",
        paper=_LUO,
        main="match",
    ),
    _part(
        name="gradient_norm",
        make=parties.GradientNorm,
        about="A guest takes rows with long gradients for the rarer of two classes. A default.",
        needs=f"{_GRADIENTS}; which class is rarer",
        paper=_LI,
    ),
    _part(
        name="gradient_direction",
        make=parties.GradientDirection,
        about="A guest takes the side to which fewer gradients point for the rarer of two classes. A default.",
        needs=f"{_GRADIENTS}; which class is rarer",
        paper=_LI,
    ),
    _part(
        name="gradient_clusters",
        make=parties.GradientClusters,
        about="A guest groups rows by their gradients and names groups by their sizes: no label is known. A default.",
        needs=f"{_GRADIENTS}; how frequent the classes are",
        paper="after Jiang et al., LEA: Label Enumeration Attack in Vertical Federated Learning, 2026",
    ),
    _part(
        name="model_completion",
        make=parties.ModelCompletion,
        about="A guest puts a head on its own trained part with a few labels. A default.",
        needs="its own trained weights; a few labels",
        paper=_FU,
    ),
    _part(
        name="gradient_completion",
        make=parties.GradientCompletion,
        about="A guest learns from a few labels what their gradients look like. A default.",
        needs=f"{_GRADIENTS}; a few labels",
        paper="Seepage",
    ),
)
