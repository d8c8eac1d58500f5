"""Realistic summaries of all studies, made the way runs make them: records, then cells."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from html.parser import HTMLParser

from seepage._core import Streams
from seepage.report import words
from seepage.results import (
    ALL_COLUMNS,
    ATTACK,
    BASELINES,
    Cell,
    Interval,
    Measure,
    PartiesCell,
    PropertyCell,
    Record,
    RowsCell,
    ServersCell,
    Summary,
    TrainingCell,
    Trials,
    UpdatesCell,
    VerticalCell,
)
from seepage.results.facts import ColumnFacts, Dataset, LeftOut, ThreatModel
from seepage.results.parties import PartiesSummary, parties_result
from seepage.results.property import (
    EPOCHS,
    NAMED,
    SHARE,
    SHARE_HIGH,
    SHARE_LOW,
    SHARE_TRUE,
    SURE,
    TRUE,
    ModelsMade,
    PropertySummary,
    property_result,
)
from seepage.results.result import Result
from seepage.results.rows import Exposure, RowsSummary, Utility, rows_results
from seepage.results.servers import CHECKS, ServersSummary, servers_result
from seepage.results.training import MODEL, TrainingSummary, training_result
from seepage.results.updates import CapturedUpdate, UpdatesSummary, updates_results
from seepage.results.vertical import Losses, VerticalSummary, vertical_results

HOSTILE = '</script><script>alert(1)</script><b onclick="x">&amp;'
COLUMNS = (
    ColumnFacts(name="age", kind="numeric"),
    ColumnFacts(name="diagnosis", kind="categorical", cardinality=12, sensitive=True),
    ColumnFacts(name="blood_pressure", kind="numeric"),
    ColumnFacts(name="smoker", kind="binary", cardinality=2, sensitive=True),
    ColumnFacts(name="ward", kind="categorical", cardinality=7),
    ColumnFacts(name="length_of_stay", kind="numeric"),
)
GUESSES = {"prior": 0.56, "uniform": 0.24, "marginal": 0.41}
METRICS = ("accuracy_num", "accuracy_cat", "emr_90", "emr_80", "rmse", "nearest_distance", "likelihood_num",
           "likelihood_cat", "accuracy_by_cells")  # fmt: skip
LEVELS = {1: (0.99, 1.0), 8: (0.9, 0.675), 32: (0.68, 0.06)}
POINTS = {"untrained": (0.0, 0.0), "best": (6.5, -0.12)}


def a_cell(**changes: object) -> RowsCell:
    """One tested setting; name the coordinates that differ."""
    usual: dict[str, object] = {
        "dataset": "clinic", "protocol": "fedsgd", "model": "mlp", "batch_size": 8,
        "attack_point": "untrained", "attack": "tableak", "defense": "none",
    }  # fmt: skip
    return RowsCell(**(usual | changes))  # type: ignore[arg-type]


def a_record(
    cell: Cell,
    *,
    repeat: int = 0,
    client: int = 0,
    accuracy: float = 0.9,
    exact: float = 0.675,
    rows: int = 8,
    outcome: str = "ok",
    exposure: float = 0.0,
    columns: Sequence[ColumnFacts] = COLUMNS,
    guesses: Mapping[str, float] = GUESSES,
) -> Record:
    """One attacked batch. An outcome other than ``ok`` and ``budget_spent`` has nothing to score."""
    random = Streams(3).child(cell.id).numpy(repeat, client)

    def near(centre: float) -> float:
        return min(max(centre + random.normal(0, 0.03), 0.0), 1.0)

    values: dict[Measure, float] = {}
    if outcome in ("ok", "budget_spent"):
        numeric = any(column.kind == "numeric" for column in columns)
        values[Measure(ATTACK, ALL_COLUMNS, "accuracy")] = 1.0 if exact == 1 else near(accuracy)
        read = math.floor(exact * rows + random.uniform()) / rows
        values |= {Measure(ATTACK, ALL_COLUMNS, name): read for name in ("exact", "emr")}
        for name in METRICS:
            absent = not numeric and (name.endswith("_num") or name == "rmse")
            values[Measure(ATTACK, ALL_COLUMNS, name)] = float("nan") if absent else near(accuracy)
        for name in BASELINES:
            values[Measure(name, ALL_COLUMNS, "accuracy")] = near(guesses[name])
        for place, column in enumerate(columns):
            values[Measure(ATTACK, column.name, "accuracy")] = near(accuracy - 0.06 * (place % 5))
            for name in BASELINES:
                values[Measure(name, column.name, "accuracy")] = near(guesses[name] + 0.05 * (place % 3))
    return Record(
        cell=cell, repeat=repeat, client=client, round=0, exposure=exposure, rows=rows, outcome=outcome,
        seconds=1.5, values=values,
    )  # fmt: skip


def attacked_whole(cells: Sequence[Result]) -> list[Result]:
    """The cells, every attack of which is among the strongest: what a gate asks for has been done."""
    names = tuple(dict.fromkeys(cell.attacker for cell in cells))
    return [cell.model_copy(update={"strongest": (names,)}) for cell in cells]


def records_of(cell: Cell, trials: int = 10, **settings: object) -> list[Record]:
    """Several attacked batches of one setting."""
    return [a_record(cell, repeat=n // 5, client=n % 5, **settings) for n in range(trials)]  # type: ignore[arg-type]


def usual_records() -> Iterator[Record]:
    """Three batch sizes, two moments, two attacks; one setting fails, and one attack fails now and then."""
    for batch, (accuracy, exact) in LEVELS.items():
        for point, (exposure, less) in POINTS.items():
            cell = a_cell(batch_size=batch, attack_point=point)
            yield from records_of(
                cell, rows=batch, accuracy=accuracy + less, exact=max(exact + 2 * less, 0), exposure=exposure
            )
            cell = a_cell(batch_size=batch, attack_point=point, attack="exact")
            if batch == 32:
                yield from records_of(cell, rows=batch, outcome="not_applicable", exposure=exposure)
            else:
                yield from records_of(cell, 8, rows=batch, accuracy=accuracy - 0.3, exact=0.125, exposure=exposure)
                yield from records_of(cell, 2, rows=batch, outcome="diverged", exposure=exposure)


def trials_of(records: Sequence[Record]) -> list[Trials]:
    """The records cell by cell."""
    cells = dict.fromkeys(record.cell for record in records)
    return [Trials.of([record for record in records if record.cell == cell]) for cell in cells]


def a_utility(batch: int, point: str, repeat: int, validation: dict[str, float | None], **changes: object) -> Utility:
    """Model quality at one moment of one repeat."""
    exposure = POINTS.get(point, (1.0, 0.0))[0]
    usual: dict[str, object] = {
        "dataset": "clinic", "protocol": "fedsgd", "model": "mlp", "defense": "none", "batch_size": batch,
        "attack_point": point, "repeat": repeat, "parameters": 3000, "round": round(40 * exposure) + repeat,
        "exposure": Exposure(min=exposure, mean=exposure, max=exposure), "validation": validation,
        "test": validation if point == "best" else None,
    }  # fmt: skip
    return Utility.model_validate(usual | changes)


def usual_utility() -> list[Utility]:
    """Two repeats of every batch size and moment of ``usual_records``."""
    return [
        a_utility(batch, point, repeat, {"loss": 0.7 - lift, "accuracy": 0.5 + lift, "roc_auc": 0.52 + 1.1 * lift})
        for batch in LEVELS
        for point, lift in (("untrained", 0.0), ("best", 0.32 - 0.002 * batch))
        for repeat in range(2)
    ]


def a_dataset(columns: Sequence[ColumnFacts] = COLUMNS, **changes: object) -> Dataset:
    """The data set's part of a summary."""
    usual: dict[str, object] = {
        "name": "clinic", "rows": 12000, "target": "died", "task": "binary", "columns": tuple(columns),
        "dropped": (LeftOut(name="patient_id", reason="a different value in every row"),),
        "notes": ("3 % of the cells were empty.",), "digest": "a1b2c3d4e5f60718",
    }  # fmt: skip
    return Dataset.model_validate(usual | changes)


