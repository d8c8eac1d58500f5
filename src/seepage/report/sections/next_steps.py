"""What to do next: a few steps that follow from what was found, and from what is not known."""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import dataclass

from seepage._core import Outcome
from seepage.report.leaks import leaks_of
from seepage.report.level import Level
from seepage.report.section import Section
from seepage.report.sections.cohorts_verdict import verdict as cohorts_verdict
from seepage.report.sections.parties_verdict import verdict as parties_verdict
from seepage.report.sections.property_verdict import verdict as property_verdict
from seepage.report.sections.servers_verdict import verdict as servers_verdict
from seepage.report.sections.training_verdict import verdict as training_verdict
from seepage.report.sections.untold_verdict import untold_verdict
from seepage.report.sections.verdict import verdict as rows_verdict
from seepage.report.settings import values_of
from seepage.report.worth import worthless
from seepage.results.cohorts import CohortsSummary
from seepage.results.parties import PartiesSummary
from seepage.results.property import PropertySummary
from seepage.results.rows import RowsSummary
from seepage.results.servers import ServersSummary
from seepage.results.summary import Summary
from seepage.results.training import TrainingSummary
from seepage.results.updates import UpdatesSummary
from seepage.results.vertical import VerticalSummary

FEW = 10  # trials, below which more of them come before anything else


@dataclass(frozen=True)
class Step:
    """One thing to do, and the command that does it, if there is one."""

    sentence: str
    command: str = ""


@dataclass(frozen=True)
class NextSteps:
    """What to do, the most urgent first."""

    steps: tuple[Step, ...]


def next_steps(summary: Summary) -> NextSteps:
    """What follows from a summary."""
    level = _level(summary)
    first, then = _unknown(summary, level), _found(summary, level)
    learn = _learn(summary)
    order = [*first, *then, *learn] if level is Level.LEAKS else [*first, *learn, *then]  # a leak comes before all else
    steps = [*order, *_limit(summary)]
    return NextSteps(tuple(steps))


def _level(summary: Summary) -> Level:
    if isinstance(summary, PropertySummary):
        return property_verdict(summary).level
    if isinstance(summary, TrainingSummary):
        return training_verdict(summary).level
    if isinstance(summary, PartiesSummary):
        return parties_verdict(summary).level
    if isinstance(summary, CohortsSummary):
        return cohorts_verdict(summary).level
    if isinstance(summary, ServersSummary):
        return servers_verdict(summary).level
    if isinstance(summary, UpdatesSummary) and (untold := untold_verdict(summary)):
        return untold.level
    assert isinstance(summary, RowsSummary | VerticalSummary | UpdatesSummary)
    return rows_verdict(summary).level


def _unknown(summary: Summary, level: Level) -> list[Step]:
    """What must be measured before anything can be said."""
    steps = []
    states = Counter(entry.state for entry in summary.not_run)
    if summary.unfinished or states["missing"]:
        again = f"{summary.command} --out {shlex.quote(summary.path)}" if summary.path and summary.command else ""
        steps.append(Step("Let the run finish: what is there is kept, and the same command goes on.", again))
    if states["crashed"]:
        steps.append(Step("Look into the folder errors of the run, and start it again: what broke is tried once more."))
    if level in (Level.INCOMPLETE, Level.NOT_FOUND) and _spent(summary):
        steps.append(
            Step("Give attacks that ran out of their budget more of it: their options are steps and restarts.")
        )
    if isinstance(summary, UpdatesSummary) and level in (Level.INCOMPLETE, Level.NOT_MEASURED):
        steps.append(
            Step("Have a client audit itself: with the rows behind its update (--truth) what was read is measured.")
        )
    if isinstance(summary, PropertySummary) and level is Level.INCOMPLETE:
        steps.append(Step("Read more target models (--models-per-class): few leave a wide interval."))
    fewest = min((cell.trials for cell in summary.cells), default=0)
    if level is not Level.LEAKS and 0 < fewest < FEW and values_of(summary, "trials"):
        steps.append(Step(f"Raise the number of trials (--trials): some settings have only {fewest}."))
    return steps


def _learn(summary: Summary) -> list[Step]:
    """A model that has learnt nothing says little about one that has."""
    if not isinstance(summary, RowsSummary) or not worthless(summary):
        return []
    return [Step("Train the model until it is worth something (--exposure), and audit it then.")]


def _spent(summary: Summary) -> bool:
    if not isinstance(summary, RowsSummary | VerticalSummary | UpdatesSummary):
        return False
    return any(leak.result.outcome == Outcome.BUDGET_SPENT.code for leak in leaks_of(summary))


