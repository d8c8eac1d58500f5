"""Limited-memory BFGS, for every run at once."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seepage._core import InputError, unknown_name
from seepage.attacks.inversion.optimisers.schedules import SCHEDULES


@dataclass(frozen=True, kw_only=True)
class LBFGS:
    r"""Quasi-Newton directions from the last moves :math:`s_k` and changes of the slope :math:`y_k` of each run.

    The two-loop recursion with :math:`\gamma = s^\top y / y^\top y`, fixed step sizes and a first step of at most
    length 1 (in L1), as ``torch.optim.LBFGS`` does without a line search. Pairs with :math:`s^\top y \le 0` are left
    out, run by run. A move is never longer than ``longest`` per variable (root mean square): without a line search one
    bad pair would throw a run out for good.

    Args:
        rate: the step size.
        schedule: ``constant``, ``linear`` or ``cosine``.
        history: pairs that are kept.
        longest: bound of a move.

    References:
        Liu and Nocedal, On the limited memory BFGS method, 1989; Zhu et al., DLG, use it with a step size of 1.
    """

    rate: float = 1.0
    schedule: str = "constant"
    history: int = 10
    longest: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.rate < float("inf") or self.history < 1 or not self.longest > 0:
            raise InputError(
                f"L-BFGS with step size {self.rate}, history {self.history} and longest move {self.longest}: "
                "all must be above 0."
            )
        if self.schedule not in SCHEDULES:
            raise unknown_name("schedule", self.schedule, SCHEDULES)

    def begin(self, x: Tensor) -> tuple[Tensor, ...]:
        """Moves and changes (history, observations, restarts, variables), the last slope and the last move."""
        flat = x.flatten(2)
        pairs = flat.new_zeros(self.history, *flat.shape)
        return pairs, pairs.clone(), torch.zeros_like(flat), torch.zeros_like(flat)

    def sizes(self, step: int, steps: int) -> tuple[float, ...]:
        """The step size, and whether this is the first step."""
        return self.rate * SCHEDULES[self.schedule](step, steps), float(step == 1)

    def move(self, x: Tensor, slope: Tensor, state: tuple[Tensor, ...], sizes: Tensor, moving: Tensor) -> None:
        moves, changes, last_slope, last_move = state
        slope = slope.flatten(2)
        change = slope - last_slope
        curved = _dot(last_move, change) > 1e-10 * _dot(change, change)
        keep = curved & (sizes[1] == 0)
        moves.copy_(torch.where(keep, torch.cat([moves[1:], last_move[None]]), moves))
        changes.copy_(torch.where(keep, torch.cat([changes[1:], change[None]]), changes))
        products = _dot(moves, changes)
        inverse = torch.where(products > 0, 1 / products.clamp(min=1e-30), 0.0)
        direction, weights = slope, []
        for place in reversed(range(self.history)):
            weight = inverse[place] * _dot(moves[place], direction)
            direction = direction - weight * changes[place]
            weights.append(weight)
        length = _dot(changes[-1], changes[-1])
        direction = direction * torch.where(products[-1] > 0, products[-1] / length.clamp(min=1e-30), 1.0)
        for place, weight in zip(range(self.history), reversed(weights), strict=True):
            back = inverse[place] * _dot(changes[place], direction)
            direction = direction + (weight - back) * moves[place]
        first = (1 / slope.abs().sum(-1, keepdim=True).clamp(min=1e-30)).clamp(max=1.0)
        size = sizes[0] * torch.where(sizes[1] > 0, first, torch.ones_like(first))
        move = -size * direction
        root = move.square().mean(-1, keepdim=True).sqrt()
        move = move * (self.longest / root.clamp(min=1e-30)).clamp(max=1.0) * moving[..., 0]
        last_slope.copy_(slope)
        last_move.copy_(move)
        x.add_(move.reshape(x.shape))


def _dot(one: Tensor, other: Tensor) -> Tensor:
    return (one * other).sum(-1, keepdim=True)
