from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from seepage._core import Outcome, Streams
from seepage.data import Column, Encoder, Table, infer_schema
from seepage.federation import Truth
from seepage.metrics import MATCHINGS, Evaluator, Reference, match_rows
from seepage.metrics.baselines import GUESSERS, marginal
from seepage.metrics.matching import Scale, Side
from seepage.metrics.reconstruction import label_accuracy
from seepage.observation import Claim, Knowledge
from seepage.results import (
    ALL_COLUMNS,
    ATTACK,
    BASELINES,
    MATCHING_RULES,
    TABLEAK_RANDOM,
    MatchingName,
    Measure,
    by_rule,
)
from tests import cases

TABLE = cases.table("binary")
ENCODER = Encoder(schema=TABLE.schema)
STATISTICS = ENCODER.statistics(TABLE)
EVALUATOR = Evaluator(training=Reference.of(TABLE))
COSTS = hnp.arrays(np.float64, (4, 4), elements=st.integers(0, 50).map(float))


def truth(rows: int) -> Truth:
    return Truth(rows=TABLE.take(np.arange(rows)), encoder=ENCODER, statistics=STATISTICS, client_rows=TABLE)


def measured(rows: np.ndarray, true: Truth, evaluator: Evaluator = EVALUATOR) -> dict[str, float]:
    claim = Claim(outcome=Outcome.OK, rows=rows)
    values = evaluator(claim, true, Knowledge(), Streams(0).numpy("baselines"))
    return {key.metric: value for key, value in values.items() if key.source == ATTACK and key.scope == ALL_COLUMNS}


@given(COSTS)
def test_matching_is_the_cheapest_of_all(cost: np.ndarray) -> None:
    order = match_rows(cost)
    assert sorted(order) == [0, 1, 2, 3]
    total = cost[np.arange(4), order].sum()
    assert total == min(sum(cost[i, j] for i, j in enumerate(p)) for p in itertools.permutations(range(4)))


@settings(max_examples=10, deadline=None)
@given(st.permutations(range(6)), st.floats(0, 1))
def test_scores_do_not_depend_on_the_order_of_rows(order: list[int], noise: float) -> None:
    true = truth(6)
    rows = ENCODER.encode(true.rows, STATISTICS)
    rows = rows + noise * Streams(1).numpy("noise").normal(size=rows.shape)
    one, other = measured(rows, true), measured(rows[order], true)
    assert one.keys() == other.keys()
    # Right cells tie often: how many are right is unique, whether they are numbers or categories is not.
    unique = one.keys() - {"accuracy_num_by_cells", "accuracy_cat_by_cells"}
    assert all(one[name] == pytest.approx(other[name], nan_ok=True) for name in unique)


def test_the_truth_itself_scores_one() -> None:
    true = truth(6)
    scores = measured(ENCODER.encode(true.rows, STATISTICS)[::-1], true)
    for name in ("accuracy", "accuracy_num", "accuracy_cat", "accuracy_by_cells", "emr", "emr_90", "emr_80"):
        assert scores[name] == 1.0
    assert scores["rmse"] == pytest.approx(0, abs=1e-5)
    assert scores["nearest_distance"] == pytest.approx(0, abs=1e-6)


def test_the_tolerance_is_0319_deviations_of_the_client() -> None:
    true = truth(1)
    rows = ENCODER.encode(true.rows, STATISTICS)
    inside, outside = rows.copy(), rows.copy()
    inside[0, 0] += 0.318
    outside[0, 0] += 0.320
    assert measured(inside, true)["accuracy"] == 1.0
    assert measured(outside, true)["accuracy"] == 0.75
    assert measured(outside, true)["emr"] == 0.0
    wide = Reference.of(TABLE)
    wide.deviation[:] = 10 * TABLE.numbers.std(0)
    assert measured(outside, true, Evaluator(training=wide, deviation="global"))["accuracy"] == 1.0


