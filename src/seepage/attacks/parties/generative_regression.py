"""A network that makes up a guest's columns until the model answers as it did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from seepage._core import InputError, NotApplicable, Outcome, Progress, Streams, silent
from seepage.attacks.parties.attack import Messages, nothing_alone
from seepage.attacks.parties.ridge import one_hot
from seepage.data import Layout
from seepage.models import scoped_randomness
from seepage.observation import Claim
from seepage.observation.parties import HostScene, Received, Released, averaged

SPREAD = 0.1  # weight of numbers that spread more than standardised ones do


@dataclass(frozen=True, kw_only=True)
class GenerativeRegression:
    """Train a generator, from what the host holds to the guest's columns, on the model's own answers.

    Needs the trained model of all parties and the predictions for all rows; with ``match=intermediates`` also what the
    guest sent. It takes no known row. The generator sees the host's own columns, the labels, what is matched, and
    random numbers; numbers that spread more than standardised ones do are penalised.

    Args:
        match: what the made-up columns must reproduce: ``predictions`` or ``intermediates``.
        steps: of Adam.
        width: of the generator's hidden layer.
        rate: of Adam.
        batch_size: rows of a step.

    Guarantees:
        None.

    References:
        Luo et al., Feature Inference Attack on Model Predictions in Vertical Federated Learning, ICDE 2021. NOTE[DIFF]
        categories are softmax blocks here, and the matched answers are inputs of the generator, too.

    Example:
        >>> GenerativeRegression(match="intermediates").match
        'intermediates'
    """

    match: str = "predictions"
    steps: int = 200
    width: int = 64
    rate: float = 5e-3
    batch_size: int = 256

    reads: ClassVar[Literal["columns", "labels"]] = "columns"

    def __post_init__(self) -> None:
        if self.match not in ("predictions", "intermediates"):
            raise InputError(f"What is matched is {self.match!r}; it must be predictions or intermediates.")
        if min(self.steps, self.width, self.batch_size) < 1 or self.rate <= 0:
            raise InputError("Steps, width, batch size and rate of the generator must be above 0.")

    def start(self, scene: HostScene, streams: Streams, *, progress: Progress = silent) -> Messages:
        """A reader of one guest's messages."""
        released = scene.released
        if released is None:
            raise NotApplicable("The host does not have the trained model.")

        def answer(seen: Sequence[Received]) -> Claim:
            target = released.logits if self.match == "predictions" else averaged(seen, scene.rows)
            rows = self._generated(scene, released, target, streams)
            return Claim(outcome=Outcome.BUDGET_SPENT, rows=rows, ordered=True)

        return Messages(answer)

    def alone(self, scene: HostScene, streams: Streams) -> Claim:
        """Nothing: without answers of the model there is nothing to reproduce."""
        return nothing_alone()

    def _generated(self, scene: HostScene, released: Released, target: np.ndarray, streams: Streams) -> np.ndarray:
        held = np.concatenate([scene.own, one_hot(scene.labels), _standardised(target)], 1)
        inputs, wanted = _tensor(held), _tensor(target)
        scale = wanted.std(0).clamp(min=1e-3)
        random = torch.Generator().manual_seed(streams.integer("generator"))
        picks = streams.numpy("batches")
        with scoped_randomness(streams.integer("weights")):
            generator = nn.Sequential(
                nn.Linear(2 * inputs.shape[1], self.width), nn.ReLU(), nn.Linear(self.width, scene.layout.width)
            )
        optimiser = torch.optim.Adam(generator.parameters(), self.rate)
        size = min(self.batch_size, scene.rows)
        for _ in range(self.steps):
            places = picks.choice(scene.rows, size, replace=False)
            x = _made(generator, inputs[places], scene.layout, random)
            answers = released.bottom(x)
            if self.match == "predictions":
                answers = released.predict(answers, places)
            numbers = x[:, : scene.layout.numeric]
            loss = (((answers - wanted[places]) / scale) ** 2).mean() + SPREAD * F.relu(numbers.var(0) - 1).sum()
            optimiser.zero_grad(set_to_none=True)
            torch.autograd.backward(loss, inputs=list(generator.parameters()))
            optimiser.step()
        with torch.no_grad():
            made: np.ndarray = _made(generator, inputs, scene.layout, None).double().numpy()
        return made


def _made(generator: nn.Module, inputs: Tensor, layout: Layout, random: torch.Generator | None) -> Tensor:
    """(rows, width) made-up columns; without random numbers, those of their mean."""
    noise = torch.zeros_like(inputs) if random is None else torch.randn(inputs.shape, generator=random)
    raw = generator(torch.cat([inputs, noise], 1))
    blocks = [torch.softmax(raw[:, block], 1) for block in layout.blocks]
    return torch.cat([raw[:, : layout.numeric], *blocks], 1)


def _standardised(values: np.ndarray) -> np.ndarray:
    deviation = values.std(0)
    return np.asarray((values - values.mean(0)) / np.where(deviation > 1e-6, deviation, 1.0))


def _tensor(values: np.ndarray) -> Tensor:
    return torch.from_numpy(values.astype(np.float32))
