"""Which shadow models are made: their property, their shares, how they train and when they are good enough."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from seepage._core import InputError, Streams
from seepage.data.drawing import check_varies, draw, possible_shares, rebalance
from seepage.models.encoded import Encoded
from seepage.models.recipe import Recipe
from seepage.models.stack import Stack


@dataclass(frozen=True, kw_only=True)
class ShadowPlan:
    """Which shadow models are made.

    Args:
        property_text: what is asked, as :class:`seepage.data.properties.Property` reads it.
        per_class: models of each class.
        classes: the range of shares is cut into so many equal parts; 1 makes models from anywhere in it.
        low, high: the range of shares; of a mean the range of means.
        rows: each model is trained on; a fifth of the pool if not said, as in the thesis.
        recipe: of each model.
        least_accuracy: on the evaluation rows; a worse model is marked, kept, and not learned from.
        least_balanced: the same for the mean over classes; 0 asks for nothing. Where 94 % of rows have one class, an
            accuracy of 0.90 asks for nothing either.
        needed: models of each class that must be good enough.
        balanced: the owner trains on rows of which this share has the property, whatever it has; None leaves them as
            they are.
        keep: share of its rows that a balancing owner trains on.
        rounds: of a federation in which each client is seen. Its models then start from the server's.
        gradient: clients send a gradient of all their rows instead of a trained model.
        shard: models in a file.
        seed: of everything.
    """

    property_text: str
    per_class: int = 2304
    classes: int = 4
    low: float = 0.0
    high: float = 1.0
    rows: int | None = None
    recipe: Recipe = field(default_factory=Recipe)
    least_accuracy: float = 0.90
    least_balanced: float = 0.0
    needed: int = 1
    balanced: float | None = None
    keep: float = 1.0
    rounds: int = 1
    gradient: bool = False
    shard: int = 256
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("per_class", "classes", "shard", "needed", "rounds"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; it must be 1 or more.")
        if self.needed > self.per_class:
            raise InputError(f"{self.needed} good models of a class are needed, but only {self.per_class} are made.")
        if self.rows is not None and self.rows < 1:
            raise InputError(f"Each model is trained on {self.rows} rows; at least 1 is needed.")
        if not -math.inf < self.low < self.high < math.inf:
            raise InputError(f"The range of shares is {self.low} to {self.high}; it must go up.")
        if not (0 <= self.least_accuracy <= 1 and 0 <= self.least_balanced <= 1):
            raise InputError("least_accuracy and least_balanced must lie between 0 and 1.")
        if (self.balanced is not None and not 0 < self.balanced < 1) or not 0 < self.keep <= 1:
            raise InputError(
                f"Balanced rows have a share of {self.balanced} and are {self.keep} of all; both must be above 0, the "
                "share below 1 and the rows at most 1."
            )

    @property
    def models(self) -> int:
        """All of them."""
        return self.per_class * self.classes

    @property
    def shards(self) -> int:
        """Files they are kept in."""
        return -(-self.models // self.shard)

    def numbers(self, shard: int) -> range:
        """The models of a shard."""
        return range(shard * self.shard, min((shard + 1) * self.shard, self.models))

    def label(self, model: int) -> int:
        """A model's class. Classes take turns, so that an unfinished run has all of them."""
        return model % self.classes

    def bounds(self, label: int) -> tuple[float, float]:
        """The range of a class."""
        step = (self.high - self.low) / self.classes
        return self.low + label * step, self.high if label == self.classes - 1 else self.low + (label + 1) * step

    def sample(self, pool: Encoded) -> int:
        """Rows each owner has."""
        return round(0.2 * len(pool)) if self.rows is None else self.rows

    def share(self, model: int, count: int, values: np.ndarray) -> float:
        """What a model's rows shall have: uniform in the range of its class, to a whole number of rows."""
        low, high = self.bounds(self.label(model))
        drawn = float(self._streams(model).numpy("share").uniform(low, high))
        if values.dtype != np.bool_:
            return drawn
        fewest, most = self.whole_rows(self.label(model), count)
        return min(max(round(drawn * count), fewest), most) / count

    def whole_rows(self, label: int, count: int) -> tuple[int, int]:
        """The fewest and the most of ``count`` rows whose share lies in a class; only the last has its upper end."""
        low, high = (count * (bound - 1e-9) for bound in self.bounds(label))  # 0.1 * 3 * 10 is not quite 3
        return math.ceil(low), math.floor(high + 2e-9 * count) if label == self.classes - 1 else math.ceil(high) - 1

    def seed_of(self, model: int) -> int:
        """Of a model's weights and order."""
        return self._streams(model).integer("weights")

    def draw_rows(self, model: int, share: float, count: int, values: np.ndarray) -> np.ndarray:
        """Rows of the pool in the order of training: ``count`` of them, or what a balancing owner takes of them."""
        held = draw(values, share, count, self._streams(model).numpy("rows"))
        if self.balanced is None:
            return held
        taken = max(1, round(self.keep * count))
        chosen = rebalance(values[held], self.balanced, taken, self._streams(model).numpy("balanced rows"))
        rows: np.ndarray = held[chosen]
        return rows

    def _streams(self, model: int) -> Streams:
        return Streams(self.seed).child("shadow model", model)