def head_of(columns: Sequence[ColumnFacts] = COLUMNS) -> dict[str, object]:
    """What the summaries of all studies have."""
    return {
        "name": "clinic-2031",
        "created": "2031-05-06T07:08:09+00:00",
        "seed": 7,
        "versions": {"seepage": "0.1.0", "python": "3.11.9", "torch": "2.13.0"},
        "settings": {"seed": 7, "deviation": "client", "schema": {"columns": [{"categories": ["SECRET-7731"]}]}},
        "command": "seepage audit --data clinic --batch-size 1,8,32 --seed 7",
        "dataset": a_dataset(columns),
        "threat_model": ThreatModel(
            adversary=("An honest-but-curious server that follows the protocol and keeps what it receives.",),
            sees=("The global model before each round.", "Every client's update, one client at a time."),
            knows=("The columns' names, kinds, categories and ranges.", "The batch size.", "The labels."),
            does_not_know=("Any row.", "The clients' means and standard deviations."),
        ),
        "not_tested": ("Secure aggregation.", "A server that changes the model to make it leak more.", "Defences."),
    }


def a_summary(
    records: Sequence[Record] | None = None, columns: Sequence[ColumnFacts] = COLUMNS, **changes: object
) -> RowsSummary:
    """A summary of clients' updates; ``changes`` replace its fields."""
    every = list(usual_records()) if records is None else list(records)
    own: dict[str, object] = {
        "cells": attacked_whole(rows_results(trials_of(every), columns)),
        "utility": usual_utility() if records is None else (),
    }
    return RowsSummary.model_validate(head_of(columns) | own | changes)


