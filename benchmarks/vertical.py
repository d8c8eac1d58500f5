"""Vertical training: time, memory and bytes of TabVFL beside pytorch-tabnet's own TabNet on the same rows.

    python benchmarks/vertical.py [--quick] --json

`epoch_ratio`: an epoch of TabVFL (5 guests, one process) over an epoch of pytorch-tabnet, for pretraining and
fine-tuning; the thesis has 332 s over 267 s for both together. `memory_ratio`: growth of the process's largest resident
size during training, each design in a process of its own. `bytes_per_batch`: counted on the channel, beside what the
shapes predict, at the thesis' batch of 4,096 rows and 106 columns (Table IV).
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time

import numpy as np
import torch
from torch import Tensor

from seepage._core import Streams
from seepage.data import Encoder
from seepage.federation.vertical import AlignedRows, Federation, Training
from seepage.federation.vertical.channel import Traffic
from seepage.federation.vertical.designs import LocalEncoders, LocalTabNets, TabVFL
from seepage.federation.vertical.messages import Phase
from seepage.federation.vertical.party import chunk_sizes
from seepage.models.tabnet_split import TabNetParts

GUESTS, LATENT = 5, 5
DESIGNS = {
    "central": TabVFL(mixed=False),
    "tabvfl": TabVFL(),
    "guest_decoders": TabVFL(decoders="guests"),
    "local_encoders": LocalEncoders(),
    "local": LocalTabNets(),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, two epochs")
    parser.add_argument("--json", action="store_true", help="print JSON (always done)")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    epochs = 2 if options.quick else 4
    if options.one:
        print(json.dumps(one(options.one, options.quick, epochs)))
        return
    names = ["pytorch_tabnet", "tabvfl", "central"] if options.quick else ["pytorch_tabnet", *DESIGNS]
    found = {name: in_own_process(name, options.quick) for name in names}
    reference = found["pytorch_tabnet"]
    document = {
        "benchmark": "vertical",
        "threads": 1,
        "designs": found,
        "epoch_ratio": ratio(found["tabvfl"], reference),
        "epoch_ratios": {name: ratio(each, reference) for name, each in found.items()},
        "memory_ratio": found["tabvfl"]["memory_mb"] / reference["memory_mb"],
        "bytes_per_batch": {name: bytes_per_batch(name) for name in DESIGNS},
    }
    print(json.dumps(document, indent=2))


def ratio(one: dict[str, float], other: dict[str, float]) -> float:
    """Both phases together."""
    return (one["pretraining"] + one["finetuning"]) / (other["pretraining"] + other["finetuning"])


def in_own_process(name: str, quick: bool) -> dict[str, float]:
    """A design measured in a fresh process."""
    command = [sys.executable, __file__, "--one", name, *(["--quick"] if quick else [])]
    result: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return result


def one(name: str, quick: bool, epochs: int) -> dict[str, float]:
    """Median seconds of an epoch in both phases, and how far the process grew."""
    x, y = rows(quick)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    pretraining, finetuning = tabnet(x, y, epochs) if name == "pytorch_tabnet" else ours(name, x, y, epochs)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "pretraining": statistics.median(pretraining),
        "finetuning": statistics.median(finetuning),
        "memory_mb": (after - before) / 1024,
    }


def rows(quick: bool) -> tuple[Tensor, Tensor]:
    """Bank Marketing's training rows; random ones of the same shape where it cannot be had."""
    from seepage.data.source import Request, open_source

    source = open_source(Request(data="bank_marketing", fallback="clinic"))
    encoder = Encoder(schema=source.table.schema)
    chosen = np.sort(np.random.default_rng(0).permutation(len(source.table))[: 3_000 if quick else 31_647])
    table = source.table.take(chosen)
    x = torch.from_numpy(encoder.encode(table, encoder.statistics(table)))
    return x, torch.from_numpy(table.target)


