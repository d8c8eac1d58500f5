"""A module: the server sends an architecture of its own, with as many bins as it likes.

A client that runs whatever it is sent has no width that protects it. The module opens a linear layer of zeros for each
bin to the rows between its two cuts: the layer's gradient is the sum of the bin's rows, nothing has to be subtracted,
and local steps do not move the cuts, for they have no gradient. It takes the place of any model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from seepage._core import InputError, Streams
from seepage.attacks.malicious.chains import Chain, make_chain
from seepage.attacks.malicious.features import plain_features
from seepage.attacks.malicious.head import Tag, make_tag, output_weights
from seepage.attacks.malicious.reading import read_rows
from seepage.attacks.malicious.trap import Trap, single
from seepage.models import Learner, Parameters
from seepage.observation import Claim
from seepage.observation.servers import Answer, ServerScene

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

    several_rounds = False
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
        return [_crafted(scene, chains, make_tag(scene, streams.numpy("tag")))]

    def read(self, scene: ServerScene, traps: Sequence[Trap], answers: Sequence[Answer]) -> Claim:
        """Peel until nothing new is found."""
        return read_rows(scene, traps[:1], answers[:1])


class OpenBins(nn.Module):
    """For each bin a linear layer that only rows between its cuts go through; the outputs are a fixed mix of all."""

    moves: Tensor

    def __init__(self, width: int, bins: int, moves: np.ndarray) -> None:
        super().__init__()
        self.cuts, self.inner = nn.Linear(width, bins), nn.Linear(width, bins)
        self.tag, self.bias = nn.Linear(width, 1), nn.Parameter(torch.zeros(len(moves)))
        self.register_buffer("moves", torch.from_numpy(moves).float())

    def forward(self, x: Tensor) -> Tensor:
        inside = (self.cuts(x).detach().abs() <= 1).to(x.dtype)
        level = (inside * self.inner(x)).sum(-1, keepdim=True) + self.tag(x).detach()
        outputs: Tensor = level * self.moves + self.bias
        return outputs


def _crafted(scene: ServerScene, chains: tuple[Chain, ...], tag: Tag | None) -> Trap:
    width, bins = scene.public.shape[1], sum(chain.bins for chain in chains)
    moves, biases = output_weights(scene.learner.task, scene.classes if scene.classes > 2 else 1)
    learner = Learner(OpenBins(width, bins, moves), scene.learner.task)
    parameters = {name: value.double().numpy() * 0.0 for name, value in learner.initial().items()}
    # From -1 at the lower cut to 1 at the upper one.
    middles = [(chain.cuts[1:] + chain.cuts[:-1]) / 2 for chain in chains]
    halves = [np.diff(chain.cuts) / 2 for chain in chains]
    parameters["cuts.weight"] = np.concatenate(
        [chain.direction / half[:, None] for chain, half in zip(chains, halves, strict=True)]
    )
    parameters["cuts.bias"] = -np.concatenate(middles) / np.concatenate(halves)
    parameters["bias"] = biases
    if tag is not None:
        parameters["tag.weight"], parameters["tag.bias"] = tag.direction[None], np.full(1, -tag.centre)
    features = plain_features(scene.space, scene.public)

    def sums(update: Parameters) -> tuple[np.ndarray, np.ndarray]:
        slopes = update["inner.bias"].numpy()[:, None]
        found = np.concatenate([slopes, update["inner.weight"].numpy() - slopes * features.origin], axis=1)
        return found, np.abs(found) + np.abs(slopes) * np.concatenate([[0.0], np.abs(features.origin)])

    return Trap(
        learner=learner,
        parameters=single(parameters),
        chains=chains,
        features=features,
        sums=sums,
        rounding=8e-8,
        steady=True,
    )
