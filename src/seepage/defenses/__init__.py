"""Defences: one file each, one protocol; each does something at one place of training or at several."""

from seepage.defenses.balanced import Balanced
from seepage.defenses.defense import Defense, Gradients, Privacy
from seepage.defenses.dp_fedavg import DPFedAvg
from seepage.defenses.dp_sgd import DPSGD
from seepage.defenses.epochs import Epochs
from seepage.defenses.fake_gradients import FakeGradients
from seepage.defenses.first_layer_withheld import FirstLayerWithheld
from seepage.defenses.gaussian_noise import GaussianNoise
from seepage.defenses.gradient_clipping import GradientClipping
from seepage.defenses.gradient_pruning import GradientPruning
from seepage.defenses.hidden_ids import HiddenIds
from seepage.defenses.label_smoothing import LabelSmoothing
from seepage.defenses.local_dp import LocalDP
from seepage.defenses.message_noise import GradientNoise, IntermediateNoise
from seepage.defenses.mixup import Mixup
from seepage.defenses.precode import Precode
from seepage.defenses.private_messages import PrivateMessages
from seepage.defenses.quantisation import Quantisation
from seepage.defenses.random_k import RandomK
from seepage.defenses.remapped_ids import RemappedIds
from seepage.defenses.rounding import Rounding
from seepage.defenses.soteria import Soteria
from seepage.defenses.top_k import TopK
from seepage.defenses.undefended import Undefended
from seepage.defenses.update_clipping import UpdateClipping
from seepage.defenses.weight_noise import WeightNoise

__all__ = [
    "DPSGD",
    "Balanced",
    "DPFedAvg",
    "Defense",
    "Epochs",
    "FakeGradients",
    "FirstLayerWithheld",
    "GaussianNoise",
    "GradientClipping",
    "GradientNoise",
    "GradientPruning",
    "Gradients",
    "HiddenIds",
    "IntermediateNoise",
    "LabelSmoothing",
    "LocalDP",
    "Mixup",
    "Precode",
    "Privacy",
    "PrivateMessages",
    "Quantisation",
    "RandomK",
    "RemappedIds",
    "Rounding",
    "Soteria",
    "TopK",
    "Undefended",
    "UpdateClipping",
    "WeightNoise",
]
