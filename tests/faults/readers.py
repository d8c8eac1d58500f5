"""Everything that reads what others wrote, as functions of bytes: any bytes give an InputError, or nothing."""

from __future__ import annotations

import io
import itertools
import json
import tempfile
import tomllib
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl
import torch
from safetensors.torch import load, save

from seepage import captures
from seepage._core.files import sealed, unsealed
from seepage.attacks.properties.shards import Shadows, packed, unpacked
from seepage.data import Schema, infer_schema
from seepage.data.files import read_raw
from seepage.data.frames import checked
from seepage.data.own_table import open_own
from seepage.data.preprocessing import Preprocessing
from seepage.federation.vertical.messages import Instruction, Kind, Message, Phase, Stamp, opened
from seepage.federation.vertical.saved import read_party
from seepage.models.stack import Stack
from seepage.models.stacked_training import first_weights
from seepage.results import Run
from seepage.results.outline import Outline, PlannedCell, PlannedTask, PlannedVariant, read_outline, read_trials
from seepage.results.reading import check_form, parse_summary, read_summary
from seepage.results.store import STORE_VERSION
from seepage.results.tasks import TaskDone
from seepage.results.trials import Trials
from seepage.runs import read_plan
from tests.faults import party_readers
from tests.faults.bending import Choices, as_json, as_toml, bent_bytes

Reader = Callable[[bytes], None]
ROWS = 8
FULL = 200  # of so many tables one is read to its end, with every column understood; the others are opened


@cache
def folder() -> Path:
    """Where files are put for readers that want a file; in memory where there is such a place."""
    memory = Path("/dev/shm")
    kept = tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None, prefix="seepage-fuzz-")
    _KEPT.append(kept)
    return Path(kept.name)


_KEPT: list[tempfile.TemporaryDirectory[str]] = []


def _put(name: str, content: bytes) -> Path:
    path = folder() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


@cache
def _frame() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": [20 + row * 7 % 60 for row in range(ROWS)],
            "height": [f"1,{60 + row % 40}" for row in range(ROWS)],
            "when": [f"{1 + row % 28:02}.03.2024" for row in range(ROWS)],
            "sex": ["female" if row % 3 else "male" for row in range(ROWS)],
            "died": ["yes" if row % 4 else "no" for row in range(ROWS)],
        }
    )


@cache
def _csv() -> bytes:
    return _frame().write_csv(separator=";").encode()


def _understood(path: Path, content: bytes) -> None:
    """A table is opened; every few of them are read as an audit reads them."""
    if sum(content[-4:]) % FULL:
        checked(read_raw(path).frame, "the table", dates=True)
        return
    own = open_own(path, {})
    infer_schema(own.frame, own.frame.columns[-1])


def csv(content: bytes) -> None:
    _understood(_put("table.csv", bent_bytes(_csv(), content)), content)


@cache
def _parquet() -> bytes:
    stream = io.BytesIO()
    _frame().with_columns(pl.Series("b", [b"x"] * ROWS), pl.Series("l", [[1, 2]] * ROWS)).write_parquet(stream)
    return stream.getvalue()


def parquet(content: bytes) -> None:
    _understood(_put("table.parquet", bent_bytes(_parquet(), content)), content)


PLAN: dict[str, Any] = {
    "study": "rows",
    "data": "clinic",
    "models": ["mlp:width=8", "linear"],
    "defenses": ["none", "gaussian_noise:0.1"],
    "attack_options": {"steps": 3},
    "trials": 2,
    "exposure": 0.5,
    "sensitive": ["sex"],
    "as": {"age": "number"},
    "grid": {"seed": [0, 1], "labels_known": [True, False]},
    "cases": [{"name": "one", "protocol": "fedavg", "local_epochs": 2}, {"name": "two", "batch_size": 4}],
}
OTHER_PLANS: tuple[dict[str, Any], ...] = (
    {"study": "property", "data": "clinic", "property": "sex == 'female'", "classes": [2, 4], "hierarchies": ["2x2"]},
    {"study": "vertical", "data": "clinic", "people": 50, "watch": [5, 10], "moving": True, "optimiser": "adam"},
    {"study": "updates", "capture": "x", "rounds": [1, 2], "simulations": 2, "statistics": "table", "truth": "t.csv"},
    {"study": "parties", "data": "clinic", "guests": 3, "defenses": ["none", "dp_gradients:2"], "known_labels": 5},
    {"study": "cohorts", "data": "clinic", "clients": 5, "cohort_sizes": [2, 4], "rounds": [1, 3], "apart": 1},
    {"study": "training", "guests": 2, "tables": {"a": "x.csv"}, "key": "id", "failures": [0.0, 0.2]},
)


