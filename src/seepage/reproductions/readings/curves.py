"""What had been read after so many batches: as a curve, or as the batches until a quality is reached."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from seepage.reproductions.plan_result import PlanResult
from seepage.reproductions.stored import Comparison
from seepage.results import Interval
from seepage.results.vertical import CurvePoint, VerticalResult


def read_curve(result: PlanResult) -> Iterator[Comparison]:
    """One comparison for each batch that was watched and each metric."""
    for cell in _cells(result):
        published = published_batches(result, cell)
        for point in cell.curve:
            there = published.get(point.batches, point.batches)
            place = result.place(cell) | {"batches": batches_shown(point.batches, there)}
            for ours, theirs in result.table.metrics.items():
                beside = result.beside(cell, theirs, told={"iterations": str(there)})
                yield result.compare(cell, theirs, _on(point, ours), beside, place=place)


def read_until(result: PlanResult) -> Iterator[Comparison]:
    """The batches until the mean PSNR reaches the table's bar, for each attack."""
    bar = result.table.until[1 if result.less else 0]
    for cell in _cells(result):
        reached = [point.batches for point in cell.curve if (told := _told(point)) is not None and told.mean >= bar]
        beside = result.beside(cell, "iterations", told={"stop_psnr": f"{bar:g}"})
        number = Interval(float(reached[0]), None, None) if reached else None
        made = result.compare(cell, "iterations", number, beside)
        differs = (*made.differs, f"until {bar:g} dB")
        last = cell.curve[-1] if cell.curve else None
        reason = ""
        if not reached and last is not None and (told := _told(last)) is not None:
            reason = f"{bar:g} dB were not reached: {told.mean:.1f} dB after {last.batches:,} batches."
        yield made.model_copy(update={"differs": differs, "reason": reason})


def published_batches(result: PlanResult, cell: VerticalResult) -> Mapping[int, int]:
    """The published number of batches by the one that was watched."""
    settings = result.settings_of(cell)
    return dict(zip(_watched(settings.run), _watched(settings.published), strict=True))


def batches_shown(run: int, published: int) -> str:
    """A number of batches, and the paper's where it is another one."""
    return f"{run:,}" if run == published else f"{run:,} (published: {published:,})"


def _watched(settings: object) -> tuple[int, ...]:
    return tuple(getattr(settings, "watch", ()))


def _cells(result: PlanResult) -> list[VerticalResult]:
    return [cell for cell in result.cells if isinstance(cell, VerticalResult)]


def _on(point: CurvePoint, metric: str) -> Interval | None:
    return {"psnr": _told(point), "train_loss": point.train_loss, "test_accuracy": point.test_accuracy}.get(metric)


def _told(point: CurvePoint) -> Interval | None:
    """PSNR as the authors measure it, where there are pictures."""
    return point.psnr_tiles or point.psnr
