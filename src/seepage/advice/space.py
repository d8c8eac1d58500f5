"""The settings among which advice is sought: batch sizes, defences with their strengths, local epochs, width."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from seepage._core import InputError, unknown_name
from seepage.advice.families import FAMILIES, local_dp_noise

WIDTH = 32  # of the model's hidden layers, as the part `mlp` ships
LOCAL_BATCHES = 4  # of a client's local rows, where it makes several steps before it sends
AXES: dict[str, tuple[Any, ...]] = {
    "batch-size": (8, 32, 128),
    "defense": ("none", *(spec for family in FAMILIES.values() for spec in family.specs)),
    "local-epochs": (0, 1, 5),
    "width": (WIDTH, 8),
}


@dataclass(frozen=True, kw_only=True, order=True)
class Candidate:
    """One setting that could be recommended.

    Args:
        defense: a spec.
        batch_size: rows of a step.
        local_epochs: passes over the local rows before an update is sent (FedAvg); 0 sends every gradient (FedSGD).
        width: of the model's hidden layers.

    Example:
        >>> Candidate(batch_size=32).name
        'no defence, batch size 32'
    """

    defense: str = "none"
    batch_size: int = 8
    local_epochs: int = 0
    width: int = WIDTH

    @property
    def name(self) -> str:
        """In words, without a comma that a table would need."""
        words = ["no defence" if self.plain else self.defense, f"batch size {self.batch_size}"]
        if self.local_epochs:
            words.append(f"FedAvg with {self.local_epochs} local epoch{'s' if self.local_epochs > 1 else ''}")
        if self.width != WIDTH:
            words.append(f"width {self.width}")
        return ", ".join(words)

    @property
    def plain(self) -> bool:
        """Whether updates are sent as they are."""
        return self.defense == "none"

    @property
    def family(self) -> str:
        """The defence without its strength."""
        return self.defense.partition(":")[0]

    @property
    def strength(self) -> float | None:
        """The number that says how strong the defence is; None where there is none."""
        family = FAMILIES.get(self.family)
        return None if family is None else family.strength(self.defense)

    @property
    def group(self) -> Candidate:
        """What settings that differ by the strength alone have in common."""
        return replace(self, defense=self.family) if self.strength is not None else self

    def stronger(self, other: Candidate) -> bool:
        """Whether it is the same with a stronger defence.

        Example:
            >>> Candidate(defense="top_k:0.01").stronger(Candidate(defense="top_k:0.1"))
            True
        """
        if self.group != other.group or self.strength is None or other.strength is None:
            return False
        return FAMILIES[self.family].stronger(self.strength, other.strength)

    def values(self) -> dict[str, Any]:
        """The settings of the study of rows that it stands for."""
        values: dict[str, Any] = {
            "models": ["mlp" if self.width == WIDTH else f"mlp:width={self.width}"],
            "defenses": [self.defense],
            "batch_sizes": [self.batch_size],
            "protocol": "fedavg" if self.local_epochs else "fedsgd",
        }
        if self.local_epochs:
            values |= {"local_epochs": self.local_epochs, "local_rows": LOCAL_BATCHES * self.batch_size}
        return values


def meaning(chosen: Candidate) -> str:
    """What a setting is, for readers who know no specs.

    Example:
        >>> meaning(Candidate(defense="top_k:0.1")).partition("; ")[2]
        'only a share of 0.1 of the numbers is sent, the largest'
    """
    passes = "once" if chosen.local_epochs == 1 else f"{chosen.local_epochs} times"
    words = [f"clients send a message with the gradient of every batch of {chosen.batch_size} rows (FedSGD)"]
    if chosen.local_epochs:
        words = [f"clients go {passes} over their rows in batches of {chosen.batch_size} before they send an update"]
    if chosen.width != WIDTH:
        words.append(f"the model's hidden layers have {chosen.width} outputs")
    if chosen.plain:
        return "; ".join([*words, "nothing is changed before it is sent"])
    family = FAMILIES.get(chosen.family)
    words.append(family.meaning(chosen.defense) if family else f"the defence is {chosen.defense}")
    if chosen.family == "local_dp" and chosen.strength is not None:
        words[-1] += f" (a deviation of {local_dp_noise(chosen.strength):.3g} on every number)"
    return "; ".join(words)


def read_keep(keep: Mapping[str, str]) -> dict[str, Any]:
    """What the user wants to stay as it is, checked: the names of axes, and values of them.

    Example:
        >>> read_keep({"batch-size": "16"})
        {'batch-size': 16}
    """
    found: dict[str, Any] = {}
    for typed, text in keep.items():
        name = typed.replace("_", "-")
        if name not in AXES:
            raise unknown_name("thing to keep (--keep):", typed, AXES)
        if name in found:
            raise InputError(f"--keep names {name!r} twice; say once what it stays at.")
        found[name] = _defense(text) if name == "defense" else _whole(name, text)
    if set(found) == set(AXES):
        raise InputError(
            "--keep fixes everything, so there is nothing to search: `seepage audit` measures one setting. Leave out "
            f"one of {', '.join(AXES)}."
        )
    return found


def reference(keep: Mapping[str, Any]) -> Candidate:
    """The plain setting that others are compared with: no defence, unless one is kept."""
    return Candidate(
        defense=keep.get("defense", "none"),
        batch_size=keep.get("batch-size", AXES["batch-size"][0]),
        local_epochs=keep.get("local-epochs", 0),
        width=keep.get("width", WIDTH),
    )


def candidates(keep: Mapping[str, Any]) -> tuple[Candidate, ...]:
    """Every setting that is looked at, the reference first; then those that change least.

    Batch sizes and defences are combined. Local epochs and a narrow layer are tried with each batch size, without a
    defence; what is kept holds for all.

    Example:
        >>> len(candidates({})), {each.batch_size for each in candidates({"batch-size": 8})}
        (108, {8})
    """
    base = reference(keep)
    sizes = (keep["batch-size"],) if "batch-size" in keep else AXES["batch-size"]
    defenses = (keep["defense"],) if "defense" in keep else AXES["defense"]
    found = [replace(base, defense=defense, batch_size=size) for size, defense in itertools.product(sizes, defenses)]
    for name, field in (("local-epochs", "local_epochs"), ("width", "width")):
        if name not in keep:
            found += [replace(base, batch_size=size, **{field: value}) for value in AXES[name][1:] for size in sizes]
    return _ordered(base, dict.fromkeys(found))


def _ordered(base: Candidate, found: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """The reference, then one strength of every family after the other: a search that is cut short saw all kinds."""

    def key(each: Candidate) -> tuple[int, int, int]:
        strengths = FAMILIES[each.family].strengths if each.family in FAMILIES else ()
        middle = len(strengths) // 2
        place = strengths.index(each.strength) if each.strength in strengths else middle
        changed = (each.local_epochs != base.local_epochs) + (each.width != base.width)
        return abs(place - middle) + changed, each.batch_size, place

    rest = sorted((each for each in found if each != base), key=key)
    return (base, *rest)


def between(weak: Candidate, strong: Candidate) -> Candidate | None:
    """The setting whose strength lies in the middle of two, by their ratio; None where there is none.

    Example:
        >>> between(Candidate(defense="gaussian_noise:0.01"), Candidate(defense="gaussian_noise:0.1")).defense
        'gaussian_noise:0.03'
    """
    if not strong.stronger(weak):
        return None
    family = FAMILIES[weak.family]
    assert weak.strength is not None
    assert strong.strength is not None
    middle = family.between(weak.strength, strong.strength)
    return None if middle is None else replace(weak, defense=family.spec(middle))


def neighbours(every: Sequence[Candidate]) -> list[tuple[Candidate, Candidate]]:
    """Pairs that differ by one step of strength, the weaker first."""
    groups: dict[Candidate, list[Candidate]] = {}
    for each in every:
        if each.strength is not None:
            groups.setdefault(each.group, []).append(each)
    return [pair for group in groups.values() for pair in itertools.pairwise(from_weak(group))]


def from_weak(group: Iterable[Candidate]) -> list[Candidate]:
    """Settings that differ by strength, the weakest first."""
    every = list(group)
    return sorted(every, key=lambda each: sum(each.stronger(other) for other in every))


def _whole(name: str, text: str) -> int:
    least, most = {"batch-size": (1, 100_000), "local-epochs": (0, 1000), "width": (1, 100_000)}[name]
    try:
        value = int(text)
    except ValueError:
        raise InputError(f"--keep {name}={text}: {text!r} is not a whole number, such as {AXES[name][0]}.") from None
    if not least <= value <= most:
        raise InputError(f"--keep {name}={value}: it must be from {least} to {most:,}.")
    return value


def _defense(text: str) -> str:
    from seepage.plans import registry  # torch takes seconds to load

    return registry.written_out("defence", text, "rows")