def plan(content: bytes) -> None:
    every = (PLAN, *OTHER_PLANS)
    read_plan(_put("plan.toml", as_toml(every[sum(content[-2:]) % len(every)], content)))


@cache
def _schema() -> dict[str, Any]:
    return tomllib.loads(infer_schema(_frame(), "died").to_toml())


def schema(content: bytes) -> None:
    Schema.read(_put("schema.toml", as_toml(_schema(), content)))


FACTS: dict[str, Any] = {
    "columns": [
        {"name": "age", "as": "number", "shift": 40.0, "scale": 12.5, "fill": 38, "low": 0, "high": 99.0},
        {"name": "height", "as": "quantiles", "values": [1.5, 1.7, 2.0], "levels": [0, 0.5, 1], "normal": True},
        {"name": "sex", "as": "onehot", "categories": ["female", "male", "rare"], "drop": "male", "rare": ["x"],
         "unknown": "rare", "fill": "male", "shift": [0.1, 0, 0], "scale": [0.5, 1.0, 1]},
        {"name": "when", "as": "codes", "categories": ["a", "b"], "unknown": "next"},
    ]
}  # fmt: skip


def preprocessing(content: bytes) -> None:
    facts = Preprocessing.read(_put("facts.toml", as_toml(FACTS, content)))
    assert Preprocessing.from_toml(facts.to_toml()) == facts


@cache
def _summaries() -> list[Any]:
    from tests.report.example import every_study

    return [_shortened(json.loads(each.to_json())) for each in every_study().values()]


def _shortened(document: Any) -> Any:
    """The same with two entries of every list: what is read twice is not read otherwise the tenth time."""
    if isinstance(document, dict):
        return {key: _shortened(value) for key, value in document.items()}
    return [_shortened(value) for value in document[:2]] if isinstance(document, list) else document


def summary(content: bytes) -> None:
    parse_summary(as_json(_summaries()[sum(content[-2:]) % len(_summaries())], content))


@cache
def _run() -> Run:
    """A run folder that was stopped: an outline, a finished task and its records."""
    from tests.report.example import a_cell, records_of

    run = Run.create(folder() / "run", {"store_version": STORE_VERSION, "study": "rows", "plan": "p", "tables": []})
    cell = a_cell()
    # Two numbers of one trial: what is drawn to make intervals of them is no business of a reader.
    few = [replace(each, values=dict(itertools.islice(each.values.items(), 2))) for each in records_of(cell, 1)]
    name, known = run.add(few)
    run.finish(TaskDone(task="first", records={name: known}, seconds=1.0, versions={"torch": "2"}))
    envelope = {key: value for key, value in _summaries()[0].items() if key not in ("cells", "not_run", "unfinished")}
    planned = PlannedCell(file=name, cell=cell.id, what="a cell", point="initialized")
    outline = Outline(
        head=envelope,
        variants=(PlannedVariant(name=cell.variant, dataset=cell.dataset, columns=()),),
        tasks=(
            PlannedTask(id="first", what="first", cells=(planned,)),
            PlannedTask(id="other", what="other", cells=(planned.model_copy(update={"file": "none"}),)),
        ),
    )
    run.write("outline.json", outline.model_dump_json())
    return run


def _changed(name: str, content: bytes) -> None:
    """Change a JSON file of the run: as the store writes it, or by hand."""
    good = json.loads(_good(name))
    good.pop("seal", None)
    text = as_json(good, content)
    if sum(content[-3:]) % 2:
        (_run().path / name).write_bytes(text)
    else:
        _run().write(name, text.decode("utf-8", "replace"))


@cache
def _good(name: str) -> bytes:
    return (_run().path / name).read_bytes()


def _restored(name: str) -> None:
    (_run().path / name).write_bytes(_good(name))


def outline(content: bytes) -> None:
    _changed("outline.json", content)
    read_outline(_run())


def task(content: bytes) -> None:
    _changed("tasks/first.json", content)
    _run().finished("first")


