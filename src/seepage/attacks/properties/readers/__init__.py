"""Networks that read networks: what a meta-model sees of a model's weights (the property-inference thesis, section
3.2.2).

The first four give the same answer in whatever order a model's hidden neurons stand:

    deepsets         each layer is a set of neurons, each weight stays with the neuron it comes from
    paths            how the model's outputs answer to its inputs; ours
    joined           both of these side by side
    sorted           all weights in a row, neurons sorted first
    deepsets_thesis  Deep Sets as the thesis has them: later layers see the neurons before them in a list
    flat             all weights in a row
"""

from __future__ import annotations

from seepage.attacks.properties.readers.deepsets import DeepSets
from seepage.attacks.properties.readers.joined import Joined
from seepage.attacks.properties.readers.listed import ListedSets
from seepage.attacks.properties.readers.paths import PROBES, Paths
from seepage.attacks.properties.readers.reader import Parts, Reader, Standard, take
from seepage.attacks.properties.readers.rounds import Rounds
from seepage.attacks.properties.readers.weights import Flat, Sorted

READERS: dict[str, type[DeepSets] | type[ListedSets] | type[Paths] | type[Joined] | type[Sorted] | type[Flat]] = {
    "deepsets": DeepSets,
    "deepsets_thesis": ListedSets,
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
    "ListedSets",
    "Parts",
    "Paths",
    "Reader",
    "Rounds",
    "Sorted",
    "Standard",
    "take",
]
