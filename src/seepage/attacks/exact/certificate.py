r"""When a row may be called read, not guessed.

**Guarantee.** A certified row is a record of the batch: its categories are right and its numbers are right within
``PRECISE`` deviations. It rests on one of three arguments; the third, a set of
rows that rebuilds the update, is in ``joint.py``.

*Layers.* The row's input lies in the span of the first layer, its hidden inputs lie in the spans of the deeper layers,
and where the row's own gradient can be computed, its slopes lie in the column space and have weight 1/n in the gradient
(Wedderburn), which gives its label; each within ``LIMIT`` times what the update's own error explains. Combinations such
as r1 + r2 - r3 pass the first layer, but neither deeper inputs nor slopes are linear. Chance is ruled out by counting:
the equations of deeper inputs and slopes, less the numbers they had to determine, times the decimal digits each one was
met with, must be ``DIGITS`` at least. So must the digits with which these equations react when the row is moved: they
are fewer where few neurons are awake or slopes have few patterns. The nearest rival (one category changed, numbers
fitted again) must fail clearly.

*Exhaustion.* The search of the span was complete, so all records are among its leaves, and the span has as many
dimensions as there are records. A leaf without which the leaves would not span it is a record. This needs the first
layer only and holds for any number of local steps.

It assumes an honest client that computes what the protocol says, with errors that look like rounding or noise, and rows
that the schema allows.

Long because it is one proof, whose conditions must be read together.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from seepage.attacks.exact.bent import bent_of
from seepage.attacks.exact.integers import put_integers
from seepage.attacks.exact.search import Leaves
from seepage.attacks.exact.single import misses, number_errors, polish, slopes_by_numbers
from seepage.attacks.exact.span import Span
from seepage.attacks.exact.view import View

LIMIT = 6.0  # distance to a span in units of the expected error; true records stay below 3.5 in all trials
DIGITS = 14.0  # decimal digits of evidence; less than 1e6 rows are tried against it
PRECISE = 0.02  # deviations of a number
RIVAL = 10.0  # the nearest rival is this many times the limit away
WEIGHT = 1e-3  # a weight that is less well known could be that of two records that the error hides as one
COPIES = 3  # records that may be equal
MOVES = 20  # directions in which a row is moved to see what reacts, beside those that numbers may take up
MOST_MOVES = 256  # less moves notice less, so a wide table's certificate errs to the safe side
CHOICES = 64  # rivals of a row that are tried together
STEP = 1e-5
SAME = 0.05  # rows whose inputs differ by less are the same


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that were found.

    Args:
        codes, numbers: (rows, columns).
        labels: (rows,) class, or number for regression; NaN where it is not known.
        copies: (rows,) how often each is in the batch with this label.
        certain: (rows,) whether it is certified. Records that differ in numbers only and on the same side of every ReLU
            leave one product, which looks like their mean, several times: such a find explains its part of the update
            and may be subtracted, but with numbers in it, it proves nothing. Nor does one to which too few equations
            react.
    """

    codes: Tensor
    numbers: Tensor
    labels: Tensor
    copies: Tensor
    certain: Tensor

    def __len__(self) -> int:
        return len(self.codes)


def nothing(view: View) -> Rows:
    """No rows."""
    codes = torch.zeros(0, len(view.codes), dtype=torch.long)
    unknown = codes.new_zeros(0)
    return Rows(codes, codes.new_zeros(0, view.numeric).double(), unknown.double(), unknown, unknown.bool())


def distances(view: View, x: Tensor) -> Tensor:
    """(rows,) the largest distance to any layer's span, in units of the expected error."""
    each = [span.distance(value) for span, value in zip(view.spans, view.inputs(x), strict=True)]
    return torch.stack(each).amax(0)


