"""TabLeak's softmax as the authors' code has it: on de-standardised variables."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from seepage.attacks.inversion.categories.softmax import Softmax

_SOFTMAX = Softmax()


@dataclass(frozen=True, kw_only=True)
class StandardisedSoftmax:
    r"""Variables are standardised as inputs are, and the logits are what they stand for: :math:`\operatorname{softmax}
    (s \odot z + m)` with the entries' deviations :math:`s` and shares :math:`m`.

    The deviation of a rare category is small, so its logit hardly moves: at a share of 1 % a step of 0.06 moves it by
    0.006. A logit never gets far from the category's share either, so blocks stay mixtures.

    References:
        Vero et al., TabLeak, and the authors' public code (eth-sri/tableak).
    """

    raw = True
    standardised = True

    def __call__(self, variables: Tensor, sizes: tuple[int, ...]) -> Tensor:
        return _SOFTMAX(variables, sizes)
