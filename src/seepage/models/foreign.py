"""Somebody's own network: a torch module, or a function that makes one for a table."""

from __future__ import annotations

import copy
import hashlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from seepage._core import InputError
from seepage.models.trial import in_words

ROWS = 3  # that a module is tried with


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """What a function that makes a module is told.

    Args:
        numeric: numbers of a row; they come first.
        sizes: categories of each categorical column; their one-hot blocks follow.
        outputs: that the task needs: 1 for a logit or a number, else one for each class.
    """

    numeric: int
    sizes: tuple[int, ...]
    outputs: int

    @property
    def width(self) -> int:
        """Entries of a row."""
        return self.numeric + sum(self.sizes)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Foreign:
    """A module of somebody else, for rows of numbers and one-hot blocks.

    A module that is given brings its weights: every federation of an audit starts from them. A function draws new ones
    each time it is called, from torch's own generator, which is seeded for it.

    Args:
        made: the module, or a function from :class:`Inputs` to one.
        binary_outputs: 1 for a logit, 2 for two softmax classes.
    """

    made: nn.Module | Callable[[Inputs], nn.Module]
    binary_outputs: int = 1

    encoding: ClassVar[Literal["onehot", "ordinal"]] = "onehot"

    def build(self, numeric: int, sizes: tuple[int, ...], outputs: int) -> nn.Module:
        """The module for inputs of this layout, tried with a few rows."""
        inputs = Inputs(numeric=numeric, sizes=sizes, outputs=outputs)
        module = copy.deepcopy(self.made) if isinstance(self.made, nn.Module) else self.made(inputs)
        if not isinstance(module, nn.Module):
            raise InputError(f"What makes the model gave a {type(module).__name__}; it must give a torch.nn.Module.")
        if not any(True for _ in module.parameters()):
            raise InputError("The model has no parameters, so there is nothing to train and nothing to send.")
        if not torch.empty(0).is_meta:  # there, only its size is asked for
            check_module(module, inputs)
        return module

    @property
    def called(self) -> str:
        """The name of the module's class, or of the function."""
        maker = type(self.made) if isinstance(self.made, nn.Module) else self.made
        return getattr(maker, "__name__", type(maker).__name__).strip("<>")

    def __repr__(self) -> str:
        """Differs for modules with other layers or weights."""
        if not isinstance(self.made, nn.Module):
            return f"Foreign({self.made!r})"
        weights = hashlib.blake2b(digest_size=8)
        for name, value in self.made.state_dict().items():
            weights.update(f"{name} {tuple(value.shape)}".encode() + value.detach().cpu().numpy().tobytes())
        return f"Foreign({self.made!r}, {weights.hexdigest()})"


def as_architecture(found: Any) -> Any:
    """What somebody names or gives as a model, as something that builds one.

    A module is itself, and a function (or class) of one argument gets :class:`Inputs`; all else is left as it is.
    """
    if isinstance(found, nn.Module):
        return Foreign(made=found)
    if hasattr(found, "build") or not callable(found):
        return found
    try:
        needed = [
            each
            for each in inspect.signature(found).parameters.values()
            if each.default is each.empty and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
        ]
    except (TypeError, ValueError):  # a built-in that does not say
        return found
    return Foreign(made=found) if len(needed) == 1 else found


def check_module(module: nn.Module, inputs: Inputs) -> None:
    """Stop with one sentence at a module that a federation cannot train, or an attacker not replay."""
    before = module.training
    module.eval()
    try:
        x = torch.rand(ROWS, inputs.width, generator=torch.Generator().manual_seed(0))
        with torch.no_grad():
            first, second = _answer(module, x.clone()), _answer(module, x.clone())
        if first.shape != (ROWS, inputs.outputs):
            raise InputError(
                f"For {ROWS} rows the model gives outputs of shape {tuple(first.shape)}; the task needs "
                f"{(ROWS, inputs.outputs)}" + _hint(first, inputs)
            )
        if not first.is_floating_point() or first.dtype != torch.float32:
            raise InputError(f"The model's outputs are of type {first.dtype}; they must be torch.float32.")
        if not torch.equal(first, second):
            raise InputError(
                "The model gives other outputs for the same rows in evaluation; what is drawn at random must be drawn "
                "in training only."
            )
    finally:
        module.train(before)


def _hint(answer: Tensor, inputs: Inputs) -> str:
    two = inputs.outputs == 1 and answer.shape == (ROWS, 2)
    return "; for two softmax classes say so with binary_outputs=2." if two else "."


def _answer(module: nn.Module, x: Tensor) -> Tensor:
    try:
        found: Any = module(x)
    except Exception as error:  # noqa: BLE001  # somebody else's code
        raise InputError(
            f"The model cannot take rows of {x.shape[1]} entries (numbers, then one-hot blocks): {in_words(error)}."
        ) from None
    if not isinstance(found, Tensor):
        raise InputError(f"The model gives a {type(found).__name__}; it must give one tensor of outputs.")
    return found
