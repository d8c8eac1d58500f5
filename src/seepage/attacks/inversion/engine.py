"""The engine: one tensor of (observations x restarts x rows x inputs), and parts that say what happens to it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.func import grad_and_value, vmap

from seepage._core import InputError, Outcome, Progress, Streams, silent
from seepage.attacks.inversion.categories import Categories, Softmax, Unconstrained
from seepage.attacks.inversion.numbers import Numbers, Unbounded
from seepage.attacks.inversion.objectives import Cosine, Objective
from seepage.attacks.inversion.objectives.sums import SHORT
from seepage.attacks.inversion.optimisers import Adam, Optimiser
from seepage.attacks.inversion.pooling import Best, Pooling, align, doubt
from seepage.attacks.inversion.starts import Gaussian, Start
from seepage.attacks.labels import Restorer
from seepage.models import Learner, Parameters, Traced, fitting_threads
from seepage.observation import Claim, Exchange, Observation, Space

UNBOUNDED, UNCONSTRAINED, SOFTMAX, BEST = Unbounded(), Unconstrained(), Softmax(), Best()
COSINE, ADAM, GAUSSIAN = Cosine(), Adam(), Gaussian()
# Inputs of all runs of one call. Ten observations of 100,000 inputs each were slower in one piece; the bound itself is
# a choice, not the end of a sweep.
CACHE = 300_000


@dataclass(frozen=True, kw_only=True)
class Inversion:
    r"""Find rows whose update looks like the observed one.

    .. math:: \min_z \; d\big(u, \hat u(\pi(z))\big)

    with :math:`d` the objective, :math:`\hat u` the update that rows would have caused (local training is replayed for
    FedAvg), and :math:`\pi` the structure of a row: ``numbers`` and ``categories``. Every published attack is a choice
    of parts; see the presets beside this file. All observations and restarts run as one tensor. Each restart keeps
    its iterate of the lowest own loss; restarts that diverged take no part in pooling.

    Args:
        steps: iterations.
        restarts: independent starts for each observation.
        objective, numbers, categories, start, optimiser, pooling: the parts.
        restorer: how labels that are not known are worked out first; without one, dummies stand in (document 002).
        embedded: the categories used where the model looks them up in an embedding.
        compile: translate a step with torch.compile: ``no``, ``yes``.
        tolerance: the true rows have an own loss of zero up to float error; a best loss above this at the end means
            that they were not found, and the outcome is ``budget_spent``.

    Example:
        >>> Inversion(steps=100, restarts=4).restarts
        4
    """

    steps: int = 10_000
    restarts: int = 1
    objective: Objective = COSINE
    numbers: Numbers = UNBOUNDED
    categories: Categories = UNCONSTRAINED
    embedded: Categories = SOFTMAX
    start: Start = GAUSSIAN
    optimiser: Optimiser = ADAM
    pooling: Pooling = BEST
    restorer: Restorer | None = None
    compile: Literal["no", "yes"] = "no"
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        if self.steps < 1 or self.restarts < 1:
            raise InputError(f"{self.steps} steps and {self.restarts} restarts: both must be at least 1.")
        if self.compile not in ("no", "yes"):
            raise InputError(f"compile is {self.compile!r}; it is yes or no.")

    def __call__(
        self, observations: Sequence[Observation], streams: Streams, *, progress: Progress = silent
    ) -> list[Claim]:
        claims = [
            Claim(outcome=Outcome.NOT_APPLICABLE, note="The update is zero or holds NaN or infinity.")
            for _ in observations
        ]
        usable = [index for index, observation in enumerate(observations) if observation.finite]
        if not usable:
            return claims
        first = observations[usable[0]]
        self._check(first.space)
        labelled, notes = self._with_labels([observations[index] for index in usable], streams)
        known = dict(zip(usable, labelled, strict=True))
        together = max(1, CACHE // (self.restarts * first.exchange.rows * first.layout.width))
        for begin in range(0, len(usable), together):
            chosen = usable[begin : begin + together]
            part = _Part(progress, begin, len(usable), len(chosen))
            solved = self._solve([known[i] for i in chosen], streams.child(begin), part)
            for index, claim in zip(chosen, solved, strict=True):
                claims[index] = self._with_restored(claim, observations[index], known[index], notes)
        return claims

    def _with_labels(self, observations: list[Observation], streams: Streams) -> tuple[list[Observation], str]:
        """The observations with labels: the known ones, restored ones where that works, else none (dummies)."""
        missing = [index for index, observation in enumerate(observations) if observation.labels is None]
        if not missing or self.restorer is None:
            return observations, ""
        found = self.restorer([observations[index] for index in missing], streams.child("labels"))
        labelled = list(observations)
        for index, restored in zip(missing, found, strict=True):
            labelled[index] = replace(observations[index], labels=restored.labels)
        notes = dict.fromkeys(restored.note for restored in found if restored.labels is None and restored.note)
        return labelled, " ".join(notes)

    @staticmethod
    def _with_restored(claim: Claim, given: Observation, used: Observation, notes: str) -> Claim:
        """The claim with the labels that were worked out, if they were."""
        if given.labels is not None or claim.rows is None:
            return claim
        if used.labels is None:
            return replace(claim, note=" ".join(part for part in (claim.note, notes) if part))
        return replace(claim, labels=used.labels.numpy())

    def _check(self, space: Space) -> None:
        """Stop with a sentence when a part needs what this attacker does not know."""
        self.numbers.check(space)
        if self._categories(space).raw and space.standardised and space.scale is None:
            raise InputError(
                "This attack mixes categories in raw units, but the one-hot inputs are standardised with statistics "
                "it does not know; give them (--global-statistics) or choose an attack with free categories."
            )

    def _categories(self, space: Space) -> Categories:
        return self.embedded if space.layout.embedded else self.categories

    def _solve(self, observations: list[Observation], streams: Streams, progress: Progress) -> list[Claim]:
        first = observations[0]
        count, rows, layout = len(observations), first.exchange.rows, first.layout
        generator = torch.Generator().manual_seed(streams.integer("start"))
        x = self.start((count, self.restarts, rows, layout.width), layout, generator)
        lowest = torch.full((count, self.restarts), torch.inf, dtype=torch.float64)
        state: tuple[Any, ...] = (x, self.optimiser.begin(x), x, lowest)
        # The same step whatever the number of steps and restarts, so that it is recorded or compiled once.
        alike = replace(self, steps=1, restarts=min(self.restarts, 2), start=GAUSSIAN, pooling=BEST, tolerance=0.0)
        step = recorded_step(alike, first.learner, first.space, first.exchange, _shared(observations))
        fixed = _stacked(observations, flat=is_flat(self, first.learner))
        elements = count * self.restarts * (first.learner.size + rows * layout.width)
        with torch.no_grad(), fitting_threads(elements):
            for number in range(1, self.steps + 1):
                state = step(*state, torch.tensor(self.optimiser.sizes(number, self.steps)), *fixed)
                progress("attack", number, self.steps)
            best = self.structure(first.space, scaled=False)(state[2])
        alive = state[0].isfinite().all(-1).all(-1)  # a loss that was not a number once stays in the variables
        losses = torch.where(alive, state[3], torch.inf)
        return [self._claim(best[i].numpy(), losses[i].numpy(), first.space) for i in range(count)]

    def structure(self, space: Space, *, scaled: bool = True) -> Callable[[Tensor], Tensor]:
        """The map from variables to inputs; with ``scaled=False`` the blocks stay in raw units, for pooling."""
        layout = space.layout
        categories = self._categories(space)
        rescale = scaled and categories.raw and space.scale is not None and bool(layout.sizes)

        def inputs(variables: Tensor) -> Tensor:
            if not categories.raw and isinstance(self.numbers, Unbounded):
                return variables  # nothing to do
            numbers = self.numbers(variables[..., : layout.numeric], space)
            if not categories.raw:
                return torch.cat([numbers, variables[..., layout.numeric :]], dim=-1)
            blocks = torch.split(variables[..., layout.numeric :], list(layout.sizes), dim=-1)
            raw = torch.cat([categories(block) for block in blocks], dim=-1) if blocks else variables[..., :0]
            if rescale:
                assert space.shift is not None
                assert space.scale is not None
                raw = (raw - space.shift[layout.numeric :]) / space.scale[layout.numeric :]
            return torch.cat([numbers, raw], dim=-1)

        return inputs

    def _claim(self, runs: np.ndarray, losses: np.ndarray, space: Space) -> Claim:
        finite = np.isfinite(losses) & np.isfinite(runs).all((1, 2))
        if not finite.any():
            return Claim(outcome=Outcome.DIVERGED)
        aligned = align(runs[finite], losses[finite])
        blocks, raw = slice(space.layout.numeric, None), self._categories(space).raw
        scaling = None
        if space.scale is not None and space.shift is not None:
            scaling = space.shift[blocks].numpy(), space.scale[blocks].numpy()
        votes = aligned
        if scaling and not raw:  # free blocks are inputs; which category they name is told in raw units
            votes = aligned.copy()
            votes[..., blocks] = votes[..., blocks] * scaling[1] + scaling[0]
        unsure = doubt(votes, space.layout, probabilities=raw)
        rows = self.pooling(aligned, losses[finite], space.layout)
        if scaling and raw:
            rows[:, blocks] = (rows[:, blocks] - scaling[0]) / scaling[1]
        loss = float(losses[finite].min())
        lost = int((~finite).sum())
        return Claim(
            outcome=Outcome.OK if loss <= self.tolerance else Outcome.BUDGET_SPENT,
            rows=rows,
            doubt=unsure,
            loss=loss,
            note=f"{lost} of {len(losses)} restarts diverged and were left out." if lost else "",
        )


@lru_cache(maxsize=8)
def recorded_step(
    attack: Inversion, learner: Learner, space: Space, exchange: Exchange, shared: bool
) -> Callable[..., Any]:
    """One step for observations of this kind; kept, because the points of a training run are attacked one by one."""
    function = step_function(attack, learner, space, exchange, shared)
    return torch.compile(function) if attack.compile == "yes" else Traced(function)


def step_function(
    attack: Inversion, learner: Learner, space: Space, exchange: Exchange, shared: bool
) -> Callable[..., tuple[Any, ...]]:
    """One step of all runs: loss and gradient of each, its best iterate so far, the optimiser's move."""
    structure = attack.structure(space)
    flat = is_flat(attack, learner)

    def loss(x: Tensor, parameters: Parameters, direction: Sequence[Tensor], length: Tensor, labels: Tensor) -> Tensor:
        update = simulated_update(learner, exchange, parameters, structure(x), labels)
        layers = [update[name] for name in parameters]
        return attack.objective([flattened(layers)] if flat else layers, direction, length)

    one = grad_and_value(loss)
    over_observations = (0, None if shared else 0, 0, 0, 0)

    def every(x: Tensor, *fixed: Any) -> tuple[Tensor, Tensor]:
        if attack.restarts == 1:  # one axis less: 433 operations instead of 483 on the small MLP
            slope, losses = vmap(one, in_dims=over_observations)(x[:, 0], *fixed)
            return slope[:, None], losses[:, None]
        slopes, all_losses = vmap(vmap(one, in_dims=(0, None, None, None, None)), in_dims=over_observations)(x, *fixed)
        return slopes, all_losses

    def step(
        x: Tensor, state: tuple[Tensor, ...], best: Tensor, lowest: Tensor, sizes: Tensor,
        parameters: Parameters, direction: Sequence[Tensor], length: Tensor, labels: Tensor,
    ) -> tuple[Any, ...]:  # fmt: skip
        slope, losses = every(x, parameters, direction, length, labels)
        better = losses < lowest
        best = torch.where(better[..., None, None], x, best)
        lowest = torch.where(better, losses, lowest)
        x, state = attack.optimiser.move(x, slope, state, sizes)
        return x, state, best, lowest

    return step


