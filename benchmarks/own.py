"""A stranger's network against ours, and a network that vmap cannot take against a plain loop, on one thread.

    python benchmarks/own.py [--quick] --json

Ours is `mlp` (2 x 32, LayerNorm, GELU) on clinic. `sequential` has the same layers in an `nn.Sequential`, `written` in
a class with a forward pass of its own. `simulation` is a round of ten clients, `attack` a step of gradient matching on
their ten updates; each is given as a share of ours. Everything is timed in turn, and the fastest of each counts.

`loop` has a branch that depends on the data, so clients and restarts are computed one by one. The plain loop is what
its owner would write: `loss.backward()` for each client; for the attack, for each client the gradient with
`create_graph`, its cosine distance, `backward()` and a step of `torch.optim.Adam`.

`cross_silo` is the scenario on Adult: 5 clients of 2,000 rows, two local epochs in batches of 64, 20 rounds, with Adam
and with SGD. It gives the seconds of the simulation (wall time), the share of all categories that were rightly said to
occur or not (`presence`), of those that occur and that do not, and how many true counts lie in their stated interval
(`count_covered`), over 20 updates (quick) or 200.

`batch_norm` is BatchNorm in training mode on 100-100, in batches of 16 rows of Adult before training: the share of rows
that are read exactly and nearly, with the running statistics in what is sent and without.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from seepage._core import Streams, silent
from seepage.attacks.inversion import Inversion, gradient_matching
from seepage.attacks.inversion.stepping import recorded_step
from seepage.data.request import Request
from seepage.data.source import open_source
from seepage.federation import FedSGD, Trace
from seepage.metrics import Evaluator, Reference
from seepage.models import Inputs
from seepage.observation import Observation
from seepage.plans import registry
from seepage.results.record import ALL_COLUMNS, ATTACK, Measure
from seepage.studies.rows.attacking import claims_of
from seepage.studies.rows.making import knowledge_of, train
from seepage.studies.rows.settings import RowsSettings

BATCH, SEED, WIDTH = 8, 7, 32
WARM = 260  # calls until a step is recorded
RATES = {"sgd": 0.05, "adam": 0.001}
ROUNDS = ("2", "12", "24", "38")  # exposures at which updates are taken: two passes a round
NORMED = "mlp:width=100:depth=2:activation=relu:norm=batch"


def sequential(inputs: Inputs) -> nn.Module:
    """Our `mlp` in a row."""
    return nn.Sequential(
        nn.Linear(inputs.width, WIDTH), nn.LayerNorm(WIDTH), nn.GELU(),
        nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH), nn.GELU(), nn.Linear(WIDTH, inputs.outputs),
    )  # fmt: skip


class Written(nn.Module):
    """Our `mlp` as a class."""

    def __init__(self, inputs: Inputs) -> None:
        super().__init__()
        self.first, self.first_norm = nn.Linear(inputs.width, WIDTH), nn.LayerNorm(WIDTH)
        self.second, self.second_norm = nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH)
        self.last = nn.Linear(WIDTH, inputs.outputs)

    def forward(self, x: Tensor) -> Tensor:
        hidden = functional.gelu(self.first_norm(self.first(x)))
        return self.last(functional.gelu(self.second_norm(self.second(hidden))))


class Branching(Written):
    """The same with a branch that depends on the data."""

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first_norm(self.first(x))
        hidden = functional.gelu(hidden) if bool(hidden.isfinite().all()) else hidden
        return self.last(functional.gelu(self.second_norm(self.second(hidden))))


MODELS: dict[str, Any] = {"ours": "mlp", "sequential": sequential, "written": Written, "loop": Branching}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--json", action="store_true", help="print JSON (always done)")
    quick = parser.parse_args().quick
    torch.set_num_threads(1)
    result = nets(quick) | {"cross_silo": cross_silo(1 if quick else 10), "batch_norm": batch_norm(1 if quick else 5)}
    print(json.dumps(result, indent=2))


def nets(quick: bool) -> dict[str, Any]:
    """Somebody's nets against ours."""
    updates = {name: updates_of(model) for name, model in MODELS.items()}
    rounds = {name: round_of(seen) for name, seen in updates.items()}
    plain = {"plain loop": lambda: plain_round(updates["loop"])}
    simulation = fastest(rounds | plain, times=20 if quick else 100, each=5)
    steps = {name: attack_of(seen) for name, seen in updates.items()}
    plain_steps = PlainAttack(updates["loop"])
    attack = fastest(steps | {"plain loop": lambda: plain_steps(10)}, times=5 if quick else 20, each=1)
    inputs = updates["ours"][0].layout.width
    return {
        "benchmark": "own",
        "settings": {
            "dataset": "clinic",
            "inputs": inputs,
            "batch_size": BATCH,
            "clients": 10,
        },
        "milliseconds_a_round": {name: 1e3 * seconds for name, seconds in simulation.items()},
        "milliseconds_of_10_steps": {name: 1e3 * seconds for name, seconds in attack.items()},
        "simulation": {name: simulation[name] / simulation["ours"] for name in ("sequential", "written")},
        "attack": {name: attack[name] / attack["ours"] for name in ("sequential", "written")},
        "loop": {
            "simulation": simulation["loop"] / simulation["plain loop"],
            "attack": attack["loop"] / attack["plain loop"],
        },
    }


