"""Deep Sets as the property-inference thesis has them: sums, and the neurons of the layer before in a list."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from seepage.attacks.properties.readers.reader import Parts, Standard, check
from seepage.models.stack import Stack


@dataclass(frozen=True, kw_only=True)
class ListedSets:
    r"""Deep Sets as published (Ganju et al. 2018; the property-inference thesis, section 3.2.2).

    .. math:: N^1_i = \phi_1(w_i, b_i), \qquad
        N^t_i = \phi_t\big(w_i, b_i, (N^{t-1}_1, \ldots, N^{t-1}_m)\big), \qquad L_t = \sum_i N^t_i

    for neuron i of layer t with its list of weights :math:`w_i`. Each :math:`\phi` has two linear layers with a ReLU
    behind each, the last one a single layer; the :math:`L_t` side by side are what the meta-model goes on with.

    Only the first layer is a set in the end: later :math:`\phi` read their weights and the neurons of the layer before
    as lists, so a permutation of hidden neurons does change the features. ``deepsets`` mends that.

    Args:
        hidden: width inside each :math:`\phi`; the thesis does not state it.
        representation: width of :math:`N` and :math:`L`; 8 in the thesis.
        standard: weights are standardised by the shadows first. The thesis says nothing of that.

    References:
        Ganju et al., Property Inference Attacks on Fully Connected Neural Networks, CCS 2018.
        The property-inference thesis, section 3.2.2 and Figure 3.1.

    Example:
        >>> ListedSets().representation
        8
    """

    hidden: int = 32
    representation: int = 8
    standard: bool = False

    def __post_init__(self) -> None:
        check((self.hidden, self.representation), 0.0)

    def parts(self, stack: Stack) -> Parts:
        return (*stack.weights, *stack.biases)

    def network(self, parts: Parts) -> nn.Module:
        return _Lists(parts, self)


class _Lists(nn.Module):
    def __init__(self, parts: Parts, settings: ListedSets) -> None:
        super().__init__()
        weights, biases = parts[: len(parts) // 2], parts[len(parts) // 2 :]
        self.nodes = nn.ModuleList(
            Standard(_nodes(weight, bias), (0, 1)) if settings.standard else nn.Identity()
            for weight, bias in zip(weights, biases, strict=True)
        )
        size, hidden = settings.representation, settings.hidden
        self.phi = nn.ModuleList()
        for place, weight in enumerate(weights):
            width = weight.shape[2] + 1 + (size * weight.shape[2] if place else 0)
            if place == len(weights) - 1 and place:
                self.phi.append(nn.Sequential(nn.Linear(width, size), nn.ReLU()))
            else:
                self.phi.append(nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, size), nn.ReLU()))

    def forward(self, parts: Parts) -> Tensor:
        count = len(self.phi)
        layers: list[Tensor] = []
        context: Tensor | None = None  # (models, neurons before * representation)
        for place, phi in enumerate(self.phi):
            nodes = self.nodes[place](_nodes(parts[place], parts[count + place]))  # (models, out, in + 1)
            if context is not None:
                nodes = torch.cat([nodes, context[:, None].expand(-1, nodes.shape[1], -1)], 2)
            neurons = phi(nodes)
            layers.append(neurons.sum(1))
            context = neurons.flatten(1)
        return torch.cat(layers, 1)


def _nodes(weight: Tensor, bias: Tensor) -> Tensor:
    """(models, out, in + 1): every neuron's weights and bias in a list."""
    return torch.cat([weight, bias[:, :, None]], 2)
