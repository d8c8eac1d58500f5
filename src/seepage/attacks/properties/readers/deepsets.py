"""Each layer is a set of neurons."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from seepage.attacks.properties.readers.reader import Parts, Standard, check
from seepage.models.stack import Stack


@dataclass(frozen=True, kw_only=True)
class DeepSets:
    r"""Each layer is a set of neurons (Zaheer et al. 2017, Ganju et al. 2018).

    .. math:: N^1_i = \phi_1(w_i, b_i), \qquad
        N^t_i = \phi_t\Big(\sum_j w_{ij} N^{t-1}_j, \sum_j N^{t-1}_j, \sum_j w_{ij}, \sum_j w_{ij}^2, b_i\Big), \qquad
        L_t = \sum_i N^t_i

    with means in place of sums (the first one over the root of their number), so that sizes do not grow with a layer,
    for neuron i of layer t, with the weights :math:`w_{ij}` that come from neuron j of the layer before. The layers'
    :math:`L_t` are what the meta-model goes on with.

    Guarantees:
        A permutation of hidden neurons changes the features by rounding only.

    Args:
        hidden: width inside each :math:`\phi` of two layers.
        representation: width of :math:`N` and :math:`L`; 8 in the thesis.
        dropout: share of a neuron's incoming weights that is hidden from :math:`\phi_1` while training. With 509
            columns and a few thousand shadows it learns single shadows by heart otherwise.

    References:
        Zaheer et al., Deep Sets, NeurIPS 2017.
        Ganju et al., Property Inference Attacks on Fully Connected Neural Networks, CCS 2018.

    Example:
        >>> DeepSets(hidden=16).representation
        8
    """

    hidden: int = 32
    representation: int = 8
    dropout: float = 0.3

    def __post_init__(self) -> None:
        check((self.hidden, self.representation), self.dropout)

    def parts(self, stack: Stack) -> Parts:
        return (*stack.weights, *stack.biases)

    def network(self, parts: Parts) -> nn.Module:
        return _Sets(parts, self)


class _Sets(nn.Module):
    def __init__(self, parts: Parts, settings: DeepSets) -> None:
        super().__init__()
        weights, biases = parts[: len(parts) // 2], parts[len(parts) // 2 :]
        # Columns have an order, hence statistics of their own; the entries of a later layer have none.
        self.weights = nn.ModuleList(Standard(w, (0, 1, 2) if t else (0, 1)) for t, w in enumerate(weights))
        self.biases = nn.ModuleList(Standard(b, (0, 1)) for b in biases)
        size, hidden = settings.representation, settings.hidden
        # NOTE[DIFF] The thesis's phi_1 has two layers. A second one made it learn single shadows by heart.
        first = nn.Sequential(nn.Dropout(settings.dropout), nn.Linear(weights[0].shape[2] + 1, size), nn.ReLU())
        later = [
            nn.Sequential(nn.Linear(2 * size + 3, hidden), nn.ReLU(), nn.Linear(hidden, size), nn.ReLU())
            for _ in weights[1:]
        ]
        self.phi = nn.ModuleList([first, *later])

    def forward(self, parts: Parts) -> Tensor:
        weights = [standard(w) for standard, w in zip(self.weights, parts, strict=False)]
        biases = [standard(b) for standard, b in zip(self.biases, parts[len(weights) :], strict=True)]
        neurons = self.phi[0](torch.cat([weights[0], biases[0][:, :, None]], 2))  # (models, out, representation)
        layers = [neurons.mean(1)]  # the sum, in a size that does not depend on the number of neurons
        for phi, weight, bias in zip(list(self.phi)[1:], weights[1:], biases[1:], strict=True):
            # NOTE[DIFF] The thesis's phi_t is fed the list of all N of the layer before, beside the list of weights.
            # That depends on the order of neurons; here each weight stays with the neuron it comes from.
            own = [weight.mean(2, keepdim=True), weight.square().mean(2, keepdim=True), bias[:, :, None]]
            paths = torch.bmm(weight, neurons) / weight.shape[2] ** 0.5
            everyone = neurons.mean(1, keepdim=True).expand(-1, weight.shape[1], -1)
            neurons = phi(torch.cat([paths, everyone, *own], 2))
            layers.append(neurons.mean(1))
        # NOTE[DIFF] The outputs are no set: which of them is class 1 matters. Their N are listed, not summed.
        return torch.cat([*layers[:-1], neurons.flatten(1)], 1)
