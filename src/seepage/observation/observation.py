"""What the adversary holds. There is no truth in this room."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Literal

import torch
from torch import Tensor

from seepage._core import InputError
from seepage.data import Layout
from seepage.models import Learner, LocalTraining, Parameters
from seepage.observation.channel import PLAIN_CHANNEL, Channel
from seepage.results.facts import ThreatModel

PLAIN = LocalTraining()
_SENT = {
    "fedsgd": "Each client's gradient of one mini batch, in every attacked round, before averaging.",
    "fedavg": "Each client's change of the model after local training, in every attacked round, before averaging.",
}


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """The rules of one round, which the server wrote and so knows.

    Args:
        protocol: ``fedsgd`` (the client sends a gradient) or ``fedavg`` (a change of the parameters).
        rows: rows behind the update.
        batch_size: rows of one local step; ``rows`` for FedSGD.
        local_epochs: passes over the rows (FedAvg).
        learning_rate: of the local steps (FedAvg).
        same_order: every pass goes through the rows in the order of the first; else it shuffles them (FedAvg).
        training: optimiser, schedule, clipping and the like of the local steps (FedAvg).
        covered: something changes what is sent, whether or not the adversary knows what.
        channel: what a defence is known to do to it. Its random numbers are not known.
    """

    protocol: Literal["fedsgd", "fedavg"]
    rows: int
    batch_size: int
    local_epochs: int = 1
    learning_rate: float = 0.0
    same_order: bool = False
    training: LocalTraining = PLAIN
    covered: bool = False
    channel: Channel = PLAIN_CHANNEL

    @property
    def steps(self) -> int:
        """Local steps behind the update."""
        return (self.rows // self.batch_size) * self.local_epochs


@dataclass(frozen=True, kw_only=True, eq=False)
class Space:
    """The model's input space as far as the adversary knows it.

    Args:
        layout: where numbers and category blocks stand.
        standardised: the one-hot entries are standardised too, so a raw 1 is not an input of 1.
        shift, scale: (width,) how raw values become inputs, if the clients use statistics the server knows.
        low, high: (numeric,) the range of every number, in raw units, if it is known.
        integers: (numeric,) which numbers are whole in raw units, if it is known.
    """

    layout: Layout
    standardised: bool = False
    shift: Tensor | None = None
    scale: Tensor | None = None
    low: Tensor | None = None
    high: Tensor | None = None
    integers: Tensor | None = None

    @property
    def known(self) -> tuple[Hashable, ...]:
        """Equal for equal spaces: everything that is known of it."""
        numbers = (self.shift, self.scale, self.low, self.high, self.integers)
        return (
            self.layout,
            self.standardised,
            *(None if each is None else each.cpu().numpy().tobytes() for each in numbers),
        )

    def to(self, device: str) -> Space:
        """The same space with its numbers on another device."""
        if device == "cpu":
            return self
        names = ("shift", "scale", "low", "high", "integers")
        known = {name: value.to(device) for name in names if (value := getattr(self, name)) is not None}
        return replace(self, **known)


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """What the adversary is given beside the update. It is checked before a run and printed in the report.

    Args:
        labels: the labels of the attacked rows are known.
        ranges: the valid range of every number, and which are whole, are known.
        whole: which numbers are whole is known, without their ranges.
        statistics: the clients scale with pooled statistics that the server knows, not with their own.
    """

    labels: bool = True
    ranges: bool = False
    whole: bool = False
    statistics: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Scene:
    """What updates that are attacked together have in common.

    Args:
        learner: architecture and loss.
        space: the input space as far as it is known.
        exchange: the rules of the round.
    """

    learner: Learner
    space: Space
    exchange: Exchange


@dataclass(frozen=True, kw_only=True)
class Observation:
    """One client's update as the server sees it.

    Args:
        learner: architecture and loss.
        space: the input space as far as it is known.
        parameters: the global model that was sent out.
        update: what came back: the gradient (FedSGD) or the change of the parameters (FedAvg).
        exchange: the rules of the round.
        labels: (rows,) in ascending order if the adversary knows them, else None. Their order tells nothing, neither
            about rows nor about who shared a local batch.
        buffers: running statistics of BatchNorm that were sent out; empty where they are not shared.
        moved: how the client's running statistics changed, by the same names.
        earlier: what the same client sent in rounds before, oldest first, if the adversary kept it. Whether the same
            rows were behind them is not said.
    """

    learner: Learner
    space: Space
    parameters: Parameters
    update: Parameters
    exchange: Exchange
    labels: Tensor | None = None
    buffers: Parameters = field(default_factory=dict)
    moved: Parameters = field(default_factory=dict)
    earlier: tuple[Observation, ...] = ()

    def __post_init__(self) -> None:
        for name, value in self.parameters.items():
            sent = self.update.get(name)
            if sent is None or sent.shape != value.shape:
                found = "nothing" if sent is None else f"shape {tuple(sent.shape)}"
                raise InputError(
                    f"The update does not fit the model: {name} is {tuple(value.shape)}, the update has {found}."
                )
        extra = sorted(self.update.keys() - self.parameters.keys())
        if extra:
            raise InputError(f"The update does not fit the model: it has {extra[0]!r}, the model has not.")
        if self.labels is not None and len(self.labels) != self.exchange.rows:
            raise InputError(f"There are {len(self.labels)} labels for {self.exchange.rows} attacked rows.")

    @property
    def rounds(self) -> tuple[Observation, ...]:
        """All rounds of the client that were kept, each as an observation of its own; this one is the last."""
        return (*self.earlier, replace(self, earlier=()))

    @property
    def scene(self) -> Scene:
        """What it has in common with the updates that are attacked together with it."""
        return Scene(learner=self.learner, space=self.space, exchange=self.exchange)

    def describe(self) -> ThreatModel:
        """Who holds this, what it shows, and what of the rest is in it, as sentences."""
        knows = [
            "The model's architecture, loss and current parameters.",
            "The protocol: batch size, local steps, learning rates, aggregation rule.",
            "The columns: names, order, types and categories.",
        ]
        unknown = ["The rows."]
        if self.space.scale is not None:
            knows.append("The means and deviations with which all clients scale their numbers.")
        else:
            unknown.append("The clients' own means and deviations, with which they scale their numbers.")
        if self.moved:
            knows.append("How the client's running statistics of BatchNorm moved.")
        (unknown if self.labels is None else knows).append("The labels of the attacked rows.")
        ranges = "The range of every number, and which are whole numbers."
        if self.space.low is None and self.space.integers is not None:
            knows.append("Which numbers are whole.")
            ranges = "The range of every number."
        (unknown if self.space.low is None else knows).append(ranges)
        return ThreatModel(
            adversary=(
                "An honest-but-curious server: it follows the protocol and tries to read rows from the updates.",
            ),
            sees=(_SENT[self.exchange.protocol], *self._kept(), "The global model of every round."),
            knows=tuple(knows),
            does_not_know=tuple(unknown),
        )

    def _kept(self) -> tuple[str, ...]:
        return (f"Up to {len(self.rounds)} updates of the same client, joined.",) if self.earlier else ()

    @property
    def layout(self) -> Layout:
        """Where numbers and category blocks stand in an input."""
        return self.space.layout

    @property
    def finite(self) -> bool:
        """Whether the update is made of finite numbers and is not all zero."""
        flat = torch.cat([value.flatten() for value in self.update.values()])
        return bool(flat.isfinite().all()) and bool(flat.any())
