"""The attacker who knows the defence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
import torch

from seepage._core import Progress, Streams, silent
from seepage.attacks.adaptive.marginals import Marginals
from seepage.attacks.adaptive.posterior import answer, draw
from seepage.attacks.adaptive.rows_gradient import whole_in_factors
from seepage.attacks.attack import Together, check_least, useless
from seepage.attacks.exact import Exact
from seepage.attacks.inversion import Inversion, Runs, fast
from seepage.attacks.inversion.objectives import Received
from seepage.models.smoothing import smoothed
from seepage.observation import Channel, Claim, Observation, Scene

WARM, HOT = 0.1, 5.0  # how hot chains begin that begin with optimised rows, and with drawn ones
DROWNED = 0.3  # noise of this share of an update's length hides how the weights moved between local steps
LOST = 0.05  # chains that leave more of an update's length than this, beyond chance, have not found what is likely

NUMBERS = 20_000_000  # of what chains hold at once: each holds some copies of an update


@dataclass(frozen=True, kw_only=True)
class Adaptive:
    r"""``fast`` for an attacker who knows the settings of the defence, though none of its random numbers.

    1. *What fits.* Rows are optimised as ``fast`` does, whose angle does not care how far an update was shortened.
       Entries that were not sent do not count, of signs only the side counts, and a smoothed loss is replayed as such.
       Labels of mixed rows are looked for beside them, unless ``fast`` comes nearer to the update without. Where the
       last layers draw at random, ``exact`` reads the layers before them.
    2. *What is likely.* Where errors of known size are on the update (noise, rounding, entries left out), rows are
       then drawn from the posterior: the likelihood of the update, and the marginals as far as the attacker knows
       them. Rows are clipped, and the whole is shortened, as the clients do it. One chain begins with the answer of
       ``fast`` itself, others with optimised rows, and half with drawn ones that cool down. The answer is the likeliest
       category and the median number of every cell over the chains that fit, so that where the update says nothing the
       best guess is left. What the blind attacker finds is kept if it is likely. Where there is no noise, no statistics
       are known and no chain explains the update, they have not found the posterior: the blind attacker's restarts
       know more together, and its answer is kept as it is.

    The second needs a model whose gradient comes from linear layers, a mean over rows, and one local step (or noise
    that drowns the difference). Elsewhere the first is the answer.

    Args:
        steps: of the optimisation.
        restarts: of the optimisation.
        chains: for each update.
        sweeps: draws of every cell in each chain; the first half is not counted.
        compile: as in :class:`Inversion`.

    References:
        Geman and Geman, 1984 (the sampler); Vero et al., TabLeak (the optimisation). Balunovic et al., Bayesian
        Framework for Gradient Leakage, ICLR 2022, show that attacks on a known defence approximate its posterior.

    Example:
        >>> Adaptive(chains=4).sweeps
        40
    """

    steps: int = 500
    restarts: int = 30
    chains: int = 8
    sweeps: int = 40
    compile: Literal["no", "yes", "auto"] = "auto"

    def __post_init__(self) -> None:
        check_least(self, steps=1, restarts=1, chains=2, sweeps=4)
        self._engine(Channel(), self.restarts)

    def start(self, scene: Scene, streams: Streams, *, progress: Progress = silent) -> Together[Observation]:
        """All updates are attacked together."""
        return Together(partial(self, streams=streams, progress=progress))

    def __call__(
        self, observations: Sequence[Observation], streams: Streams, *, progress: Progress = silent
    ) -> list[Claim]:
        groups: dict[tuple[int, ...], list[int]] = {}  # a model each: draws of all updates go through it together
        claims: dict[int, Claim] = {}
        for place, each in enumerate(observations):
            if not each.finite:
                claims[place] = useless()
            elif not _drawable(each):
                groups.setdefault((), []).append(place)
            else:
                groups.setdefault(tuple(map(id, each.parameters.values())), []).append(place)
        for number, (model, places) in enumerate(groups.items()):
            size = observations[places[0]].learner.size * self.chains
            together = max(1, NUMBERS // size) if model else len(places)
            for begin in range(0, len(places), together):
                part = places[begin : begin + together]
                members, own = [observations[place] for place in part], streams.child(number, begin)
                found = self._drawn(members, own, progress) if model else self._optimised(members, own, progress)
                claims |= dict(zip(part, found, strict=True))
        return [claims[place] for place in range(len(observations))]

    def _engine(self, channel: Channel, restarts: int) -> Inversion:
        engine = replace(fast(), steps=self.steps, restarts=restarts, compile=self.compile)
        if channel.signs or channel.missing == "zeros":
            engine = replace(engine, objective=Received(signs=channel.signs))
        if channel.mixed:  # a mixture's label is one too: it is looked for beside its row
            engine = replace(engine, restorer="none")
        return engine

    def _optimised(self, members: list[Observation], streams: Streams, progress: Progress) -> list[Claim]:
        channel = members[0].exchange.channel
        engine = self._engine(channel, self.restarts)
        if channel.drawn_layers:  # no replay fits what was drawn, but spans of the layers before it do
            algebra = Exact(steps=self.steps, restarts=self.restarts, compile=self.compile)
            return [replace(claim, certified=None) for claim in algebra(members, streams, progress=progress)]
        if channel.mixed:
            apart = engine([replace(each, labels=None) for each in members], streams, progress=progress)
            blind = self._engine(Channel(), self.restarts)(members, streams.child("blind"), progress=progress)
            return [_nearer(*both) for both in zip(blind, apart, strict=True)]
        if channel.smoothing and all(each.labels is not None for each in members):
            learner = smoothed(members[0].learner, channel.smoothing)
            members = [replace(each, learner=learner) for each in members]
        return engine(members, streams, progress=progress)

    def _drawn(self, members: list[Observation], streams: Streams, progress: Progress) -> list[Claim]:
        cold = (self.chains + 1) // 2
        blind = self._engine(Channel(), self.restarts)
        engine = self._engine(members[0].exchange.channel, self.chains)
        naive = blind.runs(members, streams.child("blind"), progress=progress)
        runs = naive
        if engine.objective != blind.objective:
            runs = engine.runs(members, streams.child("starts"), progress=progress)
        marginals = Marginals.of(members[0].space)
        starts = []
        for number, (first, run, each) in enumerate(zip(naive, runs, members, strict=True)):
            random = torch.Generator().manual_seed(streams.integer("drawn", number))
            fitted = np.concatenate([_answered(blind, first, each), run.rows[np.argsort(run.losses)]])
            fitted = fitted[np.arange(cold) % len(fitted)]
            drawn = marginals.rows((self.chains - cold, each.exchange.rows), random)
            starts.append((np.concatenate([_hard(fitted, each, marginals), drawn.numpy()]), run.used))
        heats = [WARM] * cold + [HOT] * (self.chains - cold)
        found = draw(members, starts, heats, streams, sweeps=self.sweeps, progress=progress)
        claims = [answer(one, members[0].layout, marginals) for one in found]
        # Noise keeps chains moving; where errors are next to none they freeze in the first valley that they meet. Known
        # statistics make that valley a likely one. Without them it was worse than the blind answer (clinic, top_k).
        stiff = not members[0].exchange.channel.noisy and members[0].space.shift is None
        astray = [stiff and one.unexplained > LOST for one in found]
        return [
            _blindly(blind, first, each, claim) if lost else claim
            for first, each, claim, lost in zip(naive, members, claims, astray, strict=True)
        ]


def _drawable(observation: Observation) -> bool:
    """Whether the posterior is drawn from: there are errors of known size, and a row's part of the update is known."""
    channel, exchange = observation.exchange.channel, observation.exchange
    known = channel.noisy or channel.step or channel.uneven
    if not known or channel.mixed or channel.smoothing:
        return False
    if whole_in_factors(observation.learner, observation.layout.width):
        return False
    if observation.labels is None and observation.learner.task == "regression":
        return False
    if exchange.protocol == "fedsgd":
        return True
    if not exchange.training.plain:
        return False
    flat = torch.cat([value.flatten() for value in observation.update.values()])
    return exchange.steps == 1 or channel.noise * len(flat) ** 0.5 > DROWNED * float(flat.norm())


