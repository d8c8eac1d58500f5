"""The report of property inference: how finely a share is told, which shares are confused."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from seepage.report import words
from seepage.report.plots import Palette, Plot, drawn, dress

SEEN = {"weights": "weights", "update": "updates", "gradient": "gradients"}
HOLDS = {
    "weights": "The attacker holds a trained model and knows its architecture and how it was trained.",
    "update": "The attacker is the server of a federation. It sees the update of one client, the difference of that "
    "client's model from the one that the server had sent, and knows how clients train.",
    "gradient": "The attacker is the server of a federation. It sees the gradient of one client, over all its rows at "
    "the model that the server had sent. Accuracies on this page are those of the server's model.",
}
POOLS = {"shared": "the same that the target models were drawn from", "disjoint": "none of which is the owner's"}


@dataclass(frozen=True)
class Cost:
    """A defence: what it leaves of the owners' models, and of the attack."""

    defense: str
    accuracy: dict[str, Any]
    balanced: dict[str, Any]
    rows: str
    repeated: str
    epsilon: str
    attack: dict[str, Any]
    guessing: float


@dataclass(frozen=True)
class PropertyPage:
    """What the page shows."""

    title: str
    lead: str
    headline: str
    shares: str
    cells: tuple[dict[str, Any], ...]
    hierarchical: bool
    confusions: tuple[str, ...]
    models: tuple[dict[str, Any], ...]
    costs: tuple[Cost, ...]
    delta: str
    rows_per_model: str
    pools: str
    holds: str
    command: str
    settings: tuple[tuple[str, str], ...]


def gather_property(summary: dict[str, Any]) -> PropertyPage:
    """From a summary to the page."""
    data, settings, cells = summary["dataset"], summary["settings"], tuple(summary["cells"])
    made = summary["models"][0]
    seen, rounds = settings.get("observed", "weights"), settings.get("rounds", 1)
    return PropertyPage(
        title=f"Property inference on {data['name']}",
        lead=f"Rows with {settings['property_text']}: their share, read from {made['targets']:,} models' {SEEN[seen]}.",
        headline=_headline(cells, settings["property_text"], SEEN[seen]),
        shares=_shares(cells),
        cells=cells,
        hierarchical=any(cell["hierarchy"] for cell in cells),
        confusions=tuple(_confusion_id(cell) for cell in _best(cells)),
        models=tuple(summary["models"]),
        costs=tuple(_cost(made, cells) for made in summary["models"]),
        delta=", ".join(sorted({f"{made['delta']:g}" for made in summary["models"] if made["delta"]})),
        rows_per_model=f"{summary['rows_per_model']:,}",
        pools=POOLS[settings["pools"]],
        holds=HOLDS[seen] + (f" It sees {rounds} rounds, and the server's model moves on between." * (rounds > 1)),
        command=summary.get("command", ""),
        settings=tuple((name, _said(value)) for name, value in settings.items() if value is not None),
    )


def _cost(made: dict[str, Any], cells: Sequence[dict[str, Any]]) -> Cost:
    finest = _best([cell for cell in cells if cell["defense"] == made["defense"]])[-1]
    return Cost(
        defense=made["defense"],
        accuracy=made["target_accuracy"],
        balanced=made["target_balanced_accuracy"],
        rows=f"{made['rows_trained']:,} of {made['rows_held']:,}",
        repeated=words.percent(made["rows_repeated"]) if made["rows_repeated"] else "none",
        epsilon=_epsilon(made),
        attack=finest["accuracy"],
        guessing=max(finest["chance"], finest["most_frequent"]),
    )


def _epsilon(made: dict[str, Any]) -> str:
    if made["epsilon"] is not None:
        return f"{made['epsilon']:.2g}"
    return "none promised" if made["delta"] is None else "infinite"


def plots_of_property(page: PropertyPage) -> dict[str, Plot | None]:
    """The figures."""
    confusions = {_confusion_id(cell): _confusion(cell) for cell in _best(page.cells)}
    return {"granularity": _granularity(page.cells), **confusions}


