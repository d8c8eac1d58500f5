"""Hospitals in NVFlare's simulator: what is recorded is what a plain training loop would have captured."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from torch import nn

from seepage import captures
from seepage.captures import Capture
from tests.integrations.nvflare_hospitals import holding_the_canary, planted, run, settled

RATE = 0.05


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The example's net, and the folder where its hospitals are."""
    monkeypatch.syspath_prepend(settled(tmp_path))
    monkeypatch.delitem(sys.modules, "network", raising=False)
    import network

    return network


def plain_loop(
    folder: Path,
    network: ModuleType,
    recorded: Capture,
    hospitals: list[int],
    *,
    rows: int,
    epochs: int,
    batch_size: int,
) -> Capture:
    """The clients' training, written as a loop that nobody federates, from the weights that the server sent."""
    for number in dict.fromkeys(entry.round for entry in recorded.entries):
        before = next(entry for entry in recorded.entries if entry.round == number).before()
        for hospital in hospitals:
            x, y = network.load(folder / f"site-{hospital}.csv")
            x, y = x[:rows], y[:rows]
            net = network.Net()
            net.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in before.items()})
            optimiser = torch.optim.SGD(net.parameters(), lr=RATE)
            shuffled = torch.Generator().manual_seed(number)
            for _ in range(epochs):
                for batch in torch.randperm(rows, generator=shuffled).split(batch_size):
                    optimiser.zero_grad()
                    nn.functional.binary_cross_entropy_with_logits(net(x[batch])[:, 0], y[batch]).backward()
                    optimiser.step()
            captures.write(
                folder / "plain",
                before=before,
                after=net.state_dict(),
                client=whose(recorded, number, net.state_dict()),
                round=number,
                add=True,
                rows=rows,
                batch_size=batch_size,
                local_epochs=epochs,
                learning_rate=RATE,
            )
    return captures.read(folder / "plain")


def whose(recorded: Capture, number: int, weights: dict[str, torch.Tensor]) -> str:
    """The hashed name of the client that sent the same weights."""
    found = [entry.client for entry in recorded.entries if entry.round == number and close(entry.sent(), weights)]
    assert len(found) == 1, f"nothing like this update was recorded in round {number}"
    return found[0]


def close(sent: captures.Tensors, weights: dict[str, torch.Tensor]) -> bool:
    return sent.keys() == weights.keys() and all(
        np.allclose(value, weights[name], rtol=0, atol=1e-7) for name, value in sent.items()
    )


def same_updates(one: Capture, other: Capture) -> None:
    """Both hold as many updates, by the same rules; :func:`whose` has compared their weights."""
    assert {(each.round, each.client): each.facts for each in one.entries} == {
        (each.round, each.client): each.facts for each in other.entries
    }


@pytest.mark.slow
def test_one_round_of_two_hospitals(tmp_path: Path, network: ModuleType) -> None:
    """One hospital has few rows, and its guard holds their update back; that of the other one is recorded."""
    few = tmp_path / "site-1.csv"
    few.write_text("".join(few.read_text().splitlines(keepends=True)[:9]))
    for hospital in (1, 2):
        planted(tmp_path / f"site-{hospital}.csv")
    said = run(
        tmp_path,
        *("job.py", "--hospitals", "2", "--rounds", "1", "--epochs", "1", "--batch-size", "8"),
        *("--guard", "hold", "--answer", "empty"),
    )
    (tmp_path / "out.txt").write_text(said)
    assert "site-1 sent no update. Seepage's guard of this client held its update back: whole rows can be" in said
    assert "Empty result from client site-1, skipping" in said
    assert "1 updates of 1 round" in said
    recorded = captures.read(tmp_path / "capture")
    assert [entry.facts.rows for entry in recorded.entries] == [64]
    plain = plain_loop(tmp_path, network, recorded, [2], rows=64, epochs=1, batch_size=8)
    same_updates(recorded, plain)
    for name, value in network.Net().state_dict().items():
        np.testing.assert_array_equal(recorded.entries[0].before()[name], value)
    assert holding_the_canary(tmp_path) == []
