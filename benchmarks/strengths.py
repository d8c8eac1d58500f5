"""Whether Optuna's samplers find a strength better than halving, with the few measurements that a search can make.

A made-up defence: cells gained fall with the logarithm of its strength and are measured with noise, the loss of the
model grows. Wanted is the least loss with a gain within the limit. Both ends are known to begin with: the weak one
leaks, the strong one holds. Then so many measurements are made, and the best one that held is chosen.

    python benchmarks/strengths.py [--repeats 200] --json       (needs `pip install optuna`)

- `regret`: mean loss of the chosen strength beyond that of the best one, in points of the score.
- `leaks`: share of choices whose true gain is beyond the limit.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import optuna

LOW, HIGH = -3.0, -1.0  # of the strength, as powers of ten
LIMIT, NOISE = 0.05, 0.02  # of cells gained; the deviation of its mean over five updates
MEASUREMENTS = (2, 3, 5, 8)


@dataclass(frozen=True)
class Made:
    """A defence that hides from ``threshold`` on."""

    threshold: float
    random: np.random.Generator

    def gain(self, strength: float) -> float:
        return 0.4 / (1 + math.exp((strength - self.threshold) / 0.1))

    def loss(self, strength: float) -> float:
        return float(0.1 * 10 ** (strength - HIGH))

    def measured(self, strength: float) -> float:
        return self.gain(strength) + float(self.random.normal(0.0, NOISE))

    @property
    def best(self) -> float:
        """The weakest strength that keeps the limit."""
        return self.threshold + 0.1 * math.log(0.4 / LIMIT - 1)


def halving(made: Made, many: int) -> float:
    """As `advise` does: between one that leaks and one that does not."""
    weak, strong = LOW, HIGH
    for _ in range(many):
        middle = (weak + strong) / 2
        weak, strong = (weak, middle) if made.measured(middle) <= LIMIT else (middle, strong)
    return strong


def sampled(sampler: Callable[[int], optuna.samplers.BaseSampler]) -> Callable[[Made, int], float]:
    """Optuna, told the loss and how far the limit is broken; the ends are its first trials."""

    def find(made: Made, many: int) -> float:
        held = [HIGH]

        def objective(trial: optuna.Trial) -> float:
            strength = trial.suggest_float("strength", LOW, HIGH)
            gain = made.measured(strength)
            if gain <= LIMIT:
                held.append(strength)
            return made.loss(strength) + max(gain - LIMIT, 0.0)

        study = optuna.create_study(sampler=sampler(int(made.random.integers(2**31))))
        for end in (LOW, HIGH):
            study.enqueue_trial({"strength": end})
        study.optimize(objective, n_trials=many + 2)
        return min(held)

    return find


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    ways: dict[str, Callable[[Made, int], float]] = {
        "halving": halving,
        "tpe": sampled(lambda seed: optuna.samplers.TPESampler(seed=seed, n_startup_trials=2)),
        "gp": sampled(lambda seed: optuna.samplers.GPSampler(seed=seed, n_startup_trials=2)),
    }
    told = {}
    for name, way in ways.items():
        for many in MEASUREMENTS:
            regrets, leaks = [], []
            for repeat in range(asked.repeats):
                random = np.random.default_rng(repeat)
                made = Made(float(random.uniform(-2.6, -1.6)), random)
                chosen = way(made, many)
                leaks.append(made.gain(chosen) > LIMIT + NOISE)
                regrets.append(max(made.loss(chosen) - made.loss(made.best), 0.0))
            told[f"{name}, {many} measurements"] = {
                "regret": round(float(np.mean(regrets)), 4),
                "leaks": round(float(np.mean(leaks)), 3),
            }
    print(json.dumps(told, indent=None if asked.json else 2))


if __name__ == "__main__":
    main()