def many_columns(amount: int = 220) -> list[ColumnFacts]:
    """A wide table."""
    kinds = ("numeric", "categorical", "binary")
    cardinality = (None, 9, 2)
    return [
        ColumnFacts(
            name=f"measurement_{i:03d}", kind=kinds[i % 3], cardinality=cardinality[i % 3], sensitive=i % 40 == 3
        )
        for i in range(amount)
    ]  # fmt: skip


def a_vertical_cell(**changes: object) -> VerticalCell:
    """One setting of vertical learning."""
    usual: dict[str, object] = {
        "dataset": "clinic", "model": "mlp", "people": 60, "batch_size": 5, "batches": 66,
        "attack_point": "initialized", "attack": "cafe_closed_form", "defense": "none",
    }  # fmt: skip
    return VerticalCell(**(usual | changes))  # type: ignore[arg-type]


def vertical_records(cell: VerticalCell, trials: int = 3, **settings: object) -> list[Record]:
    """Recoveries of everyone's rows, with what the equations fix."""
    records = records_of(cell, trials, rows=cell.people, **settings)
    more = {Measure(ATTACK, ALL_COLUMNS, "psnr"): 140.0, Measure(ATTACK, ALL_COLUMNS, "determined"): 1.0}
    return [
        Record(
            cell=cell, repeat=number, rows=cell.people, outcome=record.outcome, seconds=0.2,
            note=f"{cell.people} rows are determined.", values={**record.values, **more} if record.values else {},
        )
        for number, record in enumerate(records)
    ]  # fmt: skip


def vertical_losses(defense: str, end: float, **changes: object) -> Losses:
    """A falling loss."""
    points = tuple((6 * step, 0.7 - (0.7 - end) * step / 11) for step in range(12))
    usual: dict[str, object] = {
        "dataset": "clinic", "model": "mlp", "people": 60, "batch_size": 5, "defense": defense,
        "learning_rate": 0.01, "points": points,
    }  # fmt: skip
    return Losses.model_validate(usual | changes)


