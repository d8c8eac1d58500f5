"""Shadow models on disk: a folder of shards, each whole or not there.

    manifest.json              the plan and its fingerprint
    shard-00012.safetensors    weights, shares, accuracies and seeds of some hundred models
    rows.safetensors           what the workers train on; only there while they do

A shard is written under another name and put in its place in one step. It carries the plan's fingerprint and a digest
of its tensors, so that a damaged one, or one of another plan, is known when it is read.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from seepage._core import InputError
from seepage.attacks.properties.plan import ShadowPlan
from seepage.models.stack import Stack
from seepage.models.stacked_training import Recipe

MANIFEST = "manifest.json"
UNFINISHED = ".unfinished"


class DamagedShard(InputError):
    """A shard that cannot be used; the factory makes it again."""


@dataclass(frozen=True, eq=False)
class Shadows:
    """Shadow models and what is known about each.

    Args:
        stack: their weights.
        shares: (models,) float64, the property's share among the rows a model was trained on (or the mean).
        labels: (models,) int64, the class that share lies in.
        accuracy, balanced: (models,) float32, on the evaluation rows.
        passed: (models,) bool, whether the model is good enough to learn from.
        seeds: (models,) int64.
    """

    stack: Stack
    shares: Tensor
    labels: Tensor
    accuracy: Tensor
    balanced: Tensor
    passed: Tensor
    seeds: Tensor

    def __len__(self) -> int:
        return len(self.shares)

    def take(self, models: Tensor) -> Shadows:
        """These models, in this order."""
        return Shadows(self.stack.take(models), *(getattr(self, name)[models] for name in _FACTS))

    @staticmethod
    def cat(parts: Sequence[Shadows]) -> Shadows:
        """All models of several."""
        facts = (torch.cat([getattr(part, name) for part in parts]) for name in _FACTS)
        return Shadows(Stack.cat([part.stack for part in parts]), *facts)


_FACTS = tuple(field.name for field in fields(Shadows) if field.name != "stack")


def load_shadows(folder: Path, limit: int | None = None) -> Shadows:
    """All models of a finished factory; with a limit the first so many good ones of each class.

    Memory is what the models kept take: 9,216 of 17,000 parameters are 0.6 GB.
    """
    plan, fingerprint = read_manifest(folder)
    if limit is not None and limit < 1:
        raise InputError(f"The limit is {limit} models of each class; it must be 1 or more.")
    kept: list[Shadows] = []
    counts = torch.zeros(plan.classes, dtype=torch.int64)
    for number in range(plan.shards):
        path = shard_path(folder, number)
        if not path.exists():
            raise InputError(f"{folder} has no {path.name}; run the factory again, it makes what is missing.")
        try:
            shard = read_shard(path, fingerprint)
        except DamagedShard as error:
            raise DamagedShard(f"{str(error).rstrip('.')}; run the factory again, it makes this shard anew.") from None
        if limit is not None:
            good = torch.nn.functional.one_hot(shard.labels, plan.classes) * shard.passed[:, None]  # (models, classes)
            place = counts + good.cumsum(0)  # which good one of its class a model is
            shard = shard.take(torch.nonzero((good * (place <= limit)).any(1))[:, 0])
            counts += good.sum(0)
        kept.append(shard)
    if limit is not None:
        check_enough(counts.tolist(), limit, plan)
    return Shadows.cat(kept)


def read_manifest(folder: Path) -> tuple[ShadowPlan, str]:
    """The plan of a folder and its fingerprint."""
    path = folder / MANIFEST
    if not path.exists():
        raise InputError(f"{folder} holds no shadow models: there is no {MANIFEST}.")
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        plan = dict(found["plan"])
        recipe = dict(plan.pop("recipe"))
        hidden = tuple(int(width) for width in recipe.pop("hidden"))
        return ShadowPlan(recipe=Recipe(hidden=hidden, **recipe), **plan), str(found["fingerprint"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is not the manifest of shadow models ({type(error).__name__}: {error}).") from None


def open_folder(folder: Path, plan: ShadowPlan, fingerprint: str) -> None:
    """A new folder with a manifest, or one of the same plan without what a kill has left."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made a folder of shadow models: {error.strerror}.") from None
    if (folder / MANIFEST).exists():
        if read_manifest(folder)[1] != fingerprint:
            raise InputError(f"{folder} holds shadow models of another plan or other rows; choose another folder.")
    else:
        document = {"kind": "shadow models", "fingerprint": fingerprint, "shards": plan.shards, "plan": asdict(plan)}
        unfinished = folder / f"{MANIFEST}{UNFINISHED}"
        unfinished.write_text(json.dumps(document, indent=1), encoding="utf-8")
        os.replace(unfinished, folder / MANIFEST)
    for left in folder.glob(f"*{UNFINISHED}"):
        left.unlink()


