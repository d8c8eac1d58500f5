"""Attacks of a host on a guest's columns."""

from __future__ import annotations

import numpy as np
import pytest

from seepage._core import InputError, NotApplicable, Streams
from seepage.attacks.parties import AsSent, EqualitySolving, GenerativeRegression, KnownRows, ZerosAndOnes
from seepage.metrics import binary_found
from tests.attacks.parties.scenes import LAYOUT, ROWS, bent, claim_of, columns, host_scene, linear, sent

X = columns()


def wrong(rows: np.ndarray | None) -> float:
    """Share of one-hot blocks that name another category."""
    assert rows is not None
    return float(np.mean([(rows[:, b].argmax(1) != X[:, b].argmax(1)).mean() for b in LAYOUT.blocks]))


def test_with_as_many_known_rows_as_columns_all_are_solved_for() -> None:
    assert np.abs(claim_of(KnownRows(), host_scene(X), sent(X)).rows - X).max() < 1e-3


def test_alone_the_same_rows_tell_hardly_anything() -> None:
    assert wrong(KnownRows().alone(host_scene(X), Streams(0)).rows) > 0.35


def test_noise_takes_most_away_and_many_messages_bring_it_back() -> None:
    scene = host_scene(X, noise=2.0, known=60)
    once, often = (wrong(claim_of(KnownRows(), scene, sent(X, noise=2.0, times=n)).rows) for n in (1, 60))
    assert once > 0.1
    assert often < once / 2


def test_too_few_known_rows_do_not_apply() -> None:
    with pytest.raises(NotApplicable, match="knows 1 rows"):
        KnownRows().start(host_scene(X, known=1), Streams(0))


def test_without_a_mixing_layer_columns_are_read_as_they_are_sent() -> None:
    claim = claim_of(AsSent(), host_scene(X), sent(X, part=lambda x: 3 * x + 1))
    assert wrong(claim.rows) == 0
    assert wrong(claim_of(AsSent(), host_scene(X), sent(X)).rows) > 0.2


def test_categories_are_found_without_a_known_row() -> None:
    found = claim_of(ZerosAndOnes(), host_scene(X), sent(X)).columns
    said = binary_found(found, X, LAYOUT)
    assert said["entries_implied"] == 1  # the last category of a column is what the others leave
    assert said["one_column"] == 1


def test_weights_and_messages_give_every_cell() -> None:
    scene = host_scene(X, part=linear)
    assert np.abs(claim_of(EqualitySolving(), scene, sent(X)).rows - X).max() < 1e-3
    assert EqualitySolving().alone(scene, Streams(0)).rows is None


def test_equations_need_weights_and_a_linear_part() -> None:
    with pytest.raises(NotApplicable, match="does not have the guest's weights"):
        EqualitySolving().start(host_scene(X), Streams(0))
    with pytest.raises(NotApplicable, match="not linear"):
        EqualitySolving().start(host_scene(X, part=bent), Streams(0))


def test_made_up_columns_that_answer_alike_are_the_columns_where_answers_tell_enough() -> None:
    attack = GenerativeRegression(match="intermediates", steps=250)
    claim = claim_of(attack, host_scene(X, part=bent), sent(X, part=bent))
    assert wrong(claim.rows) < 0.25  # guessing: 0.58
    assert claim.rows.shape == (ROWS, LAYOUT.width)
    few = claim_of(GenerativeRegression(steps=50), host_scene(X, part=linear), sent(X))
    assert wrong(few.rows) > 0.2  # one number a row does not tell seven


def test_messages_that_were_not_sent_cannot_be_read() -> None:
    with pytest.raises(NotApplicable, match="of 120 rows were not sent"):
        claim_of(KnownRows(), host_scene(X), sent(X)[:1])
    with pytest.raises(NotApplicable, match="No intermediate results"):
        claim_of(AsSent(), host_scene(X), [])


def test_settings_that_cannot_be_are_one_sentence() -> None:
    with pytest.raises(InputError, match="must be predictions or intermediates"):
        GenerativeRegression(match="labels")
    with pytest.raises(InputError, match="at least one is needed"):
        ZerosAndOnes(starts=0)