def head(content: bytes) -> None:
    _good("run.json")
    _changed("run.json", content)
    try:
        check_form(Run.open(_run().path))
    finally:
        _restored("run.json")


FILES = ("outline.json", "tasks/first.json", "digests.txt", "run.json", "records")


def run_folder(content: bytes) -> None:
    """One file of a run is changed, and the run is read as `seepage report` reads it."""
    run = _run()
    names = [*FILES[:-1], *(f"records/{file.name}" for file in (run.path / "records").glob("*.parquet"))]
    for name in names:
        _good(name)
    name = names[sum(content[-2:]) % len(names)]
    if name.endswith(".json"):
        _changed(name, content)
    else:
        (run.path / name).write_bytes(bent_bytes(_good(name), content))
    try:
        read_summary(run)
    finally:
        _restored(name)


def records(content: bytes) -> None:
    """A record file that is damaged, or that somebody else wrote."""
    choices = Choices(content[1:])
    if content[:1] in (b"\x00", b"\x01"):
        (_run().path / "records" / "forged.parquet").write_bytes(bent_bytes(_records(), content))
        read_trials(_run(), ["forged"])
        return
    frame = _stored()
    for _ in range(1 + choices.below(2)):
        name = frame.columns[choices.below(frame.width)]
        change = CHANGES[choices.below(len(CHANGES))](name)
        frame = change(frame) if callable(change) else frame.with_columns(change)
    Trials.from_frame(frame)


@cache
def _stored() -> pl.DataFrame:
    return pl.read_parquet(io.BytesIO(_records()))


CHANGES: tuple[Callable[[str], Any], ...] = (
    lambda name: pl.lit(None).alias(name),
    lambda name: pl.lit("x").alias(name),
    lambda name: pl.lit(-1).alias(name),
    lambda name: pl.lit(float("nan")).alias(name),
    lambda name: pl.col(name).reverse(),
    lambda name: pl.col(name).cast(pl.String).alias("other"),
    lambda name: lambda frame: frame.drop(name) if frame.width > 1 else frame,
    lambda name: lambda frame: frame.head(0),
    lambda name: lambda frame: frame.head(1),
    lambda name: lambda frame: frame.sample(fraction=1, shuffle=True, seed=1),
)


@cache
def _records() -> bytes:
    return next((_run().path / "records").glob("*.parquet")).read_bytes()


@cache
def _model() -> dict[str, dict[str, bytes]]:
    """The files of a small saved model, party by party."""
    from seepage.federation.vertical import TabVFLClassifier

    place = folder() / "model"
    frame = _frame()
    tables = {"bank": frame.select("age"), "shop": frame.select("sex", "age")}
    TabVFLClassifier(latent=2, pretraining=1, finetuning=1, batch_size=8).fit(tables, frame["died"].to_list()).save(
        place
    )
    return {party.name: read_party(party) for party in sorted(place.iterdir())}


def model_folder(content: bytes) -> None:
    """A saved model in which one file of one party was changed, with the digests that belong to it."""
    from seepage.federation.vertical import TabVFLClassifier

    names = [(party, name) for party, files in _model().items() for name in files]
    party, name = names[sum(content[-2:]) % len(names)]
    good = _model()[party][name]
    changed = {
        ".json": lambda: as_json(json.loads(good), content),
        ".toml": lambda: as_toml(tomllib.loads(good.decode()), content),
        ".safetensors": lambda: _bent_tensors(good, content),
    }[Path(name).suffix]()
    # As if these were the files: that they are what was written is tested elsewhere, and here anybody wrote them.
    forged = {**_model(), party: _model()[party] | {name: changed}}

    def anybodys(own: Path) -> dict[str, bytes]:
        return forged.get(own.name) or read_party(own)

    with (
        patch("seepage.federation.vertical.vertical_estimator.read_party", anybodys),
        patch("seepage.federation.vertical.saved.read_party", anybodys),
    ):
        TabVFLClassifier.load(folder() / "model")


@cache
def _shards() -> bytes:
    stack = Stack.cat([first_weights((3, 2, 2), seed) for seed in range(2)])
    kinds = (torch.float64, torch.int64, torch.float32, torch.float32, torch.bool, torch.int64)
    facts = [torch.zeros(2, dtype=kind) for kind in kinds]
    return packed(Shadows(stack, *facts))


