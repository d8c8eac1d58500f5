"""Small clients of a cheating server, without a federation: rows, and the answer to weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from seepage._core import Streams
from seepage.attacks.malicious import ServerAttack, Trap
from seepage.data import Layout
from seepage.models import MLP, Architecture, make_learner
from seepage.observation import Claim, Exchange, Space
from seepage.observation.servers import Answer, ServerScene

NUMERIC, SIZES = 2, (3, 4, 5)
SCALE = np.array([10.0, 1000.0])


@dataclass(frozen=True)
class Played:
    """Rows, the server's weights, and what it claims."""

    rows: np.ndarray
    labels: np.ndarray
    traps: list[Trap]
    claim: Claim

    @property
    def read(self) -> np.ndarray:
        """(claimed,) whether each claimed row is a true one; each true row counts once."""
        assert self.claim.rows is not None
        assert self.claim.determined is not None
        left = list(range(len(self.rows)))
        found = []
        for row in self.claim.rows[self.claim.determined]:
            hit = next((k for k in left if np.abs(self.rows[k] - row).max() < 1e-3), None)
            found.append(hit is not None)
            if hit is not None:
                left.remove(hit)
        return np.array(found, dtype=bool)

    @property
    def false_proofs(self) -> int:
        """Proven rows that are none."""
        assert self.claim.certified is not None
        assert self.claim.determined is not None
        return int((self.claim.certified[self.claim.determined] & ~self.read).sum())


def layout(numeric: int = NUMERIC, sizes: tuple[int, ...] = SIZES) -> Layout:
    return Layout(numeric, sizes)


def rows_of(count: int, generator: np.random.Generator, where: Layout) -> np.ndarray:
    """Whole numbers in raw units, scaled; categories as ones and zeros."""
    raw = np.stack([generator.integers(0, 60, count), generator.integers(0, 9000, count)], 1)[:, : where.numeric]
    blocks = [np.eye(size)[generator.integers(0, size, count)] for size in where.sizes]
    return np.concatenate([raw / SCALE[: where.numeric], *blocks], axis=1)


def space_of(where: Layout) -> Space:
    scale, high = np.ones(where.width), np.array([60.0, 9000.0])
    scale[: where.numeric] = SCALE[: where.numeric]
    return Space(
        layout=where,
        shift=torch.zeros(where.width, dtype=torch.float64),
        scale=torch.from_numpy(scale),
        low=torch.zeros(where.numeric),
        high=torch.from_numpy(high[: where.numeric]),
        integers=torch.ones(where.numeric, dtype=torch.bool),
    )


def played(
    attack: ServerAttack,
    count: int,
    *,
    net: Architecture | None = None,
    rounds: int = 1,
    classes: int = 2,
    steps: int = 0,
    seed: int = 0,
) -> Played:
    """One client: a gradient, or ``steps`` local steps of plain descent."""
    where, generator = layout(), np.random.default_rng(seed)
    net = net or MLP(width=160, activation="relu", norm="none")
    task = "regression" if classes == 0 else "binary" if classes == 2 else "multiclass"
    learner = make_learner(net, where.numeric, where.sizes, task, classes, seed=seed)  # type: ignore[arg-type]
    rows = rows_of(count, generator, where)
    labels = generator.integers(0, classes, count) if classes else generator.normal(size=count)
    exchange = Exchange(protocol="fedsgd", rows=count, batch_size=count)
    if steps:
        exchange = Exchange(protocol="fedavg", rows=count, batch_size=count // steps, learning_rate=0.01)
    scene = ServerScene(
        learner=learner,
        space=space_of(where),
        exchange=exchange,
        public=rows_of(400, generator, where),
        rounds=rounds,
        classes=classes,
    )
    traps = attack.prepare(scene, Streams(seed))
    answers = [_answer(trap, rows, labels, exchange) for trap in traps]
    return Played(rows, labels, traps, attack.read(scene, traps, answers))


def _answer(trap: Trap, rows: np.ndarray, labels: np.ndarray, exchange: Exchange) -> Answer:
    x = torch.from_numpy(rows).float()
    y = torch.from_numpy(labels) if labels.dtype.kind == "i" else torch.from_numpy(labels).float()
    if exchange.protocol == "fedsgd":
        update = trap.learner.gradient(trap.parameters, x, y)
        return Answer(learner=trap.learner, parameters=trap.parameters, update=update, exchange=exchange)
    now = dict(trap.parameters)
    for part in _parts(len(x), exchange.batch_size):
        slope = trap.learner.gradient(now, x[part], y[part])
        now = {name: value - exchange.learning_rate * slope[name] for name, value in now.items()}
    update = {name: value - trap.parameters[name] for name, value in now.items()}
    return Answer(learner=trap.learner, parameters=trap.parameters, update=update, exchange=exchange)


def _parts(rows: int, size: int) -> Sequence[slice]:
    return [slice(first, first + size) for first in range(0, rows // size * size, size)]
