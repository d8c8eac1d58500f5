r"""CAFE without iterations: both of its steps are linear, so solve them.

The server chose the batches. With :math:`s_t` the indicator of batch :math:`t`, :math:`V` the slopes of the loss by the
first layer's outputs and :math:`H` that layer's inputs, one row each for every person, the gradients say

.. math:: V^\top s_t = K\, g_{b,t}, \qquad \sum_n s_t[n]\, v_n h_n^\top = K\, G_{W,t}.

*Step I* is least squares in V. *Step II* is linear in H once V is known; its normal equations are
:math:`\bigl(\sum_t s_t s_t^\top \circ V V^\top\bigr) H = \sum_t \mathrm{diag}(s_t)\, V\, (K G_{W,t})`. By Schur's
product theorem that matrix is positive definite under weaker conditions than the paper's Theorem 2, which needs more
neurons than people: batches that separate people help to separate parallel slopes.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import torch
from torch import Tensor

from seepage._core import NotApplicable, Progress, Streams, silent
from seepage.attacks.vertical.front import read_behind
from seepage.observation import Claim
from seepage.observation.vertical import Recovery, VerticalScene, VerticalUpdate

DRAWN = Streams(0)  # nothing is drawn
DEAD = 1e-7  # of the usual slope: nothing is sent of such a row
SINGULAR = 1e-11  # of the largest eigenvalue
FITS = 1e-2  # share of the weight gradients that rows and slopes may miss; float32's rounding misses far less
CHECKED = 50  # batches that are looked at for that
LARGE = 4_000  # rows beyond which single undetermined rows are not looked for


@dataclass(frozen=True, kw_only=True)
class ClosedForm:
    """Recover every person's inputs from the gradients of batches, in closed form.

    Args:
        ridge: relative ridge on both systems, for noisy gradients.
        window: use so many batches only, the last ones, where the model trains meanwhile; 0 for all.
        memory: bytes of weight gradients that are kept; older ones serve step I only.

    References:
        Jin et al., CAFE: Catastrophic Data Leakage in Vertical Federated Learning, NeurIPS 2021.
        Its systems are solved here instead of descended (``docs/explanation/vertical-gradients.md``).

    Example:
        >>> ClosedForm(ridge=1e-6).window
        0
    """

    ridge: float = 0.0
    window: int = 0
    memory: int = 1 << 30

    def start(self, scene: VerticalScene, streams: Streams = DRAWN, *, progress: Progress = silent) -> Solver:
        """An attack that is fed batch by batch."""
        if scene.bias is None:
            raise NotApplicable(
                "The first layer has no bias, so its slopes cannot be separated by batches (step I of CAFE). Where a "
                "batch has fewer rows than the layer has neurons, use the attack 'exact' on single updates."
            )
        if scene.batch_size >= scene.rows:
            raise NotApplicable(
                f"A batch has {scene.batch_size} of {scene.rows} rows: all batches are the same, so rows cannot be "
                "separated. Batches must be smaller than the data."
            )
        return Solver(self, scene)


class Solver:
    """Takes batches as they come; says at any time what they determine.

    What is kept: two matrices that grow by a product of rank one with every batch, and the newest weight gradients.
    """

    def __init__(self, settings: ClosedForm, scene: VerticalScene) -> None:
        self._settings, self._scene = settings, scene
        self._together = torch.zeros(scene.rows, scene.rows, dtype=torch.float64)  # sum of s s^T
        outputs = len(scene.learner.initial()[scene.weight])
        self._slopes = torch.zeros(scene.rows, outputs, dtype=torch.float64)  # sum of s (K g_b)^T
        self._kept: deque[tuple[Tensor, Tensor]] = deque()
        self._window: deque[tuple[Tensor, Tensor]] = deque()
        self._parameters = scene.learner.initial()  # the newest that were told
        self.seen = 0

    def see(self, update: VerticalUpdate) -> None:
        """Take one batch."""
        update.check(self._scene)
        assert self._scene.bias is not None
        rows, size = update.rows, len(update.rows)
        slope = size * update.gradient[self._scene.bias].double()
        self._add(rows, slope, 1.0)
        weight = update.gradient[self._scene.weight]
        self._kept.append((rows, weight))
        limit = max(1, self._settings.memory // (weight.numel() * weight.element_size()))
        if self._settings.window:
            limit = min(limit, self._settings.window)
            self._window.append((rows, slope))
            if len(self._window) > self._settings.window:
                self._add(*self._window.popleft(), -1.0)
        while len(self._kept) > limit:
            self._kept.popleft()
        self._parameters = update.parameters
        self.seen += 1

    def _add(self, rows: Tensor, slope: Tensor, sign: float) -> None:
        self._together[rows[:, None], rows] += sign
        self._slopes[rows] += sign * slope

    def claims(self) -> list[Claim]:
        """One claim about everyone's rows."""
        return read_behind(self._scene, self._parameters, self.recover()).claims(self._scene)

    def recover(self) -> Recovery:
        """What the batches so far determine."""
        present = (torch.diagonal(self._together) > 0).nonzero()[:, 0]
        slopes, clear, condition = _solve(
            self._together[present[:, None], present], self._slopes[present], self._settings.ridge
        )
        slopes = torch.where(clear[:, None], slopes, 0.0)
        size = slopes.norm(dim=1)
        usual = float(size[clear].median()) if bool(clear.any()) else 0.0
        alive = clear & (size > DEAD * usual)
        inputs, determined = self._inputs(present[alive], slopes[alive])
        found = torch.full((self._scene.rows, inputs.shape[1]), torch.nan, dtype=torch.float64)
        told = torch.zeros(self._scene.rows, dtype=torch.bool)
        found[present[alive]], told[present[alive]] = inputs, determined
        found[~told] = torch.nan
        dead = tuple(present[clear & ~alive].tolist())
        note = self._note(len(present), int(clear.sum()), told, dead)
        every = torch.zeros(self._scene.rows, slopes.shape[1], dtype=torch.float64)
        every[present] = slopes
        misfit = self._misfit(every, found)
        if misfit > FITS:
            note += (
                f" These rows and slopes miss the weight gradients by {100 * misfit:.2g} %: the weights moved, or "
                "there is noise. The rows are estimates."
            )
        return Recovery(found, told, dead, condition, note, fits=misfit <= FITS)

    def _misfit(self, slopes: Tensor, inputs: Tensor) -> float:
        """How far the kept weight gradients are from those of the rows that were found; 0 if none is explained."""
        missed, size = 0.0, 0.0
        for rows, weight in list(self._kept)[:: max(1, len(self._kept) // CHECKED)]:
            if bool(inputs[rows].isnan().any()):
                continue
            seen = len(rows) * weight.double()
            missed += float((slopes[rows].T @ inputs[rows] - seen).square().sum())
            size += float(seen.square().sum())
        return (missed / size) ** 0.5 if size else 0.0

    def _inputs(self, rows: Tensor, slopes: Tensor) -> tuple[Tensor, Tensor]:
        """Step II for the rows whose slopes are known; batches with other rows in them cannot be used."""
        width = self._scene.learner.initial()[self._scene.weight].shape[1]
        place = torch.full((self._scene.rows,), -1, dtype=torch.long)
        place[rows] = torch.arange(len(rows))
        together = torch.zeros(len(rows), len(rows), dtype=torch.float64)
        right = torch.zeros(len(rows), width, dtype=torch.float64)
        known = torch.zeros(self._scene.rows, dtype=torch.bool)
        known[rows] = True
        for batch, weight in self._kept:
            own = batch[known[batch]]
            if len(own) < len(batch) and not self._harmless(batch[~known[batch]]):
                continue
            here = place[own]
            together[here[:, None], here] += 1
            right[here] += slopes[here] @ (len(batch) * weight.double())
        if not len(rows):
            return right, torch.zeros(0, dtype=torch.bool)
        matrix = together * (slopes @ slopes.T)
        used = torch.diagonal(matrix) > 0
        solved, clear, _ = _solve(matrix[used][:, used], right[used], self._settings.ridge)
        inputs = torch.full((len(rows), width), torch.nan, dtype=torch.float64)
        determined = torch.zeros(len(rows), dtype=torch.bool)
        inputs[used], determined[used] = solved, clear
        return inputs, determined

    def _harmless(self, rows: Tensor) -> bool:
        """Rows that add nothing to a gradient: their slopes were found to be zero."""
        return bool((self._slopes[rows].norm(dim=1) <= DEAD * self._slopes.norm(dim=1).median()).all())

    def _note(self, present: int, separated: int, determined: Tensor, dead: tuple[int, ...]) -> str:
        total, count = self._scene.rows, int(determined.sum())
        said = f"{count} of {total} rows are determined by {self.seen} batches."
        if separated < total:
            said += (
                f" {total - separated} cannot be separated yet by step I of CAFE, which needs at least {total} "
                "different batches."
            )
        if dead:
            said += f" {len(dead)} have a gradient of zero: nothing of them is sent."
        if separated - len(dead) > count:
            lost = separated - len(dead) - count
            said += f" Of {lost} the slopes are not independent enough, or their batches are not kept any more."
        return said


def _solve(matrix: Tensor, right: Tensor, ridge: float) -> tuple[Tensor, Tensor, float]:
    """Solve a symmetric positive semi-definite system.

    Returns:
        the solution, which rows of it are determined, and the condition of the scaled system.
    """
    count = len(matrix)
    if not count:
        return right, torch.zeros(0, dtype=torch.bool), 1.0
    scale = torch.diagonal(matrix).rsqrt()
    scaled = matrix * scale[:, None] * scale
    scaled += ridge * torch.eye(count, dtype=scaled.dtype)
    factor, failed = torch.linalg.cholesky_ex(scaled)
    pivots = torch.diagonal(factor)
    if not int(failed) and float(pivots.min()) ** 2 > SINGULAR * count:
        solution = scale[:, None] * torch.cholesky_solve(scale[:, None] * right, factor)
        return solution, torch.ones(count, dtype=torch.bool), _condition(scaled, factor)
    if count > LARGE:
        return torch.zeros_like(right), torch.zeros(count, dtype=torch.bool), float("inf")
    values, vectors = torch.linalg.eigh(scaled)
    kept = values > SINGULAR * count * values[-1]
    inverse = vectors[:, kept] / values[kept] @ vectors[:, kept].T
    solution = scale[:, None] * (inverse @ (scale[:, None] * right))
    # A row is determined if nothing that the system cannot see changes it.
    determined = vectors[:, ~kept].square().sum(1) < 1e-12
    return solution, determined, float("inf")


def _condition(matrix: Tensor, factor: Tensor, steps: int = 20) -> float:
    """Largest over smallest eigenvalue, by a few steps of the power method on both ends."""
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(len(matrix), 1, dtype=matrix.dtype, generator=generator)
    large, small = start, start
    for _ in range(steps):
        large = matrix @ large
        large = large / large.norm()
        small = torch.cholesky_solve(small, factor)
        size = small.norm()
        small = small / size
    return float((matrix @ large).norm() * size)