def shards(content: bytes) -> None:
    if content[:1] == b"\x02":  # whole, and of somebody who has other tensors
        choices, tensors = Choices(content[1:]), load(_shards())
        for _ in range(1 + choices.below(2)):
            kind = (torch.float32, torch.float64, torch.int64, torch.bool)[choices.below(4)]
            name, shape = list(tensors)[choices.below(len(tensors))], SHAPES[choices.below(len(SHAPES))]
            tensors[name] = torch.zeros(shape, dtype=kind)
        unpacked(save(tensors)).stack.widths  # noqa: B018
        return
    unpacked(_bent_tensors(_shards(), content))


def _bent_tensors(good: bytes, content: bytes) -> bytes:
    """A file of tensors with other bytes, or with another head that says what they are."""
    if sum(content[-2:]) % 2:
        return bent_bytes(good, content)
    size = int.from_bytes(good[:8], "little")
    told = as_json(json.loads(good[8 : 8 + size]), content)
    return len(told).to_bytes(8, "little") + told + good[8 + size :]


SHAPES = ((), (0,), (2,), (4, 3), (3, 4), (1, 1, 1))
STAMP = Stamp(Phase.PRETRAINING, 1, 2)


def messages(content: bytes) -> None:
    """What a party could send, beside what the host expects."""
    choices = Choices(content)
    tasks, kinds, phases = list(Instruction), list(Kind), list(Phase)
    tensors = {
        kinds[choices.below(len(kinds))]: torch.zeros(SHAPES[choices.below(len(SHAPES))])
        for _ in range(choices.below(4))
    }
    stamp = Stamp(phases[choices.below(2)], choices.below(3), choices.below(4), bool(choices.below(2)))
    message = Message(choices.text(), "host", tasks[choices.below(len(tasks))], stamp, tensors)
    expected = {kinds[choices.below(len(kinds))]: SHAPES[choices.below(len(SHAPES))] for _ in range(choices.below(3))}
    opened(message, tasks[choices.below(len(tasks))], STAMP if choices.below(2) else stamp, expected)


@cache
def _captured() -> bytes:
    """The weights of a small net with a BatchNorm."""
    return save({"w": torch.ones(2, 3), "b": torch.zeros(2), "n.num_batches_tracked": torch.tensor(4)})


def tensors(content: bytes) -> None:
    """A state dict of a stranger."""
    captures.read_tensors(_put("weights.safetensors", _bent_tensors(_captured(), content)))


@cache
def _npz() -> bytes:
    stream = io.BytesIO()
    np.savez(stream, w=np.ones((2, 3), np.float32), b=np.zeros(2, np.float32))
    return stream.getvalue()


def npz(content: bytes) -> None:
    captures.read_tensors(_put("weights.npz", bent_bytes(_npz(), content)))


@cache
def _capture() -> tuple[Path, bytes]:
    """A capture of two updates, and what its capture.json says."""
    place = folder() / "capture"
    weights = {"w": np.ones((2, 3), np.float32)}
    captures.write(place, before=weights, gradient=weights, rows=4, client="a")
    facts = {"rows": 8, "batch_size": 4, "learning_rate": 0.1, "optimiser": "adam"}
    captures.write(place, before=weights, after={"w": 2 * weights["w"]}, client="b", add=True, **facts)
    document = unsealed((place / "capture.json").read_bytes())
    assert document is not None
    return place, document


def capture(content: bytes) -> None:
    """A capture whose capture.json somebody else wrote, read to its tensors."""
    place, good = _capture()
    text = as_json(json.loads(good), content)
    if sum(content[-3:]) % 4:
        text = sealed(text.decode("utf-8", "replace")).encode("utf-8", "replace")
    (place / "capture.json").write_bytes(text)
    for entry in captures.read(place).entries:
        entry.update()


READERS: dict[str, Reader] = {
    "csv": csv,
    "parquet": parquet,
    "plan": plan,
    "schema": schema,
    "preprocessing": preprocessing,
    "summary": summary,
    "outline": outline,
    "task": task,
    "head": head,
    "run_folder": run_folder,
    "records": records,
    "shards": shards,
    "model_folder": model_folder,
    "messages": messages,
    "tensors": tensors,
    "npz": npz,
    "capture": capture,
    "frames": party_readers.frames,
    "intersections": party_readers.intersections,
    "party_config": party_readers.party_config,
    "party_log": party_readers.party_log,
}


def quietly(reader: Reader, content: bytes) -> None:
    """A reader without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reader(content)