def tabnet(x: Tensor, y: Tensor, epochs: int) -> tuple[list[float], list[float]]:
    """pytorch-tabnet's own training loops."""
    from pytorch_tabnet.callbacks import Callback
    from pytorch_tabnet.pretraining import TabNetPretrainer
    from pytorch_tabnet.tab_model import TabNetClassifier

    class Watch(Callback):  # type: ignore[misc]
        def __init__(self) -> None:
            self.seconds: list[float] = []

        def on_epoch_begin(self, epoch: int, logs: object = None) -> None:
            self.begin = time.perf_counter()

        def on_epoch_end(self, epoch: int, logs: object = None) -> None:
            self.seconds.append(time.perf_counter() - self.begin)

    sizes = {"n_d": LATENT, "n_a": LATENT, "verbose": 0, "device_name": "cpu"}
    common = {"max_epochs": epochs, "batch_size": 512, "virtual_batch_size": 128, "drop_last": False, "patience": 0}
    watches = Watch(), Watch()
    pretrainer = TabNetPretrainer(**sizes)
    pretrainer.fit(x.numpy(), pretraining_ratio=0.2, callbacks=[watches[0]], **common)
    classifier = TabNetClassifier(**sizes)
    classifier.fit(x.numpy(), y.numpy(), from_unsupervised=pretrainer, callbacks=[watches[1]], **common)
    return watches[0].seconds, watches[1].seconds


def _rows(x: Tensor, y: Tensor, widths: list[int]) -> AlignedRows:
    parts = [part.contiguous() for part in torch.split(x, widths, 1)]
    return AlignedRows([f"guest{number}" for number in range(len(widths))], parts, y, int(y.max()) + 1)


def ours(name: str, x: Tensor, y: Tensor, epochs: int) -> tuple[list[float], list[float]]:
    """Our federation."""
    widths = [x.shape[1]] if name == "central" else chunk_sizes(x.shape[1], GUESTS)
    federation = Federation(
        _rows(x, y, widths),
        design=DESIGNS[name],
        parts=TabNetParts(latent=LATENT, attention=LATENT),
        training=Training(pretraining=epochs, finetuning=epochs, patience=0),
        streams=Streams(0),
    )
    history = federation.fit(np.arange(len(x)), np.arange(2))
    return (
        [epoch.seconds for epoch in history.of(Phase.PRETRAINING)],
        [epoch.seconds for epoch in history.of(Phase.FINETUNING)],
    )


def bytes_per_batch(name: str, batch: int = 4096, columns: int = 106) -> dict[str, float]:
    """One training batch of each phase in MB: counted, and predicted from the shapes; batch ids left out."""
    traffic = Traffic()
    widths = [columns] if name == "central" else chunk_sizes(columns, GUESTS)
    x = torch.randn(batch, columns, generator=torch.Generator().manual_seed(0))
    federation = Federation(
        _rows(x, (x[:, 0] > 0).long(), widths),
        design=DESIGNS[name],
        parts=TabNetParts(latent=LATENT, attention=LATENT),
        training=Training(pretraining=1, finetuning=1, batch_size=batch),
        streams=Streams(0),
        traffic=traffic,
    )
    federation.fit(np.arange(batch), np.arange(2))
    found = {}
    for phase in Phase:
        sizes = traffic.training_bytes(phase)
        found[f"{phase.value}_forward_mb"] = sum(sizes.get(kind, 0) for kind in FORWARD) / 1e6
        found[f"{phase.value}_all_mb"] = sum(size for kind, size in sizes.items() if kind != "batch ids") / 1e6
        found[f"{phase.value}_predicted_forward_mb"] = predicted(name, phase, batch, columns) / 1e6
    return found


FORWARD = ("intermediate results", "masks", "decoder chunks")


def predicted(name: str, phase: Phase, batch: int, columns: int) -> int:
    """Bytes of the way forward: float32 values, one byte for each mask entry."""
    pretraining = phase == Phase.PRETRAINING
    if name in ("central", "tabvfl", "guest_decoders"):
        chunks = LATENT if name != "guest_decoders" else LATENT * 3 * GUESTS
        return batch * (4 * columns + (columns + 4 * chunks if pretraining else 0))
    if name == "local":
        return 0 if pretraining else batch * 4 * LATENT
    return batch * 4 * (LATENT * 3 * GUESTS + LATENT if pretraining else LATENT * GUESTS)


if __name__ == "__main__":
    main()
