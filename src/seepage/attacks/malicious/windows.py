"""Bins in the second layer: its neuron j fires for the rows between two cuts of the first, and for no others.

The first layer hands over the inputs themselves, ramps over numbers, and the cuts. The gradient of second-layer neuron
j is then the sum over the rows of bin j of slope times all of these: nothing has to be subtracted, so single precision
is enough for whole numbers of six digits. The weights from inputs and ramps to the bins are zero, so a change of the
parameters (FedAvg) shows them without rounding, and local steps move the cuts by almost nothing.

References:
    Wen et al., Fishing for User Data, ICML 2022, and Pasquini et al., CCS 2022, for later layers as a gate. The ramps,
    and reading the second layer's gradient with inputs handed through, are Seepage's own.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from seepage._core import NotApplicable
from seepage.attacks.malicious.chains import Chain
from seepage.attacks.malicious.features import Features, ramped_features
from seepage.attacks.malicious.head import Tag, finish
from seepage.attacks.malicious.layers import dense_layers
from seepage.attacks.malicious.trap import Trap, single
from seepage.models import Parameters
from seepage.observation.servers import ServerScene

# Sizes of the weights: the way out is so narrow that a local step does not open a bin to other rows.
FIRST, SECOND, OUT = 1e-6, 1e-6, 1e-15
SHUT = 1e6  # how much more strongly the upper cut closes a bin than the lower one opens it
GAP = {"fedsgd": 1e-4, "fedavg": 0.02}  # share of a bin above its lower cut where it is still shut


def room(scene: ServerScene) -> int:
    """Neurons for cuts; below 1 if the model is too narrow or has one hidden layer only."""
    dense = dense_layers(scene.learner)
    if dense.hidden < 2:
        return 0
    taken = ramped_features(scene.space, scene.public).count + 2  # the tag, and a neuron that is always 1
    return min(dense.widths[1] - taken, dense.widths[2] - 1)


def craft(scene: ServerScene, chains: tuple[Chain, ...], tag: Tag | None) -> Trap:
    """A model whose second layer has a neuron for each bin."""
    dense = dense_layers(scene.learner)
    if room(scene) < sum(chain.bins + 1 for chain in chains):
        raise NotApplicable(f"The model has room for {max(room(scene), 0)} cuts, which are too few for these bins.")
    features = as_sent(ramped_features(scene.space, scene.public))
    inputs, width, second = dense.widths[:3]
    first, first_bias = _handed_through(features, inputs, width)
    place = features.count
    gate, gate_bias, counted = np.zeros((second, width)), np.full(second, -1.0), np.zeros(second)
    if tag is not None:
        first[place], first_bias[place] = tag.direction, tag.offset
        gate[-1, place], gate_bias[-1], counted[-1] = 1.0, 0.0, 1.0
    # A neuron that is always on: its weights to the bins are zero, so a change of them is not rounded as a bias is.
    one, place, bin_, gap = place + 1, place + 2, 0, GAP[scene.exchange.protocol]
    first_bias[one] = FIRST
    for chain in chains:
        cuts = np.arange(place, place + chain.bins + 1)
        first[cuts], first_bias[cuts] = FIRST * chain.direction, -FIRST * chain.cuts
        bins = np.arange(bin_, bin_ + chain.bins)
        gate[bins, cuts[:-1]], gate[bins, cuts[1:]] = SECOND, -SHUT * SECOND
        gate_bias[bins] = -SECOND * FIRST * gap * np.minimum(np.diff(chain.cuts), 1.0)
        counted[bins] = OUT
        place, bin_ = place + chain.bins + 1, bin_ + chain.bins
    names = dense.names
    parameters = {f"{names[0]}.weight": first, f"{names[0]}.bias": first_bias}
    parameters |= {f"{names[1]}.weight": gate, f"{names[1]}.bias": gate_bias}
    finish(parameters, dense, 1, counted, tag, scene.learner.task)

    def sums(update: Parameters) -> tuple[np.ndarray, np.ndarray]:
        slopes = update[f"{names[1]}.weight"].numpy()[:bin_, [one]] / (OUT * FIRST)
        inner = update[f"{names[1]}.weight"].numpy()[:bin_, : features.count] / (OUT * FIRST)
        found = np.concatenate([slopes, inner], axis=1)
        # A height above a start is the difference of two larger numbers, and rounded as these.
        starts = np.concatenate([[0.0], np.abs(features.origin), np.abs(features.heights)])
        return found, np.abs(found) + np.abs(slopes) * starts

    return Trap(
        learner=scene.learner,
        parameters=single(parameters),
        chains=chains,
        features=features,
        sums=sums,
        rounding=8e-8,
    )


def as_sent(features: Features) -> Features:
    """The origins and heights that single precision leaves of them."""

    def rounded(values: np.ndarray) -> np.ndarray:
        return np.asarray(np.float32(FIRST * values).astype(np.float64) / np.float64(np.float32(FIRST)))

    return replace(features, origin=rounded(features.origin), heights=rounded(features.heights))


def _handed_through(features: Features, inputs: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """First-layer neurons that hand the inputs and the ramps on; the others never fire."""
    first, bias = np.zeros((width, inputs)), np.full(width, -1.0)
    own = np.arange(inputs)
    first[own, own], bias[own] = FIRST, -FIRST * features.origin
    ramps = inputs + np.arange(len(features.heights))
    first[ramps, features.columns], bias[ramps] = FIRST, -FIRST * features.heights
    return first, bias
