"""From what was found in a capture to what can be set in the framework that runs the federation.

Nothing here is called safe. A remedy says what it is meant to stop, what remains, and whether this audit measured it.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from seepage.report.measured_settings import measured_settings
from seepage.report.words import count, plural
from seepage.results.updates import UpdatesResult, UpdatesSummary

UNMEASURED = "Not measured."
UNAWARE = "The attacks were not made for these settings; one that is may read more."


def elsewhere(found: str) -> str:
    """What was measured on another table, which says little about this federation."""
    return f"Not measured on this federation. On {measured_settings().table}: {found}."


@dataclass(frozen=True, kw_only=True)
class Remedy:
    """One setting to change.

    Args:
        name: of the setting.
        code: lines to paste, or a command.
        values: where the numbers in it come from.
        stops: what it is meant to stop.
        remains: what it leaves as it is.
        measured: what this audit measured of it, in a sentence.
    """

    name: str
    code: str
    values: str
    stops: str
    remains: str
    measured: str = UNMEASURED


@dataclass(frozen=True, kw_only=True)
class Sent:
    """What the captured updates have in common, for values to try.

    Args:
        clients: of a round, at most.
        rows: behind an update, at most.
        batch: the largest batch size; None where nobody said.
        epochs: the most local epochs.
        gradient: whether clients send gradients, and do not train by themselves.
        length: the median length of an update; None where it is not known.
        weights: entries of an update.
        first_layer: what the names of the first layer's tensors begin with.
        read: what was certified, by batch size and local epochs, in words.
    """

    clients: int
    rows: int
    batch: int | None
    epochs: int
    gradient: bool
    length: float | None
    weights: int
    first_layer: str
    read: str

    @staticmethod
    def of(summary: UpdatesSummary) -> Sent:
        """Of all updates of a summary that has some."""
        every = summary.updates
        facts = [update.facts for update in every]
        rounds = [update.round for update in every]
        sizes = [int(size) for each in facts if (size := each.get("batch_size")) is not None]
        lengths = [update.norm for update in every if update.norm]
        return Sent(
            clients=max(rounds.count(number) for number in set(rounds)),
            rows=max(int(each["rows"] or 1) for each in facts),
            batch=max(sizes, default=None),
            epochs=max(int(each.get("local_epochs") or 1) for each in facts),
            gradient=all(update.sent == "a gradient" for update in every),
            length=median(lengths) if lengths else None,
            weights=max(update.weights or 0 for update in every),
            first_layer=next((update.first_tensor.rpartition(".")[0] for update in every), ""),
            read=_read(summary),
        )


def _read(summary: UpdatesSummary) -> str:
    """What was certified, for each batch size that was captured, over all its updates; the best attack counts."""
    found: dict[int, dict[str, list[UpdatesResult]]] = {}
    for cell in summary.cells:
        if cell.captured and cell.measured and cell.rows_certified is not None:
            found.setdefault(cell.batch_size, {}).setdefault(cell.attack, []).append(cell)
    told = []
    for size, attacks in sorted(found.items()):
        proven, rows = max((_added(cells) for cells in attacks.values()), key=lambda pair: pair[0] / max(pair[1], 1))
        told.append(f"{count(proven)} of {plural(rows, 'row')} certified at batches of {count(size)}")
    now = f"As it is now, all updates added up: {'; '.join(told)}. " if told else ""
    stored = measured_settings()
    epochs, more = stored.of("two epochs"), stored.of("more rows")
    each = plural(more.rows // more.updates, "row")
    return now + elsewhere(
        f"with two local epochs, {epochs.read}; with {each} behind an update, {more.read}, and {more.right}"
    )


def _added(cells: list[UpdatesResult]) -> tuple[int, int]:
    """Certified rows, and all rows."""
    return sum(cell.rows_certified or 0 for cell in cells), sum(cell.rows for cell in cells)


def short(value: float) -> str:
    """A number to paste, two digits."""
    return f"{value:.2g}"


def larger_batch(sent: Sent) -> int:
    """A larger batch to try; a client that trains by itself has no more than its rows."""
    now = sent.batch or sent.rows
    return 4 * now if sent.gradient else max(min(4 * now, sent.rows), now)


def batch_words(sent: Sent) -> str:
    """Where the values of batch sizes and epochs come from."""
    now = f"batches of {count(sent.batch)}" if sent.batch else "a batch size that nobody said"
    rows = f"{plural(sent.rows, 'row')} behind an update"
    epochs = "" if sent.gradient else f", {plural(sent.epochs, 'local epoch')}"
    if sent.gradient:
        return f"Now: {now}, {rows} at most. Four times as much, to begin with."
    if larger_batch(sent) == (sent.batch or sent.rows):
        more = "A batch already holds all rows of a client: only twice the epochs are tried here, and more rows need "
        return f"Now: {now}{epochs}, {rows} at most. {more}clients with more rows."
    return f"Now: {now}{epochs}, {rows} at most. Four times the batch if there are as many rows, and twice the epochs."


BATCH_STOPS = (
    "Reading rows apart, where more rows are behind one update than the layers are wide: what counts is how many rows "
    "add up in an update, and not how they are cut into batches."
)
BATCH_REMAINS = (
    "Which categories occur, and about how many rows have each, is told at any number of rows. Larger batches and more "
    "local epochs on the same rows blur the proofs more than the reading: what the first layer tells stays exact over "
    "any number of plain steps, so fewer certified rows are not fewer rows read. Only more rows, noise or a sum over "
    "enough clients hide one among others."
)


def rounds_of(sent: Sent) -> str:
    """How many rows a sum over clients holds."""
    return f"{plural(sent.clients, 'client')} of up to {plural(sent.rows, 'row')} each"


def more_rows(sent: Sent, code: str, names: str) -> Remedy:
    """The setting that asks least: larger batches and more local epochs. Only the words of a framework differ."""
    return Remedy(
        name="More rows behind an update",
        code=code,
        values=f"{batch_words(sent)} {names}",
        stops=BATCH_STOPS,
        remains=BATCH_REMAINS,
        measured=sent.read,
    )
