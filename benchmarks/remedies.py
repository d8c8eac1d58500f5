"""What settings of Flower and NVFlare leave to be read: updates of three hospitals go through the packages' own code.

    python benchmarks/remedies.py [--quick] [--seeds 3] [--store src/seepage/report/remedies.json]

Rows of the made-up table ``clinic``, 16 for each hospital, one local step; the attack gets what a server gets. Each
seed is a federation of its own: other rows, other weights, other noise. `certified` are rows that the attack proves,
`near` rows that it reads (every category, numbers within 0.319 deviations), `cells` the share of cells that are right
beside the best `guess`, `presence` the share of categories of which it is told rightly whether they occur; the last
two with intervals over updates, drawn by federations first. The reports and the docs take their numbers from the file
that ``--store`` writes. Some minutes on a core for each seed.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch
from flwr.app import ArrayRecord, ConfigRecord, Message, RecordDict
from flwr.clientapp.mod import LocalDpMod, fixedclipping_mod
from flwr.supercore.differential_privacy import KEY_CLIPPING_NORM
from flwr.supercore.task_identity import TaskIdentity
from nvflare.apis.dxo import DXO, DataKind
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable
from nvflare.app_common.filters.percentile_privacy import PercentilePrivacy
from nvflare.app_common.filters.svt_privacy import SVTPrivacy

import seepage
from seepage import captures
from seepage.data import Encoder, Table, clinic, infer_schema
from seepage.models import MLP, make_learner
from seepage.report.flower_remedies import DELTA, EPSILON, local_deviation
from seepage.report.measured_settings import MeasuredSetting, MeasuredSettings
from seepage.results import bootstrap
from seepage.results.updates import UpdatesSummary

HOSPITALS, OWNED, RATE, ROWS, LARGE = 3, 200, 0.05, 16, 64
ATTACKS = ("exact", "presence")
Way = tuple[Callable[["State"], "State"], dict[str, Any]]  # what is done to an update, what the capture says of it
State = dict[str, np.ndarray]


class Hospitals:
    """Three of them, with the weights that a server sent.

    Args:
        seed: of their rows and of the weights.
        seeds: of all federations, which agreed on one schema.
    """

    def __init__(self, seed: int, seeds: range) -> None:
        every = pl.concat([clinic(rows=HOSPITALS * OWNED, seed=each) for each in seeds])
        table = Table.from_frame(clinic(rows=HOSPITALS * OWNED, seed=seed), infer_schema(every, "died"))
        self.encoder = Encoder(schema=table.schema)
        self.tables = [table.take(np.arange(OWNED) + OWNED * place) for place in range(HOSPITALS)]
        layout = self.encoder.layout
        self.learner = make_learner(MLP(), layout.numeric, layout.sizes, "binary", 2, seed=seed)
        self.weights = self.learner.initial()
        self.schema = table.schema

    def after(self, places: list[int], rows: int, epochs: int = 1) -> State:
        """Weights after local steps on all rows of some hospitals together."""
        inputs = [self.encoder.encode(t, self.encoder.statistics(t))[:rows] for t in (self.tables[p] for p in places)]
        x = torch.from_numpy(np.concatenate(inputs))
        y = torch.from_numpy(np.concatenate([self.tables[place].target[:rows] for place in places]))
        state = self.weights
        for _ in range(epochs):
            slope = self.learner.gradient(state, x, y)
            state = {name: value - RATE * slope[name] for name, value in state.items()}
        return arrays(state)


def arrays(state: Any) -> State:
    return {name: np.asarray(value) for name, value in state.items()}


def through_flower(mod: Callable[..., Message], before: State, after: State, clip: float) -> State:
    """What a mod of Flower makes of a reply."""
    content = RecordDict({"arrays": record(before), "config": ConfigRecord({KEY_CLIPPING_NORM: clip})})
    asked = Message(content=content, dst_node_id=1, message_type="train")
    reply = mod(asked, None, lambda message, _: Message(RecordDict({"arrays": record(after)}), reply_to=message))
    (sent,) = reply.content.array_records.values()
    return dict(zip(before, (np.asarray(each, "float32") for each in sent.to_numpy_ndarrays()), strict=True))


def record(state: State) -> ArrayRecord:
    return ArrayRecord(list(state.values()))


def through_nvflare(chosen: Any, before: State, after: State) -> State:
    """What a filter of NVFlare makes of the difference."""
    change = {name: after[name] - before[name] for name in before}
    found = chosen.process_dxo(DXO(DataKind.WEIGHT_DIFF, data=change), Shareable(), FLContext())
    return {name: (before[name] + found.data[name]).astype("float32") for name in before}


def read(hospitals: Hospitals, folder: Path, sent: State, places: list[int], rows: int, **facts: Any) -> UpdatesSummary:
    """An audit of one captured update, scored against the rows behind it."""
    known = {"batch_size": rows * len(places), "learning_rate": RATE} | facts
    captures.write(folder / "capture", before=arrays(hospitals.weights), after=sent, rows=rows * len(places), **known)
    (folder / "schema.toml").write_text(hospitals.schema.to_toml())
    frames = [hospitals.tables[place].to_frame() for place in places]
    truth, whole = frames[0][:rows], frames[0]
    for frame in frames[1:]:
        truth, whole = truth.vstack(frame[:rows]), whole.vstack(frame)
    options: dict[str, Any] = {}
    if len(places) == 1:  # each hospital scales with statistics of its own, so a sum has no truth of one client
        truth.write_csv(folder / "truth.csv")
        whole.write_csv(folder / "all.csv")
        options = {"truth": folder / "truth.csv", "client_rows": folder / "all.csv"}
    summary = seepage.audit(
        None, study="updates", capture=str(folder / "capture"), schema=folder / "schema.toml", simulations=0,
        attacks=ATTACKS, **options,
    )  # fmt: skip
    assert isinstance(summary, UpdatesSummary)
    return summary


def ways(hospitals: Hospitals) -> dict[str, Way]:
    """What is done to an update, with what the capture says of it, by the name under which it is stored."""
    before = arrays(hospitals.weights)
    own = [hospitals.after([place], ROWS) for place in range(HOSPITALS)]
    lengths = [np.sqrt(sum(float(((a[n] - before[n]) ** 2).sum()) for n in before)) for a in own]
    clip = float(np.median(lengths))
    typical = clip / np.sqrt(weights_of(hospitals))
    covered = {"covered": True}

    def noise(epsilon: float) -> Callable[[State], State]:
        mod = LocalDpMod(clipping_norm=clip, sensitivity=2 * clip, epsilon=epsilon, delta=DELTA)
        return lambda after: through_flower(mod, before, after, clip)

    return {
        "as it is": (lambda after: after, {}),
        "fixedclipping_mod": (lambda after: through_flower(fixedclipping_mod, before, after, clip / 2), {}),
        "LocalDpMod": (noise(EPSILON), covered),
        "LocalDpMod, loose": (noise(loose(hospitals)), covered),
        "SVTPrivacy": (
            lambda after: through_nvflare(
                SVTPrivacy(fraction=0.1, epsilon=0.1, noise_var=0.1, gamma=typical, tau=typical / 10), before, after
            ),
            covered,
        ),
        "PercentilePrivacy": (
            lambda after: through_nvflare(PercentilePrivacy(percentile=90, gamma=3 * typical), before, after), covered,
        ),
    }  # fmt: skip


def weights_of(hospitals: Hospitals) -> int:
    return sum(value.numel() for value in hospitals.weights.values())


def loose(hospitals: Hospitals) -> float:
    """The epsilon at which LocalDpMod's noise is as long as an update that is not clipped."""
    return local_deviation(1.0, 1.0) * float(np.sqrt(weights_of(hospitals)))