def certify(view: View, codes: Tensor, numbers: Tensor) -> Rows:
    """The rows among these candidates that the layers certify, each once."""
    if not len(codes) or not view.single or not (view.deep or (view.peelable and view.layers)):
        return nothing(view)
    x = view.rows_of(codes, numbers)
    distance = distances(view, x)
    inside = ((numbers >= view.low - PRECISE) & (numbers <= view.high + PRECISE)).all(1)
    keep = ((distance < LIMIT) & inside).nonzero()[:, 0]
    keep = _distinct(x[keep], distance[keep], keep)
    if not len(keep):
        return nothing(view)
    codes, numbers = codes[keep], numbers[keep]
    numbers, held, fits = put_integers(view, codes, numbers, tolerances(view, view.rows_of(codes, numbers)))
    told = accepted(view, codes, numbers)
    sound = (fits & (told.copies > 0)).nonzero()[:, 0]
    evident = _evident(view, codes[sound], numbers[sound], told.labels[sound], told.equations, held[sound])
    if not view.peelable:
        evident &= _independent(view, view.rows_of(codes[sound], numbers[sound]))
    kept = sound[evident]
    certain = _unblended(view, told.copies[kept], told.unsure[kept]) & (not view.compressed)
    if len(kept):
        certain &= _telling_digits(view, view.rows_of(codes[kept], numbers[kept]), told.labels[kept]) >= DIGITS
    return Rows(codes[kept], numbers[kept], told.labels[kept], told.copies[kept], certain)


def _unblended(view: View, copies: Tensor, unsure: Tensor) -> Tensor:
    """(rows,) whether a find is one record and not the mean of several that differ in numbers only.

    Without numbers there is no mean. With as many directions as rows, every record has a direction of its own, so what
    seems to be there twice is the mean of two that are not equal. Else the weight tells: that of several records is
    not 1. A regression's weight was used up to find the target, and where nothing can be subtracted there is none.
    """
    if not view.numeric and view.learner.task != "regression":
        return torch.ones(len(copies), dtype=torch.bool)
    own = max(span.rank for span in view.spans) == view.rows
    return (copies == 1) & (own | (unsure < WEIGHT))


def tolerances(view: View, x: Tensor) -> Tensor:
    """(rows,) how far from all spans together the error may take a record: ``LIMIT`` times what is expected."""
    each = [span.tolerance(value) for span, value in zip(view.spans, view.inputs(x), strict=True)]
    return torch.stack(each).square().sum(0).sqrt() * LIMIT


def accepted(view: View, codes: Tensor, numbers: Tensor, limit: float = LIMIT) -> Told:
    """What is told about rows that pass every test; no copies of those that do not."""
    x = view.rows_of(codes, numbers)
    told = _labels(view, x, limit)
    return replace(told, copies=torch.where(distances(view, x) < limit, told.copies, 0))


def _distinct(x: Tensor, distance: Tensor, places: Tensor) -> Tensor:
    """One place of every group of equal rows, the nearest to the spans."""
    kept: list[int] = []
    for place in distance.argsort().tolist():
        if not kept or bool(((x[kept] - x[place]).abs().amax(1) > SAME).all()):
            kept.append(place)
    return places[kept]


@dataclass(frozen=True, eq=False)
class Told:
    """What a row's own gradient tells about it.

    Args:
        labels: (rows,) its label.
        copies: (rows,) how often it is there; 0 where nothing fits.
        unsure: (rows,) how well the weight is known that says so; infinite where it was not.
        equations: what the slopes had to meet.
    """

    labels: Tensor
    copies: Tensor
    unsure: Tensor
    equations: int


