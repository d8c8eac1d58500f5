"""A module: the server sends an architecture of its own, with as many bins as it likes.

A client that runs whatever it is sent has no width that protects it. The module has one linear layer whose neurons fire
between two cuts (a hard tanh), so every bin is one neuron and nothing has to be subtracted. It stands in front of any
model: what the agreed model is does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from torch import nn

from seepage._core import InputError, Streams
from seepage.attacks.malicious.chains import Chain, make_chain
from seepage.attacks.malicious.features import plain_features
from seepage.attacks.malicious.head import Tag, make_tag, output_weights
from seepage.attacks.malicious.reading import read_rows
from seepage.attacks.malicious.trap import Trap, single
from seepage.models import Learner, Parameters
from seepage.observation import Claim
from seepage.observation.servers import Answer, ServerScene

OUT = 1e-6  # weight of a bin on the way out
CALM = 0.1  # the tag's largest input over public rows, where a hard tanh is a line
FEWEST, LARGEST = 64, 200_000


@dataclass(frozen=True, kw_only=True)
class Module:
    """One round; ``bins`` for each row behind the update, over three chains.

    Guarantees:
        As of :class:`Codes`.

    References:
        Fowl et al., Robbing the Fed, ICLR 2022 (the imprint module); Zhao et al., LOKI, IEEE S&P 2024.

    Example:
        >>> Module(bins=2.0).bins
        2.0
    """

    bins: float = 2.0
    chains: int = 3

    notices = (
        "The architecture is not the agreed one: its layers, names and sizes differ.",
        "No statistics are needed: comparing names and shapes with the agreed model shows it.",
    )

    def __post_init__(self) -> None:
        if not 0.1 <= self.bins <= 100 or not 1 <= self.chains <= 8:
            raise InputError(f"There are {self.bins:g} bins a row in {self.chains} chains; use 0.1 to 100, and 1 to 8.")

    def prepare(self, scene: ServerScene, streams: Streams) -> list[Trap]:
        """One model of the server's own architecture."""
        each = int(np.clip(self.bins * scene.exchange.rows, FEWEST, LARGEST)) // self.chains
        numeric = scene.space.layout.numeric
        chains = tuple(
            make_chain(scene.public, numeric, max(each, 2), streams.numpy("direction", number))
            for number in range(self.chains)
        )
        return [_crafted(scene, chains, make_tag(scene.public, numeric, streams.numpy("tag")))]

    def read(self, scene: ServerScene, traps: Sequence[Trap], answers: Sequence[Answer]) -> Claim:
        """Peel until nothing new is found."""
        return read_rows(scene, traps[:1], answers[:1])


def _crafted(scene: ServerScene, chains: tuple[Chain, ...], tag: Tag) -> Trap:
    width, bins = scene.public.shape[1], sum(chain.bins for chain in chains)
    outputs = scene.classes if scene.classes > 2 else 1
    module = nn.Sequential(nn.Linear(width, bins + 1), nn.Hardtanh(), nn.Linear(bins + 1, outputs))
    learner = Learner(module, scene.learner.task)
    weight, bias = np.zeros((bins + 1, width)), np.zeros(bins + 1)
    place = 0
    for chain in chains:
        own = slice(place, place + chain.bins)
        # From -1 at the lower cut to 1 at the upper one.
        middle, half = (chain.cuts[1:] + chain.cuts[:-1]) / 2, np.diff(chain.cuts) / 2
        weight[own], bias[own] = chain.direction / half[:, None], -middle / half
        place += chain.bins
    reach = CALM / float(np.abs(scene.public @ tag.direction).max() or 1.0)
    weight[-1] = tag.direction * reach
    moves, biases = output_weights(scene.learner.task, outputs)
    counted = np.full(bins + 1, OUT)
    counted[-1] = 1 / reach
    centre = float((scene.public @ tag.direction).mean())
    parameters = {"0.weight": weight, "0.bias": bias, "2.weight": moves[:, None] * counted}
    parameters["2.bias"] = biases - moves * centre
    features = plain_features(scene.space, scene.public)

    def sums(update: Parameters) -> tuple[np.ndarray, np.ndarray]:
        slopes = update["0.bias"].numpy()[:bins, None] / OUT
        inner = update["0.weight"].numpy()[:bins] / OUT - slopes * features.origin
        found = np.concatenate([slopes, inner], axis=1)
        return found, np.abs(found) + np.abs(slopes) * np.concatenate([[0.0], np.abs(features.origin)])

    return Trap(
        learner=replace(learner, module=module),
        parameters=single(parameters),
        chains=chains,
        features=features,
        sums=sums,
        rounding=8e-8,
    )
