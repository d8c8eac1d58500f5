"""Models, and the one functional core that clients and attackers share."""

from seepage.models.architecture import Architecture, make_learner
from seepage.models.ft_transformer import FTTransformer
from seepage.models.functional import Learner, Parameters, Traced, fitting_threads, record, scoped_randomness
from seepage.models.linear import Linear
from seepage.models.mlp import MLP, small_mlp, tableak_mlp
from seepage.models.resnet import ResNet
from seepage.models.tabnet import TabNet

__all__ = [
    "MLP",
    "Architecture",
    "FTTransformer",
    "Learner",
    "Linear",
    "Parameters",
    "ResNet",
    "TabNet",
    "Traced",
    "fitting_threads",
    "make_learner",
    "record",
    "scoped_randomness",
    "small_mlp",
    "tableak_mlp",
]
