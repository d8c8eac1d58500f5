"""The host knows some rows of a guest, and solves for all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from seepage._core import NotApplicable, Outcome, Progress, Streams, silent
from seepage.attacks.parties.attack import Messages
from seepage.attacks.parties.ridge import carried_over, one_hot
from seepage.attacks.vertical.reading import read_with_known_rows
from seepage.observation import Claim
from seepage.observation.parties import HostScene, Received, averaged


@dataclass(frozen=True, kw_only=True)
class KnownRows:
    """A linear map from intermediate results back to columns, fitted to the rows that the host knows.

    Needs intermediate results after training and known rows. Where the guest adds noise, of which the host knows, the
    map is a ridge regression that also uses the host's own columns and labels, and everything that was sent for a row
    is averaged first.

    Guarantees:
        Without noise and with a linear part at the guest: every row is recovered up to rounding, as soon as the known
        rows span what all rows do (:func:`seepage.attacks.vertical.read_with_known_rows`).

    References:
        Seepage; linear algebra.

    Example:
        >>> KnownRows().reads
        'columns'
    """

    reads: ClassVar[Literal["columns", "labels"]] = "columns"

    def start(self, scene: HostScene, streams: Streams, *, progress: Progress = silent) -> Messages:
        """A reader of one guest's messages."""
        _check(scene)

        def answer(seen: Sequence[Received]) -> Claim:
            z = averaged(seen, scene.rows)
            exact = scene.noise == 0 and z.shape[1] == scene.layout.width
            rows = (
                read_with_known_rows(z, scene.known_rows, scene.known_x)
                if exact
                else carried_over(np.concatenate([z, _held(scene)], 1), scene.known_rows, scene.known_x)
            )
            return Claim(outcome=Outcome.OK, rows=rows, ordered=True)

        return Messages(answer)

    def alone(self, scene: HostScene, streams: Streams) -> Claim:
        """The same rows carried over by the host's own columns and labels."""
        _check(scene)
        rows = carried_over(_held(scene), scene.known_rows, scene.known_x)
        return Claim(outcome=Outcome.OK, rows=rows, ordered=True)


def _held(scene: HostScene) -> np.ndarray:
    """(rows, width) what the host holds of every row without a message."""
    return np.concatenate([scene.own, one_hot(scene.labels)], 1)


def _check(scene: HostScene) -> None:
    if len(scene.known_rows) < 2:
        raise NotApplicable(f"The host knows {len(scene.known_rows)} rows of the guest; it needs at least 2.")
