"""The engine: one tensor of (observations x restarts x rows x inputs), and parts that say what happens to it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from seepage._core import InputError, Outcome, Progress, Streams, silent
from seepage.attacks.inversion.categories import Categories, Softmax, Unconstrained
from seepage.attacks.inversion.comparison import layers_of
from seepage.attacks.inversion.numbers import Numbers, Unbounded
from seepage.attacks.inversion.objectives import Cosine, Objective
from seepage.attacks.inversion.optimisers import Adam, Optimiser
from seepage.attacks.inversion.pooling import Best, Pooling, align, doubt, merged
from seepage.attacks.inversion.priors import Prior, Scene
from seepage.attacks.inversion.replay import Problem
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
        objective, priors, numbers, categories, start, optimiser, pooling: the parts.
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
    priors: tuple[Prior, ...] = ()
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
        scene = self.scene(observations)
        x = self._begin(observations, scene, streams)
        count, restarts = x.shape[:2]
        lowest = torch.full((count, restarts), torch.inf, dtype=torch.float64)
        best = x.clone()
        state = (x, self.optimiser.begin(x), best, lowest)
        # The same step whatever the number of steps and restarts, so that it is recorded or compiled once.
        alike = replace(self, steps=1, restarts=min(restarts, 2), start=GAUSSIAN, pooling=BEST, tolerance=0.0)
        step = recorded_step(alike, first.learner, first.space, first.exchange, scene.shared)
        fixed = stacked(observations)
        elements = count * restarts * (first.learner.size + first.exchange.rows * first.layout.width)
        with torch.no_grad(), fitting_threads(elements):
            for number in range(1, self.steps + 1):
                step(*state, torch.tensor(self.optimiser.sizes(number, self.steps)), *fixed)
                progress("attack", number, self.steps)
            rows = self.structure(first.space, scaled=False)(best)
        alive = x.isfinite().all(-1).all(-1)  # a loss that was not a number once stays in the variables
        losses = torch.where(alive, lowest, torch.inf).numpy()
        runs = merged(rows.numpy(), scene.sets)
        return [self._claim(runs[i], losses[i], first.space) for i in range(count)]

    def _begin(self, observations: list[Observation], scene: Scene, streams: Streams) -> Tensor:
        """The first variables (observations, restarts, rows, width)."""
        rows = scene.exchange.rows * scene.sets
        generator = torch.Generator().manual_seed(streams.integer("start"))
        return self.start(
            (len(observations), self.restarts, rows, scene.space.layout.width), scene.space.layout, generator
        )

    def scene(self, observations: Sequence[Observation]) -> Scene:
        """What is attacked, as priors see it."""
        first = observations[0]
        shared = all(observation.parameters is first.parameters for observation in observations)
        return make_scene(first.learner, first.space, first.exchange, shared)

    def structure(self, space: Space, *, scaled: bool = True) -> Callable[[Tensor], Tensor]:
        """The map from variables to inputs; with ``scaled=False`` the blocks stay in raw units, for pooling."""
        layout = space.layout
        categories = self._categories(space)
        rescale = scaled and categories.raw and bool(layout.sizes) and space.scale is not None
        if rescale:
            assert space.shift is not None
            assert space.scale is not None
            factor = space.scale[layout.numeric :].reciprocal()
            offset = -space.shift[layout.numeric :] * factor

        def inputs(variables: Tensor) -> Tensor:
            if not categories.raw and isinstance(self.numbers, Unbounded):
                return variables  # nothing to do
            numbers, blocks = torch.split(variables, [layout.numeric, layout.width - layout.numeric], dim=-1)
            raw = categories(blocks, layout.sizes) if layout.sizes else blocks
            if rescale:
                raw = torch.addcmul(offset, raw, factor)
            return torch.cat([self.numbers(numbers, space), raw], dim=-1)

        return inputs

    def problem(self, scene: Scene) -> Problem:
        """What is minimised."""
        structure = self.structure(scene.space)
        return Problem(
            scene=scene,
            objective=self.objective,
            priors=self.priors,
            opener=lambda x: (structure(x), None),
        )

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


def make_scene(learner: Learner, space: Space, exchange: Exchange, shared: bool) -> Scene:
    """One dummy set for every local epoch (Dimitrov et al.): a client shuffles its rows anew in each."""
    return Scene(learner=learner, space=space, exchange=exchange, shared=shared, sets=exchange.local_epochs)


@lru_cache(maxsize=8)
def recorded_step(
    attack: Inversion, learner: Learner, space: Space, exchange: Exchange, shared: bool
) -> Callable[..., Any]:
    """One step for observations of this kind; kept, because the points of a training run are attacked one by one."""
    recorder = partial(Traced, compiled=attack.compile == "yes")
    problem = attack.problem(make_scene(learner, space, exchange, shared))
    evaluate = problem.evaluation(recorder)

    def settle(
        x: Tensor, state: tuple[Tensor, ...], best: Tensor, lowest: Tensor, sizes: Tensor, losses: Tensor, slope: Tensor
    ) -> None:
        better = losses < lowest
        torch.where(better[..., None, None], x, best, out=best)
        torch.where(better, losses, lowest, out=lowest)
        attack.optimiser.move(x, slope, state, sizes)

    if exchange.protocol == "fedsgd":

        def step(x: Tensor, state: Any, best: Tensor, lowest: Tensor, sizes: Tensor, *fixed: Any) -> None:
            settle(x, state, best, lowest, sizes, *evaluate(x, *fixed))

        return recorder(step)
    settled = recorder(settle)

    def long_step(x: Tensor, state: Any, best: Tensor, lowest: Tensor, sizes: Tensor, *fixed: Any) -> None:
        settled(x, state, best, lowest, sizes, *evaluate(x, *fixed))

    return long_step


class _Part:
    """Progress of one chunk as a share of the whole."""

    def __init__(self, progress: Progress, begin: int, total: int, size: int) -> None:
        self._progress, self._begin, self._total, self._size = progress, begin, total, size

    def __call__(self, label: str, done: int, total: int) -> None:
        chunks = math.ceil(self._total / self._size)
        self._progress(label, done + total * (self._begin // self._size), total * chunks)


def stacked(observations: Sequence[Observation]) -> tuple[Parameters, Parameters, Tensor, Tensor, Tensor]:
    """Parameters (stacked only where they differ), updates divided by their length, layers' shares, lengths, labels."""
    first = observations[0]
    parameters = first.parameters
    if any(observation.parameters is not parameters for observation in observations):
        parameters = {name: torch.stack([o.parameters[name] for o in observations]) for name in first.parameters}
    updates = {name: torch.stack([o.update[name] for o in observations]).double() for name in first.parameters}
    squares = {name: value.flatten(1).square().sum(1) for name, value in updates.items()}
    whole = torch.stack(list(squares.values())).sum(0)
    length = whole.sqrt()
    direction = {name: value / length.reshape(-1, *[1] * (value.dim() - 1)) for name, value in updates.items()}
    own = [torch.stack([squares[name] for name in parts]).sum(0) / whole for parts in layers_of(squares).values()]
    # Unknown labels: the first class, or the mean of a standardised regression target; never optimised (document 002).
    dummy = torch.zeros(first.exchange.rows, dtype=torch.float32 if first.learner.task == "regression" else torch.int64)
    labels = torch.stack([dummy if o.labels is None else o.labels for o in observations])
    observed = {name: value.float() for name, value in direction.items()}
    return parameters, observed, torch.stack(own, -1)[:, None], length[:, None, None], labels