def test_exact_match_counts_rows_not_cells() -> None:
    true = truth(4)
    rows = ENCODER.encode(true.rows, STATISTICS)
    rows[0, 0] += 2
    scores = measured(rows, true)
    assert scores["emr"] == 0.75
    assert scores["accuracy"] == pytest.approx(15 / 16)
    assert scores["emr_80"] == 0.75  # 3 of 4 columns is below 80 %


def test_per_column_accuracies_average_to_the_whole() -> None:
    true = truth(8)
    rows = ENCODER.encode(true.rows, STATISTICS) + Streams(2).numpy("n").normal(size=(8, ENCODER.layout.width))
    values = EVALUATOR(Claim(outcome=Outcome.OK, rows=rows), true, Knowledge(), Streams(0).numpy("b"))
    for source in (ATTACK, *BASELINES):
        columns = [values[Measure(source, name, "accuracy")] for name in TABLE.schema.names]
        assert np.mean(columns) == pytest.approx(values[Measure(source, ALL_COLUMNS, "accuracy")])


def test_prior_is_mean_and_mode() -> None:
    true = truth(8)
    rows = ENCODER.encode(true.rows, STATISTICS)
    values = EVALUATOR(Claim(outcome=Outcome.OK, rows=rows), true, Knowledge(), Streams(0).numpy("b"))
    mode = np.bincount(TABLE.codes[:, 0]).argmax()
    name = TABLE.schema.categorical[0].name
    assert values[Measure("prior", name, "accuracy")] == (true.rows.codes[:, 0] == mode).mean()


def test_random_baselines_are_where_arithmetic_puts_them() -> None:
    """One row, many draws: uniform finds a category of k in 1/k of the draws."""
    evaluator = Evaluator(training=Reference.of(TABLE), draws=1000)
    true = truth(1)
    claim = Claim(outcome=Outcome.OK, rows=ENCODER.encode(true.rows, STATISTICS))
    values = evaluator(claim, true, Knowledge(), Streams(0).numpy("b"))
    assert values[Measure("uniform", "colour", "accuracy")] == pytest.approx(1 / 3, abs=0.06)
    share = (TABLE.codes[:, 0] == true.rows.codes[0, 0]).mean()
    assert values[Measure("marginal", "colour", "accuracy")] == pytest.approx(share, abs=0.06)
    low, high, spread = TABLE.numbers[:, 0].min(), TABLE.numbers[:, 0].max(), 0.319 * TABLE.numbers[:, 0].std()
    age = true.rows.numbers[0, 0]
    expected = (min(high, age + spread) - max(low, age - spread)) / (high - low)
    assert values[Measure("uniform", "age", "accuracy")] == pytest.approx(expected, abs=0.06)


def test_known_ranges_clamp_the_claim() -> None:
    true = truth(1)
    rows = ENCODER.encode(true.rows, STATISTICS)
    rows[0, 0] = 100.0
    oldest = TABLE.numbers[:, 0].max()
    at_the_end = TABLE.take(np.flatnonzero(TABLE.numbers[:, 0] == oldest)[:1])
    edge = Truth(rows=at_the_end, encoder=ENCODER, statistics=STATISTICS, client_rows=TABLE)
    encoded = ENCODER.encode(at_the_end, STATISTICS)
    encoded[0, 0] = 100.0
    claim = Claim(outcome=Outcome.OK, rows=encoded)
    generator = Streams(0).numpy("b")
    key = Measure(ATTACK, "age", "accuracy")
    assert EVALUATOR(claim, edge, Knowledge(ranges=False), generator)[key] == 0
    assert EVALUATOR(claim, edge, Knowledge(ranges=True), generator)[key] == 1


