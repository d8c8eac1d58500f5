"""Shadow models, some hundred at a time, and the bytes they are kept as (safetensors)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from seepage._core import InputError
from seepage.attacks.properties.plan import ShadowPlan
from seepage.models.stack import Stack


@dataclass(frozen=True, eq=False)
class Shadows:
    """Shadow models and what is known about each.

    Args:
        stack: their weights.
        shares: (models,) float64, the property's share among the rows a model was trained on (or the mean).
        labels: (models,) int64, the class that share lies in.
        accuracy, balanced: (models,) float32, on the evaluation rows.
        passed: (models,) bool, whether the model is good enough to learn from.
        seeds: (models,) int64.
    """

    stack: Stack
    shares: Tensor
    labels: Tensor
    accuracy: Tensor
    balanced: Tensor
    passed: Tensor
    seeds: Tensor

    def __len__(self) -> int:
        return len(self.shares)

    def take(self, models: Tensor) -> Shadows:
        """These models, in this order."""
        return Shadows(self.stack.take(models), *(getattr(self, name)[models] for name in _FACTS))

    @staticmethod
    def cat(parts: Sequence[Shadows]) -> Shadows:
        """All models of several."""
        facts = (torch.cat([getattr(part, name) for part in parts]) for name in _FACTS)
        return Shadows(Stack.cat([part.stack for part in parts]), *facts)


_FACTS = tuple(field.name for field in fields(Shadows) if field.name != "stack")


def packed(shadows: Shadows) -> bytes:
    """The bytes of some models."""
    tensors = {name: getattr(shadows, name) for name in _FACTS}
    for kind, layers in (("weights", shadows.stack.weights), ("biases", shadows.stack.biases)):
        tensors |= {f"{kind}.{place}": layer for place, layer in enumerate(layers)}
    return save({name: tensor.contiguous() for name, tensor in tensors.items()})


def unpacked(content: bytes) -> Shadows:
    """The models that these bytes are."""
    try:
        tensors = load(content)
    except SafetensorError as error:
        raise InputError(f"These are no shadow models: {error}.") from None
    layers = (len(tensors) - len(_FACTS)) // 2
    names = {*_FACTS, *(f"{kind}.{place}" for kind in ("weights", "biases") for place in range(layers))}
    if layers < 1 or names != set(tensors) or len({len(tensor) for tensor in tensors.values()}) != 1:
        raise InputError("These are no shadow models: other tensors are in them.")
    stack = Stack(*(tuple(tensors[f"{kind}.{place}"] for place in range(layers)) for kind in ("weights", "biases")))
    return Shadows(stack, *(tensors[name] for name in _FACTS))


def good_ones(shadows: Shadows, plan: ShadowPlan) -> Shadows:
    """The models that are good enough to learn from; a sentence if a class has too few of them."""
    passed = torch.bincount(shadows.labels[shadows.passed], minlength=plan.classes).tolist()
    check_enough(passed, plan.needed, plan)
    return shadows.take(torch.nonzero(shadows.passed)[:, 0])


def check_enough(passed: Sequence[int], needed: int, plan: ShadowPlan) -> None:
    """Stop when a class has too few good models."""
    if min(passed) < needed:
        raise InputError(
            f"Too few shadow models are good enough (accuracy {plan.least_accuracy:g} and balanced accuracy "
            f"{plan.least_balanced:g} or more): {', '.join(map(str, passed))} in the classes from low to high, but "
            f"{needed} of each are needed; train longer, ask for less, or make more."
        )
