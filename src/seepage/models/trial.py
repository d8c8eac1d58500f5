"""What of ``torch.func`` somebody's module can take: tried with a few random rows, before anything is trained."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.func import grad, vmap

from seepage._core import InputError
from seepage.models.functional import EVERYTHING, Learner, Parameters
from seepage.models.plain_norm import twice_differentiable

CLIENTS, ROWS = 2, 3  # that a module is tried with
WAYS = 4  # directions in which second slopes are compared with differences


def tried(learner: Learner, width: int) -> Learner:
    """The same learner, with what its module can take found out.

    Raises:
        InputError: it cannot be differentiated at all.
    """
    x = torch.rand(CLIENTS, ROWS, width, generator=torch.Generator().manual_seed(0))
    y = torch.zeros(CLIENTS, ROWS, dtype=torch.float32 if learner.task == "regression" else torch.int64)
    learner = replace(learner, abilities=replace(EVERYTHING, copies=_writes(learner, x[0])))
    if learner.criterion is not None:
        _check_loss(learner, x[0], y[0])
    _differentiable(learner, x[0], y[0])
    double = learner.double()
    coarse = failure(lambda: double.gradient(double.initial(), x[0].double(), y[0]))
    learner = _with(learner, coarse=coarse, mixes=_mixes(learner, x[0], y[0]))
    learner = _with_second(learner, x[0], y[0])
    return _with(learner, loops=failure(lambda: _vectorised(learner, x, y)))


def _with(learner: Learner, **found: Any) -> Learner:
    return replace(learner, abilities=replace(learner.abilities, **found))


def _with_second(learner: Learner, x: Tensor, y: Tensor) -> Learner:
    """With its second slopes tried, if need be with attention in plain operations."""
    plain = _with(learner, plain_attention=True)
    if not failure(lambda: _check_second(learner, x, y)):
        return learner
    flat = failure(lambda: _check_second(plain, x, y))
    return _with(learner, flat=flat) if flat else plain


def _check_second(learner: Learner, x: Tensor, y: Tensor) -> None:
    """Second slopes must be there, and be what differences say: a layer of somebody's own may leave parts out."""
    step, allowed = (1e-3, 0.2) if learner.abilities.coarse else (1e-5, 1e-3)
    if not learner.abilities.coarse:
        learner, x = learner.double(), x.double()
    learner = twice_differentiable(learner)
    parameters, generator = learner.initial(), torch.Generator().manual_seed(1)
    slope, length = _second(learner)(parameters, x, y), _length(learner)
    for _ in range(WAYS):
        way = torch.randn(x.shape, generator=generator, dtype=x.dtype)
        after, before = (float(length(parameters, x + sign * step * way, y)) for sign in (1, -1))
        found, expected = float((slope * way).sum()), (after - before) / (2 * step)
        if abs(found - expected) > allowed * max(abs(expected), float(slope.norm())) + 1e-7:
            raise ArithmeticError(f"they are {found:.3g} where differences of gradients say {expected:.3g}")


def _vectorised(learner: Learner, x: Tensor, y: Tensor) -> None:
    """Many clients with weights of their own, and many restarts of an attack, in one call."""
    parameters = {name: value.expand(CLIENTS, *value.shape) for name, value in learner.initial().items()}
    # With dropout, as clients do it; its random numbers are given back.
    with torch.random.fork_rng(devices=[]):
        learner.local_steps(parameters, x, y, 0.1, noisy=True)
    if learner.abilities.flat:
        return
    second = _second(twice_differentiable(learner))
    together, alone = vmap(second)(parameters, x, y), second(learner.initial(), x[0], y[0])
    if not torch.allclose(together[0], alone, rtol=1e-2, atol=1e-4 * float(alone.abs().max())):
        raise ArithmeticError("its second slopes are other numbers then")


def _second(learner: Learner) -> Callable[..., Tensor]:
    """The slope by the rows of the length of a gradient: what every gradient matching needs."""
    return grad(_length(learner), argnums=1)


