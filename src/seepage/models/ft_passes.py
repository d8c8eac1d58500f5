"""The FT-Transformer in the four passes of gradient matching, with nothing in it that does not count.

The native last block computes its feed-forward net for all tokens and then takes the first. Here it is computed for the
first alone, and so are its keys and values (see :class:`FirstAsks`): the gradient is the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from seepage.models.four_passes import Attention, HeadLinear, Layer, Linear, Norm, Pairs, ReGLU, ReLU, passed
from seepage.models.ft_tokens import Tokens, TokensThroughWeights
from seepage.models.ft_transformer import BlockFTTransformer
from seepage.models.functional import Parameters

_BACKBONE = "native.backbone"


def regrouped(module: BlockFTTransformer, parameters: Parameters) -> Parameters:
    """Parameters, or updates like them, by the layers of the four passes; with or without a leading axis.

    Projections of one attention become one layer, embedding tables one table, and all tokens' biases one.
    """
    own = dict(parameters)
    native = own.pop("native.cls_embedding.weight")
    lead = native.dim() - 1
    biases = [native.unsqueeze(lead)]
    if module.numeric:
        own["tokens.numbers"] = own.pop("native.cont_embeddings.weight")
        biases.append(own.pop("native.cont_embeddings.bias"))
    if module.sizes:
        tables = [own.pop(f"native.cat_embeddings.embeddings.{j}.weight") for j in range(len(module.sizes))]
        own["tokens.tables"] = torch.cat(tables, lead)
        biases.append(own.pop("native.cat_embeddings.bias"))
    own["tokens.bias"] = torch.cat(biases, lead)
    blocks = len(module.native.backbone.blocks)  # type: ignore[union-attr, arg-type]
    for number in range(blocks - 1):
        layer = f"{_BACKBONE}.blocks.{number}.attention"
        for kind in ("weight", "bias"):
            parts = [own.pop(f"{layer}.{part}.{kind}") for part in ("W_q", "W_k", "W_v")]
            own[f"{layer}.together.{kind}"] = torch.cat(parts, lead)
    return own


class SelfAttention:
    """Every token asks all tokens; queries, keys and values are one product.

    Args:
        first: whether its inputs are the tokens themselves.
    """

    def __init__(self, network: FTPasses, layer: str, *, first: bool) -> None:
        tokens = network.tokens.count
        self._together = network.from_tokens(f"{layer}.together") if first else network.linear(f"{layer}.together")
        self._attention = Attention(network.heads, tokens, tokens, network.width // network.heads)

    def forward(self, h: Tensor) -> Tensor:
        return self._attention.forward(*self._together.forward(h).chunk(3, -1))

    def backward(self, g: Tensor) -> Tensor:
        return self._together.backward(self._side_by_side(self._attention.backward(g)))

    def tangent(self, t: Tensor) -> Tensor:
        return self._attention.tangent(*self._together.tangent(t).chunk(3, -1))

    def adjoint(self, u: Tensor) -> Tensor:
        return self._together.adjoint(self._side_by_side(self._attention.adjoint(u)))

    @staticmethod
    def _side_by_side(parts: list[Tensor]) -> Tensor:
        return torch.stack(parts, 3).flatten(3).flatten(1, 2)


class FirstAsks:
    r"""Only the first token asks, so keys and values of the others are never made.

    A score is :math:`q^\top W_k n_j = (W_k^\top q)^\top n_j`, and the answer :math:`\sum_j p_j W_v n_j = W_v \sum_j p_j
    n_j`: the weights meet one line of a row and head, not all its tokens. The keys' bias shifts all scores of a query
    alike; it has no gradient.
    """

    def __init__(self, network: FTPasses, layer: str) -> None:
        self._pairs, self._heads, self._tokens = network.pairs, network.heads, network.tokens.count
        self._layer, self._bias = layer, network.parameters[f"{layer}.W_v.bias"]
        self._query = network.linear(f"{layer}.W_q")
        self._keys, self._values = (
            HeadLinear(self._pairs, name, network.parameters[name], self._heads, widen=widen)
            for name, widen in ((f"{layer}.W_k.weight", True), (f"{layer}.W_v.weight", False))
        )
        self._attention = Attention(1, self._heads, self._tokens, network.width // network.heads)

    def forward(self, h: Tensor) -> Tensor:
        asked = self._keys.forward(self._by_head(self._query.forward(first_of(h, self._tokens))))
        answer = self._by_row(self._values.forward(self._attention.forward(asked, h, h)))
        return answer + (self._bias if self._bias.dim() == 1 else self._bias[:, None])

    def backward(self, g: Tensor) -> Tensor:
        by_bias = self._pairs.split(g).sum(2)
        self._pairs.dense[f"{self._layer}.W_v.bias"] = by_bias
        self._pairs.dense[f"{self._layer}.W_k.bias"] = torch.zeros_like(by_bias)
        return self._home("backward", g)

    def tangent(self, t: Tensor) -> Tensor:
        asked = self._keys.tangent(self._by_head(self._query.tangent(first_of(t, self._tokens))))
        answer = self._by_row(self._values.tangent(self._attention.tangent(asked, t, t)))
        by_bias = self._pairs.by_dense[f"{self._layer}.W_v.bias"]
        return (self._pairs.split(answer) + by_bias.unsqueeze(2)).flatten(1, 2)

    def adjoint(self, u: Tensor) -> Tensor:
        return self._home("adjoint", u)

    def _home(self, way: str, back: Tensor) -> Tensor:
        parts = getattr(self._attention, way)(getattr(self._values, way)(self._by_head(back)))
        asked, keys, values = (part.flatten(3).flatten(1, 2) for part in parts)
        query = getattr(self._query, way)(self._by_row(getattr(self._keys, way)(asked)))
        return plus_first(keys + values, query, self._tokens)

    def _by_head(self, rows: Tensor) -> Tensor:
        return torch.unflatten(rows, 2, (self._heads, -1)).flatten(1, 2)

    def _by_row(self, lines: Tensor) -> Tensor:
        return torch.unflatten(lines, 1, (-1, self._heads)).flatten(2)


class Block:
    """Attention and feed-forward net, each added to what came in. The last block is computed for the first token."""

    def __init__(self, network: FTPasses, number: int) -> None:
        layer = f"{_BACKBONE}.blocks.{number}"
        self._tokens = network.tokens.count
        self._last = number + 1 == network.blocks
        mixing = [network.linear(f"{layer}.attention.W_out")] if network.heads > 1 else []
        norm = [network.norm(f"{layer}.attention_normalization")] if number else []
        name = f"{layer}.attention"
        asking = FirstAsks(network, name) if self._last else SelfAttention(network, name, first=not number)
        self._attend: Sequence[Layer] = [*norm, asking, *mixing]
        self._feed: Sequence[Layer] = [
            network.norm(f"{layer}.ffn_normalization"),
            network.linear(f"{layer}.ffn.linear1"),
            ReGLU(),
            network.linear(f"{layer}.ffn.linear2"),
        ]

    def forward(self, h: Tensor) -> Tensor:
        return self._there("forward", h)

    def backward(self, g: Tensor) -> Tensor:
        return self._back("backward", g)

    def tangent(self, t: Tensor) -> Tensor:
        return self._there("tangent", t)

    def adjoint(self, u: Tensor) -> Tensor:
        return self._back("adjoint", u)

    def _there(self, way: str, x: Tensor) -> Tensor:
        kept = first_of(x, self._tokens) if self._last else x
        x = kept + passed(self._attend, way, x)
        return x + passed(self._feed, way, x)

    def _back(self, way: str, x: Tensor) -> Tensor:
        x = x + passed(self._feed[::-1], way, x)
        back = passed(self._attend[::-1], way, x)
        return plus_first(back, x, self._tokens) if self._last else back + x


def first_of(lines: Tensor, tokens: int) -> Tensor:
    """The first token of every row."""
    return torch.unflatten(lines, 1, (-1, tokens))[:, :, 0]


def plus_first(lines: Tensor, more: Tensor, tokens: int) -> Tensor:
    """With something added to the first token of every row."""
    return lines + functional.pad(more[:, :, None], (0, 0, 0, tokens - 1)).flatten(1, 2)


class FTPasses:
    """The whole net: rows to outputs, slopes of outputs to its gradient, and both ways again.

    Args:
        module: the net.
        parameters: of :func:`regrouped`.
        runs: restarts of each observation.
        rows: of each run.
    """

    def __init__(self, module: BlockFTTransformer, parameters: Parameters, runs: int, rows: int) -> None:
        native = module.native
        self._module, self._rows = module, rows
        self._through: TokensThroughWeights | None = None
        self.pairs = Pairs(runs)
        self.parameters = parameters
        self.blocks: int = len(native.backbone.blocks)  # type: ignore[union-attr, arg-type]
        self.heads: int = native.backbone.blocks[0]["attention"]._n_heads  # type: ignore[union-attr, index]
        self.width = int(parameters["tokens.bias"].shape[-1])
        self.tokens = Tokens(self.pairs, module, parameters)
        self._layers: Sequence[Layer] = [
            *(Block(self, number) for number in range(self.blocks)),
            self.norm(f"{_BACKBONE}.output.normalization"),
            ReLU(),
            self.linear(f"{_BACKBONE}.output.linear"),
        ]

    def from_tokens(self, name: str) -> Layer:
        """The first layer: through the lines that tokens are mixed of, if these are fewer."""
        if not TokensThroughWeights.pays(self.parameters, self._rows * self.tokens.count):
            return self.linear(name)
        self._through = TokensThroughWeights(self.tokens, self._module, self.parameters, name)
        return self._through

    def linear(self, name: str) -> Linear:
        return Linear(self.pairs, name, self.parameters[f"{name}.weight"], self.parameters[f"{name}.bias"])

    def norm(self, name: str) -> Norm:
        return Norm(self.pairs, name, self.parameters[f"{name}.weight"], self.parameters[f"{name}.bias"])

    def forward(self, x: Tensor) -> Tensor:
        """(obs, runs x rows, width) to outputs (obs, runs x rows, outputs)."""
        return passed(self._layers, "forward", self.tokens.forward(x))

    def backward(self, g: Tensor) -> Pairs:
        """From the loss's slopes by the outputs to the gradient, in factors and tensors."""
        self.tokens.backward(passed(self._layers[::-1], "backward", g))
        if self._through is not None:
            self._through.finish_backward()
        return self.pairs

    def tangent(self) -> Tensor:
        """From slopes by the gradient, which are in the pairs now, to slopes by the loss's slopes."""
        return passed(self._layers, "tangent", self.tokens.tangent())

    def adjoint(self, u: Tensor) -> Tensor:
        """From slopes by the outputs to slopes by the rows."""
        by_rows = self.tokens.adjoint(passed(self._layers[::-1], "adjoint", u))
        return by_rows if self._through is None else by_rows + self._through.finish_adjoint()
