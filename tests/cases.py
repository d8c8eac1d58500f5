"""One table of tiny instances. A new model, attack, partition or protocol adds a row, and the common tests run it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch

from seepage import captures
from seepage._core import Streams
from seepage.attacks import Attack, Exact
from seepage.attacks.adaptive import Adaptive
from seepage.data import IID, ByColumn, Dirichlet, Encoder, Partition, QuantitySkew, Table, infer_schema, split
from seepage.data.request import Request
from seepage.data.source import open_source
from seepage.defenses import (
    DPSGD,
    Defense,
    DPFedAvg,
    FirstLayerWithheld,
    GaussianNoise,
    GradientPruning,
    LabelSmoothing,
    LocalDP,
    Mixup,
    Precode,
    Quantisation,
    RandomK,
    Rounding,
    Soteria,
    TopK,
    Undefended,
    UpdateClipping,
)
from seepage.federation import Automatic, FedAvg, FederatedProtocol, FedSGD, Population, make_population
from seepage.models import (
    MLP,
    Architecture,
    FTTransformer,
    Learner,
    Linear,
    ResNet,
    TabNet,
    make_learner,
    small_mlp,
    tableak_mlp,
)
from seepage.plans import registry


def shortened(name: str) -> Attack:
    """An attack of the catalogue with few steps and restarts."""
    attack = registry.make("attack", name, "rows")
    if isinstance(attack, Exact):
        return replace(attack, steps=15, restarts=3, start_steps=15, starts=2, turns=2)
    if isinstance(attack, Adaptive):
        return replace(attack, steps=15, restarts=3, chains=2, sweeps=4)
    if not hasattr(attack, "steps"):  # on totals: no optimisation
        return replace(attack, clients=12) if hasattr(attack, "clients") else attack
    return replace(attack, steps=15, restarts=min(attack.restarts, 3))


TASKS = ("binary", "multiclass", "regression")

MODELS: dict[str, Architecture] = {
    "mlp": small_mlp(),
    "mlp_tableak": tableak_mlp(),
    "mlp_batchnorm_dropout": MLP(width=8, depth=1, activation="relu", norm="batch", dropout=0.3),
    "linear": Linear(),
    "resnet": ResNet(width=16, blocks=1),
    "ft_transformer": FTTransformer(width=16, blocks=1, heads=2),
    "tabnet": TabNet(n_d=4, n_a=4, steps=2),
}

ATTACKS: dict[str, Attack] = {part.name: shortened(part.name) for part in registry.parts_of("attack", "rows")}

DEFENSES: dict[str, Defense] = {
    "none": Undefended(),
    "gaussian_noise": GaussianNoise(deviation=0.05),
    "dp_sgd": DPSGD(clip=0.5, noise=0.5),
    "top_k": TopK(share=0.2),
    "quantisation": Quantisation(bits=3),
    "sign": Quantisation(bits=1),
    "update_clipping": UpdateClipping(norm=0.01),
    "dp_fedavg": DPFedAvg(clip=0.1, noise=0.1),
    "dp_fedavg_server": DPFedAvg(clip=0.001, noise=0.1, side="server"),
    "local_dp": LocalDP(epsilon=50.0, clip=0.1),
    "laplace": LocalDP(epsilon=50.0, clip=0.1, mechanism="laplace"),
    "random_k": RandomK(share=0.5),
    "gradient_pruning": GradientPruning(share=0.5),
    "rounding": Rounding(step=1e-4),
    "dithered": Rounding(step=1e-4, dither=True),
    "first_layer_withheld": FirstLayerWithheld(),
    "soteria": Soteria(),
    "precode": Precode(size=4),
    "mixup": Mixup(),
    "label_smoothing": LabelSmoothing(),
}

PARTITIONS: dict[str, Partition] = {
    "iid": IID(clients=3),
    "dirichlet": Dirichlet(clients=3, alpha=0.5),
    "by_column": ByColumn(column="colour"),
    "quantity": QuantitySkew(clients=3, alpha=1.0),
}

ENDS = Automatic(keep=("initialized", "final"))
PROTOCOLS: dict[str, FederatedProtocol] = {
    "fedsgd": FedSGD(batch_size=4, exposure=1, schedule=ENDS),
    "fedsgd_fixed_batch": FedSGD(batch_size=4, exposure=1, schedule=ENDS, fixed_batch=True),
    "fedavg": FedAvg(batch_size=4, local_rows=8, local_epochs=2, exposure=4, schedule=ENDS),
    "fedavg_all_rows": FedAvg(batch_size=4, local_rows=None, exposure=2, schedule=ENDS),
    "fedavg_two_batches": FedAvg(batch_size=4, local_rows=None, local_batches=2, exposure=1, schedule=ENDS),
}


@cache
def frame(task: str = "binary", rows: int = 120) -> pl.DataFrame:
    """A small mixed-type table with a target of each task."""
    draw = Streams(11).numpy("case", task, rows)
    size = draw.normal(170, 10, rows).round(1)
    score = 0.1 * (size - 170) + draw.normal(size=rows)
    targets: dict[str, Any] = {
        "binary": np.where(score > 0, "yes", "no"),
        "multiclass": np.digitize(score, [-0.7, 0.7]),
        "regression": score * 1000 + 5000,
    }
    return pl.DataFrame(
        {
            "age": draw.integers(18, 90, rows),
            "colour": draw.choice(["red", "green", "blue"], rows),
            "size": size,
            "smoker": draw.choice(["no", "yes"], rows),
            "target": targets[task],
        }
    )


@cache
def table(task: str = "binary", rows: int = 120) -> Table:
    """The same as a table."""
    data = frame(task, rows)
    return Table.from_frame(data, infer_schema(data, "target", task=task))  # type: ignore[arg-type]


def learner(name: str, task: str = "binary", *, seed: int = 5, positive_weight: float = 1.0) -> tuple[Learner, Encoder]:
    """A tiny model for the table of this task, and its encoder."""
    schema, architecture = table(task).schema, MODELS[name]
    encoder = Encoder(schema=schema, categories=architecture.encoding)
    made = make_learner(
        architecture,
        encoder.layout.numeric,
        encoder.layout.sizes,
        task,  # type: ignore[arg-type]
        len(schema.target.classes),
        seed=seed,
        positive_weight=positive_weight,
    )
    return made, encoder


def population(model: str = "linear", task: str = "binary", *, clients: int = 3, seed: int = 3) -> Population:
    """Three clients with the rows of the tiny table."""
    made, encoder = learner(model, task)
    streams = Streams(seed)
    splits = split(table(task), streams.numpy("split"))
    return make_population(splits, IID(clients=clients), encoder, made, streams.numpy("partition"))


def captured(folder: Path, file: Path) -> str:
    """A capture of two rounds of a client that has three rows of a table in each."""
    if not folder.exists():
        table = open_source(Request(data=file, target="target")).table
        encoder = Encoder(schema=table.schema)
        learner = make_learner(small_mlp(), encoder.layout.numeric, encoder.layout.sizes, "binary", 2, seed=1)
        x = torch.from_numpy(encoder.encode(table, encoder.statistics(table)))
        weights = learner.initial()
        for number in (1, 2):
            rows = slice(3 * number, 3 * number + 3)
            slope = learner.gradient(weights, x[rows], torch.from_numpy(table.target[rows]))
            captures.write(folder, before=weights, gradient=slope, rows=3, round=number, client="a", add=True)
    return str(folder)
