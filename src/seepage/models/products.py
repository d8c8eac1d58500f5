"""Large matrix products by the faster of the two libraries that PyTorch brings.

PyTorch multiplies by MKL, which uses AVX-512 on Intel's processors only. oneDNN uses it on all, and PyTorch has it too,
for linear layers. One thread of an AMD processor with AVX-512 made 94 thousand million additions and multiplications a
second by MKL and 180 by oneDNN, for 960 x 105 by 105 x 100. A call of oneDNN costs a dozen microseconds more, so small
products stay.
"""

from __future__ import annotations

import platform
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

LARGE = 1_500_000  # multiplications from which the dearer call pays (benchmarks/products.py)
NARROW = 16  # outputs; MKL is slow with fewer, unless the right side is a transpose: 74 microseconds for 26
TALL = 30_000  # entries of the left side from which that pays
_ATEN = torch.ops.aten

_LIBRARY: Any = torch.library.Library("seepage", "DEF")  # type: ignore[no-untyped-call]
_LIBRARY.define("product(Tensor left, Tensor right, Tensor? bias) -> Tensor")
_LIBRARY.define("products(Tensor left, Tensor right) -> Tensor")


def product(left: Tensor, right: Tensor, bias: Tensor | None) -> Tensor:
    """``left @ right + bias`` by oneDNN: (m, k) by (k, n), and (n,) where there is a bias."""
    found: Tensor = torch.ops.mkldnn._linear_pointwise.default(left, right.t(), bias, "none", [], "")
    return found


def products(left: Tensor, right: Tensor) -> Tensor:
    """The same for a few large pairs: (b, m, k) by (b, k, n)."""
    if len(left) == 1:
        return product(left[0], right[0], None)[None]
    return torch.stack([product(one, other, None) for one, other in zip(left, right, strict=True)])


def _shaped(left: Tensor, right: Tensor, bias: Tensor | None) -> Tensor:
    return left.new_empty(left.shape[0], right.shape[1])


def _all_shaped(left: Tensor, right: Tensor) -> Tensor:
    return left.new_empty(*left.shape[:2], right.shape[2])


_LIBRARY.impl("product", product, "CPU")
_LIBRARY.impl("product", _shaped, "Meta")
_LIBRARY.impl("products", products, "CPU")
_LIBRARY.impl("products", _all_shaped, "Meta")


@lru_cache(maxsize=1)
def prefers_onednn() -> bool:
    """Whether oneDNN multiplies faster here: AVX-512 that MKL does not use."""
    backends: Any = torch.backends
    wide = backends.cpu.get_cpu_capability() == "AVX512" and backends.mkldnn.is_available()
    return bool(wide) and not _is_intel()


def _is_intel() -> bool:
    try:
        named = Path("/proc/cpuinfo").read_text()[:4096]
    except OSError:
        named = platform.processor()
    return "GenuineIntel" in named


def choose_products(graph: GraphModule) -> None:
    """Let oneDNN make the large products of a recorded function, where it is faster."""
    if not prefers_onednn():
        return
    for node in list(graph.graph.nodes):
        parts = _parts(node) if node.op == "call_function" else None
        if parts is None or not _pays(parts[1][0], parts[1][1]):
            continue
        target, sides, added = parts
        with graph.graph.inserting_before(node):
            made = graph.graph.call_function(target, sides)
            made.meta["val"] = node.meta["val"]
            if added is not None:
                made = graph.graph.call_function(_ATEN.add.Tensor, (added, made))
                made.meta["val"] = node.meta["val"]
        node.replace_all_uses_with(made)
        graph.graph.erase_node(node)


def _parts(node: Node) -> tuple[Any, tuple[Any, ...], Node | None] | None:
    """What makes a product instead, of what, and what is added to it afterwards."""
    arguments: Any = node.args
    one, many = torch.ops.seepage.product.default, torch.ops.seepage.products.default
    if node.target is _ATEN.mm.default:
        return one, (*arguments, None), None
    if node.target is _ATEN.bmm.default:
        return many, arguments, None
    if node.kwargs or node.target not in (_ATEN.addmm.default, _ATEN.baddbmm.default):
        return None
    added, left, right = arguments
    if node.target is _ATEN.baddbmm.default:
        return many, (left, right), added
    if added.meta["val"].shape == right.meta["val"].shape[1:]:
        return one, (left, right, added), None
    return one, (left, right, None), added


def _pays(left: Node, right: Node) -> bool:
    one, other = left.meta["val"], right.meta["val"]
    if one.dtype is not torch.float32 or one.device.type != "cpu" or one.stride(-1) != 1:
        return False  # lines that are columns are copied first, which takes what is gained
    lines, inner, outputs = one.shape[-2], one.shape[-1], other.shape[-1]
    if outputs < NARROW:
        return bool(lines * inner >= TALL and inner >= 4 * NARROW and other.stride(-1) == 1)
    return bool(lines * inner * outputs >= LARGE and inner >= NARROW)
