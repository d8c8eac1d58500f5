"""Which attacks can work on a set-up and why others cannot: counting, without data and without truth.

Every rule is one of the algebra that ``seepage.attacks.exact`` uses. A linear layer's update is a sum of one product
per record, so what counts is how many records stand behind it, how many directions and inputs the layer has, and
whether the update still is such a sum. *Cannot* means that this algebra gives nothing. It is no proof of privacy.

Long because every part of the attacks has its counting rule here, and they stand on each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, get_args

from seepage._core import InputError, unknown_name
from seepage.attacks.exact.case import FEW
from seepage.attacks.exact.mixed import MANY_STEPS, scoring_of
from seepage.attacks.structure import Structure, structure_of
from seepage.data import Layout
from seepage.models import Learner

Verdict = Literal["works", "partly", "cannot"]
Optimiser = Literal["sgd", "momentum", "adam"]

# Tried on Adult, clinic and German Credit (20, 20 and 10 batches of each size, TabLeak's net, untrained). A search of
# the span ended with at most 3,000 candidates in all batches of 16 rows; of 24 rows in 95, 0 and 100 % of them, of 32
# rows in 35, 0 and 0 %. The share of the dimensions that the rows span predicted it worse than their number.
SEARCHABLE = 16
# Rows proven by exhaustion there: of 4 rows 96, 96 and 92 %; of 8 rows 62, 38 and 74 %; of 16 rows 8, 0 and 35 %.
PROVEN = 4
PRESENCE = "Which categories occur"
SPARE = 2  # equations that may be left over by chance; a certificate needs more


@dataclass(frozen=True)
class Finding:
    """What one part of an attack can do here.

    Args:
        what: the part.
        verdict: ``works``, ``partly`` or ``cannot``.
        why: the reason, with the numbers.
    """

    what: str
    verdict: Verdict
    why: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Setup:
    """What is set up, as far as algebra is concerned.

    Args:
        learner, layout: the model, and the inputs it takes.
        rows: of one client behind its update.
        steps: local steps behind it; 1 for FedSGD.
        clients: whose updates the server only sees added up (secure aggregation).
        defense: a defence's name or spec.
        optimiser: of the clients, started anew in every round.
        weight_decay: of the clients; the protocol tells it, so attacks take it out.
        clip: the longest that a client's gradient of a batch may be; 0 for any length.
        hidden_scales: one-hot entries are standardised with statistics that the server does not know.
        watched: rounds of the client that are joined.
    """

    learner: Learner
    layout: Layout
    rows: int
    steps: int = 1
    clients: int = 1
    defense: str = "none"
    optimiser: Optimiser = "sgd"
    weight_decay: float = 0.0
    clip: float = 0.0
    hidden_scales: bool = False
    watched: int = 1

    def __post_init__(self) -> None:
        for name in ("rows", "steps", "clients", "watched"):
            if getattr(self, name) < 1:
                raise InputError(f"The number of {name} is {getattr(self, name)}; it must be at least 1.")
        if self.optimiser not in get_args(Optimiser):
            raise unknown_name("optimiser", self.optimiser, get_args(Optimiser))
        for name in ("weight_decay", "clip"):
            if not 0 <= getattr(self, name) < float("inf"):
                said = name.replace("_", " ")
                raise InputError(f"The {said} is {getattr(self, name)}; it must be a number from 0 upward.")

    @property
    def structure(self) -> Structure:
        """The model as algebra sees it; BatchNorm in training mode is undone with the statistics that are sent."""
        learner = scoring_of(self.learner) if self.learner.batch_statistics else self.learner
        return structure_of(learner, self.layout)

    @property
    def mixes(self) -> bool:
        """Whether what the model says of a row depends on the others of its batch."""
        return self.learner.batch_statistics or self.learner.abilities.mixes

    @property
    def total(self) -> int:
        """Rows behind what the server sees."""
        return self.rows * self.clients

    @property
    def kept_out(self) -> str:
        """Why no row can be read through the first layer, whatever the number of rows; empty if it can."""
        model = self.structure
        if model.entrance is None and model.tokens is not None:
            return "The rows enter through tables, one for each column, and not through a linear layer."
        if model.entrance is None and model.moved:
            return "The rows are changed before the first linear layer. This attack does not undo that; others may."
        if model.entrance is None:
            return "The rows enter neither through a linear layer nor through tables that show them."
        if self.hidden_scales:
            return "One-hot entries are standardised with statistics the server does not know, so a 1 cannot be told."
        if self.learner.abilities.coarse:
            return f"The model cannot be computed in float64, as algebra needs ({self.learner.abilities.coarse})."
        if self.optimiser == "adam":
            return "Adam divides every entry by its own size, so the update is no sum of multiples of the records."
        if self.clip and self.steps > 1:
            return f"Gradients are clipped to a length of {self.clip:g}, so how much each step counts is not known."
        if self.learner.batch_statistics and self.steps > 1:
            return MANY_STEPS
        return ""

    @property
    def spanned(self) -> int:
        """Dimensions that the records span, at most."""
        return min(self.total, self.structure.dimensions)

    @property
    def left(self) -> int:
        """Equations that the first layer's span puts on a row; 0 if it is used up."""
        entrance = self.structure.entrance
        if self.kept_out or entrance is None or self.spanned > entrance.directions:
            return 0
        return self.structure.dimensions - self.spanned

    @property
    def peelable(self) -> bool:
        """Whether the gradient of a row can be computed and taken away."""
        return self.steps == 1 and not (self.structure.dropout or self.structure.weighted or self.mixes)


