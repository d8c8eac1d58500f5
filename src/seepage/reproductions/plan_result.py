"""What a plan of a table gave, with the words by which a published number finds its place beside a cell."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from seepage.plans import registry
from seepage.plans.options import Settings
from seepage.plans.spec import Spec, options_of, written
from seepage.reproductions.narrowing import Shown
from seepage.reproductions.paper import Paper, PaperTable, Word
from seepage.reproductions.published import Published, Wanted, numbers_of, unit_of
from seepage.reproductions.stored import Comparison
from seepage.results import Interval, Summary
from seepage.results.result import Result
from seepage.results.row_numbers import RowNumbers
from seepage.results.training import TrainingResult

_PARTS = {"model": "model", "attack": "attack", "defense": "defence"}  # coordinates that are specs
_LABELS = {"dataset": "data", "batch_size": "batch", "attack_point": "point"}
_NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True, kw_only=True, eq=False)
class VariantSettings:
    """The settings of one variant of a plan: for all of the published work, and as it was run."""

    name: str
    dataset: str
    published: Settings
    run: Settings

    def holds(self, cell: Result) -> bool:
        """Whether a cell is of this variant: some settings are coordinates of cells, and not in its name."""
        own = {name: value for name, value in self.run.model_dump().items() if isinstance(value, str | int | float)}
        named = (cell.variant, cell.dataset) == (self.name, self.dataset)
        return named and all(own.get(name, value) == value for name, value in cell.place.items())


@dataclass(frozen=True, kw_only=True, eq=False)
class PlanResult:
    """What a plan gave, and all that is needed to read it.

    Args:
        paper, table: whose table it is.
        summary: of the run.
        variants: the settings of the plan's variants.
        less: what is less than in the paper.
        shows: texts of coordinates that the table shows, by their names; of others it shows all.
    """

    paper: Paper
    table: PaperTable
    summary: Summary
    variants: tuple[VariantSettings, ...]
    less: tuple[str, ...] = ()
    shows: Shown = field(default_factory=dict)

    @cached_property
    def cells(self) -> list[Result]:
        """What the table shows of the run."""
        return [
            cell
            for cell in self.summary.cells
            if all(self.behind(cell).get(name) in texts for name, texts in self.shows.items())
        ]

    @property
    def method(self) -> Word:
        """How the paper calls what it compares."""
        return self.table.method or self.paper.method

    @property
    def dataset(self) -> Word:
        """How the paper calls data sets."""
        return self.table.dataset or self.paper.dataset

    @property
    def model(self) -> Word:
        """How the paper calls models."""
        return self.table.model or self.paper.model

    def settings_of(self, cell: Result) -> VariantSettings:
        """The settings behind a cell."""
        return next(variant for variant in self.variants if variant.holds(cell))

    def behind(self, cell: Result) -> dict[str, str]:
        """What is behind a cell, by our names, as if all of the published work had been done."""
        variant = self.settings_of(cell)
        published, run = variant.published, variant.run
        everything = {name: written(value) for name, value in cell.place.items()}
        for name, value in published.model_dump().items():
            if isinstance(value, str | int | float):
                everything[name] = written(value)
        if "attack" in everything:
            attacks = zip(_texts(run, "attacks"), _texts(published, "attacks"), strict=True)
            everything["attack"] = dict(attacks)[everything["attack"]]
        if "attack_point" in everything:
            points = zip(_points(run), _points(published), strict=True)
            everything["attack_point"] = dict(points).get(everything["attack_point"], everything["attack_point"])
        for name, kind in _PARTS.items():
            if name in everything:
                options = part_options(kind, everything[name], self.summary.study)
                everything |= {f"{name}.{option}": value for option, value in options.items()}
        if everything.get("local_rows", "").isdigit():
            everything["mini_batches"] = str(int(everything["local_rows"]) // int(everything["batch_size"]))
        return everything

    def beside(
        self,
        cell: Result,
        metric: str,
        *,
        method: str | None = None,
        told: Mapping[str, str] = _NOTHING,
        hidden: Collection[str] = (),
    ) -> Published | None:
        """The published number that stands beside a cell.

        Args:
            metric: as the paper calls it.
            method: as the paper calls it; that of the cell if not given.
            told: settings in the paper's words that the cell itself does not have.
            hidden: settings of the cell that do not count, because it stands for several.
        """
        behind = self.behind(cell)
        words = self.paper.settings | self.table.settings

        def setting(name: str) -> str | None:
            if name in told or name in hidden:
                return told.get(name)
            word = words.get(name)
            return behind.get(name) if word is None else word.spoken(behind.get(word.of))

        wanted = Wanted(
            metric=metric,
            dataset=self.dataset.spoken(behind.get(self.dataset.of)),
            method=method or self.method.spoken(behind.get(self.method.of)),
            model=self.model.spoken(behind.get(self.model.of)),
            behind=setting,
        )
        table = self.table.stands_in or self.table.number
        return wanted.among(numbers_of(self.paper.numbers, table), self.paper.ignored)

    def place(self, cell: Result) -> dict[str, str]:
        """Where a cell stands: its coordinates, in the paper's words where it has some."""
        behind = self.behind(cell)
        words = {word.of: word for word in (self.dataset, self.model, self.method)}
        names = {name: written(value) for name, value in cell.place.items() if name != "variant"}
        names |= {name: shown(word, behind[name]) for name, word in words.items() if name in names}
        pairs = [pair.partition("=") for pair in cell.variant.split(", ") if pair]
        variant = {(name if equals else "case"): (value if equals else name) for name, equals, value in pairs}
        told = {name: word.words.get(behind.get(word.of, ""), "") for name, word in self.table.settings.items()}
        names = names | variant | told
        every = {_LABELS.get(name, name.replace("_", " ")): value for name, value in names.items()}
        return {name: value for name, value in every.items() if value}

    def compare(
        self,
        cell: Result,
        metric: str,
        number: Interval | None,
        beside: Published | None,
        *,
        place: Mapping[str, str] | None = None,
        trials: int | None = None,
    ) -> Comparison:
        """A cell of the table. One without a number is told, not left out.

        Args:
            metric: as the paper calls it.
            number: ours, as a fraction where the paper has percent.
            place: where it stands, if that is not the cell's own place.
            trials: what its mean is over, if these are not the cell's own trials.
        """
        unit = unit_of(self.paper.numbers, self.table.stands_in or self.table.number, metric)
        times = 100.0 if unit == "percent" else 1.0
        ends = (None, None) if number is None else (number.low, number.high)
        reason = "" if number is not None else ": ".join((cell.outcome.replace("_", " "), *cell.notes[:1]))
        differs = (*self.less, self.paper.data_differs.get(cell.dataset, ""))
        return Comparison(
            place=dict(self.place(cell) if place is None else place),
            metric=metric,
            unit=unit,
            ours=None if number is None else times * number.mean,
            low=None if ends[0] is None else times * ends[0],
            high=None if ends[1] is None else times * ends[1],
            trials=cell.trials - cell.failed if trials is None else trials,
            failed=cell.failed if trials is None else 0,
            published=None if beside is None else beside.value,
            spread=None if beside is None else beside.spread,
            reason=reason,
            differs=tuple(sentence for sentence in differs if sentence),
        )


