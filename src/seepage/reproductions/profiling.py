"""Document 002 (the profiling study): its tables beside ours. The plans say what differs.

Tables 1 (data sets), 52, 53 and 58 (checks of its own code) are no experiments and are not here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from seepage.reproductions.effort import Effort
from seepage.reproductions.factors import MODULES, STRUCTURE
from seepage.reproductions.from_plan import Names, Outcome, PlanTable, by_cell
from seepage.reproductions.line import Line
from seepage.reproductions.readings import by_baseline, by_factor, by_modules, by_utility, over_batch_sizes

ATTACK = "GIA (cosine gradient matching)"
NO_DROPOUT = "ft_transformer:attention_dropout=0:ffn_dropout=0"
NAMES = Names(
    paper="profiling",
    methods={"gradient_matching": ATTACK, "gradient_matching_simplex": ATTACK},
    datasets={
        "adult": "Adult",
        "covertype_three": "Private multiclass",
        "california_housing": "California Housing",
        "clinic": "MIMIC-IV",
        "mimic_iv": "MIMIC-IV",
    },
    models={
        "mlp": "Small MLP",
        "resnet": "ResNet",
        "ft_transformer": "FT-Transformer",
        NO_DROPOUT: "FT-Transformer",
    },
    own={"clinic": "mimic_iv"},
    differs={
        "covertype_three": "Forest Cover Type (3 classes, 12 columns) in place of the private table",
        "clinic": "clinic in place of MIMIC-IV",
    },
)
BASELINES = Names(**(vars(NAMES) | {"guesses": {"prior": "Client marginal prior", "uniform": "Uniform random"}}))
KINDS = {"accuracy": "accuracy", "accuracy_num": "accuracy_num", "accuracy_cat": "accuracy_cat"}
EMR = {"emr": "emr"}
ENDS, FINAL, FIRST = ["initialized", "final"], ["final"], ["initialized"]
ONE_HOT = ["mlp", "resnet"]
DATA = {"adult": "adult", "three": "covertype_three", "housing": "california_housing"}


def _table(
    number: str,
    plan: str,
    *,
    metrics: Mapping[str, str] | None = None,
    read: Callable[[Outcome], Iterator[Line]] = by_cell,
    names: Names = NAMES,
    net: str | None = None,
    **part: object,
) -> PlanTable:
    shown = {"accuracy": "accuracy"} if metrics is None else metrics
    return PlanTable(number=number, plan=f"{plan}.toml", names=names, part=part, metrics=shown, read=read, net=net)


def _grid(number: str, data: str | None, read: Callable[[Outcome], Iterator[Line]], **part: object) -> PlanTable:
    """A table of the 72 nets at the final point; ``data`` is None for MIMIC-IV's plan."""
    where = {"data": DATA[data]} if data else {}
    table = _table(number, "mlp_grid" if data else "mimic_mlp_grid", read=read, net="MLP grid")
    return replace(table, part={"attack_points": FINAL, **where, **part})


def _three(first: int, read: Callable[[Outcome], Iterator[Line]]) -> list[PlanTable]:
    """Three tables after each other: Adult, the private table, California Housing."""
    return [_grid(str(first + place), data, read) for place, data in enumerate(DATA)]


_ALL = (
    _table("2", "batch_sizes", attack_points=FINAL, models=ONE_HOT),
    _table("3", "batch_sizes", attack_points=ENDS, models=["ft_transformer"]),
    _table("4", "mimic_batch_sizes", attack_points=ENDS),
    _table("5", "mimic_fedavg_16"),
    _table("6", "mimic_ft_transformer", attack_points=ENDS, models=["ft_transformer"]),
    _grid("7", None, by_factor(STRUCTURE)),
    _grid("8", None, by_factor(MODULES)),
    _grid("9", None, by_modules, batch_sizes=[32]),
    _table("10", "batch_sizes", attack_points=FIRST, models=ONE_HOT),
    _table("11", "batch_sizes", read=by_baseline, names=BASELINES, net="-"),
    *(
        _table(str(12 + place), "batch_sizes", metrics=EMR, attack_points=ENDS, data=DATA[data])
        for place, data in enumerate(DATA)
    ),
    *(
        _table(str(15 + place), "fixed_batch", attack_points=["0", "25"], data=DATA[data])
        for place, data in enumerate(DATA)
    ),
    _table("18", "non_iid", batch_sizes=[8]),
    _table("19", "non_iid", batch_sizes=[32]),
    _table("20", "budgets", batch_sizes=[8]),
    _table("21", "budgets", batch_sizes=[32]),
    _table("22", "labels_unknown"),
    *(
        _table(str(23 + 2 * place + (point == FINAL)), "fedavg", attack_points=point, data=DATA[data])
        for place, data in enumerate(DATA)
        for point in (FIRST, FINAL)
    ),
    *_three(29, by_factor(STRUCTURE)),
    *_three(32, by_factor(MODULES)),
    *_three(35, by_modules),
    _table("38", "mlp_grid", read=by_utility, net="MLP grid", attack_points=FINAL, batch_sizes=[8]),
    _table("39", "mimic_fixed_batch", attack_points=["0", "25"]),
    _table("40", "mimic_batch_sizes", read=by_baseline, names=BASELINES, net="-"),
    _table("41", "mimic_batch_sizes", metrics=EMR, attack_points=ENDS),
    _table("42", "mimic_ft_transformer", metrics=EMR, attack_points=ENDS, models=[NO_DROPOUT]),
    _grid("43", None, by_modules),
    _grid("44", None, by_utility, batch_sizes=[8]),
    _grid("45", None, by_utility, batch_sizes=[32]),
    _table("46", "mimic_fedavg_64"),
    _table("47", "mimic_non_iid", metrics=KINDS, batch_sizes=[8]),
    _table("48", "mimic_non_iid", metrics=KINDS, batch_sizes=[32]),
    _table("49", "mimic_budgets", batch_sizes=[8]),
    _table("50", "mimic_budgets", batch_sizes=[32]),
    _table("51", "mimic_labels_unknown"),
    _table("54", "mimic_ft_transformer", metrics=KINDS, read=over_batch_sizes, attack_points=FIRST),
    _table("55", "mimic_ft_transformer", metrics=KINDS, read=over_batch_sizes, attack_points=FINAL),
    _table("56", "mimic_ft_fixed_batch", attack_points=["0", "25"]),
    _table("57", "mimic_ft_transformer", attack_points=ENDS, models=[NO_DROPOUT]),
)
TABLES: dict[str, Callable[[Effort], Iterator[Line]]] = {table.number: table for table in _ALL}
