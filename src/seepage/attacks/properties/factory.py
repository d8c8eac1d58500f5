"""The shadow factory: thousands of models, each trained on rows with its own share of a property.

An attacker who wants to read a property of the training rows from a model's weights learns it from models he has
trained himself (document 003, section 3.3). The factory makes them in shards that do not depend on each other: on the
cores of this machine, or on any :class:`concurrent.futures.Executor` whose workers see the same folder
(``dask.distributed.Client(...).get_executor()``). It can be killed at any moment; only shards that were being trained
are lost.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from seepage._core import InputError, Progress, SeepageError, Streams, silent
from seepage.attacks.properties.plan import ShadowPlan, check_plan
from seepage.attacks.properties.shards import (
    DamagedShard,
    Shadows,
    check_enough,
    digest,
    open_folder,
    read_shard,
    read_tensors,
    shard_path,
    write_shard,
    write_tensors,
)
from seepage.models.stack import Stack
from seepage.models.stacked_training import Encoded, accuracy, gradient_stack, train_stack

ROWS = "rows.safetensors"


@dataclass(frozen=True, kw_only=True)
class Made:
    """What a run of the factory did.

    Args:
        trained, found: shards that were made now, and that were there already.
        damaged: what was wrong with shards that had to be made again.
        passed: good models of each class.
        seconds: of this run.
    """

    trained: int
    found: int
    damaged: tuple[str, ...]
    passed: tuple[int, ...]
    seconds: float


@dataclass(frozen=True)
class Task:
    """One shard to make, in words a worker on another machine understands."""

    folder: str
    plan: ShadowPlan
    fingerprint: str
    number: int


def run_factory(
    plan: ShadowPlan,
    pool: Encoded,
    values: np.ndarray,
    evaluation: Encoded,
    folder: Path,
    *,
    start: Stack | None = None,
    jobs: int = 1,
    executor: Executor | None = None,
    progress: Progress = silent,
) -> Made:
    """Make all shadow models of a plan that are not there yet.

    Args:
        plan: which.
        pool: rows to draw from.
        values: (rows of the pool,) what :meth:`Property.values` says of them.
        evaluation: rows on which a model must be good.
        folder: of the shards; one that holds the same plan and rows is continued.
        start: one model for each round, chained: what the server sends to all clients. Without it every model has first
            weights of its own.
        jobs: processes on this machine; 1 works in this one.
        executor: workers to use instead. They must see ``folder``.
        progress: told after every shard.
    """
    began = time.perf_counter()
    if jobs < 1:
        raise InputError(f"There are {jobs} jobs; at least 1 is needed.")
    check_plan(plan, pool, values, evaluation, start)
    rows = _row_tensors(pool, values, evaluation, start)
    fingerprint = _fingerprint(plan, rows)
    open_folder(folder, plan, fingerprint)
    passed, damaged, missing = _take_stock(folder, plan, fingerprint)
    tasks = [Task(str(folder.resolve()), plan, fingerprint, number) for number in missing]
    done = already = plan.models - sum(len(plan.numbers(number)) for number in missing)
    if already:
        progress("shadow models", done, plan.models, "found in the folder")
    try:
        if tasks:
            write_tensors(folder / ROWS, rows, fingerprint)
        for number, good in _finished(tasks, jobs, executor):
            passed += good
            done += len(plan.numbers(number))
            rate = (done - already) / (time.perf_counter() - began)
            progress("shadow models", done, plan.models, f"{rate:.1f} models/s")
    finally:
        (folder / ROWS).unlink(missing_ok=True)
    made = Made(
        trained=len(tasks),
        found=plan.shards - len(tasks),
        damaged=tuple(damaged),
        passed=tuple(int(count) for count in passed),
        seconds=time.perf_counter() - began,
    )
    check_enough(made.passed, plan.needed, plan)
    return made


def make_shard(task: Task) -> tuple[int, np.ndarray]:
    """Train, judge and write one shard; its number, and how many models of each class are good."""
    plan, folder = task.plan, Path(task.folder)
    pool, values, evaluation, start = _read_rows(task.folder, task.fingerprint)
    models, count = plan.numbers(task.number), plan.sample(pool)
    shares = [plan.share(model, count, values) for model in models]
    rows = np.stack([plan.draw_rows(model, share, count, values) for model, share in zip(models, shares, strict=True)])
    if values.dtype != np.bool_:  # a mean is hit nearly; what counts is what the rows have
        shares = [float(values[chosen].mean()) for chosen in rows]
    seeds = [plan.seed_of(model) for model in models]
    stack, judged = _sent(plan, pool, torch.from_numpy(rows), seeds, start)
    plain, balanced = accuracy(judged, evaluation, plan.recipe.slope)
    finite = torch.stack([torch.isfinite(layer).flatten(1).all(1) for layer in (*stack.weights, *stack.biases)]).all(0)
    shadows = Shadows(
        stack=stack,
        shares=torch.tensor(shares, dtype=torch.float64),
        labels=torch.tensor([plan.label(model) for model in models]),
        accuracy=plain,
        balanced=balanced,
        passed=finite & (plain >= plan.least_accuracy) & (balanced >= plan.least_balanced),
        seeds=torch.tensor(seeds),
    )
    write_shard(shard_path(folder, task.number), shadows, task.fingerprint)
    return task.number, _good(shadows, plan)


def _sent(
    plan: ShadowPlan, pool: Encoded, rows: Tensor, seeds: Sequence[int], start: Stack | None
) -> tuple[Stack, Stack]:
    """What is seen of models or clients, and the models of the last round; of a gradient these are the server's."""
    if start is None:
        stack = train_stack(plan.recipe, pool, rows, seeds)
        return stack, stack
    seen = []
    for number, server in enumerate(start.rounds(plan.rounds)):
        begin = Stack.cat([server] * len(seeds))
        own = [Streams(seed).integer("round", number) for seed in seeds] if number else seeds
        if plan.gradient:
            judged = begin
            seen.append(gradient_stack(plan.recipe, pool, rows, own, start=begin))
        else:
            judged = train_stack(plan.recipe, pool, rows, own, start=begin)
            seen.append(judged)
    return Stack.chained(seen), judged


