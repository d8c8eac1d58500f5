"""A false certificate is the worst bug there can be: look for one."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seepage.attacks.exact.certificate import certify
from seepage.attacks.exact.view import view_of
from seepage.observation import Observation
from tests.attacks.exact.adversary import CODES, LABELS, NUMBERS, an_update, false_rows, make_world


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**9))
def test_no_row_is_certified_that_is_no_record(seed: int) -> None:
    _, complaints = false_rows(make_world(seed))
    assert complaints == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_ten_thousand_updates_give_no_false_certificate(part: int) -> None:
    certified = 0
    for seed in range(500 * part, 500 * (part + 1)):
        found, complaints = false_rows(make_world(seed))
        certified += found
        assert complaints == []
    assert certified > 300  # the test must have had something to object to


@pytest.mark.parametrize(
    "seed",
    [8356, 9429, 140607612],
    ids=["slopes of few patterns", "few neurons awake", "on the line through two near records, just behind a kink"],
)
def test_equations_that_do_not_react_to_a_row_prove_nothing(seed: int) -> None:
    _, complaints = false_rows(make_world(seed))  # all were certified once
    assert complaints == []


def test_every_record_is_certified_with_its_label() -> None:
    view = view_of(an_update(CODES, NUMBERS, LABELS))
    found = certify(view, torch.from_numpy(CODES), torch.from_numpy(NUMBERS))
    assert sorted(map(tuple, found.codes.tolist())) == sorted(map(tuple, CODES.tolist()))
    for codes, label in zip(found.codes.tolist(), found.labels.tolist(), strict=True):
        assert label == LABELS[CODES.tolist().index(codes)]


def test_a_combination_of_three_records_is_not() -> None:
    """Rows 0 + 2 - 1 have valid categories and lie in the span of the first layer exactly."""
    numbers = NUMBERS[0] + NUMBERS[2] - NUMBERS[1]
    view = view_of(an_update(CODES[[0, 1, 2, 4, 5]], NUMBERS[[0, 1, 2, 4, 5]], LABELS[[0, 1, 2, 4, 5]]))
    codes = torch.tensor([[0, 2, 3]])
    entrance = view.entrance
    assert entrance is not None
    x = view.rows_of(codes, torch.from_numpy(numbers)[None])
    assert float(entrance.distance(view.inputs(x)[0])) < 3
    assert len(certify(view, codes, torch.from_numpy(numbers)[None])) == 0


def test_equal_records_are_counted() -> None:
    twice = [0, 0, 1, 2, 4]
    view = view_of(an_update(CODES[twice], NUMBERS[twice], LABELS[twice]))
    found = certify(view, torch.from_numpy(CODES[:1]), torch.from_numpy(NUMBERS[:1]))
    assert found.copies.tolist() == [2]
    assert found.labels.tolist() == [0.0]
    assert not found.certain.any()  # two records with nearly these numbers would look the same


def test_too_few_equations_give_no_certificate() -> None:
    """Six rows use up layers of four: whatever is proposed, nothing can be proven."""
    view = view_of(an_update(CODES, NUMBERS, LABELS, width=4))
    assert len(certify(view, torch.from_numpy(CODES), torch.from_numpy(NUMBERS))) == 0


def test_noise_takes_the_certificate_away() -> None:
    observation = an_update(CODES, NUMBERS, LABELS)
    generator = torch.Generator().manual_seed(0)
    loud = {name: v + 0.05 * torch.randn(v.shape, generator=generator) for name, v in observation.update.items()}
    view = view_of(Observation(**(observation.__dict__ | {"update": loud})))
    assert len(certify(view, torch.from_numpy(CODES), torch.from_numpy(NUMBERS))) == 0
