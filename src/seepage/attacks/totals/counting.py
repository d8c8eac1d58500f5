r"""How many rows have each category, which share each class has, and the means of numbers.

An update is a sum over rows, so the part that a category's weights get grows with the rows that have it: in proportion
while all rows pull alike, and less orderly after many steps, or after Adam has divided by sizes. How it grows is
learned from clients that the attacker makes up (``totals/simulated.py``): a regression from a few numbers of each
category's weights to the logarithm of its rows. Intervals come from made-up clients that the regression has not seen
(split conformal prediction), at a level above the stated one, because real clients are not made up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from seepage._core import InputError, NotApplicable, Outcome, Progress, Streams, silent
from seepage.attacks.attack import Together
from seepage.attacks.totals.presence import present_categories
from seepage.attacks.totals.silence import Entrance, entrance_of
from seepage.attacks.totals.simulated import Simulated, simulated_clients
from seepage.models import Parameters
from seepage.observation import Claim, Estimate, Observation, Scene, Tally

LEVEL = 0.9  # how often a true count should lie in its interval
INSIDE = 0.99  # how often that of a made-up client does
BINS = 6  # of estimates, each with its own error
WIDER = 1.25  # times as wide as made-up clients need: real ones differ from them


@dataclass(frozen=True, kw_only=True)
class Counting:
    """Estimates how many rows have each category.

    Args:
        clients: that are made up for every model that was sent out; a third of them measures the error.

    References:
        ``docs/explanation/exact-inversion.md``; Lei et al., Distribution-Free Predictive Inference, 2018.

    Example:
        >>> Counting(clients=24).clients
        24
    """

    clients: int = 60

    def __post_init__(self) -> None:
        if not 12 <= self.clients <= 10_000:
            raise InputError(f"There are {self.clients} made-up clients; 12 to 10,000 can be.")

    def start(self, scene: Scene, streams: Streams, *, progress: Progress = silent) -> Together[Observation]:
        """An attacker that waits for all updates: those of one round share the made-up clients."""
        if not scene.space.layout.sizes:
            raise NotApplicable("There are no categorical columns to count in.")

        def count(seen: Sequence[Observation]) -> list[Claim]:
            rounds: dict[int, list[int]] = {}
            for place, observation in enumerate(seen):
                rounds.setdefault(id(observation.parameters), []).append(place)
            found: dict[int, Claim] = {}
            for number, places in enumerate(rounds.values()):
                progress("counting", number, len(rounds))
                own = streams.child(number).numpy("made-up clients")
                found |= dict(zip(places, self._round([seen[place] for place in places], own), strict=True))
            return [found[place] for place in range(len(seen))]

        return Together(count)

    def _round(self, seen: Sequence[Observation], random: np.random.Generator) -> list[Claim]:
        """The claims on updates of one model."""
        usable = [each for each in seen if each.finite]
        if not usable:
            return [Claim(outcome=Outcome.NOT_APPLICABLE, note="The update is zero or not finite.") for _ in seen]
        entrance = entrance_of(usable[0])
        made = simulated_clients(usable[0], _first_guess(usable, entrance), self.clients, random)
        counter = _Counter(entrance, made, usable[0])
        return [
            counter(each)
            if each.finite
            else Claim(outcome=Outcome.NOT_APPLICABLE, note="The update is zero or not finite.")
            for each in seen
        ]


def _first_guess(seen: Sequence[Observation], entrance: Entrance) -> list[np.ndarray]:
    """Shares by the size of each category's part of the updates, half mixed with equal ones; absent ones are 0."""
    signals = [entrance.signals(each.update) for each in seen]
    shares = []
    for column in range(len(entrance.columns)):
        size = np.mean([each[column].norm(dim=-1).numpy() for each in signals], axis=0)
        there = size > 0
        guess = size / max(size.sum(), 1e-30) + there / max(there.sum(), 1)
        shares.append(guess / guess.sum() if there.any() else np.full(len(size), 1 / len(size)))
    return shares


