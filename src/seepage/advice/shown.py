"""The answer as the page that the report room draws."""

from __future__ import annotations

import datetime
from importlib.metadata import version
from typing import TYPE_CHECKING

from seepage.advice.board import Board
from seepage.advice.frontier_table import LEGEND
from seepage.advice.limits import SCORES
from seepage.advice.words import firm, number, share
from seepage.report.advice_page import AdvicePage
from seepage.report.frontier_picture import Dot, Limit
from seepage.report.words import moment

if TYPE_CHECKING:
    from seepage.advice.advising import Advice

_NUMBER, _FRONTIER = 0, -1  # columns of the table


def page_of(advice: Advice, task: str, table: str, digest: str, command: str) -> AdvicePage:
    """What the page shows."""
    now = moment(datetime.datetime.now(datetime.UTC).isoformat())
    score = SCORES[task][1]
    asked, headline, *rest = [line for line in advice.answer if line]
    return AdvicePage(
        table=table,
        facts=f"Answered {now}; table fingerprint {digest}; Seepage {version('seepage')}.",
        headline=headline,
        confirmed=firm(advice.board, advice.found),
        answer=(asked, *rest),
        limits=tuple(advice.limits),
        headings=tuple(advice.headings),
        rows=tuple(map(tuple, advice.rows)),
        legend=LEGEND,
        dots=_dots(advice, score),
        allowed=_allowed(advice.board, score),
        score=score,
        frameworks=advice.frameworks,
        plan=advice.plan,
        command=command,
    )


def _dots(advice: Advice, score: str) -> tuple[Dot, ...]:
    dots = []
    for candidate, row in zip(advice.board.ranked(), advice.rows, strict=True):
        point = advice.board.point(candidate)
        assert point is not None
        dots.append(
            Dot(
                number=row[_NUMBER],
                name=candidate.name,
                told=(
                    f"{share(point.gain)} of cells gained, {share(point.exact)} of rows exact",
                    f"{score} {number(point.utility)}"
                    + (f", presence {share(point.presence)}" if point.presence else ""),
                ),
                leak=point.gain,
                utility=point.utility,
                best=row[_FRONTIER] == "yes",
                chosen=candidate == advice.chosen,
                sure=firm(advice.board, advice.found),
            )
        )
    return tuple(dots)


def _allowed(board: Board, score: str) -> tuple[Limit, ...]:
    limits, plain = board.limits, board.worth(board.plain)
    found = [Limit("leak", limits.gain, f"at most {limits.gain:.1%}")]
    if limits.min_auc is not None:
        found.append(Limit("utility", limits.min_auc, f"{score} at least {limits.min_auc:g}"))
    elif plain is not None and limits.max_loss is not None:
        found.append(Limit("utility", plain.mean - limits.max_loss, f"at most {limits.max_loss:g} lost"))
    return tuple(found)
