"""Networks of others: what takes codes is looked up as they do it, and each is checked, simulated and attacked."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional
from typer.testing import CliRunner

import seepage
from seepage._core import InputError
from seepage.cli.main import app
from seepage.models import Foreign, Inputs, Learner, as_architecture, make_learner
from tests import cases
from tests.models import strangers

NUMERIC, SIZES = 2, (4, 3)
CODED = [strangers.Embedded, strangers.OneTable, strangers.TabTransformer, strangers.Saint]
QUICK: dict[str, Any] = {
    "target": "target", "clients": 2, "trials": 2, "exposure": 0, "attack_points": ("initialized",),
    "attacks": ("exact:restarts=1:steps=5:start_steps=5:starts=1", "fast:steps=5:restarts=2"),
}  # fmt: skip


def learner_of(made: Any, **options: Any) -> Learner:
    return make_learner(Foreign(made=made, inputs="codes", **options), NUMERIC, SIZES, "binary", 2, seed=0)


def rows(count: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    numbers = torch.randn(count, NUMERIC, generator=generator)
    codes = torch.stack([torch.randint(0, size, (count,), generator=generator) for size in SIZES], 1)
    return torch.cat([numbers, *(functional.one_hot(codes[:, j], n) for j, n in enumerate(SIZES))], 1), numbers, codes


@pytest.mark.parametrize("made", CODED)
def test_a_block_with_a_one_is_a_lookup(made: Any) -> None:
    x, numbers, codes = rows(6)
    learner = learner_of(made)
    torch.testing.assert_close(learner.outputs(learner.initial(), x), learner.module(numbers, codes))
    found = learner.gradient(learner.initial(), x, torch.zeros(6))
    plain = learner.module.requires_grad_(True)
    learner.loss_of_outputs(plain(numbers, codes), torch.zeros(6)).backward()
    for name, value in plain.named_parameters():
        torch.testing.assert_close(found[name], value.grad, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("made", [*CODED, strangers.Averaged])
def test_each_is_checked_simulated_and_attacked(made: Any) -> None:
    name = f"tests.models.strangers:{made.__name__}"
    said = CliRunner().invoke(app, ["models", "check", name, "--data", "clinic"], catch_exceptions=False)
    assert said.exit_code == 0, said.output
    assert ("rows are mixed" in " ".join(said.output.split()) or "are mixed" in said.output) == (
        made is strangers.Saint
    )
    summary = seepage.audit(cases.frame(), model=name, batch_sizes=(1,), **QUICK)
    for cell in summary.cells:
        assert set(cell.outcomes) <= {"ok", "budget_spent"}, cell.outcomes


def test_codes_of_a_single_row_are_read_from_the_tables() -> None:
    summary = seepage.audit(cases.frame(), model=strangers.Embedded, batch_sizes=(1,), **QUICK)
    assert summary.cells[0].metrics["accuracy_cat"].mean == 1.0


def test_a_module_with_two_arguments_takes_codes() -> None:
    module = strangers.Embedded(Inputs(numeric=NUMERIC, sizes=SIZES, outputs=1))
    assert as_architecture(module).inputs == "codes"
    assert as_architecture(nn.Linear(2, 1)).inputs == "onehot"


class Short(strangers.Embedded):
    """Tables without a row for unknown categories, or with fewer."""

    def __init__(self, inputs: Inputs, missing: int = 1) -> None:
        super().__init__(Inputs(numeric=inputs.numeric, sizes=inputs.sizes, outputs=inputs.outputs))
        self.tables = nn.ModuleList(nn.Embedding(size - missing, strangers.WIDTH) for size in inputs.sizes)


class Normed(strangers.Embedded):
    def __init__(self, inputs: Inputs) -> None:
        super().__init__(inputs)
        self.tables[0].max_norm = 1.0


class Missing(nn.Module):
    def __init__(self, inputs: Inputs) -> None:
        super().__init__()
        self.layer = nn.Linear(inputs.numeric, inputs.outputs)

    def forward(self, numbers: torch.Tensor, codes: torch.Tensor) -> torch.Tensor:
        return self.layer(numbers)


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (lambda inputs: Short(inputs, 2), "has no row for the code"),
        (Normed, "has max_norm"),
        (Missing, "has no torch.nn.Embedding"),
        (lambda inputs: nn.Linear(2, 1), "cannot take 2 numbers and 2 codes a row"),
    ],
)
def test_what_cannot_be_looked_up_is_one_sentence(made: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        learner_of(made)


def test_a_table_without_a_row_for_unknown_categories_works() -> None:
    x, numbers, codes = rows(6)
    codes = codes.clamp(max=torch.tensor(SIZES) - 2)
    x = torch.cat([numbers, *(functional.one_hot(codes[:, j], n) for j, n in enumerate(SIZES))], 1)
    learner = learner_of(Short)
    torch.testing.assert_close(learner.outputs(learner.initial(), x), learner.module(numbers, codes))


def test_other_inputs_are_one_sentence() -> None:
    with pytest.raises(InputError, match="kind of inputs 'words'"):
        Foreign(made=Missing, inputs="words")  # type: ignore[arg-type]
