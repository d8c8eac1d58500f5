"""Cuts in the first layer: neuron k sums the rows beyond cut k, and neighbours differ by one bin.

All neurons of a chain have one direction, all have the same way out, so a row's slope is the same in each that it
fires. A bin with one row gives the row: the difference of two weight gradients over that of the bias gradients. It
works for one hidden layer or more. The difference of two long sums loses digits, so numbers are read to about 1e-5 of
their deviation.

References:
    Fowl et al., Robbing the Fed, ICLR 2022; Boenisch et al., When the Curious Abandon Honesty, EuroS&P 2023.
"""

from __future__ import annotations

import numpy as np

from seepage.attacks.malicious.chains import Chain
from seepage.attacks.malicious.features import Features, plain_features
from seepage.attacks.malicious.head import Tag, finish
from seepage.attacks.malicious.layers import dense_layers
from seepage.attacks.malicious.trap import Sums, Trap, single
from seepage.models import Parameters
from seepage.observation.servers import ServerScene

FIRST, OUT = 1e-3, 1e-4  # sizes of the weights: small, so that local steps hardly move them


def room(scene: ServerScene) -> int:
    """Neurons for cuts."""
    return dense_layers(scene.learner).widths[1] - 1


def craft(scene: ServerScene, chains: tuple[Chain, ...], tag: Tag | None) -> Trap:
    """A model whose first layer cuts along these chains."""
    dense = dense_layers(scene.learner)
    inputs, width = dense.widths[:2]
    weight, bias, counted = np.zeros((width, inputs)), np.zeros(width), np.zeros(width)
    # Neurons that are not needed never fire.
    bias[:] = -1.0
    place = 0
    for chain in chains:
        own = slice(place, place + chain.bins + 1)
        weight[own], bias[own] = FIRST * chain.direction, -FIRST * chain.cuts
        counted[own] = OUT
        place += chain.bins + 1
    if tag is not None:
        weight[place], bias[place], counted[place] = tag.direction, tag.offset, 1.0
    parameters = {f"{dense.names[0]}.weight": weight, f"{dense.names[0]}.bias": bias}
    finish(parameters, dense, 0, counted, tag, scene.learner.task)
    features = plain_features(scene.space, scene.public)
    return Trap(
        learner=scene.learner,
        parameters=single(parameters),
        chains=chains,
        features=features,
        sums=_differences(dense.names[0], chains, features),
        rounding=3e-7,
    )


def _differences(name: str, chains: tuple[Chain, ...], features: Features) -> Sums:
    def sums(update: Parameters) -> tuple[np.ndarray, np.ndarray]:
        slopes = update[f"{name}.bias"].numpy()[:, None] / OUT
        whole = np.concatenate([slopes, update[f"{name}.weight"].numpy() / OUT - slopes * features.origin], axis=1)
        parts, sizes, place = [], [], 0
        for chain in chains:
            own = whole[place : place + chain.bins + 1]
            parts.append(own[:-1] - own[1:])
            sizes.append(np.maximum.accumulate(np.abs(own)[::-1])[::-1][:-1])
            place += chain.bins + 1
        return np.concatenate(parts), np.concatenate(sizes)

    return sums
