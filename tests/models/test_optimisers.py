"""Local steps are torch's own, and what they leave of a gradient is known."""

from __future__ import annotations

import pytest
import torch

from seepage._core import InputError
from seepage.models import LocalTraining, response
from seepage.models.optimisers import SGD, Adam, Optimiser, adamw

OURS_AND_TORCHS = [
    (SGD(), lambda p, r: torch.optim.SGD(p, r)),
    (SGD(momentum=0.9), lambda p, r: torch.optim.SGD(p, r, momentum=0.9)),
    (SGD(momentum=0.9, nesterov=True), lambda p, r: torch.optim.SGD(p, r, momentum=0.9, nesterov=True)),
    (SGD(momentum=0.5, weight_decay=0.1), lambda p, r: torch.optim.SGD(p, r, momentum=0.5, weight_decay=0.1)),
    (Adam(), lambda p, r: torch.optim.Adam(p, r)),
    (
        Adam(beta1=0.8, beta2=0.9, epsilon=1e-3, weight_decay=0.1),
        lambda p, r: torch.optim.Adam(p, r, betas=(0.8, 0.9), eps=1e-3, weight_decay=0.1),
    ),
    (adamw(), lambda p, r: torch.optim.AdamW(p, r)),
]
SCHEDULES = {
    "constant": lambda o, steps: torch.optim.lr_scheduler.LambdaLR(o, lambda _: 1.0),
    "linear": lambda o, steps: torch.optim.lr_scheduler.LinearLR(o, 1.0, 0.0, total_iters=steps),
    "cosine": lambda o, steps: torch.optim.lr_scheduler.CosineAnnealingLR(o, T_max=steps),
}


def slopes_of(weights: torch.Tensor, number: int) -> torch.Tensor:
    """A gradient that depends on the weights, with an entry that nothing touches."""
    found = torch.sin(3 * weights + number)
    found[0] = 0
    return found


@pytest.mark.parametrize("clip", [0.0, 0.7])
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("pair", OURS_AND_TORCHS, ids=lambda pair: repr(pair[0]))
def test_steps_are_torchs(pair: tuple[Optimiser, object], schedule: str, clip: float) -> None:
    steps, rate = 12, 0.05
    training = LocalTraining(optimiser=pair[0], schedule=schedule, clip=clip)
    start = torch.linspace(-1, 1, 7, dtype=torch.float64)
    theirs = torch.nn.Parameter(start.clone())
    optimiser = pair[1]([theirs], rate)  # type: ignore[operator]
    rates = SCHEDULES[schedule](optimiser, steps)
    ours = {"w": start}
    moments = training.fresh(ours)
    for number, each in enumerate(training.rates(rate, steps)):
        theirs.grad = slopes_of(theirs.detach(), number)
        if clip:
            torch.nn.utils.clip_grad_norm_([theirs], clip)
        optimiser.step()
        rates.step()
        slopes = {"w": slopes_of(ours["w"], number)}
        knobs = torch.tensor(each, dtype=torch.float64), torch.tensor(number + 1.0, dtype=torch.float64)
        ours, moments = training.step(ours, slopes, moments, {"w": start}, *knobs)
    torch.testing.assert_close(ours["w"], theirs.detach(), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("proximal", [0.0, 0.3])
@pytest.mark.parametrize(
    "optimiser", [SGD(), SGD(momentum=0.9, nesterov=True, weight_decay=0.2), SGD(momentum=0.4, weight_decay=0.1)]
)
def test_a_change_is_the_sum_that_the_response_says(optimiser: SGD, proximal: float) -> None:
    training = LocalTraining(optimiser=optimiser, schedule="cosine", proximal=proximal)
    steps, rate = 6, 0.1
    found = response(training, rate, steps)
    assert found is not None
    start = torch.randn(5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    every = torch.randn(steps, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    current = {"w": start}
    moments = training.fresh(current)
    for number, each in enumerate(training.rates(rate, steps)):
        knobs = torch.tensor(each, dtype=torch.float64), torch.tensor(number + 1.0, dtype=torch.float64)
        current, moments = training.step(current, {"w": every[number]}, moments, {"w": start}, *knobs)
    said = (found.kept - 1) * start - torch.tensor(found.weights, dtype=torch.float64) @ every
    torch.testing.assert_close(current["w"] - start, said)


def test_adam_and_clipping_have_no_response() -> None:
    assert response(LocalTraining(optimiser=Adam()), 0.1, 3) is None
    assert response(LocalTraining(clip=1.0), 0.1, 3) is None


@pytest.mark.parametrize("optimiser", [pair[0] for pair in OURS_AND_TORCHS], ids=repr)
def test_weights_that_no_row_touches_only_decay(optimiser: Optimiser) -> None:
    weights = {"w": torch.linspace(-1, 1, 7)}
    idle = LocalTraining(optimiser=optimiser).idle(weights, 0.05, 4)["w"]
    decays = getattr(optimiser, "weight_decay", 0.0) > 0
    assert bool((idle != 0).any()) == decays
    assert float((idle * weights["w"]).max()) <= 0  # towards zero, never away


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: SGD(momentum=1.0), "momentum is 1"),
        (lambda: SGD(nesterov=True), "needs a momentum"),
        (lambda: SGD(weight_decay=-1), "weight decay is -1"),
        (lambda: Adam(beta1=1.0), "beta1 is 1"),
        (lambda: Adam(epsilon=0.0), "epsilon is 0"),
        (lambda: LocalTraining(schedule="cosin"), "cosine"),  # type: ignore[arg-type]
        (lambda: LocalTraining(clip=-1.0), "'clip' is -1"),
    ],
)
def test_bad_settings_are_one_sentence(make: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        make()  # type: ignore[operator]
