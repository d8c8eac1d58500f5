"""Tiny scenes: a guest with a linear part, and a host with a linear head, so that what must leak is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from seepage._core import Streams
from seepage.attacks.parties import PartyAttack
from seepage.data import Layout
from seepage.observation.parties import (
    AFTER,
    FINETUNING,
    GRADIENT,
    INTERMEDIATE,
    GuestScene,
    HostScene,
    Received,
    Released,
)

ROWS, LAYOUT = 240, Layout(2, (2, 3))


def columns(seed: int = 0) -> np.ndarray:
    """(rows, width) standardised numbers and one-hot blocks."""
    draw = Streams(seed).numpy("columns")
    blocks = [np.eye(size)[draw.integers(size, size=ROWS)] for size in LAYOUT.sizes]
    return np.concatenate([draw.normal(size=(ROWS, LAYOUT.numeric)), *blocks], 1)


MATRIX = torch.from_numpy(Streams(1).numpy("weights").normal(size=(LAYOUT.width, LAYOUT.width)).astype(np.float32))


def linear(x: Tensor) -> Tensor:
    """A square layer."""
    return x @ MATRIX.T + 0.5


def bent(x: Tensor) -> Tensor:
    """A part that is not linear."""
    return torch.relu(x @ MATRIX.T)


def sent(
    x: np.ndarray, *, noise: float = 0.0, times: int = 1, part: Callable[[Tensor], Tensor] = linear
) -> list[Received]:
    """What a guest sends after training, each time in two messages."""
    draw, z = Streams(2).numpy("noise"), part(torch.from_numpy(x.astype(np.float32))).numpy()
    return [
        message(INTERMEDIATE, AFTER, 0, rows, z[rows] + noise * draw.normal(size=z[rows].shape))
        for _ in range(times)
        for rows in np.array_split(np.arange(len(z)), 2)
    ]


def message(kind: str, phase: str, epoch: int, rows: np.ndarray, values: np.ndarray) -> Received:
    """One tensor that was received."""
    return Received(
        sender="someone", kind=kind, phase=phase, epoch=epoch, training=phase != AFTER, rows=rows, values=values
    )


def host_scene(
    x: np.ndarray, *, known: int = LAYOUT.width + 1, noise: float = 0.0, part: Callable[[Tensor], Tensor] | None = None
) -> HostScene:
    """What a host knows; with ``part`` it has the guest's weights."""
    places = np.arange(known)
    head = torch.from_numpy(Streams(3).numpy("head").normal(size=(2, LAYOUT.width)).astype(np.float32))

    def predict(z: Tensor, rows: np.ndarray) -> Tensor:
        return z @ head.T

    released = None
    if part is not None:
        logits = predict(part(torch.from_numpy(x.astype(np.float32))), places).double().numpy()
        released = Released(bottom=part, predict=predict, logits=logits)
    draw = Streams(4).numpy("own")
    return HostScene(
        guest="guest", layout=LAYOUT, own=draw.normal(size=(ROWS, 3)), labels=draw.integers(2, size=ROWS),
        known_rows=places, known_x=x[:known], noise=noise, released=released,
    )  # fmt: skip


def guest_scene(labels: np.ndarray, *, known: int = 5, own: np.ndarray | None = None) -> GuestScene:
    """What a guest knows; its own columns are noise unless they are given."""
    classes = int(labels.max()) + 1
    places = np.sort(np.concatenate([np.flatnonzero(labels == code)[:known] for code in range(classes)]))
    x = Streams(5).numpy("own").normal(size=(len(labels), 4)) if own is None else own
    return GuestScene(
        guest="guest", own=x, bottom=x, shares=np.bincount(labels) / len(labels), known_rows=places,
        known_labels=labels[places],
    )  # fmt: skip


def gradients(labels: np.ndarray, epochs: int = 2, *, width: int = 4, noise: float = 0.3) -> list[Received]:
    """What a host with one linear layer sends back: softmax minus label, times its weights; two batches an epoch."""
    classes = int(labels.max()) + 1
    draw, found = Streams(6).numpy("gradients"), []
    head = Streams(7).numpy("head").normal(size=(classes, width))
    for epoch in range(epochs):
        for rows in np.array_split(np.arange(len(labels)), [len(labels) // 3]):
            logits = noise * draw.normal(size=(len(rows), classes)) + np.log(np.bincount(labels) / len(labels))
            chances = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
            values = (chances - np.eye(classes)[labels[rows]]) @ head / len(rows)
            found.append(message(GRADIENT, FINETUNING, epoch, rows, values))
    return found


def claim_of(attack: PartyAttack[Any], scene: Any, seen: Sequence[Received]) -> Any:
    """The one claim of an attack."""
    attacker = attack.start(scene, Streams(8))
    for each in seen:
        attacker.see(each)
    (claim,) = attacker.claims()
    return claim
