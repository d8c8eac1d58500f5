"""What the server sees of one update, laid out for algebra in float64.

Long because it is one object, what an update tells before any search.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import torch
from torch import Tensor

from seepage._core import NotApplicable
from seepage.attacks.exact.mixed import scale_error, scoring_of, statistics_of, with_means
from seepage.attacks.exact.span import ROUNDING, Span, span_of
from seepage.data import Layout
from seepage.models import Learner, Parameters, factored_gradient, layer_inputs, linear_calls, parameter_name
from seepage.observation import Observation, Space, gradient_of

FAR = 1e9  # a bound that is none
MANY, FEW_VALUES = 5, 0.3  # less different values than this share of so many entries: they were rounded
CUT = 30.0  # the smallest entry is this many times larger than chance allows: smaller ones were left out


@dataclass(frozen=True)
class Layer:
    """A linear layer that every record goes through once.

    Args:
        name: of its module.
        biased: it has a bias, so its inputs carry a 1.
        entrance: its inputs are the rows themselves.
        affine: its inputs are an affine function of the rows, so combinations of records look like records to it.
        directions: how many independent slopes records can have there: its outputs, less what a LayerNorm behind it
            or a softmax takes.
        back: of an entrance that takes the rows laid out otherwise: (inputs, width) the way back, both with a 1 if it
            has a bias.
    """

    name: str
    biased: bool
    entrance: bool
    affine: bool
    directions: int
    back: Tensor | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, eq=False)
class View:
    """One update as a mean gradient, the model in float64, and the values that cells of a row can take.

    For FedAvg the update divided by what one step would weigh is the mean gradient along the client's way. The first
    layer's span holds exactly at any number of local steps; deeper layers see the weights move, so they are evaluated
    at the middle of the way, which is known: it is half the update.

    Args:
        learner, parameters: in float64; ``plain`` is the learner in float32, for searches.
        gradient: what is left to explain.
        rows: records behind what is left.
        total: records behind the whole update.
        single: one local step, so every layer's gradient is exact.
        layers, spans: the layers that can be used, and their row spaces.
        codes: for each categorical column, (categories, entries) the inputs that stand for them.
        low, high: (numeric,) bounds of the numbers as inputs.
        allowed: for each categorical column, (categories,) whether anybody may have it.
        integers: (numeric,) numbers that are whole in raw units, where the attacker knows that and the units.
        compressed: entries were left out or rounded to few values. The error of that is no noise and cannot be
            measured, so nothing is certified.
        normalised: BatchNorm was in training mode, and is undone here (``mixed.py``) with this relative error, so a
            row's slopes are not its own; 0 elsewhere.
        others: the same rows at the weights of other rounds. Their layers come after this view's own in ``layers`` and
            ``spans``: a row must pass them all.
    """

    learner: Learner
    plain: Learner
    space: Space
    parameters: Parameters
    gradient: Parameters
    rows: int
    total: int
    single: bool
    floors: dict[str, float]
    layers: tuple[Layer, ...]
    spans: tuple[Span, ...]
    codes: tuple[Tensor, ...]
    low: Tensor
    high: Tensor
    allowed: tuple[Tensor, ...]
    integers: Tensor
    compressed: bool
    normalised: float = 0.0
    others: tuple[View, ...] = ()

    @property
    def parts(self) -> tuple[View, ...]:
        """The views of single rounds."""
        if not self.others:
            return (self,)
        own = len(self.layers) - sum(len(other.layers) for other in self.others)
        return (replace(self, layers=self.layers[:own], spans=self.spans[:own], others=()), *self.others)

    @property
    def numeric(self) -> int:
        """Columns that are numbers; they come first."""
        return self.space.layout.numeric

    @property
    def entrance(self) -> Span | None:
        """The span of the rows themselves, if the model begins with a linear layer."""
        return next((span for layer, span in zip(self.layers, self.spans, strict=True) if layer.entrance), None)

    @property
    def valid_dimensions(self) -> int:
        """Dimensions of valid rows with a 1 for the bias: all blocks add up to the same as the bias."""
        return self.space.layout.width + 1 - len(self.codes)

    @property
    def deep(self) -> list[int]:
        """Places of the layers that tell a record from a combination of records."""
        return [place for place, layer in enumerate(self.layers) if not layer.affine]

    @property
    def peelable(self) -> bool:
        """Whether the gradient of a row can be computed and taken away: one step, no dropout, a plain mean."""
        weighted = self.learner.positive_weight != 1 and self.outputs > 1
        mixed = weighted or self.normalised > 0 or self.learner.abilities.mixes
        return self.single and not self.learner.has_noise and not mixed

    @property
    def outputs(self) -> int:
        """Outputs of the model."""
        return outputs_of(self.plain, self.space.layout.width)

    def rows_of(self, codes: Tensor, numbers: Tensor) -> Tensor:
        """(rows, width) inputs from category codes and numbers."""
        return torch.cat([numbers, *(table[codes[:, j]] for j, table in enumerate(self.codes))], 1)

    def inputs(self, x: Tensor) -> list[Tensor]:
        """What every usable layer takes in, with a 1 for the bias: (rows, in + 1) each."""
        return [value for part in self.parts for value in _inputs(part.learner, part.layers, part.parameters, x)]

    def plain_inputs(self) -> Callable[[Tensor], list[Tensor]]:
        """The same in float32: a function of rows."""
        parts = [(part.layers, {name: value.float() for name, value in part.parameters.items()}) for part in self.parts]
        return lambda x: [value for layers, own in parts for value in _inputs(self.plain, layers, own, x)]

    def slopes(self, x: Tensor, y: Tensor) -> list[Tensor]:
        """How every usable layer's output moves a row's own loss, divided by the batch's size: (rows, out) each."""
        found = []
        for part in self.parts:
            calls = {layer.name: [1] for layer in part.layers}
            factors, _ = factored_gradient(self.learner, calls, part.parameters, x, y)
            found += [factors[layer.name][0] * (len(x) / self.total) for layer in part.layers]
        return found

    def without(self, x: Tensor, y: Tensor) -> View:
        """The view of the smaller batch: these rows' part of the gradient is taken away."""
        if self.others:
            return joined([part.without(x, y) for part in self.parts])
        part = self.learner.gradient(self.parameters, x, y)
        share = len(x) / self.total
        rest = {name: value - share * part[name] for name, value in self.gradient.items()}
        smaller = replace(self, gradient=rest, rows=self.rows - len(x))
        return replace(smaller, spans=smaller.fresh_spans())

    def fresh_spans(self) -> tuple[Span, ...]:
        """The spans of what is left."""
        found = (
            span_of(
                layer_gradient(self.gradient, layer),
                min(self.rows, self.valid_dimensions) if layer.entrance else self.rows,
                self.floors[layer.name],
                drifting=not self.single and not layer.affine,
            )
            for layer in self.layers
        )
        if not self.normalised:
            return tuple(found)
        return tuple(
            replace(span, forward=max(span.forward, self.normalised)) if not layer.affine else span
            for layer, span in zip(self.layers, found, strict=True)
        )


