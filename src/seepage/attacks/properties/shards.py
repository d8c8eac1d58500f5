"""Shadow models, some hundred at a time, and the bytes they are kept as (safetensors)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    if layers < 1 or names != set(tensors) or not _are_models(tensors, layers):
        raise InputError("These are no shadow models: other tensors are in them.")
    stack = Stack(*(tuple(tensors[f"{kind}.{place}"] for place in range(layers)) for kind in ("weights", "biases")))
    return Shadows(stack, *(tensors[name] for name in _FACTS))


_KINDS = {
    "shares": torch.float64, "labels": torch.int64, "accuracy": torch.float32, "balanced": torch.float32,
    "passed": torch.bool, "seeds": torch.int64,
}  # fmt: skip


def _are_models(tensors: Mapping[str, Tensor], layers: int) -> bool:
    """Whether all tensors are of as many models, with the types and shapes that belong together."""
    shape = tensors["shares"].shape
    facts = all(tensors[name].shape == shape and tensors[name].dtype == kind for name, kind in _KINDS.items())
    if not facts or len(shape) != 1:
        return False
    pairs = [(tensors[f"weights.{place}"], tensors[f"biases.{place}"]) for place in range(layers)]
    return all(
        weight.dim() == 3 and weight.shape[:2] == bias.shape and len(weight) == shape[0] and weight.is_floating_point()
        for weight, bias in pairs
    )


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
