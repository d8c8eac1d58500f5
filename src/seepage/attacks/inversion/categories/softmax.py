"""TabLeak's softmax prior."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from seepage._core import InputError
from seepage.attacks.inversion.categories.blocks import divided_by_block_sums

LARGEST = 80.0  # e^80 times the largest block is still a float32


@dataclass(frozen=True, kw_only=True)
class Softmax:
    r"""Each block is a mixture of categories: :math:`\operatorname{softmax}(z / T)`.

    Logits are bounded at 80, instead of taking every block's largest away: there, a category is certain.

    Args:
        temperature: :math:`T`; smaller is nearer to a single category.

    References:
        Vero et al., TabLeak, section 3.1; the categorical logits of the profiling study.
    """

    temperature: float = 1.0

    raw = True
    standardised = False

    def __post_init__(self) -> None:
        if not 0 < self.temperature < float("inf"):
            raise InputError(f"The softmax temperature is {self.temperature}; it must be a number above 0.")

    def __call__(self, variables: Tensor, sizes: tuple[int, ...]) -> Tensor:
        scaled = variables if self.temperature == 1 else variables / self.temperature
        return divided_by_block_sums(scaled.clamp(max=LARGEST).exp(), sizes)
