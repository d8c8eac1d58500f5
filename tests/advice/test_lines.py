"""Lines to copy: plans can be read back, and the names that lines use exist in the frameworks."""

from __future__ import annotations

import ast
import tomllib

import pytest

from seepage.advice.lines import framework_lines, plan_text
from seepage.advice.space import Candidate, candidates
from seepage.defenses import LocalDP
from seepage.runs import make_plan


@pytest.mark.parametrize("candidate", candidates({"batch-size": 8}), ids=lambda each: each.name)
def test_a_plan_is_read_back_as_it_was(candidate: Candidate) -> None:
    values = {"data": "clinic", "drop": (), "trials": 6, **candidate.values()}
    read = tomllib.loads(plan_text(values))
    assert make_plan(read).fingerprint == make_plan(values).fingerprint


@pytest.mark.parametrize("candidate", candidates({"batch-size": 8}), ids=lambda each: each.name)
def test_lines_are_python_or_say_that_there_is_nothing(candidate: Candidate) -> None:
    every = framework_lines(candidate)
    assert set(every) == {"Flower", "NVFlare", *(["Opacus"] if candidate.family == "dp_sgd" else [])}
    for name, text in every.items():
        ast.parse("\n".join(line for line in text.splitlines() if not line.startswith("flwr ")))
        if candidate.family == "quantisation":
            assert f"{name} has no setting of its own" in text


def test_opacus_and_nvflare_know_what_the_lines_name() -> None:
    import inspect

    from nvflare.app_common.filters.percentile_privacy import PercentilePrivacy
    from opacus import PrivacyEngine

    assert {"noise_multiplier", "max_grad_norm"} <= set(inspect.signature(PrivacyEngine.make_private).parameters)
    assert {"percentile", "gamma"} <= set(inspect.signature(PercentilePrivacy.__init__).parameters)
    text = framework_lines(Candidate(defense="dp_sgd:clip=1:noise=2"))["Opacus"]
    assert "noise_multiplier=2, max_grad_norm=1" in text
    from flwr.clientapp.mod import LocalDpMod
    from nvflare.app_common.filters import ExcludeVars

    named = {"clipping_norm", "sensitivity", "epsilon", "delta"}
    assert named <= set(inspect.signature(LocalDpMod.__init__).parameters)
    assert "exclude_vars" in inspect.signature(ExcludeVars.__init__).parameters
    assert "percentile=99," in framework_lines(Candidate(defense="top_k:0.01"))["NVFlare"]


@pytest.mark.parametrize("epsilon", [1.0, 100.0, 1000.0])
def test_flower_adds_the_noise_that_was_measured(epsilon: float) -> None:
    """Its own formula gives less where epsilon is large: half of it at 100."""
    import numpy as np
    from flwr.clientapp.mod import LocalDpMod
    from flwr.common import ndarrays_to_parameters, parameters_to_ndarrays
    from flwr.supercore.differential_privacy import add_localdp_gaussian_noise_to_params as noisy

    text = framework_lines(Candidate(defense=f"local_dp:{epsilon:g}"))["Flower"]
    called = next(line for line in text.splitlines() if line.startswith("app ="))
    made: list[dict[str, float]] = []
    names = {"ClientApp": lambda mods: mods, "LocalDpMod": lambda **given: made.append(given), "rate": 1.0}
    exec(called, names)
    mod = LocalDpMod(**made[0])
    nothing = ndarrays_to_parameters([np.zeros(200_000)])
    (added,) = parameters_to_ndarrays(noisy(nothing, mod.sensitivity, mod.epsilon, mod.delta))
    assert added.std() == pytest.approx(LocalDP(epsilon=epsilon).deviation, rel=0.02)
    assert mod.clipping_norm == LocalDP(epsilon=epsilon).clip


@pytest.mark.parametrize("epochs", [0, 5])
@pytest.mark.parametrize(("defense", "length"), [("dp_fedavg:clip=1:noise=0.1", 1.0), ("gaussian_noise:0.1", 5.0)])
def test_flower_sends_weights_with_the_update_that_was_measured(defense: str, length: float, epochs: int) -> None:
    """Weights stay weights: what is cut and covered is one step's gradient, and in FedAvg the change itself."""
    import numpy as np

    text = framework_lines(Candidate(defense=defense, local_epochs=epochs))["Flower"]
    lines = [line for line in text.splitlines() if line.startswith(("length", "short", "update", "noisy", "send"))]
    before, slope = np.full(50_000, 7.0), np.zeros(50_000)
    slope[:2] = 3.0, 4.0
    step = 1.0 if epochs else 0.01
    names = {"numpy": np, "rate": 0.01, "before": [before], "after": [before - step * slope]}
    exec("\n".join(lines), names)
    (sent,) = names["send"]  # type: ignore[misc]
    change = (before - sent) / step
    assert np.linalg.norm(change[:2]) == pytest.approx(length, abs=0.6)
    assert change[2:].std() == pytest.approx(0.1, rel=0.02)


def test_nobody_is_told_to_make_more_steps_than_were_measured() -> None:
    for text in framework_lines(Candidate(batch_size=8)).values():
        assert "epochs" not in text
        assert "ONE step on 8 rows" in text
    assert "local-epochs=5" in framework_lines(Candidate(local_epochs=5))["Flower"]
