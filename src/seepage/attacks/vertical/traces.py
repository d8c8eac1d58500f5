r"""Where supposed rows show in the columns of batches, how large their slopes are there, and what that says of numbers.

A roughly known row tells a path through both layers in every batch, up to a scale. A column with few people has neurons
at which only this person is active: there column and path have one ratio, which is the scale. So a few equal ratios say
that the person is in the batch, and the scale is one linear equation for the row's numbers (``relu_slopes.py``).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seepage.attacks.vertical.columns import Columns
from seepage.attacks.vertical.halfspaces import numbers_inside
from seepage.attacks.vertical.relu_slopes import Net, passes

AT_ONCE = 100  # batches
THINNEST = 2  # columns of a row that are looked at in a batch
FULL = 0.93  # share of the neurons: too many people have a fuller column
EQUAL = 4  # ratios that must be equal
SAME = 2e-5  # ratios that differ by less are equal
NOISY = 1e-3  # they may never differ by more
STRONG = 0.03  # of the largest path: ratios at others say little
AGAINST = 50.0  # times the error of a column that a slope must be to be missed there
ROUGH = (0.1, 0.3, 1.0)  # how far numbers may move in each turn, in inputs
SURE = 5e-3  # deviation of every number of a row that is settled, in inputs
FLOAT = 1e-6  # relative error of a ratio in float32
PROBABILITY = 6e-8  # error of a probability in float32
PLANES = 8  # batches in which a row shows whose planes hold its numbers
TOGETHER = 64  # rows
SCALES = tuple(0.3 * 0.4**turn for turn in range(14))  # of equations' errors, from rough to fine
OUTLYING = 20.0  # deviations of an equation that is left out
CLOSE = 1e-3  # but never if it is off by less


@dataclass(frozen=True, eq=False)
class Traces:
    """Pairs of a row and a batch in which it shows.

    Args:
        rows, batches: (n,).
        errors: (n,) of the output, as the ratios say; ``relative`` is how well they are known.
        shown: (n,) in how many neurons; 0 where nothing shows.
        against: (n,) a column lacks what the row must give there.
        logits: (n,) what the model says of the row; ``factors`` (n, numbers) how numbers change that.
        paths: (n, neurons) slopes of an error of 1.
        sides: (n, neurons) of both layers: 1 for active, -1 for at rest.
    """

    rows: Tensor
    batches: Tensor
    errors: Tensor
    relative: Tensor
    shown: Tensor
    against: Tensor
    logits: Tensor
    factors: Tensor
    paths: Tensor
    sides: Tensor

    def at(self, places: Tensor) -> Traces:
        """Some of them."""
        return Traces(*(each[places] for each in vars(self).values()))

    def of(self, kept: Tensor) -> Traces:
        """Those of the (rows,) that are kept, which are counted anew."""
        place = kept.long().cumsum(0) - 1
        mine = self.at(kept[self.rows])
        return Traces(place[mine.rows], *list(vars(mine).values())[1:])

    def count(self, rows: int, which: Tensor | None = None) -> Tensor:
        """(rows,) how many pairs each has."""
        places = self.rows if which is None else self.rows[which]
        return torch.bincount(places, minlength=rows)


def traces(columns: Columns, net: Net, rows: Tensor, where: Tensor, *, every: bool = False) -> Traces:
    """Where rows (rows, inputs) show among the batches (batches, rows) in which they may be.

    Args:
        every: also give pairs in which nothing shows.
    """
    numeric = rows.shape[1] - columns.left.shape[1]
    own = (rows[:, numeric:] > 0.5).nonzero()[:, 1].view(len(rows), len(columns.sizes))  # (rows, blocks)
    threshold, found = columns.threshold, []
    for begin in range(0, len(where) if len(rows) else 0, AT_ONCE):
        moments = torch.arange(begin, min(begin + AT_ONCE, len(where)))
        most = max(int(where[moments].sum(1).max()), 1)
        there, which = where[moments].float().topk(most, 1)
        filled, order = columns.filled[moments[:, None, None], own[which]].sort(2)
        ask = there > 0
        if not every:
            ask &= filled[:, :, 0] < FULL
        at, slot = ask.nonzero(as_tuple=True)
        if len(at):
            own_net = net.at(moments)
            logits, every_path, sides = passes(own_net, rows[which])
            thin = own[which].gather(2, order[:, :, :THINNEST])[at, slot]
            pairs = _Pairs(which[at, slot], moments[at], thin, filled[at, slot, :THINNEST])
            paths, said = every_path[at, slot], logits[at, slot]
            shown, errors, relative, against = _shown(columns, threshold, pairs, paths, said.sigmoid(), every)
            factors = torch.bmm(every_path, own_net.w1[:, :, :numeric])[at, slot]
            each = Traces(
                pairs.rows, pairs.batches, errors, relative, shown, against, said, factors, paths, sides[at, slot]
            )
            found.append(each if every else each.at(shown > 0))
    if not found:
        none, real = torch.zeros(0, dtype=torch.long), rows.new_zeros(0)
        flat = [rows.new_zeros(0, size) for size in (numeric, net.w1.shape[1], net.w1.shape[1] + net.w2.shape[1])]
        return Traces(none, none, real, real, none, real.bool(), real, *flat)
    return Traces(*(torch.cat(each) for each in zip(*(vars(each).values() for each in found), strict=True)))


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs of a row and a batch, with the row's thinnest columns there and how filled they are."""

    rows: Tensor
    batches: Tensor
    columns: Tensor
    filled: Tensor


