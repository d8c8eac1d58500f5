"""The settings that are looked at, and those that lie between them."""

from __future__ import annotations

import itertools

import pytest

from seepage import InputError
from seepage.advice.families import FAMILIES, Family
from seepage.advice.space import AXES, Candidate, between, candidates, meaning, neighbours, read_keep, reference
from seepage.plans import registry
from seepage.runs import make_plan


def test_every_candidate_is_a_plan_and_has_a_name_of_its_own() -> None:
    every = candidates({})
    assert every[0] == reference({}) == Candidate()
    assert len({each.name for each in every}) == len(every)
    for each in every:
        make_plan({"data": "clinic", **each.values()})


def test_what_is_kept_holds_for_all() -> None:
    kept = read_keep({"batch_size": "16", "width": "8"})
    assert {(each.batch_size, each.width) for each in candidates(kept)} == {(16, 8)}
    private = candidates(read_keep({"defense": "dp_sgd:clip=1:noise=1"}))
    assert {each.family for each in private} == {"dp_sgd"}


@pytest.mark.parametrize(
    ("keep", "words"),
    [
        ({"batch": "8"}, "batch-size"),
        ({"batch-size": "eight"}, "is not a whole number"),
        ({"batch-size": "0"}, "from 1 to"),
        ({"defense": "gausian_noise"}, "gaussian_noise"),
        (dict(zip(AXES, ("8", "none", "0", "32"), strict=True)), "nothing to search"),
    ],
)
def test_what_cannot_be_kept_is_told(keep: dict[str, str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_keep(keep)


def test_every_defence_of_rows_is_looked_at() -> None:
    rows = {part.name for part in registry.parts_of("defence", "rows") if part.name != "none"}
    assert set(FAMILIES) == rows


def test_strengths_are_listed_from_weak_to_strong() -> None:
    for family in FAMILIES.values():
        for weak, strong in itertools.pairwise(family.strengths):
            assert family.stronger(strong, weak)
            assert not family.stronger(weak, strong)


@pytest.mark.parametrize("family", [each for each in FAMILIES.values() if each.continuous], ids=lambda each: each.form)
def test_the_middle_is_stronger_than_the_weak_and_weaker_than_the_strong(family: Family) -> None:
    weak, *_, strong = family.strengths
    middle = family.between(weak, strong)
    assert middle is not None
    assert family.stronger(strong, middle)
    assert family.stronger(middle, weak)
    assert family.strength(family.spec(middle)) == middle


def test_strengths_are_halved_by_their_ratio() -> None:
    weak, strong = Candidate(defense="top_k:0.1"), Candidate(defense="top_k:0.01")
    assert between(weak, strong) == Candidate(defense="top_k:0.03")
    assert neighbours([strong, weak]) == [(weak, strong)]
    assert between(weak, Candidate(defense="top_k:0.01", batch_size=32)) is None
    assert between(Candidate(defense="quantisation:8"), Candidate(defense="quantisation:1")) is None


@pytest.mark.parametrize("candidate", candidates({}), ids=lambda each: each.name)
def test_every_setting_is_told_in_words(candidate: Candidate) -> None:
    said = meaning(candidate)
    assert str(candidate.batch_size) in said
    assert "{" not in said
    assert ":" not in said  # no spec is left over
    changed = (candidate.strength is None) or candidate.family == "mixup" or f"{candidate.strength:g}" in said
    assert changed


def test_a_defence_with_other_options_is_named() -> None:
    kept = Candidate(defense="local_dp:epsilon=8:mechanism=laplace")
    assert meaning(kept).endswith("the defence is local_dp:epsilon=8:mechanism=laplace")
