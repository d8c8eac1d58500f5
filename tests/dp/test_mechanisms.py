"""The upper bounds beside other people's, and what they leave of reading a row."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

from seepage.dp.mechanisms import Gaussian, Laplace, NoGuarantee, Pure, Sampled
from seepage.dp.reconstruction import gaussian_reconstruction_bound, reconstruction_bound

DELTA = 1e-5


def test_gaussian_noise_of_a_calibrated_size_costs_what_it_was_made_for() -> None:
    # Balle and Wang, figure 1: at epsilon 1 and delta 1e-5 the analytic mechanism needs about 3.73.
    assert Gaussian(noise=3.73, sensitivity=1.0).epsilon(DELTA) == pytest.approx(1.0, abs=0.01)
    assert Gaussian(noise=3.73 * 2 * 5, sensitivity=2.0, releases=25).epsilon(DELTA) == pytest.approx(1.0, abs=0.01)


def test_no_noise_and_no_distance() -> None:
    assert math.isinf(Gaussian(noise=0.0, sensitivity=1.0).epsilon(DELTA))
    assert Gaussian(noise=1.0, sensitivity=0.0).epsilon(DELTA) == 0.0
    assert math.isinf(Sampled(multiplier=0.0, rate=0.1, steps=5).epsilon(DELTA))
    assert math.isinf(Laplace(scale=0.0, sensitivity=1.0).epsilon(DELTA))
    assert math.isinf(NoGuarantee().epsilon(DELTA))
    assert Pure(each=0.5, releases=4).epsilon(DELTA) == 2.0
    assert Gaussian(noise=1e-4, sensitivity=2.0, releases=50).epsilon(DELTA) > 1e9


def test_drawing_batches_helps_and_drawing_all_does_not() -> None:
    drawn = Sampled(multiplier=1.0, rate=0.01, steps=1000)
    whole = Gaussian(noise=1.0, sensitivity=1.0, releases=1000)
    assert drawn.epsilon(DELTA) < 0.05 * whole.epsilon(DELTA)
    assert Sampled(multiplier=1.0, rate=1.0, steps=1000).epsilon(DELTA) == whole.epsilon(DELTA)
    assert Sampled(multiplier=0.05, rate=0.01, steps=100).epsilon(DELTA) > 1000  # at once, by the loose accountant


@pytest.mark.parametrize("multiplier", [1e-300, 1e-3, 0.7, 1e3, 1e300])
@pytest.mark.parametrize("delta", [1e-30, 1e-5, 0.999])
def test_no_numbers_are_too_much_for_the_accountants(multiplier: float, delta: float) -> None:
    assert Sampled(multiplier=multiplier, rate=0.01, steps=200).epsilon(delta) >= 0
    assert Sampled(multiplier=max(multiplier, 1.0), rate=1e-9, steps=10**12).epsilon(delta) >= 0


def test_many_small_releases_of_laplace_compose_better_than_they_add() -> None:
    few, many = (
        Laplace(scale=100.0, sensitivity=1.0, releases=10),
        Laplace(scale=100.0, sensitivity=1.0, releases=10_000),
    )
    assert few.epsilon(DELTA) == pytest.approx(0.1)
    assert many.epsilon(DELTA) < 100 / 5


def test_the_bound_on_reading_is_met_by_no_guesser_of_a_gaussian() -> None:
    """One of a thousand values is released with noise; the best guess is the nearest direction."""
    draw, values, noise = np.random.default_rng(0), 200, 0.7
    truth = draw.integers(values, size=4000)
    seen = np.zeros((4000, values))
    seen[np.arange(4000), truth] = 1.0
    seen += noise * draw.normal(size=seen.shape)
    read = float((seen.argmax(1) == truth).mean())
    mechanism = Gaussian(noise=noise, sensitivity=1.0)
    assert read < gaussian_reconstruction_bound(1 / values, mechanism.distance)
    assert gaussian_reconstruction_bound(1 / values, mechanism.distance) < reconstruction_bound(
        1 / values, mechanism.epsilon(DELTA), DELTA
    )


def test_the_bound_on_reading_at_its_ends() -> None:
    assert reconstruction_bound(0.01, 0.0) == pytest.approx(0.01)
    assert reconstruction_bound(0.0, 5.0, 1e-5) == pytest.approx(1e-5)
    assert reconstruction_bound(0.5, 800.0) == 1.0
    assert reconstruction_bound(0.9, 1.0) == pytest.approx(1 - 0.1 / math.e)  # the other side of the promise
    assert gaussian_reconstruction_bound(0.01, 0.0) == pytest.approx(0.01)
    assert gaussian_reconstruction_bound(0.0, 3.0) == 0.0
    assert gaussian_reconstruction_bound(0.1, math.inf) == 1.0


def test_the_bound_on_reading_needs_no_torch() -> None:
    code = (
        "import sys\nfrom seepage.dp import Known, reconstruction_bound\nfrom seepage.dp.findings import Finding\n"
        "assert 'torch' not in sys.modules and 'opacus' not in sys.modules and 'scipy' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
