"""The designs by name."""

from __future__ import annotations

from collections.abc import Callable

from seepage._core import InputError, unknown_name
from seepage.federation.vertical.designs import AGGREGATIONS, Aggregation, Design, LocalEncoders, LocalTabNets, TabVFL

DESIGNS: dict[str, Callable[[Aggregation | None], Design]] = {
    "central": lambda _: TabVFL(mixed=False),
    "local": lambda how: LocalTabNets(aggregation=how or "concatenation"),
    "local_encoders": lambda how: LocalEncoders(aggregation=how or "sum"),
    "tabvfl": lambda _: TabVFL(),
    "tabvfl_without_fc": lambda _: TabVFL(mixed=False),
    "guest_decoders": lambda _: TabVFL(decoders="guests"),
}


def make_design(name: str, aggregation: str | None = None) -> Design:
    """A design by name."""
    if name not in DESIGNS:
        raise unknown_name("design", name, DESIGNS)
    if aggregation is not None and aggregation not in AGGREGATIONS:
        raise unknown_name("aggregation", aggregation, AGGREGATIONS)
    if aggregation not in (None, "concatenation") and name not in ("local", "local_encoders"):
        raise InputError(
            f"The design {name!r} puts intermediate results of different columns side by side; "
            f"{aggregation!r} needs latents of equal width: use local or local_encoders."
        )
    return DESIGNS[name](aggregation)
