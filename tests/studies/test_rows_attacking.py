"""Many updates at once: what is attacked together gives what is attacked apart, and equals are those that are equal."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import seepage
from seepage._core import Streams, silent
from seepage.federation import FedSGD, simulate
from seepage.observation import Claim, Knowledge, Observation
from seepage.plans.registry import make
from seepage.studies.rows import attacking
from seepage.studies.rows.attacking import claims_of
from tests import cases

SMALL: dict[str, Any] = {
    "data": cases.frame(),
    "target": "target",
    "models": ["mlp"],
    "batch_sizes": [4],
    "attacks": ["gradient_matching:steps=30"],
    "attack_points": ["initialized", "final"],
    "exposure": 1,
    "clients": 2,
    "trials": 2,
}


def test_attack_points_of_small_models_are_attacked_in_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def watched(attack: Any, observations: list[Observation], *rest: Any) -> list[Claim]:
        calls.append(len(observations))
        return claims_of(attack, observations, *rest)

    monkeypatch.setattr(attacking, "claims_of", watched)
    together = seepage.audit(**SMALL)
    assert calls == [4]
    monkeypatch.setattr(attacking, "SMALL", 0)
    apart = seepage.audit(**SMALL)
    assert calls == [4, 2, 2]
    # The first point's updates have the same starts either way; the others are other draws of the same attack.
    assert together.cells[0].metrics["accuracy"].mean == pytest.approx(
        apart.cells[0].metrics["accuracy"].mean, abs=1e-6
    )
    assert [cell.attack_point for cell in together.cells] == ["initialized", "final"]


def test_clients_that_scale_differently_are_not_attacked_with_one_scale() -> None:
    trace = simulate(FedSGD(batch_size=4, exposure=0), cases.population(), Knowledge(statistics=True), Streams(0))
    first = trace.points[0].observations[0]
    assert first.space.scale is not None
    other = replace(first, space=replace(first.space, scale=2 * first.space.scale))
    attack = make("attack", "tableak:steps=3:restarts=2", "rows")
    together = claims_of(attack, [first, other, first], Streams(0), silent)
    alone = claims_of(attack, [other], Streams(0).child(1), silent)
    assert (together[1].rows == alone[0].rows).all()
    assert replace(first.space, scale=first.space.scale.clone()).known == first.space.known
