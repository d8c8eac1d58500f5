"""What every attack on parties promises, whatever it reads; a new one is run by being registered."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from seepage._core import Streams
from seepage.observation.parties import Received
from seepage.plans import registry
from tests.attacks.parties.scenes import (
    LAYOUT,
    ROWS,
    claim_of,
    columns,
    gradients,
    guest_scene,
    host_scene,
    linear,
    sent,
)

LABELS = (Streams(0).numpy("labels").random(ROWS) < 0.3).astype(int)
NAMES = [part.name for part in registry.parts_of("attack", "parties")]


def scene_and_messages(attack: Any) -> tuple[Any, Sequence[Received]]:
    if attack.reads == "columns":
        return host_scene(columns(), part=linear), sent(columns())
    return guest_scene(LABELS), gradients(LABELS)


def made(name: str) -> Any:
    attack = registry.make("attack", name, "parties")
    return dataclasses.replace(attack, steps=5) if hasattr(attack, "steps") else attack


def answers(claim: Any) -> list[np.ndarray]:
    return [each for each in (claim.rows, claim.label_scores, claim.columns) if each is not None]


@pytest.mark.parametrize("name", NAMES)
def test_it_is_frozen_repeats_itself_and_leaves_all_else_alone(name: str) -> None:
    attack = made(name)
    assert type(attack).__dataclass_params__.frozen
    scene, seen = scene_and_messages(attack)
    before, state = copy.deepcopy(seen), torch.get_rng_state()
    first, again = claim_of(attack, scene, seen), claim_of(attack, scene, seen)
    assert torch.equal(torch.get_rng_state(), state)
    assert all(np.array_equal(a.values, b.values) for a, b in zip(seen, before, strict=True))
    assert len(answers(first)) == 1
    assert np.isfinite(answers(first)[0]).all()
    assert all(np.array_equal(a, b) for a, b in zip(answers(first), answers(again), strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_what_it_claims_has_the_shape_of_what_it_reads(name: str) -> None:
    attack = made(name)
    scene, seen = scene_and_messages(attack)
    claim = claim_of(attack, scene, seen)
    assert claim.ordered
    if claim.rows is not None:
        assert claim.rows.shape == (ROWS, LAYOUT.width)
    elif claim.columns is not None:
        assert claim.columns.shape[1] == ROWS
    else:
        assert claim.label_scores.shape == (ROWS, 2)


@pytest.mark.parametrize("name", NAMES)
def test_alone_it_sees_no_message_and_repeats_itself(name: str) -> None:
    attack = made(name)
    scene, _ = scene_and_messages(attack)
    one, other = attack.alone(scene, Streams(1)), attack.alone(scene, Streams(1))
    assert all(np.array_equal(a, b) for a, b in zip(answers(one), answers(other), strict=True))
    assert one.outcome.scored == bool(answers(one))
