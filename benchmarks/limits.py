"""Where exact reading breaks: one plot for every defence and for clients that do not run plain SGD.

    python benchmarks/limits.py [--quick] [--svg docs/explanation/limits.svg] --json

Adult, net 100-100 at initialisation, batch 16, 3 clients, labels unknown, float32. Of every point: the share of rows
read exactly (numbers within 0.05 deviations), the share of rows that come with a proof, how many proofs are false (it
must be 0), and the note a user gets. The optimiser at the end is kept short: this is about exactness.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from seepage._core import Streams, silent
from seepage.attacks import Exact
from seepage.data.request import Request
from seepage.data.source import open_source
from seepage.federation import Truth
from seepage.models import Learner, Parameters
from seepage.observation import Observation
from seepage.studies.rows.making import train
from seepage.studies.rows.settings import RowsSettings

SEED, BATCH, CLIENTS, RATE, STRICT = 7, 16, 3, 0.01, 0.05
ATTACK = Exact(steps=60, restarts=2, starts=4, start_steps=100, turns=3, compile="no")
Update = tuple[Observation, list[Truth]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one client and the ends of every axis")
    parser.add_argument("--svg", type=Path, help="write the plots here")
    parser.add_argument("--json", action="store_true", help="print JSON (always done)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    clients = 1 if options.quick else CLIENTS
    panels = []
    for title, axis, points in PANELS:
        chosen = [points[0], points[-1]] if options.quick else points
        panels.append({"title": title, "axis": axis, "points": [point(*each, clients) for each in chosen]})
        print(json.dumps(panels[-1]), flush=True)
    if options.svg:
        options.svg.write_text(figure(panels), encoding="utf-8")
    print(json.dumps({"benchmark": "limits", "batch": BATCH, "clients": clients, "panels": panels}, indent=2))


def defended(spec: str) -> Callable[[int], list[Update]]:
    """Clients with a defence."""

    def make(clients: int) -> list[Update]:
        return [(observation, [truth]) for observation, truth in federation(spec, clients)]

    return make


def federation(spec: str, clients: int) -> list[tuple[Observation, Truth]]:
    settings = RowsSettings(
        batch_sizes=(BATCH,), attack_points=("initialized",), exposure=0, models=("mlp_tableak",), labels_known=False,
        standardise_onehot=True, local_statistics=False, ranges_known=True, defenses=(spec,),
    )  # fmt: skip
    source = open_source(Request(data="adult_tableak", fallback="clinic"))
    trace, _ = train(source, settings, "mlp_tableak", spec, BATCH, Streams(SEED), silent)
    return list(zip(trace.points[0].observations, trace.points[0].truths, strict=True))[:clients]


def aggregated(count: int) -> Callable[[int], list[Update]]:
    """Secure aggregation: the server sees the mean of this many clients' gradients."""

    def make(clients: int) -> list[Update]:
        pairs = federation("none", 10)
        updates = []
        for first in range(clients):
            group = [pairs[(first + k) % len(pairs)] for k in range(count)]
            mean = {name: torch.stack([o.update[name] for o, _ in group]).mean(0) for name in group[0][0].update}
            exchange = replace(group[0][0].exchange, rows=BATCH * count, batch_size=BATCH * count)
            updates.append((replace(group[0][0], update=mean, exchange=exchange), [truth for _, truth in group]))
        return updates

    return make


Step = Callable[[Parameters, Parameters, Parameters], Parameters]


def trained(steps: int, optimiser: Callable[[], Step]) -> Callable[[int], list[Update]]:
    """FedAvg clients that run another optimiser on their whole batch for some steps."""

    def make(clients: int) -> list[Update]:
        updates = []
        for observation, truth in federation("none", clients):
            x = torch.from_numpy(truth.encoder.encode(truth.rows, truth.statistics))
            change = local(
                observation.learner, observation.parameters, x, torch.from_numpy(truth.rows.target), steps, optimiser()
            )
            exchange = replace(observation.exchange, protocol="fedavg", local_epochs=steps, learning_rate=RATE)
            updates.append((replace(observation, update=change, exchange=exchange), [truth]))
        return updates

    return make


def local(learner: Learner, start: Parameters, x: Tensor, y: Tensor, steps: int, step: Step) -> Parameters:
    current = start
    for _ in range(steps):
        current = step(current, learner.gradient(current, x, y), start)
    return {name: current[name] - start[name] for name in start}


def adam() -> Step:
    """Adam with its usual constants, from an empty state."""
    first: Parameters = {}
    second: Parameters = {}
    count = 0

    def step(current: Parameters, slope: Parameters, _: Parameters) -> Parameters:
        nonlocal count
        count += 1
        moved = {}
        for name, value in current.items():
            first[name] = 0.9 * first.get(name, torch.zeros_like(value)) + 0.1 * slope[name]
            second[name] = 0.999 * second.get(name, torch.zeros_like(value)) + 0.001 * slope[name].square()
            mean, square = first[name] / (1 - 0.9**count), second[name] / (1 - 0.999**count)
            moved[name] = value - 1e-3 * mean / (square.sqrt() + 1e-8)
        return moved

    return step


