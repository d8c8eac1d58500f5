"""How an attack ended: a value with a reason and advice, never a silent zero."""

from __future__ import annotations

from enum import Enum


class Outcome(Enum):
    """The end of an attack. The text says what happened and what to try.

    Only ``OK`` and ``BUDGET_SPENT`` carry a claim that may be scored. The others are counted, never averaged: an
    attack that failed is not evidence of privacy.
    """

    OK = ("ok", "The attack finished.", "")
    BUDGET_SPENT = (
        "budget_spent",
        "The attack used its whole budget of steps; its best answer is scored.",
        "More steps may read more, where rows are left to read.",
    )
    DIVERGED = (
        "diverged",
        "The attack's own loss became infinite or not a number.",
        "Lower the attack's step size or take another start.",
    )
    NOT_APPLICABLE = (
        "not_applicable",
        "This attack does not apply to this set-up.",
        "Choose another attack; this one says nothing about the set-up.",
    )
    FAILED = (
        "failed",
        "The attack stopped with an error.",
        "Look at the cell's note; this is not evidence of privacy.",
    )

    def __init__(self, code: str, reason: str, advice: str) -> None:
        self.code = code
        self.reason = reason
        self.advice = advice

    @property
    def scored(self) -> bool:
        """Whether the claim that comes with this outcome may be measured."""
        return self in (Outcome.OK, Outcome.BUDGET_SPENT)
