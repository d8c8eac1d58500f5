"""The frontier as a table: a line for every setting whose worth and leak are known."""

from __future__ import annotations

from seepage.advice.board import Board
from seepage.advice.frontier import dominated_by
from seepage.advice.limits import Verdict
from seepage.advice.space import Candidate
from seepage.advice.words import number, share

HEADINGS = (
    "", "setting", "limits", "updates", "attacks", "rows exact", "cells gained", "loss", "utility", "presence",
    "trainings", "frontier",
)  # fmt: skip
LEGEND = (
    "Limits: yours, met or not. Updates: how many were attacked. Attacks: quick ones, one with its full effort, or "
    "all. Rows exact: rows read back whole; the upper end allows for what so few updates would not show. Cells gained: "
    "cells read beyond what guessing each column's usual values gets; at 0 and below the attack read nothing that a "
    "guess does not get, and further below is not safer. Loss: of the score, against the plain setting in the same "
    "trainings, so its interval is narrower than that of the utility. Presence: of all categories, those of which it "
    "was rightly said whether anybody in the batch has them, beyond what a guess from public shares gets; not one of "
    "your limits, and - where none could be told. Frontier: no other setting is better beyond doubt."
)
DEPTHS = {"screen": "quick", "train": "quick", "press": "one, full", "arsenal": "all", "confirm": "all"}


def table(board: Board) -> tuple[list[str], list[list[str]]]:
    """The frontier as a table: headings, and a line for every setting whose worth and leak are known."""
    points = {point.name: point for point in board.points()}
    better = dominated_by(list(points.values()))
    shown = board.ranked()
    numbers = {each.name: place for place, each in enumerate(shown, start=1)}
    lines = []
    for candidate in shown:
        point, beaten = points[candidate.name], better[candidate.name]
        lines.append(
            [
                str(numbers[candidate.name]),
                board.label(candidate),
                _met(board, candidate),
                str(_updates(board, candidate)),
                DEPTHS[board.courses[candidate].stage],
                share(point.exact),
                share(point.gain),
                number(board.loss(candidate)),
                number(point.utility),
                share(point.presence),
                str(len(board.courses[candidate].scores)),
                f"no, {min(numbers[name] for name in beaten)} is better" if beaten else "yes",
            ]
        )
    return list(HEADINGS), lines


def _met(board: Board, candidate: Candidate) -> str:
    safety, cost = board.safety(candidate), board.cost(candidate)
    if safety is Verdict.BROKEN:
        return "leaks too much"
    if cost is Verdict.BROKEN:
        return "costs too much"
    return "met" if (safety, cost) == (Verdict.HELD, Verdict.HELD) else "not clear"


def _updates(board: Board, candidate: Candidate) -> int:
    leak = board.courses[candidate].leak
    return leak.trials if leak else 0
