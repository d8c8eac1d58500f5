"""How a vertical federation trains, and what its epochs gave."""

from __future__ import annotations

from dataclasses import dataclass, field

from seepage._core import InputError
from seepage.defenses import Defense
from seepage.federation.vertical.messages import Phase


@dataclass(frozen=True, kw_only=True)
class Training:
    """How a federation trains.

    The TabVFL thesis does not state the optimiser, its rate, the hidden share, the sparsity weight or the patience;
    these are pytorch-tabnet's defaults.

    Args:
        pretraining, finetuning: epochs at most; 0 leaves a phase out.
        batch_size: rows of a mini batch; the order of rows is fixed, as in the TabVFL thesis.
        rate: of Adam.
        clip: largest norm of a party's gradient.
        hidden: share of entries hidden while pretraining.
        sparsity: weight of the attention's entropy while fine-tuning.
        patience: epochs without a better validation loss before a phase stops, and the best weights return; 0 trains
            to the end and keeps the last weights.
        defense: what guests do to intermediate results, and the host to gradients, before anything is sent.
    """

    pretraining: int = 100
    finetuning: int = 100
    batch_size: int = 512
    rate: float = 0.02
    clip: float = 1.0
    hidden: float = 0.2
    sparsity: float = 1e-3
    patience: int = 10
    defense: Defense | None = None

    def __post_init__(self) -> None:
        if self.batch_size < 2:
            raise InputError(f"The batch size is {self.batch_size}; BatchNorm needs at least 2 rows in a batch.")
        if min(self.pretraining, self.finetuning) < 0 or self.pretraining + self.finetuning < 1:
            raise InputError("There must be at least one epoch of pretraining or of fine-tuning.")
        if not 0 < self.hidden < 1:
            raise InputError(f"The hidden share is {self.hidden}; it must lie between 0 and 1.")


@dataclass(frozen=True)
class Epoch:
    """What one epoch gave."""

    phase: str
    number: int
    loss: float
    validation: float
    seconds: float
    absent: tuple[str, ...] = ()


@dataclass
class History:
    """All epochs, and where each phase was best."""

    epochs: list[Epoch] = field(default_factory=list)

    def of(self, phase: Phase) -> list[Epoch]:
        """The epochs of a phase."""
        return [epoch for epoch in self.epochs if epoch.phase == phase.value]

    def best(self, phase: Phase) -> Epoch | None:
        """The epoch whose weights were kept."""
        return min(self.of(phase), key=lambda epoch: epoch.validation, default=None)

    def stopped(self, phase: Phase, patience: int) -> bool:
        """Whether the phase has waited long enough for something better."""
        best = self.best(phase)
        return patience > 0 and best is not None and self.of(phase)[-1].number - best.number >= patience
