"""The answer in plain words: what to set, what it costs, what was read, and what nobody tested."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from seepage.advice.board import Board
from seepage.advice.families import FAMILIES
from seepage.advice.limits import CHANCE, SCORES, Limits, Verdict, unseen
from seepage.advice.measured import Leak
from seepage.advice.search import Found
from seepage.advice.space import Candidate, meaning
from seepage.advice.stages import CONFIRMING
from seepage.report.advice_page import Remark
from seepage.results.interval import Interval
from seepage.studies.rows.settings import RowsSettings

THREAT = (
    "The attacker: a server that follows the protocol and tries to read rows. It sees one update of a client and knows "
    "the model, the labels and the defence with its strength, but not its random numbers."
)
ATTACKS = {
    "exact": "by algebra",
    "fast": "by searching for rows that give the same update",
    "adaptive": "by one who knows the defence",
}
ENOUGH = 30  # updates: fewer leave more than a tenth of them unseen
LARGE = 20.0  # an epsilon from which on next to nothing is promised
RATE = RowsSettings.model_fields["learning_rate"].default  # no setting of a search has another
SHOWN = 6  # settings that are listed by name


def answer(
    board: Board, found: Found, task: str, exposure: float, *, clients: int = 10, plan: str = "", updates: int = 0
) -> list[str]:
    """The answer, a paragraph each.

    Args:
        exposure: passes over the rows that models were trained for.
        plan: the file that repeats the confirmation, on so many ``updates``; empty if there is none.
    """
    score = SCORES[task][1]
    lines = [_asked(board.limits, score), ""]
    if found.recommended is None:
        lines += _nothing(board, found, score)
    else:
        lines += _recommended(board, found, found.recommended, score)
        lines += _strength(board, found, found.recommended)
        lines += _next_best(board, found, score)
        lines += _do_next(board, found, found.recommended, plan, updates)
    passes = "1 pass" if exposure == 1 else f"{exposure:g} passes"
    trained = (
        f"Measured with: {clients} clients and our MLP, trained for {passes} over the rows (--exposure) by plain SGD "
        f"at a rate of {RATE:g}; other rates and longer training may change costs."
    )
    return [*lines, "", THREAT, trained, *_hardly_learned(board, score)]


def _hardly_learned(board: Board, score: str) -> list[str]:
    """What a model costs cannot be told where even the plain one learned next to nothing."""
    plain, chance = board.worth(board.plain), CHANCE if score == SCORES["binary"][1] else 0.0
    if plain is None or plain.low is None or plain.low > chance:
        return []
    return [
        f"Even the plain model ({board.plain.name}) may be no better than a guess ({score} {number(plain)}), so what "
        "settings cost is not yet told: train longer (--exposure), or give a larger --budget."
    ]


def limits_of_advice(board: Board, found: Found, impossible: Mapping[Candidate, str]) -> list[Remark]:
    """What no tested setting achieves, and what was not tested."""
    trained = sum(board.worth(each) is not None for each in board.courses)
    lines = [
        Remark(
            f"Of {_all(board, found)} settings {len(board.courses)} were attacked, {trained} of them trained too; "
            f"there was no time for {len(found.untested)}."
        )
    ]
    broken = [each for each in board.courses if board.safety(each) is Verdict.BROKEN]
    if broken:
        lines.append(_listed(board, "Leaked more than allowed, beyond doubt", broken))
    dear = [
        each
        for each in board.courses
        if board.safety(each) is not Verdict.BROKEN and board.cost(each) is Verdict.BROKEN
    ]
    if dear:
        lines.append(_listed(board, "Cost more than allowed, beyond doubt", dear))
    lines += map(Remark, _unmet(board, found))
    unknown = [each for each, course in board.courses.items() if course.leak is None or course.leak.failed]
    if unknown:
        lines.append(_listed(board, "Could not be measured, because attacks failed, so nothing is known", unknown))
    lines += _left_out(board, found)
    if impossible:
        why = next(iter(impossible.values()))
        lines.append(_listed(board, "Not possible on this table", list(impossible), after=f" {why}"))
    outside = (
        f"Outside of this search: an attacker who joins several rounds, a server that cheats, secure aggregation, "
        f"membership and property inference, other models than our MLP, and defences other than {', '.join(FAMILIES)}."
    )
    return [*lines, Remark(outside), Remark("Held against these attackers is not a proof of privacy.")]


def _all(board: Board, found: Found) -> int:
    """Settings of the search, looked at or not."""
    return len(board.courses) + len(found.untested) + len(found.implied)


def _left_out(board: Board, found: Found) -> list[Remark]:
    """What was not looked at, or not to the end, and why."""
    halfway = [each for each in board.courses if board.worth(each) is None and not board.out(each)]
    kinds = {
        "No time for (a larger --budget goes on from here)": found.untested,
        "Attacked quickly and not trained, so what they cost is not known": [
            each for each in halfway if not board.costs_weaker(each)
        ],
        "Not trained, because the same defence cost too much when it was weaker": [
            each for each in halfway if board.costs_weaker(each)
        ],
        "Not attacked, because the same defence leaked too much when it was stronger": found.implied,
    }
    return [_listed(board, why, every) for why, every in kinds.items() if every]


def share(value: Interval | None) -> str:
    """A share with its interval, in per cent.

    Example:
        >>> share(Interval(0.1, 0.05, 0.2))
        '10.0 % (5.0 to 20.0)'
    """
    if value is None:
        return "-"
    ends = "" if value.low is None or value.high is None else f" ({100 * value.low:.1f} to {100 * value.high:.1f})"
    return f"{100 * value.mean:.1f} %{ends}".replace("-0.0", "0.0")


def number(value: Interval | None) -> str:
    """A score with its interval.

    Example:
        >>> number(Interval(0.81, 0.8, 0.82)), number(Interval(0.5, None, None))
        ('0.810 (0.800 to 0.820)', '0.500')
    """
    if value is None:
        return "-"
    ends = "" if value.low is None or value.high is None else f" ({value.low:.3f} to {value.high:.3f})"
    return f"{value.mean:.3f}{ends}".replace("-0.000", "0.000")


def _asked(limits: Limits, score: str) -> str:
    rows = "no row" if limits.rows_exact == 0 else f"at most {limits.rows_exact:.1%} of the rows"
    worth = f"ROC AUC at least {limits.min_auc:g}" if limits.min_auc else f"{score} at most {limits.max_loss:g} lower"
    flags = "--max-rows-exact, --max-gain and " + ("--min-auc" if limits.min_auc else "--max-loss")
    return (
        f"Asked: {rows} read exactly, at most {limits.gain:.1%} of the cells read beyond guessing, and {worth} "
        f"({flags} change this)."
    )


def _recommended(board: Board, found: Found, chosen: Candidate, score: str) -> list[str]:
    leak, loss = board.courses[chosen].leak, board.loss(chosen)
    assert leak is not None
    many = len(board.courses[chosen].scores)
    cost = f"Costs: {score} {number(board.worth(chosen))} in {many} training{'s' if many > 1 else ''}"
    if chosen == board.plain:
        cost += "; this is the plain setting, so nothing is lost."
    else:
        plain = board.worth(board.plain)
        cost += f", against {number(plain)} for {board.plain.name}: {_loss(loss)}."
        if board.cost(chosen) is not Verdict.HELD:
            cost += " The interval reaches beyond your limit, so more trainings could show that it costs too much."
    heading = "Recommended" if found.confirmed else "Best so far, but NOT CONFIRMED"
    if found.confirmed and not firm(board, found):
        heading = f"Best so far, not yet shown to be safe ({board.courses[chosen].confirmed_by} updates attacked)"
    lines = [f"{heading}: {chosen.name}.", f"That is: {meaning(chosen)}.", cost, _read(leak)]
    return [*lines, _promise(chosen, board.courses[chosen].epsilon)]


def firm(board: Board, found: Found) -> bool:
    """Whether every attack was run on the recommended setting, on enough updates to rely on it."""
    chosen = found.recommended
    return found.confirmed and chosen is not None and board.courses[chosen].confirmed_by >= ENOUGH


def _promise(chosen: Candidate, epsilon: float | None) -> str:
    if epsilon is None:
        why = "This defence has no guarantee" if not chosen.plain else "There is no defence"
        return f"Promises: nothing. {why}; the only evidence is that attacks failed."
    whose = "a row of the worst client" if chosen.family == "dp_sgd" else "all rows of the worst client together"
    little = ""
    if epsilon > LARGE:
        little = " An epsilon so large promises next to nothing: the only evidence is that attacks failed."
    told = f"{epsilon:.3g}" if epsilon < 1000 else f"{float(f'{epsilon:.3g}'):,.0f}"
    return f"Promises: epsilon {told} at delta 1e-5 for {whose}.{little}"


def _loss(loss: Interval | None) -> str:
    if loss is None:
        return "the loss could not be measured"
    if loss.mean < 0:
        return f"{-loss.mean:.3f} better (loss {number(loss)})"
    return f"{number(loss)} lower"


def _read(leak: Leak) -> str:
    high = leak.exact.high if leak.exact.high is not None else 1.0
    gain = leak.gain.mean if leak.gain.high is None else leak.gain.high
    beyond = "no more cells than guessing gets" if leak.gain.mean <= 0 else f"{leak.gain.mean:.1%} of the cells more"
    beyond += f" (up to {gain:.1%} more)" if gain > 0 else ""
    open_ = f" With {leak.trials} updates, up to {high:.1%} of all could leak without having been seen (at 95 %)."
    known = "" if any(each.startswith("adaptive") for each in leak.attacks) else "; not yet by who knows the defence"
    if leak.presence is not None and leak.presence.mean > 0:
        beyond += (
            f"; and whether anybody in the batch has a category was told for {leak.presence.mean:.1%} of the "
            "categories more than a guess gets, which is not one of your limits"
        )
    return (
        f"Read under it: {leak.rows_exact} of {leak.rows:,} rows exactly, and {beyond}.{open_} "
        f"Attacked {', '.join(_short(each) for each in leak.attacks)}{known}."
    )


def _strength(board: Board, found: Found, chosen: Candidate) -> list[str]:
    if found.confirmed:
        many = board.courses[chosen].confirmed_by
        enough = "" if many >= ENOUGH else f" It is called recommended from {ENOUGH} on."
        return [f"Tested: every attack with its full effort, on {many} updates of fresh seeds.{enough}"]
    return [
        "Tested: not enough. There was no time for all attacks with their full effort, and stronger ones can read "
        "more: do not rely on it yet."
    ]


def _do_next(board: Board, found: Found, chosen: Candidate, plan: str, updates: int) -> list[str]:
    """What makes the answer surer."""
    lines = []
    if not firm(board, found):
        lines.append("the same command with a larger --budget goes on from here")
    if plan and updates > board.courses[chosen].confirmed_by:
        lines.append(
            f"seepage audit --plan {plan} attacks {updates} updates: if nothing leaks, what could leak unseen falls to "
            f"{unseen(updates):.1%}"
        )
    return [f"Do next: {'; or '.join(lines)}."] if lines else []


def _next_best(board: Board, found: Found, score: str) -> list[str]:
    if not found.next_best:
        return ["Next best: none so far. Other settings that were trained leak, cost too much, or are not clear yet."]
    said = []
    for each in found.next_best:
        last = "" if board.courses[each].stage in CONFIRMING else ", not confirmed"
        said.append(f"{each.name} ({score} {number(board.worth(each))}{last})")
    return [f"Next best: {'; '.join(said)}."]


def _nothing(board: Board, found: Found, score: str) -> list[str]:
    lines, later = ["No tested setting meets these limits."], []
    if found.untested:
        lines = [
            f"No setting that was tested meets these limits, and there was no time for {len(found.untested)} of "
            f"{_all(board, found)}."
        ]
        later = ["Do next: the same command with a larger --budget goes on from here."]
    if found.nearest is None:
        return [*lines, *later]
    leak = board.courses[found.nearest].leak
    lines.append(f"Nearest: {found.nearest.name}, with {score} {number(board.worth(found.nearest))} and "
                 f"{_loss(board.loss(found.nearest))}.")  # fmt: skip
    return [*lines, *([_read(leak)] if leak else []), *later]


def _unmet(board: Board, found: Found) -> list[str]:
    """What no setting of a whole kind achieves; nothing is said of a kind of which some are untested."""
    families = {each.family for each in board.courses}
    safe = {each.family for each in board.courses if board.safety(each) is not Verdict.BROKEN}
    lost = sorted(families - safe - {each.family for each in found.untested})
    if not lost:
        return []
    names = ["no defence" if name == "none" else name for name in lost]
    return [f"Every setting that was tested leaked more than allowed with {' or '.join(names)}."]


def _short(attack: str) -> str:
    name, _, options = attack.partition(":")
    told = ATTACKS.get(name, f"with {name}")
    return f"{told} ({name}, cut short)" if options else f"{told} ({name})"


def _listed(board: Board, why: str, every: Sequence[Candidate], after: str = "") -> Remark:
    names = [
        board.label(each) for each in sorted(every, key=lambda each: not each.local_epochs)
    ]  # other protocols first
    more = f"; and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return Remark(f"{why}: {'; '.join(names[:SHOWN])}{more}.{after}", tuple(names[SHOWN:]))
