"""The same rows in every epoch, whatever their order."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from seepage.attacks.inversion.priors.scene import PriorScene


@dataclass(frozen=True, kw_only=True)
class EpochConsistency:
    r"""The dummy sets of all local epochs should have the same column means:

    .. math:: \frac{w}{E^2 d} \sum_{e,f} |\bar x_e - \bar x_f|^2

    The mean does not depend on the order of the rows, which a client shuffles anew in every epoch. Without several
    epochs it is 0.

    Args:
        weight: :math:`w`.

    References:
        Dimitrov et al., Data Leakage in Federated Averaging, TMLR 2022; TabLeak (appendix B) takes the mean and
        the squared distance.
    """

    weight: float = 0.01

    def check(self, restarts: int) -> None:
        """Nothing is needed."""

    def lacks(self, scene: PriorScene) -> str:
        return ""

    def __call__(self, inputs: Tensor, parameters: dict[str, Tensor], scene: PriorScene) -> Tensor:
        count, runs, _, width = inputs.shape
        means = inputs.reshape(count, runs, scene.sets, -1, width).mean(3)
        # The mean over pairs of squared distances is twice the variance.
        return 2 * self.weight * (means - means.mean(2, keepdim=True)).square().mean((2, 3))