def view_of(observation: Observation) -> View:
    """The server's view of an update."""
    exchange, learner = observation.exchange, observation.learner
    steps = exchange.steps if exchange.protocol == "fedavg" else 1
    update = {name: value.double() for name, value in observation.update.items()}
    parameters = {name: value.double() for name, value in observation.parameters.items()}
    gradient, scale = gradient_of(observation)
    normalised = 0.0
    if learner.batch_statistics:
        statistics = statistics_of(observation)
        normalised = scale_error(observation, statistics)
        gradient, learner = with_means(observation, gradient, statistics), scoring_of(learner)
        parameters |= statistics
    layers = usable_layers(learner, observation.layout.width)
    if not any(layer.entrance for layer in layers):
        layers = ()
    if layers and learner.abilities.coarse:
        raise NotApplicable(f"The model cannot be computed in float64, as algebra needs ({learner.abilities.coarse}).")
    sent = steps**0.5 * abs(scale) if exchange.protocol == "fedavg" else 0.0
    floors = {layer.name: _floor(layer, gradient, parameters, sent) for layer in layers}
    if steps > 1:
        parameters = {name: value + update[name] / 2 for name, value in parameters.items()}
    space = observation.space
    low, high = _bounds(space)
    codes = category_codes(space)
    allowed = tuple(torch.ones(len(table), dtype=torch.bool) for table in codes)
    if space.layout.embedded:
        for entry in allowed:
            entry[-1] = False  # the slot of unknown categories
    view = View(
        learner=double_of(learner) if layers else learner,
        plain=learner,
        space=space,
        parameters=parameters,
        gradient=gradient,
        rows=exchange.rows,
        total=exchange.rows,
        single=steps == 1,
        floors=floors,
        layers=layers,
        spans=(),
        codes=codes,
        low=low,
        high=high,
        allowed=allowed,
        integers=integer_columns(space),
        compressed=is_compressed(observation.update),
        normalised=normalised,
    )
    spans = view.fresh_spans()
    # A span tells about single records only where their slopes are independent: not where the layer is used up.
    kept = [
        place
        for place, (layer, span) in enumerate(zip(layers, spans, strict=True))
        if span.rank > 0 and (span.rank < layer.directions or exchange.rows <= layer.directions)
    ]
    return replace(view, layers=tuple(layers[k] for k in kept), spans=tuple(spans[k] for k in kept))


