from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seepage._core import InputError, Streams
from seepage.attacks.properties import (
    Made,
    ShadowPlan,
    Shadows,
    encode_rows,
    load_shadows,
    read_manifest,
    run_factory,
)
from seepage.attacks.properties.factory import ROWS
from seepage.attacks.properties.shards import DamagedShard, read_shard, shard_path, write_shard
from seepage.data import Encoder, Table, open_dataset
from seepage.data.properties import Property
from seepage.models.stack import Stack
from seepage.models.stacked_training import Encoded, Recipe, first_weights, gradient_stack, train_stack

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


def run(folder: Path, plan: ShadowPlan = PLAN, **options: Any) -> Made:
    return run_factory(plan, POOL, HOLDS, EVALUATION, folder, **options)


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
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    made = run(folder)
    assert (made.trained, made.found, made.damaged, made.passed) == (3, 0, (), (4, 4, 4))
    return folder


def test_every_model_is_the_one_its_rows_and_seed_make(whole: Path) -> None:
    shadows = load_shadows(whole)
    assert len(shadows) == len(shadows.stack) == 12
    assert shadows.labels.tolist() == [0, 1, 2] * 4
    assert len(set(shadows.seeds.tolist())) == 12
    for model in (0, 5, 11):
        rows = PLAN.draw_rows(model, float(shadows.shares[model]), 50, HOLDS)
        assert HOLDS[rows].mean() == pytest.approx(float(shadows.shares[model]))
        alone = train_stack(PLAN.recipe, POOL, torch.from_numpy(rows)[None], [int(shadows.seeds[model])])
        torch.testing.assert_close(alone.weights[0][0], shadows.stack.weights[0][model], rtol=0, atol=1e-6)


def test_a_folder_keeps_the_plan_and_no_rows(whole: Path) -> None:
    assert read_manifest(whole)[0] == PLAN
    files = {file.name for file in whole.iterdir()}
    assert files == {"manifest.json", *(shard_path(whole, number).name for number in range(3))}


def test_rows_are_there_for_the_workers_only_and_for_no_other_user(tmp_path: Path) -> None:
    modes = []

    def look(label: str, done: int, total: int, note: str = "") -> None:
        modes.append((tmp_path / ROWS).stat().st_mode & 0o777)

    run(tmp_path, progress=look)
    assert set(modes) == {0o600}
    assert not (tmp_path / ROWS).exists()


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


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def changed(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-10] ^= 1
    path.write_bytes(content)


def nonsense(path: Path) -> None:
    path.write_bytes(b"\x80\x04" + bytes(500))


def of_another_plan(path: Path) -> None:
    manifest = read_manifest(path.parent)
    write_shard(path, read_shard(path, manifest[1]), "another")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (truncated, "cannot be read"),
        (empty, "cannot be read"),
        (nonsense, "cannot be read"),
        (changed, "not what was written"),
        (of_another_plan, "belongs to another plan"),
    ],
)
def test_a_damaged_shard_is_made_again_and_reported(
    whole: Path, tmp_path: Path, damage: Callable[[Path], None], said: str
) -> None:
    run(tmp_path)
    damage(shard_path(tmp_path, 1))
    with pytest.raises(DamagedShard, match=said):
        load_shadows(tmp_path)
    made = run(tmp_path)
    assert (made.trained, made.found, len(made.damaged)) == (1, 2, 1)
    assert said in made.damaged[0]
    assert same(load_shadows(tmp_path), load_shadows(whole))


