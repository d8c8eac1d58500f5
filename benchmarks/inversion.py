"""The inversion engine against a plain loop over restarts, in the same run, on one thread.

    python benchmarks/inversion.py [--quick] --json

Adult (105 inputs), net 100-100, one batch of 32, 30 restarts x 1,500 steps of TabLeak. The reference is the same attack
written plainly: for every restart its own loop with autograd and torch.optim.Adam. It is timed on a part of the steps
and scaled up; both are given the same thread. `accuracy` is that of the engine on the whole attack.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from seepage._core import Streams
from seepage.attacks.inversion import Inversion, tableak
from seepage.audit import Request, make_settings, open_source
from seepage.audit.runner import train
from seepage.federation import AttackPoint
from seepage.metrics import Evaluator, Reference
from seepage.observation import Observation
from seepage.results import ATTACK, WHOLE, Measure

BATCH, SEED = 32, 7
SETTINGS = make_settings(
    batch_sizes=(BATCH,), attack_points=("initialized",), exposure=0, model="mlp_tableak", local_statistics=False,
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
    attack = replace(tableak(), steps=300) if options.quick else tableak()
    plain = plain_seconds_per_step(point.observations[0], attack, steps=40 if options.quick else 150)
    one = seconds_per_step(attack, point.observations[:1], steps=60)
    ten = seconds_per_step(attack, point.observations[:10], steps=10) / 10
    result: dict[str, Any] = {
        "benchmark": "inversion",
        "settings": {
            "dataset": name, "inputs": point.observations[0].layout.width, "batch_size": BATCH, "net": "100-100",
            "restarts": attack.restarts, "steps": attack.steps, "threads": 1,
        },
        "seconds_plain": plain * attack.steps,
        "seconds_eager": one * attack.steps,
        "seconds_eager_per_observation_of_ten": ten * attack.steps,
        "speedup_eager": plain / one,
    }  # fmt: skip
    if not options.no_compile:
        begin = time.perf_counter()
        compiled = replace(attack, compile="yes")
        seconds_per_step(compiled, point.observations[:1], steps=3)
        result["compile_seconds"] = time.perf_counter() - begin
        result["seconds_compiled"] = seconds_per_step(compiled, point.observations[:1], steps=60) * attack.steps
        result["speedup_compiled"] = plain * attack.steps / result["seconds_compiled"]
    result["accuracy"] = accuracy(attack, point, whole, observations=1)
    print(json.dumps(result, indent=2))


def prepare() -> tuple[str, AttackPoint, Reference]:
    """Ten clients' updates of TabLeak's net before training."""
    source = open_source(Request(data="adult_tableak", fallback="clinic"))
    trace, whole = train(source, SETTINGS, BATCH, Streams(SEED), lambda *_: None)
    return source.name, trace.points[0], whole


def seconds_per_step(attack: Inversion, observations: tuple[Observation, ...], steps: int) -> float:
    """Seconds of one step once the step is recorded: the difference of a long and a short run."""
    times = {}
    for count in (30, 30, 30 + steps):  # the first one records
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
        ours = sum((a * a).sum() for a in slopes).sqrt()
        theirs = sum((b * b).sum() for b in target).sqrt()
        distance = 1 - dot / (ours * theirs)
        (slope,) = torch.autograd.grad(distance, [z])
        z.grad = slope.sign()
        optimiser.step()
        value = float(distance.detach())
        if value < lowest:
            best, lowest = z.detach().clone(), value
    return best


def accuracy(attack: Inversion, point: AttackPoint, whole: Reference, observations: int) -> float:
    """Mean accuracy of the engine's answer, matched by accuracy as document 000 does."""
    evaluator = Evaluator(whole=whole, deviation="global", draws=1)
    claims = attack(point.observations[:observations], Streams(SEED))
    key = Measure(ATTACK, WHOLE, "accuracy_tableak")
    generator = Streams(SEED).numpy("baselines")
    pairs = zip(claims, point.truths, strict=False)
    return float(np.mean([evaluator(c, t, SETTINGS.knowledge, generator)[key] for c, t in pairs]))


if __name__ == "__main__":
    main()
