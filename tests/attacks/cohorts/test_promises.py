"""What every attack on sums promises, whatever it reads; a new one is run by being registered."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from seepage.attacks.cohorts import SumsAttack
from seepage.observation import Claim
from seepage.plans import registry
from seepage.results.cohorts import STRONGEST
from tests.attacks.cohorts.example import answer, watched

NAMES = [part.name for part in registry.parts_of("attack", "cohorts")]


def made(name: str) -> SumsAttack:
    """An attack with a short end."""
    attack: SumsAttack = registry.make("attack", name, "cohorts")
    return dataclasses.replace(attack, steps=2, restarts=1) if hasattr(attack, "steps") else attack  # type: ignore[type-var]


def answers(claim: Claim) -> list[np.ndarray]:
    """All that a claim says."""
    tally = claim.tally.present if claim.tally is not None else ()
    told = (claim.rows, claim.certified, claim.owners, *(claim.entry_owners or ()), *tally)
    return [each for each in told if each is not None]


@pytest.mark.parametrize("name", NAMES)
def test_it_is_frozen_repeats_itself_and_leaves_all_else_alone(name: str) -> None:
    attack = made(name)
    assert type(attack).__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert attack.reads in STRONGEST
    same = name == "stacked_sums"
    sums, _ = watched(cohort=3, clients=3 if same else 5, rows=1, rounds=2, rerun=attack.rerun)
    before, state = [{n: v.clone() for n, v in each.total.items()} for each in sums], torch.get_rng_state()
    first, again = answer(attack, sums), answer(attack, sums)
    assert torch.equal(torch.get_rng_state(), state)
    for each, kept in zip(sums, before, strict=True):
        assert all(torch.equal(value, kept[n]) for n, value in each.total.items())
    assert answers(first)
    assert all(np.isfinite(each).all() for each in answers(first))
    assert all(np.array_equal(a, b) for a, b in zip(answers(first), answers(again), strict=True))