def names(hospitals: Hospitals) -> dict[str, str]:
    """Each setting in words."""
    return {
        "as it is": "as it is",
        "fixedclipping_mod": "`fixedclipping_mod`, half the length",
        "LocalDpMod": f"`LocalDpMod`, epsilon {EPSILON:g}",
        "LocalDpMod, loose": f"`LocalDpMod`, noise as long as the update (epsilon {loose(hospitals):.0f})",
        "SVTPrivacy": "`SVTPrivacy`, a tenth of the weights",
        "PercentilePrivacy": "`PercentilePrivacy`, a tenth of the weights",
        "two epochs": "two local epochs",
        "more rows": f"{LARGE} rows behind an update",
        "sum": "the plain sum of three hospitals",
    }


def measured(hospitals: Hospitals, *, quick: bool) -> Iterator[tuple[str, list[UpdatesSummary]]]:
    """Audits of all hospitals, setting by setting."""
    for name, (change, facts) in ways(hospitals).items():
        if quick and facts.get("covered"):  # an attack that finds nothing uses its whole budget
            continue
        sent = [change(hospitals.after([place], ROWS)) for place in range(HOSPITALS)]
        yield name, [one(hospitals, each, [place], ROWS, facts) for place, each in enumerate(sent)]
    if quick:
        return
    for name, rows, epochs in (("two epochs", ROWS, 2), ("more rows", LARGE, 1)):
        steps = {"local_epochs": epochs}
        found = [one(hospitals, hospitals.after([p], rows, epochs), [p], rows, steps) for p in range(HOSPITALS)]
        yield name, found
    every = list(range(HOSPITALS))
    yield "sum", [one(hospitals, hospitals.after(every, ROWS), every, ROWS, {})]


