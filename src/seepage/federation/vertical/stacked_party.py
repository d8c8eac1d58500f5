"""One party of many federations at once: weights, Adam's moments and the best weights, each with an axis of runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from seepage.federation.vertical.party import Learning
from seepage.models.tabnet_stack import Weights, names_of

RATES, TINY = (0.9, 0.999), 1e-8  # torch.optim.Adam's
STATE = ("flat", "first", "second", "steps", "kept", "has_kept")


class StackedLearning:
    """What :class:`Learning` is for one run, for many runs of one shape.

    Args:
        runs: the party in every run; their weights are copied, and :meth:`give_back` returns them.
        rate, clip: as there; a run's gradient is clipped by its own norm.
    """

    def __init__(self, runs: Sequence[Learning], rate: float, clip: float) -> None:
        self._runs, self._rate, self._clip = runs, rate, clip
        self._aliases = names_of(runs[0].modules)
        parameters = dict(runs[0].modules.named_parameters())
        self._shapes = {name: tensor.shape for name, tensor in parameters.items()}
        states = [run.modules.state_dict() for run in runs]
        self.flat = torch.cat(
            [torch.stack([state[name] for state in states]).flatten(1) for name in self._shapes]
            or [torch.zeros(len(runs), 0)],
            1,
        )
        self.buffers = {
            name: torch.stack([state[name] for state in states]).clone()
            for name, stands in self._aliases.items()
            if name == stands and name not in self._shapes
        }
        self.restart()

    def restart(self) -> None:
        """A fresh optimiser, as at the beginning of a phase."""
        self.first, self.second = torch.zeros_like(self.flat), torch.zeros_like(self.flat)
        self.steps = torch.zeros(len(self.flat))
        self.kept, self.kept_buffers = self.flat.clone(), _copied(self.buffers)
        self.has_kept = torch.zeros(len(self.flat), dtype=torch.bool)

    def remember(self, runs: Tensor) -> None:
        """Keep the weights of these runs as their best so far."""
        self.kept[runs] = self.flat[runs]
        for name, tensor in self.buffers.items():
            self.kept_buffers[name][runs] = tensor[runs]
        self.has_kept[runs] = True

    def recall(self) -> None:
        """Back to the best weights, in runs that have some."""
        runs = self.has_kept.nonzero().flatten()
        self.flat[runs] = self.kept[runs]
        for name, tensor in self.buffers.items():
            tensor[runs] = self.kept_buffers[name][runs]

    def at(self, runs: Tensor) -> Part:
        """These runs, to compute with; :meth:`take` brings back what they learned."""
        buffers = {name: tensor[runs] for name, tensor in self.buffers.items()}
        moments = self.first[runs], self.second[runs], self.steps[runs]
        return Part(self.flat[runs], moments, buffers, self._shapes, self._aliases, self._rate, self._clip)

    def take(self, runs: Tensor, part: Part) -> None:
        """What these runs learned."""
        self.flat[runs], self.first[runs], self.second[runs] = part.flat, part.first, part.second
        self.steps[runs] = part.steps
        for name, tensor in self.buffers.items():
            tensor[runs] = part.buffers[name]

    def give_back(self) -> None:
        """Every run's party gets its weights."""
        cuts = torch.split(self.flat, [shape.numel() for shape in self._shapes.values()], 1)
        stacked = {name: cut.reshape(-1, *shape) for (name, shape), cut in zip(self._shapes.items(), cuts, strict=True)}
        stacked |= self.buffers
        for place, run in enumerate(self._runs):
            run.modules.load_state_dict({name: stacked[stands][place] for name, stands in self._aliases.items()})

    def state(self) -> dict[str, Tensor]:
        """To save."""
        return dict(self._state())

    def restore(self, state: dict[str, Tensor]) -> None:
        """Go on from a saved state."""
        for name, tensor in self._state():
            tensor.copy_(state[name])

    def _state(self) -> Iterator[tuple[str, Tensor]]:
        yield from ((name, getattr(self, name)) for name in STATE)
        yield from ((f"buffers.{name}", tensor) for name, tensor in self.buffers.items())
        yield from ((f"kept.{name}", tensor) for name, tensor in self.kept_buffers.items())


class Part:
    """Some runs of a party for an epoch.

    Args:
        flat: (runs, parameters) all weights of a run in one row.
        moments: Adam's, of that shape, and (runs,) its steps.
    """

    def __init__(
        self,
        flat: Tensor,
        moments: tuple[Tensor, Tensor, Tensor],
        buffers: dict[str, Tensor],
        shapes: dict[str, torch.Size],
        aliases: dict[str, str],
        rate: float,
        clip: float,
    ) -> None:
        self.flat, self.buffers = flat, buffers
        self.first, self.second, self.steps = moments
        self._rate, self._clip = rate, clip
        cuts = torch.split(flat, [shape.numel() for shape in shapes.values()], 1)
        self.leaves = [
            cut.view(-1, *shape).detach().requires_grad_() for cut, shape in zip(cuts, shapes.values(), strict=True)
        ]
        own: dict[str, Tensor] = dict(zip(shapes, self.leaves, strict=True)) | buffers
        self._tensors = {name: own[stands] for name, stands in aliases.items()}

    def weights(self, learning: bool) -> Weights:
        """To compute with."""
        return Weights(self._tensors, learning)

    @torch.no_grad()
    def learn(self, gradients: Sequence[Tensor | None], there: Tensor | None = None) -> None:
        """One step of Adam in every run whose gradient is finite, as :meth:`Learning.step` does.

        A parameter without a gradient in a phase never has one there: its moments are zero, and it stays.

        Args:
            gradients: of the leaves.
            there: (runs,) runs that learn at all; None: all.
        """
        if not self.leaves:
            return
        flat = torch.cat(
            [
                torch.zeros_like(leaf).flatten(1) if each is None else each.flatten(1)
                for leaf, each in zip(self.leaves, gradients, strict=True)
            ],
            1,
        )
        norms = flat.norm(dim=1)
        learns = torch.isfinite(norms) if there is None else torch.isfinite(norms) & there
        flat.mul_((self._clip / (norms + 1e-6)).clamp(max=1)[:, None])
        first = torch.lerp(self.first, flat, 1 - RATES[0])
        second = torch.addcmul(self.second * RATES[1], flat, flat, value=1 - RATES[1])
        steps = self.steps + 1
        size = self._rate / (1 - RATES[0] ** steps)
        spread = (second.sqrt() / (1 - RATES[1] ** steps).sqrt()[:, None]).add_(TINY)
        moved = self.flat - size[:, None] * first / spread
        if not bool(learns.all()):
            stay = ~learns
            for new, old in ((first, self.first), (second, self.second), (moved, self.flat)):
                new[stay] = old[stay]
            steps[stay] = self.steps[stay]
        self.first, self.second, self.steps = first, second, steps
        self.flat.copy_(moved)  # the leaves are views of it


def _copied(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in tensors.items()}
