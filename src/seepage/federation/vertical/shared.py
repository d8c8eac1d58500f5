"""Vertical learning with shared fully connected layers: the protocol that CAFE attacks.

Workers hold blocks of columns and local parts; the server picks the rows of every batch, and gets the aggregated
gradient of the whole model (CAFE, section 3.1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from seepage._core import InputError, Streams
from seepage.defenses import Defense, Undefended
from seepage.models import Learner, Parameters, layer_inputs, linear_calls
from seepage.models.local_clients import for_each
from seepage.observation.vertical import VerticalUpdate

UNDEFENDED = Undefended()
AT_ONCE = 32  # batches that are computed together while the weights are fixed


@dataclass(frozen=True, kw_only=True)
class SharedLayers:
    """The protocol.

    Args:
        batch_size: rows of a batch, drawn by the server without replacement.
        rate: learning rate of the server's SGD; 0 keeps the weights as they are.
        adam: use Adam instead of plain SGD.
        moments: the server also gets mean and variance of the first layer's inputs over every batch, as a BatchNorm
            there would tell it. NOTE[DIFF] CAFE's model has no BatchNorm (Figure 4), and its BN regulariser
            needs these statistics; it does not say where they come from.
    """

    batch_size: int = 40
    rate: float = 0.0
    adam: bool = False
    moments: bool = False

    name = "vertical"

    def stream(
        self,
        learner: Learner,
        x: Tensor,
        y: Tensor,
        batches: int,
        streams: Streams,
        *,
        defense: Defense = UNDEFENDED,
        watch: Callable[[int, Parameters], None] | None = None,
    ) -> Iterator[VerticalUpdate]:
        """Updates one after the other, so that an attack can run while training runs.

        Args:
            x, y: all workers' columns side by side, and the labels.
            batches: how many.
            defense: what the workers do to rows' gradients, to what they send, and to the ids of rows.
            watch: is shown the weights after every batch.
        """
        if self.batch_size > len(x):
            raise InputError(f"The batch size is {self.batch_size}; there are {len(x)} rows.")
        secret = torch.Generator().manual_seed(streams.integer("ids"))
        updates = self._updates(learner, x, y, batches, streams, defense, watch)
        return defense.told_rows(updates, len(x), secret)

    def _updates(
        self,
        learner: Learner,
        x: Tensor,
        y: Tensor,
        batches: int,
        streams: Streams,
        defense: Defense,
        watch: Callable[[int, Parameters], None] | None,
    ) -> Iterator[VerticalUpdate]:
        """The updates, with the rows that are really behind them."""
        gradients = defense.gradients(learner)
        generator = streams.numpy("batches")
        noise = torch.Generator().manual_seed(streams.integer("defence"))
        parameters = learner.initial()
        moments: dict[str, tuple[Tensor, Tensor]] = {
            name: (torch.zeros_like(value), torch.zeros_like(value)) for name, value in parameters.items()
        }
        at_once = AT_ONCE if self.rate == 0 else 1
        for begin in range(0, batches, at_once):
            count = min(at_once, batches - begin)
            rows = torch.stack(
                [torch.from_numpy(generator.choice(len(x), self.batch_size, replace=False)) for _ in range(count)]
            )
            if gradients is None:
                computed = learner.gradients(parameters, x[rows], y[rows])
            else:
                computed = gradients(for_each(count, parameters), x[rows], y[rows], noise)
            computed = defense.protect(computed, noise)
            for number in range(count):
                sent = {name: value[number] for name, value in computed.items()}
                told = _moments(learner, parameters, x[rows[number]]) if self.moments else None
                yield VerticalUpdate(rows[number], sent, parameters, told)
                if self.rate:
                    used = defense.averaged({name: value[None] for name, value in sent.items()}, 1, noise)
                    slope = {name: value[0] for name, value in used.items()}
                    parameters = self._step(parameters, slope, moments, begin + number + 1)
                if watch is not None:
                    watch(begin + number + 1, parameters)

    def _step(
        self, parameters: Parameters, gradient: Parameters, moments: dict[str, tuple[Tensor, Tensor]], step: int
    ) -> Parameters:
        if not self.adam:
            return {name: value - self.rate * gradient[name] for name, value in parameters.items()}
        changed = {}
        for name, value in parameters.items():
            first, second = moments[name]
            first.mul_(0.9).add_(gradient[name], alpha=0.1)
            second.mul_(0.999).addcmul_(gradient[name], gradient[name], value=0.001)
            way = (first / (1 - 0.9**step)) / ((second / (1 - 0.999**step)).sqrt() + 1e-8)
            changed[name] = value - self.rate * way
        return changed


def _moments(learner: Learner, parameters: Parameters, x: Tensor) -> tuple[Tensor, Tensor]:
    first = next(iter(linear_calls(learner, x.shape[1])))
    inputs = layer_inputs(learner, [first], parameters, x)[0].detach()
    return inputs.mean(0), inputs.var(0, unbiased=False)
