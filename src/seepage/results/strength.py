"""Whether a choice was attacked as hard as it could be: a weak attack that reads nothing shows nothing.

Which attacks are the strongest is counted by the study that made the cells (``Result.strongest``), not chosen by the
user. Behind a defence the attack that knows it (``Result.knowing``) must have been run beside them.
"""

from __future__ import annotations

from collections.abc import Sequence

from seepage._core import Outcome
from seepage.results.result import Result


def shortfall(cells: Sequence[Result]) -> str:
    """Why cells of one choice do not show what the strongest applicable attack reads, in a sentence; empty if they do.

    Args:
        cells: every attack on one choice at one moment.
    """
    return _of_strongest(cells) or _of_knowing(cells)


def _of_strongest(cells: Sequence[Result]) -> str:
    ranks = cells[0].strongest
    if ranks is None:
        return "it is not known which attack is the strongest here (an unfinished run, or one of an earlier version)"
    before = ""
    for rank in ranks:
        name = " or ".join(rank)
        tried = [cell for cell in cells if cell.attacker in rank]
        which = f"{before} left rows undetermined, and {name}, which may read them," if before else _FIRST + f" {name},"
        if not tried:
            others = ", ".join(dict.fromkeys(cell.attacker for cell in cells))
            return f"{which} was not run, only {others}"
        whole = [cell for cell in tried if not cell.weaker]
        if not whole:
            return f"{which} was run with less than it ships with ({tried[0].weaker})"
        if any(cell.measured for cell in whole):
            if not _leaves(tried):
                return ""
            before = name
        elif any(cell.outcome != Outcome.NOT_APPLICABLE.code for cell in whole):
            return f"{which} gave nothing to score"
    return ""


_FIRST = "the strongest attack that applies,"


def _leaves(tried: Sequence[Result]) -> bool:
    """Whether all that were tried say that there are rows left, which an attack after them may read."""
    return all(cell.leaves_rows for cell in tried)


def _of_knowing(cells: Sequence[Result]) -> str:
    """What a defence hides from those who are blind to it is not what it hides."""
    name = cells[0].knowing
    tried = [cell for cell in cells if cell.attacker == name]
    if not name or any(cell.measured and not cell.weaker for cell in tried):
        return ""
    said = f"the defence was not tested: {name}, the attack that knows it,"
    if not tried:
        return f"{said} was not run"
    if weak := next((cell.weaker for cell in tried if cell.weaker), ""):
        return f"{said} was run with less than it ships with ({weak})"
    if all(cell.outcome == Outcome.NOT_APPLICABLE.code for cell in tried):
        return ""
    return f"{said} gave nothing to score"


def asked_for(cells: Sequence[Result]) -> str:
    """The attack that a gate asks for on a choice: the strongest that did not say that it cannot be mounted."""
    for rank in cells[0].strongest or ():
        tried = [cell for cell in cells if cell.attacker in rank]
        if not tried or any(cell.outcome != Outcome.NOT_APPLICABLE.code for cell in tried):
            return " or ".join(rank)
    return ""
