"""Shadow models of property inference: time for one, stacked beside a plain PyTorch loop, and how far they differ.

    python benchmarks/property.py [--quick] [--threads 1] --json

The sizes are the thesis's: 509 columns, 32-16-8 hidden neurons, 11,971 rows of Census-Income, batches of 64 and one
epoch. A plain model and a chunk of stacked ones take turns on the same threads, so that a busy machine slows both;
`seconds_plain` and `seconds_stacked` are medians for one model.

`largest_difference` is between any weight of a stacked model and of the plain one that had the same rows and first
weights. Some models are not determined by float32: where the input of a leaky ReLU is zero to within rounding, the
order of a sum decides the slope, and Adam makes much of it. Such a model is known by the plain loop alone, which then
differs from itself when the rows of every batch are reversed; `undetermined` counts them, and `largest_difference` is
over the others. `differences` has both numbers of every compared model.

`factory_models_per_second` counts everything: the start of two processes, drawing rows, training, judging on 19,952
rows and writing.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from seepage._core import InputError
from seepage.attacks.properties import ShadowPlan, encode_rows, packed, train_shard
from seepage.data import Encoder, Table, open_dataset
from seepage.models.encoded import Encoded
from seepage.models.recipe import Recipe
from seepage.models.stack import Stack
from seepage.models.stacked_training import CHUNK, first_weights, train_stack
from seepage.runs.backends import open_backend

RECIPE = Recipe()
SIZES = (9, 52, 47, 17, 3, 7, 24, 15, 5, 10, 3, 6, 8, 6, 6, 51, 38, 8, 10, 9, 10, 3, 4, 5, 43, 43, 43, 5, 3, 3, 3, 2)
NUMERIC, SAMPLE, EVALUATED = 8, 11_971, 19_952
DETERMINED = 1e-5  # a plain loop that comes this near to itself with other sums


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a sixth of the rows, no factory")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print JSON (always done)")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    table, holds, source = rows()
    count, models, rounds = (2_000, CHUNK, 3) if options.quick else (SAMPLE, CHUNK, 5)
    generator = np.random.default_rng(0)
    chosen = torch.from_numpy(np.stack([generator.permutation(len(table))[:count] for _ in range(models)]))
    found = compare(table, chosen, rounds) | {"rows_from": source, "threads": options.threads, "models": models}
    if not options.quick:
        found["factory_models_per_second"] = factory(table, holds)
    print(json.dumps({"benchmark": "property", "rows": count, "columns": table.width} | found, indent=2))


def rows() -> tuple[Encoded, np.ndarray, str]:
    """Census-Income and its women; random rows of the same shape where it cannot be had."""
    try:
        frame, schema = open_dataset("census_income")
    except InputError:
        generator = np.random.default_rng(0)
        codes = np.stack([(generator.random(199_523) ** 4 * size).astype(int) for size in SIZES], 1)
        numbers, labels = generator.normal(size=(199_523, NUMERIC)), generator.random(199_523) < 0.06
        return Encoded.of(numbers, codes, SIZES, labels, 2), generator.random(199_523) < 0.52, "random"
    table = Table.from_frame(frame, schema)
    encoded = encode_rows(table, Encoder(schema=schema).statistics(table), flags=["sex"])
    women = table.codes[:, [column.name for column in schema.categorical].index("sex")] == 0
    return encoded, women, "census_income"


def compare(table: Encoded, chosen: Tensor, rounds: int) -> dict[str, object]:
    """Plain and stacked in turns; the first round warms up and its time is not counted."""
    x, seeds = table.dense(), range(len(chosen))
    plain_times, stacked_times, differences, own_differences = [], [], [], []
    for turn in range(rounds + 1):
        begin = time.perf_counter()
        net = plain(x, table.labels, chosen[turn], turn)
        middle = time.perf_counter()
        trained = train_stack(RECIPE, table, chosen, seeds)
        end = time.perf_counter()
        plain_times.append(middle - begin)
        stacked_times.append((end - middle) / len(chosen))
        differences.append(difference(net, layers_of(trained.take([turn]))))
        reversed_net = plain(x, table.labels, chosen[turn], turn, reverse=True)
        own_differences.append(difference(net, [(layer.weight, layer.bias) for layer in linear(reversed_net)]))
    pairs = zip(differences, own_differences, strict=True)
    return {
        "speedup": statistics.median(a / b for a, b in zip(plain_times[1:], stacked_times[1:], strict=True)),
        "models_per_second": 1 / statistics.median(stacked_times[1:]),
        "largest_difference": max(stacked for stacked, own in pairs if own <= DETERMINED),
        "seconds_plain": statistics.median(plain_times[1:]),
        "seconds_stacked": statistics.median(stacked_times[1:]),
        "undetermined": sum(own > DETERMINED for own in own_differences),
        "differences": list(zip(differences, own_differences, strict=True)),  # stacked, reversed
    }


def linear(net: nn.Sequential) -> list[nn.Linear]:
    return [module for module in net if isinstance(module, nn.Linear)]


def layers_of(stack: Stack) -> list[tuple[Tensor, Tensor]]:
    return [(weight[0], bias[0]) for weight, bias in zip(stack.weights, stack.biases, strict=True)]


def difference(net: nn.Sequential, layers: list[tuple[Tensor, Tensor]]) -> float:
    """The largest of any weight or bias."""
    with torch.no_grad():
        pairs = [
            (layer.weight - weight, layer.bias - bias)
            for layer, (weight, bias) in zip(linear(net), layers, strict=True)
        ]
    return max(float(gap.abs().max()) for pair in pairs for gap in pair)


def plain(x: Tensor, labels: Tensor, chosen: Tensor, seed: int, *, reverse: bool = False) -> nn.Sequential:
    """One model as everybody trains it, from rows that are encoded already."""
    start = first_weights((x.shape[1], *RECIPE.hidden, 2), seed)
    modules: list[nn.Module] = []
    for weight, bias in zip(start.weights, start.biases, strict=True):
        linear = nn.Linear(weight.shape[2], weight.shape[1])
        linear.weight.data, linear.bias.data = weight[0].clone(), bias[0].clone()
        modules += [linear, nn.LeakyReLU(RECIPE.slope)]
    net = nn.Sequential(*modules[:-1], nn.LogSoftmax(1))
    optimiser = torch.optim.Adam(net.parameters(), lr=RECIPE.rate)
    for batch in torch.split(chosen, RECIPE.batch_size):
        optimiser.zero_grad()
        taken = batch.flip(0) if reverse else batch
        nn.functional.nll_loss(net(x[taken]), labels[taken]).backward()
        optimiser.step()
    return net


def factory(table: Encoded, holds: np.ndarray) -> float:
    """Models in a second, from a pool of 30 % of the rows to files; the start of the processes is in it."""
    order = np.random.default_rng(1).permutation(len(table))
    pool, evaluation = np.split(order[: round(0.3 * len(table)) + EVALUATED], [round(0.3 * len(table))])
    plan = ShadowPlan(property_text="sex == 'Female'", per_class=256, classes=4, shard=128)
    rows = table.take(torch.from_numpy(pool)), holds[pool], table.take(torch.from_numpy(evaluation))
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, open_backend("local", jobs=2) as backend:
        made = [backend.submit(train_shard, plan, number, *rows) for number in range(plan.shards)]
        for number, shard in enumerate(made):
            (Path(folder) / f"{number}.safetensors").write_bytes(packed(shard.result()))
    return plan.models / (time.perf_counter() - begin)


if __name__ == "__main__":
    main()
