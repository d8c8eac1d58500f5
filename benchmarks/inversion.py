"""The inversion engine against plain PyTorch, in the same run, on one thread.

    python benchmarks/inversion.py [--quick] --json

TabLeak: Adult (105 inputs), net 100-100, one batch of 32, 30 restarts x 1,500 steps of TabLeak. The reference is
the same attack written plainly: for every restart its own loop with autograd and torch.optim.Adam. It is timed on a
part of the steps and scaled up; both are given the same thread. `accuracy` is that of the engine on the whole attack.
`seconds_products` are those of the matrix products of all steps alone, one after the other with nothing in between:
`limit` is how many times the reference's speed no code can pass that makes these products in float32.

The profiling study: its attack on 10 clients at once, small MLP (123 inputs) and FT-Transformer. The reference is
vectorised as the study's public code is: one vmap over clients of the gradient of the matching loss, a fresh call for
every step. `study_seconds` are the seconds per 1,000 steps of that public code on one core of another machine, for
orientation.

FT-Transformer: `ft_speedup` is one slope of that attack by its written-out passes (`models/four_passes.py`) against the
same by automatic differentiation of the recorded gradient, which was the engine's way before, with a copy of the
parameters for every client and MKL's products. Both are timed in turn,
on processor time of one thread, and the fastest of each counts. `ft_speedup_compiled` is both compiled, the way before
by torch.compile; `ft_speedup_now` is what a long attack gains: passes that are compiled, against the way before as it
was run.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch.nn import functional

from seepage._core import Streams, silent
from seepage.attacks.inversion import Inversion, gradient_matching, tableak
from seepage.attacks.inversion.by_hand import ByHand
from seepage.attacks.inversion.replay import PlainGradient, Problem
from seepage.attacks.inversion.stepping import recorded_step, stacked
from seepage.data.request import Request
from seepage.data.source import open_source
from seepage.federation import AttackPoint
from seepage.metrics import Evaluator, Reference
from seepage.models import linear_calls, products, record
from seepage.models.compiling import compiled
from seepage.models.traced import leaves, recorded
from seepage.observation import Observation
from seepage.results import ALL_COLUMNS, ATTACK, Measure
from seepage.studies.rows.making import knowledge_of, train
from seepage.studies.rows.settings import RowsSettings

BATCH, SEED = 32, 7
SETTINGS = RowsSettings(
    batch_sizes=(BATCH,), attack_points=("initialized",), exposure=0, models=("mlp_tableak",), local_statistics=False,
    standardise_onehot=True, ranges_known=True, deviation="global",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer steps")
    parser.add_argument("--json", action="store_true", help="print JSON (always done)")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    options = parser.parse_args()
    torch.set_num_threads(1)
    name, point, whole = prepare()
    attack = replace(tableak(), compile="no")
    attack = replace(attack, steps=300) if options.quick else attack
    compiled = None if options.no_compile else replace(attack, compile="yes")
    begin = time.perf_counter()
    if compiled:
        seconds_per_step(compiled, point.observations[:1], steps=1)
    compile_seconds = time.perf_counter() - begin
    # The machines are noisy: everything is timed several times in turn, and the fastest of each counts.
    rounds = [
        (
            plain_seconds_per_step(point.observations[0], attack, steps=20 if options.quick else 75),
            seconds_per_step(attack, point.observations[:1], steps=40),
            seconds_per_step(compiled, point.observations[:1], steps=40) if compiled else float("nan"),
        )
        for _ in range(4)
    ]
    plain, one, fastest = (min(times) for times in zip(*rounds, strict=True))
    alone, ten = (whole_attack(attack, point.observations[:count]) / count for count in (1, 10))
    result: dict[str, Any] = {
        "benchmark": "inversion",
        "settings": {
            "dataset": name, "inputs": point.observations[0].layout.width, "batch_size": BATCH, "net": "100-100",
            "restarts": attack.restarts, "steps": attack.steps, "threads": 1,
        },
        "seconds_plain": plain * attack.steps,
        "seconds_eager": one * attack.steps,
        "seconds_whole_attack_of_one": alone,
        "seconds_whole_attack_per_observation_of_ten": ten,
        "speedup_eager": plain / one,
        "seconds_products": products_of_a_step(point.observations[0].layout.width, attack.restarts) * attack.steps,
    }  # fmt: skip
    result["limit"] = result["seconds_plain"] / result["seconds_products"]
    if compiled:
        result["compile_seconds"] = compile_seconds
        result["seconds_compiled"] = fastest * attack.steps
        result["speedup_compiled"] = plain / fastest
    result["accuracy"] = accuracy(attack, point, whole, observations=1)
    result["profiling_study"] = {
        f"{model}_batch_{batch}": matching(
            model, batch, seconds, quick=options.quick, compile_too=not options.no_compile
        )
        for (model, batch), seconds in STUDY.items()
    }
    result |= transformer(rounds=10 if options.quick else 40, compile_too=not (options.no_compile or options.quick))
    print(json.dumps(result, indent=2))


def products_of_a_step(inputs: int, restarts: int, width: int = 100) -> float:
    """Seconds of the matrix products of one step of TabLeak on a net with two hidden layers.

    With its weights and with the observed gradient every layer has one product each way in the four passes; products
    of rows with each other, and of these with rows, are the length of the gradient and its slope.
    """
    x, h = torch.randn(restarts * BATCH, inputs), torch.randn(restarts * BATCH, width)
    first, second = torch.randn(inputs, width), torch.randn(width, width)
    pairs = [each.view(restarts, BATCH, -1) for each in (x, h)]
    of_rows = torch.randn(restarts, BATCH, BATCH)
    kinds = [
        (4, x, first),
        (6, h, second),
        *((count, rows, rows.mT) for count, rows in zip((1, 3), pairs, strict=True)),
        *((count, of_rows, rows) for count, rows in zip((1, 3), pairs, strict=True)),
    ]
    return sum(count * _fastest(left, right) for count, left, right in kinds)


def _fastest(left: torch.Tensor, right: torch.Tensor, calls: int = 100, times: int = 7) -> float:
    """Seconds of a product by the library that the engine takes."""
    spent = []
    with torch.no_grad():
        product = record(torch.matmul, left, right)
        for _ in range(times):
            begin = time.thread_time()
            for _ in range(calls):
                product(left, right)
            spent.append((time.thread_time() - begin) / calls)
    return min(spent)


class Before(PlainGradient):
    """The engine's way before the passes of the FT-Transformer were written out, with torch's own LayerNorm."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self._learner = problem.scene.learner
        self._calls = linear_calls(self._learner, problem.scene.space.layout.width)