def _shown(
    columns: Columns, threshold: Tensor, pairs: _Pairs, paths: Tensor, answers: Tensor, every: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """In how many neurons a pair shows, the error of the output, how well it is known, and what speaks against it."""
    count = len(pairs.rows)
    shown, against = torch.zeros(count, dtype=torch.long), torch.zeros(count, dtype=torch.bool)
    errors = torch.zeros(count, dtype=torch.float64)
    relative = torch.full((count,), SAME, dtype=torch.float64)
    least = paths.abs() * torch.minimum(answers, 1 - answers)[:, None]
    for number in range(pairs.columns.shape[1]):
        place = (pairs.batches, pairs.columns[:, number])
        left, noise = columns.left[place], threshold[place][:, None]
        against |= ((left.abs() <= noise) & (least > AGAINST * noise)).sum(1) > 1
        thin = (pairs.filled[:, number] > 0) & (pairs.filled[:, number] < FULL) & (every | ~against)
        some = thin.nonzero()[:, 0]
        if len(some):
            equal, ratio, wide = _equal_ratios(left[some], noise[some], paths[some])
            better = equal > shown[some]
            which = some[better]
            shown[which], errors[which], relative[which] = equal[better], ratio[better], wide[better]
    return shown, errors, relative, against


def _equal_ratios(left: Tensor, noise: Tensor, paths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """How many ratios of columns to paths (n, neurons) are equal, which, and how far they may differ."""
    strong = (paths.abs() > STRONG * paths.abs().amax(1, keepdim=True)) & (left.abs() > 20 * noise)
    ratios = torch.where(strong, left / paths, torch.inf).sort(1).values
    typical = torch.where(strong, left.abs(), torch.nan).nanmedian(1).values.nan_to_num(1.0)
    wide = (SAME + 2 * noise[:, 0] / typical.clamp(min=1e-300)).clamp(max=NOISY)
    run = EQUAL - 1
    close = (ratios[:, run:] - ratios[:, :-run] <= wide[:, None] * ratios[:, run:].abs()) & ratios[:, run:].isfinite()
    places = torch.arange(close.shape[1])
    apart = torch.where(close, -1, places).cummax(1).values
    length, end = torch.where(close, places - apart, 0).max(1)
    equal = torch.where(length > 0, length + run, 0)
    middle = (end + run - equal // 2).clamp(0, ratios.shape[1] - 1)
    ratio = ratios.gather(1, middle[:, None])[:, 0]
    lowest = ratios.gather(1, (end + run - equal.clamp(min=1) + 1).clamp(min=0)[:, None])[:, 0]
    spread = (ratios.gather(1, (end + run)[:, None])[:, 0] - lowest).abs() / ratio.abs()
    return equal, ratio, torch.where(equal > 0, spread.clamp(min=FLOAT), wide)


@dataclass(frozen=True, eq=False)
class Solved:
    """Rows with the numbers that their traces tell.

    Args:
        rows: (rows, inputs).
        labels: (rows,).
        covariance: (rows, numbers, numbers) of numbers.
        precision: (rows, numbers, numbers) of the equations together.
        fitting: (traces,) whose equation holds.
    """

    rows: Tensor
    labels: Tensor
    covariance: Tensor
    precision: Tensor
    fitting: Tensor

    def at(self, rows: Tensor) -> Solved:
        """Some rows, without the traces."""
        none = torch.zeros(0, dtype=torch.bool)
        return Solved(self.rows[rows], self.labels[rows], self.covariance[rows], self.precision[rows], none)

    @property
    def deviation(self) -> Tensor:
        """(rows, numbers) of each number."""
        return self.covariance.diagonal(dim1=1, dim2=2).clamp(min=0).sqrt()


def solved(rows: Tensor, seen: Traces, numeric: int, rough: float) -> Solved:
    """Least squares over the equations of all traces, without those that do not hold."""
    count = len(rows)
    possible = (seen.shown > 0) & (seen.errors.abs() < 1)
    ones = torch.bincount(seen.rows[possible & (seen.errors < 0)], minlength=count)
    labels = (2 * ones > torch.bincount(seen.rows[possible], minlength=count)).long()
    possible = possible & ((seen.errors < 0) == (labels[seen.rows] == 1))  # the error is negative where the label is 1
    used = seen.at(possible)
    told = used.errors.abs().clamp(1e-12, 1 - 1e-7)  # of the class that it is not
    deviation = (used.relative + PROBABILITY / told) / (1 - told)
    factors, off = used.factors, told.logit() * used.errors.sign() - used.logits
    known = torch.eye(numeric, dtype=rows.dtype) / rough**2
    rest = torch.zeros_like(off)
    for scale in SCALES:  # ever fewer equations count, so that wrong ones do not lead
        weight = 1 / (deviation.square() + scale**2 + rest.square())
        normal = torch.zeros(count, numeric, numeric, dtype=rows.dtype).index_add_(
            0, used.rows, weight[:, None, None] * factors[:, :, None] * factors[:, None]
        )
        right = torch.zeros(count, numeric, dtype=rows.dtype).index_add_(
            0, used.rows, (weight * off)[:, None] * factors
        )
        step = torch.linalg.solve(normal + known, right)
        rest = off - (factors * step[used.rows]).sum(1)
    holds = rest.abs() < torch.maximum(OUTLYING * deviation, torch.tensor(CLOSE))
    squares = torch.zeros(count, dtype=rows.dtype).index_add_(0, used.rows, holds * (rest / deviation).square())
    equations_left = (torch.bincount(used.rows[holds], minlength=count) - numeric).clamp(min=1)
    careful = ((squares + 4) / equations_left).clamp(max=9.0)  # deviations of equations are too careful mostly
    spread = torch.linalg.inv(normal + known) * careful[:, None, None]
    fitting = torch.zeros(len(seen.rows), dtype=torch.bool)
    fitting[possible.nonzero()[:, 0][holds]] = True
    moved = torch.cat([rows[:, :numeric] + step, rows[:, numeric:]], 1)
    return Solved(moved, labels, spread, normal, fitting)


def held(net: Net, found: Solved, seen: Traces, numeric: int) -> Tensor:
    """Rows; numbers that equations leave open stay where they showed: on that side of all neurons' planes."""
    rows, count = found.rows, len(found.rows)
    loose = (found.deviation > SURE).any(1)
    used = seen.at(((seen.shown > 0) & loose[seen.rows]).nonzero()[:, 0])
    order = torch.argsort(used.shown, descending=True, stable=True)
    used = used.at(order[torch.argsort(used.rows[order], stable=True)])
    slot = torch.arange(len(used.rows)) - torch.searchsorted(used.rows, torch.arange(count))[used.rows]
    used, slot = used.at(slot < PLANES), slot[slot < PLANES]
    moved = rows[:, :numeric].clone()
    for part in torch.split(loose.nonzero()[:, 0], TOGETHER):
        mine = torch.isin(used.rows, part)
        pairs, place = used.at(mine), torch.searchsorted(part, used.rows[mine])
        own, x = net.at(pairs.batches), rows[pairs.rows]
        z1 = torch.einsum("nkd,nd->nk", own.w1, x) + own.c1
        through = own.w2 * (pairs.sides[:, : z1.shape[1]] > 0)[:, None]
        z2 = torch.einsum("nmk,nk->nm", through, z1) + own.c2
        first = own.w1[:, :, :numeric]
        second = torch.bmm(through, first)
        slopes, heights = torch.cat([first, second], 1), torch.cat([z1, z2], 1)
        planes = rows.new_zeros(len(part), PLANES, *slopes.shape[1:])
        rest, sides = rows.new_zeros(planes.shape[:3]), rows.new_zeros(planes.shape[:3])
        planes[place, slot[mine]] = slopes
        rest[place, slot[mine]] = heights - torch.einsum("nrd,nd->nr", slopes, x[:, :numeric])
        sides[place, slot[mine]] = pairs.sides.to(sides.dtype)
        moved[part] = numbers_inside(
            planes.flatten(1, 2), rest.flatten(1), sides.flatten(1), moved[part], found.precision[part]
        )
    return torch.cat([moved, rows[:, numeric:]], 1)