def _length(learner: Learner) -> Callable[..., Tensor]:
    def length(parameters: Parameters, x: Tensor, y: Tensor) -> Tensor:
        slopes = learner.gradient(parameters, x, y)
        return torch.stack([slope.square().sum() for slope in slopes.values()]).sum()

    return length


def _differentiable(learner: Learner, x: Tensor, y: Tensor) -> None:
    reason = failure(lambda: learner.gradient(learner.initial(), x, y))
    if reason:
        raise InputError(f"The model cannot be differentiated (torch.func.grad): {reason}.")


def _writes(learner: Learner, x: Tensor) -> bool:
    given = (x.clone(),) if learner.entry is None else learner.entry(x)
    before = [each.clone() for each in given]
    with torch.no_grad():
        failure(lambda: learner.module(*given))
    return not all(torch.equal(one, other) for one, other in zip(given, before, strict=True))


def _check_loss(learner: Learner, x: Tensor, y: Tensor) -> None:
    """A loss must be one finite number that changes with the outputs."""
    parameters = learner.initial()
    outputs = learner.outputs(parameters, x)
    found: list[Any] = []
    reason = failure(lambda: found.append(learner.loss_of_outputs(outputs, y)))
    if reason:
        raise InputError(
            f"The loss cannot take outputs of shape {tuple(outputs.shape)} and {len(y)} targets: {reason}."
        )
    if not isinstance(found[0], Tensor) or found[0].shape != ():
        what = f"a tensor of shape {tuple(found[0].shape)}" if isinstance(found[0], Tensor) else type(found[0]).__name__
        raise InputError(f"The loss gives {what}; it must give one number, the mean over the rows, as a tensor.")
    if not bool(found[0].isfinite()):
        raise InputError(f"The loss is {float(found[0])} for ordinary outputs; it must be finite.")
    slopes: list[Tensor] = []
    reason = failure(lambda: slopes.append(grad(lambda out: learner.loss_of_outputs(out, y))(outputs)))
    if reason or not bool(slopes[0].any()):
        raise InputError(
            f"The loss does not change with the outputs in a differentiable way{f': {reason}' * bool(reason)}."
        )


def _mixes(learner: Learner, x: Tensor, y: Tensor) -> bool:
    """Whether a row's outputs depend on the other rows of its batch, or a batch's loss is no mean of its rows'."""
    parameters = learner.initial()
    with torch.no_grad():
        together = learner.outputs(parameters, x)
        alone = torch.cat([learner.outputs(parameters, row[None]) for row in x])
        if learner.criterion is not None:
            losses = [
                learner.loss_of_outputs(each[None], target[None]) for each, target in zip(together, y, strict=True)
            ]
            if not torch.allclose(
                learner.loss_of_outputs(together, y), torch.stack(losses).mean(), rtol=1e-4, atol=1e-6
            ):
                return True
    return not torch.allclose(together, alone, rtol=1e-3, atol=1e-5 * float(together.abs().max()))


def loop_seconds(learner: Learner, width: int, rows: int) -> tuple[float, float]:
    """Measured seconds of one gradient of so many rows, and of its slope by the rows (0 if there is none)."""
    x = torch.rand(rows, width, generator=torch.Generator().manual_seed(0))
    y = torch.zeros(rows, dtype=torch.float32 if learner.task == "regression" else torch.int64)
    parameters = learner.initial()
    first = _seconds(lambda: learner.gradient(parameters, x, y))
    return first, 0.0 if learner.abilities.flat else _seconds(lambda: _second(learner)(parameters, x, y))


def _seconds(work: Callable[[], Any]) -> float:
    """The fastest of a few calls: others of the machine only make it slower."""
    taken = []
    for _ in range(5):
        begun = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begun)
    return min(taken)


def failure(attempt: Callable[[], Any]) -> str:
    """Why something fails, in the first line of its error; empty if it does not."""
    try:
        attempt()
    except Exception as error:  # noqa: BLE001  # somebody else's code
        return in_words(error)
    return ""


def in_words(error: Exception) -> str:
    """The kind of an error and its first line."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200].rstrip('.')}" if lines else type(error).__name__