def one(hospitals: Hospitals, sent: State, places: list[int], rows: int, facts: dict[str, Any]) -> UpdatesSummary:
    with tempfile.TemporaryDirectory() as folder:
        return read(hospitals, Path(folder), sent, places, rows, **facts)


def numbers(key: str, name: str, found: list[tuple[int, UpdatesSummary]]) -> MeasuredSetting:
    """What was read of all hospitals together; null where nothing was scored."""
    cells = [(seed, cell) for seed, summary in found for cell in summary.cells]
    scored = [(seed, value.mean, cell) for seed, cell in cells if (value := cell.metrics.get("accuracy"))]
    present = [
        (seed, value.mean) for seed, each in found for tally in each.tallies if (value := tally.metrics.get("presence"))
    ]
    guesses = [cell.guess for _, _, cell in scored if cell.guess is not None]
    return MeasuredSetting(
        key=key,
        name=name,
        updates=len(found),
        rows=sum(cell.rows for _, cell in cells),
        certified=sum(cell.rows_certified or 0 for _, cell in cells),
        near=sum(cell.rows_near for _, _, cell in scored) if scored else None,
        cells=bootstrap([right for _, right, _ in scored], federations=np.array([seed for seed, _, _ in scored])),
        guess=float(np.mean(guesses)) if guesses else None,
        presence=bootstrap([right for _, right in present], federations=np.array([seed for seed, _ in present])),
    )


def main() -> None:
    """Print a line for each setting, and store all of them if asked to."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="only what takes seconds")
    parser.add_argument("--seeds", type=int, default=3, help="federations, each with a seed of its own")
    parser.add_argument("--store", type=Path, help="the file that reports and docs take their numbers from")
    options = parser.parse_args()
    TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 1, 1  # as a running app has it
    found: dict[str, list[tuple[int, UpdatesSummary]]] = {}
    seeds = range(options.seeds)
    for seed in seeds:
        np.random.seed(seed)  # noqa: NPY002  (Flower and NVFlare draw from it)
        hospitals = Hospitals(seed, seeds)
        for key, audits in measured(hospitals, quick=options.quick):
            found.setdefault(key, []).extend((seed, each) for each in audits)
            print(numbers(key, f"seed {seed}", [(seed, each) for each in audits]).model_dump_json(), flush=True)
    words = names(hospitals)
    every = MeasuredSettings(
        table="clinic", hospitals=HOSPITALS, owned=OWNED, rows=ROWS, learning_rate=RATE, model="mlp", attacks=ATTACKS,
        seeds=tuple(seeds), weights=weights_of(hospitals), epsilon=EPSILON, delta=DELTA, loose_epsilon=loose(hospitals),
        versions={name: version(name) for name in ("seepage", "flwr", "nvflare")},
        settings=tuple(numbers(key, words[key], each) for key, each in found.items()),
    )  # fmt: skip
    if options.store is not None:
        options.store.write_text(every.model_dump_json(indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
