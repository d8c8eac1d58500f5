"""A run computes with one thread, unless the user asks for more: threads of two runs fight for cores."""

from __future__ import annotations

import pytest
import torch

import seepage
from seepage.data import clinic
from seepage.runs.threads import ASKED, own_threads


@pytest.fixture
def _several(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ASKED:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("_several")
def test_a_run_takes_one_thread_and_gives_the_others_back() -> None:
    before, seen = torch.get_num_threads(), []
    torch.set_num_threads(2)
    try:
        seepage.audit(
            clinic(rows=300), target="died", batch_sizes=1, trials=2, clients=2, exposure=0,
            progress=lambda *_: seen.append(torch.get_num_threads()),
        )  # fmt: skip
        assert set(seen) == {1}
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.usefixtures("_several")
def test_who_asks_for_threads_gets_them(monkeypatch: pytest.MonkeyPatch) -> None:
    before = torch.get_num_threads()
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    torch.set_num_threads(2)
    try:
        with own_threads():
            assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
