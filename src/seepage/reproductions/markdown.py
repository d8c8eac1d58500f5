"""A reproduced table as Markdown: as a list of cells, or with one of its coordinates across."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from seepage.reproductions.paper import find_paper
from seepage.reproductions.stored import Comparison, ReproducedTable

METRIC = "metric"
_DIGITS = {"percent": ".1f", "fraction": ".3f", "dB": ".1f"}


def as_markdown(table: ReproducedTable, across: str = "") -> str:
    """Where it comes from, its cells, and what differs from the paper.

    Args:
        across: the coordinate whose values are the columns; ``metric`` for the metrics; none for a list.
    """
    shared, apart = _notes(table)
    body = _crossed(table, across, apart) if across else _listed(table, apart)
    parts = [_origin(table), "\n".join(body)]
    sentences = [*shared, *table.differs, *(f"Not run: {each}" for run in table.runs for each in run.not_run)]
    sentences += [f"({number}) {sentence}" for sentence, number in apart.items()]
    if sentences:
        parts.append("\n".join(f"- {sentence}" for sentence in sentences))
    return "\n\n".join(parts) + "\n"


def _origin(table: ReproducedTable) -> str:
    """The command, when and with what it was run, and how to read a cell."""
    first = table.runs[0]
    versions = ", ".join(f"{name} {first.versions[name]}" for name in ("seepage", "torch") if name in first.versions)
    common = ", ".join(f"{name} {value}" for name, value in table.common.items())
    counts = sorted({cell.trials for cell in table.cells})
    trials = " to ".join(f"{count:,}" for count in dict.fromkeys((counts[0], counts[-1]))) if counts else "0"
    paper = find_paper(table.paper).short
    share = "" if table.scale == 1 else f" {table.scale:.2g} of the published work."
    return (
        f"```text\n{table.command}\n```\n\n"
        f"A stored run, begun {table.created[:10]}, seed {first.seed}, {versions}. Trials a cell: {trials}.{share} "
        f"Ours with its 95 % interval / {paper} with its deviation, where there are such."
        + (f" All cells: {common}." if common else "")
    )


def _notes(table: ReproducedTable) -> tuple[list[str], dict[str, int]]:
    """What is said of every cell, and what of some, numbered."""
    every = [cell.differs + ((cell.reason,) if cell.reason else ()) for cell in table.cells]
    sentences = list(dict.fromkeys(sentence for each in every for sentence in each))
    shared = [sentence for sentence in sentences if all(sentence in each for each in every)]
    rest = [sentence for sentence in sentences if sentence not in shared]
    return [f"{sentence[0].upper()}{sentence[1:]}." for sentence in shared], {s: n for n, s in enumerate(rest, 1)}


def _listed(table: ReproducedTable, notes: dict[str, int]) -> list[str]:
    names = _names(table.cells)
    head = [*names, METRIC, "ours", "published"]
    lines = [
        [*(cell.place.get(name, "") for name in names), _metric(cell), _ours(cell, notes), _theirs(cell)]
        for cell in table.cells
    ]
    return _table(head, lines)


def _crossed(table: ReproducedTable, across: str, notes: dict[str, int]) -> list[str]:
    """One line for each place without the coordinate that goes across."""
    names = [name for name in (*_names(table.cells), METRIC) if name != across]
    if len({cell.metric for cell in table.cells}) == 1 and METRIC in names:
        names.remove(METRIC)
    columns = list(dict.fromkeys(_value(cell, across) for cell in table.cells))
    lines: dict[tuple[str, ...], dict[str, str]] = {}
    for cell in table.cells:
        key = tuple(_value(cell, name) for name in names)
        theirs = _theirs(cell)
        text = " / ".join(part for part in (_ours(cell, notes), theirs) if part)
        lines.setdefault(key, {})[_value(cell, across)] = text
    head = [*names, *(f"{across} {column}" if column.isdigit() else column for column in columns)]
    return _table(head, [[*key, *(cells.get(column, "") for column in columns)] for key, cells in lines.items()])


def _value(cell: Comparison, name: str) -> str:
    return _metric(cell) if name == METRIC else cell.place.get(name, "")


def _metric(cell: Comparison) -> str:
    """A metric with its unit; shares need none."""
    return cell.metric if cell.unit in ("", "fraction", cell.metric) else f"{cell.metric}, {cell.unit}"


def _names(cells: Iterable[Comparison]) -> list[str]:
    return list(dict.fromkeys(name for cell in cells for name in cell.place))


def _ours(cell: Comparison, notes: dict[str, int]) -> str:
    sentences = (*cell.differs, *((cell.reason,) if cell.reason else ()))
    marks = "".join(f" ({notes[sentence]})" for sentence in sentences if sentence in notes)
    if cell.ours is None:
        return f"-{marks}"
    interval = (
        "" if cell.low is None or cell.high is None else f" ({_text(cell, cell.low)} to {_text(cell, cell.high)})"
    )
    failed = f", {cell.failed} failed" if cell.failed else ""
    return f"{_text(cell, cell.ours)}{interval}{failed}{marks}"


def _theirs(cell: Comparison) -> str:
    if cell.published is None:
        return ""
    spread = "" if cell.spread is None else f" ± {cell.spread:g}"
    return f"{cell.published:g}{spread}"


def _text(cell: Comparison, value: float) -> str:
    text = format(value, _DIGITS.get(cell.unit, ".3g"))
    return text.removeprefix("-") if float(text) == 0 else text


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a Markdown table; a bar in a cell would end it."""
    return [
        _line(head),
        _line(["---"] * len(head)),
        *(_line(line) for line in lines),
    ]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
