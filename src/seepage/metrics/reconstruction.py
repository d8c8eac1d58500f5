"""How much of the truth a claim holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from seepage.data import Encoder, Table
from seepage.federation import Truth
from seepage.metrics.baselines import GUESSERS, Guess, prior
from seepage.metrics.matching import l1_cost, match_rows
from seepage.metrics.reference import Reference
from seepage.metrics.trust import doubt_measures
from seepage.observation import Claim, Knowledge
from seepage.results import ALL_COLUMNS, ATTACK, Measure

MANY = 640  # rows at which the random baselines are drawn only twice
TOLERANCE = 0.319  # a number is right within this many deviations (TabLeak and the profiling study)


@dataclass(frozen=True, kw_only=True)
class Evaluator:
    """Scores claims against truths, and the baselines beside them.

    A claim is decoded to rows first. A cell is right if the category is equal or the number is within ``TOLERANCE``
    deviations. Rows are matched by the L1 distance of the encoded rows (the profiling study); ``accuracy_tableak``
    matches by the number of right cells (000).

    Args:
        training: marginals of the whole training part.
        deviation: whose standard deviation makes the tolerance: the ``client``'s (the profiling study) or ``global``
            (TabLeak).
        draws: Monte Carlo draws of the random baselines.
    """

    training: Reference
    deviation: Literal["client", "global"] = "client"
    draws: int = 20
    _clients: dict[int, Reference] = field(default_factory=dict, repr=False, compare=False)

    def __call__(
        self, claim: Claim, truth: Truth, knowledge: Knowledge, generator: np.random.Generator
    ) -> dict[Measure, float]:
        """Every number about one claim; nothing when the claim holds no rows."""
        if claim.rows is None or not claim.outcome.scored:
            return {}
        client = self._client(truth.client_rows)
        sheet = _Sheet(truth, client, self.training if self.deviation == "global" else client)
        guess = truth.encoder.decode(claim.rows, truth.statistics, project=knowledge.ranges)
        if claim.ordered:  # nothing to match, for the attack and for those who only guess
            own = np.arange(len(truth.rows))
            values = sheet.measures(ATTACK, guess, own)
            for name, (guesser, _) in GUESSERS.items():
                values |= sheet.measures(name, guesser(len(truth.rows), client, self.training, generator), own)
            return values
        cost = sheet.cost(guess)
        order = match_rows(cost)
        values = sheet.measures(ATTACK, guess, order) | sheet.diagnostics(guess, cost, order)
        if claim.doubt is not None:
            right = sheet.right(guess, order)
            guessed = sheet.right(prior(len(truth.rows), client, self.training, generator), np.arange(len(truth.rows)))
            values |= doubt_measures(claim.doubt[order], right, guessed, len(truth.rows.schema.numeric))
        if claim.certified is not None:
            values |= certificates(claim.certified[order], np.asarray(sheet.right(guess, order).all(1)))
        if claim.labels is not None and truth.rows.schema.target.classes:
            values[Measure(ATTACK, ALL_COLUMNS, "label_accuracy")] = label_accuracy(claim.labels, truth.rows.target)
        # Matching takes the cube of the rows; a large batch averages over its own rows already.
        draws = int(np.clip(2 * MANY // len(truth.rows), 2, self.draws))
        for name, (guesser, random) in GUESSERS.items():
            rounds = [
                sheet.measures(name, guesser(len(truth.rows), client, self.training, generator))
                for _ in range(draws if random else 1)
            ]
            values |= {key: float(np.mean([scores[key] for scores in rounds])) for key in rounds[0]}
        return values

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


def aligned(claim: Claim, truth: Truth, knowledge: Knowledge) -> Guess:
    """The claimed rows, decoded, in the order of the true rows they are matched with."""
    assert claim.rows is not None
    numbers, codes = truth.encoder.decode(claim.rows, truth.statistics, project=knowledge.ranges)
    client = Reference.of(truth.client_rows)
    order = match_rows(_Sheet(truth, client, client).cost((numbers, codes)))
    return numbers[order], codes[order]


class _Sheet:
    """The true rows of one batch and everything a guess is held against."""

    def __init__(self, truth: Truth, client: Reference, scale: Reference) -> None:
        self.rows: Table = truth.rows
        self.encoder: Encoder = truth.encoder
        self.statistics = truth.statistics
        self.encoded = truth.encoder.encode(truth.rows, truth.statistics)
        self.client = client
        self.deviation = np.where(scale.deviation > 0, scale.deviation, 1.0)
        self.schema = truth.rows.schema

    def right(self, guess: Guess, order: np.ndarray) -> np.ndarray:
        """(rows, columns): which cells of the matched rows are right."""
        numbers, codes = guess
        near = np.abs(self.rows.numbers - numbers[order]) <= TOLERANCE * self.deviation
        return np.concatenate([near, self.rows.codes == codes[order]], axis=1)

    def right_counts(self, guess: Guess) -> np.ndarray:
        """(true rows, claimed rows): how many cells of each claimed row are right for each true row."""
        numbers, codes = guess
        counts = np.zeros((len(self.rows), len(self.rows)), dtype=np.int32)
        for j in range(numbers.shape[1]):  # column by column: all pairs of all columns would not fit
            counts += np.abs(self.rows.numbers[:, j, None] - numbers[None, :, j]) <= TOLERANCE * self.deviation[j]
        for j in range(codes.shape[1]):
            counts += self.rows.codes[:, j, None] == codes[None, :, j]
        return counts

    def cost(self, guess: Guess) -> np.ndarray:
        """L1 distance of every true row to every claimed one, both encoded."""
        claimed = self.encoder.encode(Table(self.schema, *guess, self.rows.target), self.statistics)
        return l1_cost(self.encoded, claimed)

    def measures(self, source: str, guess: Guess, order: np.ndarray | None = None) -> dict[Measure, float]:
        """Accuracies of a guess after matching (in this order, if it is known), whole and per column."""
        right = self.right(guess, match_rows(self.cost(guess)) if order is None else order)
        numeric = len(self.schema.numeric)
        share = right.mean(1)
        scores = {
            "accuracy": share.mean(),
            "accuracy_num": right[:, :numeric].mean() if numeric else np.nan,
            "accuracy_cat": right[:, numeric:].mean() if right.shape[1] > numeric else np.nan,
            "emr": (share == 1).mean(),
            "emr_90": (share >= 0.9).mean(),
            "emr_80": (share >= 0.8).mean(),
        }
        values = {Measure(source, ALL_COLUMNS, name): float(value) for name, value in scores.items()}
        names = [column.name for column in (*self.schema.numeric, *self.schema.categorical)]
        values |= {Measure(source, name, "accuracy"): float(right[:, j].mean()) for j, name in enumerate(names)}
        return values

    def diagnostics(self, guess: Guess, cost: np.ndarray, order: np.ndarray) -> dict[Measure, float]:
        """Numbers that help to read the accuracies; only for the attack."""
        numbers, codes = guess
        count = self.right_counts(guess)
        by_accuracy = match_rows(-count)
        columns = max(len(self.schema.columns), 1)
        error = (numbers[order] - self.rows.numbers) / self.deviation
        scores = {
            "accuracy_tableak": count[np.arange(len(count)), by_accuracy].mean() / columns,
            # Mean over columns of the root mean squared error, in deviations.
            "rmse": np.sqrt((np.clip(error, -1e6, 1e6) ** 2).mean(0)).mean() if error.shape[1] else np.nan,
            # From each claimed row to the nearest true row, per input.
            "nearest_distance": cost.min(0).mean() / max(self.encoded.shape[1], 1),
            "likelihood_num": self._likelihood_of_numbers(numbers),
            "likelihood_cat": self._likelihood_of_categories(codes),
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
