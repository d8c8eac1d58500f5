"""One epoch of many federations of one shape at once: the steps of Algorithms 1 and 2 of the TabVFL thesis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from seepage.federation.vertical.guest import FLOOR
from seepage.federation.vertical.host import EVALUATED
from seepage.federation.vertical.messages import Phase, Stamp
from seepage.federation.vertical.objective import CrossEntropy, Objective
from seepage.federation.vertical.party import batches
from seepage.federation.vertical.stacked_party import Part
from seepage.federation.vertical.stacked_runs import StackedRuns


@dataclass
class Present:
    """A guest in an epoch.

    Args:
        runs: in which it is there.
        at: their places among the runs of the epoch; ``away`` those of the others.
    """

    runs: Tensor
    at: Tensor
    away: Tensor
    part: Part


class StackedEpoch:
    """One epoch of the runs that still train."""

    def __init__(self, runs: StackedRuns, phase: Phase, epoch: int, alive: Tensor) -> None:
        self._runs, self._phase, self._epoch, self._alive = runs, phase, epoch, alive
        self.absent = {
            run: runs.federations[run].failures.absent(runs.guests, phase, epoch, runs.federations[run].streams)
            for run in alive.tolist()
        }
        there = torch.tensor([[name not in self.absent[run] for name in runs.guests] for run in alive.tolist()])
        self._host = runs.host.at(alive)
        self._guests = [
            Present(
                alive[there[:, place]],
                there[:, place].nonzero().flatten(),
                (~there[:, place]).nonzero().flatten(),
                runs.parties[place].at(alive[there[:, place]]),
            )
            for place in range(len(runs.guests))
        ]
        self._anybody = there.any(1)

    def training(self) -> list[float]:
        """Learn from all training rows; the mean loss of every run."""
        found = self._batches(0, self._runs.training.batch_size)
        self._runs.host.take(self._alive, self._host)
        for guest, party in zip(self._guests, self._runs.parties, strict=True):
            party.take(guest.runs, guest.part)
        return found

    def validation(self) -> list[float]:
        """The mean loss of every run on its validation rows."""
        alone = self._phase == Phase.PRETRAINING and self._runs.local
        with torch.no_grad():
            return self._batches(1, self._runs.training.batch_size if alone else EVALUATED)

    def _batches(self, kind: int, size: int) -> list[float]:
        alone = self._phase == Phase.PRETRAINING and self._runs.local
        rows = torch.arange(self._runs.counts[kind])
        # As the host does it: a single row at the end joins the batch before where BatchNorm learns, or alone.
        parts = batches(rows, size) if kind == 0 or alone else list(torch.split(rows, size))
        total = torch.zeros(len(self._alive), dtype=torch.float64)
        first = 0
        for number, part in enumerate(parts):
            stamp = Stamp(self._phase, self._epoch, number, training=kind == 0)
            step = self._alone if alone else self._pretrain if self._phase == Phase.PRETRAINING else self._finetune
            total += step(first, first + len(part), stamp).double() * len(part)
            first += len(part)
        return [float(each) for each in total / first]

    def _alone(self, first: int, last: int, stamp: Stamp) -> Tensor:
        """Every guest rebuilds its columns by itself."""
        losses = torch.zeros(len(self._alive))
        for place, guest in enumerate(self._guests):
            if len(guest.runs):
                x, masks = self._hidden(place, first, last, stamp)
                weights = guest.part.weights(stamp.training)
                values, _ = self._runs.design.values(weights, place, _shown(x, masks), masks, self._phase)
                loss = _rebuilding(self._runs.design.rebuilt(weights, place, values), x, masks)
                if stamp.training:
                    guest.part.learn(_gradients(loss.sum(), guest.part.leaves))
                losses[guest.at] += loss.detach()
        return losses

    def _pretrain(self, first: int, last: int, stamp: Stamp) -> Tensor:
        """Algorithm 1 of the TabVFL thesis."""
        seen = [self._hidden(place, first, last, stamp) for place in range(len(self._guests))]
        values, masks, _ = self._gathered(seen, first, last, stamp)
        hidden = torch.cat(masks, 1) if stamp.training and self._runs.design.needs_masks else None
        chunks = self._runs.design.chunks(self._host.weights(stamp.training), values, hidden)
        losses = torch.zeros(len(self._alive))
        for place, guest in enumerate(self._guests):
            if len(guest.runs):
                weights = guest.part.weights(stamp.training)
                chunk = chunks[place][guest.at] if len(guest.away) else chunks[place]
                rebuilt = self._runs.design.rebuilt(weights, place, chunk)
                losses = losses.index_add(0, guest.at, _rebuilding(rebuilt, *seen[place]))
        if stamp.training:
            self._teach(losses.sum(), self._anybody)
        return losses.detach()

    def _finetune(self, first: int, last: int, stamp: Stamp) -> Tensor:
        """Algorithm 2 of the TabVFL thesis."""
        runs = self._runs
        seen = [(runs.columns[k][not stamp.training].batch(first, last, each.runs), None) for k, each in self._each()]
        values, _, sparsities = self._gathered(seen, first, last, stamp)
        weights = self._host.weights(stamp.training)
        latent, sparsity = runs.design.latent(weights, values)
        outputs = torch.bmm(weights["mapping.weight"], latent)  # (runs, outputs, rows)
        errors = _errors(runs.objective, outputs, runs.labels[not stamp.training].batch(first, last, self._alive))
        losses = errors if sparsity is None else errors - runs.training.sparsity * sparsity
        if stamp.training:
            own = sum((each.sum() for each in sparsities), torch.zeros(()))
            self._teach(losses.sum() - runs.training.sparsity * own, None)
            return losses.detach()
        return errors

    def _each(self) -> list[tuple[int, Present]]:
        return list(enumerate(self._guests))

    def _hidden(self, place: int, first: int, last: int, stamp: Stamp) -> tuple[Tensor, Tensor | None]:
        """(runs, columns, rows) a guest's columns, where it is there, and what it hides of them."""
        runs = self._guests[place].runs
        x = self._runs.columns[place][not stamp.training].batch(first, last, runs)
        if not stamp.training or not len(runs):
            return x, None
        return x, self._runs.masks[place].batch(last - first, stamp, runs)

    def _gathered(
        self, seen: Sequence[tuple[Tensor, Tensor | None]], first: int, last: int, stamp: Stamp
    ) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
        """What every guest sends in every run, or what stands in for it, with its masks; its attention's sparsity."""
        values, masks, sparsities = [], [], []
        for place, guest in enumerate(self._guests):
            cache = self._runs.caches[place][not stamp.training]
            x, hides = seen[place]
            told = hides if self._runs.design.needs_masks else None
            sent = None
            if len(guest.runs):
                weights = guest.part.weights(stamp.training)
                sent, sparsity = self._runs.design.values(weights, place, _shown(x, hides), hides, self._phase)
                cache.put(guest.runs, first, sent, told)
                if sparsity is not None:
                    sparsities.append(sparsity)
            if sent is not None and not len(guest.away):
                values.append(sent)
                masks.append(torch.zeros_like(sent) if told is None else told)
                continue
            stand_in, kept = cache.get(self._alive, first, last)
            values.append(stand_in if sent is None else stand_in.index_copy(0, guest.at, sent))
            masks.append(kept if told is None or sent is None else kept.index_copy(0, guest.at, told))
        return values, masks, sparsities

    def _teach(self, loss: Tensor, there: Tensor | None) -> None:
        """Everybody who is there takes a step."""
        parts = [self._host, *(guest.part for guest in self._guests if len(guest.runs))]
        found = _gradients(loss, [leaf for part in parts for leaf in part.leaves])
        for part in parts:
            own, found = found[: len(part.leaves)], found[len(part.leaves) :]
            part.learn(own, there if part is self._host else None)


