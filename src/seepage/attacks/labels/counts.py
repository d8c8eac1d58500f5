"""Class counts of batches of any size: every binary table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import jacfwd

from seepage._core import InputError, Outcome, Streams
from seepage.attacks.labels.draws import Response, responder
from seepage.attacks.labels.head import Head, estimate_note, read_class_head
from seepage.attacks.labels.idlg import lone_label
from seepage.attacks.labels.restored import Restored, not_applicable
from seepage.attacks.labels.rounding import labels_of, solved_counts, whole_counts
from seepage.observation import Observation

MANY = 10  # classes above which only the closed form is used: neighbouring counts grow with their square
LEAST = 0.01  # rows may differ from drawn ones by so much, in the logit, even if all drawn ones are alike


@dataclass(frozen=True, kw_only=True)
class Counts:
    r"""The whole class counts under which the last layer's gradient is least surprising.

    The mean residual :math:`G_b = \tfrac1B \sum_i r_i` is known, and for softmax :math:`r_i = p_i - e_{y_i}`, so

    .. math:: n_k = B \, (\bar p_k - G_{b,k})

    holds exactly with the batch's own mean probabilities :math:`\bar p`. They are not known, but a fresh model gives
    every row nearly the same. One logit and class weights are solved for likewise (``rounding.solved_counts``). The
    answer with the :math:`\bar p` of drawn rows is the start.

    Real rows are not like drawn ones, and the error counts B times. So the second thing the layer tells is used too:
    :math:`W G_W + b\,G_b` holds :math:`\tfrac1B \sum_i r_{ik} z_{ik}`, exactly. For counts n, both together are
    normal with the mean and covariance that drawn rows give, where the rows' outputs may differ from the drawn ones by

    - a shift of normal size ``shift``, in deviations of the drawn outputs,
    - a factor whose logarithm has the size ``scale``,
    - a shift of each class of its own of size ``apart``: classes lie apart once the model has learnt something,

    and class k draws its rows in proportion to :math:`p_k`, as it does if the model is right. The differences are
    integrated out (linearised around their most likely value, ``rounds`` times), and of the neighbouring counts (two
    classes: of all within reach of the start) the most likely one is taken.

    A batch of one is read exactly, as by :class:`~seepage.attacks.labels.IDLG`. Layers without bias (TabNet) use
    :math:`G_W \bar h / \lVert \bar h \rVert^2` with the mean embedding of drawn rows in place of :math:`G_b`, and, like
    more than 10 classes, the start only.

    Measured: batches whose counts are all right / wrong labels per batch, over 3 seeds x 20 clients of 140 rows. The
    default differences were chosen on another seed of the same two tables, ``LEAST`` and the reach on one of these
    seeds. *Majority* is the error of saying the
    commonest class for all rows; *trained* is after 5 exposures at rate 0.1.

    ===============================  ==============  ==============  ==============  =========================
    clinic, 2.5 % positive           8 rows          32 rows         128 rows        Geng et al. at 8, 32, 128
    ===============================  ==============  ==============  ==============  =========================
    fresh ``mlp``                    100 % / 0.0     100 % / 0.0     87 % / 0.1      0.1, 0.6, 3.1
    fresh ``mlp_tableak``            100 % / 0.0     100 % / 0.0     100 % / 0.0     0.1, 0.6, 2.6
    trained ``mlp``                  90 % / 0.1      33 % / 0.7      57 % / 0.5      0.3, 1.3, 9.9
    trained ``mlp_tableak``          100 % / 0.0     0 % / 1.0       0 % / 2.2       0.1, 1.3, 3.0
    majority, fresh (trained)        0.2 (0.2)       0.6 (0.9)       3.1 (3.2)
    **clinic, 25 % positive**
    fresh ``mlp``                    93 % / 0.1      53 % / 0.5      10 % / 1.6      0.1, 0.9, 3.3
    fresh ``mlp_tableak``            100 % / 0.0     100 % / 0.0     78 % / 0.2      0.0, 0.6, 2.2
    trained ``mlp``                  53 % / 0.6      20 % / 2.2      0 % / 9.3       0.5, 2.9, 11.3
    trained ``mlp_tableak``          73 % / 0.3      0 % / 1.2       0 % / 1.7       0.4, 1.2, 2.8
    majority, fresh (trained)        2.2 (1.8)       8.2 (8.3)       32.0 (32.1)
    ===============================  ==============  ==============  ==============  =========================

    So on a trained model with few positives it is hardly better than the majority at 32 rows. FedAvg, 32 rows in
    batches of 8 at rate 0.01, 2.5 %, fresh, one seed: 4 steps 0.0 wrong; 20 steps 1.4 (``mlp``) and 0.0
    (``mlp_tableak``); 40 steps 2.4 and 1.0. The error that the note expects is a rough guide: mostly too large (128
    rows, fresh ``mlp``: 1.0 for 0.1), too small for trained ``mlp_tableak`` (32 rows, 2.5 %: 0.4 for 1.0).

    Args:
        draws: rows drawn to know the model's answers.
        shift, scale, apart: how far real rows may differ from drawn ones; all 0 trusts the draws.
        rounds: at most this many linearisations.

    Example:
        >>> Counts(draws=500).draws
        500

    References:
        The first equation: Geng et al., Towards General Deep Leakage in Federated Learning, 2021; Wainakh et al.,
        User-Level Label Leakage from Gradients in Federated Learning, PoPETs 2022. The rest is ours.
    """

    draws: int = 1000
    shift: float = 1.0
    scale: float = 0.5
    apart: float = 1.0
    rounds: int = 8

    def __post_init__(self) -> None:
        if self.draws < 2 or self.rounds < 1 or min(self.shift, self.scale, self.apart) < 0:
            raise InputError(
                f"{self.draws} draws, {self.rounds} rounds, differences {self.shift}, {self.scale}, {self.apart}: "
                "at least 2 draws and 1 round are needed, and no difference is below 0."
            )

    def __call__(self, observations: Sequence[Observation], streams: Streams) -> list[Restored]:
        respond = responder(streams.child("counts"), self.draws)
        restored = []
        for observation in observations:
            head, rows = read_class_head(observation), observation.exchange.rows
            if isinstance(head, str):
                restored.append(not_applicable(head))
                continue
            label = lone_label(head) if rows == 1 else None
            if label is None:
                restored.append(self._estimate(head, respond(observation), rows))
            else:
                note = "Read from the sign of the last layer."
                restored.append(Restored(outcome=Outcome.OK, labels=torch.tensor([label]), exact=True, note=note))
        return restored

    def _estimate(self, head: Head, seen: Response, rows: int) -> Restored:
        evidence = Evidence(head, seen, shift=self.shift, scale=self.scale, apart=self.apart)
        counts = whole_counts(solved_counts(head, evidence.residual, seen.outputs, rows), rows)
        note = "An estimate from the mean answers of drawn rows."
        if head.classes <= MANY and head.bias is not None:
            counts, wrong = self._most_likely(evidence, counts, rows)
            note = f"An estimate; about {wrong:.1f} of {rows} labels are expected to be wrong."
        return Restored(outcome=Outcome.OK, labels=labels_of(counts), note=note + estimate_note(head))

    def _most_likely(self, evidence: Evidence, counts: Tensor, rows: int) -> tuple[Tensor, float]:
        """The best counts, and how many labels the others of the neighbourhood say are wrong."""
        difference = torch.zeros_like(evidence.sizes)
        # The batch's mean probability lies within two deviations of the draws'; without this bound a nearly constant
        # model, whose evidence is almost nothing, can lead the linearisation astray.
        start, reach = counts, 2 + 2 * rows * evidence.deviation
        for _ in range(self.rounds):
            options = neighbours(counts, rows)
            options = options[(options - start).abs().amax(1) <= reach]
            surprises, differences = evidence.surprises(options, difference)
            place = int(surprises.argmin())
            moved = float((differences[place] - difference).abs().max())
            settled = bool((options[place] == counts).all()) and moved < 1e-3
            counts, difference = options[place], differences[place]
            if settled:
                break
        chances = (-surprises / 2).softmax(0)
        return counts, float(chances @ (options - counts).abs().sum(1).double()) / 2


def neighbours(counts: Tensor, rows: int) -> Tensor:
    """(options, classes) counts to compare: all of them for two classes, else these and those one row away."""
    if len(counts) == 2:
        positives = torch.arange(rows + 1)
        return torch.stack([rows - positives, positives], dim=1)
    unit = torch.eye(len(counts), dtype=torch.int64)
    moves = (unit[:, None] - unit).reshape(-1, len(counts))[~unit.bool().flatten()]
    near = torch.cat([counts[None], counts + moves])
    return near[(near >= 0).all(1)]


class Evidence:
    """What the last layer says about the counts, and how likely that is."""

    def __init__(self, head: Head, seen: Response, *, shift: float, scale: float, apart: float) -> None:
        weight, z = head.weight, seen.outputs
        bias = torch.zeros(head.outputs, dtype=torch.float64) if head.bias is None else head.bias
        if head.outputs > 1:
            # Softmax does not see what all outputs have in common, and its residuals sum to zero: one is redundant.
            weight, bias, z = weight - weight.mean(0), bias - bias.mean(), z - z.mean(1, keepdim=True)
        self.head, self.z, self.centre = head, z, z.mean(0)
        self.told = max(1, head.outputs - 1)
        products = (head.weight_gradient * weight).sum(1)
        if head.bias_gradient is None:
            mean = seen.embeddings.mean(0)
            self.residual = head.weight_gradient @ mean / (mean @ mean).clamp(min=1e-30)
        else:
            self.residual = head.bias_gradient
            products = products + head.bias_gradient * bias
        self.observed = torch.cat([self.residual[: self.told], products[: self.told]])
        deviation = max(float(z.std(0).mean()), LEAST)
        self.deviation = float(head.log_probabilities(z).exp().std(0).max())
        shifts, factors = [shift * deviation] * head.outputs, [scale]
        self.sizes = torch.tensor(
            shifts + factors + [apart * deviation] * (head.classes * head.outputs), dtype=torch.float64
        )

    def moments(self, difference: Tensor) -> tuple[Tensor, Tensor]:
        """(classes, told) means and (classes, told, told) covariances of one row's share in the evidence."""
        outputs, classes = self.head.outputs, self.head.classes
        shift, factor = difference[:outputs], difference[outputs].exp()
        common = self.centre + shift + factor * (self.z - self.centre)
        own = difference[outputs + 1 :].reshape(classes, outputs)
        z = common[:, None] + own  # (draws, classes, outputs)
        residuals = self.head.residuals(z)[..., : self.told]
        parts = torch.cat([residuals, residuals * z[..., : self.told]], dim=-1)
        chances = self.head.log_probabilities(common).softmax(0)  # (draws, classes)
        means = torch.einsum("dc,dcs->cs", chances, parts)
        apart = parts - means
        return means, torch.einsum("dc,dcs,dct->cst", chances, apart, apart)

    def surprises(self, options: Tensor, difference: Tensor) -> tuple[Tensor, Tensor]:
        """-2 log likelihood of each option, and its most likely difference; linear around the given one."""
        means, covariances = self.moments(difference)
        slopes = jacfwd(lambda point: self.moments(point)[0])(difference)  # (classes, told, differences)
        shares = self.head.shares(options.double())
        slope = torch.einsum("oc,csl->osl", shares, slopes)
        gap = self.observed - shares @ means + slope @ difference  # (options, told), to the prediction at no difference
        scatter = torch.einsum("oc,cst->ost", shares**2 / options.clamp(min=1), covariances)
        total = scatter + (slope * self.sizes**2) @ slope.mT
        total = total + 1e-10 * torch.eye(total.shape[-1], dtype=total.dtype)  # float32 updates are not better
        solved = torch.linalg.solve(total, gap[..., None])[..., 0]
        surprise = (solved * gap).sum(-1) + torch.linalg.slogdet(total).logabsdet
        return surprise, self.sizes**2 * torch.einsum("osl,os->ol", slope, solved)
