"""Class counts from the weight gradient and an average embedding (Geng et al.), as TabLeak uses it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seepage._core import InputError, Outcome, Streams
from seepage.attacks.labels.draws import responder
from seepage.attacks.labels.head import estimate_note, read_class_head
from seepage.attacks.labels.restored import Restored, not_applicable
from seepage.attacks.labels.rounding import labels_of, solved_counts, whole_counts
from seepage.observation import Observation


@dataclass(frozen=True, kw_only=True)
class Geng:
    r"""Counts from :math:`G_W` as if all rows had the same embedding.

    Summed over the embedding, the gradient of class k is :math:`\Delta_k = \tfrac1B \sum_i (p_{ik} - [y_i = k])\, o_i`
    with :math:`o_i = \sum_j h_{ij}`. With the mean :math:`\bar p_k` and :math:`\bar o` of drawn rows,

    .. math:: n_k = B \, (\bar p_k - \Delta_k / \bar o),

    rounded to whole counts that sum to B. It works for any number of rows and for layers without bias. It is an
    estimate: the embeddings of drawn and of real rows differ, which :class:`~seepage.attacks.labels.Counts` avoids
    where the layer has a bias.

    How often it is right stands beside :class:`~seepage.attacks.labels.Counts`, in whose table it is the last column.

    Args:
        draws: rows to average over.

    Example:
        >>> Geng(draws=1000).draws
        1000

    References:
        Geng et al., Towards General Deep Leakage in Federated Learning, 2021 (arXiv 2110.09074).
        Vero et al., TabLeak, ICML 2023, which restores its labels so.
    """

    draws: int = 1000

    def __post_init__(self) -> None:
        if self.draws < 1:
            raise InputError(f"There are {self.draws} draws; at least 1 is needed.")

    def __call__(self, observations: Sequence[Observation], streams: Streams) -> list[Restored]:
        # NOTE[DIFF] TabLeak's code feeds Gaussian noise to inputs that are all standardised. One-hot blocks are not
        # standardised here, so the dummies are rows: normal numbers, random categories.
        respond = responder(streams.child("geng"), self.draws)
        restored = []
        for observation in observations:
            head = read_class_head(observation)
            if isinstance(head, str):
                restored.append(not_applicable(head))
                continue
            seen = respond(observation)
            total = seen.embeddings.sum(1).mean()
            if abs(total) < 1e-12:
                restored.append(not_applicable("The embeddings of drawn rows sum to zero, and so say nothing."))
                continue
            fractions = solved_counts(
                head, head.weight_gradient.sum(1) / total, seen.outputs, observation.exchange.rows
            )
            counts = whole_counts(fractions, observation.exchange.rows)
            note = "An estimate: every row is given the mean embedding of drawn rows." + estimate_note(head)
            restored.append(Restored(outcome=Outcome.OK, labels=labels_of(counts), note=note))
        return restored