def a_vertical_summary(records: Sequence[Record] | None = None, **changes: object) -> VerticalSummary:
    """A summary of vertical gradients: without a defence everything is read, with one less."""
    usual = [
        *vertical_records(a_vertical_cell(), accuracy=1.0, exact=1.0),
        *vertical_records(a_vertical_cell(defense="fake_gradients"), accuracy=0.7, exact=0.0),
    ]
    own: dict[str, object] = {
        "cells": attacked_whole(vertical_results(trials_of(usual if records is None else records), COLUMNS)),
        "losses": (vertical_losses("none", 0.11), vertical_losses("fake_gradients", 0.32)) if records is None else (),
        "command": "seepage audit vertical --data clinic --people 60",
        "settings": {"seed": 7, "people": 60},
    }
    return VerticalSummary.model_validate(head_of() | own | changes)


def a_property_cell(**changes: object) -> PropertyCell:
    """One meta-model."""
    usual: dict[str, object] = {
        "dataset": "clinic", "property_text": "sex == 'female'", "observed": "weights", "classes": 4, "loss": "sor",
        "reader": "paths",
    }  # fmt: skip
    return PropertyCell(**(usual | changes))  # type: ignore[arg-type]


def property_records(cell: PropertyCell, right: float, targets: int = 40, *, share: bool = False) -> list[Record]:
    """Target models; of so many the range is named rightly, of the others the next one is named."""
    records = []
    for number in range(targets):
        true = number % cell.classes
        named = true if number < round(right * targets) else (true + 1) % cell.classes
        values = {TRUE: float(true), NAMED: float(named), SURE: 0.8, EPOCHS: 40.0}
        if share:
            truth = (true + 0.5) / cell.classes
            values |= {SHARE: truth + 0.02, SHARE_LOW: truth - 0.03, SHARE_HIGH: truth + 0.07, SHARE_TRUE: truth}
        records.append(Record(cell=cell, client=number, rows=900, outcome="ok", values=values))
    return records


def models_made(defense: str = "none", **changes: object) -> ModelsMade:
    """The models behind cells."""
    usual: dict[str, object] = {
        "dataset": "clinic", "property_text": "sex == 'female'", "observed": "weights", "defense": defense,
        "shadows": 400, "targets": 40, "rejected": 3, "accuracy": 0.91,
        "balanced_accuracy": 0.74, "above_90_percent": 0.6, "target_accuracy": Interval(0.9, 0.88, 0.92),
        "target_balanced_accuracy": Interval(0.73, 0.7, 0.76), "rows_held": 900, "rows_trained": 900,
        "rows_repeated": 0.0,
    }  # fmt: skip
    return ModelsMade.model_validate(usual | changes)


def usual_property_records() -> list[Record]:
    """Two cuts and two losses without a defence, one cut with one."""
    return [
        *property_records(a_property_cell(classes=2), 0.95),
        *property_records(a_property_cell(), 0.8, share=True),
        *property_records(a_property_cell(loss="coral"), 0.6),
        *property_records(a_property_cell(defense="weight_noise:deviation=0.1"), 0.25),
    ]


def a_property_summary(records: Sequence[Record] | None = None, **changes: object) -> PropertySummary:
    """A summary of property inference."""
    every = usual_property_records() if records is None else records
    own: dict[str, object] = {
        "cells": attacked_whole([property_result(trials) for trials in trials_of(every)]),
        "models": (models_made(), models_made("weight_noise:deviation=0.1", epsilon=3.21, delta=1e-5)),
        "command": "seepage audit property --data clinic --property \"sex == 'female'\"",
        "settings": {"seed": 7, "property_text": "sex == 'female'"},
    }
    return PropertySummary.model_validate(head_of() | own | changes)


