"""Silent neurons: what they determine stays exact after many local steps, and rough rows are enough to find it."""

from __future__ import annotations

import torch
from torch import Tensor

from seepage._core import Streams
from seepage.attacks.exact.view import View, view_of
from seepage.attacks.exact.zeros import chosen, duals_of, rows_from, settle, silent_neurons, with_weak
from seepage.federation import FedAvg, Milestones, simulate
from seepage.models import Parameters
from seepage.observation import Knowledge
from tests import cases


def after_training(model: str = "mlp_tableak", epochs: int = 4) -> tuple[View, Parameters, Tensor]:
    """One client's update of five local rows, and the rows."""
    protocol = FedAvg(
        batch_size=5, local_rows=5, local_epochs=epochs, exposure=0, schedule=Milestones(exposures=(0.0,))
    )
    point = simulate(protocol, cases.population(model), Knowledge(labels=False), Streams(2)).points[0]
    observation, truth = point.observations[0], point.truths[0]
    rows = torch.from_numpy(truth.encoder.encode(truth.rows, truth.statistics)).double()
    return with_weak(view_of(observation)), observation.update, rows


def moved(view: View, rows: Tensor, far: float) -> Tensor:
    """The rows with wrong numbers."""
    rough = rows.clone()
    rough[:, : view.numeric] += far * torch.randn(len(rows), view.numeric, generator=torch.Generator().manual_seed(1))
    return rough


def test_all_duals_together_are_the_inverse_of_all_records() -> None:
    view, change, rows = after_training()
    assert view.entrance is not None
    rank = view.entrance.rank
    assert rank == len(rows)
    duals, places = duals_of(view, change, moved(view, rows, 0.02), rows.new_zeros(0, rank))
    assert len(duals) == rank
    assert torch.allclose(rows_from(view, duals), rows[places], atol=5e-3)


def test_numbers_settle_on_the_records() -> None:
    view, change, rows = after_training()
    found, excess = settle(view, change, moved(view, rows, 0.02))
    _, wrong = settle(view, change, moved(view, rows, 0.5), steps=0)
    assert excess < 2 < wrong
    assert torch.allclose(found, rows, atol=5e-3)


def test_missing_records_are_chosen_from_candidates() -> None:
    view, change, rows = after_training()
    others = torch.cat([moved(view, rows, 0.7), rows[3:]])
    assert torch.equal(chosen(view, change, rows[:3], 3, others)[3:].sort(0).values, rows[3:].sort(0).values)


def test_a_net_without_silent_neurons_determines_nothing() -> None:
    view, change, rows = after_training("mlp")  # its activation is a GELU
    assert not silent_neurons(view, change, rows).any()
    assert view.entrance is not None
    assert duals_of(view, change, rows, rows.new_zeros(0, view.entrance.rank))[1] == []
