"""Document 000 (TabLeak): its tables beside ours. The plans say what differs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from seepage.reproductions.effort import Effort
from seepage.reproductions.from_plan import Names, PlanTable
from seepage.reproductions.line import Line
from seepage.reproductions.readings import by_doubt

NAMES = Names(
    paper="tableak",
    methods={
        "tableak": "TabLeak",
        "tableak_no_pooling": "TabLeak (no pooling)",
        "tableak_no_softmax": "TabLeak (no softmax)",
        "inverting_gradients": "Cosine",
    },
    datasets={
        "adult_tableak": "Adult",
        "german_credit": "German Credit",
        "law_school": "Lawschool Admissions",
        "health_heritage": "Health Heritage",
    },
    models={"mlp_tableak": "MLP 2x100"},
    guesses={"marginal": "Random"},
    unknown="reconstructed",
    differs={
        "german_credit": "5 clients, so that batches of 128 fit",
        "law_school": "other columns than the paper's",
        "health_heritage": "other columns than the paper's",
    },
)
RIGHT = {"accuracy_tableak": "accuracy"}  # rows are matched by right cells, as in the paper
DOUBT = {"accuracy_cat": "accuracy_cat", "doubt_cat": "entropy_cat"} | {
    "accuracy_num": "accuracy_num",
    "doubt_num": "entropy_num",
}
GERMAN = {"data": "german_credit", "clients": 5}  # 700 rows of the training part
LAW, HEALTH = {"data": "law_school"}, {"data": "health_heritage"}
SURE = {"attacks": ["tableak"], "labels_known": True}
LARGE = [8, 16, 32, 64, 128]


def _fedsgd(number: str, **part: object) -> PlanTable:
    return PlanTable(number=number, plan="fedsgd.toml", names=NAMES, part=part, metrics=RIGHT)


def _fedavg(number: str, **part: object) -> PlanTable:
    return PlanTable(number=number, plan="fedavg.toml", names=NAMES, part=part, metrics=RIGHT)


def _doubt(number: str, **part: object) -> PlanTable:
    return PlanTable(number=number, plan="fedsgd.toml", names=NAMES, part=SURE | part, metrics=DOUBT)


def _buckets(number: str, **part: object) -> PlanTable:
    whole = SURE | {"batch_sizes": [128]} | part
    return PlanTable(number=number, plan="fedsgd.toml", names=NAMES, part=whole, metrics={}, read=by_doubt)


_ALL = (
    _fedsgd("1", batch_sizes=LARGE),
    _fedavg("2"),
    _doubt("3", batch_sizes=LARGE),
    _buckets("4"),
    _fedsgd("6"),
    _fedsgd("7", **GERMAN),
    _fedsgd("8", **LAW),
    _fedsgd("9", **HEALTH),
    _fedavg("10"),
    _fedavg("11", **GERMAN),
    _fedavg("12", **LAW),
    _fedavg("13", **HEALTH),
    _doubt("14"),
    _doubt("15", **GERMAN),
    _doubt("16", **LAW),
    _doubt("17", **HEALTH),
    _buckets("18"),
    _buckets("19", **GERMAN),
    _buckets("20", **LAW),
    _buckets("21", **HEALTH),
)
TABLES: dict[str, Callable[[Effort], Iterator[Line]]] = {table.number: table for table in _ALL}
