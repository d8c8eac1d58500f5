from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save

from seepage._core import InputError, Streams
from seepage.attacks.properties import (
    ShadowPlan,
    Shadows,
    encode_rows,
    good_ones,
    packed,
    train_shadows,
    train_shard,
    unpacked,
)
from seepage.data import Encoder, Table, open_dataset
from seepage.data.properties import Property
from seepage.models.encoded import Encoded
from seepage.models.recipe import Recipe
from seepage.models.stack import Stack
from seepage.models.stacked_training import first_weights, gradient_stack, train_stack

PLAN = ShadowPlan(
    property_text="sex == 'female'",
    per_class=4,
    classes=3,
    rows=50,
    recipe=Recipe(hidden=(4, 3), batch_size=25),
    least_accuracy=0.0,
    shard=5,
    seed=7,
)


def parts() -> tuple[Encoded, np.ndarray, Encoded]:
    """Pool, property and evaluation rows of the synthetic clinic."""
    frame, schema = open_dataset("clinic")
    table = Table.from_frame(frame, schema)
    statistics = Encoder(schema=schema).statistics(table)
    pool, evaluation = table.take(np.arange(600)), table.take(np.arange(600, 800))
    holds = Property.parse(PLAN.property_text, schema).values(pool)
    return encode_rows(pool, statistics), holds, encode_rows(evaluation, statistics)


POOL, HOLDS, EVALUATION = parts()


def run(plan: ShadowPlan = PLAN, **options: Any) -> Shadows:
    return train_shadows(plan, POOL, HOLDS, EVALUATION, **options)


def same(one: Shadows, other: Shadows) -> bool:
    return all(
        torch.equal(a, b)
        for a, b in zip(
            (*one.stack.weights, *one.stack.biases, one.shares, one.accuracy, one.seeds),
            (*other.stack.weights, *other.stack.biases, other.shares, other.accuracy, other.seeds),
            strict=True,
        )
    )


@pytest.fixture(scope="module")
def everything() -> Shadows:
    return run()


def test_every_model_is_the_one_its_rows_and_seed_make(everything: Shadows) -> None:
    shadows = everything
    assert len(shadows) == len(shadows.stack) == 12
    assert shadows.labels.tolist() == [0, 1, 2] * 4
    assert len(set(shadows.seeds.tolist())) == 12
    for model in (0, 5, 11):
        rows = PLAN.draw_rows(model, float(shadows.shares[model]), 50, HOLDS)
        assert HOLDS[rows].mean() == pytest.approx(float(shadows.shares[model]))
        alone = train_stack(PLAN.recipe, POOL, torch.from_numpy(rows)[None], [int(shadows.seeds[model])])
        torch.testing.assert_close(alone.weights[0][0], shadows.stack.weights[0][model], rtol=1e-4, atol=1e-5)


def test_shards_are_made_in_any_order_and_kept_as_bytes(everything: Shadows) -> None:
    parts = [train_shard(PLAN, number, POOL, HOLDS, EVALUATION) for number in (2, 0, 1)]
    back = [unpacked(packed(part)) for part in parts]
    assert same(Shadows.cat([back[1], back[2], back[0]]), everything)


@pytest.mark.parametrize("content", [b"", b"\x80\x04" + bytes(500), save({"w": torch.zeros(3)})])
def test_bytes_that_are_no_models_are_one_sentence(content: bytes) -> None:
    with pytest.raises(InputError, match="no shadow models"):
        unpacked(content)


@given(st.integers(1, 12), st.integers(0, 30), st.integers(12, 4000), st.sampled_from([(0.0, 1.0), (0.25, 0.5)]))
@settings(max_examples=60, deadline=None)
def test_a_share_lies_in_the_range_of_its_class(
    classes: int, model: int, count: int, range_: tuple[float, float]
) -> None:
    low, high = range_
    plan = replace(PLAN, classes=classes, low=low, high=high)
    fewest, most = plan.whole_rows(plan.label(model), count)
    if fewest > most:
        return
    share = plan.share(model, count, HOLDS)
    found = (share - low) / (high - low) * classes
    assert share * count == pytest.approx(round(share * count))
    assert plan.label(model) - 1e-6 <= found < plan.label(model) + 1 or share == high == plan.bounds(classes - 1)[1]


def test_classes_take_all_whole_numbers_of_rows_and_share_none() -> None:
    plan = replace(PLAN, classes=7, per_class=1)
    ranges = [plan.whole_rows(label, 50) for label in range(7)]
    assert [number for fewest, most in ranges for number in range(fewest, most + 1)] == list(range(51))


SERVER = Stack.cat([first_weights((POOL.width, 4, 3, POOL.classes), 3)])
ROUNDS = Stack.chained([SERVER, Stack.cat([first_weights((POOL.width, 4, 3, POOL.classes), 4)])])


@pytest.mark.parametrize("gradient", [False, True], ids=["update", "gradient"])
def test_clients_of_a_federation_start_from_the_server_s_model_in_every_round(gradient: bool) -> None:
    plan = replace(PLAN, rounds=2, gradient=gradient)
    made = run(plan, start=ROUNDS)
    shares = [plan.share(model, 50, HOLDS) for model in range(5)]
    rows = torch.from_numpy(np.stack([plan.draw_rows(k, share, 50, HOLDS) for k, share in enumerate(shares)]))
    for number, (server, sent) in enumerate(zip(ROUNDS.rounds(2), made.stack.rounds(2), strict=True)):
        seeds = [int(seed) for seed in made.seeds[:5]]
        own = [Streams(seed).integer("round", number) for seed in seeds] if number else seeds
        work = gradient_stack if gradient else train_stack
        expected = work(plan.recipe, POOL, rows, own, start=Stack.cat([server] * 5))
        for one, other in zip(sent.weights, expected.weights, strict=True):
            torch.testing.assert_close(one[:5], other, rtol=1e-4, atol=1e-5)
    if gradient:
        assert len(made.accuracy.unique()) == 1  # the server's own