def a_training_cell(**changes: object) -> TrainingCell:
    """One design."""
    usual: dict[str, object] = {"dataset": "clinic", "design": "tabvfl", "guests": 2}
    return TrainingCell(**(usual | changes))  # type: ignore[arg-type]


def training_record(cell: TrainingCell, repeat: int, *, quality: float, privacy: bool) -> Record:
    """One training with its quality, cost, messages, and what the parties read."""
    lift = 0.004 * repeat
    values = {("cost", "memory_mb"): 12.0}
    for phase, epochs in (("pretraining", 2), ("fine-tuning", 3)):
        values |= {(f"cost/{phase}", "seconds"): 4.5, (f"cost/{phase}", "epochs"): float(epochs)}
        values |= {(f"bytes/{phase}", "gradients"): 2.4e6, (f"bytes/{phase}", "intermediate results"): 3.6e6}
        values |= {(f"epoch/{phase}/{k}", "validation"): 0.6 - 0.05 * k for k in range(epochs)}
    for variant, more in (("published", 0.02), ("honest", 0.0)):
        for predictor in ("mean", "XGBoost", "MLP"):
            scope = f"quality/{variant}/{predictor}"
            values |= {(scope, metric): quality + more + lift for metric in ("accuracy", "f1", "roc_auc")}
    if privacy:
        read = "privacy/cells read by the host"
        values |= {(read, "as sent"): 0.38, (read, "with as many known rows as columns"): 0.98, (read, "guessing"): 0.6}
        values["privacy/labels from gradients", "AUC by norm"] = 0.77 + lift
    return Record(
        cell=cell, repeat=repeat, rows=400, outcome="ok", seconds=9.0,
        values={Measure(MODEL, *name): value for name, value in values.items()},
    )  # fmt: skip


def trainings(cell: TrainingCell, quality: float, runs: int = 3, *, privacy: bool = True) -> list[Record]:
    """Several runs of a design."""
    return [training_record(cell, repeat, quality=quality, privacy=privacy) for repeat in range(runs)]


def usual_trainings() -> list[Record]:
    """Two designs, an ablation, and one with absent guests."""
    return [
        *trainings(a_training_cell(), 0.85),
        *trainings(a_training_cell(design="central"), 0.9, privacy=False),
        *trainings(a_training_cell(phases="no pretraining"), 0.8),
        *trainings(a_training_cell(failure_probability=0.5, failure_method="cache"), 0.7),
    ]


def a_training_summary(records: Sequence[Record] | None = None, **changes: object) -> TrainingSummary:
    """A summary of vertical training."""
    every = usual_trainings() if records is None else records
    columns = tuple(c.model_copy(update={"dataset": f"guest{i % 2 + 1}"}) for i, c in enumerate(COLUMNS))
    own: dict[str, object] = {
        "cells": [training_result(trials) for trials in trials_of(every)],
        "command": "seepage train --data clinic --guests 2",
        "settings": {"seed": 7, "guests": 2, "tables": {}},
        "dataset": a_dataset(columns, task="classification"),
    }
    return TrainingSummary.model_validate(head_of() | own | changes)


def a_parties_cell(**changes: object) -> PartiesCell:
    """One attack of one party."""
    usual: dict[str, object] = {
        "dataset": "clinic", "design": "tabvfl", "guests": 2, "reads": "columns", "attack": "known_rows"
    }  # fmt: skip
    return PartiesCell(**(usual | changes))  # type: ignore[arg-type]


