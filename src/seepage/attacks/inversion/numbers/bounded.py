"""Numbers inside their valid range."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from seepage._core import NotApplicable
from seepage.observation import Space


@dataclass(frozen=True, kw_only=True)
class Bounded:
    r"""A sigmoid between the bounds of each column: :math:`l + (h - l)\,\sigma(z)`, then scaled as the clients do.

    Needs the ranges and the clients' statistics.

    References:
        Vero et al., TabLeak, ICML 2023 (the later version).
    """

    def check(self, space: Space) -> None:
        check_bounds(space)

    def __call__(self, variables: Tensor, space: Space) -> Tensor:
        low, high = encoded_bounds(space)
        return low + (high - low) * variables.sigmoid()


def check_bounds(space: Space) -> None:
    """Stop with a sentence when the bounds are not known."""
    if space.low is None or space.shift is None:
        raise NotApplicable(
            "Bounded numbers need to know the ranges (--ranges-known) and the statistics (--global-statistics)."
        )


def encoded_bounds(space: Space) -> tuple[Tensor, Tensor]:
    """The lowest and highest value of every number, as inputs."""
    assert space.low is not None
    assert space.high is not None
    assert space.shift is not None
    assert space.scale is not None
    shift, scale = space.shift[: space.layout.numeric], space.scale[: space.layout.numeric]
    return (space.low - shift) / scale, (space.high - shift) / scale
