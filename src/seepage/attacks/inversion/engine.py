"""The engine: one tensor of (observations x restarts x rows x inputs), and parts that say what happens to it.

Long because it is one loop, with the settings of every published attack as its fields.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from seepage._core import InputError, NotApplicable, Outcome, Progress, Streams, silent, unknown_name
from seepage.attacks.attack import Together, useless
from seepage.attacks.inversion.categories import Categories, Softmax, Unconstrained
from seepage.attacks.inversion.numbers import Numbers, Unbounded
from seepage.attacks.inversion.objectives import Cosine, Objective, Received
from seepage.attacks.inversion.optimisers import LBFGS, Adam, Optimiser
from seepage.attacks.inversion.pooling import SOFT_ROWS, Alignment, Best, Likeness, Pooling, align, doubt, merged
from seepage.attacks.inversion.priors import Prior, PriorScene
from seepage.attacks.inversion.replay import Problem
from seepage.attacks.inversion.starts import Gaussian, Start
from seepage.attacks.inversion.stepping import Watch, make_scene, moved, recorded_step, share_parameters, stacked
from seepage.attacks.inversion.targets import label_columns, split_off
from seepage.attacks.labels import RESTORERS, Restorer
from seepage.models import activations, fitting_threads, has_input_path
from seepage.models.compiling import can_compile
from seepage.observation import Claim, Observation, Scene, Space

UNBOUNDED, UNCONSTRAINED, SOFTMAX, BEST = Unbounded(), Unconstrained(), Softmax(), Best()
COSINE, ADAM, LBFGS_RULE, GAUSSIAN = Cosine(), Adam(), LBFGS(), Gaussian()
# Inputs of all runs of one call. Ten observations of 100,000 inputs each were slower in one piece; the bound itself is
# a choice, not the end of a sweep.
CACHE = 120_000
CHECK = 25  # steps between two looks at the losses
LONG = 20.0  # estimated seconds of eager work above which compiling (about 10 to 40 s) pays


@dataclass(frozen=True, eq=False)
class Runs:
    """All restarts on one update.

    Args:
        rows: (restarts, rows, width), the blocks in raw units.
        losses: (restarts,) their own loss, infinite where a run diverged.
        labels: (restarts, rows) where labels were variables like the rows.
        used: (rows,) the labels that were known or worked out before.
    """

    rows: np.ndarray
    losses: np.ndarray
    labels: np.ndarray | None
    used: Tensor | None


@dataclass(frozen=True, kw_only=True)
class Inversion:
    r"""Find rows whose update looks like the observed one.

    .. math:: \min_z \; d\big(u, \hat u(\pi(z))\big) + \sum_k R_k(\pi(z))

    with :math:`d` the objective, :math:`\hat u` the update that rows would have caused (local training is replayed for
    FedAvg, with one set of rows per local epoch where clients shuffle them), :math:`\pi` the structure of a row
    (``numbers`` and ``categories``) and :math:`R_k` the priors. Every published attack is a choice of parts; see the
    presets beside this file. All observations and restarts run as one tensor. Restarts that diverged
    take no part in pooling.

    Args:
        steps: iterations.
        restarts: independent starts for each observation.
        objective, priors, numbers, categories, initial, optimiser, pooling: the parts.
        alignment: which rows of two restarts, or of two local epochs, are taken for the same.
        keep: what stays of a run: its ``best`` iterate by its own loss, or the ``last``.
        polisher, polish: another optimiser takes this share of the steps, the last, from the first one's best iterate.
        embedded: the categories used where the model looks them up in an embedding.
        restorer: how labels that are not known are worked out first: a name (``auto``, ``geng``, ...), ``none``, or a
            restorer of your own.
        targets: labels that stay unknown: ``dummy`` (the first class, the profiling study) or ``joint``, variables
            like the
            rows (DLG).
        patience: stop a restart whose loss did not fall by a hundredth in this many steps; 0 for never.
        compile: translate a step with torch.compile: ``no``, ``yes``, or ``auto`` when the work is long enough.
        memory: megabytes for the temporaries of a step; more observations and restarts are taken in turn.
        device: where it runs, as torch names it.
        tolerance: the true rows have an own loss of zero up to float error; a best loss above this at the end means
            that they were not found, and the outcome is ``budget_spent``.

    Example:
        >>> Inversion(steps=100, restarts=4).restarts
        4
    """

    steps: int = 10_000
    restarts: int = 1
    objective: Objective | Received = COSINE
    priors: tuple[Prior, ...] = ()
    numbers: Numbers = UNBOUNDED
    categories: Categories = UNCONSTRAINED
    embedded: Categories = SOFTMAX
    initial: Start = GAUSSIAN
    optimiser: Optimiser = ADAM
    polisher: Optimiser = LBFGS_RULE
    polish: float = 0.0
    pooling: Pooling = BEST
    alignment: Alignment = SOFT_ROWS
    keep: Literal["best", "last"] = "best"
    restorer: Restorer | str = "none"
    targets: Literal["dummy", "joint"] = "dummy"
    patience: int = 0
    compile: Literal["no", "yes", "auto"] = "auto"
    memory: float = 2000.0
    device: str = "cpu"
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        if self.steps < 1 or self.restarts < 1:
            raise InputError(f"{self.steps} steps and {self.restarts} restarts: both must be at least 1.")
        for name, value, allowed in (
            ("compile", self.compile, ("no", "yes", "auto")),
            ("targets", self.targets, ("dummy", "joint")),
            ("keep", self.keep, ("best", "last")),
            ("restorer", self.restorer if isinstance(self.restorer, str) else "none", (*RESTORERS, "none")),
        ):
            if value not in allowed:
                raise unknown_name(f"value of {name}", value, allowed)
        if not 0 <= self.polish < 1:
            raise InputError(f"A share of {self.polish} of the steps polishes; it is at least 0 and below 1.")
        if self.patience < 0 or not self.memory > 0:
            raise InputError(
                f"Patience is {self.patience} and memory {self.memory} MB; patience is at least 0, memory is above 0."
            )
        _check_device(self.device)
        self.initial.check(self.categories)
        for prior in self.priors:
            prior.check(self.restarts)

    def start(self, scene: Scene, streams: Streams, *, progress: Progress = silent) -> Together[Observation]:
        """All updates are attacked together."""
        return Together(partial(self, streams=streams, progress=progress))

    def __call__(
        self, observations: Sequence[Observation], streams: Streams, *, progress: Progress = silent
    ) -> list[Claim]:
        usable = [index for index, observation in enumerate(observations) if observation.finite]
        lacking = self._check([observations[index] for index in usable]) if usable else ""
        if lacking:
            return [Claim(outcome=Outcome.NOT_APPLICABLE, note=lacking) for _ in observations]
        known, notes = self._known(observations, usable, streams)
        found = self._attacked(known, streams, progress)
        return [
            self._with_restored(self.pooled(found[index], observation.space), observation, known[index], notes)
            if index in found
            else useless()
            for index, observation in enumerate(observations)
        ]

    def runs(self, observations: Sequence[Observation], streams: Streams, *, progress: Progress = silent) -> list[Runs]:
        """All restarts of every observation, before they are pooled. Every update must be finite and not zero."""
        self._check(observations)
        known, _ = self._known(observations, range(len(observations)), streams)
        found = self._attacked(known, streams, progress)
        return [found[index] for index in range(len(observations))]

    def _known(
        self, observations: Sequence[Observation], usable: Sequence[int], streams: Streams
    ) -> tuple[dict[int, Observation], str]:
        """The usable observations with labels, as far as they can be worked out."""
        labelled, notes = self._with_labels([observations[index] for index in usable], streams)
        known = dict(zip(usable, labelled, strict=True))
        return {index: _dealt(each, streams.child("labels", index)) for index, each in known.items()}, notes

    def _attacked(self, known: dict[int, Observation], streams: Streams, progress: Progress) -> dict[int, Runs]:
        groups = self._groups(known)
        report = _Share(progress, len(groups))
        found: dict[int, Runs] = {}
        for chosen in groups:
            alike = sum(len(group) == len(chosen) for group in groups)
            solved = self._solve([known[i] for i in chosen], [streams.child(i) for i in chosen], report, alike)
            found |= dict(zip(chosen, solved, strict=True))
            report.next()
        return found

    def _groups(self, known: dict[int, Observation]) -> list[list[int]]:
        """Observations that are attacked at once: few enough for memory, and all with labels or all without."""
        if not known:
            return []
        first = next(iter(known.values()))
        inputs = self.restarts * first.exchange.rows * first.layout.width
        together = max(1, min(CACHE // inputs, self._runs_in_memory(first) // self.restarts))
        parts = [[i for i in known if (known[i].labels is None) == missing] for missing in (False, True)]
        return [part[begin : begin + together] for part in parts for begin in range(0, len(part), together)]

    def _runs_in_memory(self, observation: Observation) -> int:
        """How many runs fit: about 30 copies of a run's activations and 6 of its update, by measurement."""
        exchange, learner = observation.exchange, observation.learner
        rows = exchange.batch_size * activations(learner, observation.layout.width)
        bytes_of_run = 4 * (30 * rows + 6 * learner.size + 8 * exchange.rows * observation.layout.width)
        return max(1, int(self.memory * 2**20 / bytes_of_run))

    def _with_labels(self, observations: list[Observation], streams: Streams) -> tuple[list[Observation], str]:
        """The observations with labels: the known ones, restored ones where that works, else none."""
        missing = [index for index, observation in enumerate(observations) if observation.labels is None]
        if not missing or self.restorer == "none":
            return observations, ""
        if observations[0].learner.criterion is not None:
            return observations, "Labels are not worked out first: that needs a loss whose form is known."
        restorer = RESTORERS[self.restorer]() if isinstance(self.restorer, str) else self.restorer
        found = restorer([observations[index] for index in missing], streams.child("labels"))
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

    def _check(self, observations: Sequence[Observation]) -> str:
        """Stop with a sentence when a part needs what is not known; else say why it does not apply here, if so."""
        first = observations[0]
        space = first.space
        self.numbers.check(space)
        if self._categories(space).raw and space.standardised and space.scale is None:
            raise NotApplicable(
                "This attack mixes categories in raw units, but the one-hot inputs are standardised with statistics "
                "it does not know; give them (--global-statistics) or choose an attack with free categories."
            )
        if first.learner.abilities.flat:
            raise NotApplicable(
                "The gradient of the model cannot be differentiated again, so no row can be moved towards the update "
                f"({first.learner.abilities.flat})."
            )
        if not has_input_path(first.learner, space.layout.width):
            raise NotApplicable(
                "The model's outputs do not change with its inputs in a differentiable way, so no row can be moved "
                "towards the update; use a model that accepts mixtures of categories."
            )
        _check_labels(observations)
        scene = self.scene(observations)
        return " ".join(filter(None, (prior.lacks(scene) for prior in self.priors)))

    def _categories(self, space: Space) -> Categories:
        return self.embedded if space.layout.embedded else self.categories

    def _solve(
        self, observations: list[Observation], streams: list[Streams], progress: _Share, alike: int
    ) -> list[Runs]:
        """All restarts of some observations; in several turns where memory holds only a part of the restarts.

        Args:
            alike: how many groups there are of this size; a compiled step serves them all.
        """
        first = observations[0]
        at_once = min(self.restarts, self._runs_in_memory(first)) if len(observations) == 1 else self.restarts
        whole = self._begin(observations, streams)
        turns = math.ceil(self.restarts / at_once)
        parts = [
            self._run(observations, whole[:, turn * at_once : (turn + 1) * at_once], progress.part(turn, turns), alike)
            for turn in range(turns)
        ]
        rows, losses = (np.concatenate([part[place] for part in parts], axis=1) for place in (0, 1))
        labels = np.concatenate([part[2] for part in parts], axis=1) if parts[0][2] is not None else None
        return [
            Runs(rows[i], losses[i], None if labels is None else labels[i], observation.labels)
            for i, observation in enumerate(observations)
        ]

    def _begin(self, observations: Sequence[Observation], streams: Sequence[Streams]) -> Tensor:
        """The first variables (observations, restarts, rows, width): the same however they are grouped."""
        scene = self.scene(observations)
        rows = scene.exchange.rows * scene.sets
        extra = self._label_columns(observations[0])
        drawn = []
        for observation, stream in zip(observations, streams, strict=True):
            generator = torch.Generator().manual_seed(stream.integer("start"))
            x = self.initial((self.restarts, rows, observation.layout.width), observation, generator)
            if extra:
                x = torch.cat([x, torch.randn((self.restarts, rows, extra), generator=generator)], -1)
            drawn.append(x)
        return torch.stack(drawn)

    def _label_columns(self, observation: Observation) -> int:
        """Variables per row that stand for its label."""
        # A loss of somebody's own need not take probabilities for labels.
        joint = self.targets == "joint" and observation.labels is None and observation.learner.criterion is None
        return label_columns(observation.learner, observation.layout.width) if joint else 0

    def _run(
        self, observations: list[Observation], x: Tensor, progress: Progress, alike: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """The best rows of every run in raw block units, their losses (infinite where a run diverged), and labels."""
        first = observations[0]
        scene = self.scene(observations)
        x = x.to(self.device, copy=True).contiguous()
        count, restarts = x.shape[:2]
        extra = self._label_columns(first)
        best, lowest = x.clone(), torch.full((count, restarts), torch.inf, dtype=torch.float64, device=self.device)
        fixed = moved(stacked(observations), self.device)
        elements = count * restarts * (first.learner.size + first.exchange.rows * first.layout.width)
        last = int(self.steps * self.polish)
        stages = [(self.optimiser, self.steps - last), (self.polisher, last)]
        before = 0
        with torch.no_grad(), fitting_threads(elements):
            for optimiser, steps in stages:
                if not steps:
                    continue
                if before:  # the second stage goes on from the best of the first
                    x.copy_(best)
                compiled = self._compiled(count * restarts, steps * alike, first)
                step = replace(self, optimiser=optimiser)._step(scene, extra, compiled=compiled)
                watch = Watch(self.patience, lowest)
                state = (x, optimiser.begin(x), best, lowest)
                for number in range(1, steps + 1):
                    step(*state, watch.moving, torch.tensor(optimiser.sizes(number, steps)), *fixed)
                    note = f"{restarts} restarts, loss {float(lowest.min()):.1e}" if number % CHECK == 0 else ""
                    progress("attack", before + number, self.steps, note)
                    if number % CHECK == 0 and watch.all_stopped(lowest, number):
                        progress("attack", before + steps, self.steps)
                        break
                before += steps
            if self.keep == "last":  # as if nothing had been seen before it
                lowest.fill_(torch.inf)
                step(*state, watch.moving, torch.tensor(optimiser.sizes(steps, steps)), *fixed)
            rows = self.structure(first.space, scaled=False)(best[..., : first.layout.width].cpu())
        alive = x.isfinite().all(-1).all(-1)  # a loss that was not a number once stays in the variables
        losses = torch.where(alive, lowest, torch.inf).cpu().numpy()
        labels = split_off(best, extra, first.learner)[1] if extra else None
        found = labels[:, :, : first.exchange.rows].cpu().numpy() if labels is not None else None
        if found is not None and first.learner.task != "regression":
            found = found.argmax(-1) if found.ndim == 4 else np.rint(found).astype(np.int64)
        return merged(rows.numpy(), scene.sets, self._like(first.space)), losses, found

    def _compiled(self, runs: int, steps: int, observation: Observation) -> bool:
        """Whether steps are compiled. ``auto`` decides by the amount of work, not by the clock: the same seed must take
        the same way. Seconds are those of a 2.8 GHz core: 2 ms, and 14 ns for every number that goes through the model.
        """
        if self.compile != "auto" or not observation.learner.vectorised:
            return self.compile == "yes"
        exchange = observation.exchange
        numbers = runs * exchange.batch_size * activations(observation.learner, observation.layout.width)
        seconds = steps * exchange.steps * (2e-3 + 14e-9 * numbers)
        return seconds > LONG and (self.device != "cpu" or can_compile())

    def _step(self, scene: PriorScene, extra: int, *, compiled: bool) -> Callable[..., None]:
        # The same step whatever the number of steps and restarts, so that it is recorded or compiled once.
        alike = replace(
            self, steps=1, restarts=min(self.restarts, 2), initial=GAUSSIAN, pooling=BEST, alignment=SOFT_ROWS,
            keep="best", restorer="none", patience=0,
            polish=0.0, polisher=LBFGS_RULE, compile="yes" if compiled else "no", memory=1.0, tolerance=0.0,
        )  # fmt: skip
        kept = int(self.memory * 2**18)  # parameters in a quarter of the memory
        return recorded_step(alike, scene.learner, scene.space, scene.exchange, scene.shared, extra, kept)

    def scene(self, observations: Sequence[Observation]) -> PriorScene:
        """What is attacked, as priors see it."""
        first = observations[0]
        return make_scene(first.learner, first.space, first.exchange, share_parameters(observations))

    def structure(self, space: Space, *, scaled: bool = True) -> Callable[[Tensor], Tensor]:
        """The map from variables to inputs; with ``scaled=False`` the blocks stay in raw units, for pooling."""
        layout = space.layout
        categories = self._categories(space)
        rescale = scaled and categories.raw and bool(layout.sizes) and space.scale is not None
        spread = layout.sizes and categories.standardised and space.scale is not None
        if rescale or spread:
            assert space.shift is not None
            assert space.scale is not None
            share, deviation = space.shift[layout.numeric :], space.scale[layout.numeric :]
            factor = space.scale[layout.numeric :].reciprocal()
            offset = -space.shift[layout.numeric :] * factor

        def inputs(variables: Tensor) -> Tensor:
            if not categories.raw and isinstance(self.numbers, Unbounded):
                return variables  # nothing to do
            numbers, blocks = torch.split(variables, [layout.numeric, layout.width - layout.numeric], dim=-1)
            if spread:
                blocks = torch.addcmul(share, blocks, deviation)
            raw = categories(blocks, layout.sizes) if layout.sizes else blocks
            if rescale:
                raw = torch.addcmul(offset, raw, factor)
            return torch.cat([self.numbers(numbers, space), raw], dim=-1)

        return inputs

    def problem(self, scene: PriorScene, *, extra: int = 0, kept: int = 1 << 60) -> Problem:
        """What is minimised; ``extra`` variables per row are its label."""
        structure = self.structure(scene.space)

        def opener(x: Tensor) -> tuple[Tensor, Tensor | None]:
            rows, labels = split_off(x, extra, scene.learner)
            return structure(rows), labels

        return Problem(scene=scene, objective=self.objective, priors=self.priors, opener=opener, kept=kept)

    def _like(self, space: Space) -> Likeness:
        """Which rows of two runs are taken for the same."""
        raw = self._categories(space).raw
        return lambda one, other: self.alignment(one, other, space, raw=raw)

    def pooled(self, found: Runs, space: Space) -> Claim:
        """One answer from all restarts."""
        runs, losses = found.rows, found.losses
        finite = np.isfinite(losses) & np.isfinite(runs).all((1, 2))
        if not finite.any():
            return Claim(outcome=Outcome.DIVERGED)
        aligned = align(runs[finite], losses[finite], self._like(space))
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
        loss = max(float(losses[finite].min()), 0.0)  # float error may take it below
        lost = int((~finite).sum())
        return Claim(
            outcome=Outcome.OK if loss <= self.tolerance else Outcome.BUDGET_SPENT,
            rows=rows,
            labels=None if found.labels is None else found.labels[int(np.nanargmin(losses))],
            doubt=unsure,
            loss=loss,
            note=f"{lost} of {len(losses)} restarts diverged and were left out." if lost else "",
        )


class _Share:
    """Progress of one group and turn as a share of the whole."""

    def __init__(self, progress: Progress, groups: int) -> None:
        self._progress, self._groups, self._done = progress, groups, 0

    def next(self) -> None:
        self._done += 1

    def part(self, turn: int, turns: int) -> Progress:
        def report(label: str, done: int, total: int, note: str = "") -> None:
            before = (self._done * turns + turn) * total
            self._progress(label, before + done, total * turns * self._groups, note)

        return report


def _dealt(observation: Observation, streams: Streams) -> Observation:
    """With labels in random order where there are several local batches: who is in which of them is not known."""
    labels, exchange = observation.labels, observation.exchange
    if labels is None or exchange.rows == exchange.batch_size:
        return observation
    return replace(observation, labels=labels[torch.from_numpy(streams.numpy("dealt").permutation(len(labels)))])


def _check_labels(observations: Sequence[Observation]) -> None:
    first = observations[0]
    if first.learner.task == "regression":
        return
    classes = max(label_columns(first.learner, first.layout.width), 2)
    for observation in observations:
        if observation.labels is not None and not bool(
            ((observation.labels >= 0) & (observation.labels < classes)).all()
        ):
            found = sorted({int(label) for label in observation.labels} - set(range(classes)))
            raise InputError(f"A label is {found[0]}; the model has {classes} classes, 0 to {classes - 1}.")


def _check_device(name: str) -> None:
    if name == "cpu":
        return
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:  # torch says "not compiled with CUDA" by an assertion
        reason = str(error).splitlines()[0]
        raise InputError(f"The device {name!r} cannot be used here: {reason} Use cpu, or cuda with a GPU.") from None
