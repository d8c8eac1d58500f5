"""From the answers of some rounds to a claim: peel, fit the last digits, and prove."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seepage._core import Outcome
from seepage.attacks.malicious.peeling import Ledger, peel
from seepage.attacks.malicious.proof import proven
from seepage.attacks.malicious.refining import refine
from seepage.attacks.malicious.slopes import known_slopes
from seepage.attacks.malicious.trap import Trap
from seepage.observation import Claim
from seepage.observation.servers import Answer, ServerScene


def read_rows(scene: ServerScene, traps: Sequence[Trap], answers: Sequence[Answer]) -> Claim:
    """The rows of all rounds. Where slopes differ from round to round (FedAvg), each round is read by itself."""
    one_step = scene.exchange.protocol == "fedsgd" or scene.exchange.steps == 1
    pairs = list(zip(traps, answers, strict=True))
    groups = [pairs] if one_step else [[pair] for pair in pairs]
    found, sure, labels = [np.zeros((0, scene.space.layout.width))], [np.zeros(0, dtype=bool)], [np.zeros(0)]
    for group in groups:
        ledger = _ledger(scene, group, one_step=one_step)
        peel(ledger)
        refine(ledger)
        certified = proven(ledger)
        counts = np.maximum(ledger.counts, 0)
        repeats = counts.sum(1)
        found.append(np.repeat(ledger.rows, repeats, axis=0))
        sure.append(np.repeat(certified, repeats))
        labels.append(_labels(ledger, counts, scene))
    rows, certified, label = np.concatenate(found), np.concatenate(sure), np.concatenate(labels)
    if len(groups) > 1:
        kept = _each_once(rows, certified)
        rows, certified, label = rows[kept], certified[kept], label[kept]
    return _claim(scene, rows, certified, label)


def _ledger(scene: ServerScene, group: Sequence[tuple[Trap, Answer]], *, one_step: bool) -> Ledger:
    sums, errors = zip(*(trap.read(answer.update, answer.exchange) for trap, answer in group), strict=True)
    traps = [trap for trap, _ in group]
    known = known_slopes(traps[0], scene.classes, one_step=one_step and scene.exchange.protocol == "fedsgd")
    return Ledger(traps, list(sums), list(errors), scene.space, known)


def _labels(ledger: Ledger, counts: np.ndarray, scene: ServerScene) -> np.ndarray:
    """The label of each row, where its slope tells it."""
    if ledger.known is not None:
        return np.concatenate([np.repeat(np.arange(len(each)), each) for each in counts] or [np.zeros(0)])
    return (ledger.slopes < 0).astype(np.float64) if scene.classes == 2 else np.zeros(len(ledger.rows))


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