def cross_silo(federations: int) -> dict[str, Any]:
    """What hospitals' updates tell, for each optimiser."""
    source, found = open_source(Request(data="adult")), {}
    for optimiser, rate in RATES.items():
        settings = RowsSettings(
            scenario="cross_silo", local_rows=2000, only_local_rows=True, attack_points=ROUNDS,
            optimiser=optimiser, learning_rate=rate,
        )  # fmt: skip
        seconds, scores = [], []
        for number in range(federations):
            begin = time.perf_counter()
            trace, training = train(source, settings, "mlp", "none", 64, Streams(SEED).child(number), silent)
            seconds.append(time.perf_counter() - begin)
            scores += scored("counts", settings, trace, training)
        names = ("presence", "present_found", "absent_found", "count_covered", "count_width", "count_error")
        found[optimiser] = {
            "seconds": min(seconds), "rounds": trace.rounds, "updates": len(scores),
            **{name: mean_of(scores, name) for name in names},
            "count_error_of_a_guess": mean_of(scores, "count_error", "public"),
        }  # fmt: skip
    return found


def batch_norm(federations: int) -> dict[str, Any]:
    """Rows behind BatchNorm in training mode; ten updates of each federation."""
    source, settings = open_source(Request(data="adult")), RowsSettings(
        models=(NORMED,), batch_norm="training", batch_sizes=(16,), attack_points=("initialized",), exposure=0
    )  # fmt: skip
    scores: dict[str, list[dict[Measure, float]]] = {"sent": [], "not_sent": []}
    for number in range(federations):
        trace, training = train(source, settings, NORMED, "none", 16, Streams(SEED).child(number), silent)
        scores["sent"] += scored("exact", settings, trace, training)
        points = tuple(
            replace(p, observations=tuple(replace(o, moved={}) for o in p.observations)) for p in trace.points
        )
        scores["not_sent"] += scored("exact", settings, replace(trace, points=points), training)
    return {
        name: {"updates": len(each), "exact": mean_of(each, "exact"), "near": mean_of(each, "emr")}
        for name, each in scores.items()
    }


def scored(name: str, settings: RowsSettings, trace: Trace, training: Reference) -> list[dict[Measure, float]]:
    """Every number about an attack on each update of a training."""
    attack, judge = registry.make("attack", name, "rows", {}), Evaluator(training=training)
    found = []
    for point in trace.points:
        claims = claims_of(attack, point.observations, Streams(SEED), silent)
        for claim, truth in zip(claims, point.truths, strict=True):
            found.append(dict(judge(claim, truth, knowledge_of(settings), np.random.default_rng(SEED))))
    return found


