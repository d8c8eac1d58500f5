"""What an attack promises."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor

from seepage._core import NotApplicable, Outcome, Streams
from seepage.attacks import Attack, RowsAttack, attacked
from seepage.observation import Claim, Observation
from seepage.observation.vertical import VerticalScene, VerticalUpdate
from seepage.testing.scenes import PEOPLE, tiny_observations, tiny_stream


def check_attack(attack: RowsAttack, *, protocols: tuple[str, ...] = ("fedsgd", "fedavg")) -> None:
    """Check an attack on clients' updates.

    It answers one claim for each update, of the right shape and with a finite loss; the same streams give the same
    claims; it leaves what it was shown, and torch's global generator, as they were; and it says that it does not apply
    by :class:`NotApplicable`, never by another error.

    Args:
        attack: a frozen dataclass with ``start``.
        protocols: those it is for.
    """
    check_settings(attack)
    for protocol in protocols:
        observations = tiny_observations(protocol=protocol)
        first = _claims(attack, observations)
        _check_claims(first, observations)
        same = _claims(attack, tiny_observations(protocol=protocol))
        for one, other in zip(first, same, strict=True):
            assert _equal(one, other), f"{_name(attack)} gives other rows for the same streams ({protocol})."


def check_vertical_attack(attack: Attack[VerticalScene, VerticalUpdate]) -> None:
    """Check an attack on a stream of vertical gradients, by the same promises as :func:`check_attack`."""
    check_settings(attack)
    told = [_stream_claim(attack) for _ in range(2)]
    for claim in told:
        assert isinstance(claim.outcome, Outcome)
        if claim.rows is not None:
            assert claim.rows.shape[0] == PEOPLE, f"{_name(attack)} claims {len(claim.rows)} rows of {PEOPLE} people."
            assert np.isfinite(claim.rows).all(), f"{_name(attack)} claims numbers that are not finite."
    assert _equal(*told), f"{_name(attack)} gives other rows for the same streams."


def _stream_claim(attack: Attack[VerticalScene, VerticalUpdate]) -> Claim:
    scene, updates = tiny_stream(moments=True)

    def run() -> list[Claim]:
        attacker = attack.start(scene, Streams(9))
        for update in updates:
            attacker.see(update)
        return attacker.claims()

    before = [copy.deepcopy(update.gradient) for update in updates]
    claims = _quietly(attack, run)
    assert len(claims) == 1, f"{_name(attack)} answers {len(claims)} claims about one stream."
    for update, gradient in zip(updates, before, strict=True):
        assert _unchanged(update.gradient, gradient), f"{_name(attack)} changes the gradients it is shown."
    return claims[0]


def check_settings(attack: object) -> None:
    """A part is a frozen dataclass."""
    assert dataclasses.is_dataclass(attack), f"{_name(attack)} is not a dataclass: its fields are its settings."
    parameters = getattr(type(attack), "__dataclass_params__", None)
    assert parameters is not None
    assert parameters.frozen, f"{_name(attack)} is not frozen."


def _claims(attack: RowsAttack, observations: list[Observation]) -> list[Claim]:
    before = [copy.deepcopy(observation.update) for observation in observations]
    claims = _quietly(attack, lambda: attacked(attack, observations, Streams(9)))
    for observation, update in zip(observations, before, strict=True):
        assert _unchanged(observation.update, update), f"{_name(attack)} changes the update it is shown."
    if not claims:
        return [Claim(outcome=Outcome.NOT_APPLICABLE) for _ in observations]
    return claims


def _quietly(attack: object, run: Callable[[], list[Claim]]) -> list[Claim]:
    """The claims; torch's global generator must be where it was."""
    state = torch.get_rng_state()
    try:
        claims = run()
    except NotApplicable:
        claims = [Claim(outcome=Outcome.NOT_APPLICABLE)]
    assert bool((torch.get_rng_state() == state).all()), f"{_name(attack)} draws from torch's global generator."
    return claims


def _check_claims(claims: list[Claim], observations: list[Observation]) -> None:
    if len(claims) == 1 and claims[0].outcome is Outcome.NOT_APPLICABLE:
        return
    assert len(claims) == len(observations), f"There are {len(claims)} claims for {len(observations)} updates."
    for claim, observation in zip(claims, observations, strict=True):
        answered = claim.rows is not None or claim.tally is not None
        assert claim.outcome.scored == answered, f"A claim of outcome {claim.outcome.code} and its rows."
        if claim.tally is not None:
            sizes = [size - int(observation.layout.embedded) for size in observation.layout.sizes]
            assert [len(each) for each in claim.tally.present] == sizes, "Presence is not told of every category."
        if claim.rows is None:
            continue
        shape = (observation.exchange.rows, observation.layout.width)
        assert claim.rows.shape == shape, f"Claimed rows are of shape {claim.rows.shape}, not {shape}."
        assert np.isfinite(claim.rows).all(), "Claimed rows hold numbers that are not finite."
        assert claim.loss is None or np.isfinite(claim.loss), "A claim's loss is not finite."


def _equal(one: Claim, other: Claim) -> bool:
    if one.tally is not None and other.tally is not None:
        return all(np.array_equal(a, b) for a, b in zip(one.tally.present, other.tally.present, strict=True))
    if one.rows is None or other.rows is None:
        return one.rows is other.rows and one.outcome is other.outcome
    return bool(np.array_equal(one.rows, other.rows))


def _unchanged(now: Mapping[str, Tensor], before: Mapping[str, Tensor]) -> bool:
    return now.keys() == before.keys() and all(bool((now[name] == before[name]).all()) for name in now)


def _name(attack: object) -> str:
    return type(attack).__name__
