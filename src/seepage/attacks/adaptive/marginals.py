"""What an adversary knows of a cell before it looks at the update."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seepage.observation import Space

RARE = 1e-4  # the least share of a category: one that the statistics have never seen may still be there
NARROW = 0.05  # the least concentration of a number whose range does not fit its deviation


@dataclass(frozen=True, eq=False)
class Marginals:
    r"""Categories by their shares, numbers by their mean of 0, deviation of 1 and range, all as inputs.

    Shares are known with the statistics of clients that standardise their one-hot entries; elsewhere all categories
    are equally likely. A number whose range is known has the beta distribution of that range, mean and deviation: it
    is nearly normal in the middle of a wide range, and has its mass at an end where the mean is near it. Otherwise it
    is normal.

    Args:
        codes: for each column (categories, entries) the inputs that stand for them.
        shares: for each column (categories,) how likely they are.
        low, high: (numeric,) the range of every number, infinite where it is not known.
    """

    codes: tuple[Tensor, ...]
    shares: tuple[Tensor, ...]
    low: Tensor
    high: Tensor

    @staticmethod
    def of(space: Space) -> Marginals:
        """As far as this adversary knows the input space."""
        layout, numeric = space.layout, space.layout.numeric
        codes, shares = [], []
        for block in layout.blocks:
            size = block.stop - block.start
            units, share = torch.eye(size), torch.full((size,), 1.0 / size)
            if space.shift is not None and space.scale is not None:
                units = (units - space.shift[block]) / space.scale[block]
                if space.standardised:
                    share = space.shift[block].clamp(min=RARE)
            if layout.embedded:  # nobody is claimed to have an unknown category
                units, share = units[:-1], share[:-1]
            codes.append(units)
            shares.append(share / share.sum())
        low, high = torch.full((numeric,), -torch.inf), torch.full((numeric,), torch.inf)
        if space.low is not None and space.high is not None and space.shift is not None and space.scale is not None:
            low, high = ((end - space.shift[:numeric]) / space.scale[:numeric] for end in (space.low, space.high))
        return Marginals(tuple(codes), tuple(shares), low, high)

    def rows(self, shape: tuple[int, ...], random: torch.Generator) -> Tensor:
        """Rows (..., width) with every cell drawn by itself."""
        numbers = [self.numbers(place, shape, random)[..., None] for place in range(len(self.low))]
        blocks = []
        for codes, share in zip(self.codes, self.shares, strict=True):
            drawn = torch.multinomial(share, int(torch.tensor(shape).prod()), replacement=True, generator=random)
            blocks.append(codes[drawn].reshape(*shape, -1))
        return torch.cat([*numbers, *blocks], -1)

    def numbers(self, place: int, shape: tuple[int, ...], random: torch.Generator) -> Tensor:
        """Values of one number."""
        first, second = self._shape(place)
        if not first:
            return torch.randn(shape, generator=random)
        one, other = (_gamma(each, shape, random) for each in (first, second))
        share = (one / (one + other).clamp(min=1e-300)).float()
        return self.low[place] + share * (self.high[place] - self.low[place])

    def log_density(self, place: int, values: Tensor, least: float = 1e-9) -> Tensor:
        """Of values of one number, up to a constant; minus infinity outside of its range.

        Args:
            least: how near to an end of the range, in units of its width, values are told apart.
        """
        first, second = self._shape(place)
        if not first:
            return -values.square() / 2
        share = (values - self.low[place]) / (self.high[place] - self.low[place])
        inside = (share >= 0) & (share <= 1)
        share = share.clamp(least, 1 - max(least, 1e-7))
        density = (first - 1) * share.log() + (second - 1) * (1 - share).log()
        return density.masked_fill(~inside, -torch.inf)

    def _shape(self, place: int) -> tuple[float, float]:
        """The two shapes of a beta distribution; zeros for a normal one."""
        low, high = float(self.low[place]), float(self.high[place])
        if not (-torch.inf < low < 0 < high < torch.inf):
            return 0.0, 0.0
        concentration = max(-low * high - 1, NARROW)
        middle = -low / (high - low)
        return middle * concentration, (1 - middle) * concentration


def _gamma(shape: float, size: tuple[int, ...], random: torch.Generator) -> Tensor:
    """Gamma numbers in float64, by Marsaglia and Tsang; torch's own take no generator."""
    least, count = shape + 1, int(torch.tensor(size).prod())
    d = least - 1 / 3
    c = (9 * d) ** -0.5
    found = torch.zeros(0, dtype=torch.float64)
    while len(found) < count:
        x = torch.randn(2 * count + 16, generator=random, dtype=torch.float64)
        v = (1 + c * x) ** 3
        u = torch.rand(len(x), generator=random, dtype=torch.float64)
        good = (v > 0) & (u.log() < x.square() / 2 + d - d * v + d * v.clamp(min=1e-300).log())
        found = torch.cat([found, (d * v)[good]])
    power = torch.rand(count, generator=random, dtype=torch.float64).log() / shape
    return (found[:count] * power.exp()).reshape(size)
