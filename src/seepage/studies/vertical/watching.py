"""An attack that watches the batches: how long it took, how it ended, and what it had read on the way."""

from __future__ import annotations

import time

from seepage._core import NotApplicable, NotWritten, Outcome, Streams
from seepage.attacks import Attack, Attacker
from seepage.observation import Claim
from seepage.observation.vertical import VerticalScene, VerticalUpdate
from seepage.results import Measure
from seepage.studies.failing import failure


class Watcher:
    """An attack on the stream. One that fails does not stop the others.

    ``curve`` holds what was measured of it on the way.
    """

    def __init__(self, attack: Attack[VerticalScene, VerticalUpdate], scene: VerticalScene, streams: Streams) -> None:
        self.name = type(attack).__name__
        self.seconds = 0.0
        self.curve: dict[Measure, float] = {}
        self._claim: Claim | None = None
        self._attacker: Attacker[VerticalUpdate] | None = None
        with _Told(self):
            self._attacker = attack.start(scene, streams)

    def see(self, update: VerticalUpdate) -> None:
        """Take one batch."""
        with _Told(self):
            if self._attacker is not None and self._claim is None:
                self._attacker.see(update)

    def so_far(self) -> Claim:
        """What it would claim now; it goes on."""
        claim: Claim | None = self._claim
        with _Told(self):
            if self._attacker is not None and claim is None:
                (claim,) = self._attacker.claims()
        return claim if claim is not None else self.claim()

    def claim(self) -> Claim:
        """What it read."""
        with _Told(self):
            if self._attacker is not None and self._claim is None:
                (self._claim,) = self._attacker.claims()
        assert self._claim is not None
        return self._claim

    def end(self, outcome: Outcome, note: str) -> None:
        """It cannot go on."""
        self._claim = Claim(outcome=outcome, note=note)


class _Told:
    """Times a watcher, and turns what it raises into an outcome."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher

    def __enter__(self) -> None:
        self._begin = time.perf_counter()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        self._watcher.seconds += time.perf_counter() - self._begin
        if isinstance(error, NotApplicable):
            self._watcher.end(Outcome.NOT_APPLICABLE, str(error))
        elif isinstance(error, Exception) and not isinstance(error, NotWritten):
            self._watcher.end(Outcome.FAILED, failure(error, self._watcher.name))
        return isinstance(error, Exception) and not isinstance(error, NotWritten)
