"""How a meta-model's answer is trained and read: the five losses of the thesis (section 3.2.3), and a share.

A class is a range of shares. Of four classes, class 0 is from 0 to below 25 %, the last one from 75 to 100 %: a share
on an edge belongs to the higher class, as the shadow factory has it. The thesis counts classes from 1, this code
from 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import torch
from coral_pytorch.dataset import corn_label_from_logits, proba_to_label
from coral_pytorch.layers import CoralLayer
from coral_pytorch.losses import coral_loss, corn_loss
from torch import Tensor, nn
from torch.nn import functional

from seepage._core import InputError, unknown_name

_EDGE = 1e-6  # of a class: a share of 0.3 is on the edge of ten classes, whatever float32 makes of it
_SURE = 1e-6  # closest that a probability comes to 0 or 1 before its logit is taken
_LOG_DEVIATION = (-6.0, 0.0)  # of a share: between a quarter of a percent and everything


class Loss(Protocol):
    """One last layer: how wide it is, how it is trained and what its outputs mean.

    Outputs are raw: a sigmoid or softmax belongs to the reading, where it can be computed stably.
    """

    @property
    def classes(self) -> int:
        """How many ranges the shares are cut into."""

    @property
    def outputs(self) -> int:
        """Width of the last layer."""

    def layer(self, features: int) -> nn.Module:
        """The last layer, with freshly drawn weights."""

    def loss(self, outputs: Tensor, shares: Tensor) -> Tensor:
        """Mean loss of (n, outputs) for models whose true shares are (n,)."""

    def decode(self, outputs: Tensor) -> Tensor:
        """(n,) classes by the rule of the thesis."""

    def probabilities(self, outputs: Tensor, temperature: float = 1.0) -> Tensor:
        """(n, classes) how likely each class is; a higher temperature is less sure."""

    def share(self, outputs: Tensor) -> tuple[Tensor, Tensor] | None:
        """(n,) estimated shares and (n,) their deviations up to a common factor; None if only classes were learnt."""


def classes_of(shares: Tensor, classes: int) -> Tensor:
    """The class of each share.

    Example:
        >>> classes_of(torch.tensor([0.0, 0.24, 0.25, 1.0]), 4).tolist()
        [0, 0, 1, 3]
    """
    return torch.floor(shares * classes + _EDGE).clamp(0, classes - 1).long()


def middles(classes: int) -> Tensor:
    """(classes,) the middle of each range."""
    return (torch.arange(classes) + 0.5) / classes


@dataclass(frozen=True, kw_only=True)
class NLL:
    r"""Softmax and the negative log-likelihood; knows no order of classes.

    The thesis's models collapse to one class at ten and twenty classes. We feed log-probabilities, as the loss asks
    for. Fed with probabilities instead, :math:`-p_y`, the gradient vanishes wherever the model is wrong and sure.
    """

    classes: int

    @property
    def outputs(self) -> int:
        return self.classes

    def layer(self, features: int) -> nn.Module:
        return nn.Linear(features, self.outputs)

    def loss(self, outputs: Tensor, shares: Tensor) -> Tensor:
        return functional.cross_entropy(outputs, classes_of(shares, self.classes))

    def decode(self, outputs: Tensor) -> Tensor:
        return outputs.argmax(1)

    def probabilities(self, outputs: Tensor, temperature: float = 1.0) -> Tensor:
        return (outputs / temperature).softmax(1)

    def share(self, outputs: Tensor) -> None:
        return None


@dataclass(frozen=True, kw_only=True)
class MiddleOfRange:
    """A sigmoid is fitted to the middle of the true class by squared error, and read by the range it falls into.

    The thesis has no probabilities. Ours say that the error is normal, with one class as its deviation at
    temperature 1.
    """

    classes: int

    @property
    def outputs(self) -> int:
        return 1

    def layer(self, features: int) -> nn.Module:
        return nn.Linear(features, self.outputs)

    def loss(self, outputs: Tensor, shares: Tensor) -> Tensor:
        goal = middles(self.classes).to(outputs)[classes_of(shares, self.classes)]
        return functional.mse_loss(outputs[:, 0].sigmoid(), goal)

    def decode(self, outputs: Tensor) -> Tensor:
        return classes_of(outputs[:, 0].sigmoid(), self.classes)

    def probabilities(self, outputs: Tensor, temperature: float = 1.0) -> Tensor:
        estimate, deviation = self.share(outputs)
        return _of_normal(estimate, deviation * temperature, self.classes)

    def share(self, outputs: Tensor) -> tuple[Tensor, Tensor]:
        estimate = outputs[:, 0].sigmoid()
        return estimate, torch.full_like(estimate, 1 / self.classes)


@dataclass(frozen=True, kw_only=True)
class SOR:
    """Simple ordinal regression: class c of K is c + 1 ones and then zeros, fitted by squared error.

    Read by counting the sigmoids above 0.5. The thesis counts "from left to right" and calls it a sum; nothing
    keeps the sigmoids in order, and a one behind a zero counts as well. No one at all is class 0.
    """

    classes: int

    @property
    def outputs(self) -> int:
        return self.classes

    def layer(self, features: int) -> nn.Module:
        return nn.Linear(features, self.outputs)

    def loss(self, outputs: Tensor, shares: Tensor) -> Tensor:
        return functional.mse_loss(outputs.sigmoid(), levels(classes_of(shares, self.classes) + 1, self.outputs))

    def decode(self, outputs: Tensor) -> Tensor:
        return ((outputs > 0).sum(1) - 1).clamp(min=0)

    def probabilities(self, outputs: Tensor, temperature: float = 1.0) -> Tensor:
        return _of_levels((outputs[:, 1:] / temperature).sigmoid())  # the first is 1 for every class

    def share(self, outputs: Tensor) -> None:
        return None


@dataclass(frozen=True, kw_only=True)
class CORAL:
    """Is the class above 0, above 1, ...? One direction for all questions, and a threshold for each (Cao et al. 2020).

    The thresholds come out in order where the loss is least, so the answers do not contradict each other there.
    """

    classes: int

    @property
    def outputs(self) -> int:
        return self.classes - 1

    def layer(self, features: int) -> nn.Module:
        made: nn.Module = CoralLayer(features, self.classes)
        # NOTE[DIFF] The package starts the thresholds between 0 and 1. With many classes they then need thousands of
        # steps to move apart; here they start where a model that knows nothing but the classes' frequency has them.
        above = torch.arange(self.outputs, 0, -1) / self.classes
        made.load_state_dict({"coral_bias": above.logit()}, strict=False)
        return made

    def loss(self, outputs: Tensor, shares: Tensor) -> Tensor:
        loss: Tensor = coral_loss(outputs, levels(classes_of(shares, self.classes), self.outputs))
        return loss

    def decode(self, outputs: Tensor) -> Tensor:
        found: Tensor = proba_to_label(outputs.sigmoid())
        return found

    def probabilities(self, outputs: Tensor, temperature: float = 1.0) -> Tensor:
        return _of_levels((outputs / temperature).sigmoid())

    def share(self, outputs: Tensor) -> None:
        return None


@dataclass(frozen=True, kw_only=True)
class CORN:
    """Given that the class is at least k, is it above k? A chain of answers is always in order (Shi et al. 2023)."""

    classes: int

    @property
    def outputs(self) -> int:
        return self.classes - 1

    def layer(self, features: int) -> nn.Module:
        return nn.Linear(features, self.outputs)

    def loss(self, outputs: Tensor, shares: Tensor) -> Tensor:
        loss: Tensor = corn_loss(outputs, classes_of(shares, self.classes), self.classes)
        return loss

    def decode(self, outputs: Tensor) -> Tensor:
        found: Tensor = corn_label_from_logits(outputs)
        return found

    def probabilities(self, outputs: Tensor, temperature: float = 1.0) -> Tensor:
        return _of_levels((outputs / temperature).sigmoid().cumprod(1))

    def share(self, outputs: Tensor) -> None:
        return None


@dataclass(frozen=True, kw_only=True)
class Share:
    """Beyond the thesis: the share itself with its own deviation, trained by the likelihood of a normal error.

    The classes are read from the estimate. :class:`~seepage.attacks.properties.meta.MetaModel` turns the deviation into
    an interval with a known coverage.
    """

    classes: int

    @property
    def outputs(self) -> int:
        return 2

    def layer(self, features: int) -> nn.Module:
        return nn.Linear(features, self.outputs)

    def loss(self, outputs: Tensor, shares: Tensor) -> Tensor:
        estimate, deviation = self.share(outputs)
        return (deviation.log() + ((shares - estimate) / deviation).square() / 2).mean()

    def decode(self, outputs: Tensor) -> Tensor:
        return classes_of(outputs[:, 0].sigmoid(), self.classes)

    def probabilities(self, outputs: Tensor, temperature: float = 1.0) -> Tensor:
        estimate, deviation = self.share(outputs)
        return _of_normal(estimate, deviation * temperature, self.classes)

    def share(self, outputs: Tensor) -> tuple[Tensor, Tensor]:
        return outputs[:, 0].sigmoid(), (outputs[:, 1] - 2).clamp(*_LOG_DEVIATION).exp()


LOSSES: dict[str, type[NLL] | type[MiddleOfRange] | type[SOR] | type[CORAL] | type[CORN] | type[Share]] = {
    "nll": NLL,
    "interval": MiddleOfRange,
    "sor": SOR,
    "coral": CORAL,
    "corn": CORN,
    "share": Share,
}


def make_loss(name: str, classes: int) -> Loss:
    """The loss of this name for so many classes."""
    if name not in LOSSES:
        raise unknown_name("loss", name, LOSSES)
    if classes < 2:
        raise InputError(f"The shares are cut into {classes} class; at least 2 are needed.")
    return LOSSES[name](classes=classes)


def levels(counts: Tensor, width: int) -> Tensor:
    """(n, width) as many ones as counted, then zeros."""
    return (counts[:, None] > torch.arange(width, device=counts.device)).float()


def _of_levels(above: Tensor) -> Tensor:
    """Classes from the chances to be above each edge; a chance that contradicts a lower edge's is cut to it."""
    ordered = torch.cummin(above, 1).values
    edges = functional.pad(ordered, (1, 1))  # nobody is above the last class
    edges[:, 0] = 1
    return edges[:, :-1] - edges[:, 1:]


def _of_normal(mean: Tensor, deviation: Tensor, classes: int) -> Tensor:
    """Classes from a normal error around an estimate; what lies outside 0 to 1 is shared out in proportion."""
    edges = torch.arange(classes + 1, device=mean.device) / classes
    below = ((edges - mean[:, None]) / (deviation[:, None] * math.sqrt(2))).erf()
    mass = (below[:, 1:] - below[:, :-1]).clamp(min=_SURE)
    return mass / mass.sum(1, keepdim=True)