def _good(shadows: Shadows, plan: ShadowPlan) -> np.ndarray:
    return np.bincount(shadows.labels[shadows.passed].numpy(), minlength=plan.classes)


def _fingerprint(plan: ShadowPlan, rows: dict[str, Tensor]) -> str:
    text = json.dumps(_stated(plan), sort_keys=True)
    return digest([*rows.items(), ("plan", np.frombuffer(text.encode(), dtype=np.uint8))])


def _stated(plan: ShadowPlan) -> dict[str, Any]:
    """The plan without settings that came later and are not used: folders from before stay good."""
    stated = asdict(plan)
    if plan.recipe.clip is None:
        del stated["recipe"]["clip"], stated["recipe"]["noise"]
    if plan.balanced is None:
        del stated["balanced"], stated["keep"]
    if (plan.rounds, plan.gradient) == (1, False):
        del stated["rounds"], stated["gradient"]
    return stated


def _take_stock(folder: Path, plan: ShadowPlan, fingerprint: str) -> tuple[np.ndarray, list[str], list[int]]:
    """Good models of each class that are there, what is wrong with damaged shards, and the numbers to make."""
    passed, damaged, missing = np.zeros(plan.classes, dtype=np.int64), [], []
    for number in range(plan.shards):
        path = shard_path(folder, number)
        if not path.exists():
            missing.append(number)
            continue
        try:
            passed += _good(read_shard(path, fingerprint), plan)
        except DamagedShard as error:
            damaged.append(str(error))
            missing.append(number)
    return passed, damaged, missing


def _finished(tasks: Sequence[Task], jobs: int, executor: Executor | None) -> Iterator[tuple[int, np.ndarray]]:
    """Results of shards as they come."""
    if executor is None and (jobs == 1 or len(tasks) < 2):
        yield from map(make_shard, tasks)
    elif executor is None:
        spawn = multiprocessing.get_context("spawn")  # torch's threads do not survive a fork
        with ProcessPoolExecutor(min(jobs, len(tasks)), spawn, initializer=_start_worker) as own:
            yield from _finished(tasks, jobs, own)
    else:
        futures = [executor.submit(make_shard, task) for task in tasks]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BrokenProcessPool:
            raise SeepageError(
                "A worker process was killed, often for want of memory; finished shards are kept, so start again with "
                "fewer jobs."
            ) from None
        finally:
            for future in futures:
                future.cancel()


def _start_worker() -> None:
    """One thread for each worker, and none of them outlives a factory that is killed."""
    torch.set_num_threads(1)
    factory = multiprocessing.parent_process()
    assert factory is not None

    def watch() -> None:
        factory.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _row_tensors(pool: Encoded, values: np.ndarray, evaluation: Encoded, start: Stack | None) -> dict[str, Tensor]:
    """What the workers need, by name."""
    tensors = _tensors("pool", pool) | _tensors("evaluation", evaluation)
    tensors["values"] = torch.from_numpy(np.ascontiguousarray(values))
    for kind, layers in (("weights", start.weights), ("biases", start.biases)) if start else ():
        tensors |= {f"start.{kind}.{place:03d}": layer.contiguous() for place, layer in enumerate(layers)}
    return tensors


@lru_cache(maxsize=1)
def _read_rows(folder: str, fingerprint: str) -> tuple[Encoded, np.ndarray, Encoded, Stack | None]:
    """Pool, property, evaluation rows and the server's models; a worker reads them once."""
    tensors = read_tensors(Path(folder) / ROWS, fingerprint)

    def part(name: str) -> Encoded:
        onehot, classes = tensors[f"{name}.sizes"].tolist()
        numbers, places, labels = (tensors[f"{name}.{each}"] for each in ("numbers", "places", "labels"))
        return Encoded(numbers, places, onehot, labels, classes)

    def layers(kind: str) -> tuple[Tensor, ...]:
        return tuple(tensors[name] for name in sorted(tensors) if name.startswith(f"start.{kind}."))

    start = Stack(layers("weights"), layers("biases")) if layers("weights") else None
    return part("pool"), tensors["values"].numpy(), part("evaluation"), start


def _tensors(part: str, rows: Encoded) -> dict[str, Tensor]:
    sizes = torch.tensor([rows.onehot, rows.classes])
    tensors = {"numbers": rows.numbers, "places": rows.places, "labels": rows.labels, "sizes": sizes}
    return {f"{part}.{name}": tensor for name, tensor in tensors.items()}
