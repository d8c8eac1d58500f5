"""From the answers of some rounds to a claim: peel, fit the last digits, and prove."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seepage._core import Outcome
from seepage.attacks.malicious.apart import read_apart
from seepage.attacks.malicious.peeling import Ledger, peel
from seepage.attacks.malicious.proof import proven
from seepage.attacks.malicious.refining import refine
from seepage.attacks.malicious.slopes import known_slopes
from seepage.attacks.malicious.trap import Trap
from seepage.observation import Claim
from seepage.observation.servers import Answer, ServerScene

Read = tuple[np.ndarray, np.ndarray, np.ndarray]  # rows, which are proven, labels


def read_rows(scene: ServerScene, traps: Sequence[Trap], answers: Sequence[Answer]) -> Claim:
    """The rows of all rounds. Where slopes differ from round to round (FedAvg), each round is read by itself."""
    one_step = scene.exchange.protocol == "fedsgd"
    pairs = list(zip(traps, answers, strict=True))
    groups = [pairs] if one_step else [[pair] for pair in pairs]
    read = [_group(scene, group, one_step=one_step) for group in groups]
    rows, certified, labels = (np.concatenate(each) for each in zip(*read, strict=True))
    if len(groups) > 1:
        kept = _each_once(rows, certified)
        rows, certified, labels = rows[kept], certified[kept], labels[kept]
    return _claim(scene, rows, certified, labels)


def _group(scene: ServerScene, group: Sequence[tuple[Trap, Answer]], *, one_step: bool) -> Read:
    """What rounds with equal slopes give."""
    ledger = _ledger(scene, group, one_step=one_step)
    if not one_step and not all(trap.steady for trap, _ in group):
        rows, slopes, chains = read_apart(ledger)
        return rows, chains > 1, _signs(slopes, scene)
    peel(ledger)
    refine(ledger)
    counts = ledger.counts.sum(1)
    labels = _signs(ledger.slopes, scene)
    if ledger.known is not None:
        told = [np.repeat(np.arange(len(each)), each) for each in ledger.counts]
        labels = np.concatenate(told).astype(np.float64) if told else np.zeros(0)
    return np.repeat(ledger.rows, counts, axis=0), np.repeat(proven(ledger), counts), labels


def _signs(slopes: np.ndarray, scene: ServerScene) -> np.ndarray:
    """The labels of two classes, which are the signs of the slopes."""
    return (slopes < 0).astype(np.float64) if scene.classes == 2 else np.zeros(len(slopes))


def _ledger(scene: ServerScene, group: Sequence[tuple[Trap, Answer]], *, one_step: bool) -> Ledger:
    sums, errors = zip(*(trap.read(answer.update, answer.exchange) for trap, answer in group), strict=True)
    traps = [trap for trap, _ in group]
    known = known_slopes(traps[0], scene.classes, one_step=one_step)
    return Ledger(traps, list(sums), list(errors), scene.space, known)


def _each_once(rows: np.ndarray, certified: np.ndarray) -> np.ndarray:
    """Rows that were read in several rounds, once; proven ones first."""
    order = np.argsort(~certified, kind="stable")
    _, first = np.unique(np.round(rows[order], 3), axis=0, return_index=True)
    return np.sort(order[first])


def _claim(scene: ServerScene, rows: np.ndarray, certified: np.ndarray, labels: np.ndarray) -> Claim:
    """As many rows as there are; those that were not read are claimed as the average row."""
    count = scene.exchange.rows
    order = np.argsort(~certified, kind="stable")[:count]
    read = len(order)
    filled = np.tile(scene.public.mean(0), (count, 1))
    filled[:read] = rows[order]
    sure, told = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
    sure[:read], told[:read] = certified[order], True
    answers = np.zeros(count, dtype=np.int64)
    answers[:read] = labels[order].astype(np.int64)
    return Claim(
        outcome=Outcome.OK,
        rows=filled,
        labels=answers if scene.classes else None,
        certified=sure,
        determined=told,
        note=f"{read:,} of {count:,} rows were read.",
    )