def number_of(cell: Result, name: str) -> Interval | None:
    """A number of a cell by our name: a metric, or ``scope:metric`` of a training."""
    scope, colon, metric = name.rpartition(":")
    if colon and isinstance(cell, TrainingResult):
        value = cell.value(scope, metric)
        return None if value is None else Interval(value.mean, value.low, value.high)
    return cell.metrics.get(name)


def guess_of(cell: RowNumbers, name: str) -> Interval | None:
    """What a baseline gets, by the run's own matching; ``rule:name`` by another, as ``cells:tableak_random``."""
    rule, colon, baseline = name.rpartition(":")
    return cell.baselines_by.get(rule, {}).get(baseline) if colon else cell.baselines.get(name)


@lru_cache(maxsize=1024)
def part_options(kind: str, spec: str, study: str) -> Mapping[str, str]:
    """The options of a part that a spec names, as texts."""
    return {name: written(value) for name, value in options_of(registry.make(kind, spec, study)).items()}


def shown(word: Word, ours: str) -> str:
    """The paper's word for a part, with the options that its spec sets beside it."""
    if ours in word.stand_ins:
        return f"{ours} (for {word.words[ours]})"
    if ours in word.words:
        return word.words[ours]
    spec = Spec.read(ours) if ":" in ours else Spec(ours, {})
    options = ", ".join(f"{name} {value}" for name, value in spec.options.items())
    return ", ".join(part for part in (word.words.get(spec.name, spec.name), options) if part)


def _texts(settings: Settings, name: str) -> tuple[str, ...]:
    return tuple(str(each) for each in getattr(settings, name, ()))


def _points(settings: Settings) -> list[str]:
    """Attack points as cells call them."""
    points = _texts(settings, "attack_points")
    return [f"exposure {float(point):g}" if point.replace(".", "", 1).isdigit() else point for point in points]
