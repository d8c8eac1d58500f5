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
    length 1 (in L1), as ``torch.optim.LBFGS`` does without a line search. It is done in inner products, which reads the
    history of all runs twice instead of forty times. Pairs with :math:`s^\top y \le 0` are left out, run by run. A move
    is never longer than ``longest`` per variable (root mean square): without a line search one bad pair would throw a
    run out for good.

    Args:
        rate: the step size.
        schedule: ``constant``, ``linear``, ``tenth`` or ``cosine``.
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
        """Moves S and changes Y (obs, runs, history, variables), S Y' and Y Y', the last slope and the last move."""
        flat = x.flatten(2)
        pairs = flat.new_zeros(*flat.shape[:2], self.history, flat.shape[2])
        inner = flat.new_zeros(*flat.shape[:2], self.history, self.history)
        last = torch.zeros_like(flat)
        return pairs, pairs.clone(), inner, inner.clone(), last, last.clone()

    def sizes(self, step: int, steps: int) -> tuple[float, ...]:
        """The step size, whether this is the first step, and the place of the newest pair."""
        return self.rate * SCHEDULES[self.schedule](step, steps), float(step == 1), float(step % self.history)

    def move(self, x: Tensor, slope: Tensor, state: tuple[Tensor, ...], sizes: Tensor, moving: Tensor) -> None:
        moves, changes, mixed, own, last_slope, last_move = state
        slope = slope.flatten(2)
        place = sizes[2:3].long()
        change = slope - last_slope
        curved = (last_move * change).sum(-1) > 1e-10 * change.square().sum(-1)
        keep = (curved & (sizes[1] == 0))[..., None].to(slope.dtype)
        newest = torch.stack([last_move * keep, change * keep, slope], -1)  # a pair that is left out is a pair of zeros
        moves.index_copy_(2, place, newest[..., 0].unsqueeze(2))
        changes.index_copy_(2, place, newest[..., 1].unsqueeze(2))
        by_moves, by_changes = moves @ newest[..., 1:], changes @ newest  # everything that is read of the history
        mixed.index_copy_(3, place, by_moves[..., :1])
        mixed.index_copy_(2, place, by_changes[..., 0].unsqueeze(2))
        own.index_copy_(3, place, by_changes[..., 1:2])
        own.index_copy_(2, place, by_changes[..., 1].unsqueeze(2))
        order = torch.remainder(place - torch.arange(self.history, device=x.device), self.history)  # newest first
        of_moves, of_changes, gamma = _directions(
            mixed.index_select(2, order).index_select(3, order),
            own.index_select(2, order).index_select(3, order),
            by_moves[..., 1].index_select(2, order),
            by_changes[..., 2].index_select(2, order),
        )
        back = torch.empty_like(order).scatter_(0, order, torch.arange(self.history, device=x.device))
        direction = gamma * slope
        direction = direction + (of_moves.index_select(2, back).unsqueeze(2) @ moves).squeeze(2)
        direction = direction + (of_changes.index_select(2, back).unsqueeze(2) @ changes).squeeze(2)
        first = (1 / slope.abs().sum(-1, keepdim=True).clamp(min=1e-30)).clamp(max=1.0)
        move = -sizes[0] * torch.where(sizes[1] > 0, first, torch.ones_like(first)) * direction
        root = move.square().mean(-1, keepdim=True).sqrt()
        move = move * ((self.longest / root.clamp(min=1e-30)).clamp(max=1.0) * moving[..., 0])
        last_slope.copy_(slope)
        last_move.copy_(move)
        x.add_(move.reshape(x.shape))


def _directions(mixed: Tensor, own: Tensor, by_moves: Tensor, by_changes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    r"""The two-loop recursion in inner products only: the direction is S'a + Y'b + gamma g.

    Each loop is a triangular system: :math:`a_i = \rho_i (s_i^\top g - \sum_{j<i} a_j s_i^\top y_j)` from the newest
    pair to the oldest, and back. Everything is in that order, per run.
    """
    products = mixed.diagonal(dim1=-2, dim2=-1)
    inverse = torch.where(products > 0, 1 / products.clamp(min=1e-30), torch.zeros_like(products))
    one = torch.eye(mixed.shape[-1], dtype=mixed.dtype, device=mixed.device)
    lower = inverse[..., None] * mixed.tril(-1)
    first = torch.linalg.solve_triangular(one + lower, (inverse * by_moves)[..., None], upper=False)[..., 0]
    length = own[..., :1, 0]
    gamma = torch.where(products[..., :1] > 0, products[..., :1] / length.clamp(min=1e-30), torch.ones_like(length))
    upper = inverse[..., None] * mixed.transpose(-1, -2).triu(1)
    reached = inverse * gamma * (by_changes - (own @ first[..., None])[..., 0]) + (upper @ first[..., None])[..., 0]
    second = torch.linalg.solve_triangular(one + upper, reached[..., None], upper=True)[..., 0]
    return first - second, -gamma * first, gamma
