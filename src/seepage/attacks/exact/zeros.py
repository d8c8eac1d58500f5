r"""Rows by the neurons that were silent for them.

A ReLU neuron that a record does not wake passes none of its loss back. So the first layer's gradient
:math:`A = \sum_i u_i v_i^\top` has, on the neurons :math:`S_i` that record :math:`i` leaves silent, one record less:
:math:`A_{S_i}` loses one rank, and the direction it loses is the record's *dual*, :math:`w_i` with
:math:`v_j^\top w_i = 0` for every other record :math:`j`. All duals together are the inverse of all records.

This stays exact after many local steps, as long as silent neurons stay silent: the first layer's weights drift, but the
records do not. A rough idea of a record is enough to know which neurons it leaves silent. It needs more silent neurons
than there are other records, so about two neurons for each record.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from seepage.attacks.exact.certificate import LIMIT
from seepage.attacks.exact.span import Span, span_of
from seepage.attacks.exact.view import View, layer_gradient
from seepage.models import Parameters, parameter_name

QUIET = 5.0  # times the error: a singular value that nobody put there
LOUD = 10.0  # times as large: the next one, so that only one direction is lost
DRIFT = 2.0  # a silent neuron is this many times its way during training, and the usual way, from waking
ALIKE = 0.99  # the cosine of two duals of one record
MANY = 2_000  # candidates at once
PASSES = 4  # over rows that may be exchanged
ENTRIES = 2**25  # of the settling's matrices; larger ones are never written down
CLOSE, ROUNDS = 1e-10, 200  # of conjugate gradients: what may be left of the wanted, and when to stop anyway


def silent_neurons(view: View, change: Parameters, x: Tensor) -> Tensor:
    """(rows, neurons) the neurons of the first layer that pass nothing back for a row, with a margin for the drift."""
    place = _entrance(view)
    layer = view.layers[place]
    outputs = max(view.outputs, 2)
    silent = torch.ones(len(x), layer_gradient(view.gradient, layer).shape[0], dtype=torch.bool)
    for label in range(outputs if view.learner.task != "regression" else 1):
        silent &= view.slopes(x, torch.full((len(x),), label))[place] == 0
    names = [parameter_name(layer.name, each) for each in (("weight", "bias") if layer.biased else ("weight",))]

    def reaction(values: Parameters) -> Tensor:
        shift = values[names[1]] if layer.biased else 0.0
        return x @ values[names[0]].T + shift

    excited, way = reaction(view.parameters), reaction({name: change[name].double() for name in names}).abs()
    return silent & (excited.abs() > DRIFT * (way + way.mean()))


def with_weak(view: View) -> View:
    """The view with all directions of the first layer that stand above the error at all.

    A weak record is unsafe alone, but here the many neurons that agree make up for it.
    """
    place = _entrance(view)
    layer = view.layers[place]
    span = span_of(layer_gradient(view.gradient, layer), view.rows, view.floors[layer.name], drifting=True)
    return _with_entrance(view, span)


def duals_of(view: View, change: Parameters, x: Tensor, known: Tensor) -> tuple[Tensor, list[int]]:
    """The duals of those candidates whose silent neurons lack exactly one direction.

    Args:
        change: how far the parameters went during training.
        x: (candidates, width) rows, right or wrong; of several with one dual the first counts.
        known: (duals, rank) those that were found before.

    Returns:
        (duals, rank) the new ones, and the candidates they belong to.
    """
    place = _entrance(view)
    span = view.spans[place]
    part = layer_gradient(view.gradient, view.layers[place]) @ span.right.T  # (neurons, rank)
    found, places = known, []
    for begin in range(0, len(x), MANY):
        silent = silent_neurons(view, change, x[begin : begin + MANY]).double()
        values, vectors = torch.linalg.eigh(torch.einsum("nk,ka,kb->nab", silent, part, part))
        values = values.clamp(min=0).sqrt()
        quiet = QUIET * span.error * silent.sum(1).sqrt()
        clear = (values[:, 0] < quiet) & (silent.sum(1) > span.rank)
        if span.rank > 1:
            clear &= values[:, 1] > LOUD * quiet
        for number in clear.nonzero()[:, 0].tolist():
            dual = vectors[number, :, 0]
            if len(found) < span.rank and not bool(((found @ dual).abs() > ALIKE).any()):
                found = torch.cat([found, dual[None]])
                places.append(begin + number)
    return found[len(known) :], places


def rows_from(view: View, duals: Tensor) -> Tensor:
    """The records, if all duals are known."""
    place = _entrance(view)
    vectors = torch.linalg.inv(duals.T) @ view.spans[place].right
    x = vectors[:, : view.space.layout.width]
    if view.layers[place].biased:
        x = x / vectors[:, -1:]
    pairs = zip(view.space.layout.blocks, view.codes, strict=True)
    codes = [torch.cdist(x[:, block], table).argmin(1) for block, table in pairs]
    numbers = x[:, : view.numeric].clamp(view.low, view.high)
    return view.rows_of(torch.stack(codes, 1) if codes else torch.zeros(len(x), 0, dtype=torch.long), numbers)


def without_duals(view: View, duals: Tensor) -> View:
    """The view of the records that have none of these duals: what is left has few dimensions."""
    span = view.spans[_entrance(view)]
    left = torch.linalg.svd(duals)[2][len(duals) :]  # (rank - duals, rank)
    return _with_entrance(view, replace(span, right=left @ span.right, values=span.values[len(duals) :]))


def settle(view: View, change: Parameters, x: Tensor, steps: int = 20) -> tuple[Tensor, float]:
    """Move the numbers of a complete set of rows until every neuron's gradient is made by the rows that wake it.

    A neuron's gradient is a combination of the rows that are not silent for it. The combinations are eliminated
    (variable projection, with Kaufman's approximate derivative), so a step is one linear system in all numbers.

    Returns:
        the rows, and what they leave per entry in units of the update's error: about 1 for the truth.
    """
    place = _entrance(view)
    error = view.spans[place].error
    count, numeric = len(x), view.numeric
    weights, rest, basis = _explained(view, change, x)
    cost, damping = float(rest.square().sum()), 1e-6
    for _ in range(steps):
        slope = torch.einsum("ki,ka->ia", weights, rest[:, :numeric])
        large = max(len(basis) * numeric, count**2 * numeric) * numeric > ENTRIES
        step = (_iterated_step if large else _step)(weights, basis[:, :numeric], slope, damping)
        trial = x.clone()
        trial[:, :numeric] = (x[:, :numeric] + step).clamp(view.low, view.high)
        found = _explained(view, change, trial)
        better = float(found[1].square().sum())
        if better < cost:
            still = better > 0.999 * cost
            (weights, rest, basis), x, cost, damping = found, trial, better, max(damping * 0.1, 1e-14)
            if still:
                break
        else:
            damping *= 10
            if damping > 1:
                break
    return x, (cost / rest.numel()) ** 0.5 / error


def _step(weights: Tensor, basis: Tensor, slope: Tensor, damping: float) -> Tensor:
    """(rows, numeric) a damped step of Gauss-Newton over the numbers of all rows.

    Args:
        weights: (neurons, rows).
        basis: (neurons, numeric, rows) of the rows awake.
        slope: (rows, numeric) what the step has to explain.
        damping: as a share of the normal matrix's largest entry.
    """
    # The derivative of a neuron's rest by number a of row i: its weight times the a-th axis outside of the basis.
    outside = -basis @ basis.transpose(1, 2)  # (neurons, numeric, numeric)
    outside += torch.eye(basis.shape[1], dtype=basis.dtype)
    square = torch.einsum("ki,kj,kab->iajb", weights, weights, outside).reshape(slope.numel(), -1)
    ridge = damping * torch.diagonal(square).max() * torch.eye(len(square), dtype=basis.dtype)
    found: Tensor = torch.linalg.solve(square + ridge, slope.flatten())
    return found.reshape(slope.shape)


def _iterated_step(weights: Tensor, basis: Tensor, slope: Tensor, damping: float) -> Tensor:
    """The same by conjugate gradients, for tables whose matrix is too large to be written down."""
    largest = (weights.square().T @ (1 - basis.square().sum(2))).max()

    def product(step: Tensor) -> Tensor:
        moved = weights @ step  # (neurons, numeric)
        inside = torch.einsum("kda,kd->ka", basis, moved)
        return weights.T @ (moved - torch.einsum("kda,ka->kd", basis, inside)) + damping * largest * step

    step, left, direction = torch.zeros_like(slope), slope, slope
    size = float(left.square().sum())
    goal = CLOSE**2 * size
    for _ in range(ROUNDS):
        if size <= goal:
            break
        image = product(direction)
        along = size / float((direction * image).sum())
        step, left = step + along * direction, left - along * image
        size, before = float(left.square().sum()), size
        direction = left + size / before * direction
    return step


def completed(view: View, change: Parameters, x: Tensor, others: Tensor) -> Tensor:
    """A set of rows with the missing ones from a list of candidates, if the set then explains the first layer.

    Returns:
        the complete set with its numbers settled, or the rows as they were.
    """
    rows = x
    for _ in range(PASSES):
        rows, excess = settle(view, change, chosen(view, change, rows, len(x), others))
        if excess < LIMIT:
            return rows
    return x


def chosen(view: View, change: Parameters, x: Tensor, fixed: int, others: Tensor) -> Tensor:
    """Rows that are missing from a set, and better ones for those that are not fixed, from a list of candidates.

    Each step takes the candidate that explains most of what the other rows leave of the neurons it wakes, as in
    orthogonal matching pursuit.

    Args:
        x: (rows, width) the set so far.
        fixed: so many of them, the first, stay.
    """
    awake = ~silent_neurons(view, change, others)
    vectors = _vectors(view, others)

    def best(x: Tensor) -> Tensor:
        _, rest, basis = _explained(view, change, x)
        inside = torch.einsum("kda,cd->cka", basis, vectors).square().sum(2)
        beyond = vectors.square().sum(1)[:, None] - inside  # (candidates, neurons)
        gain = (vectors @ rest.T).square() / beyond.clamp(min=1e-6)
        return others[(gain * awake).sum(1).argmax()]

    for _ in range(view.rows - len(x)):
        x = torch.cat([x, best(x)[None]])
    for _ in range(PASSES):
        before = x
        for place in range(fixed, len(x)):
            rest = torch.cat([x[:place], x[place + 1 :]])
            row = best(rest)
            if _strain(view, change, torch.cat([rest, row[None]])) < _strain(view, change, x):
                x = torch.cat([x[:place], row[None], x[place + 1 :]])
        if torch.equal(before, x):
            break
    return x


def _strain(view: View, change: Parameters, x: Tensor) -> float:
    return float(_explained(view, change, x)[1].square().sum())


def _explained(view: View, change: Parameters, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Every neuron's gradient as a combination of the rows that wake it.

    Returns:
        weights (neurons, rows), the rest (neurons, inputs), and a basis of the rows awake (neurons, inputs, rows).
    """
    target = layer_gradient(view.gradient, view.layers[_entrance(view)])  # (neurons, inputs)
    awake = ~silent_neurons(view, change, x).T  # (neurons, rows)
    bases = torch.linalg.svd((awake[:, :, None] * _vectors(view, x)).transpose(1, 2), full_matrices=False)
    kept = 1e-9 * bases.S[:, :1].clamp(min=1e-300) < bases.S
    basis = bases.U * kept[:, None]
    inside = torch.einsum("kda,kd->ka", basis, target)
    weights = torch.einsum("kar,ka->kr", bases.Vh, inside / bases.S.clamp(min=1e-300) * kept)
    return weights, target - torch.einsum("kda,ka->kd", basis, inside), basis


def _vectors(view: View, x: Tensor) -> Tensor:
    """Rows as the first layer takes them in: with a 1 for the bias."""
    return torch.cat([x, x.new_ones(len(x), 1)], 1) if view.layers[_entrance(view)].biased else x


def _entrance(view: View) -> int:
    return next(place for place, layer in enumerate(view.layers) if layer.entrance)


def _with_entrance(view: View, span: Span) -> View:
    place = _entrance(view)
    return replace(view, spans=tuple(span if number == place else each for number, each in enumerate(view.spans)))
