"""All rounds of one client laid on top of each other, and what is left of them when rows are taken away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.func import vmap

from seepage._core import NotApplicable, Outcome
from seepage.attacks.exact.presence import State, presence_of
from seepage.attacks.exact.span import ROUNDING, Span, span_of
from seepage.attacks.exact.view import Layer, View, double_of, layer_gradient, usable_layers, view_of
from seepage.models import Parameters, layer_outputs, layer_slopes
from seepage.observation import Claim, Observation, gradient_of

FITS = 5e-6  # of what was sent, in each round: a set that leaves no more explains it; float32 leaves about 1e-6
STEP = 1e-5  # of differences
SHARP = 0.01  # deviations within which a number must be known to be proven


@dataclass(frozen=True, eq=False)
class Rounds:
    """What is left of all rounds, in float64.

    Args:
        view: the first round's, whose only span is that of the stacked first layers.
        layer: the first layer.
        models: the weights of each round.
        sent: what each round sent, as a sum over its rows.
        left: what of that no row explains yet.
        scales: by which each round's first layer is multiplied, so that all have one rounding.
        total: rows behind every round.
        rows, labels: that were found; ``sure``: which of them are proven alone.
        settled: which of them have numbers that what was sent says sharply; None if that was not asked.
    """

    view: View
    layer: Layer
    models: tuple[Parameters, ...]
    sent: tuple[Parameters, ...]
    left: tuple[Parameters, ...]
    scales: tuple[float, ...]
    total: int
    rows: Tensor
    labels: Tensor
    sure: Tensor
    settled: Tensor | None = None

    @staticmethod
    def of(observations: Sequence[Observation]) -> Rounds:
        """Rounds of one client, as they came."""
        first = observations[0]
        _check(observations)
        layer = next((each for each in usable_layers(first.learner, first.layout.width) if each.entrance), None)
        if layer is None:
            raise NotApplicable("The model does not begin with a linear layer, so rounds cannot be laid on each other.")
        total = first.exchange.rows
        sums = []
        for observation in observations:
            gradient = gradient_of(observation)[0]
            sums.append({name: value.double() * total for name, value in gradient.items()})
        scales = tuple(1 / float(layer_gradient(each, layer).square().mean().sqrt().clamp(min=1e-30)) for each in sums)
        view = view_of(first)
        allowed = list(view.allowed)
        for observation in observations:
            for place, state in enumerate(presence_of(observation).states):
                allowed[place] = allowed[place] & torch.from_numpy(state != State.ABSENT)
        kept = tuple(new if bool(new.any()) else old for new, old in zip(allowed, view.allowed, strict=True))
        models = tuple({name: value.double() for name, value in each.parameters.items()} for each in observations)
        start = Rounds(
            view=replace(view, learner=double_of(first.learner), layers=(layer,), spans=(), allowed=kept),
            layer=layer,
            models=models,
            sent=tuple(sums),
            left=tuple(sums),
            scales=scales,
            total=total,
            rows=torch.zeros(0, first.layout.width).double(),
            labels=torch.zeros(0).double(),
            sure=torch.zeros(0, dtype=torch.bool),
        )
        start._check_rows()
        return start._spanned()

    def _check_rows(self) -> None:
        """Rows that are the same in all rounds cannot span more dimensions than they are."""
        parts = [scale * layer_gradient(each, self.layer) for each, scale in zip(self.sent, self.scales, strict=True)]
        stacked = torch.cat(parts)
        apart = span_of(stacked, min(stacked.shape), ROUNDING).rank
        # Noise spans all dimensions that there are, and says nothing about the rows.
        if self.total < apart < min(stacked.shape):
            raise NotApplicable(
                f"The rounds together span {apart} dimensions, more than the {self.total} rows behind each of them: "
                "they are not of the same rows. Were clients mixed up, or is every round another batch?"
            )

    @property
    def span(self) -> Span:
        """Row and column space of the stacked first layers."""
        return self.view.spans[0]

    @property
    def done(self) -> bool:
        """Every row was found, or the first layers hold nothing more."""
        return len(self.rows) >= self.total or not self.span.rank

    def _spanned(self) -> Rounds:
        parts = [scale * layer_gradient(each, self.layer) for each, scale in zip(self.left, self.scales, strict=True)]
        size = max(1, min(self.total - len(self.rows), self.view.valid_dimensions))
        return replace(self, view=replace(self.view, spans=(span_of(torch.cat(parts), size, ROUNDING),)))

    def outputs(self, x: Tensor) -> list[Tensor]:
        """(rows, out) what the first layer gives out, in each round."""
        return [layer_outputs(self.view.learner, self.layer.name, model, x) for model in self.models]

    def slopes(self, x: Tensor, y: Tensor, outputs: Sequence[Tensor] | None = None) -> Tensor:
        """(rows, outputs of all rounds) how the first layer's outputs move a row's own loss, round by round.

        Args:
            outputs: of the first layer in each round, if they are known.
        """
        every = zip(self.models, self.scales, outputs or self.outputs(x), strict=True)
        learner, layer = self.view.learner, self.layer.name
        return torch.cat([scale * layer_slopes(learner, layer, model, x, y, own) for model, scale, own in every], 1)

    def told(self, gradients: Sequence[Parameters]) -> Tensor:
        """One sum of gradients in every round, as a short vector: the first layer's in the span, all others whole."""
        return torch.cat([self._short(each, scale)[0] for each, scale in zip(gradients, self.scales, strict=True)])

    def told_of(self, rows: Tensor, labels: Tensor) -> Tensor:
        """(rows, entries) the same of each row's own gradients."""
        learner, parts = self.view.learner, []
        for model, scale in zip(self.models, self.scales, strict=True):

            def one(x: Tensor, y: Tensor, model: Parameters = model, scale: float = scale) -> Tensor:
                return self._short(learner.gradient(model, x[None], y[None]), scale)[0]

            parts.append(vmap(one)(rows, labels))
        return torch.cat(parts, 1)

    def _short(self, gradient: Parameters, scale: float) -> Tensor:
        first = scale * layer_gradient(gradient, self.layer) @ self.span.right.T
        mine = {f"{self.layer.name}.weight", f"{self.layer.name}.bias"}
        others = [scale * value.flatten() for name, value in gradient.items() if name not in mine]
        return torch.cat([first.flatten(), *others])[None]

    def without(self, rows: Tensor, labels: Tensor, sure: Tensor) -> Rounds:
        """What is left when these records are taken away."""
        learner = self.view.learner
        left = []
        for model, each in zip(self.models, self.left, strict=True):
            own = learner.gradient(model, rows, labels)
            left.append({name: value - len(rows) * own[name] for name, value in each.items()})
        found = replace(
            self,
            left=tuple(left),
            rows=torch.cat([self.rows, rows]),
            labels=torch.cat([self.labels, labels]),
            sure=torch.cat([self.sure, sure]),
        )
        return found if len(found.rows) >= self.total else found._spanned()

    def less(self, rows: Tensor) -> list[Parameters]:
        """What is left of every round without these rows, with the labels of those that were found."""
        found = []
        for model, sent in zip(self.models, self.sent, strict=True):
            own = self.view.learner.gradient(model, rows, self.labels)
            found.append({name: value - len(rows) * own[name] for name, value in sent.items()})
        return found

    def own(self, rows: Tensor, labels: Tensor) -> Tensor:
        """(rows, all weights of all rounds) each row's own gradients."""
        learner, parts = self.view.learner, []
        for model in self.models:

            def one(x: Tensor, y: Tensor, model: Parameters = model) -> Tensor:
                return flat(learner.gradient(model, x[None], y[None]))

            parts.append(vmap(one)(rows, labels))
        return torch.cat(parts, 1)

    def rest(self, observation: Observation, number: int) -> Observation:
        """What is left of one round, as the update of a smaller batch."""
        few = self.total - len(self.rows)
        update = {name: (value / few).float() for name, value in self.left[number].items()}
        exchange = replace(observation.exchange, protocol="fedsgd", rows=few, batch_size=few)
        return replace(observation, update=update, exchange=exchange, labels=None)

    def unexplained(self) -> float:
        """The share of what was sent that is left, in the round where it is largest."""
        return max(_norm(left) / _norm(sent) for left, sent in zip(self.left, self.sent, strict=True))

    def claim(self, why: str) -> Claim:
        """What was read."""
        count, left = len(self.rows), self.unexplained()
        if not count:
            return Claim(outcome=Outcome.NOT_APPLICABLE, note=why or "Nothing was read.")
        complete = count == self.total and left < FITS
        proven = self.sure
        if complete:
            proven = proven | (torch.ones_like(proven) if self.settled is None else self.settled)
        missing = max(0, self.total - count)
        rows = torch.cat([self.rows, self.rows.mean(0, keepdim=True).expand(missing, -1)])
        labels = torch.cat([self.labels, self.labels.new_full((missing,), torch.nan)])
        certified = torch.zeros(len(rows), dtype=torch.bool)
        certified[:count] = proven & (not self.view.compressed)
        said = f"{count} of {self.total} rows were read from {len(self.models)} rounds"
        said = f"{said}; {left:.0e} of what was sent is left."
        return Claim(
            outcome=Outcome.OK if complete else Outcome.BUDGET_SPENT,
            rows=rows.float().numpy(),
            labels=labels.float().numpy(),
            certified=certified.numpy(),
            loss=left,
            note=f"{said} {why}".strip(),
        )


