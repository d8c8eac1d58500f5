"""Large products by oneDNN: the same numbers, and only where they pay."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from seepage.models import products, record

ONEDNN = torch.backends.mkldnn.is_available()
pytestmark = pytest.mark.skipif(not ONEDNN, reason="this PyTorch was built without oneDNN")


@pytest.fixture
def preferred(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "prefers_onednn", lambda: True)


def targets(function: object) -> list[str]:
    """The operations of a recorded function."""
    return [str(node.target) for node in function.__self__.graph.nodes if node.op == "call_function"]  # type: ignore[attr-defined]


def net(x: Tensor, weight: Tensor, bias: Tensor, more: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    y = torch.nn.functional.linear(x, weight, bias)
    return y, torch.addmm(more, y, weight), torch.baddbmm(more[None], y[None], weight[None])


def arguments(lines: int) -> tuple[Tensor, ...]:
    generator = torch.Generator().manual_seed(lines)
    shapes = (lines, 60), (50, 60), (50,), (lines, 60)
    return tuple(torch.randn(shape, generator=generator) for shape in shapes)


@pytest.mark.usefixtures("preferred")
def test_large_products_are_the_same_numbers() -> None:
    those = arguments(800)
    replay = record(net, *those)
    assert [name for name in targets(replay) if "seepage" in name] == [
        "seepage.product.default", "seepage.product.default", "seepage.products.default",
    ]  # fmt: skip
    assert not [name for name in targets(replay) if "mm" in name]
    for found, expected in zip(replay(*those), net(*those), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-4)


@pytest.mark.usefixtures("preferred")
def test_narrow_products_are_the_same_numbers() -> None:
    x, weight = torch.randn(700, 80), torch.randn(80, 5)
    replay = record(torch.mm, x, weight)
    assert [name for name in targets(replay) if "seepage" in name]
    torch.testing.assert_close(replay(x, weight), x @ weight, rtol=1e-5, atol=1e-4)
    turned = torch.randn(5, 80).T  # as a layer's weights lie: MKL is as fast
    assert not [name for name in targets(record(torch.mm, x, turned)) if "seepage" in name]


@pytest.mark.usefixtures("preferred")
def test_small_products_and_double_precision_stay() -> None:
    for those in (arguments(8), tuple(each.double() for each in arguments(800))):
        assert not [name for name in targets(record(net, *those)) if "seepage" in name]


def test_nothing_changes_where_mkl_is_as_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "prefers_onednn", lambda: False)
    those = arguments(800)
    replay = record(net, *those)
    assert not [name for name in targets(replay) if "seepage" in name]
    torch.testing.assert_close(replay(*those), net(*those))


@given(st.integers(1, 3), st.integers(1, 40), st.integers(1, 40), st.integers(1, 40))
def test_products_of_any_shape(count: int, lines: int, inner: int, outputs: int) -> None:
    generator = torch.Generator().manual_seed(count)
    left = torch.randn(count, lines, inner, generator=generator)
    right = torch.randn(count, outputs, inner, generator=generator).mT  # as weights lie
    torch.testing.assert_close(products.products(left, right), left @ right, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("capability", "vendor", "preferred"), [
    ("AVX512", "vendor_id : AuthenticAMD", True), ("AVX512", "vendor_id : GenuineIntel", False),
    ("AVX2", "vendor_id : AuthenticAMD", False),
])  # fmt: skip
def test_who_prefers_it(monkeypatch: pytest.MonkeyPatch, capability: str, vendor: str, preferred: bool) -> None:
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    monkeypatch.setattr(products.Path, "read_text", lambda self: vendor)
    products.prefers_onednn.cache_clear()
    assert products.prefers_onednn() is preferred
    products.prefers_onednn.cache_clear()
