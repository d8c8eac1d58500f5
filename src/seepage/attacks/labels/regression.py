"""Regression targets from the last layer's gradient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from seepage._core import InputError, Outcome, Streams
from seepage.attacks.labels.draws import Response, responder
from seepage.attacks.labels.head import SILENT, Head, estimate_note, lone_embedding, read_head
from seepage.attacks.labels.restored import Restored, not_applicable
from seepage.observation import Observation


@dataclass(frozen=True, kw_only=True)
class Regression:
    r"""The target of a batch of one exactly, the mean target of a larger one nearly.

    With squared error :math:`G_b = \tfrac2B \sum_i (z_i - y_i)` and :math:`G_W = \tfrac2B \sum_i (z_i - y_i) h_i^\top`.

    *One row.* :math:`h = G_W / G_b`, so :math:`z = W h + b` and :math:`y = z - G_b / 2`: a closed form.

    *More rows.* :math:`\bar y = \bar z - G_b / 2`, and every row is given it: the gradient does not say how targets
    spread. Two things are known of the mean output :math:`\bar z`: that of drawn rows, which may be off by about the
    deviation :math:`\sigma` of one output; and :math:`W G_W / G_b + b`, a mean of the rows' own outputs with
    weights :math:`r_i / \sum_j r_j`, whose error has the variance :math:`4 (1 + \sigma^2) \sigma^2 / (B G_b^2)` as
    targets are standardised. They are averaged by their precision.

    A layer without bias has :math:`G_W` only; the mean embedding of drawn rows then stands in for h.

    Measured on 20 batches of clinic with a made-up target, mean error in deviations of the target: 1 row 1e-7; 8 rows
    0.16 (fresh ``mlp``), 0.02 (fresh ``mlp_tableak``), 0.21 and 0.20 after 5 exposures; 32 rows 0.20, 0.02, 0.16, 0.12.
    Saying 0 for all has 0.27-0.36 at 8 rows and 0.15-0.17 at 32: beyond a few rows the mean is worth little unless the
    model is fresh and flat.

    Args:
        draws: rows whose outputs stand for those of the batch.

    Guarantees:
        An ``exact`` answer is right up to float error if the update is that of one row and one step, undefended; it
        needs no draw. Dropout does not matter: the embedding that is read is the one that was used.

    Example:
        >>> Regression()([], Streams(0))
        []

    References:
        The step from gradient to embedding: Geiping et al., Inverting Gradients, NeurIPS 2020, proposition 3.1.
    """

    draws: int = 1000

    def __post_init__(self) -> None:
        if self.draws < 1:
            raise InputError(f"There are {self.draws} draws; at least 1 is needed.")

    def __call__(self, observations: Sequence[Observation], streams: Streams) -> list[Restored]:
        respond = responder(streams.child("regression"), self.draws)
        restored = []
        for observation in observations:
            head = read_head(observation)
            if observation.learner.task != "regression":
                head = "The target is a class, not a number; use a restorer of classes."
            elif isinstance(head, Head) and head.silent:
                head = SILENT
            if isinstance(head, str):
                restored.append(not_applicable(head))
                continue
            embedding = lone_embedding(head) if observation.exchange.rows == 1 else None
            if embedding is not None:
                restored.append(_alone(head, embedding))
            else:
                restored.append(_together(head, respond(observation), observation.exchange.rows))
        return restored


def _alone(head: Head, embedding: Tensor) -> Restored:
    assert head.bias is not None  # there is an embedding
    assert head.bias_gradient is not None
    target = head.weight @ embedding + head.bias - head.bias_gradient / 2
    exact = head.steps == 1
    note = "Read from the last layer in closed form." if exact else "Read from the last layer." + estimate_note(head)
    return Restored(outcome=Outcome.OK, labels=target.float(), exact=exact, note=note)


def _together(head: Head, seen: Response, rows: int) -> Restored:
    drawn, variance = seen.outputs.mean(), seen.outputs.var()
    if head.bias is not None and head.bias_gradient is not None:
        residual = head.bias_gradient[0]
        own = (head.weight[0] @ head.weight_gradient[0]) / residual + head.bias[0]
        noise = 4 * (1 + variance) * variance / (rows * residual**2)
        trust = variance / (variance + noise) if variance > 0 else torch.zeros(())
        output, error = drawn + trust * (own - drawn), (variance * (1 - trust)).sqrt()
    else:
        mean = seen.embeddings.mean(0)
        residual = head.weight_gradient[0] @ mean / (mean @ mean)
        output, error = drawn, variance.sqrt()
    target = output - residual / 2
    note = f"Every row has the mean target, which may be off by about {float(error):.2f}." + estimate_note(head)
    return Restored(outcome=Outcome.OK, labels=target.float().repeat(rows), note=note)
