"""Document 001 (CAFE) on MNIST: its tables beside ours, by descent as published and in closed form.

The plans in ``plans/cafe`` say what is run, and what differs from the paper everywhere.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from pydantic import ConfigDict, TypeAdapter
from torch import Tensor

from seepage._core import Streams
from seepage.attacks.vertical.cafe import Cafe, CafeState
from seepage.attacks.vertical.closed_form import ClosedForm, Solver
from seepage.attacks.vertical.front import behind_front
from seepage.data import Layout
from seepage.data.source import Request, open_source
from seepage.data.splitting import stratified_order
from seepage.defenses import DPSGD
from seepage.defenses.dp_sgd import noise_for
from seepage.defenses.fake_gradients import FakeGradients
from seepage.federation.vertical.losses import training_losses
from seepage.federation.vertical.shared import SharedLayers
from seepage.metrics import psnr
from seepage.models import Learner, Parameters, make_learner
from seepage.models.quadrants import QuadrantNet
from seepage.observation import Space
from seepage.observation.vertical import VerticalScene
from seepage.plans.registry import make_vertical_attack
from seepage.reproductions.effort import Effort
from seepage.reproductions.line import Line, line
from seepage.reproductions.plan_file import PLANS
from seepage.reproductions.published import Published, find, published
from seepage.runs.api import open_sources, run
from seepage.runs.plan import make_plan, read_plan

IMAGE = (28, 28)
EASIER = 20.0  # dB to be reached in Table 5 where less than the published work is done
_STRICT = ConfigDict(extra="forbid")
Watch = Callable[[int, dict[str, CafeState], Parameters], bool]


@dataclass(frozen=True, kw_only=True)
class Scene:
    """Digits at workers.

    Args:
        name: how a line calls it.
        batch, workers: rows of a batch; tiles of a picture.
        rate, adam: of the training that goes on meanwhile; rate 0 keeps the weights.
        published: what the published numbers beside it are found by.
    """

    __pydantic_config__ = _STRICT
    name: str = ""
    batch: int = 40
    workers: int = 4
    rate: float = 0.0
    adam: bool = False
    published: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Defence:
    """What the workers do to their gradients: nothing, fake ones of a deviation, or DP-SGD with an epsilon."""

    __pydantic_config__ = _STRICT
    name: str
    deviation: float | None = None
    clip: float = 0.0
    epsilon: float | None = None

    def made(self, learner: Learner, steps: int, sampling: float) -> dict[str, Any]:
        """How a stream of batches takes it."""
        if self.epsilon is not None:
            noise = noise_for(self.epsilon, steps, sampling_rate=sampling)
            return {"gradients": DPSGD(clip=self.clip, noise=noise).gradients(learner)}
        return {} if self.deviation is None else {"defend": FakeGradients(deviation=self.deviation)}


@dataclass(frozen=True, kw_only=True)
class CafePlan:
    """A plan file.

    Args:
        rows: digits.
        width: outputs of the first fully connected layer.
        iterations: batches that attacks by descent see.
        enough: batches for each person that the closed form sees.
        attacks: specs by the name that a line has.
        scenes: what is attacked.
        until: PSNR at which an attack by descent has done enough (Table 5).
        points: batches after which the model is looked at (Table 8).
        ridge: of the closed form on defended gradients (Table 11).
        defences: of the gradients (Table 11).
    """

    __pydantic_config__ = _STRICT
    rows: int
    width: int
    iterations: int
    enough: float = 1.5
    attacks: dict[str, str] = field(default_factory=dict)
    scenes: tuple[Scene, ...]
    until: float = 0.0
    points: tuple[int, ...] = ()
    ridge: float = 0.0
    defences: tuple[Defence, ...] = ()

    def seen(self, effort: Effort) -> int:
        """Batches that attacks by descent see with this effort."""
        return max(20, round(effort.scale * self.iterations))

    def less(self, effort: Effort) -> str:
        """What is less than in the paper."""
        return (
            "" if effort.scale == 1 else f"{self.seen(effort):,} batches of descent, the paper has {self.iterations:,}"
        )

    def made(self, name: str) -> ClosedForm | Cafe:
        """An attack, which knows that the data are pictures."""
        attack = make_vertical_attack(self.attacks[name])
        return replace(attack, image=IMAGE) if isinstance(attack, Cafe) else attack


def read(name: str) -> CafePlan:
    """A plan file."""
    text = (PLANS / "cafe" / f"{name}.toml").read_text(encoding="utf-8")
    return TypeAdapter(CafePlan).validate_python(tomllib.loads(text))


def model(plan: CafePlan, scene: Scene) -> Learner:
    """The paper's net, for as many workers."""
    return make_learner(QuadrantNet(workers=scene.workers, width=plan.width), 784, (), "multiclass", 10, seed=0)