def joined(views: Sequence[View]) -> View:
    """Views of the same rows at the weights of several rounds as one; what one round forbids, nobody has."""
    first, others = views[0], tuple(views[1:])
    allowed = tuple(torch.stack(each).all(0) for each in zip(*(view.allowed for view in views), strict=True))
    return replace(
        first,
        layers=tuple(layer for view in views for layer in view.layers),
        spans=tuple(span for view in views for span in view.spans),
        allowed=tuple(new if bool(new.any()) else old for new, old in zip(allowed, first.allowed, strict=True)),
        others=others,
    )


def _floor(layer: Layer, gradient: Parameters, parameters: Parameters, sent: float) -> float:
    """The rounding that is certainly in a layer's gradient.

    Args:
        sent: how much of the weights' own rounding comes with it: FedAvg sends a difference of two float32 weights.
    """
    weight = parameters[parameter_name(layer.name, "weight")]
    rounding = max(ROUNDING * float(layer_gradient(gradient, layer).square().mean().sqrt()), 1e-30)
    if layer.back is not None:  # an entry that is the rest of several carries all of their rounding
        rounding *= float(layer.back.abs().sum(0).max()) ** 0.5
    return max(rounding, ROUNDING * float(weight.square().mean().sqrt()) * sent)


def integer_columns(space: Space) -> Tensor:
    """(numeric,) which numbers are whole, as far as it helps: their raw units must be known too."""
    if space.integers is None or space.shift is None or space.scale is None:
        return torch.zeros(space.layout.numeric, dtype=torch.bool)
    return space.integers


def is_compressed(update: Parameters) -> bool:
    """Whether entries were cut off at a threshold (top-k) or rounded to few values (quantisation, signs).

    Honest gradients have zeros too, but also entries of any size near zero: the smallest of N is about a N-th of the
    usual one.
    """
    entries = torch.cat([value.flatten() for value in update.values()]).abs()
    sent = entries[entries > 0]
    if not len(sent):
        return False
    different = len(torch.unique(sent))
    # One row's first layer repeats values, one for each of its categories; some other tensor does not.
    kept = [value[value != 0].abs() for value in update.values()]
    shares = [len(torch.unique(each)) / len(each) for each in kept if len(each) > MANY]
    few = bool(shares) and max(shares) < FEW_VALUES
    cut = len(sent) < len(entries) and float(sent.min()) > CUT / different * float(sent.median())
    return few or cut


def category_codes(space: Space) -> tuple[Tensor, ...]:
    """For each categorical column, the inputs that stand for its categories: (categories, entries)."""
    codes = []
    for block in space.layout.blocks:
        table = torch.eye(block.stop - block.start, dtype=torch.float64)
        if space.standardised and space.shift is not None and space.scale is not None:
            # As the clients do it: in float32 at the end.
            table = ((table - space.shift[block].double()) / space.scale[block].double()).float().double()
        codes.append(table)
    return tuple(codes)


def layer_gradient(gradient: Parameters, layer: Layer) -> Tensor:
    """(outputs, inputs) a layer's gradient with the bias as its last column; an entrance's as if it took our rows."""
    own = _own_gradient(gradient, layer)
    return own if layer.back is None else own @ layer.back.to(own)


def column_sizes(gradient: Parameters, layer: Layer) -> Tensor:
    """(inputs,) lengths of the columns that each column of :func:`layer_gradient` was made of: they bring rounding."""
    sizes: Tensor = _own_gradient(gradient, layer).norm(dim=0)
    return sizes if layer.back is None else sizes @ layer.back.abs().to(sizes)


def _own_gradient(gradient: Parameters, layer: Layer) -> Tensor:
    weight = gradient[parameter_name(layer.name, "weight")]
    if not layer.biased:
        return weight
    return torch.cat([weight, gradient[parameter_name(layer.name, "bias")][:, None]], 1)


def _inputs(learner: Learner, layers: tuple[Layer, ...], parameters: Parameters, x: Tensor) -> list[Tensor]:
    return augmented(layers, layer_inputs(learner, [layer.name for layer in layers], parameters, x))


