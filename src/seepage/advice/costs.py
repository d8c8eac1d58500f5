"""What things took so far, to tell what others will take. Nothing is run for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import mean

from seepage.advice.space import Candidate
from seepage.advice.stages import LEAST, LONGER_THAN, STAGES, Stage
from seepage.advice.state import Chunk, Rate
from seepage.results.rows import RowsResult

MARGIN = 1.2  # for what differs between settings that are taken to be alike
Kind = tuple[bool, int, int, int]
_STAGES = {stage.name: stage for stage in STAGES}


def rates_of(every: Sequence[Candidate], cells: Iterable[RowsResult]) -> list[Rate]:
    """Seconds of every attack on one update, by setting."""
    places = {each.name: place for place, each in enumerate(every)}
    return [
        Rate(place=places[cell.variant], attack=cell.attack, seconds=cell.seconds / cell.trials, updates=cell.trials)
        for cell in cells
        if cell.variant in places and cell.trials
    ]


class Costs:
    """What was measured of the cost of attacks and of everything else.

    Args:
        chunks: of the search so far; those that ended count.
        clients: of a federation.
        jobs: processes that share the work.
    """

    def __init__(self, chunks: Iterable[Chunk], clients: int, jobs: int) -> None:
        self._clients, self._jobs = clients, jobs
        self._rates: dict[tuple[str, Kind], list[float]] = {}
        self._rest: dict[bool, list[float]] = {True: [], False: []}  # of one federation, by whether it is trained
        for chunk in chunks:
            if chunk.seconds is not None:
                self._note(chunk, chunk.seconds)

    def _note(self, chunk: Chunk, seconds: float) -> None:
        every = [Candidate(**each) for each in chunk.settings]
        for rate in chunk.rates:
            self._rates.setdefault((rate.attack, _kind(every[rate.place])), []).append(rate.seconds)
        if chunk.first or (chunk.only_worth is not None and self._jobs > 1):  # it waited, who knows how long
            return
        settings = len(every) + (chunk.only_worth is not None)
        busy = seconds * min(self._jobs, settings) - sum(rate.seconds * rate.updates for rate in chunk.rates)
        federations = settings * max(chunk.trials / self._clients, 1.0)
        self._rest[_STAGES[chunk.stage].trained].append(max(busy, 0.0) / federations)

    def seconds(self, stage: Stage, every: Sequence[Candidate], trials: int, *, beside: bool = False) -> float | None:
        """What a stage on some settings will take, by the clock; None while nothing like it was run.

        Args:
            trials: updates of each setting.
            beside: whether the plain setting is trained beside them, for what it is worth.
        """
        rest = mean(self._rest[stage.trained] or self._rest[not stage.trained] or [0.0])
        points, federations = 2 if stage.trained else 1, max(trials / self._clients, 1.0)
        each_takes = [rest * federations] * beside
        for each in every:
            rates = [0.0 if attack == LEAST else self._rate(attack, _kind(each)) for attack in stage.attacks(each)]
            known = [rate for rate in rates if rate is not None]
            if len(known) < len(rates):
                return None
            each_takes.append(rest * federations + sum(known) * trials * points)
        # A setting is one process's work: several wait for the longest.
        return MARGIN * max(max(each_takes), sum(each_takes) / self._jobs)

    def _rate(self, attack: str, kind: Kind) -> float | None:
        """Seconds for an update: of this attack on this kind, on any, or guessed from a shorter one."""
        known = self._rates.get((attack, kind))
        if known is None:
            known = [mean(each) for (name, _), each in self._rates.items() if name == attack]
        if known:
            return max(known)
        short = "exact" if kind[0] else "fast"  # what every such setting was screened with
        alike = [mean(each) for (name, own), each in self._rates.items() if name.startswith(short) and own == kind]
        return LONGER_THAN[attack.partition(":")[0]] * max(alike) if alike else None


def _kind(candidate: Candidate) -> Kind:
    """What decides how long an attack takes."""
    return candidate.plain, candidate.batch_size, candidate.local_epochs, candidate.width
