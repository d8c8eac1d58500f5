from __future__ import annotations

import math
from dataclasses import dataclass

import pytest
import torch
from coral_pytorch.dataset import levels_from_labelbatch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from seepage._core import InputError, Streams
from seepage.attacks.properties.losses import LOSSES, NLL, classes_of, levels, make_loss, middles
from seepage.attacks.properties.meta import MetaModel
from seepage.attacks.properties.plan import ShadowPlan
from tests.attacks.properties.shadows import shadows

ALL = list(LOSSES)


def logit(*chances: float) -> Tensor:
    return torch.logit(torch.tensor([chances]))


def random_outputs(name: str, classes: int, seed: int, rows: int = 20) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return 3 * torch.randn(rows, make_loss(name, classes).outputs, generator=generator)


@pytest.mark.parametrize("classes", [2, 4, 5, 10, 20])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_share_on_an_edge_belongs_to_the_higher_class_as_in_the_shadow_factory(
    classes: int, dtype: torch.dtype
) -> None:
    plan = ShadowPlan(property_text="sex == 'Female'", classes=classes)
    for count in (60, 100, 11_971):
        for label in range(classes):
            fewest, most = plan.whole_rows(label, count)
            ends = torch.tensor([fewest, most], dtype=dtype) / count
            assert classes_of(ends, classes).tolist() == [label, label]


def test_the_middles_are_those_of_the_documents_table() -> None:
    assert middles(4).tolist() == [0.125, 0.375, 0.625, 0.875]


def test_simple_ordinal_regression_reads_the_documents_example_as_its_second_class() -> None:
    loss = make_loss("sor", 4)
    assert loss.decode(logit(0.78, 0.96, 0.23, 0.10)).item() + 1 == 2
    assert loss.decode(logit(0.78, 0.30, 0.60, 0.10)).item() + 1 == 2  # a sum, also where the order is broken
    assert loss.decode(logit(0.1, 0.1, 0.1, 0.1)).item() + 1 == 1


def test_simple_ordinal_regression_fits_the_documents_vectors() -> None:
    assert levels(torch.arange(4) + 1, 4).tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
    outputs, shares = random_outputs("sor", 4, 0, 4), torch.tensor([0.1, 0.3, 0.6, 0.9])
    vectors = torch.tensor([[1.0, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]])
    expected = functional.mse_loss(outputs.sigmoid(), vectors)
    assert make_loss("sor", 4).loss(outputs, shares).item() == pytest.approx(expected.item())


def test_an_interval_is_read_by_its_range_and_fitted_to_the_middle() -> None:
    loss = make_loss("interval", 4)
    outputs = torch.logit(torch.tensor([[0.01], [0.24], [0.26], [0.7], [0.99]]))
    assert loss.decode(outputs).tolist() == [0, 0, 1, 2, 3]
    shares = torch.tensor([0.2, 0.2, 0.4, 0.6, 0.9])
    expected = functional.mse_loss(outputs[:, 0].sigmoid(), torch.tensor([0.125, 0.125, 0.375, 0.625, 0.875]))
    assert loss.loss(outputs, shares).item() == pytest.approx(expected.item())


def test_likelihood_is_that_of_the_softmax() -> None:
    loss, outputs = make_loss("nll", 3), torch.tensor([[1.0, 2.0, 0.5]])
    assert loss.loss(outputs, torch.tensor([0.5])).item() == pytest.approx(-outputs.softmax(1)[0, 1].log().item())
    assert loss.decode(outputs).item() == 1


def test_levels_are_those_of_the_authors_package() -> None:
    classes = torch.tensor([0, 3, 1, 2])
    assert torch.equal(levels(classes, 3), levels_from_labelbatch(classes, 4))


@given(seed=st.integers(0, 10_000), classes=st.integers(2, 12), name=st.sampled_from(["coral", "corn", "sor"]))
def test_chances_to_be_above_an_edge_never_rise(seed: int, classes: int, name: str) -> None:
    chances = make_loss(name, classes).probabilities(random_outputs(name, classes, seed))
    above = 1 - chances.cumsum(1)
    assert bool((chances >= -1e-6).all())
    assert bool((above.diff(dim=1) <= 1e-6).all())


@given(seed=st.integers(0, 10_000), classes=st.integers(2, 12))
def test_the_answers_of_corn_never_contradict_each_other_whatever_the_outputs(seed: int, classes: int) -> None:
    loss, outputs = make_loss("corn", classes), random_outputs("corn", classes, seed)
    above = outputs.sigmoid().cumprod(1) > 0.5
    assert bool((above.int().diff(dim=1) <= 0).all())
    assert torch.equal(loss.decode(outputs), above.sum(1))