def _said(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _undefended(cells: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    first = cells[0]["defense"]
    return [cell for cell in cells if cell["defense"] == first]


def _best(cells: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The best loss of every cut, without a defence if there is such a run."""
    found: dict[int, dict[str, Any]] = {}
    for cell in _undefended(cells):
        best = found.get(cell["classes"])
        if best is None or cell["accuracy"]["mean"] > best["accuracy"]["mean"]:
            found[cell["classes"]] = cell
    return [found[classes] for classes in sorted(found)]


def _headline(cells: Sequence[dict[str, Any]], asked: str, seen: str) -> str:
    said = [
        f"in {cell['classes']} ranges for {words.percent(cell['accuracy']['mean'])} of the models "
        f"(guessing: {words.percent(max(cell['chance'], cell['most_frequent']))})"
        for cell in _best(cells)
    ]
    return f"From the {seen} alone, the share of rows with {asked} is named rightly " + ", ".join(said) + "."


def _shares(cells: Sequence[dict[str, Any]]) -> str:
    told = [cell["share"] for cell in _undefended(cells) if "share" in cell]
    if not told:
        return ""
    best = min(told, key=lambda each: float(each["error"]["mean"]))
    error, constant = 100 * best["error"]["mean"], 100 * best["guessing_error"]
    return (
        f"As a number, the share is told to within {error:.1f} points on average (a constant guess: {constant:.1f}). "
        f"Its interval is {100 * best['width']:.0f} points wide and holds the truth for "
        f"{words.percent(best['coverage']['mean'])} of the models."
    )


def _confusion_id(cell: dict[str, Any]) -> str:
    return f"confusion-{cell['classes']}-{cell['loss']}" + (f"-{cell['hierarchy']}" if cell["hierarchy"] else "")


def _loss(cell: dict[str, Any]) -> str:
    return f"{cell['loss']} {cell['hierarchy']}".strip()


def _granularity(cells: Sequence[dict[str, Any]]) -> Plot | None:
    if len({cell["classes"] for cell in cells}) < 2:
        return None
    lines: dict[str, list[dict[str, Any]]] = {}
    for cell in cells:
        name = _loss(cell) if cell["defense"] == "none" else f"{_loss(cell)}, {cell['defense']}"
        lines.setdefault(name, []).append(cell)
    height = 400
    description = "Lines: accuracy over the number of ranges for every loss; the table above holds the numbers."

    def draw(palette: Palette) -> go.Figure:
        figure = go.Figure()
        for number, (name, points) in enumerate(lines.items()):
            points = sorted(points, key=lambda cell: int(cell["classes"]))
            figure.add_scatter(
                x=[str(cell["classes"]) for cell in points],
                y=[100 * cell["accuracy"]["mean"] for cell in points],
                mode="lines+markers",
                name=html.escape(name),
                error_y={
                    "type": "data",
                    "symmetric": False,
                    "array": [100 * _reach(cell["accuracy"], "high") for cell in points],
                    "arrayminus": [100 * _reach(cell["accuracy"], "low") for cell in points],
                },
                line={"color": palette.lines[number % len(palette.lines)]},
                marker={"size": 9},
            )
        several = sorted({cell["classes"]: max(cell["chance"], cell["most_frequent"]) for cell in cells}.items())
        figure.add_scatter(
            x=[str(classes) for classes, _ in several],
            y=[100 * chance for _, chance in several],
            mode="lines",
            name="guessing",
            line={"dash": "dot", "color": palette.muted},
        )
        dress(figure, palette, height)
        figure.update_xaxes(title_text="ranges", type="category", showgrid=True)
        figure.update_yaxes(title_text="models named rightly, %", range=[0, 102], showgrid=True)
        return figure

    return drawn("plot-granularity", description, draw, height, 320)


def _reach(value: dict[str, Any], end: str) -> float:
    return 0.0 if value[end] is None else abs(value[end] - value["mean"])


def _confusion(cell: dict[str, Any]) -> Plot:
    classes, counts = cell["classes"], cell["confusion"]
    labels = [f"{100 * k / classes:g} to {100 * (k + 1) / classes:g} %" for k in range(classes)]
    shares = [[100 * count / max(1, sum(row)) for count in row] for row in counts]
    height = 180 + max(22 * classes, 120)
    description = (
        f"{classes} ranges, loss {_loss(cell)}: true range (row) and named range (column), percent of the row. "
        f"{words.percent(cell['accuracy']['mean'])} lie on the diagonal."
    )

    def draw(palette: Palette) -> go.Figure:
        figure = go.Figure()
        figure.add_heatmap(
            z=shares,
            x=labels,
            y=labels,
            colorscale=[[0, palette.heat[1]], [1, palette.heat[2]]],
            zmin=0,
            zmax=100,
            showscale=False,
            text=[[f"{share:.0f}" if share >= 0.5 else "" for share in row] for row in shares],
            texttemplate="%{text}",
            hovertemplate="true %{y}<br>named %{x}<br>%{z:.0f} %<extra></extra>",
        )
        dress(figure, palette, height)
        figure.update_xaxes(title_text="named", side="bottom")
        figure.update_yaxes(title_text="true", autorange="reversed")
        return figure

    return drawn(f"plot-{_confusion_id(cell)}", description, draw, height, 380)