def parties_records(
    cell: PartiesCell, read: float, alone: float, guess: float, *, runs: int = 3, epsilon: float | None = None
) -> list[Record]:
    """Several runs of an attack."""
    full = 1.0 if cell.reads == "columns" else 2.0
    records = []
    for repeat in range(runs):
        lift = 0.004 * repeat
        values = {
            (ATTACK, "read"): read + lift, ("alone", "read"): alone, ("guess", "read"): guess,
            (ATTACK, "gain"): full * (read + lift - max(alone, guess)),
            (MODEL, "f1"): 0.9 + lift, (MODEL, "macro_f1"): 0.7 + lift, (MODEL, "roc_auc"): 0.8 + lift,
        }  # fmt: skip
        if epsilon is not None:
            values[MODEL, "epsilon"] = epsilon
        records.append(
            Record(
                cell=cell, repeat=repeat, rows=400, outcome="ok", seconds=2.0,
                values={Measure(source, "", metric): value for (source, metric), value in values.items()},
            )
        )  # fmt: skip
    return records


def usual_party_attacks() -> list[Record]:
    """A host and a guest, without and behind a defence."""
    labels: dict[str, object] = {"reads": "labels", "attack": "gradient_completion"}
    private: dict[str, object] = {"defense": "dp_gradients:noise=2"}
    return [
        *parties_records(a_parties_cell(), 0.98, 0.7, 0.6),
        *parties_records(a_parties_cell(**labels), 0.95, 0.6, 0.5),
        *parties_records(a_parties_cell(**private), 0.98, 0.7, 0.6, epsilon=42.0),
        *parties_records(a_parties_cell(**labels | private), 0.5, 0.6, 0.5, epsilon=42.0),
    ]


def a_parties_summary(records: Sequence[Record] | None = None, **changes: object) -> PartiesSummary:
    """A summary of the study of parties."""
    every = usual_party_attacks() if records is None else records
    own: dict[str, object] = {
        "cells": [parties_result(trials).model_copy(update={"strongest": ()}) for trials in trials_of(every)],
        "command": "seepage audit parties --data clinic --guests 2",
        "settings": {"seed": 7, "guests": 2, "tables": {}},
        "dataset": a_dataset(task="classification"),
    }
    return PartiesSummary.model_validate(head_of() | own | changes)


def a_servers_cell(**changes: object) -> ServersCell:
    """One attack of a cheating server."""
    usual: dict[str, object] = {
        "dataset": "clinic", "protocol": "fedsgd", "model": "mlp", "batch_size": 64, "rounds": 1, "attack": "codes"
    }  # fmt: skip
    return ServersCell(**(usual | changes))  # type: ignore[arg-type]


def servers_records(cell: ServersCell, exact: float, *, noticed: float = 1.0, clients: int = 3) -> list[Record]:
    """Several clients of an attack."""
    values = {(ATTACK, "exact"): exact, (ATTACK, "emr"): exact, (ATTACK, "gain"): exact}
    values |= {
        (ATTACK, "certified"): 0.9 * exact,
        (ATTACK, "certified_wrong"): 0.0,
        ("guess", "exact"): 0.0,
        ("client", "noticed"): noticed,
    }
    values |= {("client", name): noticed if name == "copies" else 0.0 for name in CHECKS}
    return [
        Record(
            cell=cell, repeat=repeat, rows=cell.batch_size, outcome="ok", seconds=0.5,
            values={Measure(source, "", metric): value for (source, metric), value in values.items()},
        )
        for repeat in range(clients)
    ]  # fmt: skip


def a_servers_summary(records: Sequence[Record] | None = None, **changes: object) -> ServersSummary:
    """A summary of the study of cheating servers."""
    usual = [
        *servers_records(a_servers_cell(attack="bins"), 0.6),
        *servers_records(a_servers_cell(), 1.0),
        *servers_records(a_servers_cell(batch_size=512), 0.98),
        *servers_records(a_servers_cell(batch_size=512, attack="module"), 1.0, noticed=0.0),
    ]
    own: dict[str, object] = {
        "cells": [
            servers_result(trials).model_copy(update={"strongest": (), "notices": ("It can be seen.",)})
            for trials in trials_of(usual if records is None else records)
        ],
        "command": "seepage audit servers --data clinic",
        "settings": {"seed": 7},
        "dataset": a_dataset(task="classification"),
    }
    return ServersSummary.model_validate(head_of() | own | changes)