def _check(observations: Sequence[Observation]) -> None:
    first = observations[0]
    if not all(each.finite for each in observations):
        raise NotApplicable("An update of these rounds is zero or holds NaN or infinity.")
    if any(each.exchange.rows != first.exchange.rows for each in observations):
        raise NotApplicable("The rounds have different numbers of rows, so they are not of the same rows.")
    if first.learner.task == "regression":
        raise NotApplicable("Rows are told apart with their labels, and here a label can be any number.")
    if first.exchange.protocol == "fedavg" and first.exchange.steps > 1:
        raise NotApplicable("Slopes of several local steps are not at known weights; rounds of one step are needed.")
    if first.learner.has_noise or first.learner.batch_statistics:
        raise NotApplicable("Dropout and BatchNorm in training mode change a row's slopes from round to round.")


def whole(view: View, numbers: Tensor) -> Tensor:
    """Numbers that are known to be whole, and nearly are, made so."""
    space = view.space
    if not bool(view.integers.any()) or space.scale is None or space.shift is None:
        return numbers
    scale, shift = space.scale[: view.numeric].double(), space.shift[: view.numeric].double()
    raw = numbers * scale + shift
    near = ((raw - raw.round()).abs() < 0.05) & view.integers
    return torch.where(near, (raw.round() - shift) / scale, numbers)


def flat(gradient: Parameters) -> Tensor:
    return torch.cat([value.flatten() for value in gradient.values()])


def _norm(gradient: Parameters) -> float:
    return float(flat(gradient).norm())
