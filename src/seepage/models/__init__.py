"""Models, and the one functional core that clients and attackers share."""

from seepage.models.architecture import Architecture, Arranged, make_learner
from seepage.models.entrance import Tokens, number_part, tokens_of
from seepage.models.entry import Entry
from seepage.models.factors import (
    Factors,
    activations,
    factored_gradient,
    has_input_path,
    layer_inputs,
    layer_outputs,
    layer_slopes,
    linear_calls,
    parameter_name,
)
from seepage.models.foreign import Foreign, Inputs, as_architecture
from seepage.models.ft_transformer import FTTransformer
from seepage.models.functional import (
    Learner,
    Parameters,
    fitting_threads,
    over_runs,
    pullback,
    scoped_randomness,
    unflattened,
)
from seepage.models.linear import Linear
from seepage.models.local import LocalTraining, Response, response
from seepage.models.mlp import MLP, small_mlp, tableak_mlp
from seepage.models.passes import as_layers, has_passes, passes_of
from seepage.models.plain_norm import twice_differentiable
from seepage.models.resnet import ResNet
from seepage.models.soft_codes import CodeEntry, spare_rows
from seepage.models.tabnet import TabNet
from seepage.models.traced import Traced, record
from seepage.models.trial import loop_seconds

__all__ = [
    "MLP",
    "Architecture",
    "Arranged",
    "CodeEntry",
    "Entry",
    "FTTransformer",
    "Factors",
    "Foreign",
    "Inputs",
    "Learner",
    "Linear",
    "LocalTraining",
    "Parameters",
    "ResNet",
    "Response",
    "TabNet",
    "Tokens",
    "Traced",
    "activations",
    "as_architecture",
    "as_layers",
    "factored_gradient",
    "fitting_threads",
    "has_input_path",
    "has_passes",
    "layer_inputs",
    "layer_outputs",
    "layer_slopes",
    "linear_calls",
    "loop_seconds",
    "make_learner",
    "number_part",
    "over_runs",
    "parameter_name",
    "passes_of",
    "pullback",
    "record",
    "response",
    "scoped_randomness",
    "small_mlp",
    "spare_rows",
    "tableak_mlp",
    "tokens_of",
    "twice_differentiable",
    "unflattened",
]
