"""What a defence promises."""

from __future__ import annotations

import copy

import torch

from seepage._core import Streams
from seepage.defenses import Defense
from seepage.models.recipe import Recipe
from seepage.observation.parties import GRADIENT, INTERMEDIATE
from seepage.testing.attacks import check_settings
from seepage.testing.scenes import BATCH, PEOPLE, tiny_models, tiny_observations, tiny_stream


def check_defense(defense: Defense, *, works_on: tuple[str, ...] = ("rows",)) -> None:
    """Check a defence in the studies it is for.

    Its settings are a frozen dataclass; what it sends has the shapes of what it was given and is finite; equal random
    numbers give equal results; it changes neither its inputs nor torch's global generator.

    Args:
        works_on: ``rows``, ``vertical``, ``property``, ``parties``.
    """
    name = type(defense).__name__
    check_settings(defense)
    state = torch.get_rng_state()
    if {"rows", "vertical"} & set(works_on):
        _check_update(defense, name)
    if "rows" in works_on:
        one, other = (tiny_observations(defense=defense)[0].update for _ in range(2))
        for key, value in one.items():
            assert bool(value.isfinite().all()), f"{name} sends numbers that are not finite."
            assert bool((value == other[key]).all()), f"{name} sends other numbers for the same streams."
    if "vertical" in works_on:
        _, updates = tiny_stream(defense)
        for update in updates:
            assert len(update.rows) == BATCH, f"{name} tells {len(update.rows)} rows of a batch of {BATCH}."
            assert 0 <= int(update.rows.min()) <= int(update.rows.max()) < PEOPLE, f"{name} tells rows that are none."
    if "property" in works_on:
        _check_release(defense, name)
    if "parties" in works_on:
        _check_messages(defense, name)
    assert bool((torch.get_rng_state() == state).all()), f"{name} draws from torch's global generator."
    promised = defense.privacy(0.1, 10)
    assert promised is None or (promised.epsilon > 0 and 0 < promised.delta < 1), f"{name} promises {promised}."


def _check_update(defense: Defense, name: str) -> None:
    update = {"layer.weight": torch.randn(2, 4, 3, generator=_random(1)), "layer.bias": torch.zeros(2, 4)}
    before = copy.deepcopy(update)
    sent = [defense.protect(update, _random(2)) for _ in range(2)]
    assert sent[0].keys() == update.keys(), f"{name} sends other parameters than it was given."
    for key, value in update.items():
        assert bool((value == before[key]).all()), f"{name} changes the update it is given."
        assert sent[0][key].shape == value.shape, f"{name} sends {key} in another shape."
        assert bool((sent[0][key] == sent[1][key]).all()), f"{name} sends other numbers for equal random numbers."


def _check_messages(defense: Defense, name: str) -> None:
    values = torch.randn(5, 3, generator=_random(1))
    before = values.clone()
    for kind in (INTERMEDIATE, GRADIENT):
        one, other = (defense.in_message(kind, values, _random(2)) for _ in range(2))
        assert bool((values == before).all()), f"{name} changes the message it is given."
        assert one.shape == values.shape, f"{name} sends {kind} in another shape."
        assert bool(one.isfinite().all()), f"{name} sends {kind} that are not finite."
        assert bool((one == other).all()), f"{name} sends other {kind} for equal random numbers."
    assert 0 <= defense.smoothing < 1, f"{name} spreads a share of {defense.smoothing} of every label."


def _check_release(defense: Defense, name: str) -> None:
    models, _ = tiny_models(4)
    released = defense.release(models, Streams(1))
    assert released.widths == models.widths, f"{name} releases models of other widths."
    assert defense.recipe(Recipe()).epochs >= 1, f"{name} trains for no epoch."
    balance = defense.balance()
    assert balance is None or (0 < balance[0] < 1 and 0 < balance[1] <= 1), f"{name} balances rows to {balance}."


def _random(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)
