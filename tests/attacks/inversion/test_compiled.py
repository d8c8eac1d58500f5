"""A compiled attack is the attack."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seepage._core import Streams
from seepage.attacks.inversion import Inversion, gradient_matching, tableak
from seepage.models.compiling import has_compiler
from seepage.testing import tiny_observations


@pytest.mark.slow
@pytest.mark.parametrize("attack", [gradient_matching(), tableak()], ids=["one run", "several runs"])
@pytest.mark.parametrize("protocol", ["fedsgd", "fedavg"])
def test_a_compiled_attack_ends_where_it_would(protocol: str, attack: Inversion) -> None:
    """Every step of local training is compiled by itself, and gives weights by name."""
    if not has_compiler():
        pytest.skip("there is no compiler")
    observations = tiny_observations(protocol=protocol)[:2]
    short = replace(attack, steps=5, restarts=min(attack.restarts, 2))
    plain, compiled = (
        replace(short, compile=way).runs(observations, Streams(3))
        for way in ("no", "yes")  # type: ignore[arg-type]
    )
    for one, other in zip(plain, compiled, strict=True):
        assert other.losses == pytest.approx(one.losses, rel=1e-3)
