"""What every party has: modules that it trains and that nobody else sees."""

from __future__ import annotations

import torch
from torch import Tensor, nn

BEST, ADAM = "best.", "adam."


class Learning:
    """Modules with their optimiser, the best weights so far, and a state that can be saved and restored.

    Args:
        modules: by name; ``None`` entries are left out.
        rate: of Adam.
        clip: the largest norm of a party's gradient. NOTE[DIFF] a central TabNet clips the norm of all gradients
            together; parties would have to tell each other their norms for that.
    """

    def __init__(self, modules: dict[str, nn.Module | None], rate: float, clip: float) -> None:
        self.modules = nn.ModuleDict({name: module for name, module in modules.items() if module is not None})
        self._rate, self._clip = rate, clip
        self._best: dict[str, Tensor] = {}
        self.restart()

    def restart(self) -> None:
        """A fresh optimiser, as at the beginning of a phase."""
        self._optimiser = torch.optim.Adam(self.modules.parameters(), lr=self._rate, fused=True)  # many tiny tensors
        self._best = {}

    def train(self, mode: bool) -> None:
        """Switch BatchNorm between training and evaluation."""
        if self.modules.training != mode:
            self.modules.train(mode)

    def step(self) -> None:
        """One step with the gradients that are there.

        NOTE[DIFF] Where nearly all rows of a ghost batch are equal, the chain of BatchNorms enlarges gradients beyond
        float32: seen at a guest of Bank Marketing with ``pdays``, ``previous`` and ``poutcome``. pytorch-tabnet's
        weights become NaN there; here such a step is left out.
        """
        norm = torch.nn.utils.clip_grad_norm_(self.modules.parameters(), self._clip)
        if bool(torch.isfinite(norm)):
            self._optimiser.step()
        self._optimiser.zero_grad(set_to_none=True)

    def forget(self) -> None:
        """Drop gradients that will not be used."""
        self._optimiser.zero_grad(set_to_none=True)

    def remember(self) -> None:
        """Keep the weights as the best so far."""
        self._best = {name: value.clone() for name, value in self.modules.state_dict().items()}

    def recall(self) -> None:
        """Back to the best weights, if there are any."""
        if self._best:
            self.modules.load_state_dict(self._best)

    def state(self) -> dict[str, Tensor]:
        """Everything that is needed to go on: weights, the best weights, the optimiser's moments."""
        state = dict(self.modules.state_dict())
        state |= {BEST + name: value for name, value in self._best.items()}
        for place, parameter in enumerate(self.modules.parameters()):
            for name, value in self._optimiser.state[parameter].items():
                state[f"{ADAM}{place}.{name}"] = value
        return {name: value.detach().clone().contiguous() for name, value in state.items()}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Go on from a saved state."""
        self.restart()
        plain = {name: value for name, value in state.items() if not name.startswith((BEST, ADAM))}
        self.modules.load_state_dict(plain)
        self._best = {name.removeprefix(BEST): value for name, value in state.items() if name.startswith(BEST)}
        parameters = list(self.modules.parameters())
        for name, value in state.items():
            if name.startswith(ADAM):
                place, field = name.removeprefix(ADAM).split(".")
                self._optimiser.state[parameters[int(place)]][field] = value.clone()


def chunk_sizes(total: int, parts: int) -> list[int]:
    """Sizes of nearly equal parts, the larger ones first."""
    return [total // parts + (place < total % parts) for place in range(parts)]


def batches(rows: Tensor, size: int) -> list[Tensor]:
    """Mini batches in the order of the rows. A single row at the end joins the batch before: BatchNorm needs two."""
    parts = list(torch.split(rows, size))
    if len(parts) > 1 and len(parts[-1]) == 1:
        parts[-2:] = [torch.cat(parts[-2:])]
    return parts
