r"""Layers with the four passes of gradient matching, written out.

An attacker compares the gradient of rows with an observed one and wants the slope of that by the rows. Automatic
differentiation of a differentiated net does it in general. By hand it is four passes over the layers:

1. *forward*: outputs from inputs, :math:`y = f(h)`;
2. *backward*: slopes of the loss, :math:`g_h = J^\top g_y`. Inputs and slopes are the factors of the gradient;
3. *tangent*: the comparison's slopes by the gradient travel from the first layer to the last, :math:`t_y = J t_h`, and
   every parameter adds its own;
4. *adjoint*: back to the rows, :math:`u_h = J^\top u_y + \nabla_h \langle g_y, J t_h \rangle`.

A linear layer is 4 products with its weights here, and 3 in the comparison; nothing else is of any size. All tensors
are (observations, lines, width), with the lines of all runs, rows and tokens of an observation. Parameters are those of
one model, or have a leading axis of observations.

Long because the layers are one algorithm, four short passes each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from seepage.models.functional import Parameters


@dataclass(eq=False)
class Pairs:
    """What layers tell the comparison, and what it answers.

    Args:
        runs: restarts of each observation.
        factors: of every linear layer: slopes and inputs, (obs, runs, lines, width) each.
        dense: gradients of all other parameters, (obs, runs, ...).
        by_factors, by_dense: slopes of the comparison by these.
    """

    runs: int
    factors: dict[str, tuple[Tensor, Tensor]] = field(default_factory=dict)
    dense: Parameters = field(default_factory=dict)
    by_factors: dict[str, tuple[Tensor, Tensor]] = field(default_factory=dict)
    by_dense: Parameters = field(default_factory=dict)

    def split(self, lines: Tensor) -> Tensor:
        """(obs, lines, width) with an axis of runs."""
        return torch.unflatten(lines, 1, (self.runs, -1))


class Layer(Protocol):
    """The four passes. Each one needs what the passes before it have kept."""

    def forward(self, h: Tensor) -> Tensor: ...

    def backward(self, g: Tensor) -> Tensor: ...

    def tangent(self, t: Tensor) -> Tensor: ...

    def adjoint(self, u: Tensor) -> Tensor: ...


def passed(layers: Sequence[Layer], way: str, lines: Tensor) -> Tensor:
    """Through some layers, in one of the four ways."""
    for layer in layers:
        lines = getattr(layer, way)(lines)
    return lines


class Linear:
    """One linear layer, or several with the same input as one product.

    Args:
        name: by which it tells its factors.
        weight: (out, in), or (obs, out, in).
        bias: (out,), or (obs, out).
    """

    def __init__(self, pairs: Pairs, name: str, weight: Tensor, bias: Tensor) -> None:
        self._pairs, self._name, self._weight, self._bias = pairs, name, weight, bias

    def forward(self, h: Tensor) -> Tensor:
        self._inputs = h
        if self._weight.dim() == 2:
            return functional.linear(h, self._weight, self._bias)
        return torch.baddbmm(self._bias[:, None], h, self._weight.transpose(1, 2))

    def backward(self, g: Tensor) -> Tensor:
        self._pairs.factors[self._name] = self._pairs.split(g), self._pairs.split(self._inputs)
        return g @ self._weight

    def tangent(self, t: Tensor) -> Tensor:
        own = self._pairs.by_factors[self._name][0].flatten(1, 2)
        return _plus_product(own, t, self._weight.transpose(-1, -2))

    def adjoint(self, u: Tensor) -> Tensor:
        return _plus_product(self._pairs.by_factors[self._name][1].flatten(1, 2), u, self._weight)


class HeadLinear:
    """A product with weights of its own for each head; lines of the heads of a row follow each other.

    Args:
        name: of the weight (heads x narrow, wide) whose gradient it tells.
        widen: from narrow lines to wide ones, or back.
    """

    def __init__(self, pairs: Pairs, name: str, weight: Tensor, heads: int, *, widen: bool) -> None:
        self._pairs, self._name, self._heads, self._widen = pairs, name, heads, widen
        weight = torch.unflatten(weight, -2, (heads, -1))
        self._matrix = weight if widen else weight.transpose(-1, -2)

    def forward(self, h: Tensor) -> Tensor:
        self._inputs = self._in(h)
        return self._out(self._inputs @ self._matrix)

    def backward(self, g: Tensor) -> Tensor:
        self._slopes = self._in(g)
        left, right = (self._inputs, self._slopes) if self._widen else (self._slopes, self._inputs)
        runs = (self._pairs.runs, -1)
        made = torch.unflatten(left, 2, runs).transpose(-1, -2) @ torch.unflatten(
            right, 2, runs
        )  # (obs, heads, runs, narrow, wide)
        self._pairs.dense[self._name] = made.transpose(1, 2).flatten(2, 3)
        return self._out(self._slopes @ self._matrix.transpose(-1, -2))

    def tangent(self, t: Tensor) -> Tensor:
        by = torch.unflatten(self._pairs.by_dense[self._name], 2, (self._heads, -1)).transpose(1, 2)
        self._by = by if self._widen else by.transpose(-1, -2)
        return self._out(self._in(t) @ self._matrix + self._each_run(self._inputs, self._by))

    def adjoint(self, u: Tensor) -> Tensor:
        own = self._in(u) @ self._matrix.transpose(-1, -2)
        return self._out(own + self._each_run(self._slopes, self._by.transpose(-1, -2)))

    def _each_run(self, lines: Tensor, matrices: Tensor) -> Tensor:
        return (torch.unflatten(lines, 2, (self._pairs.runs, -1)) @ matrices).flatten(2, 3)

    def _in(self, lines: Tensor) -> Tensor:
        """(obs, rows x heads, width) to (obs, heads, rows, width)."""
        return torch.unflatten(lines, 1, (-1, self._heads)).transpose(1, 2)

    @staticmethod
    def _out(parts: Tensor) -> Tensor:
        return parts.transpose(1, 2).flatten(1, 2)


class Norm:
    r"""Layer normalisation, :math:`y = \gamma \hat x + \beta`.

    With the projection :math:`P(a) = a - \bar a - \hat x\, \overline{a \hat x}` its Jacobian is :math:`\gamma P /
    \sigma`, and for :math:`a = \gamma g_y`

    .. math:: \nabla_h \langle a, P(t) / \sigma \rangle = - \frac{1}{\sigma^2}
              \big( q \hat x + \overline{t \hat x}\, P(a) + \overline{a \hat x}\, P(t) \big), \qquad
              q = \overline{a t} - \bar a\, \bar t - \overline{a \hat x}\; \overline{t \hat x}.
    """

    def __init__(self, pairs: Pairs, name: str, weight: Tensor, bias: Tensor) -> None:
        self._pairs, self._name = pairs, name
        self._weight, self._bias = (each if each.dim() == 1 else each[:, None] for each in (weight, bias))

    def forward(self, h: Tensor) -> Tensor:
        middle = h - h.mean(-1, keepdim=True)
        self._inverse = torch.rsqrt(middle.square().mean(-1, keepdim=True) + 1e-5)
        self._hat = middle * self._inverse
        return torch.addcmul(self._bias, self._hat, self._weight)

    def backward(self, g: Tensor) -> Tensor:
        self._slope = g
        self._pairs.dense[f"{self._name}.weight"] = self._pairs.split(g * self._hat).sum(2)
        self._pairs.dense[f"{self._name}.bias"] = self._pairs.split(g).sum(2)
        self._inner = g * self._weight
        self._inner_hat, self._back = self._projected(self._inner)
        return self._back

    def tangent(self, t: Tensor) -> Tensor:
        self._tangent = t
        self._tangent_hat, self._moved = self._projected(t)
        lines = t.shape[1] // self._pairs.runs
        by_weight, by_bias = (self._pairs.by_dense[f"{self._name}.{kind}"] for kind in ("weight", "bias"))
        self._by_weight = by_weight.repeat_interleave(lines, 1) if self._pairs.runs > 1 else by_weight
        by_bias = by_bias.repeat_interleave(lines, 1) if self._pairs.runs > 1 else by_bias
        return torch.addcmul(torch.addcmul(by_bias, self._hat, self._by_weight), self._moved, self._weight)

    def adjoint(self, u: Tensor) -> Tensor:
        _, first = self._projected(torch.addcmul(u * self._weight, self._slope, self._by_weight))
        inner, tangent = self._inner_hat, self._tangent_hat
        both = (self._inner * self._tangent).mean(-1, keepdim=True)
        means = self._inner.mean(-1, keepdim=True) * self._tangent.mean(-1, keepdim=True)
        curve = (both - means - inner * tangent) * self._inverse
        second = torch.addcmul(torch.addcmul(self._hat * curve, self._back, tangent), self._moved, inner)
        return torch.addcmul(first, second, self._inverse, value=-1)

    def _projected(self, a: Tensor) -> tuple[Tensor, Tensor]:
        """The mean of a times x, and P(a) divided by the deviation."""
        along = (a * self._hat).mean(-1, keepdim=True)
        return along, torch.addcmul(a - a.mean(-1, keepdim=True), self._hat, along, value=-1) * self._inverse


class ReGLU:
    """The first half of the inputs, times the positive part of the second."""

    def forward(self, h: Tensor) -> Tensor:
        self._value, gate = h.chunk(2, -1)
        self._gate = gate.relu()
        self._open = (gate > 0).to(h.dtype)
        self._passed = self._value * self._open
        return self._value * self._gate

    def backward(self, g: Tensor) -> Tensor:
        self._slope = g
        return torch.cat([g * self._gate, g * self._passed], -1)

    def tangent(self, t: Tensor) -> Tensor:
        self._of_value, of_gate = t.chunk(2, -1)
        self._of_gate = of_gate * self._open
        return torch.addcmul(self._of_value * self._gate, self._value, self._of_gate)

    def adjoint(self, u: Tensor) -> Tensor:
        by_value = torch.addcmul(u * self._gate, self._slope, self._of_gate)
        by_gate = torch.addcmul(u * self._value, self._slope, self._of_value) * self._open
        return torch.cat([by_value, by_gate], -1)


class ReLU:
    """The positive part."""

    def forward(self, h: Tensor) -> Tensor:
        self._open = (h > 0).to(h.dtype)
        return h.relu()

    def backward(self, g: Tensor) -> Tensor:
        return g * self._open

    tangent = backward
    adjoint = backward


class Attention:
    r"""Softmax attention of several heads, :math:`o = p v` with :math:`p = \operatorname{softmax}(q k^\top / \sqrt d)`.

    Args:
        heads: how many.
        asking, asked: tokens of a row that ask, and that are asked.
        width: d, of a head.
    """

    def __init__(self, heads: int, asking: int, asked: int, width: int) -> None:
        self._heads, self._asking, self._asked = heads, asking, asked
        self._scale = 1 / math.sqrt(width)

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        self._observations = len(q)
        self._q, self._k, self._v = self._in(q, self._asking) * self._scale, self._in(k), self._in(v)
        scores = self._q @ self._k.transpose(1, 2)
        # torch's softmax takes ten times as long for lines of few entries.
        shares = (scores - scores.amax(-1, keepdim=True)).exp()
        self._p = shares / shares.sum(-1, keepdim=True)
        return self._turned(self._p @ self._v).flatten(3).flatten(1, 2)

    def backward(self, g: Tensor) -> list[Tensor]:
        """Slopes by queries, keys and values, (obs, rows, tokens, heads, width) each."""
        self._g = self._in(g, self._asking)
        self._by_p = self._g @ self._v.transpose(1, 2)
        self._by_p_mean = (self._by_p * self._p).sum(-1, keepdim=True)
        self._by_s = self._p * (self._by_p - self._by_p_mean)
        by_q = (self._by_s @ self._k) * self._scale
        by_k = self._by_s.transpose(1, 2) @ self._q
        by_v = self._p.transpose(1, 2) @ self._g
        return [self._turned(part) for part in (by_q, by_k, by_v)]

    def tangent(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        self._tq, self._tk, self._tv = self._in(q, self._asking) * self._scale, self._in(k), self._in(v)
        self._ts = torch.baddbmm(self._tq @ self._k.transpose(1, 2), self._q, self._tk.transpose(1, 2))
        self._ts_mean = (self._p * self._ts).sum(-1, keepdim=True)
        self._tp = self._p * (self._ts - self._ts_mean)
        answer = torch.baddbmm(self._tp @ self._v, self._p, self._tv)
        return self._turned(answer).flatten(3).flatten(1, 2)

    def adjoint(self, u: Tensor) -> list[Tensor]:
        out = self._in(u, self._asking)
        by_p = torch.baddbmm(out @ self._v.transpose(1, 2), self._g, self._tv.transpose(1, 2))
        by_p = torch.addcmul(by_p, self._by_p, self._ts - self._ts_mean) - self._by_p_mean * self._ts
        by_s = self._p * (by_p - (by_p * self._p).sum(-1, keepdim=True))
        by_q = torch.baddbmm(by_s @ self._k, self._by_s, self._tk) * self._scale
        by_k = torch.baddbmm(by_s.transpose(1, 2) @ self._q, self._by_s.transpose(1, 2), self._tq)
        by_v = torch.baddbmm(self._p.transpose(1, 2) @ out, self._tp.transpose(1, 2), self._g)
        return [self._turned(part) for part in (by_q, by_k, by_v)]

    def _in(self, lines: Tensor, tokens: int | None = None) -> Tensor:
        """(obs, rows x tokens, width) to (obs x rows x heads, tokens, width of a head)."""
        parts = lines.reshape(-1, tokens or self._asked, self._heads, lines.shape[-1] // self._heads)
        return parts.transpose(1, 2).flatten(0, 1)

    def _turned(self, parts: Tensor) -> Tensor:
        """(obs x rows x heads, tokens, width of a head) to (obs, rows, tokens, heads, width of a head)."""
        return torch.unflatten(parts, 0, (self._observations, -1, self._heads)).transpose(2, 3)


def _plus_product(base: Tensor, lines: Tensor, matrix: Tensor) -> Tensor:
    if matrix.dim() == 3:
        return torch.baddbmm(base, lines, matrix)
    return torch.addmm(base.flatten(0, 1), lines.flatten(0, 1), matrix).view(*base.shape)