def decaying(decay: float) -> Callable[[], Step]:
    """SGD with weight decay."""

    def step(current: Parameters, slope: Parameters, _: Parameters) -> Parameters:
        return {name: value - RATE * (slope[name] + decay * value) for name, value in current.items()}

    return lambda: step


def point(label: str, make: Callable[[int], list[Update]], clients: int) -> dict[str, Any]:
    """One setting: what was read, what was proven, and what the user is told."""
    exact, proven, false, notes = [], [], 0, []
    for number, (observation, truths) in enumerate(make(clients)):
        claim = ATTACK([observation], Streams(SEED).child(number))[0]
        true = np.concatenate([truth.encoder.encode(truth.rows, truth.statistics) for truth in truths])
        notes.append(claim.note)
        if claim.rows is None:
            exact.append(0.0)
            proven.append(0.0)
            continue
        near = np.abs(true[:, None] - claim.rows[None]).max(-1) < STRICT
        certified = claim.certified if claim.certified is not None else np.zeros(len(true), dtype=bool)
        exact.append(float(near.any(1).mean()))
        proven.append(float(certified.mean()))
        false += int((certified & ~near.any(0)).sum())
    return {
        "at": label, "read_exactly": float(np.mean(exact)), "certified": float(np.mean(proven)),
        "false_certificates": false, "batches": len(exact), "note": notes[0],
    }  # fmt: skip


def _series(names: list[str], spec: str) -> list[tuple[str, Callable[[int], list[Update]]]]:
    return [(name, defended(spec.format(name))) for name in names]


PANELS: list[tuple[str, str, list[tuple[str, Callable[[int], list[Update]]]]]] = [
    ("Gaussian noise", "deviation of an entry",
     _series(["1e-9", "1e-7", "1e-6", "1e-5", "1e-4", "1e-3", "1e-2"], "gaussian_noise:{}")),
    ("DP-SGD, clip 1", "noise multiplier",
     _series(["1e-6", "1e-4", "1e-3", "1e-2", "0.1", "1"], "dp_sgd:clip=1:noise={}")),
    ("DP-SGD, no noise", "clip", _series(["100", "10", "3", "1", "0.1"], "dp_sgd:noise=1e-9:clip={}")),
    ("Quantisation", "bits of an entry", _series(["16", "12", "10", "8", "6", "4"], "quantisation:{}")),
    ("Top-k", "share of entries sent", _series(["1", "0.99", "0.9", "0.5", "0.1"], "top_k:{}")),
    ("Secure aggregation", "clients (16 rows each)", [(str(n), aggregated(n)) for n in (1, 2, 4, 5, 6, 7, 8)]),
    ("Adam at the clients", "local steps", [(str(n), trained(n, adam)) for n in (1, 2, 5)]),
    ("Weight decay, unknown", "decay", [(str(d), trained(1, decaying(d))) for d in (0.0, 1e-6, 1e-4, 1e-2)]),
]  # fmt: skip


def figure(panels: list[dict[str, Any]]) -> str:
    """Small line plots side by side, as SVG text."""
    wide, high, columns = 300, 215, 3
    rows = -(-len(panels) // columns)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide * columns} {high * rows + 30}" '
        'font-family="system-ui, sans-serif" font-size="11" fill="#333">',
        f'<rect width="{wide * columns}" height="{high * rows + 30}" fill="#fff"/>',
        '<circle cx="20" cy="15" r="4" fill="#b3341c"/><text x="30" y="19">rows read exactly</text>'
        '<rect x="156" y="11" width="8" height="8" fill="#1d5f9e"/><text x="170" y="19">rows with a proof</text>',
    ]
    for number, panel in enumerate(panels):
        parts.append(_panel(panel, wide * (number % columns), 30 + high * (number // columns), wide, high))
    return "\n".join([*parts, "</svg>\n"])


def _panel(panel: dict[str, Any], left: int, top: int, wide: int, high: int) -> str:
    points, x0, y0, width, height = panel["points"], left + 45, top + 30, wide - 65, high - 90
    step = width / max(len(points) - 1, 1)
    lines = [f'<text x="{left + 45}" y="{top + 16}" font-size="13" font-weight="600">{panel["title"]}</text>']
    for share in (0, 50, 100):
        y = y0 + height * (1 - share / 100)
        lines.append(f'<line x1="{x0}" x2="{x0 + width}" y1="{y}" y2="{y}" stroke="#e3e3e3"/>')
        lines.append(f'<text x="{x0 - 6}" y="{y + 4}" text-anchor="end">{share}{" %" if share == 100 else ""}</text>')
    for k, each in enumerate(points):
        lines.append(f'<text x="{x0 + k * step}" y="{y0 + height + 16}" text-anchor="middle">{each["at"]}</text>')
    lines.append(
        f'<text x="{x0 + width / 2}" y="{y0 + height + 33}" text-anchor="middle" fill="#666">{panel["axis"]}</text>'
    )
    for key, colour, mark in (("certified", "#1d5f9e", "square"), ("read_exactly", "#b3341c", "dot")):
        spots = [(x0 + k * step, y0 + height * (1 - each[key])) for k, each in enumerate(points)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
        lines.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        for x, y in spots:
            if mark == "dot":
                lines.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>')
            else:
                lines.append(f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" fill="{colour}"/>')
    return "\n".join(lines)


if __name__ == "__main__":
    main()