def test_a_federation_needs_its_server_s_models() -> None:
    with pytest.raises(InputError, match="give them as start"):
        run(replace(PLAN, gradient=True))
    with pytest.raises(InputError, match=r"2 round\(s\) of"):
        run(replace(PLAN, rounds=2), start=SERVER)


def test_balancing_owners_train_on_fewer_rows_with_a_share_of_their_own() -> None:
    plan = replace(PLAN, balanced=0.5, keep=0.4)
    rows = plan.draw_rows(0, 0.3, 50, HOLDS)
    assert len(rows) == 20
    assert HOLDS[rows].mean() == 0.5
    assert run(plan).shares.min() < 0.3  # what they have, and not what they train on
    with pytest.raises(InputError, match="a mean is asked for"):
        train_shadows(plan, POOL, np.arange(len(POOL), dtype=float), EVALUATION)
    with pytest.raises(InputError, match="share of 1"):
        replace(PLAN, balanced=1.5)


def test_models_that_are_not_good_enough_are_marked_and_left_out(everything: Shadows) -> None:
    middle = float(everything.accuracy.median())
    plan = replace(PLAN, least_accuracy=middle)
    shadows = run(plan)
    assert len(shadows) == 12
    assert torch.equal(shadows.passed, shadows.accuracy >= middle)
    counts = torch.bincount(shadows.labels[shadows.passed], minlength=3)
    if int(counts.min()):
        assert len(good_ones(shadows, plan)) == int(shadows.passed.sum()) < 12
    with pytest.raises(InputError, match=r"Too few shadow models .*: 0, 0, 0 in the classes"):
        good_ones(run(replace(PLAN, least_balanced=1.0)), replace(PLAN, least_balanced=1.0))


def test_a_mean_can_be_asked_for() -> None:
    values = np.random.default_rng(0).normal(50, 10, len(POOL))
    plan = replace(PLAN, property_text="mean(age)", low=47.0, high=53.0)
    shadows = train_shadows(plan, POOL, values, EVALUATION)
    for share, label in zip(shadows.shares.tolist(), shadows.labels.tolist(), strict=True):
        low, high = plan.bounds(label)
        assert low - 1 < share < high + 1
    with pytest.raises(InputError, match="A mean from 47 to 90 is asked for, but the largest"):
        train_shadows(replace(plan, high=90.0), POOL, values, EVALUATION)


def test_binary_columns_can_enter_as_one_number() -> None:
    frame, schema = open_dataset("clinic")
    table = Table.from_frame(frame, schema).take(np.arange(20))
    wide = encode_rows(table)
    assert np.array_equal(wide.numbers.numpy(), table.numbers.astype(np.float32))
    encoder = Encoder(schema=schema)
    statistics = encoder.statistics(table)
    np.testing.assert_allclose(
        encode_rows(table, statistics).dense().numpy(), encoder.encode(table, statistics), 1e-5, 1e-6
    )
    binary = [column.name for column in schema.categorical if column.kind == "binary"]
    assert encode_rows(table, flags=binary[:1]).width == wide.width - 1
    with pytest.raises(InputError, match="Unknown binary column 'age'"):
        encode_rows(table, flags=["age"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"per_class": 0}, "per_class is 0"),
        ({"classes": 0}, "classes is 0"),
        ({"shard": 0}, "shard is 0"),
        ({"needed": 5}, "5 good models of a class are needed, but only 4"),
        ({"rows": 0}, "trained on 0 rows"),
        ({"low": 0.5, "high": 0.5}, "must go up"),
        ({"high": float("nan")}, "must go up"),
        ({"least_accuracy": 1.1}, "between 0 and 1"),
        ({"high": 1.5}, "shares lie between 0 and 1"),
        ({"rows": 601}, "601 rows, but the pool has 600"),
        ({"rows": 3, "classes": 30}, "3 rows are too few for 30 classes"),
        ({"rows": 590}, "asked for, but the largest that 590 rows of this pool can have is 0"),
    ],
)
def test_a_plan_that_cannot_be_is_one_sentence(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        run(replace(PLAN, **change))


def test_rows_that_do_not_fit_are_one_sentence() -> None:
    def attempt(values: np.ndarray, evaluation: Encoded = EVALUATION) -> None:
        train_shadows(PLAN, POOL, values, evaluation)

    with pytest.raises(InputError, match="known of 5 rows, but the pool has 600"):
        attempt(HOLDS[:5])
    with pytest.raises(InputError, match="encode them alike"):
        attempt(HOLDS, replace(EVALUATION, numbers=EVALUATION.numbers[:, 1:]))
    with pytest.raises(InputError, match="no evaluation rows"):
        attempt(HOLDS, EVALUATION.take(torch.arange(0)))
    with pytest.raises(InputError, match="No row of the pool"):
        attempt(HOLDS & False)
    with pytest.raises(InputError, match="given as int64"):
        attempt(HOLDS.astype(np.int64))
