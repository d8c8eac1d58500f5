"""Audits that plan themselves: what was left open is chosen to fit the time, and nothing that was given is changed."""

from __future__ import annotations

import pytest

from seepage.plans import registry
from seepage.runs import command_line, make_plan, open_sources
from seepage.studies.rows import fitting
from seepage.studies.rows.cost import AttackCost, PhaseCost, attack_cost, first_update
from seepage.studies.rows.fitting import Fitted, fitted
from seepage.studies.rows.settings import RowsSettings

PHASE = PhaseCost(("steps", "restarts"), 0.001, 1e-4)
COST = AttackCost(0.01, (PHASE,))


@pytest.fixture(autouse=True)
def _known_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A round of a hundredth of a second, and an optimiser of 0.1 ms for a step of a restart: machines differ."""
    monkeypatch.setattr(fitting, "round_seconds", lambda *_: 0.01)
    monkeypatch.setattr(fitting, "attack_cost", lambda *_: COST)
    monkeypatch.setattr(fitting, "first_update", lambda *_: None)


def chosen(minutes: float, **given: object) -> Fitted:
    plan = make_plan({"data": "clinic", **given})
    settings = plan.variants[0].settings
    assert isinstance(settings, RowsSettings)
    return fitted(open_sources(plan)[0], settings, set(given), 60 * minutes)  # type: ignore[arg-type]


def test_with_much_time_nothing_is_smaller_and_larger_batches_are_attacked_too() -> None:
    plan = chosen(600)
    assert plan.settings.batch_sizes == (8, 32, 128)
    assert (plan.settings.trials, plan.settings.exposure, plan.settings.attacks) == (10, None, ("exact",))


@pytest.mark.parametrize("minutes", [0.2, 1, 5])
def test_the_estimate_fits_the_time(minutes: float) -> None:
    plan = chosen(minutes)
    assert plan.seconds <= 60 * minutes
    assert plan.settings.batch_sizes[0] == 8
    assert plan.lines[0].startswith("Planned to end within")
    smaller = plan.settings.model_copy(update={"batch_sizes": RowsSettings().batch_sizes}) != RowsSettings()
    assert [("--thorough" in line) for line in plan.lines[1:]] == [True] * smaller


def test_what_was_given_is_not_changed() -> None:
    given = {"batch_sizes": (16,), "trials": 9, "exposure": 3.0}
    plan = chosen(0.2, **given)
    assert {name: getattr(plan.settings, name) for name in given} == given
    assert plan.settings.attacks != ("exact",)
    attacks = chosen(0.2, attacks=("fast:steps=400",))
    assert attacks.settings.attacks == ("fast:steps=400",)
    assert attacks.settings.trials < 10


def test_what_cannot_fit_is_said() -> None:
    plan = chosen(0.01, batch_sizes=(16,), trials=9, exposure=3.0, attacks=("exact",))
    assert plan.lines[0].startswith("This will take about")
    assert plan.seconds > 0.6


def test_smaller_budgets_are_valid_specs() -> None:
    plan = chosen(0.2, batch_sizes=(16,))
    (spec,) = plan.settings.attacks
    attack = registry.make("attack", spec, "rows")
    assert attack.restarts < 30


def test_a_command_that_repeats_a_run_does_not_plan_it_anew() -> None:
    plain = command_line(make_plan({"data": "clinic", "trials": 3}))
    assert plain.endswith("--thorough")
    whole = make_plan({"data": "clinic", "trials": 3, "exposure": 1.0, "attacks": ("fast",), "batch_sizes": (4,)})
    assert "--thorough" not in command_line(whole)


def test_what_optimisers_cost_grows_with_their_budget() -> None:
    small = registry.make("attack", "fast:steps=100:restarts=2", "rows")
    large = registry.make("attack", "fast:steps=200:restarts=4", "rows")
    assert COST.seconds(large, 3) > 1.5 * COST.seconds(small, 3) > 0


def test_an_attack_that_reads_everything_costs_no_steps() -> None:
    plan = make_plan({"data": "clinic", "batch_sizes": (2,), "trials": 1})
    settings, source = plan.variants[0].settings, open_sources(plan)[0]
    assert isinstance(settings, RowsSettings)
    update = first_update(source, settings, plan.study.choices(settings)[0])  # type: ignore[arg-type]
    cost = attack_cost("exact", settings, update)
    assert cost.fixed > 0
    assert cost.phases == ()
    wide = make_plan({"data": "clinic", "batch_sizes": (64,), "trials": 1})
    update = first_update(source, settings, wide.study.choices(wide.variants[0].settings)[0])  # type: ignore[arg-type]
    assert attack_cost("fast", settings, update).phases[0].share > 0
