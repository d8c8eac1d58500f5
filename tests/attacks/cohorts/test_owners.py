"""Whose rows and categories are: differences, groups, entries that only one client touches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from seepage._core import NotApplicable, Streams
from seepage.attacks.cohorts import Difference, Groups, LoneEntries, RowsOfSum
from seepage.attacks.cohorts.difference import isolated
from seepage.attacks.cohorts.owners import holders_of, owner_of, sole_owner_of
from tests.attacks.cohorts.example import answer, false_certificates, inputs_of, watched


def test_a_client_that_was_absent_once_is_read_alone() -> None:
    sums, truth = watched(cohort=8, rows=4, rounds=1, rerun=True)
    claim = answer(Difference(), sums)
    assert truth.absent is not None
    assert claim.owners is not None
    assert claim.certified is not None
    assert set(claim.owners) == {truth.absent}
    assert claim.certified.all()
    assert len(inputs_of(truth, {truth.absent})) == 4
    assert false_certificates(claim, truth) == 0
    alone = answer(RowsOfSum(steps=2, starts=2, start_steps=5), sums[:1])
    assert alone.certified is not None
    assert not alone.certified.any()  # 32 rows in one sum are hidden by 32 neurons


def test_sums_at_other_weights_are_not_subtracted() -> None:
    sums, _ = watched(cohort=3, rounds=3)
    with pytest.raises(NotApplicable, match="at the same weights"):
        answer(Difference(), sums)


def test_any_combination_that_leaves_one_client_is_found() -> None:
    sums, _ = watched(cohort=3, clients=3, rerun=True)
    first, second = sums
    (away,) = set(first.cohort) - set(second.cohort)
    assert [each.cohort for each in isolated(sums)] == [(away,)]
    assert next(isolated(sums)).exchange.rows == 2
    assert not list(isolated([replace(second, number=9), first][:1]))


def test_rows_that_come_and_go_with_a_client_are_its_own() -> None:
    sums, truth = watched(cohort=3, rounds=6)
    claim = answer(Groups(), sums)
    assert claim.owners is not None
    assert (claim.owners >= 0).sum() > len(claim.owners) / 3
    assert false_certificates(claim, truth) == 0
    strict = answer(Groups(distinct=False), sums)
    assert strict.owners is not None
    assert false_certificates(strict, truth) == 0


def test_one_cohort_tells_no_owner() -> None:
    sums, _ = watched(cohort=3, rounds=1)
    with pytest.raises(NotApplicable, match="same cohort"):
        answer(Groups(), sums)
    with pytest.raises(NotApplicable, match="same cohort"):
        answer(LoneEntries(), sums)


def test_where_nothing_is_proven_nobody_is_named() -> None:
    sums, _ = watched(cohort=6, rounds=2, width=6)
    claim = answer(Groups(steps=2, starts=2, start_steps=5), sums)
    assert claim.rows is not None
    assert not len(claim.rows)


def test_a_named_client_has_the_category() -> None:
    told = 0
    for seed in range(3):
        sums, truth = watched(cohort=4, rounds=8, seed=seed)
        claim = answer(LoneEntries(), sums)
        assert claim.entry_owners is not None
        for column, owners in enumerate(claim.entry_owners):
            for category, owner in enumerate(owners):
                if owner >= 0:
                    told += 1
                    assert owner in truth.owners[truth.rows.codes[:, column] == category]
    assert told


def test_logic_never_names_one_who_has_it_not() -> None:
    draw = Streams(3).numpy("logic")
    named = 0
    for _ in range(300):
        cohorts = [tuple(sorted(draw.permutation(6)[:3].tolist())) for _ in range(5)]
        holders = set(draw.permutation(6)[: draw.integers(1, 3)].tolist())
        states = np.array([int(bool(holders & set(cohort))) for cohort in cohorts])
        states[draw.random(5) < 0.2] = -1
        assert set(holders_of(states, cohorts)) <= holders
        assert owner_of(states, cohorts) in holders | {-1}
        if len(holders) == 1:
            assert sole_owner_of(states, cohorts) in holders | {-1}
        named += owner_of(states, cohorts) >= 0
    assert named > 30