def attacked(
    plan: CafePlan,
    scene: Scene,
    effort: Effort,
    *,
    attacks: Mapping[str, ClosedForm | Cafe],
    iterations: int,
    watch: Watch | None = None,
) -> dict[str, float]:
    """PSNR of every attack; one stream of batches feeds all of them.

    Args:
        iterations: batches that attacks by descent see.
        watch: is shown the descents and the weights every 100 batches; stops the stream by returning True.
    """
    x, y = digits(plan.rows)
    learner = model(plan, scene)
    known = VerticalScene(
        learner=learner,
        rows=plan.rows,
        batch_size=scene.batch,
        space=Space(layout=Layout(784, ())),
        fixed=scene.rate == 0,
    )
    solvers = {name: each.start(known) for name, each in attacks.items() if isinstance(each, ClosedForm)}
    descents = {
        name: CafeState(each, known, Streams(effort.seed).child(name))
        for name, each in attacks.items()
        if isinstance(each, Cafe)
    }
    last = round(plan.enough * plan.rows)
    count = max(iterations if descents else 0, last if solvers else 0)
    protocol = SharedLayers(
        batch_size=scene.batch,
        rate=scene.rate,
        adam=scene.adam,
        moments=any(isinstance(each, Cafe) and each.norms > 0 for each in attacks.values()),
    )
    label = ", ".join(attacks)
    found: dict[str, float] = {}
    for number, update in enumerate(protocol.stream(learner, x, y, count, Streams(effort.seed)), start=1):
        if number <= last:
            for solver in solvers.values():
                solver.see(update)
            if number == last:
                solved = {name: _solved(solver, known, update.parameters) for name, solver in solvers.items()}
                found |= {name: psnr(data.numpy(), x.numpy()) for name, data in solved.items()}
        if number <= iterations:
            for state in descents.values():
                state.see(update)
        if number % 100 == 0:
            effort.progress(label, number, count)
            if watch is not None and watch(number, descents, update.parameters):
                break
    return found | {name: _fitted(state, x) for name, state in descents.items()}


def _solved(solver: Solver, scene: VerticalScene, parameters: Parameters) -> Tensor:
    """Steps I and II solved, step III by least squares on the local parts."""
    return behind_front(scene, parameters, solver.recover()).nan_to_num(0.5)


def _fitted(state: CafeState, x: Tensor) -> float:
    return psnr(state.recover().inputs.numpy(), x.double().numpy())


def digits(rows: int, begin: int = 0) -> tuple[Tensor, Tensor]:
    """Pixels between 0 and 1, and what they show."""
    whole = open_source(Request(data="mnist_5k")).table
    order = stratified_order(whole, np.random.default_rng(0))  # the file is sorted by digit: a part of it would be one
    table = whole.take(np.sort(order[begin : begin + rows]))
    pixels = np.zeros((rows, 784), dtype=np.float32)
    kept = [int("".join(filter(str.isdigit, column.name)) or 0) for column in table.schema.numeric]
    pixels[:, [place % 784 for place in kept]] = table.numbers / 255  # pixels that are always 0 are not in the table
    return torch.from_numpy(pixels), torch.from_numpy(table.target)


def _beside(table: str, metric: str, method: str = "CAFE", **setting: str) -> Published | None:
    return find(published("cafe"), table, method=method, metric=metric, dataset="MNIST", **setting)


def theirs(table: str, attack: str, scene: Scene) -> Published | None:
    """The published number; an attack that the paper does not have stands beside its CAFE."""
    return _beside(table, "psnr", attack, **scene.published) or _beside(table, "psnr", **scene.published)


def by_scene(table: str, name: str) -> Callable[[Effort], Iterator[Line]]:
    """A table in which every attack meets every scene: tables 2, 3, 4, 6 and 7."""

    def run_table(effort: Effort) -> Iterator[Line]:
        plan = read(name)
        attacks = {each: plan.made(each) for each in plan.attacks}
        for scene in plan.scenes:
            found = attacked(plan, scene, effort, attacks=attacks, iterations=plan.seen(effort))
            for each, value in found.items():
                note = plan.less(effort) if isinstance(attacks[each], Cafe) else ""
                cell = ", ".join(filter(None, (scene.name, each)))
                yield line(table, cell, "psnr", [value], theirs(table, each, scene), note=note)

    return run_table


def table_5(effort: Effort) -> Iterator[Line]:
    """Batches until a quality is reached, in a single loop and in nested loops."""
    plan = read("loops")
    bar = plan.until if effort.scale == 1 else EASIER
    x, _ = digits(plan.rows)
    for name in plan.attacks:
        attack = plan.made(name)
        limit = plan.seen(effort) * (3 if isinstance(attack, Cafe) and attack.mode == "nested" else 1)
        reached: list[int] = []

        def watch(number: int, states: dict[str, CafeState], _: Parameters, reached: list[int] = reached) -> bool:
            if _fitted(next(iter(states.values())), x) < bar:
                return False
            reached.append(number)
            return True

        found = attacked(plan, plan.scenes[0], effort, attacks={name: attack}, iterations=limit, watch=watch)
        beside = _beside("5", "iterations", name) if effort.scale == 1 else None
        note = f"until {bar:.0f} dB" if reached else f"{bar:.0f} dB were not reached: {found[name]:.1f} dB at the end"
        yield line("5", name, "iterations", [float(reached[0] if reached else limit)], beside, note=note)