def mean_of(scores: list[dict[Measure, float]], name: str, source: str = ATTACK) -> float:
    """The mean over updates; an update without a claim counts as 0, and where there is nothing to find as nothing."""
    return float(np.nanmean([each.get(Measure(source, ALL_COLUMNS, name), 0.0) for each in scores]))


def updates_of(model: Any) -> tuple[Observation, ...]:
    """Ten clients' updates of a net before training."""
    spec = model if isinstance(model, str) else registry.written_out("model", model, "rows")
    settings = RowsSettings(models=(spec,), batch_sizes=(BATCH,), attack_points=("initialized",), exposure=0)
    trace, _ = train(open_source(Request(data="clinic")), settings, spec, "none", BATCH, Streams(SEED), silent)
    return trace.points[0].observations


def fastest(ways: dict[str, Callable[[], object]], *, times: int, each: int) -> dict[str, float]:
    """Seconds of one call of each, timed in turn on processor time."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(times):
        for name, way in ways.items():
            begin = time.thread_time()
            for _ in range(each):
                way()
            taken[name].append((time.thread_time() - begin) / each)
    return {name: min(seconds) for name, seconds in taken.items()}


def rows_of(observations: tuple[Observation, ...]) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(SEED)
    shape = (len(observations), 1, BATCH)
    return (
        torch.rand(*shape, observations[0].layout.width, generator=generator),
        torch.randint(0, 2, shape, generator=generator),
    )


def round_of(observations: tuple[Observation, ...]) -> Callable[[], object]:
    """A round of all clients, once it is recorded."""
    first = observations[0]
    compute = FedSGD(batch_size=BATCH).computation(first.learner, registry.make("defence", "none", "rows"))
    (x, y), random = rows_of(observations), torch.Generator()

    def one() -> object:
        with torch.no_grad():
            return compute(first.parameters, x, y, random)

    for _ in range(WARM if first.learner.vectorised else 2):
        one()
    return one


def plain_round(observations: tuple[Observation, ...]) -> None:
    """A gradient for each client, as the owner of a module would compute it."""
    learner = observations[0].learner
    module = learner.module.requires_grad_(True)
    x, y = rows_of(observations)
    for client in range(len(x)):
        module.zero_grad()
        functional.binary_cross_entropy_with_logits(module(x[client, 0])[:, 0], y[client, 0].float()).backward()
    module.zero_grad()
    module.requires_grad_(False)


def attack_of(observations: tuple[Observation, ...]) -> Callable[[], object]:
    """Ten steps of gradient matching on all updates; recorded if it can be."""
    attack: Inversion = replace(gradient_matching(), steps=10, compile="no")
    for _ in range(WARM // 10 + 1 if observations[0].learner.vectorised else 1):
        attack(observations, Streams(0))
    return lambda: attack(observations, Streams(0))


class PlainAttack:
    """Gradient matching in a loop over clients, with autograd alone."""

    def __init__(self, observations: tuple[Observation, ...]) -> None:
        self._observations = observations

    def __call__(self, steps: int) -> None:
        for observation in self._observations:
            module = observation.learner.module.requires_grad_(True)
            x = torch.randn(BATCH, observation.layout.width, requires_grad=True)
            optimiser = torch.optim.Adam([x], lr=0.06)
            assert observation.labels is not None
            labels, weights = observation.labels.float(), list(module.parameters())
            target = torch.cat([value.flatten() for value in observation.update.values()])
            for _ in range(steps):
                loss = functional.binary_cross_entropy_with_logits(module(x)[:, 0], labels)
                slopes = torch.autograd.grad(loss, weights, create_graph=True)
                found = torch.cat([slope.flatten() for slope in slopes])
                distance = 1 - functional.cosine_similarity(found, target, dim=0)
                (x.grad,) = torch.autograd.grad(distance, [x])
                optimiser.step()
            module.requires_grad_(False)


if __name__ == "__main__":
    recorded_step.cache_clear()
    main()