class _Counter:
    """What was learned from made-up clients, for the updates of one round."""

    def __init__(self, entrance: Entrance, made: Simulated, observation: Observation) -> None:
        self._entrance, self._rate = entrance, observation.exchange.learning_rate or 1.0
        self._rows = observation.exchange.rows
        self._last = -1 if observation.layout.embedded else None
        held_out = len(made.means) * 2 // 3
        x, y = self._features(made.updates), np.log1p(self._counts(made.counts, observation))
        self._counts_of = _Regression(x[:held_out], y[:held_out], x[held_out:], y[held_out:])
        self._numeric = observation.layout.numeric
        self._means_of = self._labels_of = None
        if observation.space.scale is not None and self._numeric and entrance.linear:
            ratio = self._ratios(made.updates)
            self._means_of = _Line(ratio, made.means, held_out)
        if observation.labels is None and made.labels.size:
            self._labels_of = _Ridge(_heads(made.updates), made.labels / self._rows, held_out)

    def __call__(self, observation: Observation) -> Claim:
        present, visible = present_categories(observation)
        one = {name: value[None] for name, value in observation.update.items()}
        middle, width = self._counts_of(self._features(one)[0])
        counts, start = [], 0
        for there in present:
            part = slice(start, start + len(there))
            counts.append(self._column(middle[part], width[part], np.asarray(there)))
            start += len(there)
        means = self._means_of(self._ratios(one))[0] if self._means_of else None
        labels = self._labels_of(_heads(one)) if self._labels_of else None
        return Claim(
            outcome=Outcome.OK,
            tally=Tally(
                present=tuple(present),
                counts=tuple(counts),
                labels=_scaled(labels, self._rows) if labels else None,
                means=means,
                visible=visible,
                level=LEVEL,
            ),
            note=f"Intervals come from {len(self._counts_of)} made-up clients; real clients may differ more.",
        )

    def _column(self, middle: np.ndarray, width: np.ndarray, there: np.ndarray) -> Estimate:
        """One column's counts: they add up to the rows, and nobody has what is absent."""
        found = np.where(there == 0, 0.0, np.maximum(np.expm1(middle), there == 1))
        low = np.where(there == 0, 0.0, np.maximum(np.expm1(middle - width), there == 1))
        high = np.where(there == 0, 0.0, np.minimum(np.expm1(middle + width), self._rows - (there == 1).sum() + 1))
        total = found.sum()
        scaled = found * self._rows / total if total > 0 else found
        return Estimate(middle=np.clip(scaled, low, np.maximum(high, low)), low=low, high=np.maximum(high, low))

    def _counts(self, counts: np.ndarray, observation: Observation) -> np.ndarray:
        """Without the slots of categories that are not known."""
        if self._last is None:
            return counts
        numeric = observation.layout.numeric
        return np.concatenate(
            [counts[:, b.start - numeric : b.stop - 1 - numeric] for b in observation.layout.blocks], 1
        )

    def _features(self, update: Parameters) -> np.ndarray:
        """(clients, categories, numbers) what is told of each category's weights."""
        return np.concatenate([_told(signal, self._rate) for signal in self._entrance.signals(update)], 1)

    def _ratios(self, update: Parameters) -> np.ndarray:
        """(clients, numeric) the weights of each number along those that all rows share."""
        weight = update[self._entrance.weights[0]].double()
        shared = self._entrance.signals(update)[0].double().sum(-2)
        along = (weight[..., : self._numeric] * shared[..., None]).sum(-2)
        return (along / shared.square().sum(-1, keepdim=True).clamp(min=1e-30)).numpy()


