"""Rows made of the categories that occur."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seepage.attacks.inversion.categories import Categories
from seepage.attacks.inversion.starts.marginals import FromMarginals
from seepage.models import first_layer
from seepage.observation import Observation

ABSENT = 1e-4  # of the largest column of the block: far above float error, far below the trace of one row


@dataclass(frozen=True, kw_only=True)
class FromPresence:
    r"""A start from marginals without the categories that no row has.

    The gradient of the first layer's weights at a one-hot entry is the sum of :math:`\delta` over the rows that have
    it, so it is zero if no row has it. With standardised entries a multiple of the bias gradient is in the way, and is
    taken off: :math:`g_j + (\mu_j / \sigma_j)\, g_b`. Both hold for every local step, and so for FedAvg. Where the
    model has no such layer, or statistics are needed and not known, it is a start from marginals.

    Args:
        noise: deviation of the noise on the logits.
        depth: logit of an absent category.

    References:
        Zero columns of a first layer are an old remark (e.g. Phong et al., 2017); `docs/explanation` derives it.
    """

    noise: float = 0.3
    depth: float = -12.0

    def check(self, categories: Categories) -> None:
        FromMarginals(noise=self.noise).check(categories)

    def __call__(self, shape: tuple[int, ...], observation: Observation, generator: torch.Generator) -> Tensor:
        x = FromMarginals(noise=self.noise)(shape, observation, generator)
        absent = absent_entries(observation)
        if absent is not None:
            x[..., observation.layout.numeric :][..., absent] += self.depth
        return x


def absent_entries(observation: Observation) -> Tensor | None:
    """(one-hot entries,) whether no row has the category; None where the update does not tell."""
    names = first_layer(observation.learner, observation.layout.width)
    space, layout = observation.space, observation.layout
    if names is None or layout.embedded or not layout.sizes:
        return None
    columns = observation.update[names[0]][:, layout.numeric :].double()
    if space.standardised:
        if space.shift is None or space.scale is None or names[1] is None:
            return None
        factor = (space.shift / space.scale)[layout.numeric :].double()
        columns = columns + factor * observation.update[names[1]].double()[:, None]
        columns = columns * space.scale[layout.numeric :].double()
    lengths = columns.norm(dim=0)
    absent = [part <= ABSENT * part.max() for part in torch.split(lengths, list(layout.sizes))]
    return torch.cat(absent)
