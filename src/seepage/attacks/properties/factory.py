"""The shadow factory: thousands of models, each trained on rows with its own share of a property.

An attacker who wants to read a property of the training rows from a model's weights learns it from models he has
trained himself (the property-inference thesis, section 3.3). They are made in shards that do not depend on each other,
so that they can be made in any order, in any process, on any machine.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from seepage._core import Progress, Streams, silent
from seepage.attacks.properties.plan import ShadowPlan, check_plan
from seepage.attacks.properties.shards import Shadows
from seepage.models.encoded import Encoded
from seepage.models.stack import Stack
from seepage.models.stacked_answers import accuracy
from seepage.models.stacked_training import gradient_stack, train_stack


def train_shard(
    plan: ShadowPlan, number: int, pool: Encoded, values: np.ndarray, evaluation: Encoded, start: Stack | None = None
) -> Shadows:
    """Train and judge the models of one shard.

    Args:
        plan: which models there are.
        number: of the shard.
        pool: rows to draw from.
        values: (rows of the pool,) what :meth:`Property.values` says of them.
        evaluation: rows on which a model must be good.
        start: one model for each round, chained: what the server sends to all clients. Without it every model has first
            weights of its own.
    """
    models, count = plan.numbers(number), plan.sample(pool)
    shares = [plan.share(model, count, values) for model in models]
    rows = np.stack([plan.draw_rows(model, share, count, values) for model, share in zip(models, shares, strict=True)])
    if values.dtype != np.bool_:  # a mean is hit nearly; what counts is what the rows have
        shares = [float(values[chosen].mean()) for chosen in rows]
    seeds = [plan.seed_of(model) for model in models]
    stack, judged = _sent(plan, pool, torch.from_numpy(rows), seeds, start)
    plain, balanced = accuracy(judged, evaluation, plan.recipe.slope)
    finite = torch.stack([torch.isfinite(layer).flatten(1).all(1) for layer in (*stack.weights, *stack.biases)]).all(0)
    return Shadows(
        stack=stack,
        shares=torch.tensor(shares, dtype=torch.float64),
        labels=torch.tensor([plan.label(model) for model in models]),
        accuracy=plain,
        balanced=balanced,
        passed=finite & (plain >= plan.least_accuracy) & (balanced >= plan.least_balanced),
        seeds=torch.tensor(seeds),
    )


def train_shadows(
    plan: ShadowPlan,
    pool: Encoded,
    values: np.ndarray,
    evaluation: Encoded,
    *,
    start: Stack | None = None,
    progress: Progress = silent,
) -> Shadows:
    """All models of a plan, in this process; arguments as those of :func:`train_shard`."""
    check_plan(plan, pool, values, evaluation, start)
    made = []
    for number in range(plan.shards):
        made.append(train_shard(plan, number, pool, values, evaluation, start))
        progress("shadow models", number + 1, plan.shards)
    return Shadows.cat(made)


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