def transformer(batch: int = 8, *, rounds: int, compile_too: bool) -> dict[str, float]:
    """One slope for ten clients, before and now, in milliseconds: what 1,000 steps take in seconds."""
    observations = clients_of("ft_transformer", batch)
    attack = gradient_matching()
    scene = attack.scene(observations)
    assert scene.shared
    x = torch.randn(len(observations), 1, batch, observations[0].layout.width)
    parameters, *others = stacked(observations)
    each = {name: value.expand(len(x), *value.shape).contiguous() for name, value in parameters.items()}
    # Before, every observation had its own copy of the parameters.
    given = {"before": (x, each, *others), "now": (x, parameters, *others)}
    ways: dict[str, Any] = {
        "before": Before(attack.problem(replace(scene, shared=False))), "now": ByHand(attack.problem(scene)),
    }  # fmt: skip
    inputs = {name: leaves(arguments) for name, arguments in given.items()}
    result: dict[str, float] = {}
    with torch.no_grad():
        with patch.object(products, "prefers_onednn", lambda: False):
            before = recorded(ways["before"], *given["before"])
        now = recorded(ways["now"], *given["now"])
        for kind in ("", "_compiled") if compile_too else ("",):
            ways = {"before": before.forward, "now": now.forward}
            if kind:
                ways = {"before": torch.compile(before.forward, dynamic=False), "now": compiled(now, inputs["now"])}
            times: dict[str, list[float]] = {name: [] for name in ways}
            for _ in range(rounds):
                for name, way in ways.items():
                    begin = time.thread_time()
                    way(*inputs[name])
                    times[name].append(time.thread_time() - begin)
            result |= {f"ft_milliseconds_{name}{kind}": min(each) * 1000 for name, each in times.items()}
            result[f"ft_speedup{kind}"] = min(times["before"]) / min(times["now"])
    if compile_too:
        result["ft_speedup_now"] = result["ft_milliseconds_before"] / result["ft_milliseconds_now_compiled"]
    return result


