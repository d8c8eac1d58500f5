"""Models by name."""

from __future__ import annotations

from seepage.models import FTTransformer, Linear, ResNet, TabNet, small_mlp, tableak_mlp
from seepage.models.quadrants import QuadrantNet
from seepage.plans.part import Part

_BOTH = ("rows", "vertical", "servers")
_STUDY = "Nilsson et al., Profiling privacy preservation, 2026 (the profiling study)"

MODELS = (
    Part(name="mlp", make=small_mlp, works_on=_BOTH, about="2 x 32, LayerNorm, GELU.", paper=_STUDY),
    Part(
        name="mlp_tableak",
        make=tableak_mlp,
        works_on=_BOTH,
        about="100-100, ReLU, two outputs.",
        paper="Vero et al., Data Leakage in Tabular Federated Learning, 2022 (TabLeak)",
    ),
    Part(name="resnet", make=ResNet, works_on=_BOTH, about="2 blocks of 192.", paper=_STUDY),
    Part(name="ft_transformer", make=FTTransformer, works_on=_BOTH, about="2 blocks of 128, 4 heads.", paper=_STUDY),
    Part(
        name="tabnet",
        make=TabNet,
        works_on=_BOTH,
        about="8 + 8 wide, 3 steps.",
        paper="Arik and Pfister, TabNet: Attentive Interpretable Tabular Learning, AAAI 2021",
    ),
    Part(
        name="quadrants",
        make=QuadrantNet,
        works_on=("vertical",),
        about="A convolution for each worker's part of a picture of 28 x 28, then fully connected layers.",
        paper="Jin et al., CAFE: Catastrophic Data Leakage in Vertical Federated Learning, NeurIPS 2021",
    ),
    Part(name="linear", make=Linear, works_on=_BOTH, about="Logistic or linear regression."),
)