def _nearer(one: Claim, other: Claim) -> Claim:
    """The claim with the lower loss of its own; both have the same objective."""
    losses = [math.inf if each.rows is None or each.loss is None else each.loss for each in (one, other)]
    return one if losses[0] <= losses[1] else other


def _blindly(engine: Inversion, runs: Runs, observation: Observation, otherwise: Claim) -> Claim:
    """The answer of the attack that does not know the defence, with the labels it used."""
    claim = engine.pooled(runs, observation.space)
    if claim.rows is None:
        return otherwise
    if observation.labels is not None or runs.used is None:
        return claim
    return replace(claim, labels=runs.used.numpy())


def _answered(engine: Inversion, runs: Runs, observation: Observation) -> np.ndarray:
    """(1, rows, width) the engine's answer from its restarts, the blocks in raw units; (0, ...) if it has none."""
    claim, space = engine.pooled(runs, observation.space), observation.space
    if claim.rows is None:
        return runs.rows[:0]
    rows, blocks = claim.rows.copy(), slice(space.layout.numeric, None)
    if space.shift is not None and space.scale is not None:
        rows[:, blocks] = rows[:, blocks] * space.scale[blocks].numpy() + space.shift[blocks].numpy()
    return rows[None]


def _hard(rows: np.ndarray, observation: Observation, marginals: Marginals) -> np.ndarray:
    """Rows with whole categories, as inputs, from rows with blocks in raw units."""
    rows = np.nan_to_num(rows.astype(np.float32), posinf=0.0, neginf=0.0)
    numeric = observation.layout.numeric
    rows[..., :numeric] = rows[..., :numeric].clip(*(end.numpy() for end in (marginals.low, marginals.high)))
    for block, codes in zip(observation.layout.blocks, marginals.codes, strict=True):
        part = rows[..., block.start : block.start + len(codes)]
        rows[..., block] = codes.numpy()[part.argmax(-1)]
    return rows