STUDY = {("mlp", 8): 8.3, ("mlp", 32): 9.4, ("ft_transformer", 1): 152.0, ("ft_transformer", 8): 233.0}


def matching(model: str, batch: int, study: float, *, quick: bool, compile_too: bool) -> dict[str, float]:
    """The profiling study's attack on ten clients: seconds per 1,000 steps, ours and the vectorised reference."""
    observations = clients_of(model, batch)
    steps = (150 if quick else 500) if model == "mlp" else (6 if quick else 15)
    ours = seconds_per_step(replace(gradient_matching(), compile="no"), observations, steps=steps)
    theirs = vectorised_seconds_per_step(observations, steps=steps)
    compiled = {}
    if compile_too and model == "mlp":
        seconds = seconds_per_step(replace(gradient_matching(), compile="yes"), observations, steps=steps)
        compiled = {"seconds_compiled": seconds * 1000, "speedup_compiled": theirs / seconds}
    return compiled | {
        "seconds_engine": ours * 1000,
        "seconds_vectorised": theirs * 1000,
        "speedup": theirs / ours,
        "study_seconds": study,
        "ratio_to_study": study / (ours * 1000),
    }


def clients_of(model: str, batch: int) -> tuple[Observation, ...]:
    """Updates of the study's ten clients before training."""
    settings = RowsSettings(models=(model,), batch_sizes=(batch,), attack_points=("initialized",), exposure=0)
    source = open_source(Request(data="adult", fallback="clinic"))
    trace, _ = train(source, settings, model, "none", batch, Streams(SEED), silent)
    return trace.points[0].observations


def vectorised_seconds_per_step(observations: tuple[Observation, ...], steps: int) -> float:
    """The same attack with torch.func, all clients in one call."""
    first = observations[0]
    learner, parameters = first.learner, first.parameters
    structure = gradient_matching().structure(first.space)
    targets = {name: torch.stack([o.update[name] for o in observations]) for name in parameters}
    labels = torch.stack([o.labels for o in observations if o.labels is not None])

    def loss(x: torch.Tensor, target: dict[str, torch.Tensor], y: torch.Tensor) -> torch.Tensor:
        update = torch.func.grad(learner.loss)(parameters, structure(x), y)
        ours = torch.cat([update[name].flatten() for name in parameters]).double()
        theirs = torch.cat([target[name].flatten() for name in parameters]).double()
        return 1 - torch.nn.functional.cosine_similarity(ours, theirs, dim=0)

    one = torch.func.vmap(torch.func.grad_and_value(loss))
    x = torch.randn(len(observations), first.exchange.rows, first.layout.width)
    x.requires_grad_()
    optimiser = torch.optim.Adam([x], lr=0.06)
    begin = 0.0
    for number in range(steps + 2):
        begin = time.perf_counter() if number == 2 else begin
        x.grad, _ = one(x.detach(), targets, labels)
        optimiser.step()
    return (time.perf_counter() - begin) / steps