def test_whole_numbers_alone_round_a_claim_and_do_not_clamp_it() -> None:
    numbers = np.array([TABLE.numbers[0]])
    whole = np.array([column.integer for column in TABLE.schema.numeric])
    assert whole.any()
    codes = TABLE.codes[:1]
    off = Table(TABLE.schema, np.where(whole, numbers + 1000.3, numbers), codes, TABLE.target[:1])
    encoded = ENCODER.encode(off, STATISTICS)
    plain, rounded, clamped = (
        ENCODER.decode(encoded, STATISTICS, project=project, whole=known)[0]
        for project, known in ((False, False), (False, True), (True, False))
    )
    assert (np.abs(rounded - np.round(numbers + 1000.3))[:, whole] < 1e-9).all()
    assert (np.abs(plain - numbers)[:, whole] > 1000).all()
    assert (clamped <= TABLE.numbers.max(0) + 1e-9).all()


@pytest.mark.parametrize("outcome", [outcome for outcome in Outcome if not outcome.scored])
def test_a_failed_attack_has_no_numbers(outcome: Outcome) -> None:
    claim = Claim(outcome=outcome, rows=np.zeros((1, ENCODER.layout.width)))
    assert EVALUATOR(claim, truth(1), Knowledge(), Streams(0).numpy("b")) == {}


def test_claims_that_are_not_numbers_are_wrong_not_a_crash() -> None:
    rows = np.full((2, ENCODER.layout.width), np.nan)
    rows[1] = np.inf
    scores = measured(rows, truth(2))
    assert scores["accuracy_num"] == 0
    assert 0 <= scores["accuracy"] <= 1


def test_a_constant_number_is_right_when_it_is_guessed() -> None:
    frame = cases.frame().with_columns(always=pl.lit(0.1), seldom=pl.Series([-0.1, 0.0] * 60))
    schema = infer_schema(cases.frame(), "target")
    columns = (
        *schema.columns,
        Column(name="always", kind="numeric", low=0, high=1),
        Column(name="seldom", kind="numeric", low=-0.1),
    )
    table = Table.from_frame(frame, dataclasses.replace(schema, columns=columns))
    encoder = Encoder(schema=table.schema)
    statistics = encoder.statistics(table)
    true = Truth(rows=table.take(np.arange(4)), encoder=encoder, statistics=statistics, client_rows=table)
    whole = Reference.of(table)
    claim = Claim(outcome=Outcome.OK, rows=encoder.encode(true.rows, statistics))
    values = Evaluator(training=whole)(claim, true, Knowledge(), Streams(0).numpy("b"))
    assert values[Measure(ATTACK, "always", "accuracy")] == 1
    assert values[Measure("prior", "always", "accuracy")] == 1
    draws = marginal(500, whole, whole, Streams(0).numpy("m"))[0]
    names = [column.name for column in table.schema.numeric]
    assert draws[:, names.index("seldom")].mean() == pytest.approx(-0.05, abs=0.01)  # a range that ends at 0


@pytest.mark.parametrize(
    ("claimed", "true", "share"), [([0, 0, 1], [1, 0, 0], 1.0), ([1, 1, 1], [1, 0, 0], 1 / 3), ([2, 0], [1, 0], 0.5)]
)
def test_label_accuracy_does_not_know_the_order(claimed: list[int], true: list[int], share: float) -> None:
    assert label_accuracy(np.array(claimed), np.array(true)) == pytest.approx(share)


ENCODERS = {
    "onehot": Encoder(schema=TABLE.schema),
    "standardised": Encoder(schema=TABLE.schema, standardise_onehot=True),
    "embedded": Encoder(schema=TABLE.schema, categories="ordinal"),
}


