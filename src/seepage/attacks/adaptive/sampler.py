r"""Rows drawn from what an update leaves possible: a Gibbs sampler over cells, for all chains of all updates at once.

The update is a mean of the rows' gradients plus an error of known size, :math:`u = \frac 1 B \sum_i g(x_i) + e`.
With every other cell fixed, the values of a cell have the probabilities

.. math:: p(v) \propto \pi(v) \exp\Big(\tfrac 1 B \langle g(v), P r\rangle - \tfrac 1 {2 B^2} \langle g(v), P g(v)
          \rangle\Big)

with :math:`r` what the other rows leave of the update, :math:`P` the precision of every entry and :math:`\pi` the
marginal. A linear layer's gradient is :math:`\delta h^\top`, so both products are bilinear forms and no gradient is
ever multiplied out.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seepage.attacks.adaptive.marginals import Marginals
from seepage.attacks.adaptive.rows_gradient import Pairs, RowsGradient
from seepage.data import Layout

SIZES = (1.0, 0.3, 0.1)  # deviations of proposals for a number, one after the other
COARSE = 0.01  # of a range: chains are not compared by how near to its end a number lies


@dataclass(frozen=True, eq=False, kw_only=True)
class Target:
    """What the sampler is held to.

    Args:
        gradient: of rows.
        layout: of a row.
        rows: behind an update.
        update: one (observations, out, in) matrix for each layer.
        precision: one (observations or 1, out or 1, in or 1) matrix for each layer: 1 / variance of its errors.
        marginals: what is known of a cell without the update.
        clipped, order: norm to which the whole update was shortened; 0 for none.
        classes: of the label, where it is drawn too; 0 where it is known.
    """

    gradient: RowsGradient
    layout: Layout
    rows: int
    update: list[Tensor]
    precision: list[Tensor]
    marginals: Marginals
    clipped: float = 0.0
    order: int = 2
    classes: int = 0


class Chains:
    """The state of all chains: (runs, rows, width) rows with (runs, rows) labels, and what they leave unexplained.

    Args:
        target: what they are held to.
        chains: for each observation.
        rows, labels: where they begin.
        random: all that is drawn comes from here.
    """

    def __init__(self, target: Target, chains: int, rows: Tensor, labels: Tensor, random: torch.Generator) -> None:
        self.target, self.rows, self.labels, self._random = target, rows, labels, random
        self._update = [each.repeat_interleave(chains, 0) for each in target.update]
        self._precision = [each.repeat_interleave(chains, 0) if len(each) > 1 else each for each in target.precision]
        self._pairs: Pairs = []
        self._rest: list[Tensor] = []
        self._part = rows.new_ones(len(rows), 1, 1) / rows.shape[1]
        self.settle()

    def settle(self) -> Tensor:
        """Work out anew what is unexplained; (runs,) the misfit, which is about half the number of entries."""
        self._pairs = self.target.gradient(self.rows, self.labels)
        whole = [torch.einsum("rbo,rbi->roi", slopes, inputs) / self.rows.shape[1] for slopes, inputs in self._pairs]
        if self.target.clipped:
            length = torch.cat([each.flatten(1) for each in whole], 1).norm(p=self.target.order, dim=1)
            shortened = (self.target.clipped / length.clamp(min=1e-30)).clamp(max=1.0)[:, None, None]
            whole = [each * shortened for each in whole]
            self._part = shortened / self.rows.shape[1]
        self._rest = [update - each for update, each in zip(self._update, whole, strict=True)]
        misfits = [
            (rest.square() * precision).sum((1, 2)) / 2
            for rest, precision in zip(self._rest, self._precision, strict=True)
        ]
        return torch.stack(misfits).sum(0)

    def likelihood(self) -> Tensor:
        """(runs,) how likely the rows are by the marginals alone."""
        layout, marginals = self.target.layout, self.target.marginals
        total = self.rows.new_zeros(len(self.rows))
        for place in range(layout.numeric):
            total = total + marginals.log_density(place, self.rows[..., place], COARSE).sum(1)
        for block, codes, shares in zip(layout.blocks, marginals.codes, marginals.shares, strict=True):
            total = total + shares.log()[(self.rows[..., block] @ codes.T).argmax(-1)].sum(1)
        return total

    def sweep(self, heat: Tensor, found: Tensor | None = None, told: Tensor | None = None) -> None:
        """Draw every cell once.

        Args:
            heat: (runs, 1) temperatures; 1 draws from the posterior.
            found: (runs, rows, width) the probabilities of categories are added to it.
            told: (runs, rows, classes) the probabilities of labels are added to it.
        """
        for row in range(self.rows.shape[1]):
            self._lift(row)
            for column, block in enumerate(self.target.layout.blocks):
                chances = self._category(row, column, block, heat)
                if found is not None:
                    found[:, row, block.start : block.start + chances.shape[1]] += chances
            for number in range(self.target.layout.numeric):
                self._number(row, number, heat)
            if self.target.classes:
                chances = self._label(row, heat)
                if told is not None:
                    told[:, row] += chances
            self._lower(row)

    def _lift(self, row: int) -> None:
        """Take a row out: its part of the update counts as unexplained."""
        for place, (slopes, inputs) in enumerate(self._pairs):
            self._rest[place] += (self._part * slopes[:, row, :, None]) * inputs[:, row, None, :]
        self._held = [rest * precision for rest, precision in zip(self._rest, self._precision, strict=True)]

    def _lower(self, row: int) -> None:
        """Put it back."""
        pairs = self.target.gradient(self.rows[:, row], self.labels[:, row])
        for place, (slopes, inputs) in enumerate(pairs):
            self._rest[place] -= (self._part * slopes[:, :, None]) * inputs[:, None, :]
            self._pairs[place][0][:, row] = slopes
            self._pairs[place][1][:, row] = inputs

    def _fits(self, x: Tensor, y: Tensor) -> Tensor:
        """(runs, candidates) log likelihoods of a row's candidates, up to what they have in common."""
        total = x.new_zeros(x.shape[:2])
        part = self._part[:, :, 0]
        for (slopes, inputs), held, precision in zip(
            self.target.gradient(x, y), self._held, self._precision, strict=True
        ):
            total = total + part * ((slopes @ held) * inputs).sum(-1)
            if precision.numel() == 1:
                own = precision[0, 0, 0] * slopes.square().sum(-1) * inputs.square().sum(-1)
            else:
                own = ((slopes.square() @ precision) * inputs.square()).sum(-1)
            total = total - part.square() * own / 2
        return total

    def _drawn(self, scores: Tensor) -> tuple[Tensor, Tensor]:
        chances = scores.softmax(-1)
        return torch.multinomial(chances, 1, generator=self._random), chances

    def _category(self, row: int, column: int, block: slice, heat: Tensor) -> Tensor:
        codes = self.target.marginals.codes[column]
        x = self.rows[:, row, None].repeat(1, len(codes), 1)
        x[..., block] = codes
        y = self.labels[:, row, None].expand(-1, len(codes))
        scores = self._fits(x, y) / heat + self.target.marginals.shares[column].log()
        drawn, chances = self._drawn(scores)
        self.rows[:, row, block] = codes[drawn[:, 0]]
        return chances

    def _number(self, row: int, number: int, heat: Tensor, many: int = 6) -> None:
        """One of the present value and some others, by turns from the marginal and from around a point near it.

        Both are reversible: draws from the marginal are weighed by the likelihood alone, and the point in the middle
        is drawn before its neighbours.
        """
        now, marginals = self.rows[:, row, number, None], self.target.marginals
        turn = int(torch.randint(len(SIZES) + 1, (1,), generator=self._random))
        if turn == len(SIZES):
            others = marginals.numbers(number, (len(now), many), self._random)
        else:
            middle = now + SIZES[turn] * torch.randn(now.shape, generator=self._random)
            others = middle + SIZES[turn] * torch.randn((len(now), many), generator=self._random)
        values = torch.cat([now, others], 1)
        x = self.rows[:, row, None].repeat(1, many + 1, 1)
        x[..., number] = values
        scores = self._fits(x, self.labels[:, row, None].expand(-1, many + 1)) / heat
        if turn < len(SIZES):
            scores = scores + marginals.log_density(number, values)
        drawn, _ = self._drawn(scores)
        self.rows[:, row, number] = values.gather(1, drawn)[:, 0]

    def _label(self, row: int, heat: Tensor) -> Tensor:
        classes = self.target.classes
        y = torch.arange(classes).expand(len(self.rows), -1)
        scores = self._fits(self.rows[:, row, None].repeat(1, classes, 1), y) / heat
        drawn, chances = self._drawn(scores)
        self.labels[:, row] = drawn[:, 0]
        return chances
