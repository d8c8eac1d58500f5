"""`seepage models check`: a model is told before anything is trained."""

from __future__ import annotations

import json

import pytest
from torch import nn
from typer.testing import CliRunner

from seepage._core import InputError
from seepage.cli.main import app
from seepage.models import Inputs


def said(*words: str) -> str:
    done = CliRunner().invoke(app, ["models", "check", *words, "--data", "clinic"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize(
    ("model", "enters"),
    [
        ("tests.models.test_foreign:as_ours", "through a linear layer (0: "),
        ("ft_transformer", "through a table for each column"),
        ("tabnet", "neither through a linear layer nor through tables"),
    ],
)
def test_it_says_where_rows_enter_and_which_attacks_work(model: str, enters: str) -> None:
    text = said(model)
    assert enters in text
    assert "Which categories occur" in text


def test_a_model_of_somebody_is_told_as_ours_is() -> None:
    ours, theirs = (json.loads(said(name, "--json"))["model"] for name in ("mlp", "tests.models.test_foreign:as_ours"))
    assert ours == theirs
    assert ours["sends"].startswith("3,201 numbers in 10 tensors")


def test_a_loop_is_said_with_what_it_costs() -> None:
    text = said("tests.models.test_one_by_one:Branching")
    assert "computed one by one, as torch.func.vmap cannot take the model" in text
    assert "ms for each client and local step of 8 rows" in text
    assert "one restart at a time" in text


def huge(inputs: Inputs) -> nn.Module:
    return nn.Sequential(nn.Linear(inputs.width, 10**6), nn.ReLU(), nn.Linear(10**6, 10**6), nn.Linear(10**6, 1))


def test_a_model_that_memory_cannot_hold_is_one_sentence() -> None:
    with pytest.raises(InputError, match=r"need about .* GB of memory"):
        said("tests.cli.test_model:huge")


def test_what_is_no_model_is_one_sentence() -> None:
    with pytest.raises(InputError, match="Did you mean 'mlp'"):
        said("mlpp")
