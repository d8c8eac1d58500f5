"""Algebra behind defences: it works where they keep it, and certifies nothing that might be untrue."""

from __future__ import annotations

import numpy as np
import pytest

from seepage._core import Streams
from seepage.attacks import Exact, attacked
from seepage.defenses import Defense, LabelSmoothing, Mixup, Rounding, Undefended
from tests.attacks.adaptive.test_adaptive import attack_point

QUICK = Exact(steps=20, restarts=2, start_steps=20, starts=2, turns=2, compile="no")


def certified(defense: Defense) -> tuple[int, float]:
    """Certified rows, and how far they are from a true row at most."""
    point, _ = attack_point(defense)
    count, worst = 0, 0.0
    for claim, truth in zip(attacked(QUICK, point.observations, Streams(1)), point.truths, strict=True):
        true = truth.encoder.encode(truth.rows, truth.statistics)
        assert claim.rows is not None
        assert claim.certified is not None
        for row in claim.rows[claim.certified]:
            count, worst = count + 1, max(worst, float(np.abs(true - row).max(1).min()))
    return count, worst


@pytest.mark.parametrize("defense", [Undefended(), LabelSmoothing(share=0.3), Rounding(step=1e-6)])
def test_what_keeps_the_algebra_is_read_and_proven(defense: Defense) -> None:
    count, worst = certified(defense)
    assert count > 0
    assert worst < 0.05


def test_mixtures_are_never_certified() -> None:
    assert certified(Mixup()) == (0, 0.0)