def _errors(objective: Objective, outputs: Tensor, labels: Tensor) -> Tensor:
    """(runs,) the mean loss of (runs, outputs, rows), as the objective has it for one run."""
    if isinstance(objective, CrossEntropy):
        each = functional.cross_entropy(outputs, labels, reduction="none", label_smoothing=objective.smoothing)
        return each.mean(1)
    return (outputs[:, 0] - labels).square().mean(1)


def _gradients(loss: Tensor, leaves: Sequence[Tensor]) -> tuple[Tensor | None, ...]:
    if not loss.requires_grad:  # nobody is there in any run
        return (None,) * len(leaves)
    found: tuple[Tensor | None, ...] = torch.autograd.grad(loss, leaves, allow_unused=True)
    return found


def _shown(x: Tensor, masks: Tensor | None) -> Tensor:
    return x if masks is None else (1 - masks) * x


def _rebuilding(rebuilt: Tensor, x: Tensor, masks: Tensor | None) -> Tensor:
    """(runs,) the loss of rebuilt columns, as a guest computes it for one run."""
    count = x.shape[2]
    errors = (rebuilt - x) if masks is None else (rebuilt - x) * masks
    scaled = errors.square() / x.var(2, correction=min(1, count - 1), keepdim=True).clamp(min=FLOOR)
    hidden = float(x.shape[1]) if masks is None else masks.sum(1)
    return (scaled.sum(1) / (hidden + 1e-9)).mean(1)
