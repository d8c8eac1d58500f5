"""PRECODE: a part of the model that draws at random stands before its last layer."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from seepage._core import InputError
from seepage.defenses.computing import check_rows_apart, client_gradients
from seepage.defenses.defense import Defense, Gradients
from seepage.models import Learner, Parameters, scoped_randomness
from seepage.models.bottleneck import Bottleneck, divergence
from seepage.observation import Channel


@dataclass(frozen=True, kw_only=True)
class Precode(Defense):
    r"""All train a model with a variational bottleneck before its last layer; each client draws in it for itself.

    .. math:: z = \mu(h) + \sigma(h) \varepsilon, \quad \varepsilon \sim \mathcal N(0, I), \qquad
              \ell(x, y) + \beta\, \mathrm{KL}\big(\mathcal N(\mu, \sigma^2) \,\|\, \mathcal N(0, I)\big)

    with :math:`h` the representation that the last layer took in before. The gradient is that of the drawn pass, so
    nobody who does not know :math:`\varepsilon` computes the same one from the right rows.

    NOTE[DIFF] the authors put it into convolutional nets with 256 entries; here it stands in any model of at least two
    linear layers, and is smaller.

    Guarantees:
        None. The gradient of a linear layer is a sum of one multiple of what it takes in for each row; before the
        bottleneck that is the row itself, or is computed from it without :math:`\varepsilon`. Only the multiples are
        drawn. Whoever reads the span of the first layers (``exact``, and with it ``adaptive``) reads it as without.

    Args:
        size: of what is drawn for a row.
        weight: :math:`\beta`.

    Example:
        >>> Precode(size=8).weight
        0.001

    References:
        Scheliga, Mäder and Seeland, PRECODE: A Generic Model Extension to Prevent Deep Gradient Leakage, WACV 2022;
        Balunovic et al., Bayesian Framework for Gradient Leakage, ICLR 2022, show how to attack it.
    """

    size: int = 32
    weight: float = 1e-3

    def __post_init__(self) -> None:
        if self.size < 1:
            raise InputError(f"The bottleneck's size is {self.size}; it must be at least 1.")
        if not 0 <= self.weight < math.inf:
            raise InputError(f"The weight of the divergence is {self.weight}; it must be 0 or above.")

    def model(self, learner: Learner, seed: int) -> Learner:
        """The same model with a bottleneck before its last linear layer."""
        module = copy.deepcopy(learner.module)
        module.load_state_dict(learner.initial(), strict=False)
        names = [name for name, layer in module.named_modules() if isinstance(layer, nn.Linear)]
        if len(names) < 2:
            raise InputError("PRECODE stands before the last of several linear layers; this model does not have them.")
        parent, _, leaf = names[-1].rpartition(".")
        last = module.get_submodule(names[-1])
        assert isinstance(last, nn.Linear)
        with scoped_randomness(seed):
            drawn = Bottleneck(last.in_features, self.size)
        setattr(module.get_submodule(parent), leaf, nn.Sequential(drawn, last))
        return replace(learner, module=module)

    def channel(self) -> Channel:
        """The last layers take in what was drawn."""
        return Channel(drawn_layers=True)

    def gradients(self, learner: Learner) -> Gradients:
        """The gradient of a drawn pass, with the divergence."""
        check_rows_apart(learner, "PRECODE")

        def loss(parameters: Parameters, x: Tensor, y: Tensor) -> Tensor:
            value = learner.loss_of_outputs(learner.outputs(parameters, x, noisy=True), y)
            return value + self.weight * divergence(learner.noisy_module)

        slopes = client_gradients(learner, loss)

        def drawn(parameters: Parameters, x: Tensor, y: Tensor, random: torch.Generator) -> Parameters:
            # A layer of a module draws from torch's generator, as dropout does: it is lent one for the call.
            with scoped_randomness(int(torch.randint(2**62, (1,), generator=random))):
                return slopes(parameters, x, y)

        return drawn