@pytest.mark.parametrize("name", GUESSERS)
@pytest.mark.parametrize("matching", MATCHINGS)
@pytest.mark.parametrize("encoder", ENCODERS.values(), ids=ENCODERS)
def test_a_claim_that_is_a_guess_scores_as_the_guess_does(
    name: str, matching: MatchingName, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One matching for attack and baseline: given as an attack's rows, a baseline's draw gets the same numbers."""
    statistics, whole = encoder.statistics(TABLE), Reference.of(TABLE)
    true = Truth(rows=TABLE.take(np.arange(24)), encoder=encoder, statistics=statistics, client_rows=TABLE)
    drawn = GUESSERS[name][0](24, whole, whole, Streams(3).numpy("draw"))
    monkeypatch.setitem(GUESSERS, name, (lambda *_: drawn, False))
    claim = Claim(outcome=Outcome.OK, rows=encoder.encode(Table(TABLE.schema, *drawn, true.rows.target), statistics))
    evaluator = Evaluator(training=whole, matching=matching)
    for ranges in (False, True):  # known ranges round and clamp a claim, so they must do so to a guess
        values = evaluator(claim, true, Knowledge(ranges=ranges), Streams(0).numpy("b"))
        compared = {key for key in values if key.source == name}
        assert {by_rule("accuracy", rule) for rule in MATCHING_RULES} < {key.metric for key in compared}
        for key in compared:
            own = values[Measure(ATTACK, key.scope, key.metric)]
            assert own == pytest.approx(values[key], nan_ok=True), key


def test_one_rule_matches_the_attack_and_every_baseline(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that pairs rows backwards is seen in all of them."""
    seen = []

    def backwards(true: Side, claimed: Side, scale: Scale) -> np.ndarray:
        seen.append(claimed)
        return 1.0 - np.eye(len(true.numbers))[::-1]

    monkeypatch.setitem(MATCHINGS, "cells", backwards)  # type: ignore[misc]
    true = truth(6)
    rows = ENCODER.encode(true.rows, STATISTICS)
    values = Evaluator(training=Reference.of(TABLE), matching="cells", draws=2)(
        Claim(outcome=Outcome.OK, rows=rows[::-1]), true, Knowledge(), Streams(0).numpy("b")
    )
    assert values[Measure(ATTACK, ALL_COLUMNS, "emr")] == 1
    assert len(seen) == 1 + 1 + 3 * 2  # the attack, the prior, three random baselines drawn twice
    for source in (ATTACK, *GUESSERS):
        chosen = values[Measure(source, ALL_COLUMNS, "accuracy")]
        assert values[Measure(source, ALL_COLUMNS, "accuracy_by_cells")] == chosen


def test_right_cells_find_more_in_guessed_rows_than_distances_do() -> None:
    true = truth(30)
    rows = ENCODER.encode(true.rows, STATISTICS)
    values = EVALUATOR(Claim(outcome=Outcome.OK, rows=rows), true, Knowledge(), Streams(0).numpy("b"))
    for source in GUESSERS:
        by_cells, by_l1 = (values[Measure(source, ALL_COLUMNS, by_rule("accuracy", rule))] for rule in ("cells", "l1"))
        assert by_cells >= by_l1


def test_the_study_matches_codes_where_categories_are_embedded_and_variables_elsewhere() -> None:
    numbers, codes = np.zeros((2, 1)), np.array([[0], [5]])
    true = Side(np.eye(2), np.eye(2), numbers, codes)
    claimed = Side(np.array([[0.9, 0.8], [0.1, 0.3]]), np.eye(2)[::-1], numbers, np.array([[4], [1]]))
    embedded, onehot = Scale(np.ones(1), embedded=True), Scale(np.ones(1), embedded=False)
    assert match_rows(MATCHINGS["study"](true, claimed, onehot)).tolist() == [0, 1]
    assert match_rows(MATCHINGS["l1"](true, claimed, onehot)).tolist() == [1, 0]
    near = Side(np.zeros((2, 3)), np.zeros((2, 3)), np.zeros((2, 1)), np.array([[4], [1]]))
    far = Side(np.zeros((2, 3)), np.zeros((2, 3)), np.zeros((2, 1)), np.array([[0], [5]]))
    assert match_rows(MATCHINGS["study"](far, near, embedded)).tolist() == [1, 0]


def test_tableaks_random_draws_one_number_for_the_batch_and_categories_for_each_row() -> None:
    whole = Reference.of(TABLE)
    numbers, codes = GUESSERS[TABLEAK_RANDOM][0](200, whole, whole, Streams(0).numpy("r"))
    assert (numbers == numbers[0]).all()
    assert len(np.unique(codes[:, 0])) > 1
    assert (whole.low <= numbers).all()
    assert (numbers <= whole.high).all()
