"""Disguised: an attacker that knows the client's checks hides a few cuts among neurons as training makes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seepage._core import InputError, NotApplicable, Streams
from seepage.attacks.malicious.chains import make_chain
from seepage.attacks.malicious.features import plain_features
from seepage.attacks.malicious.layers import dense_layers
from seepage.attacks.malicious.reading import read_rows
from seepage.attacks.malicious.trap import Trap, single
from seepage.models import Parameters
from seepage.observation import Claim
from seepage.observation.servers import Answer, ServerScene

UNEVEN = (0.8, 1.25)  # sizes of the cuts' weights beside the others'


@dataclass(frozen=True, kw_only=True)
class Disguised:
    """As :class:`Bins`, but only a share of the neurons cut; sizes and all other weights are as they were drawn.

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
        "Some neurons of the first layer have the same direction and the same way out; all others are as training "
        "makes them.",
        "Sizes and zeros tell nothing; counting on the client's own rows does, where many cuts are used.",
    )

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise InputError(f"The share of neurons that cut is {self.share:g}; it is above 0 and at most 1.")

    def prepare(self, scene: ServerScene, streams: Streams) -> list[Trap]:
        """One model: the one that is agreed, with some neurons exchanged."""
        dense = dense_layers(scene.learner)
        cuts = int(self.share * dense.widths[1])
        if cuts < 3:
            raise NotApplicable(f"{self.share:.0%} of {dense.widths[1]} neurons are {cuts}; bins need at least 3.")
        generator = streams.numpy("direction")
        chain = make_chain(scene.public, scene.space.layout.numeric, cuts - 1, generator)
        own = {name: value.double().numpy() for name, value in scene.learner.initial().items()}
        first, second = dense.names[:2]
        weight, bias, out = own[f"{first}.weight"], own[f"{first}.bias"], own[f"{second}.weight"]
        chosen = generator.permutation(dense.widths[1])[:cuts]
        size = float(np.median(np.linalg.norm(weight, axis=1))) / float(np.linalg.norm(chain.direction))
        sizes = size * generator.uniform(*UNEVEN, cuts)
        # Not as far out as in other attacks: a large bias would be seen.
        ends = np.quantile(scene.public @ chain.direction, (0.0, 1.0))
        weight[chosen] = sizes[:, None] * chain.direction
        bias[chosen] = -sizes * np.clip(chain.cuts, ends[0] - 1, ends[1] + 1)
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
