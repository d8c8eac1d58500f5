"""Defences: one file each, acting on an update or on local training."""

from seepage.defenses.defense import Defense, Gradients, Privacy
from seepage.defenses.dp_sgd import DPSGD
from seepage.defenses.gaussian_noise import GaussianNoise
from seepage.defenses.quantisation import Quantisation
from seepage.defenses.top_k import TopK
from seepage.defenses.undefended import Undefended

__all__ = ["DPSGD", "Defense", "GaussianNoise", "Gradients", "Privacy", "Quantisation", "TopK", "Undefended"]
