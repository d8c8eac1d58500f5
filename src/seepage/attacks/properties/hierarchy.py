"""First the rough range, then the finer one inside it (the property-inference thesis, section 3.4)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import torch
from torch import Tensor

from seepage._core import InputError, Progress, Streams, silent
from seepage.attacks.properties.losses import classes_of
from seepage.attacks.properties.meta import FittedMeta, Guess, MetaModel, check_shadows, check_targets
from seepage.models.stack import Stack


@dataclass(frozen=True, kw_only=True)
class Hierarchy:
    """One meta-model tells a few rough classes apart; for each of them another one tells its finer classes.

    The thesis has 4 rough and 5 finer classes, 20 in all. A wrong rough class cannot be mended.

    Args:
        rough, fine: settings of the first meta-model and of those that follow.
        rough_classes, fine_classes: how many; their product is the number of classes.
    """

    rough: MetaModel = field(default_factory=MetaModel)
    fine: MetaModel = field(default_factory=MetaModel)
    rough_classes: int = 4
    fine_classes: int = 5

    def __post_init__(self) -> None:
        if min(self.rough_classes, self.fine_classes) < 2:
            raise InputError(
                f"The hierarchy has {self.rough_classes} rough and {self.fine_classes} finer classes; "
                "each must be at least 2."
            )

    @staticmethod
    def read(text: str) -> tuple[int, int]:
        """Rough and finer classes of a word such as ``4x5``."""
        found = re.fullmatch(r"(\d{1,4})x(\d{1,4})", text.strip())
        if found is None:
            raise InputError(f"The hierarchy {text!r} is not of the form 4x5: rough classes x finer classes.")
        made = Hierarchy(rough_classes=int(found[1]), fine_classes=int(found[2]))
        return made.rough_classes, made.fine_classes

    @property
    def classes(self) -> int:
        """In all."""
        return self.rough_classes * self.fine_classes

    def fit(self, stack: Stack, shares: Tensor, *, streams: Streams, progress: Progress = silent) -> FittedHierarchy:
        """Train the first meta-model on all shadows, and each that follows on the shadows of its range alone."""
        check_shadows(stack, shares, self.classes)
        total = self.rough_classes + 1
        rough = self.rough.fit(stack, shares, classes=self.rough_classes, streams=streams.child("rough"))
        progress("hierarchy", 1, total)
        ranges, within = classes_of(shares, self.rough_classes), _within(shares, self.rough_classes)
        fine = []
        for number in range(self.rough_classes):
            inside = (ranges == number).nonzero().flatten()
            made = self.fine.fit(
                stack.take(inside), within[inside], classes=self.fine_classes, streams=streams.child("fine", number)
            )
            fine.append(made)
            progress("hierarchy", number + 2, total)
        return FittedHierarchy(rough=rough, fine=tuple(fine))


@dataclass(frozen=True, kw_only=True, eq=False)
class FittedHierarchy:
    """The trained meta-models: the first one, and one for each of its classes."""

    rough: FittedMeta
    fine: tuple[FittedMeta, ...]

    @property
    def course(self) -> tuple[tuple[float, float], ...]:
        """Training and validation loss of each epoch, one meta-model after the other."""
        return sum((each.course for each in self.fine), self.rough.course)

    def predict(self, stack: Stack) -> Guess:
        """Send each target through the first meta-model and then through that of its class.

        The probabilities are those of both steps multiplied, over all ways and not only the one that is taken. There
        are no intervals: those of the second step know nothing of a wrong first one.
        """
        check_targets(stack, self.rough.widths)
        first, second = self.rough.predict(stack), [each.predict(stack) for each in self.fine]
        way = first.classes[:, None]
        inside = torch.stack([guess.classes for guess in second], 1).gather(1, way)[:, 0]
        joint = first.probabilities[:, :, None] * torch.stack([guess.probabilities for guess in second], 1)
        known = [guess.shares for guess in second if guess.shares is not None]
        shares = (first.classes + torch.stack(known, 1).gather(1, way)[:, 0]) / len(second) if known else None
        return Guess(
            classes=first.classes * second[0].probabilities.shape[1] + inside,
            probabilities=joint.flatten(1),
            shares=shares,
        )


def _within(shares: Tensor, rough_classes: int) -> Tensor:
    """Where a share lies inside its rough range, from 0 to 1."""
    return (shares * rough_classes - classes_of(shares, rough_classes)).clamp(0, 1)