def test_the_thresholds_of_coral_come_out_in_order() -> None:
    generator = torch.Generator().manual_seed(0)
    shares = torch.rand(200, generator=generator)
    features = torch.stack([shares + 0.2 * torch.randn(200, generator=generator), torch.ones(200)], 1)
    loss = make_loss("coral", 5)
    layer = loss.layer(2)
    with torch.no_grad():  # from the wrong order
        layer.coral_bias.copy_(torch.tensor([-1.0, 2.0, 0.0, 3.0]))  # type: ignore[operator,union-attr]
    optimiser = torch.optim.Adam(layer.parameters(), lr=0.1)
    for _ in range(150):
        optimiser.zero_grad()
        loss.loss(layer(features), shares).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    above = layer(features).sigmoid()
    assert bool((above.diff(dim=1) < 0).all())
    assert (loss.decode(layer(features)) == classes_of(shares, 5)).float().mean() > 0.4


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("classes", [2, 5])
def test_every_loss_has_the_same_shapes(name: str, classes: int) -> None:
    loss, outputs = make_loss(name, classes), random_outputs(name, classes, 1)
    assert loss.classes == classes
    assert loss.layer(7)(torch.zeros(3, 7)).shape == (3, loss.outputs)
    assert loss.loss(outputs, torch.linspace(0, 1, len(outputs))).shape == ()
    decoded = loss.decode(outputs)
    assert decoded.shape == (20,)
    assert decoded.dtype == torch.int64
    assert 0 <= int(decoded.min()) <= int(decoded.max()) < classes
    for temperature in (0.1, 1.0, 10.0):
        chances = loss.probabilities(outputs, temperature)
        assert chances.shape == (20, classes)
        assert torch.allclose(chances.sum(1), torch.ones(20), atol=1e-5)
    sure, unsure = (loss.probabilities(outputs, t).max(1).values.mean() for t in (0.3, 3.0))
    assert sure > unsure


@pytest.mark.parametrize("name", ALL)
def test_descending_the_loss_finds_the_class(name: str) -> None:
    """Outputs themselves are the parameters: the loss and the decoding rule must mean the same."""
    loss, shares = make_loss(name, 4), (torch.arange(8) + 0.5) / 8
    outputs = torch.zeros(8, loss.outputs, requires_grad=True)
    optimiser = torch.optim.Adam([outputs], lr=0.1)
    for _ in range(150):
        optimiser.zero_grad()
        loss.loss(outputs, shares).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    assert torch.equal(loss.decode(outputs), classes_of(shares, 4))
    assert torch.equal(loss.probabilities(outputs.detach(), 0.3).argmax(1), classes_of(shares, 4))


def test_a_share_knows_how_wrong_it_is() -> None:
    loss = make_loss("share", 4)
    estimate, deviation = loss.share(torch.zeros(3, 2)) or (torch.empty(0), torch.empty(0))
    assert estimate.tolist() == [0.5] * 3
    worse, better = (loss.loss(torch.tensor([[0.0, d]]), torch.tensor([0.5])).item() for d in (0.0, -1.0))
    assert better < worse  # being surer pays where it is right
    worse, better = (loss.loss(torch.tensor([[0.0, d]]), torch.tensor([0.9])).item() for d in (-1.0, 0.0))
    assert better < worse  # and not where it is wrong
    assert math.isfinite(loss.loss(torch.tensor([[50.0, -500.0]]), torch.tensor([0.0])).item())
    assert deviation.min() > 0


def test_bad_input_is_one_sentence() -> None:
    with pytest.raises(InputError, match=r"Unknown loss 'corral'; there are: .*\. Did you mean 'coral'"):
        make_loss("corral", 4)
    with pytest.raises(InputError, match="cut into 1 class; at least 2"):
        make_loss("nll", 1)


@pytest.mark.slow
def test_probabilities_where_logarithms_belong_make_ranges_disappear(monkeypatch: pytest.MonkeyPatch) -> None:
    """The likely cause of the document's collapse, on planted shadows; docs/explanation tells of it."""

    @dataclass(frozen=True, kw_only=True)
    class Probabilities(NLL):
        def loss(self, outputs: Tensor, shares: Tensor) -> Tensor:
            return functional.nll_loss(outputs.softmax(1), classes_of(shares, self.classes))

    monkeypatch.setitem(LOSSES, "probabilities", Probabilities)
    named = {}
    for loss in ("nll", "probabilities"):
        fitted = MetaModel(loss=loss, rate=3e-3, epochs=30).fit(*shadows(1500), classes=20, streams=Streams(0))
        named[loss] = len(fitted.predict(shadows(400, 1)[0]).classes.unique())
    assert named["nll"] >= 18
    assert named["probabilities"] <= 12