def _labels(view: View, x: Tensor, limit: float) -> Told:
    """Each row's label and how often it is there."""
    rows = len(x)
    if not view.peelable:
        unknown = x.new_full((rows,), torch.nan)
        return Told(unknown, torch.ones(rows, dtype=torch.long), torch.full_like(unknown, torch.inf), 0)
    place = _telling_layer(view)
    span, vectors = view.spans[place], view.inputs(x)[place]
    if view.learner.task == "regression":
        return _targets(view, x, place, limit)
    classes = max(view.outputs, 2)
    slopes = torch.stack(
        [view.slopes(x, torch.full((rows,), c))[place] for c in range(classes)]
    )  # (classes, rows, out)
    combinations = [
        mix
        for count in range(1, COPIES + 1)
        for mix in itertools.combinations_with_replacement(range(classes), count)
        if count == 1 or classes <= 4 or len(set(mix)) == 1
    ]
    labels, copies = x.new_full((rows,), torch.nan), torch.zeros(rows, dtype=torch.long)
    unsure = x.new_full((rows,), torch.inf)
    matches = torch.zeros(rows, dtype=torch.long)
    for mix in combinations:
        slope = sum(slopes[c] for c in mix)
        assert isinstance(slope, Tensor)
        product, error = span.weight(slope, vectors)
        fits = ((product - 1).abs() < limit * error + 1e-5) & (span.slope_distance(slope) < limit)
        unsure = torch.where(fits, LIMIT * error, unsure)
        matches += fits
        # Equal rows of different labels are certain, but which of them is which label is told when they are taken away.
        labels = torch.where(fits, float(mix[0]) if len(set(mix)) == 1 else torch.nan, labels)
        copies = torch.where(fits, len(mix), copies)
    copies = torch.where((matches == 1) & ~labels.isnan(), copies, 0)
    return Told(labels, copies, unsure, span.left_outside.shape[1] + 1)


def _targets(view: View, x: Tensor, place: int, limit: float) -> Told:
    """Regression: the weight is linear in the target, so weight 1 gives it."""
    span, vectors = view.spans[place], view.inputs(x)[place]
    zero, one = (view.slopes(x, x.new_full((len(x),), value))[place] for value in (0.0, 1.0))
    base, step = span.weight(zero, vectors)[0], span.weight(one, vectors)[0] - span.weight(zero, vectors)[0]
    target = (1 - base) / torch.where(step.abs() < 1e-12, 1e-12, step)
    slope = view.slopes(x, target)[place]
    fits = span.slope_distance(slope) < limit
    return Told(target, fits.long(), torch.full_like(target, torch.inf), span.left_outside.shape[1])


def _evident(view: View, codes: Tensor, numbers: Tensor, labels: Tensor, left: int, held: Tensor) -> Tensor:
    """(rows,) enough equations, met with enough digits, numbers precise, and no rival near."""
    if not len(codes):
        return torch.zeros(0, dtype=torch.bool)
    x = view.rows_of(codes, numbers)
    inputs, bent = view.inputs(x), bent_of(view)
    digits = []
    for k in view.deep:
        span, length = view.spans[k], inputs[k].norm(dim=1)
        # How far a combination of records is from the span: only what is not affine in the layer's inputs shows it.
        typical = length * bent[k][0] * (span.equations / inputs[k].shape[1]) ** 0.5
        digits.append((typical / (span.tolerance(inputs[k]) * LIMIT).clamp(min=1e-300)).log10())
    if left:
        digits.append(_slope_digits(view, x, labels, bent[_telling_layer(view)][1]))
    if not digits:
        return torch.zeros(len(codes), dtype=torch.bool)
    spare = sum(view.spans[k].equations for k in view.deep) + left - _undetermined(view)
    enough = spare * torch.stack(digits).amin(0).clamp(min=0) >= DIGITS
    tolerance = tolerances(view, view.rows_of(codes, numbers))
    precise = _precise_around(view, codes, numbers, held)
    return enough & precise & _no_rival(view, codes, numbers, tolerance)


def _precise_around(view: View, codes: Tensor, numbers: Tensor, held: Tensor) -> Tensor:
    """(rows,) whether numbers are known well enough, at the row and on either side of it.

    A slope is that of one side of every kink. Two near records wake the same neurons, so all rows on the line through
    them meet every equation; one such row that lies just behind the next kink looks well determined by its own slope.
    So the row is moved as far as its numbers may be off, the way they are known worst, and asked again.
    """
    if not view.numeric:
        return torch.ones(len(codes), dtype=torch.bool)
    weakest = slopes_by_numbers(view, codes, numbers)[1].weakest(held)
    reach = PRECISE * weakest / weakest.abs().amax(1, keepdim=True).clamp(min=1e-300)
    sure = torch.ones(len(codes), dtype=torch.bool)
    for moved in (numbers, numbers + reach, numbers - reach):
        tolerance = tolerances(view, view.rows_of(codes, moved))
        sure &= (number_errors(view, codes, moved, held) * tolerance[:, None] < PRECISE).all(1)
    return sure


