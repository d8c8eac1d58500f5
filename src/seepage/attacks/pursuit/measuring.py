r"""Random products with gradients, which cost little for single rows.

A linear layer's gradient of one row is one product, :math:`G = u\,h^\top`, so :math:`p^\top G q = (p \cdot u)(q \cdot
h)`: a thousand of them for thousands of rows are two products of matrices. For what was sent, a sum over rows, they are
sums of the rows' own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from seepage.attacks.exact.view import Layer, View, augmented, double_of, layer_gradient, usable_layers
from seepage.attacks.pursuit.atoms import Atoms
from seepage.models import Parameters, factored_gradient, layer_inputs
from seepage.observation import Observation, gradient_of

# Products of the first layer, of the second, and of each other, over all rounds, for so many rows: a row that is chosen
# has a weight and numbers to be told by them, and more cost a cube.
MEASURED, FOR_ROWS, FEWEST = (1500, 1500, 200), 128, 200
PARTS = 2048  # atoms that are measured together


@dataclass(frozen=True, eq=False)
class Measurements:
    """The same random products of what was sent and of single rows.

    Args:
        view: how rows are laid out.
        layers: that are measured.
        rounds: for each round its weights and, for each layer, (outputs, products), (inputs, products) and a scale.
        sent: (products of all,) what was sent, as a sum over rows.
    """

    view: View
    layers: tuple[Layer, ...]
    rounds: tuple[tuple[Parameters, tuple[tuple[Tensor, Tensor, float], ...]], ...]
    sent: Tensor

    @staticmethod
    def of(view: View, observations: Sequence[Observation], drawn: torch.Generator) -> Measurements:
        """Drawn at random; each layer of each round counts the same."""
        layers = usable_layers(view.plain, view.space.layout.width)
        rounds, sent = [], []
        for observation in observations:
            gradient = gradient_of(observation)[0]
            products = []
            for place, layer in enumerate(layers):
                whole = layer_gradient(gradient, layer).double() * observation.exchange.rows
                asked = MEASURED[min(place, len(MEASURED) - 1)] * observation.exchange.rows // FOR_ROWS
                many = max(1, min(max(asked, FEWEST) // len(observations), whole.numel()))  # no more than there is
                left, right = (torch.randn(size, many, generator=drawn).double() for size in whole.shape)
                scale = 1 / (float(whole.norm().clamp(min=1e-30)) * many**0.5)
                products.append((left, right, scale))
                sent.append((left * (whole @ right)).sum(0) * scale)
            weights = {name: value.double() for name, value in observation.parameters.items()}
            rounds.append((weights, tuple(products)))
        return Measurements(view, layers, tuple(rounds), torch.cat(sent))

    def of_rows(self, codes: Tensor, numbers: Tensor, labels: Tensor) -> Tensor:
        """(rows, products) of each row's own gradients."""
        pieces = zip(torch.split(codes, PARTS), torch.split(numbers, PARTS), torch.split(labels, PARTS), strict=True)
        return torch.cat([self._piece(self.view.rows_of(*piece[:2]), piece[2]) for piece in pieces])

    def of_atoms(self, atoms: Atoms) -> Tensor:
        """The same of atoms, each counted once."""
        return self.of_rows(atoms.codes, atoms.numbers, atoms.labels)

    def _piece(self, x: Tensor, labels: Tensor) -> Tensor:
        learner, names, found = double_of(self.view.plain), [layer.name for layer in self.layers], []
        for weights, products in self.rounds:
            factors, _ = factored_gradient(learner, {name: [1] for name in names}, weights, x, labels)
            inputs = augmented(self.layers, layer_inputs(learner, names, weights, x))
            for layer, value, (left, right, scale) in zip(self.layers, inputs, products, strict=True):
                found.append((factors[layer.name][0] * len(x) @ left) * (value @ right) * scale)
        return torch.cat(found, 1)