def is_flat(attack: Inversion, learner: Learner) -> bool:
    """Whether updates are compared as one flat tensor: few numbers in one tensor are fewer operations."""
    return learner.size <= SHORT and not attack.objective.layers


def flattened(layers: Sequence[Tensor]) -> Tensor:
    """All entries of an update in a row."""
    return torch.cat([layer.flatten() for layer in layers])


def simulated_update(
    learner: Learner, exchange: Exchange, parameters: Parameters, inputs: Tensor, labels: Tensor
) -> Parameters:
    """The update that these rows would have caused, by the same code that the clients run."""
    if exchange.protocol == "fedsgd":
        return learner.gradient(parameters, inputs, labels)
    batches, targets = replayed(inputs, exchange), replayed(labels, exchange)
    return learner.local_training(parameters, batches, targets, exchange.learning_rate)


def replayed(rows: Tensor, exchange: Exchange) -> Tensor:
    """The rows as the sequence of local batches: (steps, batch, ...).

    NOTE[DIFF] a client shuffles its rows anew in every local epoch and does not tell how; the replay keeps one order.
    """
    batches = rows.reshape(-1, exchange.batch_size, *rows.shape[1:])
    return torch.cat([batches] * exchange.local_epochs)


class _Part:
    """Progress of one chunk as a share of the whole."""

    def __init__(self, progress: Progress, begin: int, total: int, size: int) -> None:
        self._progress, self._begin, self._total, self._size = progress, begin, total, size

    def __call__(self, label: str, done: int, total: int) -> None:
        chunks = math.ceil(self._total / self._size)
        self._progress(label, done + total * (self._begin // self._size), total * chunks)


def _shared(observations: Sequence[Observation]) -> bool:
    return all(observation.parameters is observations[0].parameters for observation in observations)


def _stacked(
    observations: Sequence[Observation], *, flat: bool
) -> tuple[Parameters, tuple[Tensor, ...], Tensor, Tensor]:
    """Parameters (stacked only where they differ), updates divided by their length, lengths, labels."""
    first = observations[0]
    parameters = first.parameters
    if not _shared(observations):
        parameters = {name: torch.stack([o.parameters[name] for o in observations]) for name in first.parameters}
    updates = [[o.update[name] for name in first.parameters] for o in observations]
    lengths = torch.stack([flattened(layers).double().norm() for layers in updates])
    if flat:
        updates = [[flattened(layers)] for layers in updates]
    scaled = [[layer / length for layer in layers] for layers, length in zip(updates, lengths, strict=True)]
    direction = tuple(torch.stack(layers).float() for layers in zip(*scaled, strict=True))
    # Unknown labels: the first class, or the mean of a standardised regression target; never optimised (document 002).
    dummy = torch.zeros(first.exchange.rows, dtype=torch.float32 if first.learner.task == "regression" else torch.int64)
    labels = torch.stack([dummy if o.labels is None else o.labels for o in observations])
    return parameters, direction, lengths.float(), labels
