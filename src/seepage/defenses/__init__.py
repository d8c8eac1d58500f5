"""Defences: one file each, one protocol; each does something at one place of training or at several."""

from seepage.defenses.balanced import Balanced
from seepage.defenses.defense import Defense, Gradients, Privacy
from seepage.defenses.dp_sgd import DPSGD
from seepage.defenses.epochs import Epochs
from seepage.defenses.fake_gradients import FakeGradients
from seepage.defenses.gaussian_noise import GaussianNoise
from seepage.defenses.gradient_clipping import GradientClipping
from seepage.defenses.hidden_ids import HiddenIds
from seepage.defenses.label_smoothing import LabelSmoothing
from seepage.defenses.message_noise import GradientNoise, IntermediateNoise
from seepage.defenses.private_messages import PrivateMessages
from seepage.defenses.quantisation import Quantisation
from seepage.defenses.remapped_ids import RemappedIds
from seepage.defenses.top_k import TopK
from seepage.defenses.undefended import Undefended
from seepage.defenses.weight_noise import WeightNoise

__all__ = [
    "DPSGD",
    "Balanced",
    "Defense",
    "Epochs",
    "FakeGradients",
    "GaussianNoise",
    "GradientClipping",
    "GradientNoise",
    "Gradients",
    "HiddenIds",
    "IntermediateNoise",
    "LabelSmoothing",
    "Privacy",
    "PrivateMessages",
    "Quantisation",
    "RemappedIds",
    "TopK",
    "Undefended",
    "WeightNoise",
]
