"""Every part that Seepage brings passes the suite that it ships, and broken parts do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

from seepage._core import Outcome, Progress, Streams, silent
from seepage.attacks.attack import Together
from seepage.attacks.properties.losses import make_loss
from seepage.data.collection import OURS
from seepage.defenses import Defense, Undefended
from seepage.models import MLP, Parameters
from seepage.observation import Claim, Observation, Scene
from seepage.plans.registry import make, parts_of
from seepage.testing import (
    check_attack,
    check_dataset,
    check_defense,
    check_loss,
    check_model,
    check_reader,
    check_vertical_attack,
    tiny_table,
)
from tests import cases

DEFENSES = parts_of("defence")


def names(kind: str, study: str) -> list[str]:
    return [part.name for part in parts_of(kind, study)]


@pytest.mark.parametrize("name", names("attack", "rows"))
def test_attacks_on_updates(name: str) -> None:
    check_attack(cases.shortened(name))


@pytest.mark.parametrize("name", names("attack", "vertical"))
def test_attacks_on_vertical_gradients(name: str) -> None:
    check_vertical_attack(make("attack", name, "vertical"))


@pytest.mark.parametrize("part", DEFENSES, ids=[part.name for part in DEFENSES])
def test_defenses(part: Any) -> None:
    check_defense(part.make(), works_on=part.works_on)


@pytest.mark.parametrize("name", names("model", "rows"))
def test_models(name: str) -> None:
    check_model(make("model", name, "rows"))


@pytest.mark.parametrize("name", names("reader", "property"))
def test_readers(name: str) -> None:
    check_reader(make("reader", name, "property"))


@pytest.mark.parametrize("name", names("loss", "property"))
def test_losses(name: str) -> None:
    check_loss(make_loss(name, 4))


def test_data_sets() -> None:
    check_dataset(OURS["clinic"])
    with pytest.raises(AssertionError, match="has to be fetched"):
        check_dataset(OURS["adult"])
    with pytest.raises(AssertionError, match="says 5 rows; there are"):
        check_dataset(replace(OURS["clinic"], rows=5))


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Claims the origin."""

    mistake: str = ""

    def start(self, scene: Scene, streams: Streams, *, progress: Progress = silent) -> Together[Observation]:
        return Together(self._claims)

    def _claims(self, observations: Sequence[Observation]) -> list[Claim]:
        if self.mistake == "changes":
            next(iter(observations[0].update.values())).zero_()
        rows = np.zeros((observations[0].exchange.rows, observations[0].layout.width))
        if self.mistake == "draws":
            rows += torch.randn(1).numpy()
        if self.mistake == "shape":
            rows = rows[:-1]
        if self.mistake == "nan":
            rows += np.nan
        claims = [Claim(outcome=Outcome.OK, rows=rows, loss=0.0) for _ in observations]
        return claims[:1] if self.mistake == "few" else claims


@pytest.mark.parametrize(
    ("mistake", "sentence"),
    [
        ("changes", "changes the update it is shown"),
        ("draws", "torch's global generator"),
        ("shape", "Claimed rows are of shape"),
        ("nan", "not finite"),
        ("few", "1 claims for 2 updates"),
    ],
)
def test_a_broken_attack_is_told(mistake: str, sentence: str) -> None:
    check_attack(Origin())
    with pytest.raises(AssertionError, match=sentence):
        check_attack(Origin(mistake=mistake))


def test_a_broken_defence_and_a_broken_model_are_told() -> None:
    @dataclass(frozen=True)
    class Shifting(Defense):
        def protect(self, update: Parameters, random: torch.Generator) -> Parameters:
            return {name: value + torch.randn(value.shape) for name, value in update.items()}

    with pytest.raises(AssertionError, match="for equal random numbers"):
        check_defense(Shifting())
    check_defense(Undefended(), works_on=("rows", "vertical", "property"))

    @dataclass(frozen=True)
    class Mixing(MLP):
        def build(self, numeric: int, sizes: tuple[int, ...], outputs: int) -> torch.nn.Module:
            class Mean(torch.nn.Module):
                def forward(self, x: torch.Tensor) -> torch.Tensor:
                    return x - x.mean(0)

            return torch.nn.Sequential(Mean(), torch.nn.Linear(numeric + sum(sizes), outputs))

    with pytest.raises(AssertionError, match="depends on the other rows"):
        check_model(Mixing())


def test_the_tiny_table_is_a_mixed_one() -> None:
    kinds = {column.kind for column in tiny_table().schema.columns}
    assert kinds == {"numeric", "categorical", "binary"}
    assert isinstance(tiny_table().to_frame(), pl.DataFrame)
    assert [field.name for field in fields(Origin)] == ["mistake"]