def _told(signal: Tensor, rate: float) -> np.ndarray:
    """(clients, categories, numbers) of one column's weights (clients, categories, entries)."""
    signal = signal.double()
    whole = signal.sum(-2, keepdim=True)
    length = whole.norm(dim=-1).clamp(min=1e-30)
    size = signal.norm(dim=-1)
    along = (signal * whole).sum(-1) / length.square()
    parts = [
        along,
        size / length,
        size / size.sum(-1, keepdim=True).clamp(min=1e-30),
        signal.abs().amax(-1) / rate,
        signal.abs().mean(-1) / rate,
        torch.full_like(size, size.shape[-1]),
    ]
    return torch.stack(parts, -1).numpy()


def _heads(update: Parameters) -> np.ndarray:
    """(clients, classes) the change of the last bias, or of all small last parameters."""
    last = list(update)[-1]
    return update[last].double().flatten(1)[:, :64].numpy()


def _scaled(estimate: Estimate, by: float) -> Estimate:
    return Estimate(middle=estimate.middle * by, low=estimate.low * by, high=estimate.high * by)


class _Regression:
    """From features of categories to the logarithm of their rows, with the error at each size."""

    def __init__(self, x: np.ndarray, y: np.ndarray, other_x: np.ndarray, other_y: np.ndarray) -> None:
        from sklearn.ensemble import HistGradientBoostingRegressor
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

        self._held_out = len(other_x)
        there, others = y > 0, other_y > 0  # absent ones are known to be
        with threadpool_limits(1):  # a few thousand rows: a second thread costs more than it brings
            self._model = HistGradientBoostingRegressor(max_iter=120, learning_rate=0.08, random_state=0)
            self._model.fit(x[there], y[there])
            found = self._model.predict(other_x[others])
        errors = np.abs(found - other_y[others])
        self._edges = np.quantile(found, np.linspace(0, 1, BINS + 1)[1:-1])
        place = np.digitize(found, self._edges)
        whole = float(np.quantile(errors, INSIDE))
        self._widths = WIDER * np.array(
            [np.quantile(errors[place == k], INSIDE) if (place == k).sum() > 40 else whole for k in range(BINS)]
        )

    def __len__(self) -> int:
        return self._held_out

    def __call__(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The logarithm of one more than the rows, and half the width of its interval."""
        found = self._model.predict(x)
        return found, self._widths[np.digitize(found, self._edges)]


class _Line:
    """From one feature of each number to its mean, number by number."""

    def __init__(self, x: np.ndarray, y: np.ndarray, held_out: int) -> None:
        fit = x[:held_out], y[:held_out]
        middle = fit[0].mean(0), fit[1].mean(0)
        spread = (fit[0] - middle[0]).var(0)
        self._slope = ((fit[0] - middle[0]) * (fit[1] - middle[1])).mean(0) / np.maximum(spread, 1e-30)
        self._start = middle[1] - self._slope * middle[0]
        errors = np.abs(self._start + self._slope * x[held_out:] - y[held_out:])
        self._width = np.quantile(errors, INSIDE, axis=0)

    def __call__(self, x: np.ndarray) -> list[Estimate]:
        found = self._start + self._slope * x
        return [Estimate(middle=each, low=each - self._width, high=each + self._width) for each in found]


class _Ridge:
    """From the change of the last layer to the classes' shares."""

    def __init__(self, x: np.ndarray, y: np.ndarray, held_out: int) -> None:
        from sklearn.linear_model import RidgeCV
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        self._model = make_pipeline(StandardScaler(), RidgeCV(alphas=np.logspace(-4, 3, 15)))
        self._model.fit(x[:held_out], y[:held_out])
        errors = np.abs(self._model.predict(x[held_out:]) - y[held_out:])
        self._width = np.quantile(errors, INSIDE, axis=0)

    def __call__(self, x: np.ndarray) -> Estimate:
        found = np.clip(self._model.predict(x)[0], 0, 1)
        return Estimate(middle=found, low=np.clip(found - self._width, 0, 1), high=np.clip(found + self._width, 0, 1))