def _found(summary: Summary, level: Level) -> list[Step]:
    """What to change where something leaks, and what to try where nothing was found."""
    if level not in (Level.LEAKS, Level.SOME):
        stronger = "Try other attacks before you rely on it: nothing found is no proof."
        listed = {"training": "", "property": "seepage readers list"}.get(summary.study, "seepage attacks list")
        return [Step(stronger, listed)]
    if isinstance(summary, TrainingSummary):
        return [Step("Do not call the messages private: settle by contract who may hold them, or do not send them.")]
    if isinstance(summary, PartiesSummary):
        return [
            Step("Do not call the messages private: settle by contract who may hold them, or do not send them."),
            Step("See what a defence on messages leaves here, and what it costs.", _with_message_defences(summary)),
        ]
    if isinstance(summary, CohortsSummary):
        return _larger_cohorts(summary)
    if isinstance(summary, ServersSummary):
        return [
            Step("Let no client train on weights that it did not check: names and shapes first, then statistics."),
            Step(
                "Let clients add private noise themselves. Sums over clients (secure aggregation) help only if the "
                "server cannot choose who is in them, nor send clients different weights; that was not tested."
            ),
            Step("See what a server that follows the protocol reads.", "seepage audit"),
        ]
    if isinstance(summary, PropertySummary):
        return [
            Step("Do not hand out models whose owners' shares are secret, or balance the rows they are trained on."),
            Step("See what a defence is worth here, and what it costs.", "seepage defenses list"),
        ]
    if isinstance(summary, UpdatesSummary):
        known = [Step("Try the settings under “Which setting to change”, and record again.")] * bool(summary.framework)
        return [
            Step("Do not send these updates as they are to a party that must not see the rows."),
            *known,
            Step(
                "Simulate the federation with a table like its own, and see which settings stop this.", "seepage audit"
            ),
        ]
    tested = [spec for spec in values_of(summary, "defenses") if isinstance(spec, list)]
    defended = any(entry != "none" for spec in tested for entry in spec)
    steps = [Step("Do not send these updates as they are to a party that must not see the rows.")]
    if defended:
        steps.append(Step("Compare the choices under “Which settings are safer”, and look at what each is worth."))
    else:
        beside = "Audit a defence beside what you have, and look at what it costs."
        if isinstance(summary, RowsSummary):  # other studies have no such attack
            beside += " Name the attack adaptive too (--attacks): it knows the defence; without it none counts as "
            beside += "tested."
        steps.append(Step(beside, _with_defences(summary)))
    return steps


def _larger_cohorts(summary: CohortsSummary) -> list[Step]:
    """What stops reading of sums, as far as it was counted."""
    steps = [Step("Do not rely on secure aggregation alone: a sum over this cohort does not hide its clients.")]
    counted = [each for each in summary.counted if each.cohort is not None]
    if counted:
        most = max(counted, key=lambda each: each.cohort or 0)
        larger = f"Make cohorts larger: by counting, {most.cohort} clients or more hide their rows in one sum."
        steps.append(Step(f"{larger} {most.why} Several rounds or changing cohorts may open it again."))
    steps.append(
        Step(
            "Never run a round again at the same weights without a client, and add noise on the sum or at the clients."
        )
    )
    return steps


def _with_defences(summary: Summary) -> str:
    """The same audit with defences beside none; a plan has its own file."""
    if not summary.command or "--plan" in summary.command:
        return "seepage defenses list"
    return f"{summary.command} --defense none,dp_sgd:noise=1"


def _with_message_defences(summary: Summary) -> str:
    """The same audit with defences on messages beside none."""
    if not summary.command or "--plan" in summary.command or "--defense" in summary.command:
        return "seepage defenses list"
    return f"{summary.command} --defense none,dp_intermediates,dp_gradients"


def _limit(summary: Summary) -> list[Step]:
    """A gate, so that it stays as it is."""
    if not summary.cells or not summary.path:
        return []
    judged = "--max-exact 0" if any("exact" in cell.judged for cell in summary.cells) else "--max-gain 0.05"
    return [
        Step(
            "Put a limit into your build, so that nobody makes it worse unseen.",
            f"seepage gate --run {shlex.quote(summary.path)} {judged}",
        )
    ]


SECTION = Section(
    name="next_steps", title="What to do next", short="What to do next", studies=(Summary,), place=12, view=next_steps
)