def table_8(effort: Effort) -> Iterator[Line]:
    """Training while being attacked."""
    plan = read("training")
    x, y = digits(plan.rows)
    test_x, test_y = digits(100, plan.rows)
    learner = model(plan, plan.scenes[0])
    points = {max(100, 100 * round(effort.scale * each / 100)): each for each in plan.points}
    lines: list[Line] = []

    def watch(number: int, states: dict[str, CafeState], parameters: Parameters) -> bool:
        if number in points:
            right = (learner.outputs(parameters, test_x).argmax(1) == test_y).double().mean()
            values = {
                "psnr": _fitted(states["CAFE"], x),
                "train_loss": float(learner.loss(parameters, x, y)),
                "test_accuracy": float(right),
            }
            for metric, value in values.items():
                beside = _beside("8", metric, iterations=str(points[number])) if effort.scale == 1 else None
                lines.append(line("8", f"after {number:,} batches", metric, [value], beside))
        return False

    attacked(plan, plan.scenes[0], effort, attacks={"CAFE": plan.made("CAFE")}, iterations=max(points), watch=watch)
    yield from lines


def table_11(effort: Effort) -> Iterator[Line]:
    """Training loss with defended gradients, and what the closed form reads of them."""
    plan = read("defences")
    scene = plan.scenes[0]
    x, y = digits(plan.rows)
    learner = model(plan, scene)
    count = plan.seen(effort)
    protocol = SharedLayers(batch_size=scene.batch, rate=scene.rate)
    for place, defence in enumerate(plan.defences):
        effort.progress("training losses", place, len(plan.defences), defence.name)
        how = defence.made(learner, count, scene.batch / plan.rows)
        losses = training_losses(protocol, learner, x, y, count, Streams(effort.seed), every=max(1, count // 4), **how)
        method, _, epsilon = defence.name.partition(", epsilon ")
        setting = {"epsilon": epsilon} if epsilon else {}
        for seen, loss in losses:
            beside = find(published("cafe"), "11", method=method, metric="train_loss", iterations=str(seen), **setting)
            yield line("11", f"{defence.name}, {seen:,} batches", "train_loss", [loss], beside)
        data = _defended(plan, scene, learner, x, y, how, effort)
        cell = f"{defence.name}, closed form, fixed weights"
        yield line("11", cell, "psnr", [psnr(data.clamp(0, 1).numpy(), x.numpy())], None)
        # Numbers in other units are still the picture: a server that knows it scales them back.
        yield line("11", cell, "correlation", [float(np.corrcoef(data.flatten(), x.flatten())[0, 1])], None)


def _defended(
    plan: CafePlan, scene: Scene, learner: Learner, x: Tensor, y: Tensor, how: Mapping[str, Any], effort: Effort
) -> Tensor:
    """What the closed form recovers of defended gradients."""
    known = VerticalScene(learner=learner, rows=len(x), batch_size=scene.batch, space=Space(layout=Layout(784, ())))
    solver = ClosedForm(ridge=plan.ridge).start(known)
    count = round(plan.enough * len(x))
    for update in SharedLayers(batch_size=scene.batch).stream(learner, x, y, count, Streams(effort.seed), **how):
        solver.see(update)
    return _solved(solver, known, learner.initial())


def own_tables(effort: Effort) -> Iterator[Line]:
    """Adult, Bank Marketing and Census-Income: an audit, as users run it."""
    values = read_plan(PLANS / "cafe" / "own.toml")
    people = max(100, round(effort.scale * values["people"]))
    batch = max(4, round(people / values["people"] * values["batch_sizes"][0]))
    plan = make_plan(values | {"people": people, "batch_sizes": [batch], "seed": effort.seed})
    summary = run(
        plan,
        out=effort.folder / f"reproduce-cafe-own-{plan.fingerprint}",
        command=f"seepage reproduce cafe --table own --scale {effort.scale:g}",
        sources=open_sources(plan),
        progress=effort.progress,
    )
    for cell in summary.cells:
        for metric in ("emr", "psnr"):
            found = cell["metrics"][metric]["mean"]
            yield line("own", f"{cell['dataset']}, {people:,} people, {batch} to a batch", metric, [found], None)


TABLES: dict[str, Callable[[Effort], Iterator[Line]]] = {
    "2": by_scene("2", "competitors"),
    "3": by_scene("3", "batch_sizes"),
    "4": by_scene("4", "terms"),
    "5": table_5,
    "6": by_scene("6", "workers"),
    "7": by_scene("7", "rates"),
    "8": table_8,
    "11": table_11,
    "own": own_tables,
}
