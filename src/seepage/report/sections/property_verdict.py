"""The verdict on a property: how finely the share of rows that have it can be read, and what guessing gets."""

from __future__ import annotations

from collections.abc import Sequence

from seepage.report.level import Level
from seepage.report.section import Section
from seepage.report.shares import Question, cell_level, questions_of
from seepage.report.verdict import Tile, Verdict, by_chance, gaps, light
from seepage.report.words import percent
from seepage.results.property import PropertySummary

MEANINGS = {
    Level.LEAKS: "The share can be read. The attack names the right range for at least 20 percentage points more of "
    "the models than guessing does.",
    Level.SOME: "The attack names the right range more often than guessing does, but by less than 20 percentage "
    "points.",
    Level.INCOMPLETE: "Nothing was found where the attack could be measured, but some parts of the plan failed, or "
    "there were too few target models to rule out a gain of 20 points. That is not evidence of privacy.",
    Level.NOT_FOUND: "No tested attack names the right range more often than guessing does. This is no proof of "
    "safety: it holds for these attacks, models and cuts and for the threat model below only.",
    Level.NOT_MEASURED: "No attack gave anything to score. A failed attack says nothing about privacy.",
}
LEARNED = 0.55  # a balanced accuracy of two classes below this is nearly that of guessing
NOBODY = (
    "Nobody's row is read here. What is read is a fact about all rows together: how many of them have the property. "
    "That can be a secret too: how many patients died, how many customers are in arrears."
)


def verdict(summary: PropertySummary) -> Verdict:
    """The plain answer."""
    questions = questions_of(summary)
    levels = [cell_level(cell) for cell in summary.cells]
    level = light(levels, summary.not_run)
    measured = [question for question in questions if question.best]
    if not measured:
        headline = "Nothing could be measured, so nothing can be said about what leaks."
        return Verdict(level=level, meaning=MEANINGS[level], headline=headline, sentences=tuple(gaps(summary)))
    worst = max(measured, key=lambda question: question.rank)
    return Verdict(
        level=level,
        meaning=MEANINGS[level],
        headline=f"From the {worst.seen} of a model alone, the share of rows with {worst.place['property_text']} is "
        f"named rightly {worst.named}.",
        tiles=_tiles(worst),
        sentences=(
            NOBODY,
            *_as_number(worst),
            *_compared(worst, measured),
            *_learned(summary),
            *by_chance(levels),
            *gaps(summary),
        ),
    )


def _tiles(question: Question) -> tuple[Tile, ...]:
    most = question.most_read
    assert most is not None  # a measured question has a best meta-model
    named, guess = most.accuracy.mean, most.guessing
    targets = f"of {most.trials} models, {most.classes} ranges"
    return (
        Tile(title="right range named by the attack", value=percent(named), note=targets, share=named),
        Tile(title="right range by guessing", value=percent(guess), share=guess, guess=True),
    )


def _as_number(question: Question) -> list[str]:
    """How well the share was told as a number, where a meta-model tells one."""
    told = [cell.share for cell in question.cells if cell.share]
    if not told:
        return []
    best = min(told, key=lambda share: share.error.mean)
    return [
        f"As a number, the share is told to within {100 * best.error.mean:.1f} points on average (a constant guess: "
        f"{100 * best.guessing_error:.1f}). Its interval is {100 * best.width:.0f} points wide and holds the truth for "
        f"{percent(best.coverage.mean)} of the models."
    ]


def _compared(worst: Question, questions: Sequence[Question]) -> list[str]:
    """Where that was, and where least was read."""
    if len(questions) == 1:
        return []
    least = min(questions, key=lambda question: question.rank)
    return [
        f"This is the worst of {len(questions)} settings measured: {worst.label}.",
        f"The least leaking one was {least.label}: there the share is named rightly {least.named}.",
    ]


def _learned(summary: PropertySummary) -> list[str]:
    """A warning where the models have learned next to nothing: such models have little to tell."""
    best = max((made.target_balanced_accuracy.mean for made in summary.models), default=1.0)
    if summary.dataset.task != "binary" or best >= LEARNED:
        return []
    return [
        f"The models had learned next to nothing (balanced accuracy {best:.2f}; guessing gets 0.50), so this says "
        "little about models that have."
    ]


SECTION = Section(
    name="property_verdict",
    title="Verdict: what models tell about their training rows as a whole",
    short="Verdict",
    studies=(PropertySummary,),
    place=10,
    view=verdict,
)
