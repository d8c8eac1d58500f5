"""One update on its way through the cascade: what is certain, what is likely, what is left.

Long because it is one algorithm, the reading of one update from its first layer to the last row.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from seepage._core import NotApplicable, Outcome
from seepage.attacks.attack import useless
from seepage.attacks.exact.certificate import LIMIT, SAME, Rows, certify, distances, exhausted
from seepage.attacks.exact.closed import Cells, read_single
from seepage.attacks.exact.handover import smaller
from seepage.attacks.exact.integers import integer_members
from seepage.attacks.exact.joint import affordable, best_set
from seepage.attacks.exact.presence import State, presence_of
from seepage.attacks.exact.reasons import reason
from seepage.attacks.exact.search import Leaves, span_search
from seepage.attacks.exact.single import glance, polish, pull
from seepage.attacks.exact.view import View, view_of
from seepage.attacks.exact.zeros import completed, duals_of, rows_from, with_weak, without_duals
from seepage.attacks.inversion import Runs
from seepage.observation import Claim, Observation

MANY = 1500  # leaves that are polished to the end
FEW = 12  # rows that are fitted together
TURNS_IN_VAIN = 2
PLACES = 13  # along a family of numbers from which a leaf is polished again
NODES = 50_000  # of a search in what silent neurons leave
DISTINCT = 0.1  # a row that is nearer to combinations of the others adds nothing


@dataclass
class Case:
    """One update.

    Args:
        observation: what the server saw.
        view: what is left of it.
        rows, labels: rows that were read, as inputs, and their labels (NaN where not known), in the order they were
            found.
        certain: which of them are certified.
        heard: rows that silent neurons determine.
        likely: rows that are probably right, where certain ones cannot be subtracted.
        cells: what was read of a single row in closed form.
        vain: turns without a find.
        estimate: what the optimiser says about the rest.
        why: what stands between this update and a certificate for every row.
    """

    observation: Observation
    view: View = field(init=False)
    rows: Tensor = field(init=False)
    labels: Tensor = field(init=False)
    certain: Tensor = field(init=False)
    heard: Tensor = field(init=False)
    likely: Tensor = field(init=False)
    cells: Cells | None = None
    vain: int = 0
    estimate: Claim | None = None
    why: str = ""

    def __post_init__(self) -> None:
        width = self.observation.layout.width
        self.rows, self.labels = torch.zeros(0, width).double(), torch.zeros(0).double()
        self.heard, self.likely, self.certain = self.rows, self.rows, torch.zeros(0, dtype=torch.bool)
        if not self.observation.finite:
            self.estimate = useless()
            return
        learner = self.observation.learner
        if learner.criterion is not None and learner.task == "regression":
            raise NotApplicable("The slopes of a loss of your own by an unknown number are not known; match gradients.")
        view = view_of(self.observation)
        states = presence_of(self.observation).states
        seen = [torch.from_numpy(state != State.ABSENT) & old for state, old in zip(states, view.allowed, strict=True)]
        # A column in which nobody seems to have anything says nothing.
        allowed = tuple(new if bool(new.any()) else old for new, old in zip(seen, view.allowed, strict=True))
        self.view = replace(view, allowed=allowed)
        self.why = reason(self.view, self.total)
        self.cells = read_single(self.observation)
        if self.cells is not None and self.cells.complete:
            codes, numbers = torch.from_numpy(self.cells.codes)[None], torch.from_numpy(self.cells.numbers)[None]
            self._add(self.view.rows_of(codes, numbers), torch.full((1,), torch.nan).double())

    @property
    def total(self) -> int:
        """Rows behind the update."""
        return self.observation.exchange.rows

    @property
    def done(self) -> bool:
        """Nothing is left to look for."""
        return self.estimate is not None or len(self.rows) >= self.total

    @property
    def open(self) -> bool:
        """Whether algebra may still find something."""
        return not self.done and self.vain < TURNS_IN_VAIN and bool(self.view.layers)

    @property
    def searchable(self) -> bool:
        """Whether a row alone meets equations that combinations of rows do not."""
        return self.open and sum(self.view.spans[k].equations for k in self.view.deep) > 2

    @property
    def _few(self) -> bool:
        """Whether the rows that are left can be fitted together."""
        left = self.total - len(self.rows)
        return self.view.peelable and left <= FEW and bool(self.view.layers) and affordable(self.view.parts[0], left)

    @property
    def rest(self) -> Observation:
        """What is left, as an observation of its own."""
        if not self.view.peelable or not len(self.rows):
            return self.observation
        return smaller(self.observation, self.view, self._labels_left())

    def _labels_left(self) -> Tensor | None:
        known = self.observation.labels
        if known is None or self.observation.learner.task == "regression":
            return None
        left = known.tolist()
        for label in self.labels.tolist():
            left.remove(label) if label in left else left.pop()
        return torch.tensor(left, dtype=known.dtype)

    def take(self, runs: Runs) -> None:
        """Certify the rows of an optimisation, pulled onto the spans, and peel them off; or all rows that are left."""
        codes, numbers = _pulled(self.view, runs)
        if self._peel(certify(self.view, codes, numbers)):
            return
        self.vain += 1
        self._listen(self.view.rows_of(codes, numbers))
        self._remember(codes, numbers)
        found = best_set(self.view.parts[0], runs) if self._few else None
        if found is not None and found.certain:
            self._add(self.view.rows_of(found.codes, found.numbers), found.labels.double())

    def offer(self, codes: Tensor, numbers: Tensor) -> bool:
        """Rows that were proven elsewhere: those that are proven here too are peeled off; True if there is one."""
        return self._peel(certify(self.view, codes, numbers))

    def take_leaves(self, leaves: Leaves) -> bool:
        """The same for the leaves of a complete search; True if something was peeled off."""
        numbers = leaves.numbers
        if leaves.free and len(leaves.codes) > MANY:  # a short look tells which deserve a long one
            wide = self.view.entrance is not None and self.view.entrance.outside is None
            rough, far = glance(self.view, leaves.codes, numbers, leaves.family if wide else None)
            near = far.argsort()[:MANY]
            leaves, numbers = replace(leaves, codes=leaves.codes[near], numbers=rough[near]), rough[near]
        if leaves.free or self.view.single:
            numbers = polish(self.view, leaves.codes, numbers)
        if leaves.free and self.view.normalised and len(leaves.codes) <= MANY:
            numbers = self._from_elsewhere(leaves, numbers)
        if self._peel(certify(self.view, leaves.codes, numbers)):
            return True
        proven = exhausted(self.view, leaves)
        # Where rows are subtracted, exhaustion counts only if it explains everything at once.
        whole = bool(proven.any()) and (int(proven.sum()) == self.total or not self.view.peelable)
        if whole and self.view.rows == self.total:
            self._keep_new(self.view.rows_of(leaves.codes[proven], leaves.numbers[proven]))
        codes, numbers = self._family(leaves, numbers)
        self._listen(self.view.rows_of(codes, numbers))
        self._remember(codes, numbers)
        if len(self.likely) + len(self.rows) >= self.total:
            self.vain = TURNS_IN_VAIN  # a complete search has found what there is
        return False

    def _listen(self, x: Tensor) -> None:
        """After many local steps: the rows that silent neurons determine, and what is left for the others."""
        if self.view.single or self.view.entrance is None:
            return
        view, change = with_weak(self.view), self.observation.update
        assert view.entrance is not None
        rank = view.entrance.rank
        x = x[self._misfit(x).argsort()]
        duals, places = duals_of(view, change, x, x.new_zeros(0, rank))
        rows = x[places]
        if len(duals) and len(duals) < rank:  # few dimensions are left: all that is valid there
            leaves = span_search(without_duals(view, duals), NODES)
            numbers = polish(self.view, leaves.codes, leaves.numbers) if leaves.free else leaves.numbers
            others = self.view.rows_of(*self._family(leaves, numbers)) if len(leaves.codes) else x[:0]
            others = others[self._misfit(others).argsort()]
            more, places = duals_of(view, change, others, duals)
            duals, rows = torch.cat([duals, more]), torch.cat([rows, others[places]])
            if len(duals) < self.total and len(others):
                rows = completed(self.view, change, rows, others)
        if len(duals) == rank == self.total:
            rows = rows_from(view, duals)
        self.heard = rows if len(rows) > len(self.heard) else self.heard

    def _from_elsewhere(self, leaves: Leaves, numbers: Tensor) -> Tensor:
        """Leaves that ended far from the spans, polished once more from other places of their family of numbers.

        Rows that can be subtracted make way for those that are left; here none can, so each must be found at once.
        """
        far = distances(self.view, self.view.rows_of(leaves.codes, numbers))
        stuck = (far > LIMIT).nonzero()[:, 0]
        if not len(stuck):
            return numbers
        scales = leaves.family / leaves.family.abs().amax(1, keepdim=True).clamp(min=1e-12)
        moves = (torch.linspace(-3, 3, PLACES).double()[:, None, None] * scales).flatten(0, 1)
        codes = leaves.codes[stuck].repeat_interleave(len(moves), 0)
        starts = (leaves.numbers[stuck][:, None] + moves).flatten(0, 1).clamp(self.view.low, self.view.high)
        found = polish(self.view, codes, starts)
        distance = distances(self.view, self.view.rows_of(codes, found)).reshape(len(stuck), -1)
        best = found.reshape(len(stuck), len(moves), -1)[torch.arange(len(stuck)), distance.argmin(1)]
        numbers = numbers.clone()
        numbers[stuck] = torch.where((distance.amin(1) < far[stuck])[:, None], best, numbers[stuck])
        return numbers

    def _family(self, leaves: Leaves, numbers: Tensor) -> tuple[Tensor, Tensor]:
        """The leaves, and where records of equal categories leave a family of numbers, other members of it."""
        if not leaves.free or self.view.single:
            return leaves.codes, numbers
        near = self._misfit(self.view.rows_of(leaves.codes, numbers)).argsort()[: 2 * self.total]
        places, members = integer_members(self.view, leaves.family, numbers[near])
        if not len(members):
            steps = torch.linspace(-2, 2, 9).double()
            scales = leaves.family / leaves.family.abs().amax(1, keepdim=True).clamp(min=1e-12)
            moves = (steps[:, None, None] * scales).flatten(0, 1)  # (moves, numeric)
            places = torch.arange(len(near)).repeat_interleave(len(moves))
            starts = (numbers[near][:, None] + moves).flatten(0, 1).clamp(self.view.low, self.view.high)
            members = polish(self.view, leaves.codes[near][places], starts)
        return torch.cat([leaves.codes, leaves.codes[near][places]]), torch.cat([numbers, members])

    def _peel(self, found: Rows) -> bool:
        x = self.view.rows_of(found.codes, found.numbers).repeat_interleave(found.copies, 0)
        labels, certain = (each.repeat_interleave(found.copies) for each in (found.labels, found.certain))
        if not len(x) or len(x) > self.view.rows:
            return False
        if not self.view.peelable:
            self._keep_new(x[certain])
            return False
        regression = self.view.learner.task == "regression"
        self.view = self.view.without(x, labels if regression else labels.long())
        self._add(x, labels, certain)
        self.likely = self.rows[:0]
        self.vain = 0
        return True

    def _keep_new(self, x: Tensor) -> None:
        """Certain rows that cannot be subtracted: those that are not there yet."""
        new = [row for row in x if not bool(((self.rows - row).abs().amax(1) < SAME).any())] if len(self.rows) else [*x]
        if new:
            self._add(torch.stack(new), torch.full((len(new),), torch.nan).double())

    def _add(self, x: Tensor, labels: Tensor, certain: Tensor | None = None) -> None:
        sure = torch.ones(len(x), dtype=torch.bool) if certain is None else certain
        self.rows = torch.cat([self.rows, x])[: self.total]
        self.labels = torch.cat([self.labels, labels])[: self.total]
        self.certain = torch.cat([self.certain, sure])[: self.total]

    def _remember(self, codes: Tensor, numbers: Tensor) -> None:
        """The best fitting rows that are independent of each other; where nothing can be subtracted, then any others.

        Where rows could be subtracted but none of these was, only rows that pass the spans are worth more than the
        optimiser's: clipping, for one, changes the weights of rows and leaves their spans.
        """
        if not len(codes):
            return
        x = torch.cat([self.likely, self.view.rows_of(codes, numbers)])
        if self.view.peelable:
            x = x[distances(self.view, x) < LIMIT] if self.view.deep else x[:0]
        x = torch.cat([self.heard, x[self._misfit(x).argsort()]])
        vectors = torch.cat([x, x.new_ones(len(x), 1)], 1)
        directions: list[Tensor] = []
        taken: list[Tensor] = []

        def add(row: Tensor, vector: Tensor, *, independent: bool) -> bool:
            if any(float((row - other).abs().max()) < SAME for other in taken):
                return False
            basis = torch.stack(directions) if directions else vector.new_zeros(0, len(vector))
            beyond = vector - (vector @ basis.T) @ basis
            new = float(beyond.norm()) > DISTINCT
            if new:
                directions.append(beyond / beyond.norm())
            if new or not independent:
                taken.append(row)
            return new or not independent

        for row in self.rows:
            add(row, torch.cat([row, row.new_ones(1)]), independent=False)
        picked = []
        for independent in (True,) if self.view.peelable else (True, False):
            for place in range(len(x)):
                if len(taken) >= self.total:
                    break
                if add(x[place], vectors[place], independent=independent):
                    picked.append(x[place])
        self.likely = torch.stack(picked) if picked else self.rows[:0]

    def _misfit(self, x: Tensor) -> Tensor:
        """(rows,) how badly a row fits: its distance from the deeper spans, if it is in the first layer's."""
        if self.view.single or not self.view.deep:
            return distances(self.view, x)
        inputs = self.view.inputs(x)
        deep = sum(
            self.view.spans[k].beyond(inputs[k]).square().sum(1) / inputs[k].square().sum(1) for k in self.view.deep
        )
        assert isinstance(deep, Tensor)
        shallow = [
            span.distance(value)
            for layer, span, value in zip(self.view.layers, self.view.spans, inputs, strict=True)
            if layer.affine
        ]
        # Where a first layer is used up, only deeper ones say anything.
        return deep + (torch.stack(shallow).amax(0) > 10 * LIMIT) if shallow else deep

    def finish(self, runs: Runs, pooled: Claim) -> None:
        """Complete the answer with the optimiser's."""
        if self._few:
            found = best_set(self.view.parts[0], runs)
            if found is not None and found.certain:
                self._add(self.view.rows_of(found.codes, found.numbers), found.labels.double())
                return
            if found is not None:
                x = self.view.rows_of(found.codes, found.numbers)
                pooled = replace(pooled, rows=x.numpy(), labels=found.labels.numpy(), outcome=Outcome.BUDGET_SPENT)
        if pooled.rows is not None and pooled.labels is None and runs.used is not None:
            pooled = replace(pooled, labels=runs.used.numpy())
        self.estimate = pooled

    def claim(self) -> Claim:
        """The answer: certified rows first, then likely ones, then the optimiser's."""
        estimate = self.estimate
        if estimate is not None and estimate.rows is None:
            return estimate
        known = torch.cat([self.rows, self.likely])[: self.total].numpy()
        columns = self.observation.layout.numeric + len(self.observation.layout.sizes)
        doubt = np.zeros((len(known), columns))
        doubt[: len(self.rows)][~self.certain.numpy()] = np.nan
        doubt[len(self.rows) :] = np.nan
        rows, labels = known, self.labels.numpy()
        outcome = Outcome.OK if len(self.rows) == self.total and bool(self.certain.all()) else Outcome.BUDGET_SPENT
        if estimate is not None and estimate.rows is not None and len(known) < self.total:
            unsure = estimate.doubt if estimate.doubt is not None else np.full((len(estimate.rows), columns), np.nan)
            left = _others(estimate.rows, known, self.total)[: self.total - len(known)]
            rows, doubt = (
                np.concatenate([known, self._read(estimate.rows[left])]),
                np.concatenate([doubt, unsure[left]]),
            )
            told = estimate.labels if estimate.labels is not None else np.full(len(estimate.rows), np.nan)
            labels = np.concatenate([labels, np.full(len(known) - len(self.rows), np.nan), told[left]])
            outcome = estimate.outcome
        certified = np.zeros(self.total, dtype=bool)
        certified[: len(self.rows)] = self.certain.numpy()
        return Claim(
            outcome=outcome,
            rows=rows,
            labels=self._told(labels),
            doubt=doubt,
            certified=certified,
            loss=estimate.loss if estimate is not None else None,
            note=self._note(),
        )

    def _note(self) -> str:
        count = int(self.certain.sum())
        said = f"{count} of {self.total} rows are certified."
        return said if count == self.total else f"{said} {self.why}"

    def _read(self, rows: np.ndarray) -> np.ndarray:
        """Estimated rows with the cells that were read in closed form."""
        if self.cells is None or len(rows) != 1:
            return rows
        rows = rows.copy()
        numeric = self.observation.layout.numeric
        rows[0, :numeric] = np.where(np.isfinite(self.cells.numbers), self.cells.numbers, rows[0, :numeric])
        for column, block in enumerate(self.observation.layout.blocks):
            if self.cells.codes[column] >= 0:
                rows[0, block] = self.view.codes[column][self.cells.codes[column]].numpy()
        return rows

    def _told(self, labels: np.ndarray) -> np.ndarray | None:
        """The labels, if they were worked out for all rows and not given."""
        if self.observation.labels is not None or len(labels) != self.total or bool(np.isnan(labels).any()):
            return None
        return labels if self.observation.learner.task == "regression" else labels.astype(np.int64)


def _pulled(view: View, runs: Runs) -> tuple[Tensor, Tensor]:
    """Codes and numbers of every row of every restart, pulled onto the spans."""
    alive = np.isfinite(runs.losses) & np.isfinite(runs.rows).all((1, 2))
    guesses = torch.from_numpy(runs.rows[alive]).flatten(0, 1)
    codes, numbers = pull(view, guesses)
    return codes, polish(view, codes, numbers)


def _others(rows: np.ndarray, known: np.ndarray, total: int) -> np.ndarray:
    """Places of the estimated rows that stand for none of the known ones; all if the optimiser saw only the rest."""
    if not len(known) or len(rows) < total:
        return np.arange(len(rows))
    taken, _ = linear_sum_assignment(np.abs(rows[:, None] - known[None]).sum(-1))
    return np.setdiff1d(np.arange(len(rows)), taken)
