"""The search, on made-up measurements: what it drops, what it follows, and what it says when time is gone."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from seepage import InputError
from seepage.advice import words
from seepage.advice.board import Board
from seepage.advice.checks import check_guessing
from seepage.advice.limits import Limits, Verdict
from seepage.advice.measured import Finding, Leak
from seepage.advice.search import search
from seepage.advice.space import Candidate, candidates
from seepage.advice.stages import ARSENAL, CONFIRM, LONGER, PRESS, SCREEN, TRAIN, Stage
from seepage.results.interval import Interval

Truth = Callable[[Candidate], tuple[float, float, float]]  # share of rows read, cells gained, score


class Made:
    """Measures by a formula, and keeps what it was asked."""

    def __init__(self, truth: Truth, stops: Stage | None = None, only: int = 10**6, updates: int = 20) -> None:
        self.truth, self.stops, self.only, self.asked = truth, stops, only, list[tuple[str, Candidate]]()
        self.updates = updates

    def __call__(
        self, stage: Stage, every: Sequence[Candidate], only_worth: Candidate | None = None
    ) -> dict[Candidate, Finding] | None:
        before = sum(name == stage.name for name, _ in self.asked)
        if stage is self.stops and before >= self.only:
            return None
        self.asked += [(stage.name, each) for each in every]
        found = [*every, *([only_worth] if only_worth else [])]
        return {each: self.finding(stage, each, each == only_worth) for each in found}

    def finding(self, stage: Stage, candidate: Candidate, only_worth: bool) -> Finding:
        read, gain, score = self.truth(candidate)
        leak = Leak(
            attack="fast", attacks=("fast",), trials=self.updates, rows=160, rows_guessed=0,
            rows_exact=round(160 * read),
            exact=Interval(read, max(read - 0.05, 0), min(read + 0.05, 1)),
            gain=Interval(gain, gain - 0.01, gain + 0.01),
        )  # fmt: skip
        trainings = range(int(stage.federations)) if stage.trained else ()
        scores = {(stage.place, number): score + number / 10_000 for number in trainings}
        return Finding(candidate=candidate, stage=stage.name, leak=leak, scores=scores, only_worth=only_worth)


def noise_hides(candidate: Candidate) -> tuple[float, float, float]:
    """Noise of 0.03 is enough, and costs a point; 0.1 costs ten."""
    if candidate.family != "gaussian_noise":
        return 1.0, 0.4, 0.85
    leaks = candidate.strength < 0.03
    return (0.5 if leaks else 0.0), (0.3 if leaks else 0.0), 0.85 - candidate.strength / 3


def found_by(made: Made, limits: Limits) -> tuple[Board, words.Found]:
    board = Board(limits, Candidate())
    return board, search(board, candidates({"batch-size": 8}), made)


def test_a_strength_between_two_is_found_and_confirmed() -> None:
    board, found = found_by(Made(noise_hides), Limits(max_loss=0.02))
    assert found.recommended == Candidate(defense="gaussian_noise:0.03")
    assert found.confirmed
    assert board.courses[found.recommended].stage == CONFIRM.name
    said = "\n".join(words.answer(board, found, "binary", 5))
    assert "Recommended: gaussian_noise:0.03, batch size 8." in said
    assert "Promises: nothing" in said


def test_a_confirmation_on_few_updates_is_called_one() -> None:
    board, found = found_by(Made(noise_hides, updates=3), Limits(max_loss=0.02))
    assert found.confirmed
    assert not words.firm(board, found)
    said = "\n".join(words.answer(board, found, "binary", 5))
    assert "Best so far, not yet shown to be safe (6 updates attacked): gaussian_noise:0.03, batch size 8." in said
    assert "Do next: the same command with a larger --budget goes on from here." in said


def test_only_what_breaks_a_limit_beyond_doubt_is_dropped() -> None:
    made = Made(noise_hides)
    board, _ = found_by(made, Limits(max_loss=0.02))
    trained = {candidate for stage, candidate in made.asked if stage == TRAIN.name}
    for candidate in candidates({"batch-size": 8})[1:]:
        leaks = board.leaks_stronger(candidate) or board.safety(candidate) is Verdict.BROKEN
        assert (candidate in trained) == (not leaks)


def test_small_batches_are_trained_first_whatever_an_attack_stayed_below_guessing() -> None:
    made = Made(lambda each: (1.0, 0.4, 0.85) if each.plain else (0.0, -each.batch_size / 1000, 0.8))
    search(Board(Limits(max_loss=0.01), Candidate()), candidates({}), made)
    asked = [candidate for stage, candidate in made.asked if stage == TRAIN.name and not candidate.plain]
    first = asked[: len({each.family for each in asked})]
    assert {each.batch_size for each in first} == {8}
    assert {each.batch_size for each in asked} == {8, 32, 128}


def test_what_leaked_when_it_was_stronger_is_not_attacked_again_and_that_is_told() -> None:
    made = Made(noise_hides)
    board, found = found_by(made, Limits(max_loss=0.02))
    assert Candidate(defense="rounding:0.001") in found.implied  # 0.01 leaked
    assert not any(candidate in found.implied for _, candidate in made.asked)
    assert "because the same defence leaked too much when it was stronger" in "\n".join(
        each.text for each in words.limits_of_advice(board, found, {})
    )


def test_an_attack_at_full_length_takes_a_defence_back_that_looked_safe() -> None:
    class SeenThrough(Made):
        def finding(self, stage: Stage, candidate: Candidate, only_worth: bool) -> Finding:
            if stage.name == PRESS.name and candidate.family == "random_k":
                return Made(lambda each: (0.0, 0.3, 0.85)).finding(stage, candidate, only_worth)
            return super().finding(stage, candidate, only_worth)

    def two_hide(each: Candidate) -> tuple[float, float, float]:
        hides = {"random_k": 0.85, "gaussian_noise": 0.84}
        return (0.0, 0.0, hides[each.family]) if each.family in hides else (1.0, 0.4, 0.85)

    made = SeenThrough(two_hide)
    board, found = found_by(made, Limits(max_loss=0.02))
    assert found.recommended is not None
    assert found.recommended.family == "gaussian_noise"
    assert board.safety(Candidate(defense="random_k:0.01")) is Verdict.BROKEN
    assert not [each for stage, each in made.asked if stage == ARSENAL.name and each.family == "random_k"]


def test_what_seems_to_cost_too_much_is_not_attacked_with_everything() -> None:
    """Its interval reaches into the limit, so it stays in the search; but the time is for others."""

    class Uncertain(Made):
        def finding(self, stage: Stage, candidate: Candidate, only_worth: bool) -> Finding:
            found = super().finding(stage, candidate, only_worth)
            lost = {"random_k": (0.0, 0.1, 0.0)}.get(candidate.family, (0.0, 0.0, 0.0))
            pairs = zip(found.scores.items(), itertools.cycle(lost))
            return replace(found, scores={place: score - less for (place, score), less in pairs})

    made = Uncertain(lambda each: (0.0, 0.0, 0.84) if each.family == "random_k" else (1.0, 0.4, 0.85))
    board, found = found_by(made, Limits(max_loss=0.02))
    assert found.recommended is None
    assert found.nearest is not None
    assert board.cost(found.nearest) is Verdict.UNCLEAR
    assert ARSENAL.name not in {stage for stage, _ in made.asked}


def test_nothing_meets_the_limits() -> None:
    board, found = found_by(Made(lambda each: (1.0, 0.4, 0.8)), Limits())
    assert found.recommended is None
    said = "\n".join(words.answer(board, found, "binary", 5))
    assert "No tested setting meets these limits.\nNearest: no defence, batch size 8" in said
    assert "larger --budget" not in said  # there is nothing left to look at


def test_where_time_ran_out_nothing_is_said_of_the_rest_and_all_of_it_is_listed() -> None:
    board, found = found_by(Made(lambda each: (1.0, 0.4, 0.8)), Limits())
    left = [Candidate(defense=f"top_k:{number}") for number in range(1, 10)]
    found = replace(found, untested=left)
    said = "\n".join(words.answer(board, found, "binary", 5))
    every = len(board.courses) + len(found.implied) + 9
    assert f"No setting that was tested meets these limits, and there was no time for 9 of {every}." in said
    assert "Do next: the same command with a larger --budget goes on from here." in said
    (remark,) = [each for each in words.limits_of_advice(board, found, {}) if each.text.startswith("No time for")]
    assert remark.text.endswith("and 3 more.")
    assert remark.rest == ("top_k:7", "top_k:8", "top_k:9")


def test_a_setting_that_strong_attacks_break_is_not_recommended() -> None:
    class Stronger(Made):
        def finding(self, stage: Stage, candidate: Candidate, only_worth: bool) -> Finding:
            found = super().finding(stage, candidate, only_worth)
            broken = Made(lambda each: (0.5, 0.3, 0.85)).finding(stage, candidate, only_worth)
            return broken if stage is ARSENAL and candidate.family == "gaussian_noise" else found

    def two_hide(each: Candidate) -> tuple[float, float, float]:
        return (0.0, 0.0, 0.84) if each.defense in ("gaussian_noise:0.1", "top_k:0.01") else (1.0, 0.4, 0.85)

    board, found = found_by(Stronger(two_hide), Limits(max_loss=0.02))
    assert found.recommended == Candidate(defense="top_k:0.01")
    assert board.safety(Candidate(defense="gaussian_noise:0.1")) is Verdict.BROKEN


def test_without_time_to_confirm_it_is_said() -> None:
    board, found = found_by(Made(noise_hides, ARSENAL, 0), Limits(max_loss=0.02))
    assert found.recommended == Candidate(defense="gaussian_noise:0.03")
    assert not found.confirmed
    assert "NOT CONFIRMED" in "\n".join(words.answer(board, found, "binary", 5))


def test_what_was_not_looked_at_is_not_called_unsafe() -> None:
    board, found = found_by(Made(noise_hides, SCREEN, 6), Limits(max_loss=0.02))
    assert found.untested
    told = "\n".join(each.text for each in words.limits_of_advice(board, found, {}))
    assert "No time for (a larger --budget goes on from here): " in told


def test_nothing_is_said_of_a_kind_of_which_some_are_untested() -> None:
    for stops, said in ((None, True), (12, False)):
        made = Made(lambda each: (1.0, 0.4, 0.8), SCREEN if stops else None, stops or 0)
        board, found = found_by(made, Limits())
        told = "\n".join(each.text for each in words.limits_of_advice(board, found, {}))
        line = next(each for each in told.splitlines() if each.startswith("Every setting that was tested leaked"))
        assert ("quantisation" in line) is said


def test_what_cannot_be_told_apart_is_looked_at_longer() -> None:
    def equal(each: Candidate) -> tuple[float, float, float]:
        return 0.0, 0.0, 0.8

    made = Made(equal)
    _, found = found_by(made, Limits(max_loss=0.02))
    assert any(stage == LONGER.name for stage, _ in made.asked)
    assert found.recommended is not None
    assert found.next_best


def test_attacks_that_failed_are_no_evidence() -> None:
    class Failing(Made):
        def finding(self, stage: Stage, candidate: Candidate, only_worth: bool) -> Finding:
            found = super().finding(stage, candidate, only_worth)
            return found if candidate.plain else Finding(**(vars(found) | {"leak": None}))

    board, found = found_by(Failing(noise_hides), Limits(max_loss=0.2))
    assert found.recommended is None
    assert "Could not be measured" in "\n".join(each.text for each in words.limits_of_advice(board, found, {}))


def test_the_next_one_is_confirmed_where_there_is_no_time_for_the_best() -> None:
    class Slow(Made):
        def __call__(
            self, stage: Stage, every: Sequence[Candidate], only_worth: Candidate | None = None
        ) -> dict[Candidate, Finding] | None:
            dear = stage is ARSENAL and every[0].family == "gaussian_noise"
            return None if dear else super().__call__(stage, every, only_worth)

    def two_hide(each: Candidate) -> tuple[float, float, float]:
        return (0.0, 0.0, 0.84) if each.defense in ("gaussian_noise:0.1", "top_k:0.01") else (1.0, 0.4, 0.85)

    _, found = found_by(Slow(two_hide), Limits(max_loss=0.02))
    assert found.confirmed
    assert found.recommended == Candidate(defense="top_k:0.01")
    assert found.next_best == (Candidate(defense="gaussian_noise:0.1"),)


def test_the_same_measurements_give_the_same_answer() -> None:
    first, second = (found_by(Made(noise_hides), Limits(max_loss=0.02))[1] for _ in range(2))
    assert first == second


def test_a_model_that_learned_nothing_or_too_little_is_told() -> None:
    with pytest.raises(InputError, match="no better than a constant answer"):
        found_by(Made(lambda each: (0.0, 0.0, 0.5)), Limits())
    with pytest.raises(InputError, match=r"--min-auc 0.9 cannot be met"):
        found_by(Made(lambda each: (0.0, 0.0, 0.8)), Limits(min_auc=0.9))


def test_a_limit_that_guessing_breaks_is_told() -> None:
    board = Board(Limits(), Candidate())
    finding = Made(noise_hides).finding(SCREEN, Candidate(defense="gaussian_noise:0.1"), False)
    assert finding.leak is not None
    guessed = Leak(**(vars(finding.leak) | {"rows_guessed": 16}))
    board.add({finding.candidate: Finding(**(vars(finding) | {"leak": guessed}))})
    with pytest.raises(InputError, match="Guessing alone, without any update, gets 16 of 160 rows"):
        check_guessing(board)


@pytest.mark.parametrize(("scores", "said"), [((0.5, 0.7, 0.6), True), ((0.79, 0.8, 0.81), False)])
def test_where_even_the_plain_model_hardly_learned_that_is_said(scores: tuple[float, ...], said: bool) -> None:
    board, plain = Board(Limits(), Candidate()), Candidate()
    finding = Made(noise_hides).finding(TRAIN, plain, False)
    board.add({plain: replace(finding, scores={(0, place): score for place, score in enumerate(scores)})})
    nothing = words.Found(recommended=None, confirmed=False, next_best=(), nearest=plain, untested=())
    assert ("may be no better than a guess" in "\n".join(words.answer(board, nothing, "binary", 5))) is said


def test_what_the_first_shares_of_time_left_over_is_spent_on_what_was_not_trained() -> None:
    class Hurried(Made):
        """Nothing but the plain setting fits into the share of time that training has."""

        def __call__(
            self, stage: Stage, every: Sequence[Candidate], only_worth: Candidate | None = None
        ) -> dict[Candidate, Finding] | None:
            late = stage.name != TRAIN.name or stage.until > TRAIN.until or list(every) == [Candidate()]
            return super().__call__(stage, every, only_worth) if late else None

    _, found = found_by(Hurried(noise_hides), Limits(max_loss=0.02))
    assert found.recommended == Candidate(defense="gaussian_noise:0.03")
    assert found.confirmed


def test_a_stage_that_is_asked_twice_counts_once() -> None:
    board, made = Board(Limits(), Candidate()), Made(noise_hides)
    for stage in (ARSENAL, CONFIRM, ARSENAL, CONFIRM):
        board.add(made(stage, [Candidate()]) or {})
    course = board.courses[Candidate()]
    assert course.stage == CONFIRM.name
    assert course.confirmed_by == 40
    assert course.leak is not None
    assert course.leak.trials == 40