def an_updates_cell(**changes: object) -> UpdatesCell:
    """Captured updates of one client."""
    usual: dict[str, object] = {
        "dataset": "capture", "sender": "client-0123456789abcdef", "rounds": "3", "protocol": "fedavg", "model": "mlp",
        "batch_size": 8, "attack": "exact",
    }  # fmt: skip
    return UpdatesCell(**(usual | changes))  # type: ignore[arg-type]


def untold_record(cell: UpdatesCell, certified: float | None = 0.5, expected: float = 0.9, rows: int = 8) -> Record:
    """An attacked update whose rows nobody knows."""
    values = {Measure(ATTACK, ALL_COLUMNS, "claimed"): 1.0, Measure(ATTACK, ALL_COLUMNS, "expected"): expected}
    if certified is not None:
        values[Measure(ATTACK, ALL_COLUMNS, "certified")] = certified
    for column in COLUMNS:
        values |= {
            Measure(ATTACK, column.name, "doubt"): 0.1,
            Measure(ATTACK, column.name, "expected"): expected,
        }
    return Record(cell=cell, round=3, rows=rows, outcome="ok", seconds=1.0, values=values)


def an_update(**changes: object) -> CapturedUpdate:
    """What a capture says of an update."""
    facts = {"rows": 8, "batch_size": 4, "local_epochs": 2, "learning_rate": 0.01, "optimiser": "sgd"}
    usual: dict[str, object] = {
        "client": "client-0123456789abcdef", "round": 3, "sent": "the weights after local training", "facts": facts,
    }  # fmt: skip
    return CapturedUpdate.model_validate(usual | changes)


def an_updates_summary(records: Sequence[Record] | None = None, **changes: object) -> UpdatesSummary:
    """A summary of a capture: half of the rows are proven; a simulation says what the rest is worth."""
    usual = [*records_of(an_updates_cell(origin="simulated"), 4, rows=8), untold_record(an_updates_cell())]
    own: dict[str, object] = {
        "cells": attacked_whole(updates_results(trials_of(usual if records is None else records), COLUMNS)),
        "updates": (an_update(),),
        "command": "seepage audit updates capture --schema schema.toml",
        "settings": {"seed": 7, "capture": "capture", "simulations": 4},
    }
    return UpdatesSummary.model_validate(head_of() | own | changes)


@cache
def every_study() -> Mapping[str, Summary]:
    """One summary of each study; made once, for all modules that look at them."""
    from tests.report.cohorts_example import a_cohorts_summary  # it takes its parts from here

    return {
        "rows": a_summary(),
        "vertical": a_vertical_summary(),
        "property": a_property_summary(),
        "training": a_training_summary(),
        "parties": a_parties_summary(),
        "updates": an_updates_summary(),
        "cohorts": a_cohorts_summary(),
        "servers": a_servers_summary(),
    }


def plain(text: str) -> str:
    """The text with ordinary spaces, as a person would type it."""
    return text.replace(words.SPACE, " ")


class Reader(HTMLParser):
    """What a browser would make of a page: its elements, what they load, and the text outside scripts."""

    LOADING = frozenset({"src", "href", "srcset", "data", "poster", "action", "background"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._inside: str | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = None

    def handle_data(self, data: str) -> None:
        if self._inside not in ("script", "style"):
            self.words.append(data)

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.elements)

    @property
    def text(self) -> str:
        return plain(" ".join(" ".join(self.words).split()))

    @property
    def sections(self) -> list[str]:
        return [str(attributes["id"]) for tag, attributes in self.elements if tag == "section"]

    @property
    def loads(self) -> set[str]:
        return {v or "" for _, attributes in self.elements for key, v in attributes.items() if key in self.LOADING}