def _telling_digits(view: View, x: Tensor, labels: Tensor) -> Tensor:
    r"""(rows,) the decimal digits with which the equations beyond the first layer react to the row at all.

    Counting equations is not enough: where few neurons are awake, or where slopes only have a few patterns, whole
    families of rows meet them. So the row is moved, and what counts is how much the deeper inputs, the slopes and the
    weight notice: the singular values of that derivative in units of the tolerance. The largest ones are spent on
    numbers that the first layer leaves open.
    """
    generator = torch.Generator().manual_seed(0)
    width = view.space.layout.width
    undetermined = _undetermined(view)
    count = MOVES + min(view.numeric, max(undetermined, MOST_MOVES))
    moves = torch.randn(min(width, count), width, generator=generator).double()
    moves = moves / moves.norm(dim=1, keepdim=True)
    points = torch.cat([x + STEP * move for move in moves] + [x - STEP * move for move in moves])
    noticed = _noticed(view, x, points, labels)  # (2 moves, rows, equations)
    slope = (noticed[: len(moves)] - noticed[len(moves) :]) / (2 * STEP)
    values = torch.linalg.svdvals(slope.transpose(0, 1))  # (rows, moves or equations)
    digits: Tensor = values.clamp(min=1).log10()[:, undetermined:].sum(1)
    return digits


def _noticed(view: View, x: Tensor, points: Tensor, labels: Tensor) -> Tensor:
    """(points / rows, rows, equations) all that tells rows apart beyond the first layer, in units of its tolerance."""
    every = len(points) // len(x)
    own, moved = view.inputs(x), view.inputs(points)
    parts = []
    for k in view.deep:
        tolerance = view.spans[k].tolerance(own[k]) * LIMIT
        parts.append(view.spans[k].beyond(moved[k]).reshape(every, len(x), -1) / tolerance[:, None])
    if view.peelable:
        place = _telling_layer(view)
        span, regression = view.spans[place], view.learner.task == "regression"
        told = labels if regression else labels.nan_to_num(0).long()
        own_slopes, slopes = view.slopes(x, told)[place], view.slopes(points, told.repeat(every))[place]
        tolerance = span.slope_tolerance(own_slopes) * LIMIT
        parts.append((slopes @ span.left_outside).reshape(every, len(x), -1) / tolerance[:, None])
        if not regression:  # there the weight was spent on the target
            error = span.weight(own_slopes, own[place])[1] * LIMIT
            weight = span.weight(slopes, moved[place])[0].reshape(every, len(x))
            parts.append((weight / error.clamp(min=1e-300))[..., None])
    return torch.cat(parts, -1) if parts else x.new_zeros(every, len(x), 0)


def _slope_digits(view: View, x: Tensor, labels: Tensor, bent: float) -> Tensor:
    """(rows,) the decimal digits with which a row's slopes are known to lie in the column space."""
    place = _telling_layer(view)
    span = view.spans[place]
    slopes = view.slopes(x, labels if view.learner.task == "regression" else labels.nan_to_num(0).long())[place]
    outside = max(span.left_outside.shape[1], 1) / slopes.shape[1]
    typical = slopes.square().sum(1).sqrt() * bent * outside**0.5
    digits: Tensor = (typical / (span.slope_tolerance(slopes) * LIMIT).clamp(min=1e-300)).log10()
    return digits


def _telling_layer(view: View) -> int:
    """The layer in which most records are independent: there each has a slope and a weight of its own."""
    return max(range(len(view.spans)), key=lambda k: (view.spans[k].rank, not view.layers[k].affine))


