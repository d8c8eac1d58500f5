"""Draws docs/figures/*.svg from reproductions/results: ours beside the published numbers.

`make docs`; a test fails when one is stale. Where there is a stored run it is drawn; panels of earlier runs, which were
not kept, say so in their titles.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from seepage.reproductions.published import numbers_of
from seepage.reproductions.stored import Comparison, read_table
from seepage.reproductions.transcribed import Pairing, TranscribedTable, read_transcribed

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from svg_plot import Figure, Panel, Point, Series, drawn  # noqa: E402  a neighbour, found by the line above

RESULTS, FIGURES = HERE.parent / "reproductions" / "results", HERE / "figures"
EARLIER = "transcribed"
Name = Callable[[Comparison], str]


def rounds() -> Figure:
    """What each further round of a client adds (`benchmarks/rounds.py --only curve --store`)."""
    cells = json.loads((HERE / "explanation" / "rounds.json").read_text())
    lines: dict[str, dict[str, Point]] = {}
    for cell in cells:
        if cell["cell"].startswith("curve-"):
            lines.setdefault(f"{cell['rows']} rows", {})[str(cell["rounds"])] = Point(100 * cell["certified"])
    places = sorted({place for points in lines.values() for place in points}, key=int)
    panel = Panel(
        "Adult, net 32 wide", "rounds on the same rows", "rows read with a proof, %", places,
        [Series(name, points) for name, points in lines.items()], 100, 20,
    )  # fmt: skip
    return Figure("What each further round adds", [panel])


def main() -> None:
    FIGURES.mkdir(exist_ok=True)
    for name, make in MAKERS.items():
        (FIGURES / f"{name}.svg").write_text(drawn(make()), encoding="utf-8")


def both(cells: Iterable[Comparison], place: Name, name: Name) -> list[Series]:
    """Ours and the published numbers of the same cells, series by series."""
    ours: dict[str, dict[str, Point]] = {}
    theirs: dict[str, dict[str, Point]] = {}
    for cell in cells:
        if cell.ours is not None:
            ours.setdefault(name(cell), {})[place(cell)] = Point(cell.ours, cell.low, cell.high)
        if cell.published is not None:
            spread = cell.spread or None
            low, high = (cell.published - spread, cell.published + spread) if spread else (None, None)
            theirs.setdefault(name(cell), {})[place(cell)] = Point(cell.published, low, high)
    return [
        series
        for each in dict.fromkeys((*ours, *theirs))
        for series in (Series(each, ours.get(each, {})), Series(each, theirs.get(each, {}), published=True))
        if series.points
    ]


def stored(name: str, **place: str) -> list[Comparison]:
    """The cells of a stored run that stand there."""
    cells = read_table(RESULTS / f"{name}.json").cells
    return [cell for cell in cells if all(cell.place.get(key) == value for key, value in place.items())]


def share(name: str) -> str:
    """How much of the published work a stored run has."""
    scale = read_table(RESULTS / f"{name}.json").scale
    return "all of the work" if scale == 1 else f"stored, {100 * scale:.2g} % of the work"


def earlier(name: str) -> TranscribedTable:
    return read_transcribed(RESULTS / "earlier" / f"{name}.json")


def by(key: str) -> Name:
    return lambda cell: cell.place[key]


def tableak_batches() -> Figure:
    sizes = ("8", "16", "32", "64", "128")
    names = {"TabLeak (no pooling)": "no pooling", "TabLeak (no softmax)": "no softmax"}
    panels = []
    for known, words in (("true", "labels known"), ("false", "labels restored")):
        cells = [cell for cell in stored("tableak/1", **{"labels known": known}) if cell.published is not None]
        run = both(cells, by("batch"), lambda cell: names.get(cell.place["attack"], cell.place["attack"]))
        title = f"{words}: {share('tableak/1')}"
        panels.append(Panel(title, "rows in a batch", "cells right, %", sizes, run, 100, 10, 40))
    return Figure("TabLeak, Adult, Table 1: accuracy over batch size by attack", panels)


def tableak_networks() -> Figure:
    run = both(stored("tableak/figure-8"), lambda cell: _layers(cell.place["model"]), by("attack"))
    places = list(dict.fromkeys(place for each in run for place in each.points))
    title = f"Figure 8, batches of 32: {share('tableak/figure-8')}"
    panel = Panel(title, "hidden layers x neurons of each", "share of cells right", places, run, 1, 0.1, 0.4)
    return Figure("TabLeak, Adult, Figure 8: accuracy over the size of the network", [panel])


def _layers(model: str) -> str:
    """How a net of a plan is called on an axis, such as 2x100."""
    said = dict(re.findall(r"(width|depth) (\d+)", model))
    return f"{said['depth']}x{said['width']}"


def profiling_batches() -> Figure:
    sizes = ("1", "2", "4", "8", "16", "32", "64", "128", "256")
    panels = []
    for number, when in (("2", "after training"), ("10", "before training")):
        run = [cell for cell in stored(f"profiling/{number}") if _is_adults_mlp(cell)]
        series = both(run, by("batch"), _attacker)
        panels.append(Panel(f"Table {number}, {when}", "rows in a batch", "accuracy", sizes, series, 1, 0.2))
    return Figure("The profiling study, small MLP on Adult: accuracy over batch size", panels)


def profiling_nets() -> Figure:
    panels = []
    for factor, across in (("hidden width", "neurons of a hidden layer"), ("hidden layers", "hidden layers")):
        run = [cell for cell in stored("profiling/29") if factor in cell.place and cell.metric == "accuracy"]
        series = both(run, by(factor), _attacker)
        places = list(dict.fromkeys(cell.place[factor] for cell in run))
        panels.append(Panel(f"Table 29, batches of 8, {factor}", across, "accuracy", places, series, 1, 0.2))
    return Figure("The profiling study, 72 nets on Adult: accuracy over their size", panels)


def _attacker(cell: Comparison) -> str:
    return "exact" if "exact" in cell.place["attack"] else "the study's attack"


def _is_adults_mlp(cell: Comparison) -> bool:
    """Parts of these tables are of other data and models; what all cells have in common is not in their place."""
    return cell.place.get("data", "Adult") == "Adult" and "MLP" in cell.place.get("model", "MLP")


def cafe_methods() -> Figure:
    words = {"closed form (ours)": "closed form", "Cosine Similarity": "Cosine"}
    words |= {"BN regularizer": "BN", "GC regularizer": "GC"}
    series = both(
        stored("cafe/2"), lambda cell: words.get(cell.place["attack"], cell.place["attack"]), lambda _: "PSNR"
    )
    places = list(dict.fromkeys(place for each in series for place in each.points))
    panel = Panel(f"Table 2: {share('cafe/2')}", "attack", "PSNR, dB", places, series, 120, 20, kind="bars")
    return Figure("CAFE on MNIST: quality of recovered pictures by attack", [panel])


def cafe_training() -> Figure:
    names = {"closed form with a window (ours)": "closed form", "spans (ours)": "spans (Adam)"}
    run = both(
        stored("cafe/7"), by("learning rate"), lambda cell: names.get(cell.place["attack"], cell.place["attack"])
    )
    places = sorted({place for series in run for place in series.points}, key=float)
    title = f"Table 7: {share('cafe/7')}"
    panel = Panel(title, "rate at which the model trains", "PSNR, dB", places, run, 120, 20)
    return Figure("CAFE, Table 7: pictures recovered while the model trains", [panel])


def property_classes() -> Figure:
    classes = ("2", "4", "5", "10", "20")
    wanted = {"NLL (no ordinal)": "NLL"}
    run = [cell for cell in stored("property/4.2") if cell.metric == "accuracy"]
    now = both(run, by("classes"), lambda cell: wanted.get(cell.place["loss"], cell.place["loss"]))
    pairs = Pairing(file="property_4_2", within=(1, 2, 3, 4, 5), between="thesis", rows=(0, 5))
    old = both(
        pairs.cells(earlier("property_4_2")), lambda cell: cell.place["column"].removesuffix(" classes"), by("row")
    )
    titles = (share("property/4.2"), f"{EARLIER}, 576 models a class")
    panels = [
        Panel(f"Table 4.2: {title}", "ranges of the share", "targets right, %", classes, series, 100, 20)
        for title, series in zip(titles, (now, old), strict=True)
    ]
    return Figure("The property-inference thesis: accuracy over the number of ranges", panels)


def property_epochs() -> Figure:
    wanted = {"NLL (no ordinal)": "NLL"}
    panels = []
    for number, up, top, step in (("4.27a", "targets right, %", 100, 20), ("4.27b", "squared error", 1, 0.2)):
        run = both(
            stored(f"property/{number}"), by("epochs"), lambda cell: wanted.get(cell.place["loss"], cell.place["loss"])
        )
        places = sorted({place for each in run for place in each.points}, key=int)
        title = f"Figure {number}: {share(f'property/{number}')}"
        panels.append(Panel(title, "epochs", up, places, run, top, step))
    return Figure("The property-inference thesis: four ranges over epochs of training", panels)


def tabvfl_designs() -> Figure:
    table = earlier("tabvfl_designs")
    points: dict[str, dict[str, Point]] = {}
    data = ""
    for row in table.rows:
        data = _short(row[0].partition(",")[0]) or data
        value, _, interval = row[2].partition(" (")
        low, high = interval.removesuffix(")").split(" to ")
        points.setdefault(row[1], {})[data] = Point(float(value), float(low), float(high))
    places = list(points["TabVFL"])
    words = {"local (LT)": "local"}
    series = [Series(words.get(name, name), each) for name, each in points.items()]
    thesis = {
        _short(number.dataset): Point(number.value)
        for number in numbers_of("tabvfl", "6.1")
        if (number.method, number.metric) == ("TabVFL", "f1")
        and _short(number.dataset) in places
        and number.value is not None
    }
    series.append(Series("TabVFL", thesis, published=True))
    run = [cell for cell in stored("tabvfl/figure-5") if cell.metric == "f1"]
    now = both(
        run, lambda cell: "Bank Marketing", lambda cell: _DESIGNS.get(cell.place["design"], cell.place["design"])
    )
    panels = [
        Panel(
            f"Figure 5: {share('tabvfl/figure-5')}", "data set", "F1 of six predictors", ["Bank Marketing"], now,
            1, 0.1, 0.6, kind="points",
        ),
        Panel(
            f"F1: {EARLIER}, three runs", "data set", "F1 of six predictors", places, series, 1, 0.1, 0.6, kind="points"
        ),
    ]  # fmt: skip
    return Figure("TabVFL beside central and local training: F1 by design", panels)


def _short(name: str) -> str:
    """A name that fits beside others below an axis."""
    return name.replace("Forest Cover Type", "Cover Type")


_DESIGNS = {"CT": "central", "LT": "local", "TabVFL-LE": "local encoders"}


MAKERS: dict[str, Callable[[], Figure]] = {
    "tableak_batches": tableak_batches,
    "tableak_networks": tableak_networks,
    "profiling_batches": profiling_batches,
    "profiling_nets": profiling_nets,
    "cafe_methods": cafe_methods,
    "cafe_training": cafe_training,
    "property_classes": property_classes,
    "property_epochs": property_epochs,
    "tabvfl_designs": tabvfl_designs,
    "rounds": rounds,
}

if __name__ == "__main__":
    main()
