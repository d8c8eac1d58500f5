"""Large matrix products by MKL and by oneDNN, the two libraries that PyTorch brings.

    python benchmarks/products.py [--quick] --json

Each shape is timed by both in turn, on processor time of one thread; the fastest of each counts. `ratio` is MKL's
time to oneDNN's, with the call of our operation. `uses_onednn` is whether recorded functions choose it here
(`seepage/models/products.py`): on processors with AVX-512 that are not Intel's. `products_from` is the number of
multiplications from which they do.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import torch

from seepage.models import products

SHAPES = {  # (lines, inner, outputs)
    "small MLP, batch 8, ten clients": (80, 105, 32),
    "small MLP, batch 128, ten clients": (1280, 123, 32),
    "TabLeak's net, 30 restarts of 32 rows": (960, 105, 100),
    "sums over blocks of TabLeak's softmax": (960, 99, 8),
    "ResNet, batch 8, ten clients": (80, 192, 384),
    "FT-Transformer, batch 8, ten clients": (1200, 128, 340),
    "a wide net, 30 restarts of 32 rows": (960, 400, 400),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer calls")
    parser.add_argument("--json", action="store_true", help="print JSON (always done)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    shapes = {name: compared(*shape, calls=20 if options.quick else 200) for name, shape in SHAPES.items()}
    result = {
        "benchmark": "products",
        "uses_onednn": products.prefers_onednn(),
        "products_from": products.LARGE,
        "ratio": max(each["ratio"] for each in shapes.values()),
        "shapes": shapes,
    }
    print(json.dumps(result, indent=2))


def compared(lines: int, inner: int, outputs: int, *, calls: int) -> dict[str, float]:
    """Microseconds of one product by both, and its speed."""
    left, right = torch.randn(lines, inner), torch.randn(inner, outputs)
    ways: dict[str, Callable[[], object]] = {
        "mkl": lambda: left @ right,
        "onednn": lambda: torch.ops.seepage.product.default(left, right, None),
    }
    fastest = dict.fromkeys(ways, float("inf"))
    with torch.no_grad():
        for _ in range(7):
            for name, way in ways.items():
                begin = time.thread_time()
                for _ in range(calls):
                    way()
                fastest[name] = min(fastest[name], (time.thread_time() - begin) / calls)
    size = lines * inner * outputs
    return {
        "multiplications": size,
        "ratio": fastest["mkl"] / fastest["onednn"],
        **{f"{name}_microseconds": seconds * 1e6 for name, seconds in fastest.items()},
        **{f"{name}_gflops": 2 * size / seconds / 1e9 for name, seconds in fastest.items()},
    }


if __name__ == "__main__":
    main()
