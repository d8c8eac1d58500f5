"""How much of the truth a claim holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from seepage.data import Encoder, Table
from seepage.federation import Truth
from seepage.metrics.baselines import GUESSERS, Guess
from seepage.metrics.matching import MATCHINGS, Scale, Side, l1_cost, match_rows
from seepage.metrics.reference import Reference
from seepage.metrics.tally import tally_measures
from seepage.metrics.trust import doubt_measures
from seepage.observation import Claim, Knowledge
from seepage.results import ALL_COLUMNS, ATTACK, BASELINES, PRIOR, MatchingName, Measure, by_rule

MANY = 640  # rows at which the random baselines are drawn only twice, and above which one matching rule must do
TOLERANCE = 0.319  # a number is right within this many deviations (TabLeak and the profiling study)


@dataclass(frozen=True, kw_only=True)
class Evaluator:
    """Scores claims against truths, and the baselines beside them.

    A claim is decoded to rows first. A cell is right if the category is equal or the number is within ``TOLERANCE``
    deviations. A row is *near* (``emr``) when all of its cells are right so, and *exact* when every category is equal
    and every number is, at the column's own resolution. Baselines go the same way as the claim: encoded, decoded,
    matched by the same rule.

    Args:
        training: marginals of the whole training part.
        deviation: whose standard deviation makes the tolerance: the ``client``'s (the profiling study) or ``global``
            (TabLeak).
        matching: how rows are paired, those of the claim and those of every baseline (``metrics/matching.py``). In
            batches of up to ``MANY`` rows, accuracy by the other rules is there too (``accuracy_by_cells``, ...).
        draws: Monte Carlo draws of the random baselines.
    """

    training: Reference
    deviation: Literal["client", "global"] = "client"
    matching: MatchingName = "l1"
    draws: int = 20
    _clients: dict[int, Reference] = field(default_factory=dict, repr=False, compare=False)

    def __call__(
        self, claim: Claim, truth: Truth, knowledge: Knowledge, generator: np.random.Generator
    ) -> dict[Measure, float]:
        """Every number about one claim; nothing when the claim holds nothing."""
        if claim.tally is not None and claim.outcome.scored:
            return tally_measures(claim.tally, truth, self.training)
        if claim.rows is None or not claim.outcome.scored:
            return {}
        client = self._client(truth.client_rows)
        scale = self.training if self.deviation == "global" else client
        sheet = _Sheet(truth, client, scale, knowledge, self.matching, self.training.resolution)
        side = sheet.side(claim.rows)
        if claim.ordered:  # nothing to match, for the attack and for those who only guess
            own = np.arange(len(truth.rows))
            values = sheet.measures(ATTACK, side, own)
            for name in BASELINES:
                values |= sheet.measures(name, self._guess(name, sheet, client, generator), own)
            if claim.certified is not None:
                values |= certificates(claim.certified, np.asarray(sheet.right(side, own).all(1)))
            return values
        order = sheet.order(side)
        values = sheet.measures(ATTACK, side, order) | sheet.diagnostics(side, order)
        values |= sheet.by_rules(ATTACK, side, order)
        if claim.doubt is not None:
            guess = self._guess(PRIOR, sheet, client, generator)
            guessed = sheet.right(guess, np.arange(len(truth.rows)))
            numeric = len(truth.rows.schema.numeric)
            values |= doubt_measures(claim.doubt[order], sheet.right(side, order), guessed, numeric)
        if claim.certified is not None:
            values |= certificates(claim.certified[order], np.asarray(sheet.right(side, order).all(1)))
        if claim.labels is not None and truth.rows.schema.target.classes:
            values[Measure(ATTACK, ALL_COLUMNS, "label_accuracy")] = label_accuracy(claim.labels, truth.rows.target)
        # Matching takes the cube of the rows; a large batch averages over its own rows already.
        draws = int(np.clip(2 * MANY // len(truth.rows), 2, self.draws))
        for name, (_, random) in GUESSERS.items():
            rounds = []
            for _ in range(draws if random else 1):
                guess = self._guess(name, sheet, client, generator)
                matched = sheet.order(guess)
                rounds.append(sheet.measures(name, guess, matched) | sheet.by_rules(name, guess, matched))
            values |= {key: float(np.mean([scores[key] for scores in rounds])) for key in rounds[0]}
        return values

    def _guess(self, name: str, sheet: _Sheet, client: Reference, generator: np.random.Generator) -> Side:
        """Rows of a baseline, on the way that a claim's rows go."""
        numbers, codes = GUESSERS[name][0](len(sheet.rows), client, self.training, generator)
        return sheet.side(sheet.encode(numbers, codes))

    def _client(self, table: Table) -> Reference:
        """A client's marginals, computed once."""
        if id(table) not in self._clients:
            self._clients[id(table)] = Reference.of(table)
        return self._clients[id(table)]