def findings(setup: Setup) -> list[Finding]:
    """What each part of the attacks can do on this set-up."""
    exact = [_presence, _span, _single_rows, _peeling, _exhaustion, _closed_form, _rounds]
    return [*(_disturbed(setup, part(setup)) for part in exact), _optimisation(setup)]


def row_limit(setup: Setup) -> int:
    """Rows behind an update up to which algebra reads whole rows; 0 if it reads none."""
    model = setup.structure
    sizes = [model.dimensions, *(layer.inputs for layer in model.deep)]
    parts: list[Callable[[Setup], Finding]] = [_span, _single_rows, _closed_form]
    for rows in range(max(sizes), 0, -1):
        tried = replace(setup, rows=rows, clients=1)
        if any(part(tried).verdict != "cannot" for part in parts):
            return rows
    return 0


def what_stops(setup: Setup) -> str:
    """What would end exact reading here, in a sentence or two."""
    limit, exact = row_limit(setup), _presence(setup).verdict != "cannot"
    noted = " Which categories occur stays readable at any number of rows, unless noise hides it." if exact else ""
    if not limit:
        return "Algebra reads no whole rows here. That is no proof of privacy: optimisation does not need it." + noted
    ends = f"Exact reading ends at {_many(limit, 'row')} behind one update, if not before"
    if setup.total > limit:
        return f"{ends}; here are {setup.total:,}. That is no proof of privacy: optimisation goes on." + noted
    clients = limit // setup.rows + 1
    ways = (
        f"secure aggregation over {clients:,} clients or more (one sum by an honest server; several rounds open it), "
    )
    ways += "or noise on the update"
    narrow = "for one update layers narrower than the number of rows (rounds on the same rows open them), "
    narrow = narrow if setup.structure.entrance and setup.total > 1 else ""
    return f"{ends}. What would stop it here: {narrow}{ways}." + noted


def _presence(setup: Setup) -> Finding:
    what, model = PRESENCE, setup.structure
    columns = len(setup.layout.sizes)
    read = f"so the {_many(model.categories, 'category', 'categories')} are read at any number of rows."
    if not columns:
        return Finding(what, "cannot", "The table has no categorical column.")
    if model.entrance is None and model.tokens is None:
        return Finding(what, "cannot", setup.kept_out)
    if setup.hidden_scales and model.entrance is not None:
        return Finding(what, "cannot", setup.kept_out)
    if model.tokens is not None and not model.tokens.faithful:
        why = "A category whose table entry moves is there; one that stands still may have been left out by attention."
        return Finding(what, "partly", why)
    if model.tokens is not None:
        return Finding(what, "works", f"Only the table entries of categories that occur move, {read}")
    if setup.optimiser == "adam":
        why = f"Weights of a category that nobody has are at rest under Adam too, {read}"
        return Finding(what, "works", f"{why} The attack `presence` reads them; `exact` does not.")
    return Finding(what, "works", f"The first layer's column of a category that nobody has stays zero, {read}")


