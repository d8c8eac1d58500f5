"""Document 001 on MNIST: 800 digits, 4 workers with a quadrant each, Tables 2, 3, 6 and 7 beside the published numbers.

    python benchmarks/cafe_mnist.py --table 2 [--iterations 2000] --json

Prints one JSON line for each cell. PSNR in decibels over all 800 digits, pixels between 0 and 1. What differs: the
model (``models/quadrants.py`` says how), digits from the 5,000 of a package, one run with one seed.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator

import torch

from cafe import digits
from seepage._core import Streams
from seepage.attacks.vertical.cafe import Cafe, CafeState
from seepage.attacks.vertical.closed_form import ClosedForm
from seepage.attacks.vertical.front import behind_front
from seepage.data import Layout
from seepage.federation.vertical.shared import SharedLayers
from seepage.metrics import psnr
from seepage.models import Learner, make_learner
from seepage.models.quadrants import QuadrantNet
from seepage.observation import Space
from seepage.observation.vertical import VerticalScene, VerticalUpdate

ROWS = 800
PUBLISHED = {
    "2": {"cafe": 43.15, "dlg": 7.96, "cosine": 7.84, "sapag": 3.86, "gc": 9.24},
    "3": {"10": 32.60, "20": 39.00, "40": 43.15, "80": 47.05, "100": 47.50},
    "6": {"4": 43.15, "16": 39.28},
    "7": {"0.0001": 31.82, "0.0005": 28.42, "0.001": 23.60},
}
COMPETITORS = {
    "dlg": Cafe(steps=False, alpha=1.0, beta=0.0, gamma=0.0, image=(28, 28)),
    "cosine": Cafe(steps=False, alpha=1.0, gamma=0.0, match="cosine", image=(28, 28)),
    "sapag": Cafe(steps=False, alpha=1.0, beta=0.0, gamma=0.0, match="gaussian", image=(28, 28)),
    "gc": Cafe(steps=False, alpha=1.0, beta=0.0, gamma=0.0, consistency=1e-3, seeds=2, image=(28, 28)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", choices=list(PUBLISHED), default="2")
    parser.add_argument("--iterations", type=int, default=2000, help="of the attacks by descent")
    parser.add_argument("--width", type=int, default=256, help="outputs of the first fully connected layer")
    parser.add_argument("--quick", action="store_true", help="the closed form of Table 2 on 60 digits only")
    parser.add_argument("--json", action="store_true", help="print JSON (always done)")
    options = parser.parse_args()
    if options.quick:
        told("2", "cafe, closed form, 60 digits", closed_form(10, 4, 64, rows=60), None)
        return
    if options.table == "2":
        told("2", "cafe, closed form", closed_form(40, 4, options.width), PUBLISHED["2"]["cafe"])
        told("2", "cafe, single loop", descent(Cafe(image=(28, 28)), options), PUBLISHED["2"]["cafe"])
        for name, attack in COMPETITORS.items():
            told("2", name, descent(attack, options), PUBLISHED["2"][name])
    if options.table == "3":
        for batch in (10, 20, 40, 80, 100):
            told("3", f"batch {batch}", closed_form(batch, 4, options.width), PUBLISHED["3"][str(batch)])
    if options.table == "6":
        for workers in (4, 16):
            told("6", f"{workers} workers", closed_form(40, workers, options.width), PUBLISHED["6"][str(workers)])
    if options.table == "7":
        for rate in (1e-4, 5e-4, 1e-3):
            found = closed_form(40, 4, options.width, rate=rate)
            told("7", f"rate {rate:g}", found, PUBLISHED["7"].get(f"{rate:g}"))


def told(table: str, cell: str, found: dict[str, float], published: float | None) -> None:
    """One line."""
    print(json.dumps({"table": table, "cell": cell, **found, "published": published}), flush=True)


def make(
    batch: int, workers: int, width: int, rows: int = ROWS
) -> tuple[VerticalScene, Learner, torch.Tensor, torch.Tensor]:
    """The scene and the digits."""
    x, y = digits(rows)
    learner = make_learner(QuadrantNet(workers=workers, width=width), 784, (), "multiclass", 10, seed=0)
    scene = VerticalScene(learner=learner, rows=rows, batch_size=batch, space=Space(layout=Layout(784, ())))
    return scene, learner, x, y


def closed_form(batch: int, workers: int, width: int, rate: float = 0.0, rows: int = ROWS) -> dict[str, float]:
    """Steps I and II solved, step III by least squares on the local parts. While training, the newest batches count."""
    scene, learner, x, y = make(batch, workers, width, rows)
    begin = time.perf_counter()
    window = round(1.5 * rows) if rate else None
    solver = ClosedForm(window=window, ridge=1e-6 if rate else 0.0).start(scene)
    parameters = learner.initial()
    updates: Iterator[VerticalUpdate] = SharedLayers(batch_size=batch, rate=rate, adam=bool(rate)).stream(
        learner, x, y, round(1.5 * rows), Streams(0)
    )
    for update in updates:
        solver.see(update)
        parameters = update.parameters
    found = solver.recover()
    data = behind_front(scene, parameters, found).nan_to_num(0.5)
    return {"psnr": psnr(data.numpy(), x.numpy()), "seconds": time.perf_counter() - begin}


def descent(attack: Cafe, options: argparse.Namespace) -> dict[str, float]:
    """An attack by descent on fixed weights."""
    scene, learner, x, y = make(40, 4, options.width)
    begin = time.perf_counter()
    state = CafeState(attack, scene, Streams(0))
    for update in SharedLayers(batch_size=40).stream(learner, x, y, options.iterations, Streams(0)):
        state.see(update)
    data = state.recover().inputs.float().numpy()
    return {"psnr": psnr(data, x.numpy()), "seconds": time.perf_counter() - begin, "iterations": options.iterations}


if __name__ == "__main__":
    main()
