"""What the owner of a model does against property inference, by name."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from seepage._core import InputError, Streams, unknown_name
from seepage.defenses import DPSGD
from seepage.defenses.defense import Privacy
from seepage.models.stack import Stack
from seepage.models.stacked_training import Recipe
from seepage.plans.spec import Spec, options_of, with_options

DEFENSES = {
    "none": "Models are handed over as they are.",
    "epochs": "The owner trains for so many epochs.",
    "weight_noise": "Normal noise of this deviation, in deviations of each layer's weights, is added to a model.",
    "dp_sgd": "Every row's gradient is clipped and noise is added in each step; states epsilon.",
    "balanced": "The owner trains on a part of its rows, drawn so that the property's share in it is always the same.",
}


@dataclass(frozen=True, kw_only=True)
class Balanced:
    """Training rows with a fixed share of the property.

    Every owner trains on as many rows, so that their number tells nothing either. An owner that has too few rows of one
    kind repeats them, and one that has none of them cannot balance: both can be told, and both are measured.

    Guarantees:
        Between owners who need not repeat a row, the training rows have the same distribution, whatever share the owner
        has; no attack can do better there than guessing.

    Args:
        share: of the training rows.
        keep: share of the owner's rows that is trained on. With 0.2 and a share of a half, nobody who has between 10
            and 90 % needs to repeat.
    """

    share: float = 0.5
    keep: float = 0.2

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise InputError(f"The share of balanced rows is {self.share:g}; it must lie between 0 and 1.")
        if not 0 < self.keep <= 1:
            raise InputError(f"Balancing keeps {self.keep:g} of the rows; it must be above 0 and at most 1.")

    def repeated(self, shares: Tensor, held: int) -> Tensor:
        """(models,) how many of the training rows are repetitions, for owners of ``held`` rows with these shares."""
        count = max(1, round(self.keep * held))
        needed = round(self.share * count)
        having = (shares * held).round()
        short = (needed - having).clamp(min=0) + (count - needed - (held - having)).clamp(min=0)
        return short / count


@dataclass(frozen=True, kw_only=True)
class Owner:
    """What the owner of a model does about it.

    Args:
        recipe: how it trains.
        noise: on the weights it hands over, in deviations of a layer.
        private: DP-SGD, if it trains with it.
        balanced: how it balances, if it does.
    """

    recipe: Recipe
    noise: float = 0.0
    private: DPSGD | None = None
    balanced: Balanced | None = None

    def trained_on(self, held: int) -> int:
        """Rows an owner of so many trains on."""
        return held if self.balanced is None else max(1, round(self.balanced.keep * held))

    def released(self, stack: Stack, streams: Streams) -> Stack:
        """The models as the attacker gets them."""
        if not self.noise:
            return stack
        random = torch.Generator().manual_seed(streams.integer("weight noise"))

        def noisy(layer: Tensor) -> Tensor:
            spread = layer.flatten(1).std(1).view(-1, *[1] * (layer.dim() - 1))
            return layer + self.noise * spread * torch.randn(layer.shape, generator=random)

        return Stack(tuple(map(noisy, stack.weights)), tuple(map(noisy, stack.biases)))

    def privacy(self, held: int, *, gradient: bool = False, rounds: int = 1) -> Privacy | None:
        """What DP-SGD promises each row; None without it.

        Args:
            held: rows of the owner.
            gradient: a round is one gradient of all rows, and not a training.
            rounds: that the attacker sees.
        """
        if self.private is None:
            return None
        rows = self.trained_on(held)
        if gradient:
            return self.private.privacy(1.0, rounds)
        steps = self.recipe.epochs * math.ceil(rows / self.recipe.batch_size)
        return self.private.privacy(min(1.0, self.recipe.batch_size / rows), steps * rounds)


def listed_owners() -> list[dict[str, Any]]:
    """The defences that only owners of models have, as facts."""
    options = {"balanced": options_of(Balanced())}
    return [
        {"name": name, "about": about, "needs": "--attacks property", "paper": "", "options": options.get(name, {})}
        for name, about in DEFENSES.items()
        if name not in ("none", "dp_sgd")
    ]


def owner_of(defense: str, recipe: Recipe) -> Owner:
    """A defence by its spec."""
    spec = Spec.read(defense)
    if spec.name not in DEFENSES:
        raise unknown_name("defence of a model", spec.name, DEFENSES)
    match spec.name:
        case "none":
            return Owner(recipe=recipe)
        case "dp_sgd":
            private: DPSGD = with_options(DPSGD(), "option of dp_sgd", spec.named("noise", "defence"))
            return Owner(recipe=replace(recipe, clip=private.clip, noise=private.noise), private=private)
        case "balanced":
            balanced: Balanced = with_options(Balanced(), "option of balanced", spec.named("share", "defence"))
            return Owner(recipe=recipe, balanced=balanced)
        case "epochs":
            return Owner(recipe=replace(recipe, epochs=max(1, round(_number(defense, spec)))))
        case _:
            return Owner(recipe=recipe, noise=_number(defense, spec))


def _number(defense: str, spec: Spec) -> float:
    try:
        number = float(spec.value or "")
    except ValueError:
        raise InputError(f"The defence {defense!r} needs a number, such as {spec.name}:2.") from None
    if not 0 < number < math.inf:
        raise InputError(f"The defence {defense!r} has {number:g}; it must be above 0.")
    return number
