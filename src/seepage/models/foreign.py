"""Somebody's own network: a torch module, or a function that makes one for a table."""

from __future__ import annotations

import copy
import hashlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from seepage._core import InputError, unknown_name
from seepage.models.soft_codes import CodeEntry, soften
from seepage.models.trial import in_words

Taken = Literal["onehot", "codes"]
ROWS = 3  # that a module is tried with


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """What a function that makes a module is told.

    Args:
        numeric: numbers of a row; they come first.
        sizes: categories of each categorical column; their one-hot blocks follow. Of a model that takes codes: codes of
            each column, the last of them for unknown categories.
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
    """A module of somebody else, for rows of numbers and one-hot blocks, or of numbers and codes.

    A module that is given brings its weights: every federation of an audit starts from them. A function draws new ones
    each time it is called, from torch's own generator, which is seeded for it.

    Args:
        made: the module, or a function from :class:`Inputs` to one.
        binary_outputs: 1 for a logit, 2 for two softmax classes.
        inputs: ``onehot`` for ``forward(rows)``; ``codes`` for ``forward(numbers, codes)``, where ``nn.Embedding``
            layers look codes up.
    """

    made: nn.Module | Callable[[Inputs], nn.Module]
    binary_outputs: int = 1
    inputs: Taken = "onehot"

    def __post_init__(self) -> None:
        if self.inputs not in get_args(Taken):
            raise unknown_name("kind of inputs", self.inputs, get_args(Taken))

    @property
    def encoding(self) -> Literal["onehot", "ordinal"]:
        """How categories become inputs."""
        return "ordinal" if self.inputs == "codes" else "onehot"

    def entry(self, numeric: int, sizes: tuple[int, ...]) -> CodeEntry | None:
        """What is done to rows of this layout before the module takes them."""
        if self.inputs == "onehot":
            return None
        starts = [numeric + sum(sizes[:column]) for column in range(len(sizes))]
        blocks = tuple(slice(start, start + size) for start, size in zip(starts, sizes, strict=True))
        return CodeEntry(picked=torch.arange(numeric), blocks=blocks, numeric=numeric, sizes=sizes)

    def build(self, numeric: int, sizes: tuple[int, ...], outputs: int) -> nn.Module:
        """The module for inputs of this layout, tried with a few rows."""
        inputs = Inputs(numeric=numeric, sizes=sizes, outputs=outputs)
        module = copy.deepcopy(self.made) if isinstance(self.made, nn.Module) else self.made(inputs)
        if not isinstance(module, nn.Module):
            raise InputError(f"What makes the model gave a {type(module).__name__}; it must give a torch.nn.Module.")
        if not any(True for _ in module.parameters()):
            raise InputError("The model has no parameters, so there is nothing to train and nothing to send.")
        if not torch.empty(0).is_meta:  # there, only its size is asked for
            check_module(module, inputs, codes=self.inputs == "codes")
            if self.inputs == "codes":
                soften(module, numeric, sizes)
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
        return Foreign(made=found, inputs="codes" if len(_needed(found.forward)) == 2 else "onehot")
    if hasattr(found, "build") or not callable(found):
        return found
    if len(_needed(found)) != 1:
        return found
    return Foreign(made=found, inputs=getattr(found, "inputs", "onehot"))


def _needed(function: Callable[..., Any]) -> list[str]:
    """Arguments without which a function cannot be called; none if it does not say."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a built-in that does not say
        return []
    return [
        each.name
        for each in parameters
        if each.default is each.empty and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]


def check_module(module: nn.Module, inputs: Inputs, *, codes: bool = False) -> None:
    """Stop with one sentence at a module that a federation cannot train, or an attacker not replay."""
    before = module.training
    module.eval()
    try:
        with torch.no_grad():
            first, second = (_answer(module, _rows(inputs, codes=codes)) for _ in range(2))
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


def _rows(inputs: Inputs, *, codes: bool) -> tuple[Tensor, ...]:
    """A few rows to try a module with."""
    generator = torch.Generator().manual_seed(0)
    if not codes:
        return (torch.rand(ROWS, inputs.width, generator=generator),)
    return torch.rand(ROWS, inputs.numeric, generator=generator), torch.zeros(
        ROWS, len(inputs.sizes), dtype=torch.int64
    )


def _answer(module: nn.Module, given: tuple[Tensor, ...]) -> Tensor:
    try:
        found: Any = module(*given)
    except Exception as error:  # noqa: BLE001  # somebody else's code
        what = f"rows of {given[0].shape[1]} entries (numbers, then one-hot blocks)"
        if len(given) == 2:
            what = f"{given[0].shape[1]} numbers and {given[1].shape[1]} codes a row"
        raise InputError(f"The model cannot take {what}: {in_words(error)}.") from None
    if not isinstance(found, Tensor):
        raise InputError(f"The model gives a {type(found).__name__}; it must give one tensor of outputs.")
    return found