def prepare() -> tuple[str, AttackPoint, Reference]:
    """Ten clients' updates of TabLeak's net before training."""
    source = open_source(Request(data="adult_tableak", fallback="clinic"))
    trace, whole = train(source, SETTINGS, "mlp_tableak", "none", BATCH, Streams(SEED), silent)
    return source.name, trace.points[0], whole


def whole_attack(attack: Inversion, observations: tuple[Observation, ...]) -> float:
    """Seconds of an attack of 100 steps from nothing: with recording, start and pooling."""
    recorded_step.cache_clear()
    begin = time.perf_counter()
    replace(attack, steps=100)(observations, Streams(0))
    return time.perf_counter() - begin


def seconds_per_step(attack: Inversion, observations: tuple[Observation, ...], steps: int) -> float:
    """Seconds of one step once the step is recorded: the difference of a long and a short run."""
    times = {}
    for count in (30, 30, 30 + steps):  # the first one records, after its first 20 steps
        begin = time.perf_counter()
        replace(attack, steps=count)(observations, Streams(0))
        times[count] = time.perf_counter() - begin
    return (times[30 + steps] - times[30]) / steps


def plain_seconds_per_step(observation: Observation, attack: Inversion, steps: int) -> float:
    """Seconds of one step of all restarts, each in its own loop (two of them are timed)."""
    plain_restart(observation, 5, torch.Generator().manual_seed(0))
    begin = time.perf_counter()
    for restart in range(2):
        plain_restart(observation, steps, torch.Generator().manual_seed(restart))
    return (time.perf_counter() - begin) / (2 * steps) * attack.restarts


def plain_restart(observation: Observation, steps: int, generator: torch.Generator) -> torch.Tensor:
    """TabLeak's inner loop for one restart, as one writes it in plain PyTorch."""
    space, layout = observation.space, observation.layout
    assert space.shift is not None
    assert space.scale is not None
    names = list(observation.parameters)
    parameters = [value.clone().requires_grad_() for value in observation.parameters.values()]
    target = [value.clone() for value in observation.update.values()]
    shift, scale = space.shift[layout.numeric :], space.scale[layout.numeric :]
    z = torch.rand(observation.exchange.rows, layout.width, generator=generator).requires_grad_()
    optimiser = torch.optim.Adam([z], lr=0.06)
    best, lowest = z.detach().clone(), float("inf")
    for _ in range(steps):
        raw = torch.cat([z[:, block].softmax(-1) for block in layout.blocks], dim=1)
        x = torch.cat([z[:, : layout.numeric], (raw - shift) / scale], dim=1)
        weights = dict(zip(names, parameters, strict=True))
        outputs = torch.func.functional_call(observation.learner.module, weights, (x,))
        loss = functional.cross_entropy(outputs, observation.labels)
        slopes = torch.autograd.grad(loss, parameters, create_graph=True)
        dot = sum((a * b).sum() for a, b in zip(slopes, target, strict=True))
        ours = torch.stack([(a * a).sum() for a in slopes]).sum().sqrt()
        theirs = torch.stack([(b * b).sum() for b in target]).sum().sqrt()
        distance = 1 - dot / (ours * theirs)
        (slope,) = torch.autograd.grad(distance, [z])
        z.grad = slope.sign()
        optimiser.step()
        value = float(distance.detach())
        if value < lowest:
            best, lowest = z.detach().clone(), value
    return best


def accuracy(attack: Inversion, point: AttackPoint, whole: Reference, observations: int) -> float:
    """Mean accuracy of the engine's answer, matched by accuracy as TabLeak does."""
    evaluator = Evaluator(training=whole, deviation="global", draws=1)
    claims = attack(point.observations[:observations], Streams(SEED))
    key = Measure(ATTACK, ALL_COLUMNS, "accuracy_by_cells")
    generator = Streams(SEED).numpy("baselines")
    pairs = zip(claims, point.truths, strict=False)
    return float(np.mean([evaluator(c, t, knowledge_of(SETTINGS), generator)[key] for c, t in pairs]))


if __name__ == "__main__":
    main()
