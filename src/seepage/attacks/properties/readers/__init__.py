"""Networks that read networks: what a meta-model sees of a model's weights (the property-inference thesis, section
3.2.2).

All but the last give the same answer in whatever order a model's hidden neurons stand:

    deepsets    each layer is a set of neurons, as in the thesis
    paths       how the model's outputs answer to its inputs; ours
    joined      both of these side by side
    sorted      all weights in a row, neurons sorted first
    flat        all weights in a row
"""

from __future__ import annotations

from seepage.attacks.properties.readers.deepsets import DeepSets
from seepage.attacks.properties.readers.joined import Joined
from seepage.attacks.properties.readers.paths import PROBES, Paths
from seepage.attacks.properties.readers.reader import Parts, Reader, Standard, take
from seepage.attacks.properties.readers.rounds import Rounds
from seepage.attacks.properties.readers.weights import Flat, Sorted

READERS: dict[str, type[DeepSets] | type[Paths] | type[Joined] | type[Sorted] | type[Flat]] = {
    "deepsets": DeepSets,
    "paths": Paths,
    "joined": Joined,
    "sorted": Sorted,
    "flat": Flat,
}


__all__ = [
    "PROBES",
    "READERS",
    "DeepSets",
    "Flat",
    "Joined",
    "Parts",
    "Paths",
    "Reader",
    "Rounds",
    "Sorted",
    "Standard",
    "take",
]