def _span(setup: Setup) -> Finding:
    what, model, rows = "All valid rows in the first layer's span", setup.structure, _many(setup.total, "row")
    if setup.kept_out or model.entrance is None:
        return Finding(what, "cannot", setup.kept_out)
    if not model.anchored:
        why = "The first layer has no bias and the table no category, so rows are known up to their length only."
        return Finding(what, "cannot", why)
    if setup.spanned > model.entrance.directions:
        directions = _many(model.entrance.directions, "direction")
        return Finding(what, "cannot", f"{rows} can hide each other in the first layer's {directions}.")
    if not setup.left:
        why = f"{rows} can fill all {model.dimensions} dimensions of valid rows, so the span leaves nothing out."
        return Finding(what, "cannot", why)
    anchor = "" if model.entrance.biased else " The sum of a one-hot block stands in for the missing bias."
    span = f"{rows} {'spans' if setup.total == 1 else 'span'} {setup.spanned} of {model.dimensions} dimensions"
    meets = f"{span}: a row meets {_equations(setup.left)}"
    if setup.total > SEARCHABLE:
        return Finding(
            what, "partly", f"{meets}; so many combinations may meet them too that a search leaves them open.{anchor}"
        )
    momentum = ", momentum or not" if setup.optimiser == "momentum" else ""
    local = f", exact over all {setup.steps} local steps{momentum}" if setup.steps > 1 else ""
    decay = " The known weight decay is taken out." if setup.weight_decay else ""
    normed = (
        " BatchNorm leaves differences of rows; its running statistics add their mean."
        if setup.learner.batch_statistics
        else ""
    )
    return Finding(what, "works", f"{meets}{local}.{anchor}{decay}{normed}")


def _single_rows(setup: Setup) -> Finding:
    what, model, rows = "Single rows, proven by deeper layers", setup.structure, setup.total
    if setup.kept_out:
        return Finding(what, "cannot", setup.kept_out)
    if not model.deep:
        behind = (
            "Every layer behind a non-linearity lies behind dropout too." if model.dropout else "No layer is deeper."
        )
        return Finding(what, "cannot", f"{behind} The first one alone cannot tell rows from combinations of rows.")
    usable = [layer for layer in model.deep if rows <= layer.directions and rows < layer.inputs]
    if not usable:
        most = max(min(layer.directions, layer.inputs - 1) for layer in model.deep)
        why = f"{_many(rows, 'row')} are more than the {most} that the deeper layers can tell apart."
        return Finding(what, "cannot", why)
    equations = sum(layer.inputs - rows for layer in usable)
    if setup.steps > 1:
        why = f"The deeper layers move during the {setup.steps} local steps: rows are found near them, none is proven."
        return Finding(what, "partly" if equations > SPARE else "cannot", why)
    numbers = max(setup.layout.numeric - setup.left, 0)  # those that the first layer leaves open
    spare = equations - numbers + (usable[0].directions - rows + 1 if setup.peelable else 0)
    layers = _many(len(usable), "deeper layer")
    meets = f"{layers} {'gives' if len(usable) == 1 else 'give'} {_equations(equations)} for every row alone"
    beside = f" beside {_many(numbers, 'open number')}" if numbers else ""
    if spare <= SPARE:
        return Finding(what, "cannot", f"{meets}{beside}: too few to prove anything.")
    if spare < model.columns:
        return Finding(
            what, "partly", f"{meets}{beside}: fewer than its {model.columns} cells, so some rows have rivals."
        )
    return Finding(what, "works", f"{meets}{beside}, and a row has {model.columns} cells.")


def _peeling(setup: Setup) -> Finding:
    what, model = "Peeling proven rows off the update", setup.structure
    if setup.kept_out:
        return Finding(what, "cannot", setup.kept_out)
    if setup.steps > 1:
        why = f"Over {setup.steps} local steps no row's part of the update can be computed and taken away."
        return Finding(what, "cannot", why)
    if model.dropout:
        return Finding(what, "cannot", "The client's dropout is not known, so no row's gradient can be taken away.")
    if model.weighted:
        return Finding(what, "cannot", "The loss weighs the classes, so a row's share depends on the other labels.")
    if setup.mixes:
        return Finding(what, "cannot", "The model mixes the rows of a batch, so no row has a gradient of its own.")
    if _single_rows(setup).verdict != "cannot":
        return Finding(
            what, "works", "A proven row's gradient is computed and subtracted; the rest is a smaller batch."
        )
    if setup.total <= FEW and setup.left:
        why = f"No row is proven alone, but {_many(setup.total, 'row')} are few enough to be fitted together."
        return Finding(what, "partly", why)
    return Finding(what, "cannot", "No row is proven alone, so there is nothing to begin with.")


def _exhaustion(setup: Setup) -> Finding:
    what, span = "Proof by a complete search", _span(setup)
    if span.verdict == "cannot":
        return Finding(what, "cannot", f"It needs the first layer's span. {span.why}")
    if setup.total >= setup.structure.dimensions:
        return Finding(what, "cannot", f"{_many(setup.total, 'row')} cannot all be independent.")
    only = " Over several local steps it is the only proof." if setup.steps > 1 else ""
    if setup.total <= PROVEN:
        why = (
            "A row that the others found do not add up to must be in the batch; with so few, nearly each is such a row."
        )
        return Finding(what, "works", why + only)
    why = "Rows that other rows add up to escape it: in trials 38 to 74 % of 8 rows were proven, 0 to 35 % of 16."
    return Finding(what, "partly", why + only)