def check_plan(
    plan: ShadowPlan, pool: Encoded, values: np.ndarray, evaluation: Encoded, start: Stack | None = None
) -> None:
    """Stop before any training if the plan cannot be carried out with these rows and these models of a server."""
    if start is None and (plan.rounds > 1 or plan.gradient):
        raise InputError("Clients of a federation start from the server's models; give them as start.")
    widths = (pool.width, *plan.recipe.hidden, pool.classes)
    if start is not None and [each.widths for each in start.rounds(plan.rounds)] != [widths] * plan.rounds:
        raise InputError(
            f"The server's models have the widths {'-'.join(map(str, start.widths))}; {plan.rounds} round(s) of "
            f"{'-'.join(map(str, widths))} are needed."
        )
    if len(values) != len(pool):
        raise InputError(f"The property is known of {len(values)} rows, but the pool has {len(pool)}.")
    if (pool.width, pool.classes) != (evaluation.width, evaluation.classes):
        raise InputError(
            f"The pool has {pool.width} columns and {pool.classes} classes, the evaluation rows {evaluation.width} and "
            f"{evaluation.classes}; encode them alike."
        )
    if len(evaluation) == 0:
        raise InputError("There are no evaluation rows.")
    if values.dtype != np.bool_ and not np.issubdtype(values.dtype, np.floating):
        raise InputError(f"The property is given as {values.dtype}; it must be bool, or float for a mean.")
    if plan.balanced is not None and values.dtype != np.bool_:
        raise InputError("Only rows that have a property or lack it can be balanced; a mean is asked for.")
    check_varies(values)
    count = plan.sample(pool)
    if not 1 <= count <= len(pool):
        raise InputError(f"Each model is trained on {count} rows, but the pool has {len(pool)}.")
    _check_range(plan, count, values)


def _check_range(plan: ShadowPlan, count: int, values: np.ndarray) -> None:
    """Whether the pool can supply both ends of the range."""
    low, high, kind = plan.low, plan.high, "mean"
    if values.dtype == np.bool_:
        if not 0 <= low < high <= 1:
            raise InputError(f"The range of shares is {low:g} to {high:g}; shares lie between 0 and 1.")
        whole = [plan.whole_rows(label, count) for label in range(plan.classes)]
        if any(fewest > most for fewest, most in whole):
            raise InputError(f"{count} rows are too few for {plan.classes} classes between {low:g} and {high:g}.")
        low, high, kind = whole[0][0] / count, whole[-1][1] / count, "share"
    smallest, largest = possible_shares(values, count)
    if low < smallest or high > largest:
        end, limit = ("largest", largest) if high > largest else ("smallest", smallest)
        raise InputError(
            f"A {kind} from {plan.low:g} to {plan.high:g} is asked for, but the {end} that {count} rows of this pool "
            f"can have is {limit:.4g}; change the range, or train each model on fewer rows."
        )