def certificates(certified: np.ndarray, right: np.ndarray) -> dict[Measure, float]:
    """The share of rows that the attack proved, and how many of those are wrong: a proof that fails is a bug."""
    return {
        Measure(ATTACK, ALL_COLUMNS, "certified"): float(certified.mean()),
        Measure(ATTACK, ALL_COLUMNS, "certified_wrong"): float((certified & ~right).sum()),
    }


def label_accuracy(claimed: np.ndarray, true: np.ndarray) -> float:
    """The share of labels that are right in the best order: an update does not know the order of its rows."""
    count = int(max(claimed.max(), true.max())) + 1
    return float(
        np.minimum(np.bincount(claimed, minlength=count), np.bincount(true, minlength=count)).sum() / len(true)
    )


def aligned(claim: Claim, truth: Truth, knowledge: Knowledge, matching: MatchingName = "l1") -> Guess:
    """The claimed rows, decoded, in the order of the true rows they are matched with."""
    assert claim.rows is not None
    client = Reference.of(truth.client_rows)
    sheet = _Sheet(truth, client, client, knowledge, matching, client.resolution)
    side = sheet.side(claim.rows)
    order = sheet.order(side)
    return side.numbers[order], side.codes[order]


class _Sheet:
    """The true rows of one batch and everything that claimed rows are held against."""

    def __init__(
        self,
        truth: Truth,
        client: Reference,
        scale: Reference,
        knowledge: Knowledge,
        matching: MatchingName,
        resolution: np.ndarray,
    ) -> None:
        self.rows: Table = truth.rows
        self.schema = truth.rows.schema
        self.client = client
        self.deviation = np.where(scale.deviation > 0, scale.deviation, 1.0)
        self._encoder: Encoder = truth.encoder
        self._statistics = truth.statistics
        self._knowledge = knowledge
        self._matching = matching
        self._resolution = resolution
        encoded = self.encode(truth.rows.numbers, truth.rows.codes)
        self._true = Side(encoded, encoded, truth.rows.numbers, truth.rows.codes)
        self._scale = Scale(TOLERANCE * self.deviation, truth.encoder.layout.embedded)

    def encode(self, numbers: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Rows as the client's model would take them."""
        return self._encoder.encode(Table(self.schema, numbers, codes, self.rows.target), self._statistics)

    def side(self, raw: np.ndarray) -> Side:
        """Claimed inputs, and the rows they stand for."""
        known = self._knowledge
        numbers, codes = self._encoder.decode(raw, self._statistics, project=known.ranges, whole=known.whole)
        return Side(raw, self.encode(numbers, codes), numbers, codes)

    def order(self, side: Side, matching: MatchingName | None = None) -> np.ndarray:
        """For each true row the claimed one that stands for it, by the chosen rule if no other is named."""
        return match_rows(MATCHINGS[matching or self._matching](self._true, side, self._scale))

    def right(self, side: Side, order: np.ndarray) -> np.ndarray:
        """(rows, columns): which cells of the matched rows are right."""
        near = np.abs(self.rows.numbers - side.numbers[order]) <= TOLERANCE * self.deviation
        return np.concatenate([near, self.rows.codes == side.codes[order]], axis=1)

    def exact(self, side: Side, order: np.ndarray) -> np.ndarray:
        """(rows,): of which matched rows every cell is equal, numbers at the resolution of their columns."""
        # A hair over half a step, or a number halfway between two would fail by the last bit.
        equal = np.abs(self.rows.numbers - side.numbers[order]) <= 0.500001 * self._resolution
        return np.asarray(equal.all(1) & (self.rows.codes == side.codes[order]).all(1))

    def shares(self, right: np.ndarray) -> dict[str, float]:
        """The share of cells that are right: of all, of numbers, of categories."""
        numeric = len(self.schema.numeric)
        return {
            "accuracy": float(right.mean(1).mean()),
            "accuracy_num": float(right[:, :numeric].mean()) if numeric else float("nan"),
            "accuracy_cat": float(right[:, numeric:].mean()) if right.shape[1] > numeric else float("nan"),
        }

    def measures(self, source: str, side: Side, order: np.ndarray) -> dict[Measure, float]:
        """Accuracies of matched rows, whole and per column."""
        right = self.right(side, order)
        share = right.mean(1)
        scores = self.shares(right) | {
            "exact": self.exact(side, order).mean(),
            "emr": (share == 1).mean(),
            "emr_90": (share >= 0.9).mean(),
            "emr_80": (share >= 0.8).mean(),
        }
        values = {Measure(source, ALL_COLUMNS, name): float(value) for name, value in scores.items()}
        names = [column.name for column in (*self.schema.numeric, *self.schema.categorical)]
        values |= {Measure(source, name, "accuracy"): float(right[:, j].mean()) for j, name in enumerate(names)}
        return values

    def by_rules(self, source: str, side: Side, order: np.ndarray) -> dict[Measure, float]:
        """The same rows matched by every rule, where that is cheap; ``order`` is that of the chosen one."""
        if len(self.rows) > MANY:
            return {}
        orders = {rule: order if rule == self._matching else self.order(side, rule) for rule in MATCHINGS}
        return {
            Measure(source, ALL_COLUMNS, by_rule(name, rule)): value
            for rule, own in orders.items()
            for name, value in self.shares(self.right(side, own)).items()
        }

    def diagnostics(self, side: Side, order: np.ndarray) -> dict[Measure, float]:
        """Numbers that help to read the accuracies; only for the attack."""
        error = (side.numbers[order] - self.rows.numbers) / self.deviation
        distance = l1_cost(self._true.encoded, side.encoded)
        scores = {
            # Mean over columns of the root mean squared error, in deviations.
            "rmse": np.sqrt((np.clip(error, -1e6, 1e6) ** 2).mean(0)).mean() if error.shape[1] else np.nan,
            # From each claimed row to the nearest true row, per input.
            "nearest_distance": distance.min(0).mean() / max(self._true.encoded.shape[1], 1),
            "likelihood_num": self._likelihood_of_numbers(side.numbers),
            "likelihood_cat": self._likelihood_of_categories(side.codes),
        }
        return {Measure(ATTACK, ALL_COLUMNS, name): float(value) for name, value in scores.items()}

    def _likelihood_of_numbers(self, numbers: np.ndarray) -> float:
        """Mean log density of the claimed numbers under the client's normal marginals, in units of its deviations."""
        if not numbers.shape[1]:
            return float("nan")
        spread = np.where(self.client.deviation > 0, self.client.deviation, 1.0)
        z = np.clip((numbers - self.client.table.numbers.mean(0)) / spread, -1e3, 1e3)
        return float((-0.5 * z**2 - 0.5 * np.log(2 * np.pi)).mean())

    def _likelihood_of_categories(self, codes: np.ndarray) -> float:
        """Mean log share of the claimed categories in the client's rows (one added to every count)."""
        if not codes.shape[1]:
            return float("nan")
        rows = len(self.client.table)
        logs = [
            np.log((share * rows + 1) / (rows + len(share)))[codes[:, j]] for j, share in enumerate(self.client.shares)
        ]
        return float(np.mean(logs))
