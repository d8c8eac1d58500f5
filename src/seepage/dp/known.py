"""What accounting needs and files often do not say: options, each given once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from seepage._core import InputError, unknown_name
from seepage._core.option import MAIN, Option
from seepage.dp.said import Fact, Said, Source, Value

FEDERATION = "What the files do not say"
CLAIM = "What is claimed"
_Count = Annotated[int | None, Field(ge=1, le=10**12)]


class Known(BaseModel):
    """Facts of the federation and of the claim.

    Example:
        >>> Known(rows=1000, rounds=20).rounds
        20
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    rows: Annotated[_Count, Option(help="Rows of the smallest client.", group=FEDERATION)] = None
    batch_size: Annotated[_Count, Option(help="Rows in a batch.", group=FEDERATION)] = None
    local_epochs: Annotated[
        _Count, Option(help="Passes over its rows that a client makes in a round.", group=FEDERATION)
    ] = None
    rounds: Annotated[_Count, Option(help="Rounds of the federation.", group=FEDERATION)] = None
    clients: Annotated[_Count, Option(help="Clients that could take part.", group=FEDERATION)] = None
    sampled: Annotated[_Count, Option(help="Clients that take part in a round.", group=FEDERATION)] = None
    parameters: Annotated[_Count, Option(help="Numbers in the model.", group=FEDERATION)] = None
    delta: Annotated[float | None, Field(gt=0, lt=1), Option(help="Delta of the promise.", group=CLAIM)] = None
    claims: Annotated[
        float | None, Field(gt=0), Option(help="The epsilon that is claimed for the whole run.", group=CLAIM)
    ] = None
    unit: Annotated[
        Literal["row", "client"] | None,
        Option(help="What the claim is about: one row, or all rows of a client.", group=CLAIM),
    ] = None
    against: Annotated[
        Literal["server", "outsiders"] | None,
        Option(help="Whom it is claimed to protect from: server, or outsiders who get the model.", group=CLAIM),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What is known in the end, from options and files.

    Args:
        numbers: by the names of the options.
        claims, unit, against: of the options.
        seen: names that the files call or mention.
        files: kinds of files that were given (``.py``).
    """

    numbers: Mapping[str, float | int]
    claims: float | None = None
    unit: str | None = None
    against: str | None = None
    seen: frozenset[str] = frozenset()
    several: Mapping[str, str] | None = None

    def count(self, name: str) -> int | None:
        """A whole number of that name, if it is known."""
        found = self.numbers.get(name)
        return None if found is None else int(found)

    @property
    def delta(self) -> float | None:
        """Delta, if it is known."""
        return self.numbers.get("delta")


NUMBERS = ("rows", "batch_size", "local_epochs", "rounds", "clients", "sampled", "parameters", "delta", "fraction")
_SHARES = ("delta", "fraction")  # the others are counts; no option says the fraction of clients, Flower's files do
_LOOSE = (
    "batch_size",
    "delta",
    "fraction",
)  # of which a file may have several: a loader for training, another for tests


def facts_of(known: Known, sources: Sequence[Source]) -> Facts:
    """Options and files together; what is said twice is an error."""
    numbers: dict[str, float | int] = {}
    several: dict[str, str] = {}
    for name in NUMBERS:
        told = [fact for source in sources for fact in source.facts if fact.name == name]
        option = getattr(known, name, None)
        values = {fact.value for fact in told}
        if len(values) > 1 and name in _LOOSE:
            several[name] = " and ".join(f"{fact.value:g} ({fact.place})" for fact in told[:3])
        elif len(values) > 1:
            raise InputError(f"{name} is {_places(told)}; it can have one value only.")
        elif values and option is not None:
            flag = f"--{name.replace('_', '-')}"
            raise InputError(
                f"{name} is {told[0].value:g} in {told[0].place}, and {flag} says {option:g}; leave {flag} out."
            )
        elif values:
            numbers[name] = _checked(told[0])
        if option is not None:
            numbers[name] = option
    clients, sampled = numbers.get("clients"), numbers.get("sampled")
    if clients is not None and sampled is not None and sampled > clients:
        raise InputError(f"{sampled:g} clients take part in a round, and there are {clients:g}.")
    seen = frozenset(name for source in sources for name in source.seen)
    return Facts(
        numbers=numbers, claims=known.claims, unit=known.unit, against=known.against, seen=seen, several=several
    )


def _places(told: Sequence[Fact]) -> str:
    return " and ".join(f"{fact.value:g} in {fact.place}" for fact in told)


def _checked(fact: Fact) -> float | int:
    share = fact.name in _SHARES
    low, high = (0.0, 1.0) if share else (1, 10**12)
    if not low <= fact.value <= high or (not share and fact.value != int(fact.value)):
        allowed = "between 0 and 1" if share else "a whole number, 1 or above"
        raise InputError(f"{fact.name} is {fact.value:g} in {fact.place}; it must be {allowed}.")
    return fact.value


def with_set(sources: Sequence[Source], given: Mapping[str, str]) -> list[Source]:
    """The same with arguments that a file leaves open filled in by the user."""
    open_ones = sorted({name for source in sources for said in source.said for name in said.unclear})
    for name in given:
        if name in open_ones:
            continue
        for said in (said for source in sources for said in source.said if name in said.given):
            raise InputError(f"{name} stands in {said.place}; --set {name} would say it twice.")
        if not open_ones:
            raise InputError(f"--set {name} has no place: no argument in these files is left open.")
        raise unknown_name("argument that is left open:", name, open_ones)
    return [replace(source, said=tuple(_filled(said, given) for said in source.said)) for source in sources]


def _filled(said: Said, given: Mapping[str, str]) -> Said:
    mine: dict[str, Value] = {name: _value(name, given[name]) for name in said.unclear if name in given}
    left = {name: each for name, each in said.unclear.items() if name not in given}
    return replace(said, values={**said.values, **mine}, unclear=left, given=said.given | set(mine))


def _value(name: str, text: str) -> Value:
    words: dict[str, Value] = {"true": True, "false": False, "none": None, "inf": math.inf}
    if text.lower() in words:
        return words[text.lower()]
    try:
        number = float(text)
    except ValueError:
        return text
    if math.isnan(number):
        raise InputError(f"--set {name}={text} is not a number.")
    return int(number) if number == int(number) and "." not in text and "e" not in text.lower() else number


SETTABLE = Option(
    help="An argument that a file leaves open, as noise_multiplier=1.1. May be repeated.", group=MAIN, flag="--set"
)
