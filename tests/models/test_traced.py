"""Recorded functions give what the functions give, however their arguments lie in memory."""

from __future__ import annotations

import pytest
import torch

from seepage.models.traced import Traced


@pytest.mark.parametrize("patience", [0, 1])
def test_arguments_may_be_expanded_transposed_or_plain_in_turn(patience: int) -> None:
    traced = Traced(lambda x: x.reshape(-1) * 2, patience=patience)
    plain = torch.arange(6.0).reshape(2, 3)
    ways = [plain[:1].expand(2, 3), plain, torch.arange(6.0).reshape(3, 2).T, plain[:1].expand(2, 3), plain]
    for _ in range(3):
        for x in ways:
            assert torch.equal(traced(x), x.reshape(-1) * 2)
