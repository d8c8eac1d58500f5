"""An audit that plans itself: what the user left open is chosen so that the run ends in time.

A probe tells what a round of training and an attack cost (``cost.py``). Then the passes over the rows, the attacked
updates and the attack's budget are made smaller, the dearest part first, until the estimate fits. What the user gave is
never changed. Everything chosen is a setting like any other: it is in the summary, and the command that repeats the
run says it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from seepage._core import InputError, Progress, silent
from seepage._core.stopwatch import Stopwatch, duration
from seepage.data.source import Source
from seepage.plans import registry
from seepage.plans.spec import Spec, options_of
from seepage.studies.rows.cost import AttackCost, attack_cost, first_update, round_seconds
from seepage.studies.rows.making import EXPOSURE
from seepage.studies.rows.running import RowsChoice, rounds_of
from seepage.studies.rows.settings import RowsSettings

LARGER = (32, 128)  # batches that a bare audit attacks too, where there is time
TRAINING = (25.0, 10.0, 5.0, 2.0, 1.0, 0.5, 0.2, 0.1)  # passes over the rows
# What attacks give up, one after the other: restarts hardly change what is read, and steps come last.
LESS = (
    ("restarts", 15), ("restarts", 10), ("trials", 6), ("restarts", 5), ("trials", 4), ("starts", 5), ("steps", 300),
    ("restarts", 3), ("start_steps", 150), ("steps", 200), ("trials", 3), ("restarts", 1), ("starts", 2),
    ("steps", 100), ("start_steps", 50), ("trials", 2), ("steps", 50), ("start_steps", 20), ("steps", 20),
)  # fmt: skip
DECENT = 5  # of LESS that may be given up for another batch size; what is more would spoil the first
SHARE = 0.8  # of the time that is planned with: estimates are no promises


@dataclass(frozen=True)
class Fitted:
    """What was chosen.

    Args:
        seconds: estimated, with one process.
        lines: for the user, before anything is run.
    """

    settings: RowsSettings
    seconds: float
    lines: tuple[str, ...]


@dataclass(frozen=True)
class _Costs:
    """Of one batch size."""

    round: float
    attacks: tuple[AttackCost, ...]


def fitted(
    source: Source,
    settings: RowsSettings,
    given: Collection[str],
    seconds: float,
    *,
    jobs: int = 1,
    progress: Progress = silent,
) -> Fitted:
    """Settings with which an audit ends within so many seconds, if that can be.

    Args:
        given: names of the settings that the user chose.
        jobs: processes; choices are divided over them.
    """
    probe = _Prober(source, settings, progress)
    sizes = settings.batch_sizes
    plan = _less(probe, settings, given, seconds * SHARE, jobs)
    if "batch_sizes" not in given and settings.protocol == "fedsgd":
        for larger in LARGER:
            more = settings.model_copy(update={"batch_sizes": (*sizes, larger)})
            if not probe.possible(more) or probe.watch.taken * 4 > seconds:
                break
            wider = _less(probe, more, given, seconds * SHARE, jobs, most=DECENT)
            if wider.seconds > seconds * SHARE:
                break
            plan, sizes = wider, more.batch_sizes
    return replace(plan, lines=_lines(settings, plan, given, seconds))


class _Prober:
    """Tries every kind of work once."""

    def __init__(self, source: Source, settings: RowsSettings, progress: Progress) -> None:
        self._source, self._settings, self._progress = source, settings, progress
        self._known: dict[RowsChoice, _Costs] = {}
        self.watch = Stopwatch()

    def possible(self, settings: RowsSettings) -> bool:
        """Whether the largest batch can be drawn at all."""
        try:
            rounds_of(self._source, settings, settings.batch_sizes[-1])
        except InputError:
            return False
        return True

    def seconds(self, settings: RowsSettings) -> tuple[float, float]:
        """Estimated seconds of training and of attacks, with one process."""
        training = attacking = 0.0
        for choice in _choices(settings):
            costs = self._costs(choice)
            training += costs.round * sum(rounds_of(self._source, settings, choice.batch_size))
            for spec, cost in zip(settings.attacks, costs.attacks, strict=True):  # budgets change, their order does not
                attack = registry.make("attack", spec, "rows", settings.attack_options)
                attacking += cost.seconds(attack, settings.trials) * len(settings.attack_points)
        return self.watch.busy * training, self.watch.busy * attacking

    def _costs(self, choice: RowsChoice) -> _Costs:
        if choice not in self._known:
            self._progress("trying", len(self._known), len(self._known) + 1, choice.label)
            with self.watch:
                update = first_update(self._source, self._settings, choice)
                attacks = tuple(attack_cost(name, self._settings, update) for name in self._settings.attacks)
                self._known[choice] = _Costs(round_seconds(self._source, self._settings, choice), attacks)
        return self._known[choice]


def _choices(settings: RowsSettings) -> list[RowsChoice]:
    return [
        RowsChoice(model, defense, size)
        for model in settings.models
        for defense in settings.defenses
        for size in settings.batch_sizes
    ]


def _less(
    probe: _Prober, settings: RowsSettings, given: Collection[str], seconds: float, jobs: int, most: int = len(LESS)
) -> Fitted:
    """Smaller and smaller work, until the estimate fits or nothing is left to give up."""
    side_by_side = max(1, min(jobs, len(_choices(settings))))
    exposures = _exposures(settings) if "exposure" not in given else iter(())
    cuts = _cuts(settings, given, most)
    while True:
        training, attacking = (each / side_by_side for each in probe.seconds(settings))
        if training + attacking <= seconds:
            break
        first, second = (exposures, cuts) if training > attacking else (cuts, exposures)
        change = next(first, None) or next(second, None)
        if change is None:
            break
        changed = _changed(settings, change)
        if (
            change[0] != "exposure" or settings.rounds == (1,) or probe.possible(changed)
        ):  # rounds must be there to watch
            settings = changed
    return Fitted(settings, training + attacking, ())


def _exposures(settings: RowsSettings) -> Iterator[tuple[str, float]]:
    usual = EXPOSURE[settings.protocol]
    yield from (("exposure", value) for value in TRAINING if value < usual)


def _cuts(settings: RowsSettings, given: Collection[str], most: int) -> Iterator[tuple[str, float]]:
    """What attacks may give up: nothing that the user gave, and nothing they do not have."""
    for name, value in LESS[:most]:
        if name == "trials" and "trials" not in given and value < settings.trials:
            yield name, value
        if name != "trials" and not {"attacks", "attack_options"} & set(given):
            yield name, value


def _changed(settings: RowsSettings, change: tuple[str, float]) -> RowsSettings:
    name, value = change
    if name in ("exposure", "trials"):
        return settings.model_copy(update={name: value})
    return settings.model_copy(
        update={"attacks": tuple(_with_option(each, name, int(value)) for each in settings.attacks)}
    )


def _with_option(text: str, name: str, value: int) -> str:
    """A spec with a smaller budget; as it was if it has no such option, or a smaller one already."""
    options = options_of(registry.make("attack", text, "rows"))
    if options.get(name, 0) <= value:
        return text
    kept = {key: each for key, each in Spec.read(text).options.items() if key != name}
    return ":".join([Spec.read(text).name, *(f"{key}={each}" for key, each in (kept | {name: value}).items())])


def _lines(before: RowsSettings, plan: Fitted, given: Collection[str], seconds: float) -> tuple[str, ...]:
    """What was chosen, for people."""
    after = plan.settings
    said = [
        f"batches of {_and(after.batch_sizes)} rows",
        f"{after.trials} attacked updates at each of {len(after.attack_points)} moments",
        f"{after.exposure if after.exposure is not None else EXPOSURE[after.protocol]:g} passes over the rows",
        f"attack {_and(after.attacks)}",
    ]
    about = duration(plan.seconds)
    lines = [f"Planned to end within {duration(seconds)}: {', '.join(said)}; about {about}."]
    if less := _reduced(before, after):
        lines.append(f"Less than by default, to be in time: {_and(less)}. Give an option to set it, or --thorough.")
    if plan.seconds > seconds:
        lines[0] = f"This will take about {about}, more than {duration(seconds)}: {', '.join(said)}."
    return tuple(lines)


def _reduced(before: RowsSettings, after: RowsSettings) -> list[str]:
    """What was made smaller, as the options that would set it."""
    return [flag for name, flag in _SMALLER.items() if getattr(after, name) != getattr(before, name)]


_SMALLER = {"exposure": "--exposure", "trials": "--trials", "attacks": "--attacks"}


def _and(values: Sequence[object]) -> str:
    words = [str(value) for value in values]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
