"""The cascade: presence, span, certificates, peeling; and the optimiser for what is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from seepage._core import InputError, Outcome, Progress, Streams, silent
from seepage.attacks.exact.certificate import Rows, certify, distances, exhausted
from seepage.attacks.exact.closed import read_single
from seepage.attacks.exact.handover import Masked, smaller
from seepage.attacks.exact.joint import Fit, certain, fit
from seepage.attacks.exact.presence import State, presence_of
from seepage.attacks.exact.search import Leaves, span_search
from seepage.attacks.exact.single import polish, pull
from seepage.attacks.exact.view import View, view_of
from seepage.attacks.inversion import Inversion, Runs, fast
from seepage.observation import Claim, Observation

WIDE = 28  # a span of more dimensions has too many leaves to search
FEW = 12  # rows that are fitted together
TRIES = 6  # sets of rows that are fitted together


@dataclass(frozen=True, kw_only=True)
class Exact:
    """Read rows by algebra, say which of them are proven, and optimise the rest.

    1. *Presence*: which categories occur.
    2. *Span*: all valid rows in the span of the first layer, where it is small enough to search.
    3. *Single rows*: where it is not, rows of a short optimisation are pulled onto the spans of all layers one by one.
    4. *Certificates* and *peeling*: proven rows are subtracted from the update with their labels; what is left is the
       update of a smaller batch, and 2 and 3 start again on it.
    5. The last rows are fitted together, or optimised as the ``fast`` attack does, without the categories that are
       absent.

    Every row of the answer is certified or estimated; ``certificate.py`` states what certified means. Labels need not be
    known.

    Args:
        steps, restarts: of the optimisation at the end.
        start_steps, starts: of the short ones that only give first guesses.
        turns: how often peeling goes on.
        nodes: nodes of a span search.
        leaves: rows of a span that are looked at more closely.
        compile: as in :class:`Inversion`.

    References:
        ``docs/explanation/exact-inversion.md``. Related: Dimitrov et al., SPEAR, 2024; Petrov et al., DAGER, 2024.

    Example:
        >>> Exact(starts=4).turns
        8
    """

    steps: int = 500
    restarts: int = 30
    start_steps: int = 300
    starts: int = 10
    turns: int = 8
    nodes: int = 100_000
    leaves: int = 3000
    compile: Literal["no", "yes", "auto"] = "auto"

    def __post_init__(self) -> None:
        for name in ("steps", "restarts", "start_steps", "starts", "turns", "nodes", "leaves"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; it must be at least 1.")
        self._engine(self.restarts, self.steps)

    def __call__(
        self, observations: Sequence[Observation], streams: Streams, *, progress: Progress = silent
    ) -> list[Claim]:
        cases = [_Case(observation) for observation in observations]
        for turn in range(self.turns):
            for number, case in enumerate(cases):
                progress("exact", number, len(cases), f"turn {turn + 1}")
                while case.open and self._span(case):
                    pass
            waiting = [case for case in cases if case.open and case.searchable]
            if not waiting:
                break
            found = self._guesses(waiting, streams.child("starts", turn), progress)
            for case, runs in zip(waiting, found, strict=True):
                case.take(_pulled(case.view, runs))
        self._finish([case for case in cases if not case.done and case.observation.finite], streams, progress)
        return [case.claim() for case in cases]

    def _engine(self, restarts: int, steps: int) -> Inversion:
        plain = fast()
        return replace(plain, restarts=restarts, steps=steps, start=Masked(start=plain.start), compile=self.compile)

    def _span(self, case: _Case) -> bool:
        """Search the span and take what is certain; True if that changed the problem."""
        span = case.view.entrance
        if span is None or span.rank > WIDE:
            return False
        leaves = span_search(case.view, self.nodes)
        if not leaves.complete or not 0 < len(leaves.codes) <= self.leaves:
            return False
        return case.take_leaves(leaves)

    def _guesses(self, cases: Sequence[_Case], streams: Streams, progress: Progress) -> list[Runs]:
        """A short optimisation of every case; those with equally many rows together."""
        return self._runs(self._engine(self.starts, self.start_steps), cases, streams, progress)

    def _runs(self, engine: Inversion, cases: Sequence[_Case], streams: Streams, progress: Progress) -> list[Runs]:
        groups: dict[int, list[int]] = {}
        for place, case in enumerate(cases):
            groups.setdefault(case.rest.exchange.rows, []).append(place)
        found: dict[int, Runs] = {}
        for rows, group in groups.items():
            runs = engine.runs([cases[place].rest for place in group], streams.child(rows), progress=progress)
            found |= dict(zip(group, runs, strict=True))
        return [found[place] for place in range(len(cases))]

    def _finish(self, cases: Sequence[_Case], streams: Streams, progress: Progress) -> None:
        """Optimise what is left."""
        if not cases:
            return
        engine = self._engine(self.restarts, self.steps)
        for case, runs in zip(cases, self._runs(engine, cases, streams.child("rest"), progress), strict=True):
            case.finish(runs, engine.pooled(runs, case.observation.space))


def _pulled(view: View, runs: Runs) -> tuple[Tensor, Tensor]:
    """Codes and numbers of every row of every restart, pulled onto the spans."""
    alive = np.isfinite(runs.losses) & np.isfinite(runs.rows).all((1, 2))
    guesses = torch.from_numpy(runs.rows[alive]).flatten(0, 1)
    codes, numbers = pull(view, guesses)
    return codes, polish(view, codes, numbers)


@dataclass
class _Case:
    """One update on its way through the cascade."""

    observation: Observation
    view: View = field(init=False)
    rows: list[Tensor] = field(default_factory=list)  # certified, as inputs
    labels: list[Tensor] = field(default_factory=list)
    likely: Tensor | None = None  # rows that are probably right, where nothing can be subtracted
    idle: int = 0
    note: str = ""
    _claim: Claim | None = None

    def __post_init__(self) -> None:
        observation = self.observation
        if not observation.finite:
            self._claim = Claim(outcome=Outcome.NOT_APPLICABLE, note="The update is zero or holds NaN or infinity.")
            return
        view = view_of(observation)
        states = presence_of(observation).states
        allowed = tuple(
            torch.from_numpy((state != State.ABSENT) & before.numpy())
            for state, before in zip(states, view.allowed, strict=True)
        )
        # Nobody with any category of a column: then the column says nothing.
        allowed = tuple(new if bool(new.any()) else old for new, old in zip(allowed, view.allowed, strict=True))
        self.view = replace(view, allowed=allowed)
        self._closed()

    def _closed(self) -> None:
        cells = read_single(self.observation)
        if cells is not None and cells.complete:
            x = self.view.rows_of(torch.from_numpy(cells.codes)[None], torch.from_numpy(cells.numbers)[None])
            self._add(x, torch.full((1,), torch.nan, dtype=torch.float64))

    @property
    def count(self) -> int:
        """Certified rows."""
        return sum(len(rows) for rows in self.rows)

    @property
    def done(self) -> bool:
        """Nothing is left to find."""
        return self._claim is not None or self.count >= self.observation.exchange.rows

    @property
    def open(self) -> bool:
        """Whether algebra may still find something."""
        return not self.done and self.idle < 2 and bool(self.view.layers)

    @property
    def searchable(self) -> bool:
        """Whether a row alone is held by more equations than it has numbers."""
        deep = [span.equations for layer, span in zip(self.view.layers, self.view.spans, strict=True) if not layer.entrance]
        return bool(deep) and sum(deep) > 2

    @property
    def rest(self) -> Observation:
        """What is left as an observation of its own."""
        if not self.view.peelable or not self.count:
            return self.observation
        return smaller(self.observation, self.view, self._labels_left())

    def _labels_left(self) -> Tensor | None:
        known = self.observation.labels
        if known is None or self.observation.learner.task == "regression":
            return None
        left = known.tolist()
        for label in torch.cat(self.labels).tolist():
            left.remove(label) if label in left else left.pop()
        return torch.tensor(left, dtype=known.dtype)

    def take(self, candidates: tuple[Tensor, Tensor]) -> None:
        """Certify candidates and peel them off."""
        codes, numbers = candidates
        if not self._peel(certify(self.view, codes, numbers)):
            self.idle += 1
            self._remember(codes, numbers)

    def take_leaves(self, leaves: Leaves) -> bool:
        """The same for the leaves of a complete search; True if something was peeled off."""
        numbers = polish(self.view, leaves.codes, leaves.numbers.double())
        if self._peel(certify(self.view, leaves.codes, numbers)):
            return True
        proven = exhausted(self.view, leaves)
        if bool(proven.any()) and not self.count:
            x = self.view.rows_of(leaves.codes[proven], leaves.numbers[proven].double())
            self._add(x, torch.full((len(x),), torch.nan, dtype=torch.float64))
        self._remember(leaves.codes, numbers)
        self.idle = 2 if self.done or not self.searchable else self.idle
        return False

    def _peel(self, found: Rows) -> bool:
        if not len(found):
            return False
        x = self.view.rows_of(found.codes, found.numbers).repeat_interleave(found.copies, 0)
        labels = found.labels.repeat_interleave(found.copies)
        if not self.view.peelable:  # nothing can be subtracted: keep what is new
            before = torch.cat(self.rows) if self.rows else x[:0]
            new = [k for k in range(len(x)) if not bool(((before - x[k]).abs().amax(1) < 0.05).any())] if len(before) else range(len(x))
            self._add(x[list(new)], labels[list(new)])
            return False
        if len(x) > self.view.rows:
            return False
        kind = torch.float64 if self.view.learner.task == "regression" else torch.long
        self.view = self.view.without(x, labels.to(kind))
        self._add(x, labels)
        self.idle = 0
        return True

    def _add(self, x: Tensor, labels: Tensor) -> None:
        self.rows.append(x)
        self.labels.append(labels)

    def _remember(self, codes: Tensor, numbers: Tensor) -> None:
        """Rows that are near all spans but not certified are good guesses."""
        if self.view.peelable and self.view.single:
            return
        x = self.view.rows_of(codes, numbers)
        order = distances(self.view, x).argsort()
        picked: list[int] = []
        for place in order.tolist():
            if len(picked) >= self.observation.exchange.rows:
                break
            if not picked or bool(((x[picked] - x[place]).abs().amax(1) > 0.05).all()):
                picked.append(place)
        self.likely = x[picked]

    def finish(self, runs: Runs, estimate: Claim) -> None:
        """Complete the answer with the optimiser's."""
        left = self.observation.exchange.rows - self.count
        joint = self._joint(runs) if self.view.peelable and left <= FEW and self.view.layers else None
        if joint is not None:
            x = self.view.rows_of(joint.codes, joint.numbers)
            if joint.certain:
                self._add(x, joint.labels.double())
                return
            estimate = replace(estimate, rows=x.numpy(), labels=joint.labels.numpy(), outcome=Outcome.BUDGET_SPENT)
        self._claim = self._assembled(estimate, runs)

    def _joint(self, runs: Runs) -> Fit | None:
        """The set of rows that rebuilds what is left best."""
        view, fits = self.view, []
        alive = np.isfinite(runs.losses) & np.isfinite(runs.rows).all((1, 2))
        seen: set[tuple[float, ...]] = set()
        regression = view.learner.task == "regression"
        for place in np.argsort(np.where(alive, runs.losses, np.inf))[: int(alive.sum())]:
            rows = torch.from_numpy(runs.rows[place]).double()
            labels = runs.used if runs.labels is None else torch.from_numpy(runs.labels[place])
            if labels is None or rows.shape[0] != view.rows:
                continue
            blocks = [rows[:, block].masked_fill(~ok, -torch.inf).argmax(1) for block, ok in zip(view.space.layout.blocks, view.allowed, strict=True)]
            codes = torch.stack(blocks, 1) if blocks else torch.zeros(len(rows), 0, dtype=torch.long)
            key = tuple(sorted(codes.flatten().tolist()))
            if key in seen:
                continue
            seen.add(key)
            numbers = rows[:, : view.numeric].clamp(view.low, view.high)
            fits.append(fit(view, codes, numbers, labels.double() if regression else labels.long()))
            if len(seen) >= TRIES:
                break
        if not fits:
            return None
        best = min(fits, key=lambda each: each.excess)
        return replace(best, certain=not regression and certain(view, best))

    def _assembled(self, estimate: Claim, runs: Runs) -> Claim:
        """Certified rows first, then the estimated ones."""
        total, width = self.observation.exchange.rows, self.observation.layout.width
        if estimate.rows is None:
            return replace(estimate, certified=None)
        certified = torch.cat(self.rows).numpy() if self.rows else np.zeros((0, width))
        rows, doubt = estimate.rows, estimate.doubt
        if len(rows) == total and len(certified):  # the optimiser worked on all rows: put the certain ones in their place
            rows, doubt = _replaced(rows, doubt, certified)
        if self.likely is not None and len(rows) > len(certified) and len(rows) == total:
            rest = rows[len(certified) :]
            better, _ = _replaced(rest, None, self.likely.numpy()[: len(rest)]) if not len(certified) else (rest, None)
            rows = np.concatenate([rows[: len(certified)], better])
        if len(rows) < total:
            rows = np.concatenate([certified, rows])
            if doubt is not None:
                doubt = np.concatenate([np.zeros((len(certified), doubt.shape[1])), doubt])
        flags = np.arange(total) < len(certified)
        return replace(
            estimate, rows=rows, doubt=doubt, certified=flags, labels=self._all_labels(estimate, runs), note=self._note(flags)
        )

    def _all_labels(self, estimate: Claim, runs: Runs) -> np.ndarray | None:
        if self.observation.labels is not None:
            return None
        rest = estimate.labels if estimate.labels is not None else (None if runs.used is None else runs.used.numpy())
        total = self.observation.exchange.rows
        if rest is None or len(rest) == total:
            return rest
        kind = rest.dtype
        return np.concatenate([torch.cat(self.labels).numpy().astype(kind), rest])

    def _note(self, flags: np.ndarray) -> str:
        return f"{int(flags.sum())} of {len(flags)} rows are certified."

    def claim(self) -> Claim:
        """The answer."""
        if self._claim is not None:
            return self._claim
        rows = torch.cat(self.rows).numpy()[: self.observation.exchange.rows]
        labels = torch.cat(self.labels).numpy()[: len(rows)]
        given = self.observation.labels is not None or bool(np.isnan(labels).any())
        kind = np.float64 if self.observation.learner.task == "regression" else np.int64
        flags = np.ones(len(rows), dtype=bool)
        columns = self.observation.layout.numeric + len(self.observation.layout.sizes)
        return Claim(
            outcome=Outcome.OK, rows=rows, labels=None if given else labels.astype(kind), certified=flags, loss=0.0,
            doubt=np.zeros((len(rows), columns)), note=self._note(flags),
        )  # fmt: skip


def _replaced(rows: np.ndarray, doubt: np.ndarray | None, known: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """The known rows, and of the others those that stand for none of them."""
    cost = np.abs(rows[:, None] - known[None]).sum(-1)
    taken, _ = linear_sum_assignment(cost)
    left = np.setdiff1d(np.arange(len(rows)), taken)
    kept = None if doubt is None else np.concatenate([np.zeros((len(known), doubt.shape[1])), doubt[left]])
    return np.concatenate([known, rows[left]]), kept
