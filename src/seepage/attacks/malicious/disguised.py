"""Disguised: an attacker that knows the client's checks hides a few cuts among neurons as training makes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seepage._core import InputError, NotApplicable, Streams
from seepage.attacks.malicious.chains import Chain, make_chain
from seepage.attacks.malicious.features import plain_features
from seepage.attacks.malicious.layers import dense_layers
from seepage.attacks.malicious.reading import read_rows
from seepage.attacks.malicious.trap import Trap, single
from seepage.data import Layout
from seepage.models import Parameters
from seepage.observation import Claim
from seepage.observation.servers import Answer, ServerScene

UNEVEN = (0.8, 1.25)  # sizes of the cuts' weights beside the others'


@dataclass(frozen=True, kw_only=True)
class Disguised:
    """As :class:`Bins`, but only a share of the neurons cut; sizes, biases and directions are as they were drawn.

    The fewer neurons cut, the less is seen, and the less is read.

    Args:
        share: of the first layer's neurons that cut.

    References:
        An attacker that adapts to the checks of ``defenses/received.py``; Seepage's own.

    Example:
        >>> Disguised(share=0.1).share
        0.1
    """

    share: float = 0.2

    several_rounds = False
    notices = (
        "Weights tell nothing: sizes, biases and directions are as training makes them.",
        "On the client's own rows some neurons say the same, up to a constant; they have the same way out.",
    )

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise InputError(f"The share of neurons that cut is {self.share:g}; it is above 0 and at most 1.")

    def prepare(self, scene: ServerScene, streams: Streams) -> list[Trap]:
        """One model: the one that is agreed, with some neurons exchanged."""
        dense = dense_layers(scene.learner)
        cuts = int(self.share * dense.widths[1])
        if not scene.space.layout.sizes or scene.space.standardised:
            raise NotApplicable("Cuts are hidden in the weights of one-hot categories, which this model does not have.")
        if cuts < 3:
            raise NotApplicable(f"{self.share:.0%} of {dense.widths[1]} neurons are {cuts}; bins need at least 3.")
        generator = streams.numpy("direction")
        chain = make_chain(scene.public, scene.space.layout.numeric, cuts - 1, generator)
        own = {name: value.double().numpy() for name, value in scene.learner.initial().items()}
        first, second = dense.names[:2]
        weight, bias, out = own[f"{first}.weight"], own[f"{first}.bias"], own[f"{second}.weight"]
        chosen = generator.permutation(dense.widths[1])[:cuts]
        size = float(np.median(np.linalg.norm(weight, axis=1)))
        hidden = _hidden(chain, scene.space.layout, generator)
        sizes = size * generator.uniform(*UNEVEN, cuts) / np.linalg.norm(hidden, axis=1)
        # Each block of categories adds up to 1, so a bias may stand in the weights of the categories.
        blocks = len(scene.space.layout.sizes)
        weight[chosen] = sizes[:, None] * hidden
        weight[chosen, scene.space.layout.numeric :] -= (bias[chosen] / blocks)[:, None]
        out[:, chosen] = out[:, chosen[:1]]
        features = plain_features(scene.space, scene.public)

        def sums(update: Parameters) -> tuple[np.ndarray, np.ndarray]:
            slopes = update[f"{first}.bias"].numpy()[chosen, None]
            whole = np.concatenate([slopes, update[f"{first}.weight"].numpy()[chosen] - slopes * features.origin], 1)
            return whole[:-1] - whole[1:], np.maximum.accumulate(np.abs(whole)[::-1])[::-1][:-1]

        return [
            Trap(
                learner=scene.learner,
                parameters=single(own),
                chains=(chain,),
                features=features,
                sums=sums,
                rounding=3e-7,
                tagged=False,
            )
        ]

    def read(self, scene: ServerScene, traps: Sequence[Trap], answers: Sequence[Answer]) -> Claim:
        """Rows that are alone in their bins."""
        return read_rows(scene, traps[:1], answers[:1])


def _hidden(chain: Chain, layout: Layout, generator: np.random.Generator) -> np.ndarray:
    """(cuts, width) neurons that cut without a bias, each with another direction.

    What is added to all categories of one column and taken off those of another changes nothing for a row.
    """
    ends = np.where(np.isfinite(chain.cuts), chain.cuts, 0.0)
    neurons = np.tile(chain.direction, (len(ends), 1))
    spread = float(np.abs(chain.direction).mean()) + float(np.abs(ends[1:-1]).max(initial=0.0)) / len(layout.sizes)
    noise = 2 * spread * generator.normal(size=(len(ends), len(layout.sizes)))
    noise -= noise.mean(1, keepdims=True)
    for number, block in enumerate(layout.blocks):
        neurons[:, block] += (noise[:, number] - np.clip(ends, ends[1], ends[-2]) / len(layout.sizes))[:, None]
    return neurons
