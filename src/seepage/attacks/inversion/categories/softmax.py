"""TabLeak's softmax prior."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Softmax:
    r"""Each block is a mixture of categories: :math:`\operatorname{softmax}(z / T)`.

    Args:
        temperature: :math:`T`; smaller is nearer to a single category.

    References:
        Vero et al., TabLeak (document 000), section 3.1; the categorical logits of document 002.
    """

    temperature: float = 1.0

    raw = True

    def __call__(self, block: Tensor) -> Tensor:
        return (block / self.temperature).softmax(-1)
