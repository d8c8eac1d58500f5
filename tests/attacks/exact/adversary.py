"""Random small updates, and candidates that try to be certified although they are no records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from seepage.attacks.exact.certificate import Rows, certify, exhausted
from seepage.attacks.exact.joint import Fit, certain, fit
from seepage.attacks.exact.presence import State, presence_of
from seepage.attacks.exact.search import span_search
from seepage.attacks.exact.single import polish, pull
from seepage.attacks.exact.view import View, view_of
from seepage.data import Layout
from seepage.models import MLP, make_learner
from seepage.observation import Exchange, Observation, Space
from tests.reference import local_training

ACTIVATIONS = ("relu", "gelu", "tanh", "leaky_relu", "sigmoid")
KINDS = ("plain", "equal rows", "near rows", "combination", "same categories", "point masses", "one number apart")
WRONG = 0.05  # a certified number that is further off than this is wrong


@dataclass(frozen=True)
class World:
    """One update and the rows behind it."""

    observation: Observation
    codes: np.ndarray
    numbers: np.ndarray
    labels: np.ndarray
    said: str


def make_world(seed: int, more: int = 0) -> World:
    """A random schema, model, protocol and batch; with so many more numbers than a small table has."""
    rng = np.random.default_rng(seed)
    numeric, sizes = int(rng.integers(0, 5)) + more, tuple(int(k) for k in rng.integers(2, 7, rng.integers(1, 5)))
    layout = Layout(numeric, sizes)
    task = rng.choice(["binary", "binary", "multiclass", "regression"])
    model = MLP(
        width=int(rng.integers(6, 41)),
        depth=int(rng.integers(1, 4)),
        activation=rng.choice(ACTIVATIONS),
        norm=rng.choice(["none", "layer", "batch"]),
        binary_outputs=int(rng.integers(1, 3)),
        dropout=float(rng.choice([0.0, 0.0, 0.0, 0.2])),
    )
    classes = {"binary": 2, "multiclass": 3, "regression": 0}[task]
    learner = make_learner(model, numeric, sizes, task, classes, seed=seed)
    rows, kind = int(rng.integers(1, 17)), str(rng.choice(KINDS))
    codes, numbers = _batch(kind, rows, numeric, sizes, rng)
    labels = rng.normal(size=rows) if task == "regression" else rng.integers(0, classes, rows)
    x = torch.from_numpy(np.concatenate([numbers, *(np.eye(k)[codes[:, j]] for j, k in enumerate(sizes))], 1)).float()
    y = torch.from_numpy(labels).float() if task == "regression" else torch.from_numpy(labels)
    gain = float(rng.choice([1.0, 1.0, 3.0, 0.3]))  # a trained net has larger weights
    parameters = {name: value * gain for name, value in learner.initial().items()}
    steps = int(rng.choice([1, 1, 1, 3]))
    noisy = learner.has_noise
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if steps == 1:
            update = learner.gradient(parameters, x, y, noisy=noisy)
            exchange = Exchange(protocol="fedsgd", rows=rows, batch_size=rows)
        else:
            update = local_training(
                learner, parameters, x.expand(steps, *x.shape), y.expand(steps, *y.shape), 0.05, noisy=noisy
            )
            exchange = Exchange(protocol="fedavg", rows=rows, batch_size=rows, local_epochs=steps, learning_rate=0.05)
        noise = float(rng.choice([0, 0, 0, 1e-7, 1e-5, 1e-3]))
        update = {name: value + noise * torch.randn_like(value) for name, value in update.items()}
    observation = Observation(
        learner=learner, space=Space(layout=layout), parameters=parameters, update=update, exchange=exchange
    )
    said = f"seed {seed}: {model}, {task}, {layout}, {rows} rows, {kind}, {steps} steps, noise {noise}, gain {gain}"
    return World(observation, codes, x[:, :numeric].double().numpy(), labels, said)


def _batch(
    kind: str, rows: int, numeric: int, sizes: tuple[int, ...], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    codes = np.stack([rng.integers(0, size, rows) for size in sizes], 1)
    numbers = rng.normal(size=(rows, numeric))
    if kind == "point masses":
        numbers = np.where(rng.random(numbers.shape) < 0.7, 0.0, np.round(numbers))
    if kind == "same categories":
        codes[:] = codes[0]
    if kind == "equal rows" and rows > 1:
        codes[1], numbers[1] = codes[0], numbers[0]
    if kind == "near rows" and rows > 1:
        codes[1], numbers[1] = codes[0], numbers[0] + 10 ** rng.uniform(-3, 0) * rng.normal(size=numeric)
    if kind == "one number apart" and numeric:  # some on the same side of every ReLU, with nearly equal outputs
        group = min(rows, int(rng.integers(2, 5)))
        codes[:group], numbers[:group] = codes[0], numbers[0]
        numbers[:group, 0] += rng.choice([0.1, 0.3]) * np.arange(group)
    if kind == "combination" and rows > 3:  # r0 + r1 - r2 = r3, all there
        codes[1:4], numbers[3] = codes[0], numbers[0] + numbers[1] - numbers[2]
        first, second = rng.integers(0, len(sizes), 2)
        codes[1, first] = (codes[0, first] + 1) % sizes[first]
        codes[2] = codes[1] if rng.random() < 0.5 else codes[0]
        if second != first:
            codes[2, second] = (codes[0, second] + 1) % sizes[second]
        onehot = [np.eye(size)[codes[:3, j]] for j, size in enumerate(sizes)]
        sums = [block[0] + block[1] - block[2] for block in onehot]
        if all(((block == 0) | (block == 1)).all() for block in sums):
            codes[3] = [block.argmax() for block in sums]
    return codes, numbers


def candidates(world: World, view: View, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """True rows, rows that are nearly true, combinations of true rows, and nonsense."""
    sizes, numeric = view.space.layout.sizes, view.numeric
    codes, numbers = [world.codes], [world.numbers]
    for _ in range(4):
        flipped = world.codes.copy()
        column = int(rng.integers(0, len(sizes)))
        flipped[:, column] = rng.integers(0, sizes[column], len(flipped))
        codes.append(flipped)
        numbers.append(world.numbers + rng.choice([0.0, 0.01, 0.3]) * rng.normal(size=world.numbers.shape))
    order = rng.permutation(len(world.codes))
    half = rng.random(len(sizes)) < 0.5
    codes.append(np.where(half, world.codes, world.codes[order]))  # two people mixed
    numbers.append(np.where(rng.random(numeric) < 0.5, world.numbers, world.numbers[order]))
    onehot = [np.eye(size)[world.codes[:, j]] for j, size in enumerate(sizes)]
    picks = rng.integers(0, len(world.codes), (8, 3))
    codes.append(np.stack([(b[picks[:, 0]] + b[picks[:, 1]] - b[picks[:, 2]]).argmax(1) for b in onehot], 1))
    numbers.append(world.numbers[picks[:, 0]] + world.numbers[picks[:, 1]] - world.numbers[picks[:, 2]])
    guess = rng.random((12, view.space.layout.width))
    pulled = pull(view, torch.from_numpy(guess).float(), steps=30)
    every = torch.from_numpy(np.concatenate(codes)), torch.from_numpy(np.concatenate(numbers))
    return torch.cat([every[0], pulled[0]]), torch.cat([every[1], pulled[1]])


def false_rows(world: World) -> tuple[int, list[str]]:
    """How many rows were certified, and what is wrong with any of them."""
    if not world.observation.finite:
        return 0, []
    rng = np.random.default_rng(1)
    view = view_of(world.observation)
    complaints = _false_presence(world)
    if not view.layers:
        return 0, complaints
    codes, numbers = candidates(world, view, rng)
    found: list[Rows] = [
        certify(view, codes, numbers),
        certify(view, codes, polish(view, codes, numbers)),
    ]
    leaves = span_search(view, 20_000)
    if leaves.complete and 0 < len(leaves.codes) < 500:
        found.append(certify(view, leaves.codes, polish(view, leaves.codes, leaves.numbers)))
        proven = exhausted(view, leaves)
        unknown = torch.full((int(proven.sum()),), torch.nan)
        found.append(Rows(leaves.codes[proven], leaves.numbers[proven], unknown, unknown, proven[proven]))
    for rows in found:
        complaints += _complaints(world, rows)
    complaints += _false_set(world, view, rng)
    return sum(int(rows.certain.sum()) for rows in found), complaints


def _complaints(world: World, rows: Rows) -> list[str]:
    said = []
    sure = rows.certain
    every = zip(rows.codes[sure].numpy(), rows.numbers[sure].numpy(), rows.labels[sure].tolist(), strict=True)
    for codes, numbers, label in every:
        same = (world.codes == codes).all(1) & (np.abs(world.numbers - numbers) < WRONG).all(1)
        if not same.any():
            said.append(f"certified {codes} {numbers}, which is no record; {world.said}")
        # Equal rows with different targets look like one row with another target: only classes are certain.
        elif (
            world.observation.learner.task != "regression"
            and np.isfinite(label)
            and not np.isclose(world.labels[same], label, atol=0.05).any()
        ):
            said.append(f"certified label {label}, records have {world.labels[same]}; {world.said}")
    return said


def _false_presence(world: World) -> list[str]:
    said = []
    for column, states in enumerate(presence_of(world.observation).states):
        has = np.isin(np.arange(len(states)), world.codes[:, column])
        if ((states == State.PRESENT) & ~has).any():
            said.append(f"category said to be present in column {column}; {world.said}")
    return said


def _false_set(world: World, view: View, rng: np.random.Generator) -> list[str]:
    """Sets of rows that are not the batch must not be certified."""
    if not view.peelable or view.learner.task == "regression" or not 2 <= len(world.codes) <= 5:
        return []
    codes, numbers, labels = world.codes.copy(), world.numbers.copy(), world.labels.copy()
    change = int(rng.integers(0, 3))
    one, other = rng.permutation(len(codes))[:2]
    column = int(rng.integers(0, codes.shape[1]))
    if change == 0:
        codes[[one, other], column] = codes[[other, one], column]
    elif change == 1 and numbers.shape[1]:
        numbers[[one, other], 0] = numbers[[other, one], 0]
    else:
        labels[[one, other]] = labels[[other, one]]
    best: Fit = fit(view, torch.from_numpy(codes), torch.from_numpy(numbers), torch.from_numpy(labels))
    if not certain(view, best):
        return []
    distance = np.abs(np.concatenate([best.codes.numpy(), best.numbers.numpy()], 1)[:, None]
                      - np.concatenate([world.codes, world.numbers], 1)[None]).max(-1)  # fmt: skip
    right = (distance < WRONG).any(1).all() and (distance < WRONG).any(0).all()
    return [] if right else [f"certified a set that is not the batch; {world.said}"]


def an_update(codes: np.ndarray, numbers: np.ndarray, labels: np.ndarray, width: int = 40) -> Observation:
    sizes = (4, 3, 5)
    learner = make_learner(MLP(width=width, activation="relu", norm="none"), 2, sizes, "binary", 2, seed=3)
    x = np.concatenate([numbers, *(np.eye(size)[codes[:, j]] for j, size in enumerate(sizes))], 1)
    parameters = learner.initial()
    update = learner.gradient(parameters, torch.from_numpy(x).float(), torch.from_numpy(labels))
    return Observation(
        learner=learner,
        space=Space(layout=Layout(2, sizes)),
        parameters=parameters,
        update=update,
        exchange=Exchange(protocol="fedsgd", rows=len(codes), batch_size=len(codes)),
    )


CODES = np.array([[0, 1, 2], [1, 1, 2], [1, 2, 3], [0, 2, 3], [3, 0, 4], [2, 1, 0]])
NUMBERS = np.array([[0.1, -1.2], [0.7, 0.3], [-0.4, 1.1], [-1.0, -0.4], [1.5, 0.2], [-0.3, 0.9]])
LABELS = np.array([0, 1, 0, 1, 1, 0])
