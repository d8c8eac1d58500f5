r"""Vertical learning while the model trains: intersect what the batches span.

The first layer's gradient of a batch, weights and bias side by side, is :math:`\sum_i \delta_i (x_i, 1)^\top`. Its
rows span the batch's rows :math:`(x_i, 1)`, at whatever weights it was computed, whatever the slopes
:math:`\delta_i`, the labels, the loss, the rate and the optimiser. The server chose the batches, so it knows which
spans hold a person: the direction that they have in common is that person's row. Nobody needs as many batches as there
are people; a person in four or five batches is read.

What it needs: fewer independent rows in a batch than the layer has neurons, and than a row has independent inputs. A
batch with more rows than independent inputs spans everything that its categories can be, and tells only these.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from seepage._core import NotApplicable, Progress, Streams, silent
from seepage.attacks.vertical.front import has_front, read_behind
from seepage.attacks.vertical.intersect import ASKED, IN, MOST, common
from seepage.attacks.vertical.span import Span
from seepage.attacks.vertical.span_fit import enough_batches, fit_to_spans
from seepage.models import linear_calls
from seepage.observation import Claim
from seepage.observation.vertical import Recovery, VerticalScene, VerticalUpdate

DRAWN = Streams(0)  # nothing is drawn
ROUNDING = 1e-7  # of the largest singular value: below this a direction is float32's rounding
FIRM = 1e-4  # singular values from here on give directions to a thousandth: nobody is missing in such a batch
ONE = 0.1  # how far an entry of a category may be from 0 or 1
SPARE = 2  # batches of everyone beyond those that are fitted behind local parts, of which the clearest are taken


@dataclass(frozen=True, kw_only=True)
class Spans:
    """Recover every person's inputs from the spans of the batches that held the person.

    Guarantees:
        A row is *certified* if two batches or more hold its direction, most of those that were asked agree, no batch
        that is complete lacks it, no other direction lies in the same spans (their second eigenvalue), and every
        category is one-hot, of which the search made no use. Behind local parts a row is certified if a batch that was
        kept out of the fit holds it.

    Args:
        memory: bytes of spans that are kept; the batches that tell most are.

    References:
        Seepage (``docs/explanation/vertical-gradients.md``).

    Example:
        >>> Spans().memory // 2**30
        1
    """

    memory: int = 1 << 30

    def start(self, scene: VerticalScene, streams: Streams = DRAWN, *, progress: Progress = silent) -> SpanReader:
        """An attack that is fed batch by batch."""
        if linear_calls(scene.learner, scene.space.layout.width)[scene.first] != [1]:
            raise NotApplicable(
                "The first fully connected layer sees a row in several parts, so a batch's gradient does not span its "
                "rows."
            )
        if scene.bias is None and not scene.space.layout.sizes:
            raise NotApplicable(
                "The first layer has no bias and the table no categories, so a direction has no scale and is no row."
            )
        return SpanReader(self, scene)


class SpanReader:
    """Takes batches as they come; says at any time whose rows they determine."""

    def __init__(self, settings: Spans, scene: VerticalScene) -> None:
        self._scene, self._memory = scene, settings.memory
        self._spans: list[Span] = []
        self._front = has_front(scene)
        self._times = torch.zeros(scene.rows, dtype=torch.long)
        self.seen = 0

    def see(self, update: VerticalUpdate) -> None:
        """Take one batch."""
        update.check(self._scene)
        self.seen += 1
        if self._front and int(self._times[update.rows].min()) >= enough_batches(self._scene) + SPARE:
            return
        gradient = update.gradient[self._scene.weight].double()
        if self._scene.bias is not None:
            gradient = torch.cat([gradient, update.gradient[self._scene.bias].double()[:, None]], 1)
        _, values, right = torch.linalg.svd(gradient, full_matrices=False)
        rank = int((values > ROUNDING * values[0]).sum())
        if not rank:
            return
        size = len(update.rows)
        clear = float(values[size - 1] / values[0]) if rank >= size else 0.0
        self._times[update.rows] += 1
        self._spans.append(Span(update.rows, right[:rank].float(), clear, update.parameters))
        if len(self._spans) * self._spans[0].basis.numel() * 4 > self._memory:
            self._spans.remove(min(self._spans, key=lambda span: span.clear))

    def claims(self) -> list[Claim]:
        """One claim about everyone's rows, with what is proven."""
        recovery, certified = self.recover()
        (claim,) = recovery.claims(self._scene)
        if claim.rows is None:
            return [claim]
        return [replace(claim, certified=certified.numpy())]

    def recover(self) -> tuple[Recovery, Tensor]:
        """What the batches so far determine, and which rows are certified."""
        people: list[list[Span]] = [[] for _ in range(self._scene.rows)]
        for span in sorted(self._spans, key=lambda span: -span.clear):  # the clearest first, then the earliest
            for person in span.rows.tolist():
                people[person].append(span)
        if self._front and not self._scene.fixed:
            inputs, certified = fit_to_spans(self._scene, people)
            return self._said(Recovery(inputs, torch.isfinite(inputs).all(1), (), math.nan, ""), certified), certified
        inputs, certified = self._directions(people)
        found = Recovery(inputs, torch.isfinite(inputs).all(1), (), math.nan, "")
        if self._front:
            found = read_behind(self._scene, self._scene.learner.initial(), found)
        return self._said(found, certified), certified

    def _directions(self, people: list[list[Span]]) -> tuple[Tensor, Tensor]:
        """Everyone's inputs of the first layer; NaN for those whom no direction is common to."""
        width = self._scene.learner.initial()[self._scene.weight].shape[1]
        inputs = torch.full((len(people), width), torch.nan, dtype=torch.float64)
        certified = torch.zeros(len(people), dtype=torch.bool)
        for person, spans in enumerate(people):
            if len(spans) < ASKED:
                continue
            found = common([span.basis for span in spans[:MOST]])
            row = self._scaled(found.direction.double())
            valid = self._front or self._one_hot(row)
            if found.sure and valid and not _contradicted(found.direction, spans):
                inputs[person], certified[person] = row, True
        return inputs, certified

    def _scaled(self, direction: Tensor) -> Tensor:
        """The row of a direction: 1 at the bias or, without one, in the first category's block."""
        if self._scene.bias is not None:
            return direction[:-1] / direction[-1]
        layout = self._scene.space.layout
        return direction / direction[layout.numeric : layout.numeric + layout.sizes[0]].sum()

    def _one_hot(self, row: Tensor) -> bool:
        """Whether every category has one entry of 1 and no other."""
        layout = self._scene.space.layout
        entries = row[layout.numeric :]
        if not bool(((entries.abs() < ONE) | ((entries - 1).abs() < ONE)).all()):
            return False
        return all(int((block > 0.5).sum()) == 1 for block in torch.split(entries, list(layout.sizes)))

    def _said(self, found: Recovery, certified: Tensor) -> Recovery:
        total, count = self._scene.rows, int(found.determined.sum())
        behind = " Their data were fitted behind the workers' local parts." if self._front else ""
        said = f"{count} of {total} rows are determined by {self.seen} batches, {int(certified.sum())} of them "
        said += f"certified.{behind}"
        ranks = [len(span.basis) for span in self._spans]
        neurons = len(self._scene.learner.initial()[self._scene.weight])
        usual = sorted(ranks)[len(ranks) // 2] if ranks else 0
        if count < total and usual >= min(neurons, 0.9 * self._scene.batch_size):
            said += _why(ranks, self._scene.batch_size, neurons)
        elif count < total:
            said += (
                f" A batch of {self._scene.batch_size} rows spans {usual} directions: it holds more "
                "rows than its categories have independent inputs, and tells spans only which categories are there. "
                "Slopes, an attack of its own, may read them."
            )
        return replace(found, note=said)


def _contradicted(direction: Tensor, spans: list[Span]) -> bool:
    """Whether a batch whose rows are all clearly there lacks the direction: then it is not of whom the server asked."""
    firm = [span.basis for span in spans if span.clear > FIRM][:MOST]
    return any(float((direction - (basis @ direction) @ basis).norm()) > IN for basis in firm)


def _why(ranks: list[int], rows: int, neurons: int) -> str:
    """What keeps the rest from being determined."""
    if max(ranks) > rows:
        return (
            f" A gradient spans {max(ranks)} directions, more than a batch has rows ({rows}): there is noise in it, or "
            "it is not the true one."
        )
    if max(ranks) >= neurons:
        return f" The first layer has {neurons} neurons, too few to span a batch of {rows} rows."
    return " The others were in too few batches, or the model is so sure of them that they add nothing to a gradient."