def _independent(view: View, x: Tensor) -> Tensor:
    """(rows,) rows that are no combination of the other candidates, seen by the deeper layers."""
    if not len(x):
        return torch.zeros(0, dtype=torch.bool)
    inputs = view.inputs(x)
    leverages = []
    for k in view.deep:
        left, values, _ = torch.linalg.svd(inputs[k] @ view.spans[k].right.T, full_matrices=False)
        leverages.append(left[:, values > 1e-4 * values[0]].square().sum(1))
    alone: Tensor = torch.stack(leverages).amax(0) > 1 - 1e-3
    return alone


def _undetermined(view: View) -> int:
    """Numbers that the first layer leaves to the deeper ones."""
    span = view.entrance
    if span is None:
        return view.numeric
    return int((span.open_directions(view.numeric) <= 1e-3).sum())


def _no_rival(view: View, codes: Tensor, numbers: Tensor, tolerance: Tensor) -> Tensor:
    """(rows,) no row with one category changed passes, its numbers fitted again, not even a much looser test."""
    slopes = slopes_by_numbers(view, codes, numbers)[1]
    close: list[tuple[int, Tensor]] = []
    for column, allowed in enumerate(view.allowed):
        for choices in torch.split(allowed.nonzero()[:, 0], CHOICES):
            rivals = codes[:, None].repeat(1, len(choices), 1)  # (rows, choices, columns)
            rivals[:, :, column] = choices
            x = view.rows_of(rivals.flatten(0, 1), numbers.repeat_interleave(len(choices), 0))
            far = slopes.rest(misses(view, x).reshape(len(codes), len(choices), -1)).norm(dim=2)
            near = (far < RIVAL * tolerance[:, None]) & (codes[:, column, None] != choices)
            close += [(place, rivals[place, choice]) for place, choice in near.nonzero().tolist()]
    clear = torch.ones(len(codes), dtype=torch.bool)
    if close:  # the deeper layers' equations do not tell these apart; the slopes may
        places = torch.tensor([place for place, _ in close])
        nearest = torch.stack([rival for _, rival in close])
        fitted = polish(view, nearest, numbers[places])
        passing = accepted(view, nearest, fitted, limit=LIMIT * RIVAL).copies > 0
        clear[places[passing]] = False
    return clear


def exhausted(view: View, leaves: Leaves) -> Tensor:
    """(leaves,) which leaves are records by exhaustion: without them the leaves would not span what the records do."""
    span = view.entrance
    none = torch.zeros(len(leaves.codes), dtype=torch.bool)
    if span is None or not leaves.complete or leaves.free or span.rank != view.rows or len(none) < span.rank:
        return none
    silent = (span.right[:, : view.numeric].abs().amax(0) == 0) if view.numeric else none
    if view.compressed or (view.rows == 1 and bool(silent.any())):  # a number may have been left out
        return none
    x = view.rows_of(leaves.codes, leaves.numbers)
    vectors = torch.cat([x, x.new_ones(len(x), 1)], 1)[:, : span.right.shape[1]] @ span.right.T  # (leaves, rank)
    # The leverage of a row is 1 exactly if it is in no combination of the others.
    left, values, _ = torch.linalg.svd(vectors, full_matrices=False)
    if int((values > 1e-6 * values[0]).sum()) < span.rank:
        return none
    needed = left.square().sum(1) > 1 - 1e-6
    if view.single and view.deep:
        needed &= distances(view, x) < LIMIT
    proven: Tensor = needed & _precise(span, x, view.numeric)
    return proven


def _precise(span: Span, x: Tensor, numeric: int) -> Tensor:
    """(rows,) whether the first layer alone determines the numbers well enough."""
    tolerance = span.tolerance(torch.cat([x, x.new_ones(len(x), 1)], 1)[:, : span.right.shape[1]]) * LIMIT
    if not numeric:
        return torch.ones(len(x), dtype=torch.bool)
    enough: Tensor = tolerance < PRECISE * span.open_directions(numeric)[0]
    return enough
