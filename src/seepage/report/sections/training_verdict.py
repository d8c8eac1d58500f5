"""The verdict on vertical training: what the parties read of each other, and what the joint model is worth."""

from __future__ import annotations

from collections.abc import Sequence

from seepage.report.level import SERIOUS_GAIN, Level, level_of
from seepage.report.section import Section
from seepage.report.trainings import TrainedDesign, trainings_of
from seepage.report.verdict import Tile, Verdict, gaps, light
from seepage.report.words import percent, plural, score
from seepage.report.worth import constant
from seepage.results.training import TrainingSummary

MEANINGS = {
    Level.LEAKS: "A party reads another's secrets from the messages that cross anyway: the host at least 20 percentage "
    "points more of the guests' cells than guessing gets, or a guest the labels with an AUC of 0.7 or more.",
    Level.SOME: "A party reads more of another's secrets than guessing gets, but the leak is limited.",
    Level.INCOMPLETE: "Nothing was found where it could be measured, but some parts of the plan failed or were run too "
    "few times to rule out a gain of 20 points. That is not evidence of privacy.",
    Level.NOT_FOUND: "The tested readings get no more than guessing. This is no proof of safety: it holds for them, "
    "for these designs and for the threat model below only.",
    Level.NOT_MEASURED: "What the parties read of each other was not measured. That says nothing about privacy; "
    "`seepage train --privacy` measures it where all columns are in one place.",
}


def verdict(summary: TrainingSummary) -> Verdict:
    """The plain answer."""
    trainings = trainings_of(summary)
    known = [training for training in trainings if training.federated and (training.read or training.labels_read)]
    level = light([_level(training) for training in known], summary.not_run)
    worst = max(known, key=lambda training: (_level(training).severity, _gain(training)), default=None)
    best = _best(trainings)
    sentences = [
        *_labels(worst),
        *_setting(worst, known),
        _worth(trainings),
        *_constant(trainings),
        _dealt(summary),
        *gaps(summary),
    ]
    return Verdict(
        level=level,
        meaning=MEANINGS[level],
        headline=_headline(worst),
        tiles=_tiles(worst, best),
        sentences=tuple(sentences),
    )


def _dealt(summary: TrainingSummary) -> str:
    """Whose columns and labels are where."""
    columns = plural(len(summary.dataset.columns), "column")
    if summary.apart:
        others = ", ".join(summary.apart)
        return f"{columns} and the labels lie at {summary.dataset.name}. Those of {others} are known there only."
    guests = len({column.dataset for column in summary.dataset.columns})
    return f"{columns} lie at {plural(guests, 'guest')}, the labels at the host."


def _gain(training: TrainedDesign) -> float:
    gain = training.result.judged.get("gain")
    return gain.mean if gain else 0.0


def _level(training: TrainedDesign) -> Level:
    """Where a design stands: the worse of what the host reads and what guests read."""
    labels = training.labels_read
    levels = [level_of(training.result, training.result.judged.get("gain"))] if training.read else []
    if labels and (labels.mean if labels.low is None else labels.low) > 0.5:
        levels.append(Level.LEAKS if labels.mean - 0.5 >= SERIOUS_GAIN else Level.SOME)
    return max(levels, key=lambda level: level.severity, default=Level.INCOMPLETE)


def _headline(worst: TrainedDesign | None) -> str:
    if worst is None:
        return "What the parties read of each other was not measured, so nothing can be said about what leaks."
    if worst.read is None:
        labels = worst.labels_read
        assert labels is not None  # one of the two was measured
        return f"A guest tells the labels from the gradients it gets with an AUC of {score(labels.mean)}."
    ways = [
        (worst.read_as_sent, "from what it is sent"),
        (worst.read_with_rows, "when it knows as many rows as a guest has columns"),
    ]
    shares = [f"{percent(share.mean)} of the guests' cells {how}" for share, how in ways if share]
    guess = f" Guessing gets {percent(worst.guessed.mean)}." if worst.guessed else ""
    return f"An honest-but-curious host read {', and '.join(shares)}.{guess}"


def _tiles(worst: TrainedDesign | None, best: TrainedDesign | None) -> tuple[Tile, ...]:
    tiles = []
    if worst and worst.read and worst.guessed:
        read, guess = worst.read.mean, worst.guessed.mean
        tiles.append(Tile(title="guests' cells read by the host", value=percent(read), share=read))
        tiles.append(Tile(title="cells right by guessing", value=percent(guess), share=guess, guess=True))
    quality = best.quality("honest") if best else None
    if best and quality:
        tiles.append(Tile(title="best F1, rows the encoder never saw", value=score(quality.mean), note=best.label))
    return tuple(tiles)


def _labels(worst: TrainedDesign | None) -> list[str]:
    labels = worst.labels_read if worst and worst.read else None
    if labels is None:
        return []
    return [
        f"A guest tells the labels from the gradients it gets with an AUC of {score(labels.mean)}; 0.5 is guessing."
    ]


def _setting(worst: TrainedDesign | None, known: Sequence[TrainedDesign]) -> list[str]:
    if worst is None:
        return []
    where = "only setting measured" if len(known) == 1 else f"worst of {len(known)} measured settings"
    return [f"This is the {where}: {worst.label}."]


def _best(trainings: Sequence[TrainedDesign]) -> TrainedDesign | None:
    known = [(value.mean, training) for training in trainings if (value := training.quality("honest"))]
    return max(known, key=lambda pair: pair[0])[1] if known else None


def _worth(trainings: Sequence[TrainedDesign]) -> str:
    """How good the latents are, design by design."""
    known = [
        f"{training.label} {score(value.mean)}"
        for training in trainings
        if training.complete and (value := training.quality("honest"))
    ]
    if not known:
        return "How good the latents are was not measured in this run."
    return f"Mean F1 of six predictors on latents of rows the encoder never saw: {', '.join(known)}."


def _constant(trainings: Sequence[TrainedDesign]) -> list[str]:
    """Designs whose latents tell nothing: where one class is rare, F1 is high all the same."""
    scores = {training.label: training.result.metrics.get("roc_auc") for training in trainings if training.complete}
    poor = [
        f"{label} (ROC AUC {score(auc.mean)})"
        for label, auc in scores.items()
        if auc and constant({"roc_auc": auc.mean})
    ]
    if not poor:
        return []
    return [f"No better than a constant answer: {', '.join(poor)}; chance gets 0.5. Such a model is worth nothing yet."]


SECTION = Section(
    name="training_verdict", title="Verdict", short="Verdict", studies=(TrainingSummary,), place=10, view=verdict
)