def check_enough(passed: Sequence[int], needed: int, plan: ShadowPlan) -> None:
    """Stop when a class has too few good models."""
    if min(passed) < needed:
        raise InputError(
            f"Too few shadow models are good enough (accuracy {plan.least_accuracy:g} and balanced accuracy "
            f"{plan.least_balanced:g} or more): {', '.join(map(str, passed))} in the classes from low to high, but "
            f"{needed} of each are needed; train longer, ask for less, or make more."
        )


def shard_path(folder: Path, number: int) -> Path:
    """Where a shard is."""
    return folder / f"shard-{number:05d}.safetensors"


def write_shard(path: Path, shadows: Shadows, fingerprint: str) -> None:
    """Write a shard, whole or not at all."""
    tensors = {name: getattr(shadows, name) for name in _FACTS}
    for kind, layers in (("weights", shadows.stack.weights), ("biases", shadows.stack.biases)):
        tensors |= {f"{kind}.{place}": layer for place, layer in enumerate(layers)}
    write_tensors(path, {name: tensor.contiguous() for name, tensor in tensors.items()}, fingerprint)


def read_shard(path: Path, fingerprint: str) -> Shadows:
    """Read a shard of this plan; any other raises :class:`DamagedShard`."""
    tensors = read_tensors(path, fingerprint)
    layers = (len(tensors) - len(_FACTS)) // 2
    names = {*_FACTS, *(f"{kind}.{place}" for kind in ("weights", "biases") for place in range(layers))}
    if layers < 1 or names != set(tensors) or len({len(tensor) for tensor in tensors.values()}) != 1:
        raise DamagedShard(f"{path.name} does not hold shadow models.")
    stack = Stack(*(tuple(tensors[f"{kind}.{place}"] for place in range(layers)) for kind in ("weights", "biases")))
    return Shadows(stack, *(tensors[name] for name in _FACTS))


def write_tensors(path: Path, tensors: dict[str, Tensor], fingerprint: str) -> None:
    """Write tensors with what tells later whether they are whole and whose they are."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}{UNFINISHED}")
    unfinished.touch(mode=0o600)  # it may hold rows
    save_file(tensors, unfinished, {"fingerprint": fingerprint, "digest": digest(tensors.items())})
    os.replace(unfinished, path)


def read_tensors(path: Path, fingerprint: str) -> dict[str, Tensor]:
    """The tensors of a file, if they are whole and of this plan."""
    try:
        with safe_open(path, framework="pt") as file:
            facts = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise DamagedShard(f"{path.name} cannot be read ({error}).") from None
    if facts.get("fingerprint") != fingerprint:
        raise DamagedShard(f"{path.name} belongs to another plan.")
    if facts.get("digest") != digest(tensors.items()):
        raise DamagedShard(f"{path.name} is damaged: its content is not what was written.")
    return tensors


def digest(named: Iterable[tuple[str, Tensor | np.ndarray]]) -> str:
    """Of names, types, shapes and every byte."""
    hashed = hashlib.blake2b(digest_size=16)
    for name, values in sorted(named, key=lambda item: item[0]):
        array = np.ascontiguousarray(values.numpy() if isinstance(values, Tensor) else values)
        hashed.update(f"{name} {array.dtype} {array.shape}".encode())
        hashed.update(array.data if array.size else b"")
    return hashed.hexdigest()
