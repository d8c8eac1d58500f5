"""One step of all runs: recorded or compiled once, then taken again and again, until no run moves any more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, Protocol

import torch
from torch import Tensor

from seepage.attacks.inversion.comparison import layers_of
from seepage.attacks.inversion.optimisers import Optimiser
from seepage.attacks.inversion.priors import PriorScene
from seepage.attacks.inversion.replay import Problem
from seepage.models import Learner, Parameters, Traced
from seepage.observation import Exchange, Observation, Space


class StepRecipe(Protocol):
    """What of an attack decides its step. Equal recipes have the same step."""

    @property
    def optimiser(self) -> Optimiser: ...

    @property
    def compile(self) -> str: ...

    @property
    def device(self) -> str: ...

    def problem(self, scene: PriorScene, *, extra: int = 0, kept: int = 1 << 60) -> Problem: ...

    def __hash__(self) -> int: ...


def make_scene(learner: Learner, space: Space, exchange: Exchange, shared: bool) -> PriorScene:
    """One dummy set for every local epoch (Dimitrov et al.), because a client shuffles its rows anew in each.

    A client that keeps their order is replayed with one set.
    """
    sets = 1 if exchange.same_order else exchange.local_epochs
    return PriorScene(learner=learner, space=space, exchange=exchange, shared=shared, sets=sets)


@lru_cache(maxsize=8)
def recorded_step(
    attack: StepRecipe, learner: Learner, space: Space, exchange: Exchange, shared: bool, extra: int, kept: int
) -> Callable[..., None]:
    """One step for observations of this kind; kept, because the points of a training run are attacked one by one."""
    recorder = partial(Traced, compiled=attack.compile == "yes", steady=learner.vectorised)
    scene = make_scene(learner.to(attack.device), space.to(attack.device), exchange, shared)
    evaluate = attack.problem(scene, extra=extra, kept=kept).evaluation(recorder)

    def settle(
        x: Tensor, state: tuple[Tensor, ...], best: Tensor, lowest: Tensor, moving: Tensor, sizes: Tensor,
        losses: Tensor, slope: Tensor,
    ) -> None:  # fmt: skip
        better = losses < lowest
        torch.where(better[..., None, None], x, best, out=best)
        torch.where(better, losses, lowest, out=lowest)
        attack.optimiser.move(x, slope, state, sizes, moving)

    if exchange.protocol == "fedsgd":

        def step(
            x: Tensor, state: Any, best: Tensor, lowest: Tensor, moving: Tensor, sizes: Tensor, *fixed: Any
        ) -> None:
            settle(x, state, best, lowest, moving, sizes, *evaluate(x, *fixed))

        return recorder(step)
    settled = recorder(settle)

    def long_step(
        x: Tensor, state: Any, best: Tensor, lowest: Tensor, moving: Tensor, sizes: Tensor, *fixed: Any
    ) -> None:
        settled(x, state, best, lowest, moving, sizes, *evaluate(x, *fixed))

    return long_step


class Watch:
    """Which runs still move. A run stops on its own loss alone, so it ends the same whatever runs beside it."""

    def __init__(self, patience: int, lowest: Tensor) -> None:
        self._patience = patience
        self._mark = torch.full_like(lowest, 1e30)
        self._since = torch.zeros_like(lowest)
        self.moving = torch.ones((*lowest.shape, 1, 1), device=lowest.device)

    def all_stopped(self, lowest: Tensor, number: int) -> bool:
        """Look at the losses; whether no run moves any more."""
        if not self._patience:
            return False
        fell = lowest < self._mark - 0.01 * self._mark.abs() - 1e-8  # below that it is float error that falls
        torch.where(fell, lowest, self._mark, out=self._mark)
        self._since = torch.where(fell, float(number), self._since)
        self.moving *= (number - self._since < self._patience)[..., None, None]
        return not bool(self.moving.any())


def moved(tree: Any, device: str) -> Any:
    """Nested tensors on a device."""
    if isinstance(tree, Tensor):
        return tree.to(device)
    if isinstance(tree, dict):
        return {name: value.to(device) for name, value in tree.items()}
    return tuple(moved(value, device) for value in tree)


def share_parameters(observations: Sequence[Observation]) -> bool:
    """Whether all were sent the same tensors, as the clients of one round are; each has its own mapping of them."""
    first = observations[0].parameters
    return all(o.parameters[name] is value for o in observations[1:] for name, value in first.items())


def stacked(observations: Sequence[Observation]) -> tuple[Parameters, Parameters, Tensor, Tensor, Tensor]:
    """Parameters (stacked only where they differ), updates divided by their length, layers' shares, lengths, labels."""
    first = observations[0]
    parameters = first.parameters
    if not share_parameters(observations):
        parameters = {name: torch.stack([o.parameters[name] for o in observations]) for name in first.parameters}
    updates = {name: torch.stack([o.update[name] for o in observations]).double() for name in first.parameters}
    squares = {name: value.flatten(1).square().sum(1) for name, value in updates.items()}
    whole = torch.stack(list(squares.values())).sum(0)
    length = whole.sqrt()
    direction = {name: value / length.reshape(-1, *[1] * (value.dim() - 1)) for name, value in updates.items()}
    own = [torch.stack([squares[name] for name in parts]).sum(0) / whole for parts in layers_of(squares).values()]
    # Unknown labels: the first class, or the mean of a standardised regression target (the profiling study).
    dummy = torch.zeros(first.exchange.rows, dtype=torch.float32 if first.learner.task == "regression" else torch.int64)
    labels = torch.stack([dummy if o.labels is None else o.labels for o in observations])
    observed = {name: value.float() for name, value in direction.items()}
    return parameters, observed, torch.stack(own, -1)[:, None], length[:, None, None], labels
