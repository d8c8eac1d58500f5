"""Whether a model is worth more than a constant answer: one that is not says little about models that are."""

from __future__ import annotations

from collections.abc import Mapping

from seepage.report import words
from seepage.report.words import score
from seepage.results.rows import RowsSummary, Utility

Scores = Mapping[str, float | None]
_ABOUT = ("dataset", "protocol", "model", "batch_size", "defense", "variant")
CHANCE = 0.5  # ROC AUC of guessing
NEAR = 5e-4  # what is shown as equal
SHOWN = 3  # trainings that are named
RANKS = 0.55  # ROC AUC from which on a model tells rows apart, whatever it answers


def constant(scores: Scores) -> str:
    """How a model is no better than a constant answer, in words; empty where it is better, or nobody knows."""
    f1, auc, r2, recall = (scores.get(name) for name in ("f1", "roc_auc", "r2", "recall_macro"))
    if f1 is not None and f1 < NEAR:
        ranks = f", though it ranks rows (ROC AUC {score(auc)})" if auc is not None and auc > RANKS else ""
        return f"F1 {score(f1)}: it answers no for every row{ranks}"
    if auc is not None and auc <= CHANCE:
        return f"ROC AUC {score(auc)}; chance gets {CHANCE:.3f}"
    if r2 is not None and r2 <= 0:
        return f"R² {score(r2)}; the mean gets 0"
    if recall is not None and _is_one_class(recall):
        return f"macro recall {score(recall)}: it names one class for every row"
    return ""


def _is_one_class(recall: float) -> bool:
    """Whether a macro recall is that of one class named always: one over the number of classes, 3 or more."""
    return recall <= 0 or (recall < CHANCE and abs(1 / recall - round(1 / recall)) < NEAR)


def worthless(summary: RowsSummary) -> list[str]:
    """A sentence where the best checkpoints of some trainings are no better than a constant."""
    best = [entry for entry in summary.utility if entry.attack_point == "best"]
    poor = {_place(entry): why for entry in best if (why := constant(entry.test or entry.validation))}
    if not poor:
        return []
    every = list(dict.fromkeys(_place(entry) for entry in best))
    reasons = list(dict.fromkeys(poor.values()))
    many = _all(len(every)) if len(poor) == len(every) else f"{len(poor)} of {len(every)}"
    which = "The model is" if len(every) == 1 else f"In {many} trainings the model is"
    if len(poor) == len(every) and len(reasons) == 1:
        return [f"{which} no better than a constant answer ({reasons[0]}). {_LITTLE}"]
    names = words.varying([dict(zip(_ABOUT, place, strict=True)) for place in every])
    told = [f"{words.label(dict(zip(_ABOUT, place, strict=True)), names)} ({why})" for place, why in poor.items()]
    more = f" and {len(told) - SHOWN} more" if len(told) > SHOWN else ""
    return [f"{which} no better than a constant answer: {'; '.join(told[:SHOWN])}{more}. {_LITTLE}"]


_LITTLE = "Its numbers say little about a model that has learned something; train longer (--exposure) to know."


def _all(count: int) -> str:
    return "both" if count == 2 else f"all {count}"


def _place(entry: Utility) -> tuple[str | int, ...]:
    return tuple(getattr(entry, name) for name in _ABOUT)
