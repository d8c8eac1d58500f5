"""Which shares are confused: true and named ranges, for the best meta-model of every cut."""

from __future__ import annotations

from dataclasses import dataclass

from seepage.report.section import Section
from seepage.report.shares import Question, loss_of, questions_of
from seepage.report.words import percent
from seepage.results.property import PropertyResult, PropertySummary

SHADES = 5  # see report.css


@dataclass(frozen=True)
class Shaded:
    """One cell: how many percent of its row, and how dark it is."""

    text: str
    shade: str


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """The targets of one meta-model by true range (row) and named range."""

    title: str
    caption: str
    ranges: tuple[str, ...]
    rows: tuple[tuple[Shaded, ...], ...]


@dataclass(frozen=True)
class Matrices:
    """Those of one question."""

    label: str
    every: tuple[Matrix, ...]


@dataclass(frozen=True)
class Confusion:
    """The question that leaks most, and the others."""

    first: Matrices
    others: tuple[Matrices, ...]


def confusion(summary: PropertySummary) -> Confusion | None:
    """The matrices; nothing if no range was named."""
    questions = [question for question in questions_of(summary) if question.best]
    if not questions:
        return None
    ordered = sorted(questions, key=lambda question: question.rank, reverse=True)
    first, *others = [_matrices(question) for question in ordered]
    return Confusion(first, tuple(others))


def _matrices(question: Question) -> Matrices:
    return Matrices(question.label, tuple(_matrix(cell, question.label) for cell in question.best))


def _matrix(cell: PropertyResult, label: str) -> Matrix:
    classes = cell.classes
    return Matrix(
        title=f"{classes} ranges, {label}",
        caption=f"{classes} ranges, loss {loss_of(cell)}, {label}: true range (row) and named range (column), percent "
        f"of the row. {percent(cell.accuracy.mean)} of all models lie on the diagonal.",
        ranges=tuple(f"{100 * k / classes:g} to {100 * (k + 1) / classes:g} %" for k in range(classes)),
        rows=tuple(tuple(_shaded(count, sum(row)) for count in row) for row in cell.confusion),
    )


def _shaded(count: int, total: int) -> Shaded:
    share = count / max(total, 1)
    return Shaded(f"{100 * share:.0f}" if share >= 0.005 else "", f"u{round(SHADES * share)}")


SECTION = Section(
    name="confusion",
    title="Which shares are confused",
    short="Which shares are confused",
    studies=(PropertySummary,),
    place=30,
    view=confusion,
)
