"""Trains many vertical federations of one shape at once, as each would train alone.

A step of one small federation is a few thousand tiny operations, and a processor spends it between them. A study of
absent guests trains one model dozens of times: with all of them in every operation, a training costs a fraction. This
is a simulation: all parties of all runs are in one process, and no message is made, so nothing is counted that crosses.
What the runs have in common is their shape and settings; rows, seeds and who is absent are each run's own.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from seepage._core import InputError, Progress, silent
from seepage._core.names import HOST
from seepage.federation.vertical.guest import FLOOR
from seepage.federation.vertical.host import EVALUATED
from seepage.federation.vertical.messages import PartyError, Phase, Stamp
from seepage.federation.vertical.objective import CrossEntropy, Objective
from seepage.federation.vertical.party import batches
from seepage.federation.vertical.schedule import Epoch, History, Training
from seepage.federation.vertical.stacked_designs import StackedDesign, stacked_design
from seepage.federation.vertical.stacked_party import Part, StackedLearning
from seepage.federation.vertical.stacked_rows import StackedCache, StackedMasks, StackedRows
from seepage.federation.vertical.state import Checkpoint
from seepage.federation.vertical.training import Federation

BETWEEN = 60.0  # seconds from one saved state to the next
Split = tuple[np.ndarray, np.ndarray]  # rows to train on, rows to validate on


def shape_of(federation: Federation, split: Split) -> tuple[object, ...]:
    """Federations with equal ones can be trained together."""
    rows = federation.rows
    widths = tuple(each.shape[1] for each in rows.columns)
    weighted = rows.objective.weights is not None
    shape = (federation.design, federation.parts, federation.training, tuple(rows.names), widths, rows.classes)
    return (*shape, rows.objective.classifies, weighted, len(split[0]), len(split[1]))


def train_together(
    federations: Sequence[Federation],
    splits: Sequence[Split],
    *,
    checkpoint: Checkpoint | None = None,
    progress: Progress = silent,
) -> None:
    """Train all of them; each has its weights and its history afterwards.

    Args:
        federations: of one :func:`shape_of`, none of them trained yet.
        splits: the rows of each.
        checkpoint: where the state of all is saved; one that is there is continued.

    Guarantees:
        Weights, losses and stopping are those of :meth:`Federation.fit` for each alone, to within float32's rounding,
        which epochs enlarge. What crosses is not counted, and seconds are those of all runs over their number.
    """
    shapes = {shape_of(*each) for each in zip(federations, splits, strict=True)}
    if len(shapes) != 1:
        raise InputError(f"Federations of {len(shapes)} shapes cannot be trained together.")
    training, first = federations[0].training, federations[0]
    design = stacked_design(first.design, first.parts, [each.shape[1] for each in first.rows.columns])
    if training.defense is not None or design is None or first.rows.objective.weights is not None:
        raise InputError("Federations with a defence, with weighted rows or of another design train one by one.")
    if any(federation.history.epochs for federation in federations):
        raise InputError("A federation that was trained before cannot be trained together with others.")
    runs = _Runs(federations, splits, design)
    saves = _Saves(runs, checkpoint)
    for phase, limit in ((Phase.PRETRAINING, training.pretraining), (Phase.FINETUNING, training.finetuning)):
        if limit and phase not in runs.finished:
            _train_phase(runs, phase, limit, saves, progress)
    runs.give_back()


def _train_phase(runs: _Runs, phase: Phase, limit: int, saves: _Saves, progress: Progress) -> None:
    if runs.epochs(phase) == 0:
        runs.begin(phase)
    patience, whole = runs.training.patience, len(runs.federations)
    while (epoch := runs.epochs(phase)) < limit and len(alive := runs.alive(phase, patience)):
        begin = time.perf_counter()
        passed = _Pass(runs, phase, epoch, alive)
        losses = passed.training()
        validations = passed.validation()
        seconds = (time.perf_counter() - begin) / len(alive)
        for run, loss, validation in zip(alive.tolist(), losses, validations, strict=True):
            for value in (loss, validation):
                if not np.isfinite(value):
                    raise PartyError(f"The loss of run {run + 1} is {value} in epoch {epoch + 1}: training diverged.")
            absent = tuple(sorted(passed.absent[run]))
            runs.histories[run].epochs.append(Epoch(phase.value, epoch, loss, validation, seconds, absent))
        if patience:
            runs.remember(torch.tensor([run for run in alive.tolist() if runs.best(run, phase) == epoch]).long())
        saves.now_and_then()
        progress(phase.value, epoch + 1, limit, f"{len(alive)} of {whole} runs, {seconds:.2f} s each")
    runs.recall()
    runs.finished.append(phase)
    saves.save()


class _Saves:
    """Keeps the state of all runs, once in a while: an epoch may take less time than writing it."""

    def __init__(self, runs: _Runs, checkpoint: Checkpoint | None) -> None:
        self._runs, self._checkpoint = runs, checkpoint
        self._last, self._number = time.monotonic(), 0
        if checkpoint is not None and (found := checkpoint.load(list(runs.state()))) is not None:
            states, facts = found
            self._number = int(facts["state"])
            runs.restore(states, facts)

    def now_and_then(self) -> None:
        if time.monotonic() - self._last > BETWEEN:
            self.save()

    def save(self) -> None:
        if self._checkpoint is not None:
            self._number += 1
            self._checkpoint.save(self._number, self._runs.state(), self._runs.facts())
        self._last = time.monotonic()


class _Runs:
    """All parties of all runs, their rows, and what they have come to."""

    def __init__(self, federations: Sequence[Federation], splits: Sequence[Split], design: StackedDesign) -> None:
        self.federations, self.design = federations, design
        self.training: Training = federations[0].training
        self.guests = tuple(federations[0].rows.names)
        self.local = federations[0].design.local
        self.histories = [History() for _ in federations]
        self.finished: list[Phase] = []
        rate, clip = self.training.rate, self.training.clip
        self.host = StackedLearning([each.host.learning for each in federations], rate, clip)
        self.parties = [
            StackedLearning([each.guests[place].learning for each in federations], rate, clip)
            for place in range(len(self.guests))
        ]
        kinds = range(2)  # training rows, validation rows
        indices = [[torch.from_numpy(np.asarray(split[kind])) for split in splits] for kind in kinds]
        self.counts = [len(indices[kind][0]) for kind in kinds]
        self.labels = [_rows(indices[kind], [each.rows.labels for each in federations]) for kind in kinds]
        self.columns = [
            [_rows(indices[kind], [each.rows.columns[place] for each in federations]) for kind in kinds]
            for place in range(len(self.guests))
        ]
        self.masks = [
            StackedMasks(
                [each.guests[place].streams for each in federations], name, columns.shape[1], self.training.hidden
            )
            for place, (name, columns) in enumerate(zip(self.guests, federations[0].rows.columns, strict=True))
        ]
        self.caches: list[list[StackedCache]] = []
        self.objective = federations[0].rows.objective

    def begin(self, phase: Phase) -> None:
        """A fresh optimiser for everybody, and caches for what guests send in this phase."""
        for party in (self.host, *self.parties):
            party.restart()
        self.caches = self._empty(phase)

    def _empty(self, phase: Phase) -> list[list[StackedCache]]:
        used = torch.tensor(
            [each.failures.probability > 0 and each.failures.method != "zeros" for each in self.federations]
        )
        masked = phase == Phase.PRETRAINING and self.design.needs_masks
        return [
            [
                StackedCache(used, count, self.design.value_width(place, phase), masks=masked and not kind)
                for kind, count in enumerate(self.counts)
            ]
            for place in range(len(self.guests))
        ]

    def epochs(self, phase: Phase) -> int:
        """How many the run that trained longest has behind it."""
        return max(len(history.of(phase)) for history in self.histories)

    def alive(self, phase: Phase, patience: int) -> Tensor:
        """The runs that still train."""
        return torch.tensor(
            [
                run
                for run, history in enumerate(self.histories)
                if not history.of(phase) or not history.stopped(phase, patience)
            ],
            dtype=torch.long,
        )

    def best(self, run: int, phase: Phase) -> int:
        """The number of a run's best epoch."""
        best = self.histories[run].best(phase)
        assert best is not None
        return best.number

    def remember(self, runs: Tensor) -> None:
        for party in (self.host, *self.parties):
            party.remember(runs)

    def recall(self) -> None:
        for party in (self.host, *self.parties):
            party.recall()

    def state(self) -> dict[str, dict[str, Tensor]]:
        """To save."""
        kept = {
            f"{place}.{kind}.{name}": tensor
            for place, caches in enumerate(self.caches)
            for kind, cache in enumerate(caches)
            for name, tensor in (("values", cache.values), ("masks", cache.masks))
        }
        parties = {f"guest {place}": party.state() for place, party in enumerate(self.parties)}
        return {HOST: self.host.state(), **parties, "caches": kept}

    def facts(self) -> dict[str, Any]:
        """To save beside it."""
        return {
            "epochs": [[asdict(each) for each in history.epochs] for history in self.histories],
            "finished": [phase.value for phase in self.finished],
        }

    def restore(self, states: Mapping[str, dict[str, Tensor]], facts: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        self.histories = [
            History([Epoch(**(each | {"absent": tuple(each["absent"])})) for each in epochs])
            for epochs in facts["epochs"]
        ]
        self.finished = [Phase(value) for value in facts["finished"]]
        self.host.restore(states[HOST])
        for place, party in enumerate(self.parties):
            party.restore(states[f"guest {place}"])
        self.caches = self._empty(Phase(self.histories[0].epochs[-1].phase))
        for place, caches in enumerate(self.caches):
            for kind, cache in enumerate(caches):
                cache.values = states["caches"][f"{place}.{kind}.values"]
                cache.masks = states["caches"][f"{place}.{kind}.masks"]

    def give_back(self) -> None:
        """Every federation has its weights and its history."""
        for party in (self.host, *self.parties):
            party.give_back()
        for federation, history in zip(self.federations, self.histories, strict=True):
            federation.history.epochs.extend(history.epochs)


@dataclass
class _There:
    """A guest in an epoch.

    Args:
        runs: in which it is there.
        at: their places among the runs of the epoch; ``away`` those of the others.
    """

    runs: Tensor
    at: Tensor
    away: Tensor
    part: Part


class _Pass:
    """One epoch of the runs that still train."""

    def __init__(self, runs: _Runs, phase: Phase, epoch: int, alive: Tensor) -> None:
        self._runs, self._phase, self._epoch, self._alive = runs, phase, epoch, alive
        self.absent = {
            run: runs.federations[run].failures.absent(runs.guests, phase, epoch, runs.federations[run].streams)
            for run in alive.tolist()
        }
        there = torch.tensor([[name not in self.absent[run] for name in runs.guests] for run in alive.tolist()])
        self._host = runs.host.at(alive)
        self._guests = [
            _There(
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

    def _each(self) -> list[tuple[int, _There]]:
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


def _rows(indices: Sequence[Tensor], tensors: Sequence[Tensor]) -> StackedRows:
    return StackedRows([tensor[index] for tensor, index in zip(tensors, indices, strict=True)])
