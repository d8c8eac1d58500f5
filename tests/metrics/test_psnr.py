"""Two ways to say how like pictures are."""

from __future__ import annotations

import numpy as np
import pytest

from seepage.metrics import psnr, psnr_of_tiles


def test_authors_cut_pixels_and_average_over_parts() -> None:
    true = np.zeros((2, 16))
    claimed = np.zeros((2, 16))
    claimed[0, 0] = 0.5  # one pixel of one of four tiles
    claimed[1, :] = -3.0  # cut to 0, which is right
    tiles = [120.0] * 7 + [-10 * np.log10(0.25 / 4)]
    assert psnr_of_tiles(claimed, true, 4) == pytest.approx(np.mean(tiles))
    assert psnr(claimed, true) == pytest.approx(-10 * np.log10((0.25 + 16 * 9) / 32))