def augmented(layers: tuple[Layer, ...], inputs: list[Tensor]) -> list[Tensor]:
    """Inputs with a 1 where the layer has a bias; an entrance's as our rows."""
    ones = [
        torch.cat([value, value.new_ones(len(value), 1)], 1) if layer.biased else value
        for layer, value in zip(layers, inputs, strict=True)
    ]
    return [
        value if layer.back is None else value @ layer.back.to(value) for layer, value in zip(layers, ones, strict=True)
    ]


@lru_cache(maxsize=16)
def double_of(learner: Learner) -> Learner:
    """The learner in float64."""
    return learner.double()


@lru_cache(maxsize=16)
def outputs_of(learner: Learner, width: int) -> int:
    """How many outputs a learner has."""
    return int(learner.outputs(learner.initial(), torch.zeros(1, width)).shape[-1])


@lru_cache(maxsize=16)
def usable_layers(learner: Learner, width: int) -> tuple[Layer, ...]:
    """Linear layers that see each record once and before any dropout, in the order of the forward pass."""
    names = [name for name, each in linear_calls(learner, width).items() if each == [1]]
    x = torch.randn(4, width, generator=torch.Generator().manual_seed(0))
    x[3] = x[0] + x[1] - x[2]
    parameters = learner.initial()
    clean = layer_inputs(learner, names, parameters, x)
    if learner.has_noise:
        with torch.random.fork_rng(devices=[]):
            noisy = layer_inputs(learner, names, parameters, x, noisy=True)
        clear = [bool(torch.equal(one, other)) for one, other in zip(clean, noisy, strict=True)]
    else:
        clear = [True] * len(names)
    if learner.abilities.mixes:  # what a layer takes in for a row alone must be what it takes in beside others
        alone = [layer_inputs(learner, names, parameters, row[None]) for row in x]
        for place, inputs in enumerate(clean):
            single = torch.cat([each[place] for each in alone])
            clear[place] &= torch.allclose(inputs, single, rtol=1e-4, atol=1e-5 * float(inputs.abs().max()))
    directions = _directions(learner, width, names)
    layers = []
    for place, (name, inputs) in enumerate(zip(names, clean, strict=True)):
        if clear[place]:
            biased = learner.module.get_submodule(name).bias is not None
            entrance, back = _enters(learner, x, inputs, biased=biased)
            layers.append(Layer(name, biased, entrance, _is_affine(inputs), directions[place], back))
    return tuple(layers)


def _enters(learner: Learner, x: Tensor, inputs: Tensor, *, biased: bool) -> tuple[bool, Tensor | None]:
    """Whether a layer takes in the rows themselves; and the way back to ours, if they are laid out otherwise."""
    entry = learner.entry
    rows = x if entry is None else entry(x)[0]
    if inputs.shape != rows.shape or not torch.equal(inputs, rows):
        return False, None
    if entry is None:
        return True, None
    if entry.back is None or (not biased and bool(entry.back[-1, :-1].any())):
        return False, None
    return True, entry.back if biased else entry.back[:-1, :-1]


def _directions(learner: Learner, width: int, names: list[str]) -> list[int]:
    """How many independent slopes records have at each of these layers: tried out on many random rows."""
    if not names:
        return []
    most = max(parameter.shape[0] for name, parameter in learner.initial().items() if name.endswith("weight"))
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2 * most + 64, width, generator=generator)
    y = torch.randint(0, max(outputs_of(learner, width), 2), (len(x),), generator=generator)
    factors, _ = factored_gradient(learner, {name: [1] for name in names}, learner.initial(), x, y)
    values = [torch.linalg.svdvals(factors[name][0].double()) for name in names]
    return [int((each > 3e-6 * each[0]).sum()) for each in values]


def _is_affine(inputs: Tensor) -> bool:
    """Whether a layer takes in for r1 + r2 - r3 what it takes in for the three, combined."""
    combined = inputs[0] + inputs[1] - inputs[2]
    return bool(torch.allclose(combined, inputs[3], rtol=1e-3, atol=1e-4 * float(inputs.abs().max())))


def _bounds(space: Space) -> tuple[Tensor, Tensor]:
    """The range of every number as an input, or none."""
    count = space.layout.numeric
    known = [value for value in (space.low, space.high, space.shift, space.scale) if value is not None]
    if len(known) < 4:
        return torch.full((count,), -FAR).double(), torch.full((count,), FAR).double()
    low, high, shift, scale = (value[:count].double() for value in known)
    return (low - shift) / scale, (high - shift) / scale


def codes_of(layout: Layout, rows: Tensor) -> Tensor:
    """(rows, categorical columns) the category of every block."""
    return (
        torch.stack([rows[:, block].argmax(1) for block in layout.blocks], 1) if layout.blocks else rows[:, :0].long()
    )