def _rounds(setup: Setup) -> Finding:
    """Rounds on the same rows, laid on top of each other: what bounds their span is the rows, not the layer's width."""
    what, model = "Several rounds on the same rows", setup.structure
    if setup.kept_out or model.entrance is None:
        return Finding(what, "cannot", setup.kept_out)
    if setup.steps > 1:
        why = f"Over {setup.steps} local steps slopes are not at known weights: rounds are read one by one."
        return Finding(what, "cannot" if setup.watched == 1 else "partly", why)
    if not setup.peelable or setup.learner.task == "regression":
        why = "A row's slopes cannot be computed round by round (a number as target, dropout, or rows that are mixed)."
        return Finding(what, "cannot", why)
    each = model.entrance.directions
    needed = -(-(setup.spanned + setup.layout.numeric + SPARE) // each)
    given = f"{_many(setup.watched, 'round')} {'gives' if setup.watched == 1 else 'give'} {setup.watched * each:,}"
    counted = f"{_many(setup.total, 'row')} span up to {setup.spanned} dimensions; {given} directions"
    if setup.watched == 1:
        return Finding(
            what, "cannot", f"One update is looked at. {counted}; {_many(max(needed, 2), 'round')} would do."
        )
    if setup.watched < needed:
        return Finding(what, "cannot", f"{counted}, too few to tell rows apart: {needed} rounds would do.")
    if 2 * setup.spanned > model.dimensions:
        why = f"{counted}, enough; so many rows are valid in so wide a span that a search may not end."
        return Finding(what, "partly", why)
    return Finding(what, "works", f"{counted}: rows are told apart by their slopes over all rounds.")


def _closed_form(setup: Setup) -> Finding:
    what, tokens = "One row in closed form", setup.structure.tokens
    if setup.total > 1:
        return Finding(what, "cannot", f"It reads an update of one row; here are {setup.total:,}.")
    if tokens is None:
        span = _span(setup)
        why = span.why if span.verdict == "cannot" else "The span of one row is the row."
        return Finding(what, "cannot" if span.verdict == "cannot" else "works", why)
    if setup.optimiser == "adam":
        return Finding(what, "partly", "Adam leaves the signs only: categories can be told, numbers cannot.")
    if tokens.weight is None or not tokens.faithful:
        why = "Cells whose table entries move are read; those that the model leaves out are not."
        return Finding(what, "partly", why)
    return Finding(
        what, "works", "A number is its weight's slope over its bias's; the category is the entry that moves."
    )


def _optimisation(setup: Setup) -> Finding:
    what, model = "Optimisation (gradient matching)", setup.structure
    cells = setup.total * model.columns
    counted = f"{_many(cells, 'cell')} are sought from {_many(model.parameters, 'entry', 'entries')} of the update"
    able = setup.learner.abilities
    if able.flat:
        return Finding(what, "cannot", f"The model's gradient cannot be differentiated again ({able.flat}).")
    if able.loops:
        counted += ", one restart at a time: torch.func.vmap cannot take the model"
    if setup.hidden_scales:
        why = "It has to do without the one-hot structure, since the scales are not known"
    elif setup.optimiser == "adam":
        why = "It repeats the steps of Adam, which say little about the size of a slope"
    elif _defended(setup):
        why = f"It matches what {_name(setup)} leaves of the update"
    elif model.dropout:
        why = "It does not know what dropout left out"
    elif cells > model.parameters:
        why = "There are more unknowns than equations"
    else:
        return Finding(what, "works", f"Always possible, and it reads less the more rows there are: {counted}.")
    return Finding(what, "partly", f"{why}. {counted[0].upper()}{counted[1:]}.")


def _disturbed(setup: Setup, finding: Finding) -> Finding:
    """The finding, weaker where something lies on top of the update."""
    if finding.verdict == "cannot":
        return finding
    reasons = []
    if _defended(setup):
        reasons.append(f"But {_name(setup)} puts an error on it: it holds while the signal stands above that.")
    if setup.clip and finding.what != PRESENCE:
        reasons.append(f"But it holds for gradients that are shorter than the clipping length of {setup.clip:g} only.")
    if not reasons:
        return finding
    return Finding(finding.what, "partly", " ".join([finding.why, *reasons]))


def _defended(setup: Setup) -> bool:
    return _name(setup) != "none"


def _name(setup: Setup) -> str:
    return setup.defense.partition(":")[0]


def _equations(count: int) -> str:
    return _many(count, "equation")


def _many(count: int, one: str, several: str = "") -> str:
    return f"{count:,} {one if count == 1 else several or one + 's'}"
