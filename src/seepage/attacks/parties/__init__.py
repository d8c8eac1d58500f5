"""What parties of vertical learning read of each other in the messages that they are sent."""

from seepage.attacks.parties.as_sent import AsSent
from seepage.attacks.parties.attack import ColumnsAttack, LabelsAttack, PartyAttack
from seepage.attacks.parties.equality_solving import EqualitySolving
from seepage.attacks.parties.generative_regression import GenerativeRegression
from seepage.attacks.parties.gradient_clusters import GradientClusters
from seepage.attacks.parties.gradient_completion import GradientCompletion
from seepage.attacks.parties.gradient_direction import GradientDirection
from seepage.attacks.parties.gradient_norm import GradientNorm
from seepage.attacks.parties.known_rows import KnownRows
from seepage.attacks.parties.model_completion import ModelCompletion
from seepage.attacks.parties.zeros_and_ones import ZerosAndOnes

__all__ = [
    "AsSent",
    "ColumnsAttack",
    "EqualitySolving",
    "GenerativeRegression",
    "GradientClusters",
    "GradientCompletion",
    "GradientDirection",
    "GradientNorm",
    "KnownRows",
    "LabelsAttack",
    "ModelCompletion",
    "PartyAttack",
    "ZerosAndOnes",
]