def test_a_folder_that_was_left_in_the_middle_is_finished(whole: Path, tmp_path: Path) -> None:
    run(tmp_path)
    shard_path(tmp_path, 0).unlink()
    shard_path(tmp_path, 2).unlink()
    (tmp_path / "shard-00002.safetensors.99.unfinished").write_bytes(b"half")
    (tmp_path / ROWS).write_bytes(b"half")
    with pytest.raises(InputError, match="has no shard-00000"):
        load_shadows(tmp_path)
    said: list[tuple[int, int, str]] = []
    made = run(tmp_path, progress=lambda label, done, total, note="": said.append((done, total, note)))
    assert (made.trained, made.found) == (2, 1)
    assert [done for done, _, _ in said] == [5, 10, 12]
    assert said[0][2] == "found in the folder"
    assert "models/s" in said[-1][2]
    assert {file.name for file in tmp_path.iterdir()} == {file.name for file in whole.iterdir()}
    assert same(load_shadows(tmp_path), load_shadows(whole))
    assert run(tmp_path).trained == 0


SLOWLY = """
import sys, time
from pathlib import Path
from tests.attacks.properties.test_factory import run
run(Path(sys.argv[1]), jobs=2, progress=lambda *_: time.sleep(600))
"""


def test_a_kill_loses_only_the_shards_in_flight_and_takes_the_workers_along(whole: Path, tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", SLOWLY, str(tmp_path)], env=os.environ | {"OMP_NUM_THREADS": "1"})
    workers: list[str] = []
    try:
        wait_for(lambda: any(shard_path(tmp_path, number).exists() for number in range(3)))
        workers = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert len(workers) >= 2
    wait_for(lambda: not any(alive(worker) for worker in workers))
    made = run(tmp_path)
    assert made.found >= 1
    assert (made.trained + made.found, made.damaged) == (3, ())
    assert same(load_shadows(tmp_path), load_shadows(whole))  # processes make the models this one made


def alive(process: str) -> bool:
    try:
        return " Z " not in Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 180  # three processes load torch, perhaps on a busy machine
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_any_executor_makes_the_same_models(whole: Path, tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as executor:
        run(tmp_path, executor=executor)
    assert same(load_shadows(tmp_path), load_shadows(whole))


SERVER = Stack.cat([first_weights((POOL.width, 4, 3, POOL.classes), 3)])
ROUNDS = Stack.chained([SERVER, Stack.cat([first_weights((POOL.width, 4, 3, POOL.classes), 4)])])


@pytest.mark.parametrize("gradient", [False, True], ids=["update", "gradient"])
def test_clients_of_a_federation_start_from_the_server_s_model_in_every_round(tmp_path: Path, gradient: bool) -> None:
    plan = replace(PLAN, rounds=2, gradient=gradient)
    run(tmp_path, plan, start=ROUNDS)
    made = load_shadows(tmp_path)
    shares = [plan.share(model, 50, HOLDS) for model in range(5)]
    rows = torch.from_numpy(np.stack([plan.draw_rows(k, share, 50, HOLDS) for k, share in enumerate(shares)]))
    for number, (server, sent) in enumerate(zip(ROUNDS.rounds(2), made.stack.rounds(2), strict=True)):
        seeds = [int(seed) for seed in made.seeds[:5]]
        own = [Streams(seed).integer("round", number) for seed in seeds] if number else seeds
        work = gradient_stack if gradient else train_stack
        expected = work(plan.recipe, POOL, rows, own, start=Stack.cat([server] * 5))
        for one, other in zip(sent.weights, expected.weights, strict=True):
            torch.testing.assert_close(one[:5], other, rtol=0, atol=1e-6)
    if gradient:
        assert len(made.accuracy.unique()) == 1  # the server's own
    assert run(tmp_path, plan, start=ROUNDS).trained == 0
    with pytest.raises(InputError, match="another plan or other rows"):
        run(tmp_path, plan, start=Stack.chained([SERVER, SERVER]))


def test_a_federation_needs_its_server_s_models(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="give them as start"):
        run(tmp_path / "new", replace(PLAN, gradient=True))
    with pytest.raises(InputError, match=r"2 round\(s\) of"):
        run(tmp_path / "new", replace(PLAN, rounds=2), start=SERVER)


def test_balancing_owners_train_on_fewer_rows_with_a_share_of_their_own(tmp_path: Path) -> None:
    plan = replace(PLAN, balanced=0.5, keep=0.4)
    rows = plan.draw_rows(0, 0.3, 50, HOLDS)
    assert len(rows) == 20
    assert HOLDS[rows].mean() == 0.5
    run(tmp_path, plan)
    assert load_shadows(tmp_path).shares.min() < 0.3  # what they have, and not what they train on
    with pytest.raises(InputError, match="a mean is asked for"):
        run_factory(plan, POOL, np.arange(len(POOL), dtype=float), EVALUATION, tmp_path / "new")
    with pytest.raises(InputError, match="share of 1"):
        replace(PLAN, balanced=1.5)


def test_a_folder_of_another_plan_or_other_rows_is_left_alone(whole: Path) -> None:
    with pytest.raises(InputError, match="another plan"):
        run(whole, replace(PLAN, seed=8))
    with pytest.raises(InputError, match="other rows"):
        run_factory(PLAN, POOL, ~HOLDS, EVALUATION, whole)


def test_models_that_are_not_good_enough_are_marked_and_counted(whole: Path, tmp_path: Path) -> None:
    middle = float(load_shadows(whole).accuracy.median())
    made = run(tmp_path, replace(PLAN, least_accuracy=middle))
    shadows = load_shadows(tmp_path)
    assert len(shadows) == 12
    assert torch.equal(shadows.passed, shadows.accuracy >= middle)
    assert sum(made.passed) == int(shadows.passed.sum()) < 12
    with pytest.raises(InputError, match=r"Too few shadow models .*: 0, 0, 0 in the classes"):
        run(tmp_path / "none", replace(PLAN, least_balanced=1.0))
    assert not load_shadows(tmp_path / "none").passed.any()


def test_a_limit_takes_the_first_good_models_of_each_class(whole: Path, tmp_path: Path) -> None:
    everything = load_shadows(whole)
    some = load_shadows(whole, limit=3)
    assert same(some, everything.take(torch.arange(9)))  # classes take turns
    with pytest.raises(InputError, match="4, 4, 4 in the classes from low to high, but 5 of each"):
        load_shadows(whole, limit=5)
    with pytest.raises(InputError, match="limit is 0"):
        load_shadows(whole, limit=0)


def test_a_mean_can_be_asked_for(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(50, 10, len(POOL))
    plan = replace(PLAN, property_text="mean(age)", low=47.0, high=53.0)
    run_factory(plan, POOL, values, EVALUATION, tmp_path)
    shadows = load_shadows(tmp_path)
    for share, label in zip(shadows.shares.tolist(), shadows.labels.tolist(), strict=True):
        low, high = plan.bounds(label)
        assert low - 1 < share < high + 1
    with pytest.raises(InputError, match="A mean from 47 to 90 is asked for, but the largest"):
        run_factory(replace(plan, high=90.0), POOL, values, EVALUATION, tmp_path)


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
def test_a_plan_that_cannot_be_is_one_sentence(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        run(tmp_path / "new", replace(PLAN, **change))
    assert not (tmp_path / "new").exists()


def test_rows_that_do_not_fit_are_one_sentence(tmp_path: Path) -> None:
    def attempt(values: np.ndarray, evaluation: Encoded = EVALUATION, **options: Any) -> None:
        run_factory(PLAN, POOL, values, evaluation, tmp_path / "new", **options)

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
    with pytest.raises(InputError, match="0 jobs"):
        attempt(HOLDS, jobs=0)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be made a folder"):
        run(tmp_path / "file")
    with pytest.raises(InputError, match=r"no manifest\.json"):
        load_shadows(tmp_path)
    (tmp_path / "manifest.json").write_text('{"plan": 3}')
    with pytest.raises(InputError, match="is not the manifest"):
        run(tmp_path)
